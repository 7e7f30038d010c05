"""Parsed pages that a parse task writes to disk for the build task of the same document."""

from __future__ import annotations

import pickle
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import starmap
from operator import attrgetter
from pathlib import Path
from typing import overload

import numpy as np
import numpy.typing as npt

from hybrid_core.text import tokens
from hybrid_core.types.documents import Line, ParsedPage
from indexers.formats.format import FileInfo
from indexers.ocr.pages import Reading

_FIELDS = attrgetter(*(field.name for field in fields(Line)))


@dataclass(frozen=True, slots=True)
class PageTerms:
    """The term counts of one page, and its length in words without numbers.

    hashes: uint32 (n,), the hashes of the terms. counts: uint32 (n,). Arrays need a tenth of the memory of
    dictionaries.
    """

    hashes: npt.NDArray[np.uint32]
    counts: npt.NDArray[np.uint32]
    length: int

    @classmethod
    def of_text(cls, page: str) -> PageTerms:
        terms = Counter(tokens.tokenise(page))
        counts = tokens.counts(terms)
        return cls(
            np.fromiter(counts, np.uint32, len(counts)),
            np.fromiter(counts.values(), np.uint32, len(counts)),
            sum(count for term, count in terms.items() if not tokens.is_number(term)),
        )


class TermsByPage(Sequence[Mapping[int, int]]):
    """A sequence with the term counts of every page as ``{term hash: count}``. Each item is built on access."""

    def __init__(self, terms: Sequence[PageTerms]) -> None:
        self._terms = terms
        self._last: tuple[int, Mapping[int, int]] = (-1, {})

    def __len__(self) -> int:
        return len(self._terms)

    @overload
    def __getitem__(self, at: int) -> Mapping[int, int]: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Mapping[int, int]]: ...
    def __getitem__(self, at: int | slice) -> Mapping[int, int] | Sequence[Mapping[int, int]]:
        if isinstance(at, slice):
            return TermsByPage(self._terms[at])
        if self._last[0] != at:
            page = self._terms[at]
            self._last = (at, dict(zip(page.hashes.tolist(), page.counts.tolist(), strict=True)))
        return self._last[1]


@dataclass(frozen=True, slots=True)
class Spool:
    """A parsed range of pages of a file. ``info`` is the file's metadata, stored only in the first range."""

    pages: list[ParsedPage]
    terms: list[PageTerms]
    info: FileInfo | None
    warnings: list[str]


def save_spool(path: Path, spool: Spool) -> None:
    """Write a parsed range of pages to a file with pickle.

    Lines are stored as plain tuples, because pickling objects takes several times as long.
    """
    lines = [list(map(_FIELDS, page.lines)) for page in spool.pages]
    bare = replace(spool, pages=[replace(page, lines=()) for page in spool.pages])
    with path.open("wb") as file:
        pickle.dump((bare, lines), file, pickle.HIGHEST_PROTOCOL)


def load_spool(path: Path) -> Spool:
    with path.open("rb") as file:
        spool: Spool
        spool, lines = pickle.load(file)
    pages = [replace(page, lines=tuple(starmap(Line, fields))) for page, fields in zip(spool.pages, lines, strict=True)]
    return replace(spool, pages=pages)


def load_spools(paths: Sequence[Path], scans: Iterable[Reading]) -> list[Spool]:
    """Load the parsed page ranges in order, and insert the text that OCR read (``scans``)."""
    spools = [load_spool(path) for path in paths]
    starts = [spool.pages[0].number for spool in spools]
    readings = {reading.number: reading for reading in scans}
    for number, reading in readings.items():
        at = bisect_right(starts, number) - 1
        page = reading.onto(spools[at].pages[number - starts[at]])
        spools[at].pages[number - starts[at]] = page
        spools[at].terms[number - starts[at]] = PageTerms.of_text(page.text)
    return [replace(spool, info=spool.info and _moved(spool.info, readings)) for spool in spools]


def _moved(info: FileInfo, readings: Mapping[int, Reading]) -> FileInfo:
    """Return the file's metadata with heading positions adjusted to the inserted OCR text."""
    if not info.headings:
        return info
    headings = (
        replace(heading, line=readings[heading.page].moved(heading.line)) if heading.page in readings else heading
        for heading in info.headings
    )
    return replace(info, headings=tuple(headings))
