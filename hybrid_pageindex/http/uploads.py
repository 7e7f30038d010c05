"""Receive file uploads. They are written to the disk of the home in pieces and never held in memory as a whole."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect, Request

from hybrid_core.errors import StoreError
from hybrid_core.store.home import advice_of, scratch_folder
from hybrid_pageindex.engine.index.uploads import Upload
from hybrid_pageindex.http.errors import Refusal

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

FILES_PER_REQUEST = 1000  # maximum files in one request
_FREE_BYTES = 200 * 10**6  # bytes that must stay free on the disk
_HEADER_BYTES = 8192  # maximum bytes of a part's headers, or of its text
_FIELDS = 20  # maximum texts of one body; further ones are ignored
_SLOW_SECONDS, _SLOW_RATE = 60.0, 1000  # slower uploads (bytes per second) are refused after these seconds


@asynccontextmanager
async def received_files(
    request: Request, home: Path, name: str | None, limit: int, fields: dict[str, str] | None = None
) -> AsyncIterator[list[Upload]]:
    """Yield the files of a request body, stored in a temporary folder.

    ``name`` is the file name if the body is one file. ``limit`` is in bytes per file. ``fields`` receives the short
    texts of a multipart body that are not files. Raise Refusal for an unacceptable body, StoreError if the disk is
    full. After a crash the next process removes the folder.
    """
    try:
        with scratch_folder(home / "tmp") as folder:
            yield await _receive_files(request, folder, name, limit, {} if fields is None else fields)
    except OSError as error:
        advice = advice_of(str(error.strerror), home, "Check the folder's permissions.")
        raise StoreError(f"The upload cannot be written ({error.strerror}).", advice) from error
    except ClientDisconnect as error:
        raise Refusal(400, "cut_off", "The upload ended before it was complete.", "Send the request again.") from error


async def _receive_files(
    request: Request, folder: Path, name: str | None, limit: int, fields: dict[str, str]
) -> list[Upload]:
    sent = request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers
    if not sent and "content-type" not in request.headers:
        raise Refusal(400, "bad_request", "The request contains no file.", "Send the file as the body of the request.")
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != b"multipart/form-data":
        if not name:
            raise Refusal(
                400,
                "bad_request",
                "The uploaded file has no name.",
                "Add a file name to the address, for example ?name=report.pdf.",
            )
        with closing(_FileSink(folder, limit)) as sink:
            sink.begin(name)
            await _write_stream(request, sink.write, sink)
            sink.end()
            return sink.uploads
    parts = _MultipartFiles(_FileSink(folder, limit), fields)
    boundary = options.get(b"boundary", b"")
    if not 1 <= len(boundary) <= 70:
        raise Refusal(400, "bad_request", "The Content-Type header of the multipart upload names no boundary.")
    parser = MultipartParser(boundary, parts.callbacks())
    with closing(parts.sink):
        await _write_stream(request, parser.write, parts.sink)
    if not parts.whole:
        raise Refusal(400, "cut_off", "The upload ended before it was complete.", "Send the request again.")
    if not parts.sink.uploads:
        raise Refusal(400, "bad_request", "The request contains no file.", "Send each file as a part with a filename.")
    return parts.sink.uploads


async def _write_stream(request: Request, write: Callable[[bytes], object], sink: _FileSink) -> None:
    """Pass a body to ``write`` piece by piece in a thread, so that a slow disk does not delay other requests."""
    gathered, received, began = bytearray(), 0, time.monotonic()
    try:
        async for chunk in request.stream():
            gathered += chunk
            received += len(chunk)
            seconds = time.monotonic() - began
            if seconds > _SLOW_SECONDS and received < _SLOW_RATE * seconds:
                raise Refusal(
                    408,
                    "too_slow",
                    "The upload was stopped, because it was too slow.",
                    "Upload the files again over a faster connection.",
                )
            if len(gathered) >= 1 << 18:
                sink.check_room()
                await asyncio.to_thread(write, bytes(gathered))
                gathered.clear()
        await asyncio.to_thread(write, bytes(gathered))
    except FormParserError as error:
        raise Refusal(
            400, "bad_request", "The multipart body cannot be read.", "Send a multipart/form-data body, as browsers do."
        ) from error


class _FileSink:
    """A writer of uploaded files. It names them by number, because names of uploads must never become paths."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.uploads: list[Upload] = []
        self._folder, self._most, self._size = folder, limit, 0
        self._file: BinaryIO | None = None
        self._name = ""

    def begin(self, name: str) -> None:
        if len(self.uploads) >= FILES_PER_REQUEST:
            raise Refusal(
                413,
                "too_many_files",
                f"A request may upload at most {FILES_PER_REQUEST:,} files.",
                "Divide the files among several requests.",
            )
        self._name, self._size = name, 0
        self._file = (self._folder / f"{len(self.uploads)}.part").open("xb")

    def write(self, data: bytes) -> None:
        if self._file is None:
            return
        self._size += len(data)
        if self._size > self._most:
            raise Refusal(
                413,
                "too_large",
                f"The uploaded file is too large: a file may have at most {self._most:,} bytes.",
                "Raise the setting max_upload_size to allow larger files.",
            )
        self._file.write(data)

    def end(self) -> None:
        if self._file is not None:
            self._file.close()
            self.uploads.append(Upload(self._name, self._folder / f"{len(self.uploads)}.part"))
            self._file = None

    def close(self) -> None:
        """Close the current file if an upload ended before its end."""
        if self._file is not None:
            self._file.close()

    def check_room(self) -> None:
        if shutil.disk_usage(self._folder).free < _FREE_BYTES:
            raise StoreError(
                "The disk of the server is nearly full, so uploads are refused.",
                "Free some space on the disk of the server.",
            )


@dataclass
class _MultipartFiles:
    """A parser of multipart bodies that writes files. Short parts without a file name become ``fields``."""

    sink: _FileSink
    fields: dict[str, str]
    whole: bool = False
    _field: tuple[str, bytearray] | None = None
    _header: tuple[bytearray, bytearray] = field(default_factory=lambda: (bytearray(), bytearray()))
    _headers: dict[bytes, bytes] = field(default_factory=dict)

    def callbacks(self) -> MultipartCallbacks:
        return {
            "on_part_begin": self.part_begin, "on_header_field": self.header_field,
            "on_header_value": self.header_value, "on_header_end": self.header_end,
            "on_headers_finished": self.headers_finished, "on_part_data": self.part_data,
            "on_part_end": self.part_end, "on_end": self.end,
        }  # fmt: skip

    def part_begin(self) -> None:
        self._headers = {}

    def header_field(self, data: bytes, start: int, end: int) -> None:
        self._add(self._header[0], data[start:end])

    def header_value(self, data: bytes, start: int, end: int) -> None:
        self._add(self._header[1], data[start:end])

    def header_end(self) -> None:
        self._headers[bytes(self._header[0]).lower()] = bytes(self._header[1])
        for buffer in self._header:
            buffer.clear()
        if len(self._headers) > 20:
            raise Refusal(400, "bad_request", "A part of the multipart body has too many headers.")

    def headers_finished(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        if name := options.get(b"filename"):
            self.sink.begin(name.decode("utf-8", "replace"))
        elif len(self.fields) < _FIELDS:
            self._field = options.get(b"name", b"").decode("utf-8", "replace"), bytearray()

    def part_data(self, data: bytes, start: int, end: int) -> None:
        self.sink.write(data[start:end])
        if self._field is not None:
            self._add(self._field[1], data[start:end], "A text of the multipart body")

    def part_end(self) -> None:
        self.sink.end()
        if self._field is not None:
            self.fields[self._field[0]] = self._field[1].decode("utf-8", "replace")
            self._field = None

    def end(self) -> None:
        self.whole = True

    @staticmethod
    def _add(to: bytearray, more: bytes, what: str = "A header of the multipart body") -> None:
        to += more
        if len(to) > _HEADER_BYTES:
            raise Refusal(400, "bad_request", f"{what} is too long.")
