"""Register the tools that maintain libraries: list, name, add and remove, and control jobs."""

from __future__ import annotations

import asyncio
import base64
import binascii
from contextlib import suppress
from typing import Annotated, Any, Literal

import mcp_types
from fastmcp import Context, FastMCP
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

from hybrid_core.errors import NotFoundError, UsageError
from hybrid_core.text.tokens import fold
from hybrid_core.types.documents import Document
from hybrid_pageindex.engine.job_views import JobView
from hybrid_pageindex.mcp.builds import task_config
from hybrid_pageindex.mcp.payloads import (
    document_payload,
    fit_items,
    hint,
    library_payload,
    make_cursor,
    output_schema,
    read_cursor,
    without_empty,
)
from hybrid_pageindex.mcp.search import READ_ONLY
from hybrid_pageindex.mcp.state import (
    ToolState,
    build_reporter,
    check_length,
    log_failures,
    patience_over,
    report_errors,
)

JobAction = Literal["list", "show", "pause", "resume", "cancel", "retry", "forget", "rebuild"]
_LISTED_JOBS = 50
_NAMED_JOBS = 100
_EVENTS = 20  # newest events of a job in a result
_ORDERS = {
    "name": lambda d: (d.name.casefold(), d.doc_id),
    "newest": lambda d: (d.indexed_at, d.doc_id),
    "pages": lambda d: (d.pages, d.doc_id),
}
_MAX_ENTRIES = 20  # maximum failures and files in a result
_MOST_PATHS = 1000
_MOST_REMOVED = 100


def register_library_tools(server: FastMCP, state: ToolState) -> None:
    @server.tool(annotations=READ_ONLY, output_schema=output_schema(total="i", documents="a"))
    @report_errors
    async def list_documents(
        library: str = "",
        filter: Annotated[str, "Words of name, title, organisation; or year=2023"] = "",
        sort: Annotated[str, "name, newest or pages"] = "name",
        cursor: str = "",
    ) -> dict[str, Any]:
        """The documents of a library."""
        if sort not in _ORDERS:
            raise UsageError(f"'{sort[:50]}' is not a sort order.", f"Choose {', '.join(_ORDERS)}.")
        call = {"library": library, "filter": check_length("filter", filter), "sort": sort}
        start, _ = read_cursor(call, cursor)
        listed = await state.engine.documents.list(library=library or None, where=[filter] if "=" in filter else ())
        if "=" not in filter:
            listed = [document for document in listed if _matches_words(document, filter)]
        listed.sort(key=_ORDERS[sort], reverse=sort != "name")
        shown = fit_items((document_payload(document) for document in listed[start:]), state.budget)
        end = start + len(shown)
        more = make_cursor(call, end) if end < len(listed) else ""
        return {"total": len(listed), "documents": shown} | without_empty({"cursor": more})

    @server.tool(annotations=READ_ONLY, output_schema=output_schema(libraries="a"))
    @report_errors
    async def list_libraries(name: Annotated[str, "Part of a name or alias"] = "", cursor: str = "") -> dict[str, Any]:
        """The libraries, last used first."""
        call = {"libraries": check_length("name", name)}
        start, _ = read_cursor(call, cursor)
        sizes = await state.engine.libraries.list(name)
        shown = fit_items((library_payload(size) for size in sizes[start:]), state.budget)
        end = start + len(shown)
        more = make_cursor(call, end) if end < len(sizes) else ""
        return {"libraries": shown} | without_empty({"cursor": more})

    @server.tool(
        annotations={"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
        output_schema=output_schema(library="s", alias="s"),
    )
    @report_errors
    async def name_library(
        library: str,
        name: Annotated[str, "New name; empty: as it is"] = "",
        alias: Annotated[str, "Second name, any script"] = "",
    ) -> dict[str, Any]:
        """Rename a library or give it an alias; creates one that does not exist."""
        state.access.check_writing()
        new = {key: value for key, value in (("name", name), ("alias", alias)) if value}
        try:
            named = await state.engine.libraries.name(check_length("library", library), **new)
        except NotFoundError:
            named = await state.engine.libraries.create(name or library, alias=alias)
        return {"library": named.name, "alias": named.alias}

    @server.tool(annotations=READ_ONLY, output_schema=output_schema(libraries="a", building="a", failed="a", roots="a"))
    @report_errors
    async def index_status(library: str = "") -> dict[str, Any]:
        """List what is being indexed, what failed, and the folders this server may read."""
        building = [
            {
                "library": build.library,
                "files": len(build.files),
                "progress": build.summary(),
            }
            for build in state.builds.running()
            if library in ("", build.library)
        ]
        # read after the builds: the results of a build that ends meanwhile are then in its library
        sizes = [size for size in await state.engine.libraries.list() if library in ("", size.name, size.alias)]
        failed = [{"path": str(build.files[0]), "error": why} for build, why in state.builds.failed(library or None)]
        for size in sizes:
            if not size.failed:
                continue
            with suppress(NotFoundError):  # the library was deleted meanwhile
                documents = await state.engine.documents.list(library=size.name)
                failed += [{"path": d.path, "error": d.error} for d in documents if d.error]
        each = state.budget // 3
        return {
            "libraries": fit_items((library_payload(size) for size in sizes), each),
            "building": fit_items(building, each), "failed": fit_items(failed[:_MAX_ENTRIES], each),
            "roots": [str(root) for root in state.access.roots],
        }  # fmt: skip

    @server.tool(
        annotations={"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
        output_schema=output_schema(
            status="s", indexed="i?", unchanged="i?", failed="a?", progress="s?", notes="a?", next="a"
        ),
        task=task_config(),
    )
    @report_errors
    async def add_documents(paths: tuple[str, ...], ctx: Context, library: str = "") -> dict[str, Any]:
        """Index files and folders in the background; long ones answer status "building"."""
        state.access.check_writing()
        if not 1 <= len(paths) <= _MOST_PATHS:
            raise UsageError(f"The call names {len(paths)} paths.", f"Name 1 to {_MOST_PATHS} paths in a call.")
        files, problems, notes = await asyncio.to_thread(state.access.files, paths)
        refused = [{"path": path, "error": why} for path, why in problems]
        if not files:
            nothing = {"status": "success", "indexed": 0, "unchanged": 0, "failed": refused[:_MAX_ENTRIES]}
            return nothing | without_empty({"notes": list(notes)}) | {"next": []}
        sources = await asyncio.to_thread(lambda: [state.access.path(name) for name in paths])
        build, late = state.builds.start(files, library or None, sources), patience_over(ctx)

        async def leave() -> bool:
            build.kept = build.kept or late()
            return late()

        done = await build.watch(await build_reporter(ctx), leave)
        if done is None:
            later = hint("index_status", "see how far it is", library=library)
            building = {"status": "building", "progress": build.summary()}
            return building | without_empty({"notes": list(notes)}) | {"next": [later]}
        await log_failures(ctx, done)
        failed = refused + [{"path": file.path, "error": file.error or ""} for file in done if file.status == "failed"]
        counts = {kind: sum(file.status == kind for file in done) for kind in ("indexed", "unchanged")}
        listed = hint("list_documents", "see them", library=library)
        done_so = {"status": "success", **counts, "failed": failed[:_MAX_ENTRIES]}
        return done_so | without_empty({"notes": list(notes)}) | {"next": [listed]}

    @server.tool(
        annotations={"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False},
        output_schema=output_schema(status="s", removed="a"),
    )
    @report_errors
    async def remove_documents(
        documents: tuple[str, ...], ctx: Context, library: str = ""
    ) -> dict[str, Any] | mcp_types.InputRequiredResult:
        """Remove documents from a library; the user's own files stay, uploaded ones go. For 30 days it can be undone.
        Asks the user where the client can.
        """
        state.access.check_writing()
        if not 1 <= len(documents) <= _MOST_REMOVED:
            raise UsageError(
                f"The call names {len(documents)} documents.", f"Name 1 to {_MOST_REMOVED} documents in a call."
            )
        named = [
            await state.engine.documents.get(check_length("document", name), library=library or None)
            for name in documents
        ]
        names = ", ".join(document.name for document in named[:5]) + ", …" * (len(named) > 5)
        stay = "Your own files stay. Uploads are deleted after 30 days."
        answer = await _confirm_removal(ctx, f"Remove {names} from the library? {stay}")
        if isinstance(answer, mcp_types.InputRequiredResult):
            return answer
        if not answer:
            return {"status": "declined", "removed": []}
        removed = await state.engine.documents.remove([document.doc_id for document in named], library=library or None)
        return {"status": "success", "removed": [document.name for document in removed]}

    _register_jobs(server, state)


def _matches_words(document: Document, words: str) -> bool:
    card = document.card
    text = fold(" ".join([document.name, document.title, *card.names, *card.symbols, card.type, document.path]))
    return all(word in text for word in fold(words).split())


class _Consent(BaseModel):
    """An empty form that a client shows to the user. A user who accepts it agrees."""


async def _confirm_removal(ctx: Context, message: str) -> bool | mcp_types.InputRequiredResult:
    """Return whether the user agrees to a removal. Return True if the client cannot ask the user.

    The tool is marked as destructive, so such a client asks by itself. In the protocol of 2026, the call returns the
    question, and the client repeats the call with the answer. In older revisions the client asks while the call waits.
    """
    can = ctx.session.client_capabilities
    asks = can.elicitation if can else None
    if asks is None or (asks.url and not asks.form):  # the client shows no forms
        return True
    if ctx.session.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return (await ctx.elicit(message, _Consent)).action == "accept"
    answer = (ctx.input_responses or {}).get("confirm")
    if answer is not None:
        return isinstance(answer, mcp_types.ElicitResult) and answer.action == "accept"
    form = mcp_types.ElicitRequestFormParams(message=message, requested_schema={"type": "object", "properties": {}})
    return mcp_types.InputRequiredResult(input_requests={"confirm": mcp_types.ElicitRequest(params=form)})


def _register_jobs(server: FastMCP, state: ToolState) -> None:
    usual = state.engine.settings.library

    @server.tool(
        annotations={"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
        output_schema=output_schema(jobs="a", said="s?"),
    )
    @report_errors
    async def jobs(
        action: JobAction = "list",
        jobs: Annotated[tuple[int, ...], "Else all of library"] = (),
        documents: tuple[str, ...] = (),
        library: str = "",
    ) -> dict[str, Any]:
        """List running and waiting jobs, and decide about them. rebuild makes documents anew."""
        if len(jobs) > _NAMED_JOBS:
            raise UsageError(f"The call names {len(jobs)} jobs.", f"Name at most {_NAMED_JOBS} jobs in a call.")
        if action == "list":
            queue = await state.engine.jobs.list(library=check_length("library", library) or None, limit=_LISTED_JOBS)
            paused = f"paused: {', '.join(queue.paused)}" if queue.paused else ""
            return {"jobs": fit_items(map(_job_payload, queue.jobs), state.budget)} | without_empty({"said": paused})
        if action == "show":
            each = [await state.engine.jobs.get(number) for number in jobs]
            shown = (_job_payload(history.view) | {"events": _event_lines(history.to_dict())} for history in each)
            return {"jobs": fit_items(shown, state.budget)}
        state.access.check_writing()
        if action == "rebuild":
            names = [check_length("document", name) for name in documents]
            report = await state.engine.documents.rebuild(
                names, library=library or (None if names else usual), detach=True
            )
            state.wake()
            return {"jobs": [], "said": "; ".join(report.notes)}
        scope = {"library": library or usual} if not jobs else {}
        decided = await getattr(state.engine.jobs, action)(*jobs, **scope)
        state.wake()
        return {"jobs": list(decided.jobs), "said": decided.said}


def register_upload(server: FastMCP, state: ToolState) -> None:
    """Register the upload tool. It is for callers over a network, who may not name files on the server's disk."""

    @server.tool(
        annotations={"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
        output_schema=output_schema(status="s", document="s", job="i?", next="a"),
    )
    @report_errors
    async def upload_document(
        name: Annotated[str, "With its suffix, as notes.md"],
        text: str = "",
        data: Annotated[str, "Its bytes in base64, instead of text"] = "",
        library: str = "",
    ) -> dict[str, Any]:
        """Store a document in a library and index it; one of the same name is replaced."""
        from hybrid_pageindex.engine.index.uploads import Upload

        state.access.check_writing()
        content = _decode_upload(text, data, state.engine.settings.max_upload_size)
        upload = Upload(check_length("name", name, 2000), content)
        uploaded = await state.engine.upload([upload], library=library or None)
        state.wake()
        [file] = uploaded.files
        later = hint("jobs", "see whether it is indexed", action="show", jobs=[file.job] if file.job else [])
        answer = {"status": "building", "job": file.job} if file.job else {"status": "success"}
        return answer | {"document": file.path, "next": [later] if file.job else []}


def _decode_upload(text: str, encoded: str, limit: int) -> bytes:
    """Return the bytes of an upload.

    Raise UsageError unless exactly one of text and valid base64 is given and its size is within ``limit``.
    """
    if bool(text) == bool(encoded):
        raise UsageError(
            "The document must have exactly one of the fields text and data.",
            "Pass the content of the document as text, or as base64 in data.",
        )
    try:
        data = base64.b64decode(encoded, validate=True) if encoded else text.encode()
    except (binascii.Error, ValueError) as error:
        raise UsageError(
            "The field data is not valid base64.", "Encode the bytes of the file as base64 again."
        ) from error
    if len(data) > limit:
        raise UsageError(
            f"The uploaded file is too large: a file may have at most {limit:,} bytes.",
            "Upload a smaller file, or raise the setting max_upload_size of the server.",
        )
    return data


def _job_payload(view: JobView) -> dict[str, Any]:
    job = view.job
    return {"job": job.id, "library": view.library, "kind": job.kind, "subject": job.subject, "state": view.state}


def _event_lines(history: dict[str, Any]) -> list[str]:
    return [f"{event['at']} {event['kind']} {event.get('cause', '')}".strip() for event in history["events"][-_EVENTS:]]
