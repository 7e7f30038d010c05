"""The catalog: snapshots, atomic publishing, shared content, versions, refusals."""

from __future__ import annotations

import itertools
import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import func, select

from hybrid_core.errors import ModelError, NotFoundError, SchemaError, StoreError
from hybrid_core.store.catalog import schema
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.embeddings import Embeddings
from hybrid_core.store.home import advice_of
from hybrid_core.text.term_counts import TermCounts
from hybrid_core.types.documents import Card, Chunk, IndexedContent, Page, Section, StoredEmbedder


def content(pages: int, word: str) -> IndexedContent:
    counts = TermCounts.build([{number: 1} for number in range(pages)], [1] * pages).to_bytes()
    return IndexedContent(
        sha256=word, format="pdf", metadata={"title": word}, title=word, description=word,
        pages=tuple(Page(n, "", 600, 800, f"{word} {n}", f"summary {n}", ((0, 0, 9, 9),)) for n in range(1, pages + 1)),
        sections=(Section("0001", None, 1, word, 1, pages),),
        chunks=tuple(Chunk(n, "0001", n, 0, 5) for n in range(1, pages + 1)),
        terms=counts, heading_terms=counts,
    )  # fmt: skip


def publish(
    catalog: Catalog, doc_id: str, content_id: str, made: IndexedContent | None, library: str = "default"
) -> None:
    catalog.publish(
        library=library, doc_id=doc_id, path=f"/{doc_id}.pdf", content_id=content_id, content=made,
        card=Card(title="t"), size=1, mtime=1.0,
    )  # fmt: skip


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    made = Catalog(tmp_path / "catalog.sqlite")
    made.ensure_library("default")
    yield made
    made.close()


def rows(catalog: Catalog) -> dict[str, int]:
    with catalog._engine.connect() as connection:
        tables = (schema.contents, schema.pages, schema.sections, schema.chunks, schema.terms)
        return {table.name: connection.scalar(select(func.count()).select_from(table)) or 0 for table in tables}


def test_what_was_published_is_read_back(catalog: Catalog) -> None:
    made = content(3, "alpha")
    publish(catalog, "d1", "c1", made)
    with catalog.snapshot() as snapshot:
        document = snapshot.documents("default")[0]
        assert (document.doc_id, document.content_id, document.pages, document.card) == ("d1", "c1", 3, Card(title="t"))
        assert tuple(snapshot.pages("c1")) == made.pages
        assert snapshot.sections("c1") == made.sections
        assert tuple(snapshot.chunks("c1")) == made.chunks
        assert [c.page for c in snapshot.chunks("c1", [2])] == [2]
        assert snapshot.expected_pages("default") == 3


def test_a_snapshot_does_not_see_what_is_published_meanwhile(catalog: Catalog) -> None:
    publish(catalog, "d1", "c1", content(1, "alpha"))
    with catalog.snapshot() as before:
        position = before.position("default")
        publish(catalog, "d1", "c2", content(2, "beta"))
        assert before.published("default") == {"d1": "c1"}
        assert before.position("default") == position
        assert [page.text for page in before.pages("c1")] == ["alpha 1"], "old pages stay readable"
    with catalog.snapshot() as after:
        assert after.published("default") == {"d1": "c2"}
        assert [(c.doc_id, c.content_id) for c in after.changes("default", position)] == [("d1", "c2")]


def test_replaced_and_removed_content_leaves_no_rows(catalog: Catalog) -> None:
    publish(catalog, "d1", "c1", content(3, "alpha"))
    publish(catalog, "d1", "c2", content(2, "beta"))
    assert rows(catalog) == {"contents": 1, "pages": 2, "sections": 1, "chunks": 2, "terms": 1}
    catalog.remove(["d1", "unknown"])
    assert set(rows(catalog).values()) == {0}


def test_shared_content_stays_until_its_last_document_goes(catalog: Catalog) -> None:
    publish(catalog, "d1", "c1", content(2, "alpha"))
    publish(catalog, "d2", "c1", None)
    catalog.remove(["d1"])
    assert rows(catalog)["pages"] == 2
    catalog.remove(["d2"])
    assert rows(catalog)["pages"] == 0
    with pytest.raises(NotFoundError, match=r"removed meanwhile"):
        publish(catalog, "d3", "c1", None)


def test_a_publication_that_fails_changes_nothing(catalog: Catalog) -> None:
    publish(catalog, "d1", "c1", content(2, "alpha"))
    broken = content(2, "beta")
    twice = IndexedContent(
        **{f: getattr(broken, f) for f in broken.__slots__} | {"pages": broken.pages + broken.pages[:1]}
    )
    with pytest.raises(Exception, match=r"UNIQUE"):
        publish(catalog, "d1", "c2", twice)
    with catalog.snapshot() as snapshot:
        assert snapshot.published("default") == {"d1": "c1"}
        assert snapshot.versions("c2") == {}
        assert snapshot.position("default") == 1


def test_positions_are_never_used_twice(catalog: Catalog, tmp_path: Path) -> None:
    publish(catalog, "d1", "c1", content(1, "alpha"))
    with catalog.snapshot() as snapshot:
        first = snapshot.position("default")
    catalog.remove_library("default")
    with sqlite3.connect(tmp_path / "catalog.sqlite") as direct:
        direct.execute("DELETE FROM changes")
    catalog.ensure_library("default")
    publish(catalog, "d1", "c1", content(1, "alpha"))
    with catalog.snapshot() as snapshot:
        assert snapshot.position("default") > first


def test_a_failure_is_remembered_and_forgotten(catalog: Catalog) -> None:
    catalog.record_failure(library="default", doc_id="d1", path="/d1.pdf", size=1, mtime=1.0, error="damaged")
    with catalog.snapshot() as snapshot:
        assert [(d.error, d.published) for d in snapshot.documents("default")] == [("damaged", False)]
        assert snapshot.published("default") == {}
    publish(catalog, "d1", "c1", content(1, "alpha"))
    with catalog.snapshot() as snapshot:
        assert [(d.error, d.published) for d in snapshot.documents("default")] == [("", True)]


def test_two_catalogs_write_at_the_same_time(catalog: Catalog, tmp_path: Path) -> None:
    other = Catalog(tmp_path / "catalog.sqlite")

    def write(target: Catalog, name: str) -> None:
        for number in range(20):
            publish(target, f"{name}{number}", f"{name}c{number}", content(2, f"{name}{number}"))

    threads = [threading.Thread(target=write, args=(c, n)) for c, n in ((catalog, "a"), (other, "b"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with catalog.snapshot() as snapshot:
        assert len(snapshot.published("default")) == 40
        assert [c.seq for c in snapshot.changes("default", 0)] == list(range(1, 41))
    other.close()


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    Catalog(path).close()
    with sqlite3.connect(path) as direct:
        direct.execute("UPDATE meta SET value = '99' WHERE key = 'schema'")
    before = path.read_bytes()
    with pytest.raises(SchemaError, match=r"newer version \(schema 99.*Upgrade"):
        Catalog(path)
    assert path.read_bytes() == before


def columns(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """(name, type, NOT NULL, default, part of the key) of the columns of each table."""
    with sqlite3.connect(path) as direct:
        tables = [row[0] for row in direct.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {t: sorted(row[1:] for row in direct.execute(f"PRAGMA table_info({t})")) for t in sorted(tables)}


def version_1(path: Path) -> None:
    """A catalog with an embedded document as version 1 wrote it."""
    made = Catalog(path)
    made.ensure_library("default")
    publish(made, "d1", "c1", content(2, "alpha"))
    target = Embeddings(made, "default", StoredEmbedder("f1", "hashed:2", 2))
    target.begin()
    target.put({"k": np.array([0.5, -1], np.float32)})
    target.complete("c1", 1)
    made.close()
    downgrade(path, 1)


def downgrade(path: Path, version: int) -> None:
    """Take away what the versions after ``version`` added."""
    steps = [statements for before, statements in schema._UPGRADES.items() if before >= version]
    with sqlite3.connect(path) as direct:
        for statement in itertools.chain.from_iterable(steps):
            table, column = re.findall(r"ALTER TABLE (\w+) ADD COLUMN (\w+)", statement)[0]
            direct.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        direct.execute("UPDATE meta SET value = ? WHERE key = 'schema'", (str(version),))


def test_a_catalog_of_version_1_keeps_everything_and_takes_weights(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    version_1(path)
    opened = [Catalog(path), Catalog(path)]
    with opened[1].snapshot() as snapshot:
        assert snapshot.published("default") == {"d1": "c1"} and len(snapshot.pages("c1")) == 2
        assert snapshot.embedder("default") == (StoredEmbedder("f1", "hashed:2", 2, sparse=False), None)
        assert snapshot.embedded("f1") == {"c1": 1}
        assert snapshot.vectors("f1", ["k"])["k"].tolist() == [0.5, -1] and snapshot.weights("f1", ["k"]) == {}
    both = Embeddings(opened[0], "default", StoredEmbedder("f2", "hashed-m3:2", 2, sparse=True))
    both.begin()
    both.put({"k": np.array([1, 0], np.float32)}, {"k": {7: 0.5}})
    with opened[1].snapshot() as snapshot:
        assert snapshot.embedder("default")[1] == both.embedder
        assert [held.tolist() for held in snapshot.weights("f2", ["k"])["k"]] == [[7], [0.5]]
    for catalog in opened:
        catalog.close()
    Catalog(tmp_path / "new.sqlite").close()
    assert columns(path) == columns(tmp_path / "new.sqlite")


def test_a_catalog_of_version_3_takes_what_models_say(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    made = Catalog(path)
    made.ensure_library("default")
    publish(made, "d1", "c1", content(2, "alpha"))
    made.close()
    downgrade(path, 3)
    opened = Catalog(path)
    said = replace(
        content(1, "beta"),
        pages=(replace(content(1, "beta").pages[0], described="a chart\nof tides", ocr=True),),
        sections=(Section("0001", None, 1, "beta", 1, 1, gaps=("Annex 1", "the table below")),),
        models={"vlm": "eyes", "steps": {"pages": {"done": 1}}},
    )
    publish(opened, "d2", "c2", said)
    with opened.snapshot() as snapshot:
        assert snapshot.content("c1") == content(2, "alpha") and snapshot.content("c2") == said
        assert snapshot.content("c3") is None
        assert [document.models for document in snapshot.documents("default")] == [{}, said.models]
    opened.close()
    Catalog(tmp_path / "new.sqlite").close()
    assert columns(path) == columns(tmp_path / "new.sqlite")


def test_two_processes_bring_a_catalog_up_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    version_1(path)
    opened: list[Catalog] = []
    threads = [threading.Thread(target=lambda: opened.append(Catalog(path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 8
    for catalog in opened:
        catalog.close()


def test_term_weights_are_read_back_in_half_precision(catalog: Catalog) -> None:
    target = Embeddings(catalog, "default", StoredEmbedder("f", "m", 1, sparse=True))
    target.begin()
    vector, weights = np.ones(1, np.float32), {250_001: 0.1, 2**32 - 1: 3.25, 9: 1e-9}
    target.put({"some": vector, "none": vector}, {"some": weights, "none": {}})
    with catalog.snapshot() as snapshot:
        held = snapshot.weights("f", ["some", "none", "missing"])
    assert held.keys() == {"some", "none"} and held["none"][0].shape == held["none"][1].shape == (0,)
    indices, values = held["some"]
    assert indices.dtype == np.uint32 and indices.tolist() == [250_001, 2**32 - 1], "1e-9 is nothing in half precision"
    assert values.dtype == np.float32 and values == pytest.approx([0.1, 3.25], rel=1e-3)
    with pytest.raises(ModelError, match="weighted a term beyond half precision"):
        target.put({"x": vector}, {"x": {1: 1e6}})


def test_a_file_that_is_no_catalog_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    path.write_bytes(b"something else entirely, and long enough to be looked at" * 50)
    with pytest.raises(StoreError, match=r"not a catalog"):
        Catalog(path)


def test_a_home_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match=r"cannot be written.*--home"):
        Catalog(tmp_path / "file" / "home" / "catalog.sqlite")


def test_the_cache_keeps_what_is_still_read(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1_000_000.0]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    for name in ("read", "unread"):
        catalog.put_cache(name, b"x" * 100, limit=250)
        clock[0] += 3600
    assert catalog.cached("read") is not None
    catalog.put_cache("new", b"x" * 100, limit=250)
    assert [catalog.cached(name) is not None for name in ("read", "unread", "new")] == [True, False, True]


def test_the_cache_drops_the_oldest_when_it_is_full(catalog: Catalog) -> None:
    for number in range(4):
        catalog.put_cache(f"image/{number}", b"x" * 100, limit=250)
    assert [catalog.cached(f"image/{n}") is not None for n in range(4)] == [False, False, True, True]
    catalog.clear_cache()
    assert catalog.cached("image/3") is None


@pytest.mark.parametrize("column", ["boxes", "text"])
def test_a_catalog_with_damaged_bytes_says_so(catalog: Catalog, column: str) -> None:
    publish(catalog, "a", "one", content(3, "reeds"))
    with catalog.writing() as connection:
        connection.exec_driver_sql(
            f"UPDATE pages SET {column} = CAST(x'ff00ff' AS {'BLOB' if column == 'boxes' else 'TEXT'})"
        )
    with pytest.raises(StoreError, match="damaged") as raised, catalog.snapshot() as snapshot:
        list(snapshot.pages("one"))
    assert "index again" in raised.value.advice


def test_a_full_disk_is_told_from_missing_rights(tmp_path: Path) -> None:
    assert "Free some space" in advice_of("database or disk is full", tmp_path, "")
    assert "Free some space" in advice_of("No space left on device", tmp_path, "")
    assert advice_of("unable to open database file", tmp_path, "otherwise") == "otherwise"
