"""What is said where connections run out or the file is damaged, and that writers leave connections to readers."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from hybrid_core.errors import BusyError, StoreError
from hybrid_core.store import sqlite
from hybrid_core.store.catalog.catalog import Catalog


def test_without_a_free_connection_the_store_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.2)
    catalog = Catalog(tmp_path / "catalog.sqlite")
    with ExitStack() as held:
        for _ in range(sqlite.CONNECTIONS):
            held.enter_context(catalog.snapshot())
        with pytest.raises(BusyError, match=r"all 10 database connections of this process.*Try again") as caught:
            held.enter_context(catalog.snapshot())
        assert caught.value.retryable
    with catalog.snapshot() as snapshot:
        assert snapshot.libraries() == []
    catalog.close()


def test_writers_that_wait_for_another_process_leave_connections_to_readers(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "catalog.sqlite")
    other = sqlite3.connect(catalog.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    begun = threading.Barrier(sqlite.CONNECTIONS + 6)

    def write(number: int) -> None:
        begun.wait(600)
        catalog.ensure_library(f"library {number}")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(sqlite.CONNECTIONS + 5)]
    for thread in threads:
        thread.start()
    begun.wait(600)
    time.sleep(0.2)  # more can only make it harder
    with catalog.snapshot() as snapshot:
        assert snapshot.libraries() == []
    other.execute("ROLLBACK")
    other.close()
    for thread in threads:
        thread.join(600)
    with catalog.snapshot() as snapshot:
        assert len(snapshot.libraries()) == len(threads)
    catalog.close()


def test_a_damaged_file_is_a_store_error(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "catalog.sqlite")
    catalog.ensure_library("one")
    catalog.close()
    catalog = Catalog(tmp_path / "catalog.sqlite")
    with sqlite3.connect(catalog.path) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    other.close()
    with catalog.path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (catalog.path.stat().st_size - 4096))
    with pytest.raises(StoreError, match=r"damaged.*recover.*backup"):
        catalog.ensure_library("one more")
    catalog.close()
