"""What a catalog keeps in a bucket: nobody who writes waits for the bucket, and nothing that is used is missing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event, insert
from sqlalchemy.engine import Engine

from hybrid_core.store import bucket as module
from hybrid_core.store.bucket import Bucket, BucketAddress
from hybrid_core.store.catalog import schema
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.documents import Original
from hybrid_core.store.home import CATALOG
from tests import buckets

pytestmark = pytest.mark.slow
LIBRARY, ARCHIVE = "default", "/mail.zip"


class Watched:
    """The library that speaks to a bucket; ``asked`` hears of each call before it is made."""

    def __init__(self, real: Any, asked: Callable[[str, Any], None]) -> None:
        self._real, self._asked = real, asked

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if not callable(found):
            return found

        def called(store: Any, *given: Any, **options: Any) -> Any:
            self._asked(name, given[0] if given else options.get("prefix"))
            return found(store, *given, **options)

        return called


@pytest.fixture
def address() -> Iterator[BucketAddress]:
    with buckets.bucket() as made:
        yield made


@pytest.fixture
def catalog(tmp_path: Path, address: BucketAddress) -> Iterator[Catalog]:
    made = Catalog(tmp_path / "home" / CATALOG, bucket=address)
    made.ensure_library(LIBRARY)
    yield made
    made.close()


@pytest.fixture
def other(tmp_path: Path, catalog: Catalog, address: BucketAddress) -> Iterator[Catalog]:
    """The same catalog, as another process has it."""
    made = Catalog(catalog.path, bucket=address)
    yield made
    made.close()


def originals(folder: Path, words: list[str], archive: str = ARCHIVE) -> list[Original]:
    found = []
    for number, word in enumerate(words):
        file = folder / f"{number}.txt"
        file.write_text(word)
        path = f"{archive}!/{number}.txt"
        found.append(Original(path, archive, file, hashlib.sha256(word.encode()).hexdigest()))
    return found


def bucket_of(catalog: Catalog) -> Bucket:
    assert isinstance(catalog.objects, Bucket)
    return catalog.objects


def test_no_bucket_is_asked_while_somebody_writes(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing, asked = list[int](), list[tuple[str, bool]]()
    begin = catalog.writing

    @contextmanager
    def told() -> Iterator[Connection]:
        with begin() as connection:
            writing.append(1)
            yield connection
            writing.pop()

    monkeypatch.setattr(catalog, "writing", told)
    bucket = bucket_of(catalog)
    monkeypatch.setattr(
        bucket, "_obstore", Watched(bucket._obstore, lambda what, _: asked.append((what, bool(writing))))
    )
    found = originals(tmp_path, [f"member {number}" for number in range(60)])
    catalog.keep(LIBRARY, ARCHIVE, found)
    for one in found:
        assert catalog.locate(LIBRARY, one.path).read_text().startswith("member ")
    assert len(catalog.keep(LIBRARY, ARCHIVE, originals(tmp_path, ["member 0"]))) == 59
    assert list(catalog.objects.names()) == [found[0].name]
    catalog.remove_library(LIBRARY)
    catalog.sweep_originals()
    assert not list(catalog.objects.names()) and len(asked) > 150
    assert not [what for what, within in asked if within]


@pytest.mark.parametrize("step", ["copy", "delete"])
def test_what_comes_to_be_used_while_it_is_deleted_is_kept(
    step: str, catalog: Catalog, other: Catalog, tmp_path: Path, address: BucketAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    [one] = originals(tmp_path, ["tides"])
    catalog.keep(LIBRARY, ARCHIVE, [one])
    steps = list[str]()

    def at(what: str, _: Any) -> None:
        steps.append(what)
        if steps.count(step) == 1 and what == step:
            other.keep(LIBRARY, "/b.zip", originals(tmp_path, ["tides"], "/b.zip"))

    bucket = bucket_of(catalog)
    monkeypatch.setattr(bucket, "_obstore", Watched(bucket._obstore, at))
    assert catalog.keep(LIBRARY, ARCHIVE, []) == [one.path]
    assert step in steps and catalog.kept_as(LIBRARY, "/b.zip!/0.txt") == one.name
    assert far(tmp_path, bucket, address).fetch(one.name).read_text() == "tides"
    assert not list(bucket._entries("aside/"))


def test_what_is_uploaded_while_it_is_deleted_is_kept(
    catalog: Catalog, other: Catalog, tmp_path: Path, address: BucketAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.keep(LIBRARY, ARCHIVE, originals(tmp_path, ["tides"]))
    [one] = originals(tmp_path, ["tides"], "/b.zip")
    bucket = bucket_of(other)
    upload = bucket.upload

    def uploaded(name: str, file: Path) -> None:
        monkeypatch.setattr(bucket, "upload", upload)
        upload(name, file)
        catalog.keep(LIBRARY, ARCHIVE, [])
        assert not bucket._has(f"originals/{name}")

    monkeypatch.setattr(bucket, "upload", uploaded)
    other.keep(LIBRARY, "/b.zip", [one])
    assert far(tmp_path, bucket, address).fetch(one.name).read_text() == "tides"


def test_what_lies_aside_is_found_there_and_swept_once_nobody_uses_it(
    catalog: Catalog, tmp_path: Path, address: BucketAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process ended after it had put it there, and before it saw that somebody uses it again."""
    [one] = originals(tmp_path, ["tides"])
    catalog.keep(LIBRARY, ARCHIVE, [one])
    bucket = bucket_of(catalog)
    for away in (False, True):
        assert bucket._put_aside(one.name)
        bucket._delete([f"originals/{one.name}"])
        if away:
            assert far(tmp_path, bucket, address).fetch(one.name).read_text() == "tides"
        else:
            assert bucket.link(one.name, 60)
    assert list(bucket.names()) == [one.name]
    catalog.keep(LIBRARY, ARCHIVE, [])
    assert len(list(bucket._entries("aside/"))) == 2, "somebody may just be about it"
    monkeypatch.setattr(module, "_ABANDONED_AFTER", timedelta(-1))
    catalog.sweep_originals()
    assert not list(bucket.names())


def test_a_sweep_asks_for_many_files_at_once(catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog.keep(LIBRARY, ARCHIVE, originals(tmp_path, ["tides"]))
    bucket, statements = bucket_of(catalog), list[str]()
    with catalog.writing() as connection:
        rows = [{"library": LIBRARY, "path": f"upload:/{n}", "container": "", "file": f"{n:064}"} for n in range(2000)]
        connection.execute(insert(schema.originals), rows)
    monkeypatch.setattr(bucket, "names", lambda: [row["file"] for row in rows])

    def executed(_: Any, __: Any, statement: str, *___: Any) -> None:
        statements.append(statement)

    event.listen(Engine, "before_cursor_execute", executed)
    try:
        catalog.sweep_originals()
    finally:
        event.remove(Engine, "before_cursor_execute", executed)
    assert 0 < len(statements) < 10


def far(tmp_path: Path, bucket: Bucket, address: BucketAddress) -> Bucket:
    """The same bucket, as a home that has no copy sees it."""
    return Bucket(tmp_path / "far", address, (bucket._read("catalog") or b"").decode())
