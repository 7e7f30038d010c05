"""Register the three tools of PageIndex-Light, in its response formats. Each tool works on one file."""

from __future__ import annotations

from typing import Any

from fastmcp import Context, FastMCP
from fastmcp.tools import ToolResult

from hybrid_core.errors import NotFoundError
from hybrid_core.types.documents import Document
from hybrid_pageindex.mcp.builds import task_config
from hybrid_pageindex.mcp.payloads import (
    count_json_tokens,
    cut_text,
    fit_items,
    has_more,
    hint,
    make_cursor,
    output_schema,
    page_range,
    read_cursor,
    relevance_line,
    result_limit,
    untrusted_fields,
    without_empty,
)
from hybrid_pageindex.mcp.state import Progress, ToolState, check_length, report_errors, with_images

_SUMMARY = 120  # maximum tokens of a page's summary in a list
_AHEAD = 200  # pages read at once to fill one result


def register_light_tools(server: FastMCP, state: ToolState) -> None:
    @server.tool(
        annotations={"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
        output_schema=output_schema(
            status="s", file_path="s", total_pages="i", untrusted="s", pages="a?", results="a?", next="a",
        ),
    )  # fmt: skip
    @report_errors
    async def get_index(
        file_path: str, ctx: Context, query: str = "", top_k: int = 5, cursor: str = ""
    ) -> dict[str, Any]:
        """Return a file's best pages for a query, or every page's summary. Indexes the file on first use."""
        document = await state.at_path(file_path, ctx)
        head = {"file_path": document.path, "total_pages": document.pages} | untrusted_fields(
            "text", "summary", "relevance"
        )
        call = {"file_path": file_path, "query": query, "top_k": top_k}
        progress = await Progress.of(ctx)
        progress.note("looking for its best pages" if query.strip() else "reading its pages")
        async with state.call_slots:
            if query.strip():
                query_field = {"query": check_length("query", query)}
                return (
                    {"status": "search"}
                    | head
                    | query_field
                    | await _search_pages(state, document, call, cursor, progress)
                )
            shown = await _list_pages(state, document.doc_id, document.pages, call, cursor)
            return {"status": "success"} | head | {"indexed_at": document.indexed_at} | shown

    @server.tool(
        annotations={"readOnlyHint": True, "openWorldHint": False},
        output_schema=output_schema(file_path="s", page="i", untrusted="s", text="s", summary="s", indexed_at="s"),
    )
    @report_errors
    async def get_detail(file_path: str, page: int, image: bool = False, cursor: str = "") -> ToolResult:
        """Return a page of an indexed file: text and summary, with image=true also its picture."""
        document = await _find_indexed(state, file_path)
        (read,) = await state.engine.pages(document.doc_id, page)
        call = {"file_path": file_path, "page": page}
        _, start = read_cursor(call, cursor)
        text = cut_text(read.text[start:], max(state.budget - 3 * _SUMMARY, _SUMMARY))
        end = start + len(text)
        described = "" if start else cut_text(read.described, _SUMMARY)
        answer = without_empty(
            {"described": described, "cursor": make_cursor(call, 0, end) if end < len(read.text) else ""}
        )
        answer = {
            "file_path": document.path, "page": page, **untrusted_fields("text", "summary", "described"), "text": text,
            "summary": read.summary, "indexed_at": read.indexed_at, **answer,
        }  # fmt: skip
        return with_images(answer, [await state.picture(document.doc_id, [page])] if image else [])

    @server.tool(
        annotations={"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
        output_schema=output_schema(status="s", file_path="s", progress="s?", next="a"),
        task=task_config(),
    )
    @report_errors
    async def build_index(file_path: str, ctx: Context) -> dict[str, Any]:
        """Index a file in the background; a long one answers status "building": ask index_status later."""
        state.access.check_writing()
        file = state.access.file(check_length("file_path", file_path, 2000))
        build, ready = await state.build(file, ctx, published=False)
        if not ready:
            later = hint("index_status", "see how far it is")
            return {"status": "building", "file_path": str(file), "progress": build.summary(), "next": [later]}
        document = await state.document(str(file))
        ask = hint(
            "search", "ask this document; put your question in", question="YOUR QUESTION", documents=[document.doc_id]
        )
        return {
            "status": "success", "file_path": document.path, "total_pages": document.pages,
            "indexed_at": document.indexed_at, "next": [ask],
        }  # fmt: skip


async def _find_indexed(state: ToolState, file_path: str) -> Document:
    """Return the published document at a path.

    The file is not indexed here. If it is not indexed yet, raise NotFoundError with the tool to call instead.
    """
    indexed, path = await state.find_path(check_length("file_path", file_path, 2000))
    if indexed is not None:
        return await state.document(indexed.doc_id)
    if path is None:
        raise state.access.refused(file_path)
    raise NotFoundError(f"{file_path} is not indexed.", "Call get_index or build_index with this file first.")


async def _search_pages(
    state: ToolState, document: Document, call: dict[str, Any], cursor: str, progress: Progress
) -> dict[str, Any]:
    """Return the best pages of one document for a query, with suggested calls and a cursor."""
    start, _ = read_cursor(call, cursor)
    top_k = call["top_k"]
    limit = result_limit(start, top_k)
    result = await state.engine.search(call["query"], documents=[document.doc_id], top_k=limit, on_step=progress.step)
    pages = result.results[start:]
    results = fit_items([{"page": page.page, "relevance": relevance_line(page)} for page in pages], state.budget)
    end = start + len(results)
    more = make_cursor(call, end) if has_more(result.results, end, limit) else ""
    hints = []
    for page in pages[:2]:
        section = page.section
        where = f"best in '{section.title}', pages {page_range(section.start_page, section.end_page)}"
        hints.append(hint("get_detail", where, file_path=document.path, page=page.page))
    if not result.results:
        hints.append(hint("get_index", "no page fits: see what each page says", file_path=document.path))
    return without_empty({"cursor": more}) | {"results": results, "next": hints}


async def _list_pages(state: ToolState, doc_id: str, total: int, call: dict[str, Any], cursor: str) -> dict[str, Any]:
    """Return the summaries of a document's pages from a cursor on. Add the texts if those of all pages fit the
    budget.
    """
    start, _ = read_cursor(call, cursor)
    numbers = range(start + 1, min(total, start + _AHEAD) + 1)
    read = await state.engine.pages(doc_id, list(numbers))
    whole = [{"page": page.page, "text": page.text, "summary": page.summary} for page in read]
    if start == 0 and total <= _AHEAD and count_json_tokens(whole) <= state.budget:
        return {"pages": whole, "next": []}
    pages = fit_items([{"page": page.page, "summary": cut_text(page.summary, _SUMMARY)} for page in read], state.budget)
    end = start + len(pages)
    more = make_cursor(call, end) if end < total else ""
    hints = [hint("get_index", "ask for the best pages instead", file_path=call["file_path"], query="YOUR QUESTION")]
    return without_empty({"cursor": more}) | {"pages": pages, "next": hints}
