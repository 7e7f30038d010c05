"""The segments of a home: read from its folder, and made for contents that none holds yet."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.home import unwritable
from hybrid_core.store.words.segment import Segment

FOLDER = "words"
_PAGES = 20_000  # of one segment: bounds the memory while it is made
_WORTH_A_FILE = 2_000  # pages: fewer are made again as quickly as they are read
_DEAD = 0.5  # share of the pages of a file whose contents are gone: from here on it is made anew


class Part(NamedTuple):
    """``contents`` are those to read of a segment: another one holds the others, or they are gone."""

    segment: Segment
    contents: frozenset[str]


class WordStore:
    """Words by page of whatever contents are asked for. Safe for several threads and processes."""

    def __init__(self, catalog: Catalog, home: Path) -> None:
        self._catalog, self._folder = catalog, home / FOLDER
        self._lock = threading.Lock()
        self._segments: dict[str, Segment] = {}
        self._loose: Segment | None = None  # of contents too few for a file

    def parts(self, wanted: Mapping[str, int]) -> list[Part]:
        """Return segments that together hold these contents, by content_id with their pages, each once."""
        with self._lock:
            self._look()
            missing = [one for one in wanted if not self._holds(one)]
            if missing:
                self._make(missing, wanted)
            left, parts = set(wanted), []
            for segment in (*self._segments.values(), *([self._loose] if self._loose else ())):
                if held := left.intersection(content_id for content_id, _ in segment.contents):
                    parts.append(Part(segment, frozenset(held)))
                    left -= held
            return parts

    def sweep(self, live: frozenset[str]) -> None:
        """Delete files most of whose contents are gone: the words of what was removed do not stay."""
        with self._lock:
            self._look()
            for name, segment in list(self._segments.items()):
                dead = sum(pages for content_id, pages in segment.contents if content_id not in live)
                if dead > _DEAD * segment.rows or dead == segment.rows:
                    self._forget(name)

    def _forget(self, name: str) -> None:
        del self._segments[name]
        with suppress(OSError):
            (self._folder / name).unlink(missing_ok=True)

    def _look(self) -> None:
        """Read the files that other processes wrote, and forget those that they deleted."""
        names = {path.name for path in self._folder.glob("*.words")} if self._folder.is_dir() else set()
        for name in [name for name, one in self._segments.items() if one.path is not None and name not in names]:
            del self._segments[name]
        for name in sorted(names - self._segments.keys()):
            try:
                self._segments[name] = Segment.open(self._folder / name)
            except (OSError, ValueError, KeyError, TypeError):
                with suppress(OSError):
                    (self._folder / name).unlink(missing_ok=True)

    def _holds(self, content_id: str) -> bool:
        known = (*self._segments.values(), *([self._loose] if self._loose else ()))
        return any(content_id in segment.ids for segment in known)

    def _make(self, missing: Sequence[str], wanted: Mapping[str, int]) -> None:
        loose = [one for one, _ in self._loose.contents] if self._loose else []
        every = [*dict.fromkeys([*loose, *missing])]
        sizes = dict(self._loose.contents if self._loose else ()) | {one: wanted[one] for one in missing}
        self._loose = None
        for some in _batches(every, sizes):
            made = Segment.build(self._texts(some, sizes))
            name = f"{hashlib.sha256('/'.join(some).encode()).hexdigest()[:32]}.words"
            if made.rows < _WORTH_A_FILE:
                self._loose = made
                continue
            if not unwritable(self._folder.parent):
                with suppress(OSError):  # a full disk: it stays in memory
                    made = made.write(self._folder / name)
            self._segments[name] = made

    def _texts(self, content_ids: Sequence[str], sizes: Mapping[str, int]) -> Iterator[tuple[str, list[str]]]:
        for content_id in content_ids:
            with self._catalog.snapshot() as snapshot:
                texts = dict(snapshot.texts(content_id))
            yield content_id, [texts.get(number, "") for number in range(1, sizes[content_id] + 1)]


def _batches(content_ids: Sequence[str], sizes: Mapping[str, int]) -> Iterator[list[str]]:
    """Yield them in parts of about as many pages as a segment may have; a remainder comes last."""
    some: list[str] = []
    pages = 0
    for one in content_ids:
        some.append(one)
        pages += sizes[one]
        if pages >= _PAGES:
            yield some
            some, pages = [], 0
    if some:
        yield some
