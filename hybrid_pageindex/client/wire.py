"""HTTP requests to a server for JSON, files and events. Error responses become the engine's exceptions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, TypeVar
from urllib.parse import quote
from weakref import WeakKeyDictionary

import httpx
from pydantic import TypeAdapter

from hybrid_core import errors
from hybrid_core.types.notes import without_codes

T = TypeVar("T")

_BROKEN_OFF = "the connection was lost"
_ERRORS: Mapping[str, type[errors.PageIndexError]] = {
    "not_found": errors.NotFoundError, "bad_request": errors.UsageError, "invalid_request": errors.UsageError,
    "conflict": errors.ConflictError, "not_configured": errors.NotConfiguredError,
    "password_needed": errors.PasswordError, "document_changed": errors.ChangedError,
    "document_too_large": errors.LimitError, "document_unusable": errors.DocumentError, "busy": errors.BusyError,
    "answering": errors.TurnRunningError,
    "store_unreachable": errors.UnreachableError, "store_failed": errors.StoreError,
    "read_only": errors.ReadOnlyError, "model_failed": errors.ModelError,
}  # fmt: skip


class RefusedError(errors.PageIndexError):
    """Error for a request that the server refuses, for example because the token lacks a right.

    ``code`` is a stable error code.
    """

    def __init__(self, message: str, advice: str, code: str) -> None:
        super().__init__(message, advice)
        self.code = code


class Wire:
    """The HTTP connection of one caller to one server.

    Each event loop has its own connection pool, which must be closed before the loop ends.
    """

    def __init__(self, url: str, token: str, timeout: float) -> None:
        self._url, self._timeout = url, timeout
        self._headers = {"Authorization": f"Bearer {token}"}
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = WeakKeyDictionary()

    @property
    def _http(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        if loop not in self._pools:
            self._pools[loop] = httpx.AsyncClient(base_url=self._url, headers=self._headers, timeout=self._timeout)
        return self._pools[loop]

    async def json(self, method: str, path: str, params: Mapping[str, Any] = {}, **more: Any) -> Any:
        return (await self.sent(method, path, params, **more)).json()

    async def sent(self, method: str, path: str, params: Mapping[str, Any] = {}, **more: Any) -> httpx.Response:
        query = {name: value for name, value in params.items() if value is not None}
        try:
            answered = await self._http.request(method, path, params=query, **more)
        except httpx.TransportError as error:
            raise self._unreachable(error) from error
        await _raise_for_problem(answered)
        return answered

    @asynccontextmanager
    async def opened(self, method: str, path: str, **more: Any) -> AsyncIterator[httpx.Response]:
        """Send a request, and yield the response, whose body can be read in pieces."""
        try:
            async with self._http.stream(method, path, **more) as answered:
                await _raise_for_problem(answered)
                yield answered
        except httpx.TransportError as error:
            raise self._unreachable(error) from error

    async def events(
        self, path: str, after: int | None = None, *, method: str = "GET", **more: Any
    ) -> AsyncIterator[tuple[int, str, Any]]:
        """Yield (number, kind, detail) for each server-sent event of a response.

        The number is -1 if an event has none. ``after`` skips events up to this number.
        """
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": str(after)} if after is not None else {})
        async with self.opened(method, path, headers=headers, timeout=None, **more) as answered:
            async for event in _events(answered):
                yield event

    async def close(self) -> None:
        """Close the connections of this event loop. Other loops close their own."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.aclose()

    def _unreachable(self, error: httpx.TransportError) -> errors.UnreachableError:
        return errors.UnreachableError(f"{self._url}: {error or _BROKEN_OFF}", "Check that the server is running.")


async def _raise_for_problem(answered: httpx.Response) -> None:
    """Raise the error that an error response describes. Return normally for other responses."""
    if answered.is_success:
        return
    await answered.aread()
    try:
        problem = answered.json()
        details = {"code": problem["code"], "message": problem["detail"], "advice": problem.get("advice", "")}
    except (ValueError, KeyError, TypeError):
        raise errors.StoreError(
            f"The server answered with the HTTP status {answered.status_code} and no explanation.",
            "Read the log of the server.",
        ) from None
    raise error_of(details)


def error_of(details: Mapping[str, str]) -> errors.PageIndexError:
    kind = _ERRORS.get(details["code"])
    if kind is None:
        return RefusedError(details["message"], details["advice"], details["code"])
    return kind(details["message"], details["advice"])


async def _events(answered: httpx.Response) -> AsyncIterator[tuple[int, str, Any]]:
    event: dict[str, str] = {}
    async for line in answered.aiter_lines():
        name, _, value = line.partition(": ")
        if name in ("id", "event", "data"):
            event[name] = value
        elif not line and "data" in event:
            yield int(event.get("id", -1)), event.get("event", ""), json.loads(event["data"])
            event = {}


def quoted(name: str) -> str:
    return quote(name, safe="")


class SubClient:
    """Base class for a client's methods on one subject, such as jobs. ``library`` is the default library."""

    def __init__(self, wire: Wire, library: str) -> None:
        self._wire, self._library = wire, library

    def _in(self, library: str | None) -> str:
        """Return the URL path of a library, by default the client's library. Raise UsageError for an empty name."""
        if library == "":
            raise errors.UsageError("The name of the library is empty.", "Name a library, or leave the parameter out.")
        return f"/libraries/{quoted(library or self._library)}"

    def _of(self, library: str | None, document: str = "", what: str = "") -> str:
        """Return the URL path of a library's documents, or of one document.

        ``what`` adds a part of the document to the path, such as "versions".
        """
        return "/".join(part for part in (f"{self._in(library)}/documents", quoted(str(document)), what) if part)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def read_as(kind: type[T], shape: Any) -> T:
    any_kind: Any = kind
    value: T = _adapter(any_kind).validate_python(without_codes(shape))
    return value
