"""Register the tools for questions: search, grep, compare, outline, read, ask and conversations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastmcp import Context, FastMCP
from fastmcp.tools import ToolResult
from mcp_types import ResourceLink
from pydantic import BeforeValidator

from hybrid_core.errors import NotFoundError, UsageError
from hybrid_core.types.conversations import Citation, Conversation, ConversationMessage
from hybrid_core.types.documents import Effort
from hybrid_core.types.exhaustive import CompareRequest, CompareSide, GrepRequest
from hybrid_core.types.results import PageFound
from hybrid_pageindex.engine.documents.comparison import SectionChange, SectionSide
from hybrid_pageindex.engine.documents.contents import Outline
from hybrid_pageindex.engine.documents.page_views import SHEET
from hybrid_pageindex.engine.documents.reading import PageRead
from hybrid_pageindex.engine.search.grep import GrepDocument, GrepPage
from hybrid_pageindex.mcp.callers import tool_caller
from hybrid_pageindex.mcp.payloads import (
    count_json_tokens,
    count_tokens,
    cut_text,
    description_excerpt,
    document_uri,
    evidence_payload,
    fit_items,
    has_more,
    hint,
    make_cursor,
    node_payload,
    outline_hints,
    output_schema,
    page_payload,
    page_range,
    read_cursor,
    read_hints,
    result_limit,
    result_payloads,
    search_hints,
    untrusted_fields,
    without_empty,
)
from hybrid_pageindex.mcp.state import Progress, ToolState, check_length, report_errors, with_content, with_images

_GREP_SECONDS = 2.0  # seconds of one call; the next call continues the search
_MAX_LISTED = 50  # maximum pages or documents in one result
_SECTION_CHANGES = 8  # maximum changes of one section
READ_ONLY = {"readOnlyHint": True, "openWorldHint": False}
_IMAGES = 3  # images in one result; an image costs a model about 1,500 tokens
_AHEAD = 50  # pages read at once to fill one result
_PAGE_FRAME = 150  # tokens around a page's text
DocumentName = Annotated[str, "doc_id, name or path"]
_SOURCE_TOKENS = 1500  # maximum tokens of the sources of an answer
_LINKS = 3  # resource links of a search; each costs an agent about 25 tokens
_LINKS_SINCE = "2025-06-18"  # first protocol revision with resource links


def register_search_tools(server: FastMCP, state: ToolState) -> None:
    settings = state.engine.settings
    usual_effort = settings.effort

    @server.tool(
        annotations=READ_ONLY,
        output_schema=output_schema(untrusted="s", evidence="o", results="a", notes="a?", next="a"),
    )
    @report_errors
    async def search(
        question: str,
        ctx: Context,
        library: Annotated[str, "Default library if empty"] = "",
        libraries: Annotated[tuple[str, ...], "Several as one; * is all"] = (),
        documents: tuple[str, ...] = (),
        where: Annotated[tuple[str, ...], "Filters such as year=2023, type=annual*, organisation=…"] = (),
        top_k: int = settings.top_k,
        effort: Effort = usual_effort,
        cursor: str = "",
    ) -> ToolResult:
        """Start here: the pages that answer a question, with snippets. evidence says how sure that is."""
        if top_k < 1:
            raise UsageError(f"The parameter top_k is {top_k}.", "Set the parameter to 1 or more.")
        scope = {
            "library": library, "documents": list(documents), "where": list(where), "top_k": top_k, "effort": effort,
        } | without_empty({"libraries": list(libraries)})  # fmt: skip
        call = scope | {"question": check_length("question", question)}
        start, _ = read_cursor(call, cursor)
        limit = result_limit(start, top_k)
        progress = await Progress.of(ctx)
        result = await state.engine.search(
            question, library=_library_scope(library, libraries), all_libraries="*" in libraries,
            documents=documents or None, where=where, top_k=limit, effort=effort, trace=True, on_step=progress.step,
        )  # fmt: skip
        hits = result.results[start:]
        usual = library or state.engine.settings.library
        results = fit_items(result_payloads(hits), state.budget)
        end = start + len(results)
        more = make_cursor(call, end) if has_more(result.results, end, limit) else ""
        answer = untrusted_fields("section", "snippet", "why") | {
            "evidence": evidence_payload(result.evidence),
            "results": results,
        }
        usual_scope = {"top_k": settings.top_k, "effort": usual_effort}
        narrowed = {name: value for name, value in scope.items() if value != usual_scope.get(name)}
        hints = search_hints(result, hits[: len(results)], narrowed)
        answer |= without_empty({"notes": list(result.notes), "cursor": more}) | {"next": hints}
        if ctx.session.protocol_version < _LINKS_SINCE:
            return with_content(answer, [])
        return with_content(answer, _page_links(hits[: len(results)], usual))

    _register_grep_and_compare(server, state)

    @server.tool(
        annotations=READ_ONLY,
        output_schema=output_schema(untrusted="s", documents="a", nodes="a", notes="a?", next="a"),
    )
    @report_errors
    async def outline(
        document: Annotated[str, "doc_id, name or path; empty: those that fit the question best"] = "",
        question: Annotated[str, "Score every section for it"] = "",
        depth: Annotated[int, "Levels to unfold"] = 2,
        node: Annotated[str, "Only below this node_id"] = "",
        library: str = "",
        cursor: str = "",
    ) -> dict[str, Any]:
        """Section trees; with a question scored (compare siblings), with best pages. Open folded nodes with node."""
        call = {"document": document, "question": question, "depth": depth, "node": node, "library": library}
        start, _ = read_cursor(call, cursor)
        trees = await _read_outlines(state, document, check_length("question", question), depth, node, library)
        several = len(trees) > 1
        entries = [node_payload(entry, tree.document if several else None) for tree in trees for entry in tree.nodes]
        heads = [{"document": t.document.name, "doc_id": t.document.doc_id, "pages": t.document.pages} for t in trees]
        nodes = fit_items(entries[start:], state.budget - count_json_tokens(heads))
        end = start + len(nodes)
        more = make_cursor(call, end) if end < len(entries) else ""
        hints = outline_hints(trees, library)
        notes = list(dict.fromkeys(note for tree in trees for note in tree.notes))
        answer = (
            untrusted_fields("title", "why")
            | {"documents": heads, "nodes": nodes}
            | without_empty({"notes": notes, "cursor": more})
        )
        return answer | {"next": hints}

    @server.tool(
        annotations=READ_ONLY,
        output_schema=output_schema(untrusted="s", document="s", doc_id="s", pages="a", next="a"),
    )
    @report_errors
    async def read(
        document: DocumentName,
        pages: Annotated[str, BeforeValidator(_join_page_list), "Such as 3,7-9"] = "",
        node: Annotated[str, "Or a section's node_id"] = "",
        format: Annotated[Literal["text", "hidden", "image", "both", "sheet"], "sheet: 12 pages at once"] = "text",
        library: str = "",
        cursor: str = "",
    ) -> ToolResult:
        """The text of pages, or pictures of them (for tables, charts, scans)."""
        info = await state.document(document, library)
        if bool(pages) == bool(node):
            raise UsageError(
                "The call contains both or neither of the parameters pages and node.",
                'pages="3,7-9", or a node_id from search or outline.',
            )
        if node:
            first = (await state.engine.outline(info.doc_id, library=library or None, node=node)).nodes[0].section
            numbers = page_range(first.start_page, first.end_page)
        else:
            numbers = check_length("pages", pages)
        call = {"document": document, "pages": pages, "node": node, "format": format, "library": library}
        at = read_cursor(call, cursor)
        requested = await state.engine.pages(info.doc_id, numbers, library=library or None)
        head = untrusted_fields("sections", "text", "described") | {"document": info.name, "doc_id": info.doc_id}
        if format in ("image", "sheet"):
            each = SHEET if format == "sheet" else 1
            shown = requested[at[0] : at[0] + _IMAGES * each]
            together = [[page.page for page in shown[first : first + each]] for first in range(0, len(shown), each)]
            images = [await state.picture(info.doc_id, numbers, library, sheet=each > 1) for numbers in together]
            end, within = at[0] + len(shown), 0
            payloads = [
                {"page": page.page} if format == "sheet" else page_payload(page, "", seen=True) for page in shown
            ]
        else:
            if format != "hidden":
                requested = [page.shown() for page in requested]
            both = format == "both"
            payloads, (end, within) = await _fit_page_texts(
                state, requested[: at[0] + _IMAGES] if both else requested, at, library, seen=both
            )
            shown = requested[at[0] : end + bool(within)]
            drawn = shown[bool(at[1]) :] if both else []  # the rest of a long text comes without its picture
            images = [await state.picture(info.doc_id, [page.page], library) for page in drawn]
        more = make_cursor(call, end, within) if end < len(requested) else ""
        again = call | {"format": "" if format == "text" else format, "cursor": more}
        hints = [hint("read", "the rest", **again)] if more else read_hints(info, shown, library, format)
        answer = head | {"pages": payloads} | without_empty({"cursor": more}) | {"next": hints}
        return with_images(answer, images)


def _join_page_list(pages: Any) -> Any:
    """Return a page list as text, also if a model sends a number or a list of numbers."""
    numbers = pages if isinstance(pages, list) else [pages]
    if any(isinstance(page, bool) or not isinstance(page, int | str | float) for page in numbers):
        return pages
    if any(isinstance(page, float) and not page.is_integer() for page in numbers):
        return pages
    return ",".join(str(int(page)) if isinstance(page, float) else str(page) for page in numbers)


def _page_links(hits: Sequence[PageFound], library: str) -> list[ResourceLink]:
    """Return resource links to the best page of each of the first few documents."""
    best: dict[str, PageFound] = {}
    for hit in hits:
        best.setdefault(hit.doc_id, hit)
    return [
        ResourceLink(
            uri=document_uri(hit.library or library, hit.doc_id, f"/page/{hit.page}"),
            name=f"{hit.doc_name}, page {hit.page}",
        )
        for hit in list(best.values())[:_LINKS]
    ]


def _library_scope(library: str, libraries: Sequence[str]) -> Sequence[str] | None:
    """Return the libraries that a call names. Return None if it names none or all of them ("*").

    Raise UsageError if both arguments are given.
    """
    if library and libraries:
        raise UsageError(
            "The call contains both parameters library and libraries.", "Pass only library or only libraries."
        )
    named = libraries or (library,)
    return None if named[0] in ("", "*") else named


async def _read_outlines(
    state: ToolState, document: str, question: str, depth: int, node: str, library: str
) -> list[Outline]:
    if depth < 1:
        raise UsageError(f"The parameter depth is {depth}.", "Set the parameter to 1 or more.")
    if document:
        info = await state.document(document, library)
        return [
            await state.engine.outline(
                info.doc_id, library=library or None, query=question or None, depth=depth, node=node or None
            )
        ]
    if not question or node:
        raise UsageError(
            "The call contains neither a document nor a question, or a node without its document.",
            "Pass a document, a question, or both.",
        )
    return await state.engine.outlines(question, library=library or None, depth=depth)


async def _fit_page_texts(
    state: ToolState, pages: Sequence[PageRead], at: tuple[int, int], library: str, *, seen: bool
) -> tuple[list[dict[str, Any]], tuple[int, int]]:
    """Return as many pages as payloads as fit the budget, and the position at which the next result continues.

    Positions are (index of the page, character in its text).
    """
    position, within = at
    left = state.budget - _PAGE_FRAME
    payloads: list[dict[str, Any]] = []
    before: PageRead | None = None
    for page in pages[position : position + _AHEAD]:
        read = await state.engine.documents.with_tables(page, library=library or None)
        left -= _PAGE_FRAME + count_tokens(description_excerpt(read))
        remaining = read.text[within:]
        whole = count_tokens(remaining) <= left
        if payloads and not whole:
            break
        text = remaining if whole else cut_text(remaining, max(left, _PAGE_FRAME))
        payloads.append(page_payload(read, text, seen=seen, before=before))
        before = page
        left -= count_tokens(text)
        if not whole:
            return payloads, (position, within + len(text))
        position, within = position + 1, 0
    return payloads, (position, 0)


def _register_grep_and_compare(server: FastMCP, state: ToolState) -> None:
    @server.tool(annotations=READ_ONLY, output_schema=output_schema(total_pages="i", total_documents="i"))
    @report_errors
    async def grep(
        pattern: Annotated[str, "Word, phrase or prefix*"],
        regex: bool = False,
        documents: tuple[str, ...] = (),
        node: str = "",
        where: tuple[str, ...] = (),
        libraries: tuple[str, ...] = (),
        list: Literal["pages", "documents"] = "pages",
        cursor: str = "",
    ) -> dict[str, Any]:
        """Count and list every page that holds exact words."""
        named, everywhere = () if "*" in libraries else libraries, "*" in libraries
        request = GrepRequest(
            check_length("pattern", pattern), regex, named, everywhere, documents or None, where, node, list,
            limit=_MAX_LISTED, cursor=check_length("cursor", cursor), seconds=_GREP_SECONDS,
        )  # fmt: skip
        result = await state.engine.grep(request)
        items = [*map(_grep_page_payload, result.pages), *map(_grep_document_payload, result.documents)]
        listed = fit_items(items, state.budget)
        more = result.cursor
        if len(listed) < len(items):
            more = (await state.engine.grep(replace(request, limit=len(listed)))).cursor
        totals = {
            "total_pages": result.total_pages, "total_documents": result.total_documents,
            "total_matches": result.total_matches, "complete": result.complete,
        }  # fmt: skip
        return untrusted_fields("lines") | totals | without_empty({"note": result.note, list: listed, "cursor": more})

    @server.tool(annotations=READ_ONLY, output_schema=output_schema(sections="a"))
    @report_errors
    async def compare(
        left: Annotated[str, "Older document"],
        right: str,
        left_node: str = "",
        right_node: str = "",
        library: str = "",
        cursor: str = "",
    ) -> dict[str, Any]:
        """Compare two documents or sections: words, figures and sections that differ."""
        request = CompareRequest(
            CompareSide(check_length("left", left, 2000), library, left_node),
            CompareSide(check_length("right", right, 2000), library, right_node),
            limit=_MAX_LISTED, each=_SECTION_CHANGES, cursor=check_length("cursor", cursor),
        )  # fmt: skip
        compared = await state.engine.compare(request)
        sections = fit_items(map(_section_payload, compared.sections), state.budget)
        more = compared.cursor
        if len(sections) < len(compared.sections):
            more = str(int(cursor or 0) + len(sections))
        counts = {name: getattr(compared, name) for name in ("added", "removed", "changed", "moved", "unchanged")}
        sides = {"left": compared.left.document, "right": compared.right.document}
        return (
            untrusted_fields("left", "right", "words", "figures")
            | sides
            | counts
            | {"sections": sections}
            | without_empty({"cursor": more})
        )


def _grep_page_payload(page: GrepPage) -> dict[str, Any]:
    lines = dict.fromkeys(place.text.strip() for place in page.places[:2])
    return {
        "document": page.document,
        "doc_id": page.doc_id,
        "page": page.page,
        "matches": page.matches,
        "lines": [*lines],
    }


def _grep_document_payload(document: GrepDocument) -> dict[str, Any]:
    first = {"first_pages": [*document.first_pages]}
    return {
        "document": document.document,
        "doc_id": document.doc_id,
        "pages": document.pages,
        "matches": document.matches,
        **first,
    }


def _section_payload(section: SectionChange) -> dict[str, Any]:
    return without_empty({
        "kind": section.kind, "moved": (section.moved and section.kind != "moved") or None,
        "left": _side_payload(section.left), "right": _side_payload(section.right),
        "differences": section.differences or None,
        "words": [
            without_empty({
                "before": change.before, "after": change.after, "pages": [change.left_page, change.right_page],
            })
            for change in section.changes
        ],
        "figures": [
            {
                "label": change.label, "before": change.before, "after": change.after,
                "pages": [change.left_page, change.right_page],
            }
            for change in section.figure_changes
        ],
    })  # fmt: skip


def _side_payload(side: SectionSide | None) -> dict[str, Any]:
    return {} if side is None else {"title": side.title, "node_id": side.node_id, "link": side.link}


def register_conversation_tools(server: FastMCP, state: ToolState) -> None:
    @server.tool(
        annotations={"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False, "openWorldHint": True},
        output_schema=output_schema(conversation="s", status="s", answer="s", sources="a", next="a"),
    )
    @report_errors
    async def ask(question: str, conversation: str = "", library: str = "") -> dict[str, Any]:
        """Answer a question with checked sources, and store both; pass conversation to ask a follow-up question."""
        conversations = state.engine.conversations
        if conversation:
            talk = await _find_own_conversation(state, conversation)
        else:
            talk = await conversations.create(libraries=library or (), owner=tool_caller().owner)
        begun = await conversations.ask(talk.id, check_length("question", question))
        answer = await conversations.wait(begun.id)
        return untrusted_fields("answer", "quote") | {"conversation": talk.id} | _answer_payload(answer, state) | {
            "next": [
                hint("read", "the page that was cited", document=citation.doc_id, pages=str(citation.page))
                for citation in answer.citations
                if citation.cited
            ][:3]
        }  # fmt: skip

    @server.tool(
        annotations={"readOnlyHint": True, "openWorldHint": False},
        output_schema=output_schema(conversations="a?", messages="a?"),
    )
    @report_errors
    async def conversations(conversation: str = "", cursor: str = "") -> dict[str, Any]:
        """List stored conversations, or the messages of one."""
        call = {"conversation": conversation}
        start, _ = read_cursor(call, cursor)
        name, items = "messages", list[dict[str, Any]]()
        if conversation:
            talk = await _find_own_conversation(state, conversation)
            items = [_message_payload(item, state) for item in await state.engine.conversations.messages(talk.id)]
        else:
            owner = tool_caller().owner or None
            name, stored = "conversations", await state.engine.conversations.listed(owner=owner, limit=1000)
            items = [{"conversation": item.id, "title": item.title} for item in stored]
        shown = fit_items(items[start:], state.budget)
        end = start + len(shown)
        more = make_cursor(call, end) if end < len(items) else ""
        return untrusted_fields("title", "text", "answer", "quote") | {name: shown} | without_empty({"cursor": more})


async def _find_own_conversation(state: ToolState, id: str) -> Conversation:
    """Return a conversation of the caller.

    Raise NotFoundError if it is unknown, belongs to another user, or may not be read.
    """
    conversation = await state.engine.conversations.get(check_length("conversation", id))
    if tool_caller().owner not in ("", conversation.owner):
        raise NotFoundError(f"The conversation '{id}' does not exist.")
    return conversation


def _message_payload(message: ConversationMessage, state: ToolState) -> dict[str, Any]:
    return {"question": message.text} if message.role == "user" else _answer_payload(message, state)


def _answer_payload(message: ConversationMessage, state: ToolState) -> dict[str, Any]:
    text = cut_text(message.text, max(state.budget - _SOURCE_TOKENS, _SOURCE_TOKENS))
    sources = fit_items([_source_payload(citation) for citation in message.citations], _SOURCE_TOKENS)
    return {"status": message.result.outcome or message.status, "answer": text, "sources": sources} | without_empty(
        {"why": message.result.why or message.cause, "searched": message.searched}
    )


def _source_payload(citation: Citation) -> dict[str, Any]:
    source = {"n": citation.number, "document": citation.doc_name, "page": citation.page, "quote": citation.quote[:200]}
    return source | without_empty({"now": citation.state if citation.state != "current" else ""})
