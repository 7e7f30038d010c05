"""FB2 (FictionBook) -> blocks of its bodies: titles, paragraphs, verses, notes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from hybrid_core.errors import DocumentError
from indexers.formats.flow.blocks import Block, Flow, Heading, Paragraph, Part, Table
from indexers.formats.flow.safety import read_xml
from indexers.formats.limits import ParseLimits

_LINES = frozenset(("p", "v", "subtitle", "text-author", "date"))
_DEEPEST = 60


def read_fb2(path: Path, limits: ParseLimits) -> Flow:
    root, whole = read_xml(path.read_bytes(), f"{path}: damaged, it")
    if _tag(root) != "FictionBook":
        raise DocumentError(f"{path}: not a FictionBook.")
    info = next(iter(root.iter("{*}title-info")), root)
    metadata = {"title": _words(next(iter(info.iter("{*}book-title")), None)),
                "author": _words(next(iter(info.iter("{*}author")), None))}  # fmt: skip
    bodies = [Part(list(_Reader().blocks(body, 1))) for body in root.iter("{*}body")]
    warnings = [] if whole else ["it is damaged, and was read only in part"]
    return Flow(iter(bodies), {key: value for key, value in metadata.items() if value}, warnings)


class _Reader:
    def __init__(self) -> None:
        self._count = 0

    def blocks(self, parent: etree._Element, level: int, deep: int = 0) -> Iterator[Block]:
        for child in parent:
            self._count += 1
            tag, place = _tag(child), f"paragraph {self._count}"
            if tag == "title":
                yield Heading(level, _words(child), place=place)
            elif tag in _LINES:
                yield Paragraph(_words(child), place)
            elif tag == "table":
                rows = [tuple(_words(cell) for cell in row) for row in child.iter("{*}tr")]
                yield Table(tuple(rows), place=place)
            elif deep < _DEEPEST and tag != "image":
                yield from self.blocks(child, level + (tag == "section"), deep + 1)


def _tag(element: etree._Element) -> str:
    return etree.QName(element).localname


def _words(element: etree._Element | None) -> str:
    return "" if element is None else " ".join(" ".join(map(str, element.itertext())).split())
