"""A catalog is copied into another database: whole, or not opened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from hybrid_core.errors import StoreError, UsageError
from hybrid_core.store.catalog import maintenance, schema
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.maintenance import copy_catalog
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.types.jobs import JobRequest
from tests.hybrid_core.store.test_catalog import ALPHA, BETA, C1, content, publish
from tests.postgres import new_database


@pytest.fixture
def other(catalog: Catalog, tmp_path: Path, postgres_url: str) -> Iterator[Catalog]:
    """An empty catalog in the other database."""
    url = "" if catalog.url else new_database(postgres_url)
    made = Catalog(tmp_path / "other" / "catalog.sqlite", url, copying=True)
    yield made
    made.close()


def filled(catalog: Catalog) -> Catalog:
    publish(catalog, "d1", ALPHA, content(3, "alpha \ufffd Ωß"))
    publish(catalog, "d2", BETA, content(2, "beta"))
    JobQueue(catalog).enqueue([JobRequest("default", "index", f"/{n}", "parse") for n in range(3)])
    return catalog


def test_a_copy_is_the_same_catalog(catalog: Catalog, other: Catalog) -> None:
    copied: dict[str, int] = {}
    assert copy_catalog(filled(catalog), other, copied.__setitem__) == sum(copied.values())
    assert copied["documents"] == 2 and copied["pages"] == 5 and copied["jobs"] == 3
    with catalog.snapshot() as before, other.snapshot() as after:
        assert after.catalog_id() == before.catalog_id()
        assert after.documents("default") == before.documents("default")
        assert after.content(C1) == before.content(C1)
        assert after.changes("default", 0) == before.changes("default", 0)
    publish(other, "d3", ALPHA, None)
    [job] = JobQueue(other).enqueue([JobRequest("default", "index", "/9", "parse")])
    assert job.job == 4, "the next id is one that no job has"
    Catalog(other.path, other.url).close()


def test_a_copy_that_was_stopped_goes_on_and_is_not_opened_before(
    catalog: Catalog, other: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(catalog)

    def stop(table: str, _: int) -> None:
        if table == "contents":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_catalog(catalog, other, stop)
    with pytest.raises(StoreError, match="copy of this catalog was interrupted"):
        Catalog(other.path, other.url)
    written: list[str] = []
    monkeypatch.setattr(maintenance, "insert", lambda table: written.append(table.name) or schema.insert(table))
    copy_catalog(catalog, other, lambda *_: None)
    assert "contents" not in written and "pages" in written
    with other.snapshot() as snapshot:
        assert len(snapshot.documents("default")) == 2


def test_what_is_written_meanwhile_is_said_and_copied_by_the_next(catalog: Catalog, other: Catalog) -> None:
    def write(table: str, _: int) -> None:
        if table == "documents":
            publish(catalog, "d9", BETA, None)

    filled(catalog)
    with pytest.raises(StoreError, match="changed while it was copied"):
        copy_catalog(catalog, other, write)
    copy_catalog(catalog, other, lambda *_: None)
    with other.snapshot() as snapshot:
        assert len(snapshot.documents("default")) == 3


def test_nothing_is_overwritten(catalog: Catalog, other: Catalog) -> None:
    other.ensure_library("mine")
    with pytest.raises(UsageError, match="already contains another catalog"):
        copy_catalog(filled(catalog), other, lambda *_: None)
    with other.reading() as connection:
        assert connection.scalar(select(schema.libraries.c.id)) == "mine"
