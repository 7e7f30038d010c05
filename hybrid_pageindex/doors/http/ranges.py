"""Files as RFC 9110 has them: an entity tag of their bytes, conditions, and parts of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import formatdate

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from hybrid_core.store.objects.objects import Distant
from hybrid_pageindex.doors.http.conditions import check_conditions
from hybrid_pageindex.doors.http.errors import Refusal

_SET = re.compile(r"bytes\s*=\s*(.+)", re.IGNORECASE | re.DOTALL)
_SPAN = re.compile(r"(\d{0,18})-(\d{0,18})", re.ASCII)
_MOST = 100  # parts of one answer; a header that asks for more is ignored


@dataclass(frozen=True, slots=True)
class Version:
    """Identify the bytes of a file: the hash of them, and when it was written."""

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


def check_file(request: Request, version: Version, headers: Mapping[str, str]) -> Response | None:
    """Return 304 where the caller has the file, else None. Raise Refusal where a condition does not hold.

    ``Range`` is left in the scope only as far as it can be answered: a header that RFC 9110 lets a server ignore is
    taken out, and one without any satisfiable part is refused with 416.
    """
    if check_conditions(request.headers, version.etag, modified=version.modified):
        return Response(status_code=304, headers={**headers, **version.headers})
    spans = wanted_spans(request.headers, version)
    if spans is not None and not spans:
        raise Refusal(
            416, "range_not_satisfiable", f"The file has {version.size:,} bytes.", "Ask for a part of them.",
            content_range=f"bytes */{version.size}",
        )  # fmt: skip
    others = [(name, value) for name, value in request.scope["headers"] if name not in (b"range", b"if-range")]
    if spans:
        written = ",".join(f"{start}-{stop - 1}" for start, stop in spans)
        others.append((b"range", f"bytes={written}".encode()))
    request.scope["headers"] = others
    return None


def wanted_spans(headers: Headers, version: Version) -> Sequence[tuple[int, int]] | None:
    """The satisfiable parts that are asked for, each from its first byte to the one after its last; None for the whole.

    A header that does not follow the grammar, has another unit, or whose ``If-Range`` is of another version, means the
    whole file.
    """
    header = _SET.fullmatch(headers.get("range", "").strip())
    if header is None or not _still(headers.get("if-range", "").strip(), version):
        return None
    parts = [part for part in (part.strip() for part in header[1].split(",")) if part]
    if not 1 <= len(parts) <= _MOST:
        return None
    spans = list[tuple[int, int]]()
    for part in parts:
        match = _SPAN.fullmatch(part)
        if match is None or not any(match.groups()) or (all(match.groups()) and int(match[1]) > int(match[2])):
            return None
        start, stop = _span(match[1], match[2], version.size)
        if start < stop:
            spans.append((start, stop))
    return spans


async def part_of(file: Distant, span: tuple[int, int], headers: Mapping[str, str]) -> Response | None:
    """Send on one part of an original that lies in a bucket; the rest stays there. Return None where the bucket has
    no such file. Raise as ``Distant.part`` does.
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


def _still(condition: str, version: Version) -> bool:
    """Return whether ``If-Range`` names this version, by its strong tag or its date; so does no condition."""
    return condition in ("", version.etag, version.headers.get("Last-Modified"))


def _span(first: str, last: str, size: int) -> tuple[int, int]:
    if not first:
        return max(size - int(last), 0), size
    return int(first), min(int(last) + 1, size) if last else size
