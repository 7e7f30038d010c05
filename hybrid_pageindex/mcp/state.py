"""The state that all MCP tools share: the engine, readable files, builds, and the progress of calls."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from logging import INFO
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from fastmcp import Context
from fastmcp.exceptions import ToolError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from fastmcp.utilities.types import Image
from mcp_types import ContentBlock, TextContent

from hybrid_core.errors import DocumentError, NotFoundError, PageIndexError, UsageError
from hybrid_core.types.documents import Document
from hybrid_core.types.results import ReasoningStep
from hybrid_pageindex.engine.documents.page_views import MOST_BYTES, SIDE
from hybrid_pageindex.engine.engine import Engine
from hybrid_pageindex.mcp.access import Access
from hybrid_pageindex.mcp.builds import Build, BuildReport, Builds
from indexers.jobs.report import FileResult

_SILENCE = 0.7  # seconds; clients are promised one second, and the loop may be busy
_STEP = 1e-3  # minimum increase of each report, since the protocol requires growing numbers
_LOGGED = 20  # maximum failures to log for one call
_LINE = 200  # maximum characters of a message
_KEY = "progress"
P = ParamSpec("P")
T = TypeVar("T")
_PATIENCE = 20.0  # seconds that a call waits for a build
_TEXT_LENGTH = 10_000  # maximum characters of an argument
_NAME_LENGTH = 2_000


@dataclass(frozen=True, slots=True)
class ToolState:
    """The state that all MCP tools share.

    ``budget`` is the maximum tokens of one result. ``call_slots`` is a semaphore that limits concurrent calls. ``wake``
    starts the processing of queued jobs.
    """

    engine: Engine
    access: Access
    builds: Builds
    budget: int
    call_slots: asyncio.Semaphore
    wake: Callable[[], None]

    async def document(self, name: str, library: str = "") -> Document:
        """Return a published document by id, name or path.

        Raise NotFoundError if it is unknown or was not indexed successfully.
        """
        document = await self.engine.documents.get(
            check_length("document", name, _NAME_LENGTH), library=library or None
        )
        if not document.published:
            raise NotFoundError(
                f"{document.name} could not be indexed: {document.error}",
                "Repair the file, and call build_index again.",
            )
        return document

    async def picture(self, doc_id: str, pages: list[int], library: str = "", *, sheet: bool = False) -> bytes:
        """Return a page as JPEG at the size that models use, or several pages on a contact sheet."""
        if sheet:
            return await self.engine.pictures.contact_sheet(doc_id, pages, library=library or None)
        (page,) = pages
        return await self.engine.pictures.page(
            doc_id, page, library=library or None, format="jpeg", side=SIDE, most_bytes=MOST_BYTES
        )

    async def at_path(self, file_path: str, ctx: Context) -> Document:
        """Return the document at a path. If the file is new or has changed, index it first.

        Only files below a root are indexed.
        """
        check_length("file_path", file_path, _NAME_LENGTH)
        indexed, path = await self.find_path(file_path)
        if path is None or self.access.read_only or not path.is_file():
            if indexed is not None and indexed.published:
                return indexed
            if path is None:
                raise self.access.refused(file_path)
            self.access.file(file_path)
            self.access.check_writing()
        if indexed is not None and indexed.published and self.access.unchanged(path, indexed):
            return indexed
        await self.build(path, ctx, published=True)
        return await self.document(str(path))

    async def build(self, file: Path, ctx: Context, *, published: bool) -> tuple[Build, bool]:
        """Index a file. Return the build (the run of indexing), and whether the file can be searched.

        The call waits for a limited time; then the build continues in the background. With ``published`` it waits at
        least until the file can be searched. Raise DocumentError if the file cannot be indexed.
        """
        build, late = self.builds.start((file,), None), patience_over(ctx)
        ready = False

        async def leave() -> bool:
            nonlocal ready
            waited = late()
            if waited and published:
                now = await self._find_indexed(str(file))
                ready = now is not None and self.access.unchanged(file, now)
            enough = waited and (ready or not published)
            build.kept = build.kept or enough
            return enough

        done = await build.watch(await build_reporter(ctx), leave)
        await log_failures(ctx, done or ())
        check_built(done or ())
        return build, ready or done is not None

    async def find_path(self, file_path: str) -> tuple[Document | None, Path | None]:
        """Return the indexed document at a path, and the resolved path of the file.

        The document is None if it is not indexed, the path is None if it is not below a root. An existing file is never
        mistaken for another document with the same name.
        """
        path = self.access.may_read(file_path)
        if path is None or not path.is_file():
            return await self._find_indexed(file_path), path
        indexed = await self._find_indexed(str(path))
        if indexed is None and Path(file_path).expanduser().is_absolute():
            indexed = await self._find_indexed(file_path)  # the command line indexes a link under its own name
        return indexed, path

    async def _find_indexed(self, name: str) -> Document | None:
        try:
            return await self.engine.documents.get(name)
        except NotFoundError:
            return None


def check_built(files: Iterable[FileResult]) -> None:
    """Raise DocumentError for the first file that failed. Do nothing if none failed."""
    for file in files:
        if file.status == "failed":
            raise DocumentError(f"{file.error}", "Repair the file, and call build_index again.", file=file.path)


async def log_failures(ctx: Context, files: Iterable[FileResult]) -> None:
    """Send the client one log message for each failed file, at most for the first few."""
    for file in [file for file in files if file.status == "failed"][:_LOGGED]:
        await ctx.log(f"{file.path}: {file.error}", level="warning", logger_name="indexing")


def patience_over(ctx: Context) -> Callable[[], bool]:
    """Return a function that returns True once a call has waited for a build as long as it may.

    It never does for a background task.
    """
    end = time.monotonic() + _PATIENCE
    return lambda: not ctx.is_background_task and time.monotonic() >= end


async def build_reporter(ctx: Context) -> BuildReport:
    """Return a callback that reports a build's progress to the client."""
    progress = await Progress.of(ctx)

    async def tell(build: Build) -> None:
        await progress.tell(build.summary(), build.share)

    return tell


def check_length(name: str, text: str, limit: int = _TEXT_LENGTH) -> str:
    """Return the text. Raise UsageError if it is too long."""
    if len(text) > limit:
        raise UsageError(f"The parameter {name} has {len(text)} characters.", f"Use at most {limit} characters.")
    return text


def report_errors(tool: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """Return the tool, wrapped so that a PageIndexError becomes a tool error with its message and advice."""

    @wraps(tool)
    async def call(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return await tool(*arguments, **named)
        except PageIndexError as error:
            raise ToolError(str(error), log_level=INFO) from error

    return call


def with_images(answer: dict[str, Any], images: list[bytes]) -> ToolResult:
    """Return a tool result with JPEG images after the text."""
    return with_content(answer, [Image(data=image, format="jpeg").to_image_content() for image in images])


def with_content(answer: dict[str, Any], blocks: Sequence[ContentBlock]) -> ToolResult:
    """Return a tool result with the answer as text and as structured content, and further blocks after the text."""
    text = TextContent(type="text", text=json.dumps(answer, ensure_ascii=False, separators=(",", ":")))
    return ToolResult([text, *blocks], answer)


class Progress:
    """The progress reports of one tool call. ``note`` may be called from any thread."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._said = "working"
        self._value = 0.0
        self._known = False  # whether the finished share was reported
        self._began = self._told = time.monotonic()

    @classmethod
    async def of(cls, ctx: Context) -> Progress:
        """Return the progress object that belongs to a call. A background task gets a new one."""
        return cls(ctx) if ctx.is_background_task else await ctx.get_state(_KEY) or cls(ctx)

    def note(self, message: str) -> None:
        """Set the message that ``keep_telling`` sends to the client."""
        message = " ".join(message.split())
        self._said = message if len(message) <= _LINE else message[: _LINE - 1] + "…"

    def step(self, step: ReasoningStep) -> None:
        """Set a step of the searching model as the message for the client."""
        self.note(f"{step.kind}: {step.text}")

    async def tell(self, message: str, share: float) -> None:
        """Send the client a message with the finished share, 0 to 1."""
        self.note(message)
        self._known = True
        await self._report(100 * share, self._said)

    async def keep_telling(self) -> None:
        """Repeat the last message with the seconds since the call began, whenever nothing else was reported for a
        while.
        """
        while True:
            await asyncio.sleep(max(self._told + _SILENCE - time.monotonic(), 0))
            if time.monotonic() >= self._told + _SILENCE:
                await self._report(0, f"{self._said} ({time.monotonic() - self._began:.0f} s)")

    async def _report(self, value: float, message: str) -> None:
        self._told = time.monotonic()
        self._value = max(self._value + _STEP, value)
        total = 100 if self._known and self._value <= 100 else None
        await self._ctx.report_progress(self._value, total, message)


class Heartbeat(Middleware):
    """Middleware that creates a progress object for each call.

    If the client requested progress, it repeats the last report regularly.
    """

    async def on_request(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        ctx = context.fastmcp_context
        if ctx is None or ctx.request_context is None:
            return await call_next(context)
        progress = Progress(ctx)
        await ctx.set_state(_KEY, progress, serializable=False)
        if (ctx.request_context.meta or {}).get("progressToken") is None:
            return await call_next(context)
        clock = asyncio.create_task(progress.keep_telling())
        clock.add_done_callback(lambda done: done.cancelled() or done.exception())  # looked at: the client may be gone
        try:
            return await call_next(context)
        finally:
            clock.cancel()
