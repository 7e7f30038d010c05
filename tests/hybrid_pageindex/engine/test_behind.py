"""Searches while a server's index is far behind its library: what they read and send stays small."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import insert, select

from hybrid_core.store.catalog import schema
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.documents import Changed, log_changes
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.store.index.points import Query
from hybrid_pageindex.engine.search.handles import BackgroundFollower, ServerAddress
from hybrid_pageindex.engine.search.indexes import Indexes
from tests import qdrant_stub
from tests.hybrid_core.store.test_catalog import ALPHA, C1, content, publish

DOCUMENTS = 4000
WORDS = Query("bm25", (np.array([0, 1], np.uint32), np.array([1.0, 0.5], np.float32)), 50)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """So many documents of two pages."""
    catalog = Catalog(tmp_path / "catalog.sqlite")
    catalog.ensure_library("default")
    publish(catalog, "d0000", ALPHA, content(2, "alpha"))
    with catalog.writing() as connection:
        row = dict(connection.execute(select(schema.documents)).one()._mapping)
        ids = [f"d{number:04}" for number in range(1, DOCUMENTS)]
        connection.execute(insert(schema.documents), [row | {"doc_id": id, "path": f"/{id}.pdf"} for id in ids])
        log_changes(connection, [Changed("default", id, C1) for id in ids])
    yield catalog
    catalog.close()


@pytest.mark.slow
def test_a_search_of_a_wiped_index_reads_the_log_once_and_sends_little(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, real = [0], Snapshot.changed_documents
    sent: list[int] = []

    def counted(snapshot: Snapshot, library: str, after: int) -> frozenset[str]:
        read[0] += 1
        return real(snapshot, library, after)

    monkeypatch.setattr(Snapshot, "changed_documents", counted)
    monkeypatch.setattr(Snapshot, "changes", lambda *_: pytest.fail("the whole log is read by a search"))
    monkeypatch.setattr(BackgroundFollower, "start", lambda _: None)
    with qdrant_stub.running() as stub:

        def note(_: str, path: str, body: bytes) -> None:
            if path.endswith("/query/batch"):
                sent.append(len(body))

        stub.refuse = note
        served = Indexes(catalog, tmp_path, ServerAddress(stub.url))
        first = served.searchable("default")
        expected = first.index.search(WORDS)
        assert (first.pages, len(first.unindexed), len(expected)) == (2 * DOCUMENTS, DOCUMENTS, 50)
        for _ in range(5):
            assert served.searchable("default").index.search(WORDS) == expected
        assert read == [1] and sent == [], "nothing is asked that holds nothing"
        monkeypatch.undo()
        monkeypatch.setattr(BackgroundFollower, "start", lambda _: None)
        for turns in (1, 20, 15):
            index, left = served._handles["default"].index, [turns]
            assert index is not None

            def enough(left: list[int] = left) -> bool:
                left[0] -= 1
                return left[0] < 1

            index.catch_up(served._plan("default").source, enough=enough)
            assert served.searchable("default").index.search(WORDS) == expected
        assert len(sent) >= 3 and max(sent) < 10_000
        served.close()
