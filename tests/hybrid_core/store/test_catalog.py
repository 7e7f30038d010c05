"""The catalog: snapshots, atomic publishing, shared content, versions, refusals."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Connection, delete, func, select

from hybrid_core.errors import Advice, LeaseLostError, ModelError, NotFoundError, SchemaError, StoreError
from hybrid_core.store.catalog import schema
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.documents import Publication, remove_documents
from hybrid_core.store.catalog.embeddings import Embeddings
from hybrid_core.store.home import advice_of
from hybrid_core.text.terms import TermCounts
from hybrid_core.types.documents import Card, Chunk, IndexedContent, Page, Section, StoredEmbedder
from hybrid_core.types.files import ContentVersion, FileStamp
from hybrid_core.types.jobs import Fence, JobUpdate


def content(pages: int, word: str) -> IndexedContent:
    counts = TermCounts.build([{number: 1} for number in range(pages)], [1] * pages).to_bytes()
    return IndexedContent(
        sha256=word, format="pdf", metadata={"title": word}, title=word, description=word,
        pages=tuple(Page(n, "", 600, 800, f"{word} {n}", f"summary {n}", ((0, 0, 9, 9),)) for n in range(1, pages + 1)),
        sections=(Section("0001", None, 1, word, 1, pages),),
        chunks=tuple(Chunk(n, "0001", n, 0, 5) for n in range(1, pages + 1)),
        terms=counts, heading_terms=counts,
    )  # fmt: skip


ALPHA, BETA = (ContentVersion(word, "pdf", "pdf-1", "chunks-1", "tree-1") for word in ("alpha", "beta"))
C1, C2 = ALPHA.new_id(), BETA.new_id()


def publish(
    catalog: Catalog,
    doc_id: str,
    version: ContentVersion,
    made: IndexedContent | None,
    library: str = "default",
    fence: Fence | None = None,
    advance: JobUpdate | None = None,
) -> None:
    catalog.publish(
        Publication(
            library=library,
            doc_id=doc_id,
            path=f"/{doc_id}.pdf",
            version=version,
            content=made,
            card=Card(title="t"),
            stamp=FileStamp(1, 1.0, 1.0, "1", 9.0),
        ),
        fence=fence,
        advance=advance,
    )


def rows(catalog: Catalog) -> dict[str, int]:
    with catalog.reading() as connection:
        tables = (schema.contents, schema.pages, schema.trees, schema.chunks, schema.terms)
        return {table.name: connection.scalar(select(func.count()).select_from(table)) or 0 for table in tables}


def test_what_was_published_is_read_back(catalog: Catalog) -> None:
    made = content(3, "alpha")
    publish(catalog, "d1", ALPHA, made)
    with catalog.snapshot() as snapshot:
        document = snapshot.documents("default")[0]
        assert (document.doc_id, document.content_id, document.pages, document.card) == ("d1", C1, 3, Card(title="t"))
        assert tuple(snapshot.pages(C1)) == made.pages
        assert snapshot.sections(C1) == made.sections
        assert tuple(snapshot.chunks(C1)) == made.chunks
        assert [c.page for c in snapshot.chunks(C1, [2])] == [2]
        assert snapshot.expected_pages("default") == 3


def test_a_snapshot_does_not_see_what_is_published_meanwhile(catalog: Catalog) -> None:
    publish(catalog, "d1", ALPHA, content(1, "alpha"))
    with catalog.snapshot() as before:
        position = before.position("default")
        publish(catalog, "d1", BETA, content(2, "beta"))
        assert before.published("default") == {"d1": C1}
        assert before.position("default") == position
        assert [page.text for page in before.pages(C1)] == ["alpha 1"], "old pages stay readable"
    with catalog.snapshot() as after:
        assert after.published("default") == {"d1": C2}
        assert [(c.doc_id, c.content_id) for c in after.changes("default", position)] == [("d1", C2)]


def test_replaced_and_removed_content_leaves_no_rows(catalog: Catalog) -> None:
    publish(catalog, "d1", ALPHA, content(3, "alpha"))
    publish(catalog, "d1", BETA, content(2, "beta"))
    assert rows(catalog) == {"contents": 1, "pages": 2, "trees": 1, "chunks": 2, "terms": 1}
    catalog.remove(["d1", "unknown"])
    assert set(rows(catalog).values()) == {0}


def test_shared_content_stays_until_its_last_document_goes(catalog: Catalog) -> None:
    publish(catalog, "d1", ALPHA, content(2, "alpha"))
    publish(catalog, "d2", ALPHA, None)
    catalog.remove(["d1"])
    assert rows(catalog)["pages"] == 2
    catalog.remove(["d2"])
    assert rows(catalog)["pages"] == 0
    with pytest.raises(NotFoundError, match=r"another process has just removed a document"):
        publish(catalog, "d3", ALPHA, None)


def test_a_publication_that_fails_changes_nothing(catalog: Catalog) -> None:
    publish(catalog, "d1", ALPHA, content(2, "alpha"))
    broken = content(2, "beta")
    twice = IndexedContent(
        **{f: getattr(broken, f) for f in broken.__slots__} | {"pages": broken.pages + broken.pages[:1]}
    )
    with pytest.raises(Exception, match=r"(?i)unique"):
        publish(catalog, "d1", BETA, twice)
    with catalog.snapshot() as snapshot:
        assert snapshot.published("default") == {"d1": C1}
        assert snapshot.versions("beta") == [] and snapshot.version(C2) is None
        assert snapshot.position("default") == 1


def test_positions_are_never_used_twice(catalog: Catalog) -> None:
    publish(catalog, "d1", ALPHA, content(1, "alpha"))
    with catalog.snapshot() as snapshot:
        first = snapshot.position("default")
    catalog.remove_library("default")
    with catalog.writing() as connection:
        connection.execute(delete(schema.changes))
    catalog.ensure_library("default")
    publish(catalog, "d1", ALPHA, content(1, "alpha"))
    with catalog.snapshot() as snapshot:
        assert snapshot.position("default") > first


def test_a_failure_is_remembered_and_forgotten(catalog: Catalog) -> None:
    catalog.record_failure(library="default", doc_id="d1", path="/d1.pdf", size=1, error="damaged")
    with catalog.snapshot() as snapshot:
        assert [(d.error, d.published) for d in snapshot.documents("default")] == [("damaged", False)]
        assert snapshot.published("default") == {}
    publish(catalog, "d1", ALPHA, content(1, "alpha"))
    with catalog.snapshot() as snapshot:
        assert [(d.error, d.published) for d in snapshot.documents("default")] == [("", True)]


def test_two_catalogs_write_at_the_same_time(catalog: Catalog) -> None:
    other = Catalog(catalog.path, catalog.url)

    def write(target: Catalog, name: str) -> None:
        for number in range(20):
            publish(target, f"{name}{number}", replace(ALPHA, sha256=f"{name}{number}"), content(2, f"{name}{number}"))

    threads = [threading.Thread(target=write, args=(c, n)) for c, n in ((catalog, "a"), (other, "b"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with catalog.snapshot() as snapshot:
        assert len(snapshot.published("default")) == 40
        assert [c.seq for c in snapshot.changes("default", 0)] == list(range(1, 41))
    other.close()


@contextmanager
def publishing(catalog: Catalog, *documents: tuple[str, ContentVersion, IndexedContent]) -> Iterator[Connection]:
    """Publications that wait for their turn while this writes, and are done after."""
    with ThreadPoolExecutor(len(documents)) as pool:
        with catalog.writing() as connection:
            waiting = [pool.submit(publish, catalog, *one) for one in documents]
            time.sleep(0.3)
            assert not any(one.done() for one in waiting)
            yield connection
        for one in waiting:
            one.result(60)


def test_what_is_written_before_its_turn_is_there_once(catalog: Catalog) -> None:
    same, other = content(3, "alpha"), content(2, "beta")
    with publishing(catalog, ("a", ALPHA, same), ("b", ALPHA, same), ("c", BETA, other), ("d", ALPHA, same)):
        pass
    with catalog.snapshot() as snapshot:
        assert snapshot.published("default") == {"a": C1, "b": C1, "c": C2, "d": C1}
        assert snapshot.content(C1) == same and snapshot.content(C2) == other
    assert rows(catalog) == {"contents": 2, "pages": 5, "trees": 2, "chunks": 5, "terms": 2}


def test_a_content_that_is_removed_before_a_publication_of_it_has_its_turn_is_written_again(catalog: Catalog) -> None:
    publish(catalog, "a", ALPHA, content(3, "alpha"))
    with publishing(catalog, ("b", ALPHA, content(3, "alpha"))) as connection:
        remove_documents(connection, ["a"])
    with catalog.snapshot() as snapshot:
        assert snapshot.published("default") == {"b": C1} and snapshot.content(C1) == content(3, "alpha")
    assert rows(catalog) == {"contents": 1, "pages": 3, "trees": 1, "chunks": 3, "terms": 1}


def test_a_publication_whose_job_was_taken_away_leaves_nothing(catalog: Catalog) -> None:
    with pytest.raises(LeaseLostError):
        publish(catalog, "a", ALPHA, content(3, "alpha"), fence=Fence(7, "gone", 1))
    assert not any(rows(catalog).values())


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    Catalog(path).close()
    with sqlite3.connect(path) as direct:
        direct.execute("UPDATE meta SET value = '99' WHERE key = 'schema'")
        direct.execute("UPDATE meta SET value = '99.1' WHERE key = 'program'")
    before = path.read_bytes()
    with pytest.raises(SchemaError, match=r"\(schema version 99.*Upgrade hybrid-pageindex to 99.1"):
        Catalog(path)
    assert path.read_bytes() == before


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
    with pytest.raises(ModelError, match="a term weight that is too large to store"):
        target.put({"x": vector}, {"x": {1: 1e6}})


def test_a_file_that_is_no_catalog_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    path.write_bytes(b"something else entirely, and long enough to be looked at" * 50)
    with pytest.raises(StoreError, match=r"this file is not a catalog"):
        Catalog(path)


def test_a_home_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match=r"cannot be written.*PAGEINDEX_STORAGE_PATH"):
        Catalog(tmp_path / "file" / "home" / "catalog.sqlite")


@pytest.mark.parametrize("catalog", ["sqlite"], indirect=True)
@pytest.mark.parametrize("column", ["boxes", "text"])
def test_a_catalog_with_damaged_bytes_says_so(catalog: Catalog, column: str) -> None:
    publish(catalog, "a", ALPHA, content(3, "alpha"))
    with catalog.writing() as connection:
        connection.exec_driver_sql(
            f"UPDATE pages SET {column} = CAST(x'ff00ff' AS {'BLOB' if column == 'boxes' else 'TEXT'})"
        )
    with pytest.raises(StoreError, match="damaged") as raised, catalog.snapshot() as snapshot:
        list(snapshot.pages(C1))
    advice = raised.value.advice
    assert "hybrid-pageindex" not in advice and "backup" in advice and "Notes" in advice
    assert isinstance(advice, Advice) and advice.command.startswith("Run 'hybrid-pageindex recover'")
    assert "index again" not in advice, "who follows that loses what is in the catalog alone"


def test_a_full_disk_is_told_from_missing_rights(tmp_path: Path) -> None:
    assert "Free some space" in advice_of("database or disk is full", tmp_path, "")
    assert "Free some space" in advice_of("No space left on device", tmp_path, "")
    assert advice_of("unable to open database file", tmp_path, "otherwise") == "otherwise"
