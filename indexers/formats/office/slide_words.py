"""Words of drawn slides: the search for the lines of a page's text, and a strip with the lines not found."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import chain

import pymupdf

from hybrid_core.text.markup import visible
from hybrid_core.types.locators import Box, PageLayout, TableBox, WordBox
from indexers.formats.text_drawing import CELL_BORDER, HEADING, drawn, markdown_tables
from indexers.formats.word_boxes import WORD, around

_MOST_HEIGHT = 14_000.0  # points of the page: a PDF page may have 14,400
_MARGIN = 20.0  # points above and below the text of the strip
_GREY = (0.6, 0.6, 0.6)
Words = list[WordBox]


def add_strip(
    document: pymupdf.Document, text: str, figures: Sequence[pymupdf.Rect], tables: Sequence[pymupdf.Rect]
) -> tuple[bytes, PageLayout]:
    """Return a drawn slide as a PDF, with a strip below it for the lines of ``text`` that it does not show.

    The layout has the words in the order of the text. ``figures`` and ``tables`` are their places on the slide.
    """
    text = visible(text)  # a slide shows the words of a link, not its address
    page, lines = document[0], text.split("\n")
    search = _WordSearch(page)
    places = [search.line(line) for line in lines]
    width, height = float(page.rect.width), float(page.rect.height)
    below: Words = []
    if absent := [line for line, words in zip(lines, places, strict=True) if words is None]:
        pdf, layout = drawn("\n".join(absent))
        scale = width / layout.width
        end = max((word.box[3] for word in layout.words), default=_MARGIN) + _MARGIN
        end = min(end, _MARGIN + (_MOST_HEIGHT - height) / scale)
        bottom, shift = height + (end - _MARGIN) * scale, height - _MARGIN * scale
        with pymupdf.open("pdf", pdf) as strip, pymupdf.open() as target:
            whole = target.new_page(width=width, height=bottom)
            whole.show_pdf_page(page.rect, document, 0)
            place = pymupdf.Rect(0, height, width, bottom)
            whole.show_pdf_page(place, strip, 0, clip=pymupdf.Rect(0, _MARGIN, layout.width, end))
            whole.draw_line((0, height), (width, height), color=_GREY, width=0.7)
            data = target.tobytes(deflate=True)
        for word in layout.words:
            if word.box[3] <= end:
                x0, y0, x1, y1 = (side * scale for side in word.box)
                below.append(WordBox(word.text, _rounded((x0, y0 + shift, x1, y1 + shift))))
        height = bottom
    else:
        data = document.tobytes(deflate=True)
    words = list(_order_words(lines, places, below))
    boxes = tuple(_rounded(figure) for figure in figures)
    return data, PageLayout(width, height, tuple(chain(*words)), boxes, tuple(_tables(text, words, tables)))


def _rounded(box: Sequence[float] | pymupdf.Rect) -> Box:
    x0, y0, x1, y1 = (round(float(box[at]), 1) for at in range(4))
    return x0, y0, x1, y1


def _letters(text: str) -> str:
    """Return the letters and digits of a text for comparison."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


class _WordSearch:
    """A search for the lines of a page's text among the words that are drawn on its slide. Each is used once."""

    def __init__(self, page: pymupdf.Page) -> None:
        words = [(word[4], pymupdf.Rect(word[:4])) for word in page.get_text("words")]
        boxes = [(text, _rounded(rect & page.rect)) for text, rect in words if (rect.tl + rect.br) / 2 in page.rect]
        self._words = [(letters, box) for text, box in boxes if (letters := _letters(text))]
        self._signs = [(text, box) for text, box in boxes if not _letters(text)]
        self._used = [False] * len(self._words)
        self._starts: dict[str, list[int]] = {}
        for at, (letters, _) in enumerate(self._words):
            self._starts.setdefault(letters[0], []).append(at)

    def line(self, line: str) -> Words | None:
        """Return the words of a line of Markdown with their boxes, None if it is not on the slide."""
        if not line.startswith("|"):
            text = line.lstrip("#").strip() if HEADING.fullmatch(line) else line.strip()
            return self._place(text) if _letters(text) else self._sign_boxes(text.split())
        cells = [cell.replace("\\|", "|").strip() for cell in CELL_BORDER.split(line.strip("|"))]
        cells = [cell for cell in cells if _letters(cell)]
        words = self._place(" ".join(cells)) if cells else []
        if words is None:
            places = [self._place(cell) or self._place(cell, again=True) for cell in cells]
            words = None if None in places else [word for place in places for word in place or ()]
        return words

    def _sign_boxes(self, signs: Sequence[str]) -> Words | None:
        boxes = [next((box for text, box in self._signs if text == sign), None) for sign in signs]
        return None if None in boxes else [WordBox(sign, box) for sign, box in zip(signs, boxes, strict=True) if box]

    def _place(self, text: str, again: bool = False) -> Words | None:
        """Return the words of a text if the slide shows them one after the other, with ``again`` used ones too."""
        sought = _letters(text)
        for start in self._starts.get(sought[0], ()):
            end, rest = start, sought
            while rest and end < len(self._words) and (again or not self._used[end]):
                if not rest.startswith(self._words[end][0]):
                    break
                rest = rest.removeprefix(self._words[end][0])
                end += 1
            if not rest:
                self._used[start:end] = [True] * (end - start)
                return list(_word_boxes(text, self._words[start:end]))
        return None


def _word_boxes(text: str, drawn_words: Sequence[tuple[str, Box]]) -> Iterator[WordBox]:
    """Yield the words of a text with the boxes of the drawn words that have their letters."""
    owners = [box for letters, box in drawn_words for _ in letters]
    at = 0
    for word in WORD.findall(text):
        count = len(_letters(word))
        first = min(at, len(owners) - 1)
        yield WordBox(word, around(owners[first : first + max(1, count)]))
        at += count


def _order_words(lines: Sequence[str], places: Sequence[Words | None], below: Sequence[WordBox]) -> Iterator[Words]:
    """Yield the words of each line; ``below`` are the words of the strip, in the order of the lines."""
    at = 0
    for line, words in zip(lines, places, strict=True):
        start, sought = at, len(_letters(line))
        while words is None and at < len(below) and sought > 0:
            sought -= len(_letters(below[at].text))
            at += 1
        yield list(below[start:at]) if words is None else words


def _tables(text: str, words: Sequence[Words], places: Sequence[pymupdf.Rect]) -> Iterator[TableBox]:
    """Yield the tables of a text with their places on the slide, or around their words if they are in the strip."""
    for table in markdown_tables(text):
        if inside := [word.box for line in words[slice(*table.lines)] for word in line]:
            box = around(inside)
            middle = pymupdf.Point((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)
            whole = next((_rounded(place) for place in places if middle in place), box)
            yield TableBox(whole, table.even_rows, table.heads, table.lines)
