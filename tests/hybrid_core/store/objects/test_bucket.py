"""A bucket keeps what a folder keeps, for several homes."""

from __future__ import annotations

import errno
import hashlib
import os
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hybrid_core.errors import PageIndexError, StoreError, UnreachableError, UsageError
from hybrid_core.store import bucket as module
from hybrid_core.store.bucket import Bucket, BucketAddress
from hybrid_core.store.home import COPIES, ORIGINALS
from hybrid_core.store.objects import FolderStore, ObjectStore
from tests import buckets

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address() -> Iterator[BucketAddress]:
    with buckets.bucket() as made:
        yield made


def written(folder: Path, data: bytes) -> tuple[str, Path]:
    file = folder / "upload"
    file.write_bytes(data)
    return f"{hashlib.sha256(data).hexdigest()}.txt", file


def kept(objects: ObjectStore, name: str, file: Path) -> None:
    objects.upload(name, file)
    objects.keep(name, file)
    objects.confirm(name, file)


def deleted(objects: ObjectStore, *names: str) -> None:
    for name in names:
        objects.drop(name)
    objects.delete(names, lambda _: set())


@pytest.mark.parametrize("kind", ["folder", "bucket"])
def test_files_are_kept_once_found_and_deleted(kind: str, tmp_path: Path, address: BucketAddress) -> None:
    here = tmp_path / "here"
    objects: ObjectStore = FolderStore(here) if kind == "folder" else Bucket(here, address, "mine")
    for _ in range(2):
        name, file = written(tmp_path, b"tides")
        kept(objects, name, file)
    assert objects.fetch(name).read_bytes() == b"tides" and list(objects.names()) == [name]
    assert objects.fetch(name) == objects.place(name) and objects.place(name).stat().st_mode & 0o777 == 0o400
    deleted(objects, name)
    deleted(objects, name)
    assert not objects.fetch(name).exists() and not list(objects.names())


def test_what_one_home_keeps_another_fetches_whole(
    tmp_path: Path, address: BucketAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LARGE", 2**20)
    data = os.urandom(2**20 + 5)  # goes in parts
    one, other = (Bucket(tmp_path / home, address, "mine") for home in ("one", "other"))
    name, file = written(tmp_path, data)
    one.upload(name, file)
    kept(one, name, file)
    assert other.fetch(name).read_bytes() == data
    link = other.link(name, 60)
    assert link is not None
    with urllib.request.urlopen(urllib.request.Request(link, headers={"Range": "bytes=3-6"}), timeout=60) as answer:
        assert answer.read() == data[3:7]
    one.keep_derived("pictures", "page 1", b"a picture")
    assert other.derived("pictures", "page 1") == b"a picture"
    assert other.derived("pictures", "page 2") is None and other.derived("readings", "page 1") is None


def test_one_that_went_away_is_not_asked_for_each_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RETRY_SECONDS", 1)
    asked: list[str] = []
    with buckets.bucket() as address:
        one = Bucket(tmp_path / "one", address, "mine")
        read = one._read

        def told(key: str) -> bytes | None:
            asked.append(key)
            return read(key)

        monkeypatch.setattr(one, "_read", told)
        one.keep_derived("readings", "page 1", b"read")
        assert one.derived("readings", "page 1") == b"read"
        assert one.derived("readings", "page 2") is None
        assert len(asked) == 2, "it answers, if only that there is none"
    assert [one.derived("readings", f"page {number}") for number in range(1000)] == [None] * 1000
    one.keep_derived("readings", "page 3", b"read")
    assert len(asked) == 3
    one._paused = time.monotonic()  # the pause is over
    assert one.derived("readings", "page 1") is None
    assert len(asked) == 4


def test_what_is_damaged_is_not_taken_for_the_file(tmp_path: Path, address: BucketAddress) -> None:
    one = Bucket(tmp_path / "one", address, "mine")
    name, _ = written(tmp_path, b"what was uploaded")
    other = tmp_path / "other"
    other.write_bytes(b"something else")
    one.upload(name, other)
    with pytest.raises(StoreError, match="is damaged"):
        one.fetch(name)
    assert not one.place(name).exists()
    deleted(one, name)


def test_fetched_files_make_room_for_those_that_were_asked_for_later(tmp_path: Path, address: BucketAddress) -> None:
    one = Bucket(tmp_path / "one", address, "mine")
    names = []
    for word in (b"first" * 100, b"second" * 100):
        name, file = written(tmp_path, word)
        kept(one, name, file)
        names.append(name)
    small = Bucket(tmp_path / "small", replace(address, room=700), "mine")
    os.utime(small.fetch(names[0]), (1, 1))
    small.fetch(names[1])
    assert not small.place(names[0]).exists() and small.place(names[1]).exists()
    assert small.fetch(names[0]).exists()
    deleted(one, *names)


def test_what_a_home_kept_before_it_had_a_bucket_stays_in_it(tmp_path: Path, address: BucketAddress) -> None:
    home = tmp_path / "home"
    before, only = FolderStore(home / ORIGINALS), []
    for word in (b"first" * 1000, b"second" * 1000):
        name, file = written(tmp_path, word)
        kept(before, name, file)
        os.utime(before.place(name), (1, 1))
        only.append(name)
    name, file = written(tmp_path, b"fetched")
    kept(Bucket(tmp_path / "other", address, "mine"), name, file)
    one = Bucket(home, replace(address, room=700), "mine")
    one.fetch(name)
    assert [one.fetch(name).stat().st_size for name in only] == [5000, 6000]
    assert set(only) < set(one.names()) and one.link(only[0], 60) is None
    assert one.place(only[0]) == before.place(only[0]) and one.place(name).exists()
    deleted(one, name, *only)
    assert not list(before.names()) and not {name, *only} & set(one.names())


@pytest.mark.parametrize(
    ("refused", "advice"), [(errno.ENOSPC, "Free some space"), (errno.EACCES, "Check the folder's permissions")]
)
def test_a_disk_that_refuses_is_not_taken_for_the_bucket(
    tmp_path: Path, address: BucketAddress, monkeypatch: pytest.MonkeyPatch, refused: int, advice: str
) -> None:
    one = Bucket(tmp_path / "one", address, "mine")
    name, file = written(tmp_path, b"tides")
    one.upload(name, file)

    def refuse(folder: Path) -> None:
        raise OSError(refused, os.strerror(refused), str(folder))

    with monkeypatch.context() as patched:
        patched.setattr(module, "make_folder", refuse)
        with pytest.raises(StoreError, match=f"{os.strerror(refused)}.*{advice}") as raised:
            one.fetch(name)
    assert str(one.place(name)) in str(raised.value)
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / COPIES).write_text("somebody's file")
    with pytest.raises(StoreError, match=r"cannot be written \(.*Check"):
        one.fetch(name)
    (tmp_path / "one" / COPIES).unlink()
    assert one.fetch(name).read_bytes() == b"tides"
    deleted(one, name)


@pytest.mark.parametrize(
    ("changed", "error", "said"),
    [
        ({"endpoint": "http://127.0.0.1:1"}, UnreachableError, "does not answer"),
        ({"url": "s3://nothing/home"}, UsageError, "the bucket does not exist"),
        ({"url": "nonsense"}, UsageError, "is not a valid address"),
    ],
)
def test_a_bucket_that_is_not_there_is_said(
    tmp_path: Path, address: BucketAddress, monkeypatch: pytest.MonkeyPatch,
    changed: dict[str, str], error: type[PageIndexError], said: str,
) -> None:  # fmt: skip
    monkeypatch.setattr(module, "_RETRY_SECONDS", 1)
    with pytest.raises(error, match=said) as raised:
        Bucket(tmp_path, replace(address, **changed), "mine")  # type: ignore[arg-type]
    assert "tests-secret" not in str(raised.value) and "tests-secret" not in repr(address)


def test_a_bucket_of_another_catalog_is_refused(tmp_path: Path, address: BucketAddress) -> None:
    Bucket(tmp_path, address, "mine")
    with pytest.raises(UsageError, match="of another catalog"):
        Bucket(tmp_path, address, "another")
