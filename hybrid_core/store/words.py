"""An index of the exact words of pages, derived from the catalog.

A segment contains the words of some documents, in memory or in one memory-mapped file. A missing segment is built
again.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
import threading
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.home import make_file, make_folder, unwritable
from hybrid_core.system import replace_file
from hybrid_core.text.exact_words import count_words

_MAGIC = b"words 3\n"
_MAX_COUNT = 65_535  # maximum count of one word on a page
_TYPES = {"offsets": "<u4", "starts": "<u4", "pages": "<u4", "counts": "<u2"}

Rows = npt.NDArray[np.int64]
FOLDER = "words"
_PAGES = 20_000  # pages of one segment, which bounds the memory while it is built
_MIN_PAGES = 2_000  # pages: building a smaller segment is as fast as reading it from a file
_MAX_DEAD_SHARE = 0.5  # share of pages with deleted contents from which a file is deleted


class Segment:
    """An inverted index of the words of some documents. Each page is a row; all rows are numbered from 0.

    A count of 0 marks a word that a page holds only in addresses of links.

    contents: (content_id, number of pages) of each document. firsts: int64 (contents + 1,), the first row of each
    document, and the number of all rows at the end. ``path`` is None if the segment is only in memory.
    """

    def __init__(
        self, contents: Sequence[tuple[str, int]], words: bytes | mmap.mmap, arrays: dict[str, npt.NDArray[np.generic]],
        base: int = 0, size: int | None = None, path: Path | None = None,
    ) -> None:  # fmt: skip
        self.contents, self.path = tuple(contents), path
        self.ids = frozenset(content_id for content_id, _ in contents)
        self.firsts: Rows = np.cumsum([0, *(pages for _, pages in contents)], dtype=np.int64)
        self._words, self._base = words, base
        self._size = len(words) if size is None else size
        self._offsets, self._starts = arrays["offsets"], arrays["starts"]
        self._pages, self._counts = arrays["pages"], arrays["counts"]

    @classmethod
    def build(cls, contents: Iterable[tuple[str, Sequence[str]]]) -> Segment:
        """Build a segment from pairs (content_id, texts of its pages)."""
        sizes: list[tuple[str, int]] = []
        ids: dict[str, int] = {}
        word_ids, counts, lengths = array("I"), array("H"), array("I")
        for content_id, texts in contents:
            sizes.append((content_id, len(texts)))
            for text in texts:
                word_counts = count_words(text)
                word_ids.extend([ids.setdefault(word, len(ids)) for word in word_counts])
                counts.extend([min(count, _MAX_COUNT) for count in word_counts.values()])
                lengths.append(len(word_counts))
        vocabulary = sorted((word.encode("utf-8", "replace"), at) for word, at in ids.items())
        ranks = np.zeros(len(ids), np.uint32)
        ranks[[at for _, at in vocabulary]] = np.arange(len(ids), dtype=np.uint32)
        words = ranks[np.frombuffer(word_ids, np.uint32)]
        rows = np.repeat(np.arange(len(lengths), dtype=np.uint32), np.frombuffer(lengths, np.uint32))
        order = np.argsort(words, kind="stable")
        starts = np.append(0, np.cumsum(np.bincount(words, minlength=len(ids))))
        offsets = np.append(0, np.cumsum([len(word) + 1 for word, _ in vocabulary]))
        arrays: dict[str, npt.NDArray[np.generic]] = {
            "offsets": offsets.astype("<u4"), "starts": starts.astype("<u4"), "pages": rows[order],
            "counts": np.frombuffer(counts, np.uint16)[order],
        }  # fmt: skip
        return cls(sizes, b"".join(word + b"\n" for word, _ in vocabulary), arrays)

    @classmethod
    def open(cls, path: Path) -> Segment:
        """Open a segment file. Raise OSError if it cannot be read, ValueError if it is invalid or truncated."""
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if mapped[: len(_MAGIC)] != _MAGIC:
            raise ValueError("no words")
        begins = len(_MAGIC) + 8
        after = begins + int.from_bytes(mapped[len(_MAGIC) : begins], "little")
        head = json.loads(mapped[begins:after])
        if len(mapped) != after + head["words"] + sum(head["bytes"].values()):
            raise ValueError("cut short")
        at = after + head["words"]
        arrays: dict[str, npt.NDArray[np.generic]] = {}
        for name, kind in _TYPES.items():
            arrays[name] = np.frombuffer(mapped, kind, head["bytes"][name] // np.dtype(kind).itemsize, at)
            at += head["bytes"][name]
        contents = [(str(content_id), int(pages)) for content_id, pages in head["contents"]]
        return cls(contents, mapped, arrays, after, head["words"], path)

    def write(self, path: Path) -> Segment:
        """Write the segment to a file. Return a segment that reads this file. Raise OSError if that fails."""
        arrays = {name: getattr(self, f"_{name}").astype(kind, copy=False).tobytes() for name, kind in _TYPES.items()}
        head = json.dumps({
            "contents": self.contents, "words": self._size, "bytes": {name: len(part) for name, part in arrays.items()}
        }).encode()  # fmt: skip
        draft = path.with_name(f"{path.name}.{os.getpid()}.part")
        make_folder(path.parent)
        try:
            make_file(draft)
            with draft.open("wb") as file:
                parts = (_MAGIC, len(head).to_bytes(8, "little"), head, bytes(self._words), *arrays.values())
                file.writelines(parts)
            replace_file(draft, path)
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
        return Segment.open(path)

    @property
    def rows(self) -> int:
        return int(self.firsts[-1])

    def pages_with(self, word: str, *, prefix: bool = False, addresses: bool = False) -> tuple[Rows, Rows]:
        """Return the numbers of the rows that contain a word, ascending, and how often each row contains it.

        With ``prefix``, words that begin with it count too. With ``addresses``, rows that contain the word only in
        addresses are included, with a count of 0.
        """
        written = word.encode("utf-8", "replace")
        first = bisect_left(self, written)
        end = bisect_left(self, written + b"\xff", first) if prefix else first + (self._at(first) == written)
        rows, counts = self._union(range(first, end)) if prefix else self._postings(first, end)
        return (rows, counts) if addresses or counts.all() else (rows[counts > 0], counts[counts > 0])

    def words(self, begin: str) -> list[tuple[str, int]]:
        """Return the words that begin with ``begin``, each with its number of pages. Addresses do not count."""
        written = begin.encode("utf-8", "replace")
        first = bisect_left(self, written)
        end = bisect_left(self, written + b"\xff", first)
        if first == end:
            return []
        stretch = slice(self._base + int(self._offsets[first]), self._base + int(self._offsets[end]) - 1)
        names = bytes(self._words[stretch]).decode("utf-8", "replace").split("\n")
        starts = self._starts[first : end + 1].astype(np.int64)
        counted = np.not_equal(self._counts[starts[0] : starts[-1]], 0)
        pages = np.add.reduceat(counted, starts[:-1] - starts[0], dtype=np.int64)
        return [(name, count) for name, count in zip(names, pages.tolist(), strict=True) if count]

    def pages_with_part(self, part: str) -> Rows:
        """Return the numbers of the rows with a word that contains these letters, ascending. Addresses count, too."""
        end, pattern = self._base + self._size, re.compile(re.escape(part.encode()))
        at = np.fromiter((match.start() for match in pattern.finditer(self._words, self._base, end)), np.int64)
        words = np.unique(np.searchsorted(self._offsets, at - self._base, "right") - 1)
        return self._union(words.tolist())[0]

    def _postings(self, first: int, end: int) -> tuple[Rows, Rows]:
        stretch = slice(int(self._starts[first]), int(self._starts[end])) if end > first else slice(0)
        return self._pages[stretch].astype(np.int64), self._counts[stretch].astype(np.int64)

    def _union(self, words: Iterable[int]) -> tuple[Rows, Rows]:
        total = np.full(self.rows, -1, np.int64)  # -1: not on the page
        for word in words:
            pages, counts = self._postings(word, word + 1)
            total[pages] = np.maximum(total[pages], 0) + counts
        rows = np.flatnonzero(total >= 0)
        return rows, total[rows]

    def __len__(self) -> int:
        """Return the number of distinct words. Indexing returns them, sorted by their bytes."""
        return len(self._offsets) - 1

    def __getitem__(self, at: int) -> bytes:
        return self._at(at)

    def _at(self, at: int) -> bytes:
        if at >= len(self):
            return b""
        first, end = int(self._offsets[at]), int(self._offsets[at + 1]) - 1
        return bytes(self._words[self._base + first : self._base + end])


class Part(NamedTuple):
    """A segment and the ids of the documents to read from it. Other documents in the segment must be ignored."""

    segment: Segment
    contents: frozenset[str]


def forget_words(home: Path, live: Collection[str]) -> None:
    """Delete all segment files with words of a document that is not in ``live`` any more.

    Files for the other documents in them are built again when they are needed.
    """
    for path in (home / FOLDER).glob("*.words"):
        try:
            stale = not Segment.open(path).ids <= frozenset(live)
        except (OSError, ValueError, KeyError, TypeError):
            stale = True
        if stale:
            with suppress(OSError):
                path.unlink(missing_ok=True)


class WordStore:
    """The segments of all documents. Several threads and processes may use it."""

    def __init__(self, catalog: Catalog, home: Path) -> None:
        self._catalog, self._folder = catalog, home / FOLDER
        self._lock = threading.Lock()
        self._segments: dict[str, Segment] = {}
        self._loose: Segment | None = None  # contents that are too few for a file

    def parts(self, page_counts: Mapping[str, int]) -> list[Part]:
        """Return the segments that together contain the given documents, each document once. Build missing ones.

        ``page_counts`` maps the content ids of the documents to their numbers of pages.
        """
        with self._lock:
            self._look()
            missing = [key for key in page_counts if not self._holds(key)]
            if missing:
                self._make(missing, page_counts)
            left, parts = set(page_counts), []
            for segment in (*self._segments.values(), *([self._loose] if self._loose else ())):
                if contained := left.intersection(content_id for content_id, _ in segment.contents):
                    parts.append(Part(segment, frozenset(contained)))
                    left -= contained
            return parts

    def sweep(self, live: frozenset[str]) -> None:
        """Delete segment files that contain mostly documents not in ``live``, so that their words do not remain."""
        with self._lock:
            self._look()
            for name, segment in list(self._segments.items()):
                dead = sum(pages for content_id, pages in segment.contents if content_id not in live)
                if dead > _MAX_DEAD_SHARE * segment.rows or dead == segment.rows:
                    self._forget(name)

    def _forget(self, name: str) -> None:
        del self._segments[name]
        with suppress(OSError):
            (self._folder / name).unlink(missing_ok=True)

    def _look(self) -> None:
        """Open segment files that other processes have written, and forget files that they have deleted."""
        names = {path.name for path in self._folder.glob("*.words")} if self._folder.is_dir() else set()
        for name in [
            name for name, segment in self._segments.items() if segment.path is not None and name not in names
        ]:
            del self._segments[name]
        for name in sorted(names - self._segments.keys()):
            try:
                self._segments[name] = Segment.open(self._folder / name)
            except (OSError, ValueError, KeyError, TypeError):
                with suppress(OSError):
                    (self._folder / name).unlink(missing_ok=True)

    def _holds(self, content_id: str) -> bool:
        segments = (*self._segments.values(), *([self._loose] if self._loose else ()))
        return any(content_id in segment.ids for segment in segments)

    def _make(self, missing: Sequence[str], page_counts: Mapping[str, int]) -> None:
        loose = [content_id for content_id, _ in self._loose.contents] if self._loose else []
        every = [*dict.fromkeys([*loose, *missing])]
        sizes = dict(self._loose.contents if self._loose else ()) | {
            content_id: page_counts[content_id] for content_id in missing
        }
        self._loose = None
        for some in _batches(every, sizes):
            segment = Segment.build(self._texts(some, sizes))
            name = f"{hashlib.sha256('/'.join(some).encode()).hexdigest()[:32]}.words"
            if segment.rows < _MIN_PAGES:
                self._loose = segment
                continue
            if not unwritable(self._folder.parent):
                with suppress(OSError):  # on a full disk it stays in memory
                    segment = segment.write(self._folder / name)
            self._segments[name] = segment

    def _texts(self, content_ids: Sequence[str], sizes: Mapping[str, int]) -> Iterator[tuple[str, list[str]]]:
        for content_id in content_ids:
            with self._catalog.snapshot() as snapshot:
                texts = dict(snapshot.texts(content_id))
            yield content_id, [texts.get(number, "") for number in range(1, sizes[content_id] + 1)]


def _batches(content_ids: Sequence[str], sizes: Mapping[str, int]) -> Iterator[list[str]]:
    """Yield the content ids in batches of about ``_PAGES`` pages; the last batch may be smaller."""
    some: list[str] = []
    pages = 0
    for content_id in content_ids:
        some.append(content_id)
        pages += sizes[content_id]
        if pages >= _PAGES:
            yield some
            some, pages = [], 0
    if some:
        yield some
