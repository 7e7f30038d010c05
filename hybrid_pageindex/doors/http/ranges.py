"""Part of an original that lies in a bucket: what is asked for is sent on, and the rest stays there."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping

from starlette.responses import Response, StreamingResponse

from hybrid_core.store.objects.objects import Distant

_ONE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")  # several at once are cut out of the whole file, by whoever has it


async def part_of(file: Distant, asked: str, headers: Mapping[str, str]) -> Response | None:
    """The answer to a header «Range»; None where that takes the whole file. Raises as ``Distant.part`` does."""
    span = _span(asked, file.size)
    if span is None:
        return None
    start, stop = span
    if start >= file.size:
        return Response(status_code=416, headers={"Content-Range": f"bytes */{file.size}"})
    data = await asyncio.to_thread(file.part, start, stop)
    if data is None:
        return None
    told = {
        **headers,
        "Accept-Ranges": "bytes",
        "Content-Range": f"bytes {start}-{stop - 1}/{file.size}",
        "Content-Length": str(stop - start),
    }
    return StreamingResponse(data, 206, told, media_type="application/octet-stream")


def _span(asked: str, size: int) -> tuple[int, int] | None:
    """From the first byte to the one after the last."""
    found = _ONE.fullmatch(asked.replace(" ", ""))
    if found is None or not any(found.groups()):
        return None
    first, last = found.groups()
    if not first:
        return (max(size - int(last), 0), size) if int(last) else (size, size)
    stop = min(int(last) + 1, size) if last else size
    return None if last and int(last) < int(first) else (int(first), stop)
