"""FB2 (FictionBook) as blocks of its bodies: titles, paragraphs, verses, notes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from lxml import etree

from hybrid_core.errors import BrokenFileError
from hybrid_core.types.notes import Note
from indexers.formats.flow.blocks import Block, Flow, Heading, Paragraph, Part, Picture, Table
from indexers.formats.flow.linear import Piece, linear
from indexers.formats.flow.safety import read_xml
from indexers.formats.limits import ParseLimits
from indexers.formats.pictures import picture_in_base64, picture_of_kind

_LINES = frozenset(("p", "v", "subtitle", "text-author", "date"))
_INLINE = frozenset(("sup", "sub", "strikethrough", "strong", "emphasis", "style", "a", "code"))
_DEEPEST = 60
_WIDEST = 100  # columns or rows that a cell spans


def read_fb2(path: Path, limits: ParseLimits) -> Flow:
    root, whole = read_xml(path.read_bytes(), "the file is damaged: it", file=path)
    if _tag(root) != "FictionBook":
        raise BrokenFileError("the file is not an e-book in the format FictionBook.", file=path)
    info = next(iter(root.iter("{*}title-info")), root)
    metadata = {"title": _element_line(next(iter(info.iter("{*}book-title")), None)),
                "author": _element_line(next(iter(info.iter("{*}author")), None))}  # fmt: skip
    binaries = {binary.get("id", ""): binary.text or "" for binary in root.iter("{*}binary") if _shows_words(binary)}
    reader = _Reader(binaries)
    cover = [block for page in info.iter("{*}coverpage") for block in reader.pictures(page, "cover")]
    bodies = [list(reader.blocks(body, 1)) for body in root.iter("{*}body")]
    notes = [block for note in info.iter("{*}annotation") for block in reader.blocks(note, 1)]
    parts = [Part([*cover, *notes, *body] if not at else body) for at, body in enumerate(bodies)]
    warnings: list[str] = [] if whole else [Note("read.partly")]
    return Flow(
        iter(parts), {key: value for key, value in metadata.items() if value}, warnings,
        images=lambda name: picture_in_base64(binaries[name]),
    )  # fmt: skip


def _shows_words(binary: etree._Element) -> bool:
    return picture_of_kind(binary.get("content-type", ""), len(binary.text or "") * 3 // 4)


class _Reader:
    def __init__(self, binaries: Collection[str]) -> None:
        self._count, self._binaries = 0, binaries

    def blocks(self, parent: etree._Element, level: int, deep: int = 0) -> Iterator[Block]:
        for child in parent:
            self._count += 1
            tag, place = _tag(child), f"paragraph {self._count}"
            if tag == "title":
                yield Heading(level, _element_line(child), place=place)
                yield from self.pictures(child, place)
            elif tag in _LINES:
                yield Paragraph(_element_line(child), place)
                yield from self.pictures(child, place)
            elif tag == "image":
                yield from self.pictures(child, place)
            elif tag == "table":
                yield Table(_table_rows(child), place=place)
            elif deep < _DEEPEST:
                yield from self.blocks(child, level + (tag == "section"), deep + 1)

    def pictures(self, element: etree._Element, place: str) -> Iterator[Block]:
        """Yield the pictures of an element. Their data are stored elsewhere in the file, under the name in the link."""
        for image in element.iter("{*}image"):
            link = next((str(value) for key, value in image.attrib.items() if str(key).endswith("href")), "")
            name = link[1:] if link[:1] == "#" and link[1:] in self._binaries else ""
            yield Picture(" ".join((image.get("alt") or image.get("title") or "").split()), place, name)


def _tag(element: etree._Element) -> str:
    return etree.QName(element).localname


def _table_rows(table: etree._Element) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a table, with each cell in its column."""
    rows: list[tuple[str, ...]] = []
    below: dict[int, tuple[int, str]] = {}  # by column: number of rows that a cell above still spans, and its words
    for row in table.iter("{*}tr"):
        cells: list[str] = []
        waiting = [cell for cell in row if isinstance(cell.tag, str)]
        while waiting or len(cells) in below:
            if (above := below.pop(len(cells), None)) is not None:
                down, text = above
                across = 1
            else:
                cell = waiting.pop(0)
                text, across, down = _element_line(cell), _span(cell, "colspan"), _span(cell, "rowspan")
            for at in range(across):
                if down > 1:
                    below[len(cells)] = (down - 1, text)
                cells.append("" if at else text)
        rows.append(tuple(cells))
    return tuple(rows)


def _span(cell: etree._Element, name: str) -> int:
    value = cell.get(name) or "1"
    return min(_WIDEST, max(1, int(value))) if value.isascii() and value.isdigit() else 1


def _element_line(element: etree._Element | None) -> str:
    """Return the words of an element in one line, with superscripts and other marks."""
    return "" if element is None else " ".join(linear(_element_pieces(element, Piece(""))).split())


def _element_pieces(element: etree._Element, form: Piece, deep: int = 0) -> Iterator[Piece]:
    tag = _tag(element)
    if tag in ("sup", "sub"):
        form = form._replace(shift=1 if tag == "sup" else -1)
    elif tag == "strikethrough":
        form = form._replace(struck=True)
    elif tag == "a" and element.get("type") == "note":
        form = form._replace(shift=1)
    apart = tag not in _INLINE
    if apart:
        yield Piece(" ")
    yield form._replace(text=element.text or "")
    for child in element:
        if isinstance(child.tag, str):
            yield from _element_pieces(child, form, deep + 1) if deep < _DEEPEST else ()
        yield form._replace(text=child.tail or "")
    if apart:
        yield Piece(" ")
