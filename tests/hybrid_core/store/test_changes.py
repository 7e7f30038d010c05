"""The change log: numbers rise in the order of commits, so that who has read up to one has missed none before it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.documents import Changed, log_changes
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.types.documents import Change
from tests.hybrid_core.store.old_catalogs import older
from tests.hybrid_core.store.test_catalog import ALPHA, BETA, content, publish
from tests.postgres import PostgresStore


@pytest.fixture
def database(postgres_url: str) -> Iterator[PostgresStore]:
    made = PostgresStore(postgres_url)
    yield made
    made.close()


def test_a_sequence_skips_what_is_committed_later(database: PostgresStore) -> None:
    """Why the log is numbered by a counter."""
    with database.writing() as connection:
        connection.execute(text("CREATE TABLE log (seq BIGSERIAL PRIMARY KEY, said TEXT)"))
    first, second = database.engine.connect(), database.engine.connect()
    first.execute(text("INSERT INTO log (said) VALUES ('first')"))
    second.execute(text("INSERT INTO log (said) VALUES ('second')"))
    second.commit()
    newest = "SELECT said, seq FROM log WHERE seq > :after ORDER BY seq"
    with database.reading() as connection:
        read = connection.execute(text(newest), {"after": 0}).all()
    first.commit()
    with database.reading() as connection:
        read += connection.execute(text(newest), {"after": read[-1].seq}).all()
    assert [row.said for row in read] == ["second"], "the first one is never read"
    first.close()
    second.close()


def test_the_counter_lets_nobody_publish_in_between(database: PostgresStore) -> None:
    first, begun, ended = database.engine.connect(), threading.Event(), threading.Event()

    def publish_second() -> None:
        with database.writing() as connection:
            begun.set()
            log_changes(connection, [Changed("default", "second", "c2")])
        ended.set()

    log_changes(first, [Changed("default", "first", "c1")])
    other = threading.Thread(target=publish_second)
    other.start()
    assert begun.wait(600) and not ended.wait(0.5)
    with database.writing() as connection:  # another library is not kept waiting
        log_changes(connection, [Changed("another", "d", None)])
    assert read(database, 0) == []
    first.commit()
    other.join(600)
    assert read(database, 0) == [Change(1, "first", "c1"), Change(2, "second", "c2")]
    assert read(database, 1) == [Change(2, "second", "c2")]
    first.execute(text("SELECT 1"))
    log_changes(first, [Changed("default", "third", None)])
    first.rollback()
    with database.writing() as connection:
        log_changes(connection, [Changed("default", "fourth", None), Changed("default", "fifth", None)])
    assert [change.seq for change in read(database, 2)] == [3, 4], "what is rolled back leaves no gap"
    first.close()


def read(database: PostgresStore, after: int) -> list[Change]:
    with database.reading() as connection:
        snapshot = Snapshot(connection)
        changes = snapshot.changes("default", after)
        assert snapshot.position("default") == max([after, *(change.seq for change in changes)])
        assert all(change.mark for change in changes)
        return [replace(change, mark=0) for change in changes]


def test_many_readers_miss_nothing_that_many_writers_publish(database: PostgresStore) -> None:
    over = threading.Event()
    read_by: list[list[int]] = [[], []]

    def write(name: int) -> None:
        for number in range(25):
            with database.writing() as connection:
                log_changes(connection, [Changed("default", f"{name}-{number}", None)])

    def follow(seen: list[int]) -> None:
        while not over.is_set() or read(database, seen[-1] if seen else 0):
            seen.extend(change.seq for change in read(database, seen[-1] if seen else 0))

    readers = [threading.Thread(target=follow, args=(seen,)) for seen in read_by]
    writers = [threading.Thread(target=write, args=(name,)) for name in range(4)]
    for thread in readers + writers:
        thread.start()
    for thread in writers:
        thread.join()
    over.set()
    for thread in readers:
        thread.join()
    assert read_by == [list(range(1, 101))] * 2


def test_an_older_home_keeps_its_log_and_goes_on_from_it(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    made = Catalog(path)
    made.ensure_library("default")
    made.ensure_library("other")
    publish(made, "d1", ALPHA, content(1, "alpha"))
    publish(made, "d2", BETA, content(1, "beta"), "other")
    publish(made, "d3", ALPHA, content(1, "alpha"))
    made.remove(["d1"])
    made.close()
    older(path, 4)
    with sqlite3.connect(path) as direct:
        direct.execute("DELETE FROM changes")
        log = [("default", "d1", "x"), ("other", "d2", "y"), ("default", "d3", "x"), ("default", "d1", None)]
        direct.executemany("INSERT INTO changes (library, doc_id, content_id) VALUES (?, ?, ?)", log)
    direct.close()
    catalog = Catalog(path)
    with catalog.snapshot() as snapshot:
        before = [snapshot.position("default"), snapshot.position("other")]
        assert [(change.doc_id, change.content_id) for change in snapshot.changes("default", 0)] == [
            ("d1", "x"), ("d3", "x"), ("d1", None),
        ]  # fmt: skip
    publish(catalog, "d4", replace(ALPHA, sha256="gamma"), content(1, "gamma"))
    with catalog.snapshot() as snapshot:
        assert [snapshot.position("default"), snapshot.position("other")] == [before[0] + 1, before[1]]
    catalog.close()


def raised(connection: Connection) -> None:
    log_changes(connection, [Changed("default", "d1", "c")])
    raise ZeroDivisionError


def test_what_was_not_committed_gives_its_number_back(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "catalog.sqlite")
    catalog.ensure_library("default")
    with pytest.raises(ZeroDivisionError), catalog.writing() as connection:
        raised(connection)
    publish(catalog, "d1", ALPHA, content(1, "alpha"))
    with catalog.snapshot() as snapshot:
        assert [change.seq for change in snapshot.changes("default", 0)] == [1]
    catalog.close()
