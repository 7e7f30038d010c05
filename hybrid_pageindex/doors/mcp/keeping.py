"""The tools that keep the libraries: what there is, adding and removing."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import mcp_types
from fastmcp import Context, FastMCP
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from hybrid_core.errors import NotFoundError, UsageError
from hybrid_core.text.tokens import fold
from hybrid_core.types.documents import Document
from hybrid_pageindex.doors.mcp import budget, shapes
from hybrid_pageindex.doors.mcp.door import Door, patience, short, teller, told
from hybrid_pageindex.doors.mcp.finding import READING
from hybrid_pageindex.doors.mcp.shapes import hint, schema, without_empty
from hybrid_pageindex.doors.mcp.tasks import as_task

_ORDERS = {
    "name": lambda d: (d.name.casefold(), d.doc_id),
    "newest": lambda d: (d.indexed_at, d.doc_id),
    "pages": lambda d: (d.pages, d.doc_id),
}
_SHOWN = 20  # failures and files in an answer
_MOST_PATHS = 1000
_MOST_REMOVED = 100


def register(server: FastMCP, door: Door) -> None:
    @server.tool(annotations=READING, output_schema=schema(total="i", documents="a"))
    @told
    async def list_documents(
        library: str = "",
        filter: Annotated[str, "Words of name, title, organisation; or year=2023"] = "",
        sort: Annotated[str, "name, newest or pages"] = "name",
        cursor: str = "",
    ) -> dict[str, Any]:
        """The documents of a library."""
        if sort not in _ORDERS:
            raise UsageError(f"sort is '{sort[:50]}'.", f"Choose {', '.join(_ORDERS)}.")
        call = {"library": library, "filter": short("filter", filter), "sort": sort}
        start, _ = budget.resume(call, cursor)
        found = await door.engine.documents(library=library or None, where=[filter] if "=" in filter else ())
        if "=" not in filter:
            found = [document for document in found if _has(document, filter)]
        found.sort(key=_ORDERS[sort], reverse=sort != "name")
        shown = budget.fitting((shapes.document(document) for document in found[start:]), door.budget)
        end = start + len(shown)
        more = budget.cursor(call, end) if end < len(found) else ""
        return {"total": len(found), "documents": shown} | without_empty({"cursor": more})

    @server.tool(annotations=READING, output_schema=schema(libraries="a"))
    @told
    async def list_libraries(name: Annotated[str, "Part of a name or alias"] = "", cursor: str = "") -> dict[str, Any]:
        """The libraries, last used first."""
        call = {"libraries": short("name", name)}
        start, _ = budget.resume(call, cursor)
        sizes = await door.engine.libraries(name)
        shown = budget.fitting((shapes.library(size) for size in sizes[start:]), door.budget)
        end = start + len(shown)
        more = budget.cursor(call, end) if end < len(sizes) else ""
        return {"libraries": shown} | without_empty({"cursor": more})

    @server.tool(
        annotations={"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
        output_schema=schema(library="s", alias="s"),
    )
    @told
    async def name_library(
        library: str,
        name: Annotated[str, "New name; empty: as it is"] = "",
        alias: Annotated[str, "Second name, any script"] = "",
    ) -> dict[str, Any]:
        """Rename a library or give it an alias; creates one that does not exist."""
        door.access.check_writing()
        new = {key: value for key, value in (("name", name), ("alias", alias)) if value}
        try:
            made = await door.engine.name_library(short("library", library), **new)
        except NotFoundError:
            made = await door.engine.create_library(name or library, alias=alias)
        return {"library": made.name, "alias": made.alias}

    @server.tool(annotations=READING, output_schema=schema(libraries="a", building="a", failed="a", roots="a"))
    @told
    async def index_status(library: str = "") -> dict[str, Any]:
        """What is being indexed, what failed, and the folders this server may read."""
        sizes = [size for size in await door.engine.libraries() if library in ("", size.name, size.alias)]
        building = [
            {"library": build.library, "files": [str(file) for file in build.files[:_SHOWN]], "progress": build.said()}
            for build in door.builds.running()
            if library in ("", build.library)
        ]
        failed = [{"path": str(build.files[0]), "error": why} for build, why in door.builds.failed(library or None)]
        for size in sizes:
            if size.failed:
                documents = await door.engine.documents(library=size.name)
                failed += [{"path": d.path, "error": d.error} for d in documents if d.error]
        each = door.budget // 3
        return {
            "libraries": budget.fitting((shapes.library(size) for size in sizes), each),
            "building": budget.fitting(building, each), "failed": budget.fitting(failed[:_SHOWN], each),
            "roots": [str(root) for root in door.access.roots],
        }  # fmt: skip

    @server.tool(
        annotations={"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
        output_schema=schema(
            status="s", indexed="i?", unchanged="i?", failed="a?", progress="s?", notes="a?", next="a"
        ),
        task=as_task(),
    )
    @told
    async def add_documents(paths: tuple[str, ...], ctx: Context, library: str = "") -> dict[str, Any]:
        """Index files and folders in the background; long ones answer status "building"."""
        door.access.check_writing()
        if not 1 <= len(paths) <= _MOST_PATHS:
            raise UsageError(f"{len(paths)} paths were given.", f"Give 1 to {_MOST_PATHS}.")
        files, problems, notes = await asyncio.to_thread(door.access.files, paths)
        refused = [{"path": path, "error": why} for path, why in problems]
        if not files:
            nothing = {"status": "success", "indexed": 0, "unchanged": 0, "failed": refused[:_SHOWN]}
            return nothing | without_empty({"notes": list(notes)}) | {"next": []}
        sources = await asyncio.to_thread(lambda: [door.access.path(name) for name in paths])
        build, late = door.builds.start(files, library or None, sources), patience(ctx)

        async def leave() -> bool:
            build.kept = build.kept or late()
            return late()

        done = await build.watch(await teller(ctx), leave)
        if done is None:
            later = hint("index_status", "see how far it is", library=library)
            building = {"status": "building", "progress": build.said()}
            return building | without_empty({"notes": list(notes)}) | {"next": [later]}
        failed = refused + [{"path": file.path, "error": file.error or ""} for file in done if file.status == "failed"]
        counts = {kind: sum(file.status == kind for file in done) for kind in ("indexed", "unchanged")}
        listed = hint("list_documents", "see them", library=library)
        done_so = {"status": "success", **counts, "failed": failed[:_SHOWN]}
        return done_so | without_empty({"notes": list(notes)}) | {"next": [listed]}

    @server.tool(
        annotations={"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False},
        output_schema=schema(status="s", removed="a"),
    )
    @told
    async def remove_documents(
        documents: tuple[str, ...], ctx: Context, library: str = ""
    ) -> dict[str, Any] | mcp_types.InputRequiredResult:
        """Remove documents from a library; the files stay, and for 30 days it can be undone. Asks the user where the
        client can.
        """
        door.access.check_writing()
        if not 1 <= len(documents) <= _MOST_REMOVED:
            raise UsageError(f"{len(documents)} documents are named.", f"Give ids or names of 1 to {_MOST_REMOVED}.")
        named = [await door.engine.info(short("document", name), library=library or None) for name in documents]
        names = ", ".join(document.name for document in named[:5]) + ", …" * (len(named) > 5)
        answer = await _confirmed(ctx, f"Remove {names} from the index? The files stay.")
        if isinstance(answer, mcp_types.InputRequiredResult):
            return answer
        if not answer:
            return {"status": "declined", "removed": []}
        removed = await door.engine.remove([document.doc_id for document in named], library=library or None)
        return {"status": "success", "removed": [document.name for document in removed]}


def _has(document: Document, words: str) -> bool:
    card = document.card
    said = fold(" ".join([document.name, document.title, *card.names, *card.symbols, card.type, document.path]))
    return all(word in said for word in fold(words).split())


async def _confirmed(ctx: Context, message: str) -> bool | mcp_types.InputRequiredResult:
    """Whether the user agrees; True where the client cannot ask: it has the destructive hint.

    The protocol of 2026 sends a question as the call's result and gets the answer with the same call again;
    older revisions ask while the call waits.
    """
    can = ctx.session.client_capabilities
    asks = can.elicitation if can else None
    if asks is None or (asks.url and not asks.form):  # it shows no forms
        return True
    if ctx.session.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        asked = await ctx.elicit(message, bool)
        return asked.action == "accept" and asked.data
    answer = (ctx.input_responses or {}).get("confirm")
    if answer is not None:
        return isinstance(answer, mcp_types.ElicitResult) and answer.action == "accept"
    form = mcp_types.ElicitRequestFormParams(message=message, requested_schema={"type": "object", "properties": {}})
    return mcp_types.InputRequiredResult(input_requests={"confirm": mcp_types.ElicitRequest(params=form)})
