"""JSON, file and event stream responses. ETags, conditions and ranges follow RFC 9110."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, is_dataclass
from datetime import datetime
from email.utils import formatdate, parsedate_to_datetime
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Header, Query
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from hybrid_core.errors import PageIndexError
from hybrid_core.store.objects import Distant
from hybrid_core.types.notes import with_codes
from hybrid_pageindex.http.errors import Problem, Refusal, error_payload
from hybrid_pageindex.http.server import Server

_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"')
CHANGED_RESPONSES: dict[int | str, dict[str, Any]] = {
    412: {"model": Problem, "description": "The resource has changed."}
}
"""The description of the response of a route with ``If-Match`` to an outdated version."""
_RANGE_SET = re.compile(r"bytes\s*=\s*(.+)", re.IGNORECASE | re.DOTALL)
_RANGE_SPAN = re.compile(r"(\d{0,18})-(\d{0,18})", re.ASCII)
_RANGES_PER_REPLY = 100  # parts of one answer; a header that asks for more is ignored
_ALIVE_SECONDS = 15.0  # seconds after which a silent stream says that it is there
_RETRY_MS = 1000  # ms after which a client comes back
_EVENT_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # a proxy must not wait for more
_EVENT_CONTENT: dict[str, Any] = {"text/event-stream": {"schema": {"description": "One event of the stream."}}}
EVENT_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"content": _EVENT_CONTENT, "description": "Server-sent events."}
}
"""The description of the responses of a route that can stream events."""


def json_response(value: Any, status: int = 200, **headers: str) -> Response:
    body = json.dumps(to_json(value), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return Response(body, status, {name.replace("_", "-"): text for name, text in headers.items()}, "application/json")


def to_json(value: Any) -> Any:
    """Return a value of the engine as JSON, with the codes of its notes beside their English texts."""
    return with_codes(_shaped(value))


def _shaped(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, list | tuple):
        return [_shaped(item) for item in value]
    return value


def tagged_response(request: Request, value: Any) -> Response:
    """Return a JSON response with an ETag, or 304 if the caller has this version already."""
    return with_tag(request, json_response(value))


def weakly_tagged_response(request: Request, value: Any, without: Collection[str]) -> Response:
    """Return a JSON response with a weak ETag, or 304 if the caller has this version already.

    The ETag ignores the fields ``without``, which change with each search.
    """
    shaped = to_json(value)
    rows = shaped if isinstance(shaped, list) else [shaped]
    stable = [{name: field for name, field in row.items() if name not in without} for row in rows]
    return with_tag(request, json_response(shaped), f"W/{_etag(json_response(stable))}")


def with_tag(request: Request, response: Response, etag: str = "", keep: str = "private, no-cache") -> Response:
    """Return the response with an ETag, or 304 if the caller has this version already.

    The ETag is computed from the content if it is not given. ``keep`` is the Cache-Control header.
    """
    etag = etag or _etag(response)
    headers = {"ETag": etag, "Cache-Control": keep}
    if request.method in ("GET", "HEAD") and check_conditions(request.headers, etag):
        return Response(status_code=304, headers=headers)
    response.headers.update(headers)
    return response


def _etag(response: Response) -> str:
    return f'"{hashlib.sha256(bytes(response.body)).hexdigest()[:32]}"'


def check_match(request: Request, value: Any) -> bool:
    """Return whether the request has an ``If-Match`` that matches ``value``, False if it has none.

    Raise Refusal (412) if it does not match.
    """
    condition = request.headers.get("if-match", "").strip()
    if condition in ("", "*"):
        return False
    if _etag(json_response(value)) not in tags_of(condition):
        raise changed_refusal()
    return True


def content_responses(kind: str, text: bool = False) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of a response that is a file, or a text if ``text`` is set."""
    schema = {"type": "string"} if text else {"type": "string", "format": "binary"}
    return {200: {"content": {kind: {"schema": schema}}}}


def attachment_headers(name: str) -> Mapping[str, str]:
    """Return headers with which browsers save a file instead of showing it as a page of this server."""
    plain = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "._- ") else "_" for sign in name)
    whole = quote(name.encode("utf-8", "replace"), safe="")
    return {
        "Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{whole}",
        "Cache-Control": "private, no-cache",
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }


def check_conditions(headers: Headers, etag: str, modified: float = 0.0) -> bool:
    """Return whether the caller has this version, so that a GET is answered with 304, and a write with 412.

    Raise Refusal (412) if another condition on the version fails.

    ``etag`` is the tag as sent. ``modified`` is in seconds since 1970, 0 if unknown. Conditions are checked in the
    order of RFC 9110, section 13.2.2.
    """
    if match := headers.get("if-match", "").strip():
        if match != "*" and (etag.startswith("W/") or etag not in tags_of(match)):
            raise changed_refusal()
    elif (
        modified
        and (until := _http_date_seconds(headers.get("if-unmodified-since", ""))) is not None
        and modified >= until + 1
    ):
        raise changed_refusal()
    if none := headers.get("if-none-match", "").strip():
        return none == "*" or etag.removeprefix("W/") in [tag.removeprefix("W/") for tag in tags_of(none)]
    since = _http_date_seconds(headers.get("if-modified-since", ""))
    return bool(modified and since is not None and modified < since + 1)


def unix_seconds(written: str) -> int:
    """Return a stored time in seconds since 1970, 0 for "" (never)."""
    try:
        return int(datetime.fromisoformat(written).timestamp())
    except ValueError:
        return 0


def tags_of(written: str) -> Sequence[str]:
    """Return the entity tags in a header, with their quotes."""
    return _TAG.findall(written)


def changed_refusal() -> Refusal:
    """Return the refusal (412) of a change by a caller who has read an outdated version."""
    return Refusal(
        412,
        "changed",
        "The object was not changed, because another request has changed it since you read it.",
        "Read the object again, then repeat the change.",
    )


def _http_date_seconds(written: str) -> float | None:
    try:
        return parsedate_to_datetime(written).timestamp() if written else None
    except (ValueError, OverflowError):
        return None  # no date of HTTP: the header is ignored


@dataclass(frozen=True, slots=True)
class FileVersion:
    """The version of a file: its hash, size and time of modification (seconds since 1970)."""

    sha256: str
    size: int
    modified: float

    @property
    def etag(self) -> str:
        return f'"{self.sha256[:32]}"'

    @property
    def headers(self) -> dict[str, str]:
        written = {"Last-Modified": formatdate(self.modified, usegmt=True)} if self.modified > 0 else {}
        return {"ETag": self.etag, "Accept-Ranges": "bytes", **written}


def check_file(request: Request, version: FileVersion, headers: Mapping[str, str]) -> Response | None:
    """Return a 304 response if the caller already has this version of a file, else None.

    Raise Refusal if a condition of the request fails (412) or no requested range is in the file (416). Remove a
    ``Range`` header from the request if RFC 9110 lets a server ignore it.
    """
    if check_conditions(request.headers, version.etag, modified=version.modified):
        return Response(status_code=304, headers={**headers, **version.headers})
    spans = requested_spans(request.headers, version)
    if spans is not None and not spans:
        raise Refusal(
            416, "range_not_satisfiable", f"The file has {version.size:,} bytes.", "Request a range within the file.",
            content_range=f"bytes */{version.size}",
        )  # fmt: skip
    others = [(name, value) for name, value in request.scope["headers"] if name not in (b"range", b"if-range")]
    if spans:
        written = ",".join(f"{start}-{stop - 1}" for start, stop in spans)
        others.append((b"range", f"bytes={written}".encode()))
    request.scope["headers"] = others
    return None


def requested_spans(headers: Headers, version: FileVersion) -> Sequence[tuple[int, int]] | None:
    """Return the requested byte ranges within the file, as (first byte, byte after the last).

    Return None to send the whole file: without a valid ``Range`` header, or with an ``If-Range`` of another version.
    """
    header = _RANGE_SET.fullmatch(headers.get("range", "").strip())
    if header is None or not _names_version(headers.get("if-range", "").strip(), version):
        return None
    parts = [part for part in (part.strip() for part in header[1].split(",")) if part]
    if not 1 <= len(parts) <= _RANGES_PER_REPLY:
        return None
    spans = list[tuple[int, int]]()
    for part in parts:
        match = _RANGE_SPAN.fullmatch(part)
        if match is None or not any(match.groups()) or (all(match.groups()) and int(match[1]) > int(match[2])):
            return None
        start, stop = _byte_span(match[1], match[2], version.size)
        if start < stop:
            spans.append((start, stop))
    return spans


async def part_response(file: Distant, span: tuple[int, int], headers: Mapping[str, str]) -> Response | None:
    """Return a response with one range of a file in a bucket, without reading the rest.

    Return None if the bucket has no such file. Raise the errors of ``Distant.part``.
    """
    start, stop = span
    data = await asyncio.to_thread(file.part, start, stop)
    if data is None:
        return None
    part_headers = {
        **headers,
        "Content-Range": f"bytes {start}-{stop - 1}/{file.size}",
        "Content-Length": str(stop - start),
    }
    return StreamingResponse(data, 206, part_headers, media_type="application/octet-stream")


def _names_version(condition: str, version: FileVersion) -> bool:
    """Return whether ``If-Range`` is missing, or names this version by its strong ETag or its date."""
    return condition in ("", version.etag, version.headers.get("Last-Modified"))


def _byte_span(first: str, last: str, size: int) -> tuple[int, int]:
    if not first:
        return max(size - int(last), 0), size
    return int(first), min(int(last) + 1, size) if last else size


@dataclass(frozen=True, slots=True)
class Event:
    """A server-sent event. A client sends ``id`` back to resume the stream."""

    kind: str
    data: Any
    id: int | None = None

    def encoded(self) -> bytes:
        number = "" if self.id is None else f"id: {self.id}\n"
        return f"{number}event: {self.kind}\ndata: {json.dumps(to_json(self.data), ensure_ascii=False)}\n\n".encode(
            "utf-8", "replace"
        )


def stream_events(server: Server, source: AsyncIterator[Event], *, resumed: bool = True) -> StreamingResponse:
    """Return a response that streams events until the source or the server ends, and then an event ``end``.

    ``resumed`` tells clients to reconnect after an interruption. Clients of other protocols may not understand this.
    """
    return StreamingResponse(
        _encode_events(server, source, resumed), headers=_EVENT_HEADERS, media_type="text/event-stream"
    )


def last_event_number(
    last_event_id: Annotated[str, Header(max_length=200, description="the number of the last event heard")] = "",
    after: Annotated[
        int | None, Query(ge=0, lt=2**53, description="the number of the last event heard, if the header is missing")
    ] = None,
) -> int | None:
    """Return the number of the last event that the client received, None if the request names none."""
    number = last_event_id
    return int(number) if number.isascii() and number.isdigit() and len(number) < 19 else after


LastEvent = Annotated[int | None, Depends(last_event_number)]


def wants_events(request: Request) -> bool:
    """Return whether the caller accepts an event stream. A quality of 0 means no."""
    for part in request.headers.get("accept", "").lower().split(","):
        kind, *parameters = (item.strip() for item in part.split(";"))
        if kind == "text/event-stream":
            return not any(re.fullmatch(r"q\s*=\s*0(\.0{0,3})?", item) for item in parameters)
    return False


async def _encode_events(server: Server, source: AsyncIterator[Event], resumed: bool) -> AsyncIterator[bytes]:
    ending = asyncio.create_task(server.ending.wait())
    coming: asyncio.Task[Event] | None = None
    if resumed:
        yield f"retry: {_RETRY_MS}\n\n".encode()
    try:
        while True:
            coming = coming or asyncio.create_task(_next_event(source))
            both: set[asyncio.Task[Any]] = {coming, ending}
            done, _ = await asyncio.wait(both, timeout=_ALIVE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if coming in done:
                try:
                    event = coming.result()
                except StopAsyncIteration:
                    return
                coming = None
                yield event.encoded()
            elif done:
                yield Event("end", {"code": "server_ending"}).encoded()
                return
            else:
                yield b": alive\n\n"
    except PageIndexError as error:
        yield Event("error", error_payload(error)).encoded()
    except Refusal as refusal:
        body = {"code": refusal.code, "message": refusal.message, "advice": refusal.advice}
        yield Event("error", body).encoded()
    finally:
        for task in (coming, ending):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await task
        if hasattr(source, "aclose"):
            await source.aclose()


async def _next_event(source: AsyncIterator[Event]) -> Event:
    return await anext(source)


async def events_of_work(
    work: Callable[[Callable[[Event], None]], Awaitable[Event]],
) -> AsyncIterator[Event]:
    """Run ``work`` in a task. Yield the events that it reports from any thread, then its result.

    The task continues if the client disconnects.
    """
    loop, told_events = asyncio.get_running_loop(), asyncio.Queue[Event | None]()

    def tell(event: Event) -> None:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(told_events.put_nowait, event)

    task = asyncio.ensure_future(work(tell))
    task.add_done_callback(lambda _: loop.call_soon(told_events.put_nowait, None))
    task.add_done_callback(lambda done: None if done.cancelled() else done.exception() and None)
    while (event := await told_events.get()) is not None:
        yield event
    while not told_events.empty():
        if (late := told_events.get_nowait()) is not None:
            yield late
    yield task.result()
