"""Storage of original files in a bucket of an object store, which several machines share.

Each machine downloads a file once.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import re
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_args

from sqlalchemy import insert, select

from hybrid_core.errors import PageIndexError, StoreError, UnreachableError, UsageError
from hybrid_core.store.catalog.schema import meta
from hybrid_core.store.database import TransactionalStore
from hybrid_core.store.home import COPIES, ORIGINALS, advice_of, make_folder
from hybrid_core.store.objects import Copies, DerivedKind, Distant, FolderStore, ObjectStore, Used
from hybrid_core.system import require

_FILES, _ASIDE, _OWNER = "originals", "aside", "catalog"
_MARK = "bucket"  # the key in ``meta`` of the catalog's mark, which its bucket contains too
_T = TypeVar("_T")
_LARGE = 32 * 2**20  # bytes: larger files are uploaded in parts; such an upload may overwrite an existing object
_PART = 8 * 2**20
# age after which a file that was moved aside is left over from a dead process
_ABANDONED_AFTER = datetime.timedelta(days=1)
_RETRY_SECONDS = 20
_PROBE_SECONDS = 3  # for a check whether the bucket answers
_HASH = re.compile(r"[0-9a-f]{64}")  # of a file, in the key of a derived value
_PAUSE = 60.0  # seconds without requests for derived values after a failure of the bucket


@dataclass(frozen=True, slots=True)
class BucketAddress:
    """The address of a bucket. ``url`` looks like s3://bucket/folder; empty fields come from the environment.

    ``room`` is the maximum size of the local copies in bytes.
    """

    url: str
    endpoint: str = ""
    region: str = ""
    access_key: str = ""
    secret_key: str = field(default="", repr=False)
    room: int = 10**9


class Bucket:
    """Storage of original files in a bucket. The home, a local folder, contains copies of the downloaded files."""

    def __init__(self, home: Path, address: BucketAddress, owner: str) -> None:
        """Open a bucket. ``owner`` is the id of the catalog whose files the bucket contains; the bucket stores it.

        Raise UsageError for a bad address and for the bucket of another catalog, and UnreachableError if the bucket
        does not answer.
        """
        self._obstore = require("obstore", "s3")
        # files from before the home had a bucket; the bucket may not contain them
        self._originals = FolderStore(home / ORIGINALS)
        self._copies, self._url = Copies(home / COPIES, address.room), address.url
        self._store = self._open_store(address)
        self._probe = self._open_store(address, seconds=_PROBE_SECONDS, retries=0)
        self._paused = 0.0  # time at which the pause ends
        try:
            with self._translated_errors():
                if self._read(_OWNER) is None:
                    self._put_new(_OWNER, owner.encode())
                mark = self._read(_OWNER)
        except FileNotFoundError as error:
            raise UsageError(
                f"{self._url}: the bucket does not exist.", "Create the bucket, or correct the setting objects_url."
            ) from error
        if mark != owner.encode():
            raise UsageError(
                f"{self._url} already holds the original files of another catalog.",
                "Set objects_url to another folder of the bucket.",
            )

    def check(self) -> str:
        with self._translated_errors(), suppress(FileNotFoundError):
            self._obstore.head(self._probe, _OWNER)
        return self._url

    def place(self, name: str) -> Path:
        return self._folder_of(name).place(name)

    def upload(self, name: str, file: Path) -> None:
        key = f"{_FILES}/{name}"
        with self._translated_errors():
            if file.stat().st_size <= _LARGE:
                self._put_new(key, file)
            elif not self._has(key):
                self._obstore.put(self._store, key, file, chunk_size=_PART)

    def keep(self, name: str, file: Path) -> None:
        """Do nothing: the file is already in the bucket, and its local copy stays until ``confirm`` is called."""

    def confirm(self, name: str, file: Path) -> None:
        with self._translated_errors():
            is_kept = self._has(f"{_FILES}/{name}")
        if not is_kept:
            self.upload(name, file)
        self._folder_of(name).keep(name, file)

    def drop(self, name: str) -> None:
        """Do nothing: ``delete`` does all the work."""

    def delete(self, names: Collection[str], used: Used) -> None:
        """Move each file aside, check again that no document uses it, and then delete it.

        A process that began to use the file meanwhile restores it with ``confirm``.
        """
        with self._translated_errors():
            aside = {name: place for name in names if (place := self._put_aside(name))}
            self._delete([f"{_FILES}/{name}" for name in aside])
            used_again = used(names)
            for name in used_again & aside.keys():
                self._obstore.copy(self._store, aside[name], f"{_FILES}/{name}")
            abandoned = [place for name, place in self._abandoned_files() if name in names and name not in used_again]
            self._delete([*aside.values(), *abandoned])
        for name in set(names) - used_again:
            self._originals.drop(name)
            self._copies.drop(name)

    def fetch(self, name: str) -> Path:
        """Return the path of the local copy of a file. Download the file if there is no copy yet.

        Raise StoreError if a write fails or the bytes do not match the hash in the name.
        """
        target = self.place(name)
        with suppress(OSError):
            os.utime(target)
            return target
        parts = self._parts(name)
        if parts is None:
            return target
        download = target.with_name(f".{uuid.uuid4().hex}")
        digest = hashlib.sha256()
        try:
            make_folder(target.parent)
            with download.open("xb") as stream:
                for part in parts:
                    digest.update(part)
                    stream.write(part)
            if not name.startswith(digest.hexdigest()):
                raise StoreError(
                    f"{self._url}: the original file {name} in the bucket is damaged.",
                    "Restore the file from a backup, or upload the document again.",
                )
            self._copies.keep(name, download)
            self._copies.make_room()
        except OSError as error:
            advice = advice_of(str(error.strerror), self._copies.folder.parent, "Check the folder's permissions.")
            raise StoreError(f"{target}: cannot be written ({error.strerror}).", advice) from error
        finally:
            with suppress(OSError):
                download.unlink()
        return target

    def distant(self, name: str) -> Distant | None:
        if os.access(self.place(name), os.R_OK):
            return None
        with self._translated_errors(), suppress(FileNotFoundError):
            size = self._obstore.head(self._store, f"{_FILES}/{name}")["size"]
            return Distant(size, lambda start, stop: self._parts(name, {"range": (start, stop)}))
        return None

    def names(self) -> Iterable[str]:
        with self._translated_errors():
            names = [entry["path"].split("/")[1] for under in (_FILES, _ASIDE) for entry in self._entries(f"{under}/")]
        return dict.fromkeys((*names, *self._originals.names(), *self._copies.names()))

    def link(self, name: str, seconds: int) -> str | None:
        key = f"{_FILES}/{name}"
        with self._translated_errors():
            if not (self._has(key) or self._put_back(name)):
                return None  # a link to a missing object would show the store's own error
            return str(self._obstore.sign(self._store, "GET", key, datetime.timedelta(seconds=seconds)))

    def derived(self, kind: DerivedKind, key: str) -> bytes | None:
        return self._unless_unreachable(lambda: self._read(_derived_key(kind, key)))

    def keep_derived(self, kind: DerivedKind, key: str, value: bytes) -> None:
        self._unless_unreachable(lambda: self._put_new(_derived_key(kind, key), value))

    def drop_derived(self, hashes: Collection[str]) -> None:
        with self._translated_errors():
            for kind in get_args(DerivedKind):
                for file in hashes:
                    self._delete([entry["path"] for entry in self._entries(f"{kind}/{file}/")])

    def _put_aside(self, name: str) -> str | None:
        """Copy a file to another place in the bucket, and return that place. Return None if the file is not stored.

        The place is new, so that no other process deletes the copy.
        """
        place = f"{_ASIDE}/{name}/{uuid.uuid4().hex}"
        try:
            self._obstore.copy(self._store, f"{_FILES}/{name}", place)
        except FileNotFoundError:
            return None
        return place

    def _put_back(self, name: str) -> bool:
        """Restore a file that was moved aside. Return whether such a copy existed.

        It exists while a process deletes the file, or if that process ended before its second check.
        """
        for entry in self._entries(f"{_ASIDE}/{name}/"):
            with suppress(FileNotFoundError):
                self._obstore.copy(self._store, entry["path"], f"{_FILES}/{name}")
                return True
        return False

    def _abandoned_files(self) -> Iterator[tuple[str, str]]:
        """Yield (name, bucket key) of files that ended processes moved aside and did not delete."""
        for entry in self._entries(f"{_ASIDE}/"):
            if datetime.datetime.now(datetime.UTC) - entry["last_modified"] > _ABANDONED_AFTER:
                yield entry["path"].split("/")[1], entry["path"]

    def _entries(self, prefix: str) -> Iterator[Any]:
        for part in self._obstore.list(self._store, prefix=prefix):
            yield from part

    def _delete(self, keys: list[str]) -> None:
        with suppress(FileNotFoundError):  # another process has already deleted them
            self._obstore.delete(self._store, keys)

    def _folder_of(self, name: str) -> FolderStore:
        return self._originals if os.access(self._originals.place(name), os.R_OK) else self._copies

    def _unless_unreachable(self, work: Callable[[], _T]) -> _T | None:
        """Return the result of ``work``, None while the bucket does not answer.

        After a failure, return None without a call for a while. Each failed call takes seconds, and a scanned document
        causes up to a thousand calls.
        """
        if time.monotonic() < self._paused:
            return None
        try:
            return work()
        except (OSError, self._obstore.exceptions.BaseError):
            self._paused = time.monotonic() + _PAUSE
            return None

    def _parts(self, name: str, options: Any = None) -> Iterator[bytes] | None:
        """Yield the bytes of a file in parts. Return None if the file is not stored."""
        with self._translated_errors():
            for _ in range(2):
                with suppress(FileNotFoundError):
                    return self._stream(self._obstore.get(self._store, f"{_FILES}/{name}", options=options))
                if not self._put_back(name):
                    return None
        return None

    def _stream(self, answer: Any) -> Iterator[bytes]:
        """Yield the parts of a response. Errors that the caller raises between parts are not translated."""
        with self._translated_errors():
            yield from answer.stream(min_chunk_size=_PART)

    def _read(self, key: str) -> bytes | None:
        try:
            return bytes(self._obstore.get(self._store, key).bytes())
        except FileNotFoundError:
            return None

    def _has(self, key: str) -> bool:
        try:
            self._obstore.head(self._store, key)
        except FileNotFoundError:
            return False
        return True

    def _put_new(self, key: str, content: bytes | Path) -> None:
        with suppress(self._obstore.exceptions.AlreadyExistsError):
            self._obstore.put(self._store, key, content, mode="create", use_multipart=False)

    def _open_store(self, address: BucketAddress, seconds: int = 60, retries: int = 4) -> Any:
        """Open the store. ``seconds`` limits the time of one request, ``retries`` its repetitions."""
        options = {
            "endpoint": address.endpoint, "region": address.region,
            "access_key_id": address.access_key, "secret_access_key": address.secret_key,
        }  # fmt: skip
        config = {name: value for name, value in options.items() if value}
        store = require("obstore.store", "s3")
        client = {
            "timeout": f"{seconds}s", "connect_timeout": f"{min(5, seconds)}s",
            "allow_http": address.endpoint.startswith("http:"),
        }  # fmt: skip
        try:
            return store.from_url(
                address.url, config=config,
                client_options=client,
                retry_config={"max_retries": retries, "retry_timeout": datetime.timedelta(seconds=_RETRY_SECONDS)},
            )  # fmt: skip
        except (self._obstore.exceptions.BaseError, ValueError, TypeError) as error:
            why = str(error).partition("\n")[0]
            raise UsageError(
                f"The setting objects_url is not a valid address ({why}).", "Write it like s3://bucket."
            ) from error

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Translate errors of the object store into errors of this project."""
        errors = self._obstore.exceptions
        try:
            yield
        except (errors.PermissionDeniedError, errors.UnauthenticatedError) as error:
            raise PageIndexError(
                f"{self._url} refused the access key.", "Check the settings objects_access_key and objects_secret_key."
            ) from error
        except errors.BaseError as error:
            why = str(error).partition("\n")[0]
            raise UnreachableError(
                f"{self._url}: the object store does not answer ({why}).", "Try again when the server is reachable."
            ) from error


def _derived_key(kind: DerivedKind, key: str) -> str:
    """Return the bucket key of a value that was derived from a file, such as a page image.

    It begins with the kind and the hash of the file, so that all values of a file can be deleted with the file.
    """
    file = next((part for part in key.split("/") if _HASH.fullmatch(part)), "other")
    return f"{kind}/{file}/{hashlib.sha256(key.encode()).hexdigest()}"


def open_objects(catalog: TransactionalStore, home: Path, address: BucketAddress | None) -> ObjectStore:
    """Open the storage of a catalog's original files.

    The catalog records which bucket it is, if any, so that all machines use the same one.

    Raise UsageError if the files are in a bucket that is not configured, or in another catalog's bucket. Raise
    UnreachableError if the bucket does not answer.
    """
    query = select(meta.c.value).where(meta.c.key == _MARK)
    with catalog.reading() as connection:
        mark = connection.scalar(query)
    if address is None:
        if mark is not None:
            raise UsageError(
                "This catalog keeps its original files in a bucket, but no bucket is configured.",
                "Set PAGEINDEX_OBJECTS_URL to the address of that bucket.",
            )
        return FolderStore(home / ORIGINALS)
    if mark is None:
        with catalog.writing() as connection:
            mark = connection.scalar(query)
            if mark is None:
                mark = uuid.uuid4().hex
                connection.execute(insert(meta).values(key=_MARK, value=mark))
    return Bucket(home, address, mark)
