"""The three tools of PageIndex-Light, one file at a time, in its response shapes."""

from __future__ import annotations

from typing import Any

from fastmcp import Context, FastMCP
from fastmcp.tools import ToolResult

from hybrid_core.errors import NotFoundError
from hybrid_core.types.documents import Document
from hybrid_pageindex.doors.mcp.budget import cost, cursor, fitting, goes_on, longest, reach, resume
from hybrid_pageindex.doors.mcp.door import Door, pictured, short, told
from hybrid_pageindex.doors.mcp.progress import Progress
from hybrid_pageindex.doors.mcp.shapes import hint, page_range, quoted, relevance, schema, without_empty
from hybrid_pageindex.doors.mcp.tasks import as_task

_SUMMARY = 120  # tokens of one page's summary, so that a list of pages stays a list
_AHEAD = 200  # pages that are read to fill one answer


def register(server: FastMCP, door: Door) -> None:
    @server.tool(
        annotations={"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
        output_schema=schema(
            status="s", file_path="s", total_pages="i", untrusted="s", pages="a?", results="a?", next="a",
        ),
    )  # fmt: skip
    @told
    async def get_index(
        file_path: str, ctx: Context, query: str = "", top_k: int = 5, cursor: str = ""
    ) -> dict[str, Any]:
        """One file: with query its best pages, without it every page's summary. Indexes the file on first use."""
        document = await door.at_path(file_path, ctx)
        head = {"file_path": document.path, "total_pages": document.pages} | quoted("text", "summary", "relevance")
        call = {"file_path": file_path, "query": query, "top_k": top_k}
        progress = await Progress.of(ctx)
        progress.note("looking for its best pages" if query.strip() else "reading its pages")
        async with door.turn:
            if query.strip():
                asked = {"query": short("query", query)}
                return {"status": "search"} | head | asked | await _found(door, document, call, cursor, progress)
            shown = await _pages(door, document.doc_id, document.pages, call, cursor)
            return {"status": "success"} | head | {"indexed_at": document.indexed_at} | shown

    @server.tool(
        annotations={"readOnlyHint": True, "openWorldHint": False},
        output_schema=schema(file_path="s", page="i", untrusted="s", text="s", summary="s", indexed_at="s"),
    )
    @told
    async def get_detail(file_path: str, page: int, image: bool = False, cursor: str = "") -> ToolResult:
        """One page of an indexed file: text and summary, with image=true also the page drawn."""
        document = await _indexed(door, file_path)
        (read,) = await door.engine.pages(document.doc_id, page)
        call = {"file_path": file_path, "page": page}
        _, start = resume(call, cursor)
        text = longest(read.text[start:], max(door.budget - 3 * _SUMMARY, _SUMMARY))
        end = start + len(text)
        described = "" if start else longest(read.described, _SUMMARY)
        said = without_empty({"described": described, "cursor": _goes_on(call, end) if end < len(read.text) else ""})
        said = {
            "file_path": document.path, "page": page, **quoted("text", "summary", "described"), "text": text,
            "summary": read.summary, "indexed_at": read.indexed_at, **said,
        }  # fmt: skip
        return pictured(said, [await door.picture(document.doc_id, [page])] if image else [])

    @server.tool(
        annotations={"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
        output_schema=schema(status="s", file_path="s", progress="s?", next="a"),
        task=as_task(),
    )
    @told
    async def build_index(file_path: str, ctx: Context) -> dict[str, Any]:
        """Index a file in the background; a long one answers status "building": ask index_status later."""
        door.access.check_writing()
        file = door.access.file(short("file_path", file_path, 2000))
        build, ready = await door.build(file, ctx, published=False)
        if not ready:
            later = hint("index_status", "see how far it is")
            return {"status": "building", "file_path": str(file), "progress": build.said(), "next": [later]}
        document = await door.document(str(file))
        ask = hint(
            "search", "ask this document; put your question in", question="YOUR QUESTION", documents=[document.doc_id]
        )
        return {
            "status": "success", "file_path": document.path, "total_pages": document.pages,
            "indexed_at": document.indexed_at, "next": [ask],
        }  # fmt: skip


def _goes_on(call: dict[str, Any], within: int) -> str:
    return cursor(call, 0, within)


async def _indexed(door: Door, file_path: str) -> Document:
    """The published document at a path, never built here. Raises NotFoundError with why not, or what to call."""
    known, path = await door.meant(short("file_path", file_path, 2000))
    if known is not None:
        return await door.document(known.doc_id)
    if path is None:
        raise door.access.refused(file_path)
    raise NotFoundError(f"{file_path} is not indexed.", "Call get_index or build_index with it first.")


async def _found(
    door: Door, document: Document, call: dict[str, Any], given: str, progress: Progress
) -> dict[str, Any]:
    """The best pages of one document."""
    start, _ = resume(call, given)
    top_k = call["top_k"]
    most = reach(start, top_k)
    found = await door.engine.search(call["query"], documents=[document.doc_id], top_k=most, on_step=progress.step)
    wanted = found.results[start:]
    results = fitting([{"page": page.page, "relevance": relevance(page)} for page in wanted], door.budget)
    end = start + len(results)
    more = cursor(call, end) if goes_on(found.results, end, most) else ""
    hints = []
    for page in wanted[:2]:
        section = page.section
        where = f"best in «{section.title}», pages {page_range(section.start_page, section.end_page)}"
        hints.append(hint("get_detail", where, file_path=document.path, page=page.page))
    if not found.results:
        hints.append(hint("get_index", "no page fits: see what each page says", file_path=document.path))
    return without_empty({"cursor": more}) | {"results": results, "next": hints}


async def _pages(door: Door, doc_id: str, total: int, call: dict[str, Any], given: str) -> dict[str, Any]:
    """Every page's summary from a cursor on; with its text where all of that fits."""
    start, _ = resume(call, given)
    numbers = range(start + 1, min(total, start + _AHEAD) + 1)
    read = await door.engine.pages(doc_id, list(numbers))
    whole = [{"page": page.page, "text": page.text, "summary": page.summary} for page in read]
    if start == 0 and total <= _AHEAD and cost(whole) <= door.budget:
        return {"pages": whole, "next": []}
    pages = fitting([{"page": page.page, "summary": longest(page.summary, _SUMMARY)} for page in read], door.budget)
    end = start + len(pages)
    more = cursor(call, end) if end < total else ""
    hints = [hint("get_index", "ask for the best pages instead", file_path=call["file_path"], query="YOUR QUESTION")]
    return without_empty({"cursor": more}) | {"pages": pages, "next": hints}
