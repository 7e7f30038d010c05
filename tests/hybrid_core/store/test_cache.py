"""The cache: bounded, a file of its own, which may be deleted."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_core.errors import DiskFullError, SchemaError
from hybrid_core.store.cache import Cache
from hybrid_pageindex import Engine, run


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    made = Cache(tmp_path / "cache.sqlite", 250)
    yield made
    made.close()


def test_what_is_still_read_stays(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1_000_000.0]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    for name in ("read", "unread"):
        cache.put({name: b"x" * 100})
        clock[0] += 3600
    assert cache.get("read") is not None
    cache.put({"new": b"x" * 100})
    assert [cache.get(name) is not None for name in ("read", "unread", "new")] == [True, False, True]


def test_the_oldest_go_when_it_is_full(cache: Cache) -> None:
    for number in range(4):
        cache.put({f"image/{number}": b"x" * 100})
    assert [cache.get(f"image/{n}") is not None for n in range(4)] == [False, False, True, True]
    cache.put({"reply/1": b"x"})
    cache.clear("image/")
    assert cache.get("image/3") is None and cache.get("reply/1") == b"x"
    cache.clear()
    assert cache.get("reply/1") is None


def test_it_is_opened_with_the_first_use(cache: Cache) -> None:
    cache.clear("image/")
    assert cache.check() == "empty" and not cache.path.exists()
    cache.put({"a": b"1"})
    assert cache.check().startswith("1 entries, 0.0 MB") and cache.path.stat().st_mode & 0o777 == 0o600


def test_what_a_full_disk_keeps_from_it_is_told_once(
    cache: Cache, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(_: object) -> None:
        raise DiskFullError("cache.sqlite: cannot be written.", "Free some space.")

    monkeypatch.setattr(cache, "put", refused)
    for name in ("a", "b"):
        cache.offer({name: b"x"})
    assert [record.message for record in caplog.records] == [
        "the cache cannot store page images and OCR texts: cache.sqlite: cannot be written. Free some space."
    ]


def test_newer_versions_are_told(cache: Cache) -> None:
    cache.put({"a": b"1"})
    cache.close()
    with sqlite3.connect(cache.path) as direct:
        direct.execute("PRAGMA user_version = 99")
    direct.close()
    with pytest.raises(SchemaError, match="newer version"):
        cache.get("a")


@pytest.mark.parametrize("beginning", [0, 4096])
def test_a_damaged_file_is_replaced_by_an_empty_one(
    beginning: int, cache: Cache, caplog: pytest.LogCaptureFixture
) -> None:
    cache.put({f"reply/{number}": bytes(1000) for number in range(100)})
    cache.close()
    whole = cache.path.read_bytes()

    def count() -> None:
        assert "was damaged" in cache.check()

    uses = (
        lambda: cache.get("reply/1"), lambda: cache.put({"b": b"2"}), lambda: cache.offer({"b": b"2"}), cache.clear,
        lambda: cache.forget_files({"abc"}), count,
    )  # fmt: skip
    for use in uses:
        cache.close()
        cache.path.write_bytes(whole[:beginning] + b"\xff" * (len(whole) - beginning))
        use()
        cache.put({"a": b"1"})
        assert cache.get("a") == b"1" and cache.get("reply/1") is None
    assert "the engine fills it again" in caplog.text


def test_a_publication_under_way_keeps_nobody_from_the_cache(tmp_path: Path) -> None:
    with Engine(tmp_path / "home")._catalog().writing():
        cache = Cache(tmp_path / "home" / "cache.sqlite", 10**6)
        cache.put({"a": b"1"})
        assert cache.get("a") == b"1"
        cache.close()


def test_deleting_the_file_of_a_home_is_harmless(tmp_path: Path, filings: list[Path]) -> None:
    home = tmp_path / "home"
    engine = Engine(home)
    run(engine.index(filings[:1], workers=1))
    name = filings[0].name
    first = run(engine.pictures.page(name, 1))
    engine.close()
    (home / "cache.sqlite").unlink()
    again = Engine(home)
    assert run(again.search("net sales")).results and run(again.pictures.page(name, 1)) == first
    assert "cache" in {check.name for check in run(again.admin.doctor()).checks if check.ok}
    run(again.libraries.clear())
    assert again._cache().check().startswith("0 entries")
    again.close()
