"""A source of points that several processes share, and whether an index holds what it publishes."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from hybrid_core.store.index.index import VectorIndex
from hybrid_core.store.index.points import Point, Query, version_tag
from hybrid_core.types.documents import Change, Hit

MANIFEST: dict[str, str | int] = {"tokenizer": "test", "average": 200}
TERMS = 60


class Library:
    """A ``PointSource`` in one SQLite file that several processes share. Pages follow from their content id."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with closing(self._connect()) as db, db:
            db.execute("create table if not exists log (seq integer primary key, doc_id text, content_id text)")
            db.execute("create table if not exists version (doc_id text primary key, content_id text, pages integer)")

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=30)
        db.execute("pragma synchronous = off")  # a commit survives a kill all the same
        return db

    def _all(self, sql: str, *values: str | int) -> list[tuple[object, ...]]:
        with closing(self._connect()) as db:
            return db.execute(sql, values).fetchall()

    def publish(self, *versions: tuple[str, str, int]) -> None:
        with closing(self._connect()) as db, db:
            db.executemany("insert or replace into version values (?, ?, ?)", versions)
            db.executemany("insert into log (doc_id, content_id) values (?, ?)", [row[:2] for row in versions])

    def remove(self, doc_id: str) -> None:
        with closing(self._connect()) as db, db:
            db.execute("delete from version where doc_id = ?", [doc_id])
            db.execute("insert into log (doc_id) values (?)", [doc_id])

    def position(self) -> int:
        return int(str(self._all("select coalesce(max(seq), 0) from log")[0][0]))

    def mark(self, seq: int) -> int | None:
        return 0 if seq <= self.position() else None

    def changes(self, after: int) -> Iterable[Change]:
        return [Change(*row) for row in self._all("select * from log where seq > ? order by seq", after)]  # type: ignore[arg-type]

    def published(self, doc_ids: Collection[str] | None = None) -> Iterable[tuple[str, str]]:
        rows = self._all("select doc_id, content_id from version")
        return [(str(doc), str(content)) for doc, content in rows if doc_ids is None or doc in doc_ids]

    def points(self, doc_id: str, content_id: str) -> Iterator[Point]:
        rows = self._all("select pages from version where doc_id = ? and content_id = ?", doc_id, content_id)
        for number in range(1, int(str(rows[0][0])) + 1 if rows else 0):
            rng = random.Random(f"{content_id}/{number}")
            terms = rng.sample(range(TERMS), rng.randint(0, 20))
            values = np.array([rng.uniform(0.5, 2) for _ in terms], np.float32)
            yield Point(doc_id, content_id, number, np.array(terms, np.uint32), values)

    def expected_vectors(self) -> int:
        return int(str(self._all("select coalesce(sum(pages), 0) from version")[0][0]))


def ask(index: VectorIndex, terms: Sequence[int], limit: int) -> list[Hit]:
    return index.search(Query("bm25", (terms, [1.0] * len(terms)), limit))


def right(index: VectorIndex, library: Library) -> None:
    """The index holds exactly what is published: every page, found with the score worked out by hand."""
    pages = [p for version in library.published() for p in library.points(*version)]
    expected = {(p.doc_id, version_tag(p.content_id), p.page): float(p.values.sum()) for p in pages if p.values.size}
    hits = ask(index, range(TERMS), len(pages) + 10)
    assert {(h.doc_id, h.version, h.page): h.score for h in hits} == pytest.approx(expected, rel=1e-4)
    assert index.count() == library.expected_vectors() == len(pages)
    assert index.position == library.position()


Opener = Callable[[], VectorIndex]
