"""What routes demand of their caller. What changes something is noted for the audit log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import Depends, Path, Request
from pydantic import AfterValidator

from hybrid_core.errors import NotFoundError
from hybrid_core.types.access import EVERYWHERE, Caller, Role
from hybrid_core.types.libraries import Library, library_called, no_library
from hybrid_pageindex.doors.http.errors import Refusal
from hybrid_pageindex.doors.http.fields import Fault
from hybrid_pageindex.doors.http.security.guard import SLASH
from hybrid_pageindex.doors.http.server import Server, server_of


def caller_of(request: Request) -> Caller:
    """Raises Refusal where there is none."""
    caller: Caller | None = request.scope.get("state", {}).get("caller")
    if caller is None:
        raise Refusal(401, "not_signed_in", "A token is needed.", www_authenticate="Bearer")
    return caller


async def visible(request: Request) -> list[Library]:
    """The libraries that the caller may read: of others it does not learn that they are there."""
    caller = caller_of(request)
    return [one for one in await server_of(request).engine.named_libraries() if caller.may("read", one.id)]


async def find_library(request: Request, name: str, role: Role) -> Library:
    """Raises NotFoundError for one that is unknown or may not be read, Refusal where the role is missing."""
    name, seen = name.replace(SLASH, "/"), await visible(request)
    found = library_called(name, seen)
    if found is None:
        raise no_library(name[:200], seen)
    check(request, role, found.id)
    return found


async def find_openai_library(request: Request, name: str, code: str, detail: str, fault: tuple[str, str]) -> Library:
    """Return a library that may be read, as a model or a vector store of OpenAI's protocol.

    ``fault`` is the name and the place of the parameter that names it. Raises Refusal with ``code`` and ``detail``
    where it is unknown or may not be read.
    """
    try:
        return await find_library(request, name, "read")
    except NotFoundError as error:
        raise Refusal(404, code, detail, error.advice, faults=[Fault(*fault, detail)]) from error


def check(request: Request, role: Role, library: str = EVERYWHERE) -> Caller:
    """Raises Refusal where the caller may not. What needs more than reading is noted for the audit log."""
    caller = caller_of(request)
    if role != "read":
        note(request, library)
    if not caller.may(role, library):
        where = "here" if library == EVERYWHERE else "in this library"
        raise Refusal(403, "not_allowed", f"'{role}' is needed {where}.", "Use a token that has it.")
    return caller


def note(request: Request, library: str = EVERYWHERE) -> None:
    """For the audit log, whatever comes of it."""
    request.scope.setdefault("state", {})["audit"] = "" if library == EVERYWHERE else library


def _in_library(role: Role) -> Callable[..., Coroutine[Any, Any, Library]]:
    async def found(request: Request, library: Annotated[str, Path(max_length=200)]) -> Library:
        return await find_library(request, library, role)

    return found


def _everywhere(role: Role) -> Callable[[Request], Coroutine[Any, Any, Caller]]:
    async def allowed(request: Request) -> Caller:
        return check(request, role)

    return allowed


Read = Annotated[Library, Depends(_in_library("read"))]
Written = Annotated[Library, Depends(_in_library("write"))]
Owned = Annotated[Library, Depends(_in_library("admin"))]
Anybody = Annotated[Caller, Depends(caller_of)]
Reader = Annotated[Caller, Depends(_everywhere("read"))]
Writer = Annotated[Caller, Depends(_everywhere("write"))]
Admin = Annotated[Caller, Depends(_everywhere("admin"))]
At = Annotated[Server, Depends(server_of)]
DocumentName = Annotated[str, Path(max_length=2000), AfterValidator(lambda name: name.replace(SLASH, "/"))]


async def in_thread(work: Callable[[], Any]) -> Any:
    return await asyncio.to_thread(work)
