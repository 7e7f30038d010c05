"""Serve the files of the web page, minified when they are first asked for. They are open to all."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import Response

from hybrid_pageindex.doors.http.errors import Refusal
from hybrid_pageindex.doors.http.identity import FILES

_STRING = r""""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
_CODE = re.compile(rf"(?P<text>{_STRING})|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<blank>\s+)|[\w$]+|.", re.DOTALL)
_APART = frozenset(",;:(){}[]=?&|<>!")  # what a blank beside it says nothing of
_TEMPLATE = re.compile(r"(?:\\.|\$(?!\{)|[^`\\$])*", re.DOTALL)
_REGEX = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+/[a-z]*")
_GAP = r"(?:\s|/\*(?:[^*]|\*(?!/))*\*/)"
_STYLE = re.compile(rf"({_STRING})|{_GAP}*([{{}};,]){_GAP}*|{_GAP}+", re.DOTALL)
_BEFORE_REGEX = frozenset("return typeof case in of delete void throw new else do await yield".split())
router = APIRouter(include_in_schema=False)
_PAGE_FOLDER = Path(__file__).parents[1] / "page"
_STYLE_IMPORT = re.compile(r'^@import "([^"]+)";\n', re.MULTILINE)
_MEDIA_TYPES = {
    ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json",
    ".svg": "image/svg+xml", ".txt": "text/plain",
}  # fmt: skip


def minify(kind: str, text: str) -> str:
    """Minify a text by its suffix ``kind``; other kinds stay as they are."""
    if kind == ".js":
        return _minify_script(text)
    if kind == ".css":
        return _STYLE.sub(lambda found: found[1] or found[2] or " ", text).strip()
    if kind == ".json":
        return json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
    return text


def _minify_script(text: str) -> str:
    """Minify JavaScript. Line ends stay where they may end a statement.

    A regular expression is told from a division by what stands before it.
    """
    parts: list[str] = []
    depths: list[int] = []  # braces open in each ${…} that is being read
    at, last, gap = 0, "", ""
    while at < len(text):
        match = _CODE.match(text, at)
        assert match is not None
        part, end = match[0], match.end()
        if match["comment"] or match["blank"]:
            gap = "\n" if "\n" in gap + part else " "
            at = end
            continue
        if part == "`" or (part == "}" and depths and not depths[-1]):
            if part == "}":
                depths.pop()
            end = _end_of_template(text, at + 1)
            part = re.sub(r"\n[ \t]+", "\n", text[at:end])
            if part.endswith("${"):
                depths.append(0)
        elif part == "/" and _operand_follows(last) and (regex := _REGEX.match(text, at)):
            part, end = regex[0], regex.end()
        elif depths and part in "{}":
            depths[-1] += 1 if part == "{" else -1
        if gap and last and _gap_needed(gap, last[-1], part[0]):
            parts.append(gap)
        parts.append(part)
        at, last, gap = end, part, ""
    return "".join(parts) + "\n"


def _gap_needed(gap: str, before: str, after: str) -> bool:
    if gap == "\n":
        return before not in "{([,;" and after not in "})],;"
    return before not in _APART and after not in _APART


def _end_of_template(text: str, start: int) -> int:
    """Return the position after the next "`" or "${" of a template that is read from ``start``."""
    match = _TEMPLATE.match(text, start)
    assert match is not None
    return min(match.end() + (2 if text.startswith("${", match.end()) else 1), len(text))


def _operand_follows(last: str) -> bool:
    if last in _BEFORE_REGEX or not last:
        return True
    return not (last[-1] in ")]}\"'`$_/" or last[-1].isalnum())


@router.get("/", name="page")
async def page(request: Request) -> Response:
    return _serve_file(request, "index.html")


@router.get(FILES + "{path:path}")
async def file_of_page(request: Request, path: str) -> Response:
    return _serve_file(request, path)


def _serve_file(request: Request, path: str) -> Response:
    """Return a file of the page. Raise Refusal for any other path."""
    names = _page_files()
    if path not in names:
        raise Refusal(404, "not_found", "There is no such file.", "Open / to begin.")
    file = _PAGE_FOLDER / path
    content, small, tag = _read_file(path, _modified_ns(file))
    headers = {"ETag": tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    headers["Content-Type"] = f"{_MEDIA_TYPES[file.suffix]}; charset=utf-8"
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(small, headers=headers | {"Content-Encoding": "gzip"})
    return Response(content, headers=headers)


@cache
def _page_files() -> frozenset[str]:
    return frozenset(
        file.relative_to(_PAGE_FOLDER).as_posix()
        for file in _PAGE_FOLDER.rglob("*")
        if file.suffix in _MEDIA_TYPES and file.name not in ("tsconfig.json",)
    )


def _modified_ns(file: Path) -> int:
    """Return when a file was written last, in ns; a style sheet counts its imports."""
    files = _PAGE_FOLDER.rglob("*.css") if file.suffix == ".css" else (file,)
    return max(source.stat().st_mtime_ns for source in files)


@cache
def _read_file(path: str, _written: int) -> tuple[bytes, bytes, str]:
    content = page_file(path).encode()
    return content, gzip.compress(content, mtime=0), f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def page_file(path: str) -> str:
    """Return a file as it is sent: minified, and a style sheet with its imports."""
    text = (_PAGE_FOLDER / path).read_text("utf-8")
    if path.endswith(".css"):
        text = _STYLE_IMPORT.sub(lambda found: (_PAGE_FOLDER / found[1]).read_text("utf-8"), text)
    return minify(Path(path).suffix, text)
