"""The tools that find and read: search, outline, read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastmcp import Context, FastMCP
from fastmcp.tools import ToolResult
from pydantic import BeforeValidator

from hybrid_core.errors import UsageError
from hybrid_core.types.documents import Effort
from hybrid_pageindex.doors.mcp import budget, exhaustive, shapes
from hybrid_pageindex.doors.mcp.door import Door, pictured, short, told
from hybrid_pageindex.doors.mcp.progress import Progress
from hybrid_pageindex.doors.mcp.shapes import schema, without_empty
from hybrid_pageindex.services.outline import Outline
from hybrid_pageindex.services.pictures import SHEET
from hybrid_pageindex.services.reading import PageRead

READING = {"readOnlyHint": True, "openWorldHint": False}
_IMAGES = 3  # in one answer: an image costs a model about 1,500 tokens
_AHEAD = 50  # pages that are read to fill one answer
_PAGE_FRAME = 150  # tokens around a page's text

DocumentName = Annotated[str, "doc_id, name or path"]


def register(server: FastMCP, door: Door) -> None:
    settings = door.engine.settings
    usual_effort = settings.effort

    @server.tool(
        annotations=READING,
        output_schema=schema(untrusted="s", evidence="o", results="a", notes="a?", next="a"),
    )
    @told
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
    ) -> dict[str, Any]:
        """Start here: the pages that answer a question, with snippets. evidence says how sure that is."""
        if top_k < 1:
            raise UsageError(f"top_k is {top_k}.", "Choose 1 or more.")
        scope = {
            "library": library, "documents": list(documents), "where": list(where), "top_k": top_k, "effort": effort,
        } | without_empty({"libraries": list(libraries)})  # fmt: skip
        call = scope | {"question": short("question", question)}
        start, _ = budget.resume(call, cursor)
        most = budget.reach(start, top_k)
        progress = await Progress.of(ctx)
        found = await door.engine.search(
            question, library=_scope(library, libraries), all_libraries="*" in libraries, documents=documents or None,
            where=where, top_k=most, effort=effort, trace=True, on_step=progress.step,
        )  # fmt: skip
        wanted = found.results[start:]
        results = budget.fitting([shapes.result(page) for page in wanted], door.budget)
        end = start + len(results)
        more = budget.cursor(call, end) if budget.goes_on(found.results, end, most) else ""
        said = shapes.quoted("section", "snippet", "why") | {
            "evidence": shapes.evidence(found.evidence),
            "results": results,
        }
        hints = shapes.search_hints(found, wanted[: len(results)], more, scope)
        return said | without_empty({"notes": list(found.notes), "cursor": more}) | {"next": hints}

    exhaustive.register(server, door)

    @server.tool(
        annotations=READING,
        output_schema=schema(untrusted="s", documents="a", nodes="a", notes="a?", next="a"),
    )
    @told
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
        start, _ = budget.resume(call, cursor)
        trees = await _trees(door, document, short("question", question), depth, node, library)
        several = len(trees) > 1
        entries = [shapes.node(entry, tree.document if several else None) for tree in trees for entry in tree.nodes]
        heads = [{"document": t.document.name, "doc_id": t.document.doc_id, "pages": t.document.pages} for t in trees]
        nodes = budget.fitting(entries[start:], door.budget - budget.cost(heads))
        end = start + len(nodes)
        more = budget.cursor(call, end) if end < len(entries) else ""
        hints = shapes.outline_hints(trees, library)
        notes = list(dict.fromkeys(note for tree in trees for note in tree.notes))
        said = (
            shapes.quoted("title", "why")
            | {"documents": heads, "nodes": nodes}
            | without_empty({"notes": notes, "cursor": more})
        )
        return said | {"next": hints}

    @server.tool(
        annotations=READING,
        output_schema=schema(untrusted="s", document="s", doc_id="s", pages="a", next="a"),
    )
    @told
    async def read(
        document: DocumentName,
        pages: Annotated[str, BeforeValidator(_page_list), "Such as 3,7-9"] = "",
        node: Annotated[str, "Or a section's node_id"] = "",
        format: Annotated[Literal["text", "hidden", "image", "sheet"], "sheet: 12 pages at once"] = "text",
        library: str = "",
        cursor: str = "",
    ) -> ToolResult:
        """The text of pages, or pictures of them (for tables, charts, scans)."""
        found = await door.document(document, library)
        if bool(pages) == bool(node):
            raise UsageError("Say either pages or node.", 'pages="3,7-9", or a node_id from search or outline.')
        if node:
            first = (await door.engine.outline(found.doc_id, library=library or None, node=node)).nodes[0].section
            numbers = shapes.page_range(first.start_page, first.end_page)
        else:
            numbers = short("pages", pages)
        call = {"document": document, "pages": pages, "node": node, "format": format, "library": library}
        at = budget.resume(call, cursor)
        wanted = await door.engine.pages(found.doc_id, numbers, library=library or None)
        head = shapes.quoted("sections", "text", "described") | {"document": found.name, "doc_id": found.doc_id}
        if format not in ("text", "hidden"):
            each = SHEET if format == "sheet" else 1
            shown = wanted[at[0] : at[0] + _IMAGES * each]
            together = [[page.page for page in shown[first : first + each]] for first in range(0, len(shown), each)]
            images = [await door.picture(found.doc_id, numbers, library, sheet=each > 1) for numbers in together]
            end, within = at[0] + len(shown), 0
            said = [{"page": page.page} if format == "sheet" else shapes.page(page, "") for page in shown]
        else:
            if format == "text":
                wanted = [page.shown() for page in wanted]
            said, (end, within) = await _texts(door, wanted, at, library)
            shown, images = wanted[at[0] : end + bool(within)], []
        more = budget.cursor(call, end, within) if end < len(wanted) else ""
        hints = (
            [shapes.hint("read", "the rest", **call, cursor=more)]
            if more
            else shapes.read_hints(found, shown, library, format)
        )
        answer = head | {"pages": said} | without_empty({"cursor": more}) | {"next": hints}
        return pictured(answer, images)


def _page_list(given: Any) -> Any:
    """Return pages as they are written, also where a model sends a number or a list of numbers."""
    if isinstance(given, int) and not isinstance(given, bool):
        return str(given)
    if isinstance(given, list) and all(isinstance(one, int | str) and not isinstance(one, bool) for one in given):
        return ",".join(map(str, given))
    return given


def _scope(library: str, libraries: Sequence[str]) -> Sequence[str] | None:
    """The libraries that are named, None where none is or all are asked for."""
    if library and libraries:
        raise UsageError("Both library and libraries are given.", "Say one of them.")
    named = libraries or (library,)
    return None if named[0] in ("", "*") else named


async def _trees(door: Door, document: str, question: str, depth: int, node: str, library: str) -> list[Outline]:
    if depth < 1:
        raise UsageError(f"depth is {depth}.", "Choose 1 or more.")
    if document:
        found = await door.document(document, library)
        return [
            await door.engine.outline(
                found.doc_id, library=library or None, query=question or None, depth=depth, node=node or None
            )
        ]
    if not question or node:
        raise UsageError("Name a document or ask a question.", "A node needs its document, too.")
    return await door.engine.outlines(question, library=library or None, depth=depth)


async def _texts(
    door: Door, wanted: Sequence[PageRead], at: tuple[int, int], library: str
) -> tuple[list[dict[str, Any]], tuple[int, int]]:
    """Pages from a place on whose texts fit, and where that ends: (position, character of the page there)."""
    position, within = at
    left = door.budget - _PAGE_FRAME
    said: list[dict[str, Any]] = []
    for page in wanted[position : position + _AHEAD]:
        read = await door.engine.with_tables(page, library=library or None)
        left -= _PAGE_FRAME + budget.tokens(shapes.described(read))
        rest = read.text[within:]
        whole = budget.tokens(rest) <= left
        if said and not whole:
            break
        text = rest if whole else budget.longest(rest, max(left, _PAGE_FRAME))
        said.append(shapes.page(read, text))
        left -= budget.tokens(text)
        if not whole:
            return said, (position, within + len(text))
        position, within = position + 1, 0
    return said, (position, 0)
