"""Catalogs of older versions are brought up to this one, and keep what they hold."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hybrid_core.errors import StoreError
from hybrid_core.llm.budget import Charge
from hybrid_core.store.cache import Cache
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.embeddings import Embeddings, content_texts
from hybrid_core.store.catalog.libraries import all_sources
from hybrid_core.store.usage import UsageStore
from hybrid_core.types.documents import Chunk, Section, StoredEmbedder
from hybrid_core.types.files import ContentVersion
from hybrid_core.types.usage import Usage
from hybrid_pageindex import Engine, run
from tests.hybrid_core.store.old_catalogs import LATER_COLUMNS, old_id, older, unpack_trees
from tests.hybrid_core.store.test_catalog import ALPHA, BETA, C1, C2, content, publish


def version_1(path: Path) -> None:
    """A catalog with an embedded document as version 1 wrote it."""
    made = Catalog(path)
    made.ensure_library("default")
    publish(made, "d1", ALPHA, content(2, "alpha"))
    target = Embeddings(made, "default", StoredEmbedder("f1", "hashed:2", 2))
    target.begin()
    target.put({"k": np.array([0.5, -1], np.float32)})
    target.complete(C1, 1, chunks=False)
    made.close()
    older(path, 1)


def columns(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """(name, type, NOT NULL, default, part of the key) of the columns of each table."""
    with sqlite3.connect(path) as direct:
        tables = [row[0] for row in direct.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {t: sorted(row[1:] for row in direct.execute(f"PRAGMA table_info({t})")) for t in sorted(tables)}


def test_a_catalog_of_version_1_keeps_everything_and_takes_weights(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    version_1(path)
    opened = [Catalog(path), Catalog(path)]
    with opened[1].snapshot() as snapshot:
        assert snapshot.published("default") == {"d1": C1} and len(snapshot.pages(C1)) == 2
        assert snapshot.embedder("default") == (StoredEmbedder("f1", "hashed:2", 2, sparse=False), None)
        assert snapshot.embedded("f1") == frozenset()  # another text stands for a page now
        assert snapshot.vectors("f1", ["k"])["k"].tolist() == [0.5, -1] and snapshot.weights("f1", ["k"]) == {}
    [source] = all_sources(opened[1])
    assert (source.kind, source.watch, source.library) == ("file", "", "default")
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
    publish(made, "d1", ALPHA, content(2, "alpha"))
    made.close()
    older(path, 3)
    opened = Catalog(path)
    said = replace(
        content(1, "beta"),
        pages=(replace(content(1, "beta").pages[0], described="a chart\nof tides", ocr=True),),
        sections=(Section("0001", None, 1, "beta", 1, 1, gaps=("Annex 1", "the table below")),),
        models={"vlm": "eyes", "steps": {"pages": {"done": 1}}},
    )
    publish(opened, "d2", BETA, said)
    with opened.snapshot() as snapshot:
        assert snapshot.content(C1) == content(2, "alpha") and snapshot.content(C2) == said
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


def version_4(path: Path, kept: dict[str, bytes]) -> None:
    """A catalog whose cache was a table of its own."""
    Catalog(path).close()
    older(path, 4)
    with sqlite3.connect(path) as direct:
        direct.executemany("INSERT INTO cache VALUES (?, ?, 1.0)", kept.items())


def test_ids_that_told_the_version_are_read(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    made = Catalog(path)
    made.ensure_library("default")
    publish(made, "d1", ALPHA, content(1, "alpha"))
    made.close()
    rules = "alpha|pdf-1+tree-1+chunks-1+summaries-1+cards-3+titles-1+flags-1+snowball-en+bigrams-1"
    known = hashlib.sha256(rules.encode()).hexdigest()[:24]
    more = {"": {}, "-0cr": {"ocr": "0cr"}, "-0cr-12": {"ocr": "0cr", "ocr_pages": "12"}}
    models = {"": {}, "-m0a.0": {"llm": "0a"}, "-m0.0b.9f": {"vlm": "0b", "models_partly": "9f"}}
    expected = {known + a + b: said | told for a, said in more.items() for b, told in models.items()}
    older(path, 4, {C1: known})
    with sqlite3.connect(path) as direct:
        columns = "sha256, format, pages, sections, title, description, metadata, warnings, models"
        for one in (*expected, "another-0cr"):
            direct.execute(
                f"INSERT OR IGNORE INTO contents (content_id, {columns}) SELECT ?, {columns} FROM contents LIMIT 1",
                (one,),
            )
    direct.close()
    catalog = Catalog(path)
    build = "tree-1+summaries-1+cards-3+titles-1+flags-1+snowball-en+bigrams-1"
    with catalog.snapshot() as snapshot:
        assert snapshot.published("default") == {"d1": known} and len(snapshot.pages(known)) == 1
        found = {one.content_id: one.version for one in snapshot.versions("alpha")}
    earlier = found.pop("another-0cr")
    assert found == {
        one: ContentVersion("alpha", "pdf", "pdf-1", "chunks-1", build, **said) for one, said in expected.items()
    }
    assert earlier.ocr == "0cr" and not any(earlier.made_as(version) for version in found.values())
    publish(catalog, "d2", found[known], None)
    with catalog.snapshot() as snapshot:
        assert snapshot.published("default") == {"d1": known, "d2": known}
    catalog.close()


def test_a_home_of_an_older_version_serves_until_it_is_indexed_again(tmp_path: Path, filings: list[Path]) -> None:
    home = tmp_path / "home"
    engine = Engine(home)
    run(engine.index(filings, workers=2))
    before = [(r.doc_id, r.page, r.score) for r in run(engine.search("net sales")).results]
    known = {document.doc_id for document in run(engine.documents.list())}
    with engine._catalog().snapshot() as snapshot:
        old = {one.content_id: old_id(one.version) for one in snapshot.published_versions("default").values()}
    engine.close()
    older(home / "catalog.sqlite", 4, old)
    shutil.rmtree(home / "libraries")
    again = Engine(home)
    assert {document.content_id for document in run(again.documents.list())} == set(old.values())
    assert [(r.doc_id, r.page, r.score) for r in run(again.search("net sales")).results] == before
    assert {file.status for file in run(again.index(filings, workers=1)).files} == {"indexed"}  # its trees were others
    assert {document.doc_id for document in run(again.documents.list())} == known
    assert [(r.doc_id, r.page, r.score) for r in run(again.search("net sales")).results] == before
    again.close()


def test_what_was_paid_for_moves_into_a_file_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    version_4(path, {f"reply/{n}": bytes([n]) * 1_000_000 for n in range(40)})
    Catalog(path).close()
    cache = Cache(tmp_path / "cache.sqlite", 10**9)
    assert [cache.get(f"reply/{n}") for n in range(40)] == [bytes([n]) * 1_000_000 for n in range(40)]
    cache.close()
    Catalog(tmp_path / "new.sqlite").close()
    assert columns(path) == columns(tmp_path / "new.sqlite")


def test_either_database_is_brought_up_from_the_first_version_that_both_had(catalog: Catalog) -> None:
    with catalog.writing() as connection:
        connection.exec_driver_sql("DROP TABLE model_usage")
        connection.exec_driver_sql("DROP TABLE trees")
        connection.exec_driver_sql("DROP TABLE job_turns")
        connection.exec_driver_sql("DROP INDEX jobs_by_group")
        connection.exec_driver_sql("CREATE TABLE sections (content_id VARCHAR, position INTEGER)")
        for table, column in LATER_COLUMNS:
            connection.exec_driver_sql(f"ALTER TABLE {table} DROP COLUMN {column}")
        connection.exec_driver_sql("UPDATE meta SET value = '20' WHERE key = 'schema'")
    catalog.close()
    with closing(Catalog(catalog.path, catalog.url)) as opened:
        store = UsageStore(opened)
        for _ in range(2):
            store.add("2026-01-31", "m", Charge("l", "anna"), Usage(1, 0, 10, 5, 0.5, 2.0), priced=True)
        store.add("2026-02-01", "m", Charge(), Usage(1, 0, 1, 1), priced=False)
        assert store.spent("2026-02-01") == (0.0, 2) and store.spent("2026-01-01") == (1.0, 2)
        [one] = store.days("2026-01-01", "2026-01-31")
        assert (one.calls, one.input_tokens, one.who, one.seconds) == (2, 20, "anna", 4.0)


def test_a_cache_that_cannot_be_written_leaves_the_catalog_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    version_4(path, {"reply/1": b"paid"})
    (tmp_path / "cache.sqlite").mkdir()
    with pytest.raises(StoreError, match=r"cache\.sqlite: cannot be opened"):
        Catalog(path)
    (tmp_path / "cache.sqlite").rmdir()
    Catalog(path).close()
    cache = Cache(tmp_path / "cache.sqlite", 10**9)
    assert cache.get("reply/1") == b"paid"
    cache.close()


def test_vectors_of_chunks_serve_whatever_becomes_of_their_sections_summaries(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    made = Catalog(path)
    made.ensure_library("default")
    sections = (Section("0001", None, 1, "Long", 1, 2, summary="Of both pages."),)
    chunks = (Chunk(1, "0001", 1, 0, 4), Chunk(2, "0001", 2, 0, 6))
    publish(made, "d1", ALPHA, replace(content(2, "alpha"), sections=sections, chunks=chunks))
    target = Embeddings(made, "default", StoredEmbedder("f1", "hashed:2", 2))
    target.begin()
    with made.snapshot() as snapshot:
        texts = content_texts(snapshot, C1, chunks=True)
    target.put({replace(text, known_by="").key: np.array([0.5, -text.chunk], np.float32) for text in texts})
    target.complete(C1, len(texts), chunks=True)
    made.close()
    with sqlite3.connect(path) as direct:
        unpack_trees(direct)
        for table, column in LATER_COLUMNS:
            direct.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        direct.execute("DROP TABLE job_turns")
        direct.execute("DROP INDEX jobs_by_group")
        direct.execute("UPDATE meta SET value = '13' WHERE key = 'schema'")
        for index in ("pages_unread", "contents_by_version"):  # what came after
            direct.execute(f"DROP INDEX {index}")
        for table, column in (
            ("pages", "pictures"),
            ("pages", "engine"),
            ("pages", "sure"),
            ("contents", "outline"),
            ("documents", "corrections"),
            ("embedded", "chunks"),
        ):
            direct.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        direct.execute("CREATE INDEX contents_by_version ON contents (sha256)")
    direct.close()
    with closing(Catalog(path)) as opened, opened.snapshot() as snapshot:
        held = snapshot.vectors("f1", [text.key for text in texts])
        assert [held[text.key].tolist() for text in texts] == [[0.5, -text.chunk] for text in texts]
