"""The files of the web page, made small when they are first asked for.

They are open to all, since they hold nothing of anybody's.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import Response

from hybrid_pageindex.doors.http.errors import Refusal
from hybrid_pageindex.doors.http.minify import minify
from hybrid_pageindex.doors.http.security.identity import FILES

router = APIRouter(include_in_schema=False)
_FOLDER = Path(__file__).parents[1] / "page"
_IMPORT = re.compile(r'^@import "([^"]+)";\n', re.MULTILINE)
_TYPES = {
    ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json",
    ".svg": "image/svg+xml", ".txt": "text/plain",
}  # fmt: skip


@router.get("/", name="page")
async def page(request: Request) -> Response:
    return _file(request, "index.html")


@router.get(FILES + "{path:path}")
async def file_of_page(request: Request, path: str) -> Response:
    return _file(request, path)


def _file(request: Request, path: str) -> Response:
    """Raises Refusal for what is no file of the page."""
    names = _names()
    if path not in names:
        raise Refusal(404, "not_found", "There is no such file.", "Open / to begin.")
    file = _FOLDER / path
    content, small, tag = _read(path, _changed(file))
    headers = {"ETag": tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    headers["Content-Type"] = f"{_TYPES[file.suffix]}; charset=utf-8"
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(small, headers=headers | {"Content-Encoding": "gzip"})
    return Response(content, headers=headers)


@cache
def _names() -> frozenset[str]:
    return frozenset(
        file.relative_to(_FOLDER).as_posix()
        for file in _FOLDER.rglob("*")
        if file.suffix in _TYPES and file.name not in ("tsconfig.json",)
    )


def _changed(file: Path) -> int:
    """When it was written last, in ns; a style sheet shows what it imports."""
    files = _FOLDER.rglob("*.css") if file.suffix == ".css" else (file,)
    return max(one.stat().st_mtime_ns for one in files)


@cache
def _read(path: str, _written: int) -> tuple[bytes, bytes, str]:
    content = page_file(path).encode()
    return content, gzip.compress(content, mtime=0), f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def page_file(path: str) -> str:
    """As it is sent: small, and a style sheet with those that it imports."""
    text = (_FOLDER / path).read_text("utf-8")
    if path.endswith(".css"):
        text = _IMPORT.sub(lambda found: (_FOLDER / found[1]).read_text("utf-8"), text)
    return minify(Path(path).suffix, text)
