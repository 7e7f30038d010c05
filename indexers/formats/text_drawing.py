"""Drawing of pages of formats without layout: an image of the text, with the position of every word.

A page is drawn from its text and, if the file is available, its pictures. MuPDF uses built-in fonts, so the image does
not depend on the system.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

import pymupdf

from hybrid_core.errors import DocumentError
from hybrid_core.types.locators import Box, Illustration, PageLayout, PlacedLine, TableBox, WordBox
from indexers.formats.format import IllustratedFile
from indexers.formats.limits import ParseLimits
from indexers.formats.raster import illustration
from indexers.formats.registry import format_of, open_file
from indexers.formats.word_boxes import WORD, around

_log = logging.getLogger(__name__)

_WIDTH, _LEAST_HEIGHT, _MARGIN = 595.0, 300.0, 40.0  # points: the width of A4
_MOST_HEIGHT = 14_000.0  # points: a PDF page may have 14,400
_MOST_CHARACTERS = 100_000  # text beyond this is not drawn
_PICTURE_HEIGHT = 600.0  # maximum in points
_COLUMN = 55.0  # minimum width in points of a column in a wide table
_STYLE = """
body { font-family: sans-serif; font-size: 10px; margin: 0; }
h1 { font-size: 16px; } h2 { font-size: 14px; } h3 { font-size: 12px; } h4, h5, h6 { font-size: 11px; }
h1, h2, h3, h4, h5, h6 { margin: 8px 0 4px 0; }
p { margin: 0; } p.first { margin-top: 6px; }
pre { white-space: pre-wrap; background-color: #f2f2f2; margin: 4px 0; }
table { border-collapse: collapse; margin: 6px 0; }
td, th { border: 1px solid #999999; padding: 2px; text-align: left; }
"""
_BREAK = "&#8203;"  # position where a word may continue on the next line
HEADING = re.compile(r"(#{1,6}) +(.*)")
_ITEM = re.compile(r"( *)(?:[-*+•–]|\(?\w{1,4}[.)]) ")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_RULE = re.compile(r"\|(?:[ :]*-+[ :]*\|)+")
CELL_BORDER = re.compile(r"(?<!\\)\|")


def drawn(text: str, pictures: Sequence[Illustration] = ()) -> tuple[bytes, PageLayout]:
    """Return a page's text and pictures as a PDF of one page, with the positions of its words and pictures."""
    page = _Html(text[:_MOST_CHARACTERS], pictures)
    archive = pymupdf.Archive()
    for number, picture in enumerate(pictures):
        archive.add(picture.image, f"{number}.jpg")
    story = pymupdf.Story(page.body, user_css=_STYLE, archive=archive)
    width = max(_WIDTH - 2 * _MARGIN, min(page.columns * _COLUMN, _MOST_HEIGHT - 2 * _MARGIN))
    _, filled = story.place(pymupdf.Rect(_MARGIN, _MARGIN, _MARGIN + width, _MOST_HEIGHT - _MARGIN))
    right, bottom = (min(side + _MARGIN, _MOST_HEIGHT) for side in filled[2:])
    rect = pymupdf.Rect(0, 0, max(_WIDTH, right), max(_LEAST_HEIGHT, bottom))
    places: list[tuple[int, Box]] = []

    def note(at: Any) -> None:
        if at.id and at.rect[2] > at.rect[0]:
            x0, y0, x1, y1 = (round(float(side), 1) for side in at.rect)
            places.append((int(at.id), (x0, y0, x1, y1)))

    story.element_positions(note)
    buffer = io.BytesIO()
    writer = pymupdf.DocumentWriter(buffer)
    story.draw(writer.begin_page(rect))
    writer.end_page()
    writer.close()
    pdf = buffer.getvalue()
    words, figures = tuple(_boxes(page.words, places)), tuple(_image_boxes(pdf)) if pictures else ()
    tables = tuple(_tables(page, places))
    return pdf, PageLayout(float(rect.width), float(rect.height), words, figures, tables)


def _image_boxes(pdf: bytes) -> Iterator[Box]:
    with pymupdf.open("pdf", pdf) as document:
        for image in document[0].get_image_info():
            x0, y0, x1, y1 = (round(float(side), 1) for side in image["bbox"])
            yield x0, y0, x1, y1


def _boxes(words: Sequence[str], places: Sequence[tuple[int, Box]]) -> Iterator[WordBox]:
    """Yield the boxes of words. ``places`` are (word index, box).

    A word that continues on another line has a box on each line; the text of later boxes is "".
    """
    for number, together in groupby(sorted(places, key=lambda place: place[0]), key=lambda place: place[0]):
        text = words[number]
        for _, line in groupby((box for _, box in together), key=lambda box: box[1]):
            yield WordBox(text, around(list(line)))
            text = ""


def markdown_tables(text: str) -> list[MarkdownTable]:
    """Return the tables of a Markdown text."""
    return _Html(text[:_MOST_CHARACTERS]).tables


def _tables(page: _Html, places: Sequence[tuple[int, Box]]) -> Iterator[TableBox]:
    for table in page.tables:
        if inside := [box for number, box in places if table.first <= number < table.end]:
            yield TableBox(around(inside), table.even_rows, table.heads, table.lines)


@dataclass(slots=True)
class MarkdownTable:
    """A table on a drawn page. ``first`` to ``end`` (excluded) are the indexes of its words."""

    first: int
    end: int
    rows: list[tuple[str, ...]]
    heads: int
    lines: tuple[int, int]

    @property
    def even_rows(self) -> tuple[tuple[str, ...], ...]:
        """The rows, filled up with empty cells to the same length."""
        width = max(map(len, self.rows))
        return tuple((*row, *[""] * (width - len(row))) for row in self.rows)


class _Html:
    """A Markdown text as HTML. Every word has an id: its index in ``words``.

    ``columns`` is the number of columns of the widest table.
    """

    def __init__(self, text: str, pictures: Sequence[Illustration] = ()) -> None:
        self._pictures = list(enumerate(pictures))
        self.words: list[str] = []
        self.tables: list[MarkdownTable] = []
        self.columns = 0
        self.body = "".join(self._blocks(text.split("\n"))) or "<p></p>"

    def _blocks(self, lines: Sequence[str]) -> Iterator[str]:
        at = 0
        while at < len(lines):
            line, start = lines[at], at
            yield from self._shown(at)
            if fence := _FENCE.match(line):
                at = next((i for i in range(at + 1, len(lines)) if lines[i].startswith(fence[1])), len(lines)) + 1
                yield f"<pre>{chr(10).join(map(self._marked, lines[start + 1 : at - 1]))}</pre>"
            elif line.startswith("|"):
                at = next((i for i in range(at, len(lines)) if not lines[i].startswith("|")), len(lines))
                yield self._table(lines[start:at], start)
            else:
                at += 1
                if heading := HEADING.fullmatch(line):
                    level = len(heading[1])
                    yield f"<h{level}>{self._marked(heading[2])}</h{level}>"
                elif line.strip():
                    indent = 12 * (1 + len(item[1]) // 2) if (item := _ITEM.match(line)) else 0
                    first = ' class="first"' if start and not lines[start - 1] else ""
                    yield f'<p{first} style="margin-left: {indent}px">{self._marked(line.strip())}</p>'

        yield from self._shown(len(lines))

    def _shown(self, line: int) -> Iterator[str]:
        """Yield the HTML of the pictures that come before a line, at 96 dots per inch or smaller."""
        while self._pictures and self._pictures[0][1].line <= line:
            number, picture = self._pictures.pop(0)
            points = min(0.75, (_WIDTH - 2 * _MARGIN) / picture.width, _PICTURE_HEIGHT / picture.height)
            width, height = max(1, int(points * picture.width)), max(1, int(points * picture.height))
            yield f'<p class="first"><img src="{number}.jpg" width="{width}" height="{height}"/></p>'

    def _table(self, lines: Sequence[str], start: int) -> str:
        table = MarkdownTable(len(self.words), 0, [], 0, (start, start + len(lines)))
        rows = []
        for at, line in enumerate(lines):
            if not _RULE.fullmatch(line.strip()):
                cells = [cell.strip().replace("\\|", "|") for cell in CELL_BORDER.split(line.strip()[1:-1])]
                head = at + 1 < len(lines) and _RULE.fullmatch(lines[at + 1].strip()) is not None
                tag = "th" if head else "td"
                table.heads += head
                table.rows.append(tuple(cells))
                self.columns = max(self.columns, len(cells))
                rows.append("".join(f"<{tag}>{self._marked(cell)}</{tag}>" for cell in cells))
        table.end = len(self.words)
        if table.rows:
            self.tables.append(table)
        return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"

    def _marked(self, text: str) -> str:
        parts, end = [], 0
        for match in WORD.finditer(text):
            gap = text[end : match.start()] or (_BREAK if end else "")
            parts.append(f'{gap}<span id="{len(self.words)}">{escape(match[0])}</span>')
            self.words.append(match[0])
            end = match.end()
        return "".join(parts)


def page_layout(
    path: Path | None,
    password: str | None,
    number: int,
    lines: Sequence[PlacedLine],
    limits: ParseLimits,
    pictures: Sequence[Illustration] = (),
) -> PageLayout:
    """Return the positions of words, figures and tables in the image of a page.

    If the format has no page images, it is the image drawn by ``sketch_page``.
    """
    format = None if path is None else format_of(path)
    if path is not None and format is not None and format.layout is not None:
        return format.layout(path, password, number, lines, limits)
    return sketch_page(path, number, "\n".join(text for text, _ in lines), limits, pictures)[1]


def sketch_page(
    path: Path | None, number: int, text: str, limits: ParseLimits, pictures: Sequence[Illustration] = ()
) -> tuple[bytes, PageLayout]:
    """Return a page of a format without page images as a PDF of one page, with the positions of its words.

    The format draws it from its file at ``path``. It is drawn from its text and ``pictures`` if the format cannot draw
    pages, the file is not available, or this page cannot be drawn.
    """
    sketch = None if path is None else format_of(path).sketch
    if path is not None and sketch is not None:
        try:
            return sketch(path, number, text, limits)
        except DocumentError as error:
            _log.warning("%s", error)
    return drawn(text, pictures)


_MOST = 30  # maximum pictures per page; more are not drawn


def illustrations(
    path: Path, password: str | None, pages: Sequence[tuple[int, str]], limits: ParseLimits
) -> tuple[tuple[Illustration, ...], ...]:
    """Return the pictures to draw on pages. Each page is given as its number (from 1) and its stored text."""
    file = open_file(path, password, limits)
    try:
        if not isinstance(file, IllustratedFile):
            return ((),) * len(pages)
        return tuple(tuple(_of_page(file, number, text.split("\n"), limits)) for number, text in pages)
    finally:
        file.close()


def _of_page(
    file: IllustratedFile, number: int, text_lines: Sequence[str], limits: ParseLimits
) -> Iterator[Illustration]:
    page = next(iter(file.read([number], lambda _: None)))  # type: ignore[attr-defined]
    if isinstance(page, DocumentError):
        return
    ends = _ends([line.text for line in page.lines], text_lines)
    for count, (line, data) in enumerate(file.images(number)):
        if count < _MOST and (drawing := illustration(data, ends[min(line, len(ends) - 1)], limits)) is not None:
            yield drawing


def _ends(lines: Sequence[str], text_lines: Sequence[str]) -> list[int]:
    """Return for each of these lines the index after it in the stored text, and 0 before the first.

    The stored text also contains lines from OCR, so the indexes differ.
    """
    ends, at = [0], 0
    for line in lines:
        match = next((number for number in range(at, len(text_lines)) if text_lines[number] == line), None)
        at = len(text_lines) if match is None else match + 1
        ends.append(at)
    return ends
