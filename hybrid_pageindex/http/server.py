"""The shared state of a server, and the dependencies of its routes: libraries, callers and rights."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Path, Request
from pydantic import AfterValidator

from hybrid_core.errors import NotFoundError
from hybrid_core.types.access import EVERYWHERE, Caller, Role
from hybrid_core.types.libraries import Library, library_called, no_library
from hybrid_pageindex.engine.engine import Engine
from hybrid_pageindex.engine.index.worker import Feed, Standby
from hybrid_pageindex.engine.libraries.libraries import LibrarySize
from hybrid_pageindex.http.errors import Fault, Refusal
from hybrid_pageindex.http.guard import SLASH
from hybrid_pageindex.http.identity import Callers, Slots
from hybrid_pageindex.http.metrics import Metrics
from hybrid_pageindex.mcp.access import Access

T = TypeVar("T")
_UPLOADS = 100  # maximum bodies received at once; each uses a connection and two files
_CHECK_SECONDS = 2.0  # seconds for which the missing components are cached, because each check calls the search server
DocumentName = Annotated[str, Path(max_length=2000), AfterValidator(lambda name: name.replace(SLASH, "/"))]


@dataclass
class Server:
    """The state of one HTTP server, which its routes share.

    ``reads``, ``searches`` and ``answers`` limit concurrent work of each kind. ``access`` decides which local files may
    be indexed by path. ``ending`` is set when the server shuts down.
    """

    engine: Engine
    callers: Callers
    cookie: str
    access: Access
    reads: Slots
    searches: Slots
    answers: Slots
    standby: Standby
    feed: Feed
    metrics: Metrics
    uploads: Slots = field(default_factory=lambda: Slots(_UPLOADS, 0))
    ending: asyncio.Event = field(default_factory=asyncio.Event)
    _working: set[asyncio.Task[Any]] = field(default_factory=set)
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)
    _missing: tuple[float, dict[str, str]] | None = None

    async def run_within(self, slots: Slots, work: Coroutine[Any, Any, T]) -> T:
        """Run ``work`` as soon as one of ``slots`` is free, and return its result.

        The work continues if the client disconnects, because threads cannot be stopped.
        """

        async def run_in_slot() -> T:
            async with slots.take():
                return await work

        task = asyncio.ensure_future(run_in_slot())
        self._working.add(task)
        task.add_done_callback(self._done)
        try:
            return await asyncio.shield(task)
        finally:
            if task.done():
                work.close()  # it was never started

    async def missing(self) -> dict[str, str]:
        """Return the components that do not work (``Engine.admin.missing``), cached for two seconds."""
        async with self._looking:
            if self._missing is None or time.monotonic() >= self._missing[0] + _CHECK_SECONDS:
                missing = await self.engine.admin.missing()
                self._missing = time.monotonic(), missing
        return dict(self._missing[1])

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._working.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved to avoid a warning, since no caller may be waiting


def server_of(request: Request) -> Server:
    server: Server = request.app.state.server
    return server


def caller_of(request: Request) -> Caller:
    """Return the caller of a request. Raise Refusal if there is none."""
    caller: Caller | None = request.scope.get("state", {}).get("caller")
    if caller is None:
        raise Refusal(
            401,
            "not_signed_in",
            "This request contains no token, but the server requires a token.",
            www_authenticate="Bearer",
        )
    return caller


async def readable_libraries(request: Request) -> list[Library]:
    """Return the libraries that the caller may read."""
    caller = caller_of(request)
    return [library for library in await server_of(request).engine.libraries.named() if caller.may("read", library.id)]


async def find_library(request: Request, name: str, role: Role) -> Library:
    """Return a library by name if the caller has the role.

    Raise NotFoundError if it is unknown or the caller may not read it, Refusal if the role is missing.
    """
    name, seen = name.replace(SLASH, "/"), await readable_libraries(request)
    library = library_called(name, seen)
    if library is None:
        raise no_library(name[:200], seen)
    require_role(request, role, library.id)
    request.scope["state"]["library"] = library.id
    return library


async def find_size(request: Request, library: Library) -> LibrarySize:
    """Return the size of a library. Raise NotFoundError if it was deleted meanwhile."""
    server = server_of(request)
    for part in (library.name, ""):  # it may have been renamed
        for size in await server.run_within(server.reads, server.engine.libraries.list(part)):
            if size.id == library.id:
                return size
    raise no_library(library.name, await readable_libraries(request))


async def read_each(request: Request, read: Callable[[str], Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results of ``read`` for the names of all libraries that the caller may read.

    Libraries deleted meanwhile are left out.
    """
    results = list[T]()
    for library in await readable_libraries(request):
        with suppress(NotFoundError):
            results.append(await read(library.name))
    return results


async def find_openai_library(request: Request, name: str, code: str, detail: str, fault: tuple[str, str]) -> Library:
    """Return the library with the name of a model or vector store in OpenAI's protocol.

    ``fault`` is the name and location of the parameter. Raise Refusal with ``code`` and ``detail`` if the library is
    unknown or the caller may not read it.
    """
    try:
        return await find_library(request, name, "read")
    except NotFoundError as error:
        raise Refusal(404, code, detail, error.advice, faults=[Fault(*fault, detail)]) from error


def require_role(request: Request, role: Role, library: str = EVERYWHERE) -> Caller:
    """Return the caller if it has the role in a library (id), by default in all libraries. Raise Refusal otherwise.

    Requests that need another role than "read" are marked for the audit log.
    """
    caller = caller_of(request)
    if role != "read":
        note_for_audit(request, library)
    if not caller.may(role, library):
        where = "in all libraries" if library == EVERYWHERE else "in this library"
        raise Refusal(
            403, "not_allowed", f"This request needs the role '{role}' {where}.", "Use a token with this role."
        )
    return caller


def note_for_audit(request: Request, library: str = EVERYWHERE) -> None:
    """Mark a request, so that the audit log records it with its outcome, even a refusal."""
    request.scope.setdefault("state", {})["audit"] = "" if library == EVERYWHERE else library


def _library_with_role(role: Role) -> Callable[..., Coroutine[Any, Any, Library]]:
    async def library_of_path(request: Request, library: Annotated[str, Path(max_length=200)]) -> Library:
        return await find_library(request, library, role)

    return library_of_path


def _caller_with_role(role: Role) -> Callable[[Request], Coroutine[Any, Any, Caller]]:
    async def allowed(request: Request) -> Caller:
        return require_role(request, role)

    return allowed


ReadableLibrary = Annotated[Library, Depends(_library_with_role("read"))]


WritableLibrary = Annotated[Library, Depends(_library_with_role("write"))]


AdminLibrary = Annotated[Library, Depends(_library_with_role("admin"))]


AnyCaller = Annotated[Caller, Depends(caller_of)]


Reader = Annotated[Caller, Depends(_caller_with_role("read"))]


Writer = Annotated[Caller, Depends(_caller_with_role("write"))]


Admin = Annotated[Caller, Depends(_caller_with_role("admin"))]


ServerState = Annotated[Server, Depends(server_of)]
