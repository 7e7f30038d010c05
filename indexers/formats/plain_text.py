"""Text files and Jupyter notebooks as blocks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from hybrid_core.errors import BrokenFileError
from indexers.formats.decode import read_text
from indexers.formats.flow.blocks import Block, Code, Flow, Heading, Paragraph, Part, Picture
from indexers.formats.limits import ParseLimits, line_of_error
from indexers.formats.pictures import (
    image_links,
    linked_picture,
    picture_in_base64,
    picture_in_link,
    picture_of_kind,
    without_data,
)
from indexers.formats.text_pages import inline_text, read_blocks
from indexers.formats.web.html import parse_html


def read_txt(path: Path, limits: ParseLimits) -> Flow:
    """Read a text file. A form feed ends a page."""
    text, warnings = read_text(path)
    return Flow(_page_parts(text), {}, warnings, clauses=True)


def _page_parts(text: str) -> Iterator[Part]:
    line = 0
    for page in text.split("\f"):
        yield Part(list(_line_blocks(page, line)))
        line += page.count("\n")


def _line_blocks(text: str, before: int) -> Iterator[Block]:
    """Yield each run of non-blank lines as one block. Its line breaks stay, since the text was wrapped for a screen."""
    block: list[str] = []
    first = 0
    for at, line in enumerate([*text.split("\n"), ""], before + 1):
        if line.strip():
            first = first if block else at
            block.append(line)
        elif block:
            yield Paragraph("\n".join(block), f"line {first}")
            block = []


_SYNTAX = {  # by the ending of a file: a title, the begin of a block of code, and its end
    ".adoc": (
        re.compile(r"(?P<mark>={1,6}) +(?P<title>\S.*)"),
        re.compile(r"(?P<name>-{4,}|\.{4,}|/{4,}|\+{4,})\s*"),
        "{}",
    ),
    ".org": (
        re.compile(r"(?P<mark>\*{1,9}) +(?:(?:TODO|DONE) +)?(?P<title>\S.*)"),
        re.compile(r"\s*#\+begin_(?P<name>\w+).*", re.I),
        "#+end_{}",
    ),
    ".tex": (
        re.compile(
            r"\s*\\(?P<mark>part|chapter|section|subsection|subsubsection)\*?(?:\[[^\]]*\])?\{(?P<title>[^{}]+)\}\s*"
            r"(?:\\label\{[^{}]*\}\s*)?"
        ),
        re.compile(r"\s*\\begin\{(?P<name>verbatim|lstlisting)\}.*"),
        "\\end{{{}}}",
    ),
}
_TAGS = re.compile(r"\s:[\w:@#%]+:\Z")  # after a title in Org
_UNDERLINE = re.compile(r"([-=`:.'\"~^_*+#])\1{2,}\s*")
_LATEX_RANKS = ("part", "chapter", "section", "subsection", "subsubsection")


def read_marked(path: Path, limits: ParseLimits) -> Flow:
    """Read a text in AsciiDoc, reStructuredText, Org or LaTeX. Its titles are headings; other lines stay unchanged."""
    text, warnings = read_text(path)
    lines = text.split("\n")
    suffix = path.suffix.lower()
    titles = list(_underlined(lines) if suffix == ".rst" else _marked(suffix, lines))
    ranks = {rank: level for level, rank in enumerate(dict.fromkeys(sorted(rank for _, _, rank, _ in titles)), 1)}
    blocks: list[Block] = []
    at = 0
    for start, end, rank, title in titles:
        blocks += _line_blocks("\n".join(lines[at:start]), at)
        blocks.append(Heading(ranks[rank], title, place=f"line {start + 1}"))
        at = end
    blocks += _line_blocks("\n".join(lines[at:]), at)
    return Flow(iter([Part(blocks)]), {}, warnings)


_Title = tuple[int, int, int, str]  # first line, line after the last (from 0), rank, words


def _marked(suffix: str, lines: list[str]) -> Iterator[_Title]:
    """Yield the titles that a sign or command marks, but none in blocks of code."""
    pattern, begin, closing = _SYNTAX.get(suffix, _SYNTAX[".adoc"])
    end = ""
    for at, line in enumerate(lines):
        if end:
            end = "" if line.strip().lower() == end else end
        elif (start := begin.fullmatch(line)) is not None:
            end = closing.format(start["name"]).lower()
        elif (title := pattern.fullmatch(line)) is not None:
            mark, words = title["mark"], title["title"].rstrip()
            rank = _LATEX_RANKS.index(mark) if mark in _LATEX_RANKS else len(mark)
            yield at, at + 1, rank, _TAGS.sub("", words).rstrip() if suffix == ".org" else words


def _underlined(lines: list[str]) -> Iterator[_Title]:
    """Yield the titles of reStructuredText, whose ranks are those of their lines' signs in order of appearance."""
    styles: list[str] = []
    for at in range(1, len(lines)):
        rule = _UNDERLINE.fullmatch(lines[at])
        title, above = lines[at - 1], lines[at - 2].strip() if at > 1 else ""
        framed = bool(above) and above == lines[at].strip()
        if rule is None or not title.strip() or _UNDERLINE.fullmatch(title) or (above and not framed):
            continue
        if len(lines[at].strip()) < len(title.strip()) or (title[0].isspace() and not framed):
            continue
        style = rule[1] + "^" * framed
        styles += [style] if style not in styles else []
        yield at - 1 - framed, at + 1, styles.index(style), title.strip()


_COLOURS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_LONGEST_OUTPUT = 20_000  # maximum characters of a cell's output


def read_notebook(path: Path, limits: ParseLimits) -> Flow:
    text, warnings = read_text(path)
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BrokenFileError(
            f"the file is damaged: a notebook must be valid JSON{line_of_error(error)}.", file=path
        ) from error
    sheets = notebook.get("worksheets") if isinstance(notebook, dict) else None  # version 3 and older
    cells = (
        sheets[0].get("cells")
        if isinstance(sheets, list) and sheets
        else notebook.get("cells")
        if isinstance(notebook, dict)
        else None
    )
    if not isinstance(cells, list):
        raise BrokenFileError("the file is not a notebook, because it has no cells.", file=path)
    described = notebook.get("metadata") if isinstance(notebook.get("metadata"), dict) else {}
    language = (described.get("language_info") or described.get("kernelspec") or {}).get("name") or "python"
    metadata = {"title": str(described["title"])} if described.get("title") else {}
    pictures = _Pictures()
    blocks = list(_cells(cells, str(language), pictures))
    return Flow(iter([Part(blocks)]), metadata, warnings, images=pictures.read)


class _Pictures:
    """The pictures in a notebook, as Base64 text. Their names are numbers."""

    def __init__(self) -> None:
        self._held: list[str] = []

    def shown(self, bundle: Any, place: str) -> Iterator[Picture]:
        """Yield the first picture in a cell output that may show words.

        ``bundle`` has the forms of the output by media type.
        """
        for kind, content in bundle.items() if isinstance(bundle, dict) else ():
            data = _join_source(content)
            if picture_of_kind(str(kind), len(data) * 3 // 4):
                self._held.append(data)
                yield Picture("", place, str(len(self._held) - 1))
                return

    def linked(self, text: str, attachments: Any, place: str) -> Iterator[Picture]:
        """Yield the pictures in the Markdown text of a cell.

        They are attachments of the cell, or contained in their link.
        """
        for link in image_links(text):
            if link.startswith("attachment:") and isinstance(attachments, dict):
                yield from self.shown(attachments.get(link.removeprefix("attachment:")), place)
            elif data := picture_in_link(link):
                self._held.append(data)
                yield Picture("", place, str(len(self._held) - 1))

    def read(self, name: str) -> bytes:
        picture = self._held[int(name)]
        return linked_picture(picture) if picture.startswith("data:") else picture_in_base64(picture)


def _cells(cells: list[Any], language: str, pictures: _Pictures) -> Iterator[Block]:
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict):
            continue
        place, source = f"cell {number}", _join_source(cell.get("source", cell.get("input", "")))
        kind = cell.get("cell_type")
        if kind == "markdown":
            for block in markdown(source, place):
                if isinstance(block, Paragraph):
                    yield replace(block, text=without_data(block.text))
                    yield from pictures.linked(block.text, cell.get("attachments"), place)
                else:
                    yield block
        elif kind == "heading":
            yield Heading(int(cell.get("level") or 1), source, place=place)
        elif kind == "code":
            yield Code(source, language, place=place)
            for output in (entry for entry in cell.get("outputs") or () if isinstance(entry, dict)):
                yield from _printed(output, place)
                yield from pictures.shown(output.get("data") or output, place)
        else:
            yield Paragraph(source, place)


def _printed(output: dict[str, Any], place: str) -> Iterator[Block]:
    """Yield an output of a notebook cell: its text, or another form if it has no text.

    For an error it is the message and the traceback.
    """
    shown = output.get("data")
    data: dict[str, Any] = shown if isinstance(shown, dict) else {}
    text = _join_source(output.get("text") or data.get("text/plain") or "")
    if output.get("output_type") in ("error", "pyerr"):
        message = f"{_join_source(output.get('ename') or '')}: {_join_source(output.get('evalue') or '')}"
        trace = _COLOURS.sub("", "\n".join(map(str, output.get("traceback") or ())))
        text = trace if _join_source(output.get("evalue") or "") in trace and trace else f"{message}\n{trace}"
    elif not text.strip() or _OBJECT.fullmatch(text.strip()):
        blocks = list(_other_forms(data, place))
        yield from blocks
        text = "" if blocks else text
    yield Code(text[:_LONGEST_OUTPUT], role="plain", place=place)


_OBJECT = re.compile(r"<[^<>]*>")  # Python's representation of an object without a text form
_FORMS = ("text/markdown", "text/html", "text/latex", "image/svg+xml", "application/json")


def _other_forms(data: dict[str, Any], place: str) -> Iterator[Block]:
    """Yield an output of a notebook cell without plain text, in its first form that contains words."""
    for kind in _FORMS:
        value = data.get(kind)
        if not value:
            continue
        source = _join_source(value) if kind != _FORMS[-1] else json.dumps(value, ensure_ascii=False, indent=1)
        if kind == "text/markdown":
            blocks = list(markdown(source, place))
        elif kind in ("text/html", "image/svg+xml"):
            blocks = [replace(block, place=place) for block in parse_html(source, whole=kind == "text/html").blocks]
        else:
            blocks = [Code(source[:_LONGEST_OUTPUT], role="plain", place=place)]
        if blocks:
            yield from blocks
            return


def markdown(source: str, place: str) -> Iterator[Block]:
    """Yield Markdown as blocks: its headings, and the unchanged text between them."""
    lines = source.replace("\r\n", "\n").split("\n")
    read = read_blocks(lines)
    at = 0
    for heading in [*read.headings, None]:
        end = heading.line if heading else len(lines)
        for role, text in _split_by_role(lines[at:end], read.roles[at:end]):
            yield (
                Code(text, role="code", place=place)
                if role in ("code", "command", "config")
                else Paragraph("\n".join(map(inline_text, text.split("\n"))), place)
            )
        if heading:
            yield Heading(heading.level, heading.title, place=place)
            at = end
            while at < len(lines) and read.roles[at] == "heading":
                at += 1
                if at in (other.line for other in read.headings):
                    break


def _split_by_role(lines: list[str], roles: list[Any]) -> Iterator[tuple[str, str]]:
    stretch: list[str] = []
    before = ""
    for line, role in zip([*lines, ""], [*roles, ""], strict=True):
        if stretch and (role != before or (role == "text" and not line.strip())):
            shown = (
                [text_line for text_line in stretch if not text_line.lstrip().startswith(("```", "~~~"))]
                if before == "code"
                else stretch
            )
            yield before, "\n".join(shown)
            stretch = []
        before = role
        if line.strip() or (stretch and role == "code"):
            stretch.append(line)


def _join_source(source: Any) -> str:
    return "".join(map(str, source)) if isinstance(source, list) else str(source)
