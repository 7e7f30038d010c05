"""Send the files of the web page, minified and bundled at the first request. They need no token.

Browsers load two scripts: ``bundle/app.js`` with the first view, and ``bundle/views.js`` with the other views. A bundle
contains each module of the page as a function, so neither a build step nor Node is needed. Its source map leads to the
modules.
"""

from __future__ import annotations

import bisect
import gzip
import hashlib
import json
import posixpath
import re
import string
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import Response

from hybrid_pageindex.http.errors import Refusal
from hybrid_pageindex.http.identity import FILES

_STRING = r""""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
_CODE = re.compile(rf"(?P<text>{_STRING})|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<blank>\s+)|[\w$]+|.", re.DOTALL)
_APART = frozenset(",;:(){}[]=?&|<>!")  # characters next to which a space has no meaning
_TEMPLATE = re.compile(r"(?:\\.|\$(?!\{)|[^`\\$])*", re.DOTALL)
_REGEX = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+/[a-z]*")
_GAP = r"(?:\s|/\*(?:[^*]|\*(?!/))*\*/)"
_STYLE = re.compile(rf"({_STRING})|{_GAP}*([{{}};,]){_GAP}*|{_GAP}+", re.DOTALL)
_BEFORE_REGEX = frozenset("return typeof case in of delete void throw new else do await yield".split())
router = APIRouter(include_in_schema=False)
_PAGE_FOLDER = Path(__file__).parents[2] / "web"
_STYLE_IMPORT = re.compile(r'^@import "([^"]+)";\n', re.MULTILINE)
_APP, _VIEWS = "bundle/app.js", "bundle/views.js"
_BUNDLES = frozenset(name + suffix for name in (_APP, _VIEWS) for suffix in ("", ".map"))
_FIRST_VIEW = ("components/home/Home.js", "app.js")  # in the order in which they run
_IMPORT = re.compile(
    r'^import\s*(?:(?:(?P<default>\w+)|\*\s*as\s+(?P<all>\w+)|\{(?P<names>[^}]*)\})\s*from\s*)?"(?P<path>[^"]+)";?',
    re.M,
)
_DYNAMIC_IMPORT = re.compile(r'\bimport\("([^"]+)"\)')
_EXPORT = re.compile(
    r"(?:^|(?<=[;}]))export\s*(?:\{(?P<names>[^}]*)\};?|(?P<default>default)\s+"
    r"|(?P<kind>async function|function|const|class)\s+(?P<name>\w+))",
    re.M,
)
_DEFAULT = "exported"
_BASE64 = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
_MEDIA_TYPES = {
    ".map": "application/json",
    ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json",
    ".svg": "image/svg+xml", ".txt": "text/plain",
}  # fmt: skip


def minify(kind: str, text: str) -> str:
    """Return a text without needless characters; ``kind`` is its file suffix. Unknown kinds are returned
    unchanged.
    """
    if kind == ".js":
        return _minify_script(text)
    if kind == ".css":
        return _STYLE.sub(lambda found: found[1] or found[2] or " ", text).strip()
    if kind == ".json":
        return json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
    return text


def _minify_script(text: str) -> str:
    """Return minified JavaScript. Line breaks that may end a statement stay.

    The token before a "/" decides whether it begins a regular expression or is a division.
    """
    return "".join(part for _, part in _script_tokens(text)) + "\n"


def _script_tokens(text: str) -> Iterator[tuple[int, str]]:
    """Yield (offset in ``text``, token) for a minified script. Necessary spaces and line breaks are tokens too."""
    depths: list[int] = []  # number of open braces in each open ${…}
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
            yield at, gap
        yield at, part
        at, last, gap = end, part, ""


def _gap_needed(gap: str, before: str, after: str) -> bool:
    if gap == "\n":
        return before not in "{([,;" and after not in "})],;"
    return before not in _APART and after not in _APART


def _end_of_template(text: str, start: int) -> int:
    """Return the position after the next "`" or "${" in a JavaScript template literal, searched from ``start``."""
    match = _TEMPLATE.match(text, start)
    assert match is not None
    return min(match.end() + (2 if text.startswith("${", match.end()) else 1), len(text))


def _operand_follows(last: str) -> bool:
    if last in _BEFORE_REGEX or not last:
        return True
    return not (last[-1] in ")]}\"'`$_/" or last[-1].isalnum())


def _module_closure(start: tuple[str, ...]) -> list[str]:
    """Return modules with all modules that they import, each after its imports.

    Raise ValueError for circular imports.
    """
    order: list[str] = []
    path: list[str] = []

    def visit(name: str) -> None:
        if name in path:
            raise ValueError(f"these modules import each other in a circle: {' > '.join([*path, name])}")
        if name in order:
            return
        path.append(name)
        for match in _IMPORT.finditer((_PAGE_FOLDER / name).read_text("utf-8")):
            visit(_resolve(name, match["path"]))
        path.pop()
        order.append(name)

    for name in start:
        visit(name)
    return order


def _resolve(importer: str, path: str) -> str:
    """Return the name of a module that another imports by a relative path."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(importer), path))


def _module_as_function(name: str) -> str:
    """Return a JavaScript module's code wrapped in a function call, with its line numbers unchanged."""
    exports: list[str] = []

    def imported(match: re.Match[str]) -> str:
        module = f'modules["{_resolve(name, match["path"])}"]'
        bound = match["all"] or f"{{default:{match['default']}}}"
        if match["names"] is not None:
            bound = f"{{{match['names'].replace(' as ', ':')}}}"
        elif not match["all"] and not match["default"]:
            return "\n" * match[0].count("\n")
        return f"const {' '.join(bound.split())}={module};" + "\n" * match[0].count("\n")

    def exported(match: re.Match[str]) -> str:
        if match["names"] is not None:
            exports.extend(
                ":".join(reversed(each.split(" as "))).replace(" ", "")
                for each in match["names"].split(",")
                if each.strip()
            )
            return "\n" * match[0].count("\n")
        exports.append(f"default:{_DEFAULT}" if match["default"] else match["name"])
        return f"const {_DEFAULT}=" if match["default"] else match["kind"] + " " + match["name"]

    text = _IMPORT.sub(imported, (_PAGE_FOLDER / name).read_text("utf-8"))
    text = _DYNAMIC_IMPORT.sub(lambda match: f'loaded("{_resolve(name, match[1])}")', text)
    text = _EXPORT.sub(exported, text)
    return f'modules["{name}"]=await(async()=>{{{text};return{{{",".join(exports)}}}}})();\n'


def bundle_parts(name: str) -> tuple[str, list[str]]:
    """Return the first line of code of the bundle ``name``, and the names of its modules, each after its imports."""
    first = _module_closure(_FIRST_VIEW)
    if name == _APP:
        load = f'name=>modules[name]??(await import("/web/{_VIEWS}"),modules[name])'
        return f"export const modules={{}};const loaded=async {load};\n", first
    views = (
        _resolve(module, match[1])
        for module in first
        for match in _DYNAMIC_IMPORT.finditer((_PAGE_FOLDER / module).read_text("utf-8"))
    )
    rest = [module for module in _module_closure(tuple(views)) if module not in first]
    return f'import{{modules}}from"/web/{_APP}";export{{modules}};\n', rest


@cache
def _bundle(name: str, _written: int) -> tuple[str, str]:
    """Return the code of a bundle of ``_BUNDLES``, and its source map from tokens to lines of modules.

    ``_written`` is the time of the last change, which renews the cached result.
    """
    head, names = bundle_parts(name)
    parts, mappings, source, line, column = [head], [";"], 0, 0, 0  # source and line of the previous segment
    for index, module in enumerate(names):
        text = _module_as_function(module)
        ends = [match.start() for match in re.finditer("\n", text)]
        before, mapped = 0, -1  # column of the previous segment, and its line in the module
        for offset, token in _script_tokens(text):
            at = bisect.bisect_left(ends, offset)
            if at != mapped:
                mappings.append(("" if mapped < 0 else ",") + _vlq(column - before, index - source, at - line, 0))
                source, line, mapped, before = index, at, at, column
            parts.append(token)
            if "\n" in token:
                mappings.append(";" * token.count("\n"))
                before, mapped, column = 0, -1, len(token) - token.rfind("\n") - 1
            else:
                column += len(token)
        parts.append("\n")
        mappings.append(";")
        column = 0
    contents = [(_PAGE_FOLDER / module).read_text("utf-8") for module in names]
    sources = [f"/web/{module}" for module in names]
    table = {"version": 3, "sources": sources, "sourcesContent": contents, "names": [], "mappings": "".join(mappings)}
    return "".join(parts) + f"//# sourceMappingURL=/web/{name}.map\n", json.dumps(table, ensure_ascii=False)


def _vlq(*values: int) -> str:
    """Return numbers as base 64 VLQ, the encoding of source maps: digits of five bits, lowest first, sign in the lowest
    bit.
    """
    digits = ""
    for value in values:
        left = abs(value) << 1 | (value < 0)
        while left >= 32:
            digits += _BASE64[left & 31 | 32]
            left >>= 5
        digits += _BASE64[left]
    return digits


@router.get("/", name="page")
async def page(request: Request) -> Response:
    return _serve_file(request, "index.html")


@router.get(FILES + "{path:path}")
async def file_of_page(request: Request, path: str) -> Response:
    return _serve_file(request, path)


def _serve_file(request: Request, path: str) -> Response:
    """Return a response with a file of the web page. Raise Refusal for any other path."""
    names = _page_files()
    if path not in names:
        raise Refusal(404, "not_found", "The file does not exist.", "Open / to begin.")
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
    return _BUNDLES | frozenset(
        file.relative_to(_PAGE_FOLDER).as_posix()
        for file in _PAGE_FOLDER.rglob("*")
        if file.suffix in _MEDIA_TYPES and file.name not in ("tsconfig.json",)
    )


def _modified_ns(file: Path) -> int:
    """Return the time in ns of the last change to a web page file or anything bundled with it.

    These are the imports of a style sheet, or the modules of a bundle.
    """
    joined = {".css": "*.css"} | dict.fromkeys((".js", ".map") if file.parent.name == "bundle" else (), "*.js")
    files = _PAGE_FOLDER.rglob(joined[file.suffix]) if file.suffix in joined else (file,)
    return max(source.stat().st_mtime_ns for source in files)


@cache
def _read_file(path: str, _written: int) -> tuple[bytes, bytes, str]:
    content = page_file(path).encode()
    return content, gzip.compress(content, mtime=0), f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def page_file(path: str) -> str:
    """Return a file of the web page as it is sent: minified, and with the imports of a style sheet included."""
    if path in _BUNDLES:
        script, table = _bundle(path.removesuffix(".map"), _modified_ns(_PAGE_FOLDER / path))
        return table if path.endswith(".map") else script
    text = (_PAGE_FOLDER / path).read_text("utf-8")
    if path.endswith(".css"):
        text = _STYLE_IMPORT.sub(lambda found: (_PAGE_FOLDER / found[1]).read_text("utf-8"), text)
    return minify(Path(path).suffix, text)
