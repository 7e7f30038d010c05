"""Section trees in their stored form: one value per document, read by columns.

A search reads trees with hundreds of sections and needs few of them, so section objects are created on access.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from hybrid_core.store.database import Decoding
from hybrid_core.store.tables import clean, to_json
from hybrid_core.text.terms import TermCounts, title_terms
from hybrid_core.types.documents import Section
from hybrid_core.types.notes import read, stored

_HEADER = struct.Struct("<4sIII")  # magic number, number of sections, bytes of all titles, bytes of all other texts
_MAGIC = b"ST01"
_NUMBERS = ("parent", "level", "start_page", "end_page", "anchor", "end_anchor")
_SECTION_BYTES = 4 * len(_NUMBERS) + 8 + 1 + 4 + 4
_NO_END = -1


class StoredSections(Sequence[Section]):
    """The sections of a stored tree in preorder, decoded on access."""

    def __init__(self, tree: bytes, titles: bytes) -> None:
        """Read the two values that ``packed`` returned. Raise ValueError if ``tree`` is truncated or invalid."""
        if len(tree) < _HEADER.size:
            raise ValueError("a section tree is cut short")
        magic, size, named, extra = _HEADER.unpack_from(tree)
        self._size: int = size
        if magic != _MAGIC or len(tree) != _HEADER.size + self._size * _SECTION_BYTES + named + extra:
            raise ValueError("a section tree is damaged")
        self._tree, self._terms = tree, titles
        self._numbers = np.frombuffer(tree, "<i4", len(_NUMBERS) * self._size, _HEADER.size).reshape(-1, self._size)
        parents, starts, ends = (self._numbers[_NUMBERS.index(name)] for name in ("parent", "start_page", "end_page"))
        above = (parents >= 0) & (parents <= np.arange(self._size))
        if not bool((above & (starts >= 1) & (ends >= starts)).all()):
            raise ValueError("a section tree is damaged")
        self._title_span = _HEADER.size + self._size * _SECTION_BYTES, named
        self._extra_span = self._title_span[0] + named, extra
        self._read_sections: list[Section | None] = [None] * self._size

    @overload
    def __getitem__(self, at: int) -> Section: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Section]: ...
    def __getitem__(self, at: int | slice) -> Section | Sequence[Section]:
        if isinstance(at, slice):
            return [self[position] for position in range(*at.indices(self._size))]
        section = self._read_sections[at]
        if section is None:
            section = self._read_sections[at] = self._section(range(self._size)[at])
        return section

    def __len__(self) -> int:
        return self._size

    def column(self, name: str) -> list[Any]:
        """Return the values of one field, in the order of the sections.

        "parent" is the preorder position of the parent, from 1, or 0 at the top level. A missing "end_anchor" is -1.
        """
        if name == "title":
            return self._titles
        if name == "synthetic":
            return [synthetic > 0 for synthetic in self._tail(np.dtype("u1"), 8)]
        values: list[int] = self._numbers[_NUMBERS.index(name)].tolist()
        return values

    @cached_property
    def title_terms(self) -> TermCounts:
        """Return the terms of the titles, one row per section. Synthetic sections have no terms."""
        with Decoding("the terms of a section's title"):
            return TermCounts.from_bytes(self._terms)

    def _tail(self, kind: np.dtype[Any], before: int) -> list[Any]:
        """Return a column that is stored after the columns of integers.

        ``before`` is the number of bytes per section between them and this column.
        """
        start = _HEADER.size + self._size * (4 * len(_NUMBERS) + before)
        values: list[Any] = np.frombuffer(self._tree, kind, self._size, start).tolist()
        return values

    @cached_property
    def _titles(self) -> list[str]:
        return self._texts(self._title_span, 8 + 1)

    @cached_property
    def _extras(self) -> list[str]:
        return self._texts(self._extra_span, 8 + 1 + 4)

    def _texts(self, place: tuple[int, int], lengths: int) -> list[str]:
        with Decoding("a section tree"):
            return _split(self._tree[place[0] : sum(place)].decode(), self._tail(np.dtype("<u4"), lengths))

    @cached_property
    def _anchor_heights(self) -> list[float]:
        return self._tail(np.dtype("<f8"), 0)

    @cached_property
    def _synthetic(self) -> list[bool]:
        return self.column("synthetic")

    def _section(self, at: int) -> Section:
        parent, level, start_page, end_page, anchor, end_anchor = self._numbers[:, at].tolist()
        with Decoding("a section"):
            source, summary, flags, gaps = json.loads(self._extras[at])
        return Section(
            node_id=node_id(at + 1), parent_id=node_id(parent) if parent else None, level=level,
            title=self._titles[at], start_page=start_page, end_page=end_page, anchor=anchor,
            end_anchor=None if end_anchor == _NO_END else end_anchor, anchor_y=self._anchor_heights[at], source=source,
            synthetic=self._synthetic[at], summary=summary, flags=tuple(flags), gaps=read(gaps),
        )  # fmt: skip


def packed(sections: Sequence[Section]) -> tuple[bytes, bytes]:
    """Return the stored form of sections in preorder: their tree, and the terms of their titles."""
    titles = [clean(section.title) for section in sections]
    rest = [
        to_json([section.source, section.summary, list(section.flags), stored(section.gaps)]) for section in sections
    ]
    numbers = [
        (
            int(section.parent_id or 0), section.level, section.start_page, section.end_page, section.anchor,
            _NO_END if section.end_anchor is None else section.end_anchor,
        )
        for section in sections
    ]  # fmt: skip
    named, extra = "".join(titles).encode(), "".join(rest).encode()
    parts: list[npt.NDArray[Any]] = [
        np.array(numbers, "<i4").reshape(-1, len(_NUMBERS)).T,
        np.array([section.anchor_y for section in sections], "<f8"),
        np.array([section.synthetic for section in sections], "u1"),
        *(np.array(list(map(len, texts)), "<u4") for texts in (titles, rest)),
    ]
    header = _HEADER.pack(_MAGIC, len(sections), len(named), len(extra))
    own = ["" if section.synthetic else title for section, title in zip(sections, titles, strict=True)]
    return header + b"".join(part.tobytes() for part in parts) + named + extra, title_terms(own).to_bytes()


def node_id(position: int) -> str:
    """Return the id of a section: its preorder position with four digits, or more beyond 9,999."""
    return f"{position:04d}"


def column(sections: Sequence[Section], name: str) -> list[Any]:
    """Return the values of one field, in the form of ``StoredSections.column``, for any sections in preorder."""
    if isinstance(sections, StoredSections):
        return sections.column(name)
    if name == "parent":
        return [0 if section.parent_id is None else int(section.parent_id) for section in sections]
    return [getattr(section, name) for section in sections]


def terms_of_titles(sections: Sequence[Section]) -> TermCounts:
    """Return the terms of the titles, in the form of ``StoredSections.title_terms``, for any sequence of sections."""
    if isinstance(sections, StoredSections):
        return sections.title_terms
    return title_terms(["" if section.synthetic else section.title for section in sections])


def _split(text: str, lengths: Sequence[int]) -> list[str]:
    parts, at = list[str](), 0
    for length in lengths:
        parts.append(text[at : at + length])
        at += length
    return parts
