"""What all tools share: the engine, what they may read, running builds, and how documents are found by path."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from logging import INFO
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from fastmcp import Context
from fastmcp.exceptions import ToolError
from fastmcp.tools import ToolResult
from fastmcp.utilities.types import Image
from mcp_types import TextContent

from hybrid_core.errors import DocumentError, NotFoundError, PageIndexError, UsageError
from hybrid_core.types.documents import Document
from hybrid_pageindex.doors.mcp.access import Access
from hybrid_pageindex.doors.mcp.builds import Build, Builds, Tell
from hybrid_pageindex.doors.mcp.progress import Progress
from hybrid_pageindex.engine import Engine
from hybrid_pageindex.services.pictures import MOST_BYTES, SIDE
from indexers.stages.report import FileResult

P = ParamSpec("P")
T = TypeVar("T")

_PATIENCE = 20.0  # seconds
_QUESTION = 10_000  # characters
_NAME = 2_000


@dataclass(frozen=True, slots=True)
class Door:
    """``budget`` is the tokens that one answer may take. ``turn`` is held by a call while it works."""

    engine: Engine
    access: Access
    builds: Builds
    budget: int
    turn: asyncio.Semaphore

    async def document(self, name: str, library: str = "") -> Document:
        """A published document by id, name or path. Raises NotFoundError."""
        found = await self.engine.info(short("document", name, _NAME), library=library or None)
        if not found.published:
            raise NotFoundError(
                f"{found.name} could not be indexed: {found.error}", "Mend the file and build it again."
            )
        return found

    async def picture(self, doc_id: str, pages: list[int], library: str = "", *, sheet: bool = False) -> bytes:
        """A page as JPEG, as large as a model can see it, or several on a contact sheet."""
        if sheet:
            return await self.engine.contact_sheet(doc_id, pages, library=library or None)
        (page,) = pages
        return await self.engine.page_image(
            doc_id, page, library=library or None, format="jpeg", side=SIDE, most_bytes=MOST_BYTES
        )

    async def at_path(self, file_path: str, ctx: Context) -> Document:
        """The document at a path, built where it is new or changed and below a root."""
        short("file_path", file_path, _NAME)
        known, path = await self.meant(file_path)
        if path is None or self.access.read_only or not path.is_file():
            if known is not None and known.published:
                return known
            if path is None:
                raise self.access.refused(file_path)
            self.access.file(file_path)
            self.access.check_writing()
        if known is not None and known.published and self.access.unchanged(path, known):
            return known
        await self.build(path, ctx, published=True)
        return await self.document(str(path))

    async def build(self, file: Path, ctx: Context, *, published: bool) -> tuple[Build, bool]:
        """Index a file: the build, and whether the file can be searched.

        A call waits until nothing is left to do, but not longer than its patience for what OCR or models still add
        or, unless it must be ``published``, for anything. Raises DocumentError for a file that cannot be indexed.
        """
        build, late = self.builds.start((file,), None), patience(ctx)
        ready = False

        async def leave() -> bool:
            nonlocal ready
            waited = late()
            if waited and published:
                now = await self._known(str(file))
                ready = now is not None and self.access.unchanged(file, now)
            enough = waited and (ready or not published)
            build.kept = build.kept or enough
            return enough

        done = await build.watch(await teller(ctx), leave)
        check_built(done or ())
        return build, ready or done is not None

    async def meant(self, file_path: str) -> tuple[Document | None, Path | None]:
        """What is indexed of a path, and where it lies below a root. A file that is there is never taken for another
        document of the same name.
        """
        path = self.access.may_read(file_path)
        if path is None or not path.is_file():
            return await self._known(file_path), path
        known = await self._known(str(path))
        if known is None and Path(file_path).expanduser().is_absolute():
            known = await self._known(file_path)  # the command line indexes a link by its own name
        return known, path

    async def _known(self, name: str) -> Document | None:
        try:
            return await self.engine.info(name)
        except NotFoundError:
            return None


def check_built(files: Iterable[FileResult]) -> None:
    """Raises DocumentError with the first failure."""
    for file in files:
        if file.status == "failed":
            raise DocumentError(f"{file.path}: {file.error}", "Mend the file and build it again.")


def patience(ctx: Context) -> Callable[[], bool]:
    """Whether a call has waited long enough for a build; a background task never has."""
    end = time.monotonic() + _PATIENCE
    return lambda: not ctx.is_background_task and time.monotonic() >= end


async def teller(ctx: Context) -> Tell:
    """Reports a build's progress to the client."""
    progress = await Progress.of(ctx)

    async def tell(build: Build) -> None:
        await progress.tell(build.said(), build.share)

    return tell


def short(name: str, given: str, most: int = _QUESTION) -> str:
    """Raises UsageError where a text is too long to be what it should be."""
    if len(given) > most:
        raise UsageError(f"{name} has {len(given)} characters.", f"Use at most {most}.")
    return given


def told(tool: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """A tool whose errors of ours reach the model as what happened and what to do."""

    @wraps(tool)
    async def call(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return await tool(*arguments, **named)
        except PageIndexError as error:
            raise ToolError(str(error), log_level=INFO) from error

    return call


def pictured(said: dict[str, Any], images: list[bytes]) -> ToolResult:
    """An answer with JPEG images beside it."""
    text = TextContent(type="text", text=json.dumps(said, ensure_ascii=False, separators=(",", ":")))
    return ToolResult([text, *(Image(data=image, format="jpeg").to_image_content() for image in images)], said)
