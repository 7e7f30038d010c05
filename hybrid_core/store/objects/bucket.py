"""Files in a bucket of an object store, which several machines read; what one of them reads it fetches once."""

from __future__ import annotations

import datetime
import hashlib
import os
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from hybrid_core.errors import PageIndexError, StoreError, UnreachableError, UsageError
from hybrid_core.store.home import COPIES, ORIGINALS, advice_of, make_folder
from hybrid_core.store.objects.copies import Copies
from hybrid_core.store.objects.folder import Folder
from hybrid_core.store.objects.objects import Distant, Made, Used
from hybrid_core.system.extras import require

_FILES, _ASIDE, _OWNER = "originals", "aside", "catalog"
_T = TypeVar("_T")
_LARGE = 32 * 2**20  # bytes: what is larger goes in parts, which a store cannot refuse where the name is taken
_PART = 8 * 2**20
_LEFT = datetime.timedelta(days=1)  # what lies aside for longer was left by a process that ended
_RETRY_SECONDS = 20
_PAUSE = 60.0  # seconds for which a bucket that did not answer is not asked for what can be made


@dataclass(frozen=True, slots=True)
class BucketAddress:
    """``url`` like s3://bucket/folder. What is empty is what the environment of the object store's own tools says.
    ``room`` is of copies in this home, in bytes.
    """

    url: str
    endpoint: str = ""
    region: str = ""
    access_key: str = ""
    secret_key: str = field(default="", repr=False)
    room: int = 10**9


class Bucket:
    def __init__(self, home: Path, address: BucketAddress, owner: str) -> None:
        """``owner`` is the mark of the catalog whose files these are.

        Raises UsageError for what is no address and for a bucket of another catalog, UnreachableError where it does
        not answer.
        """
        self._obstore = require("obstore", "s3")
        self._before = Folder(home / ORIGINALS)  # what the home kept when it had no bucket: the bucket may lack it
        self._copies, self._url = Copies(home / COPIES, address.room), address.url
        self._store = self._opened(address)
        self._paused = 0.0  # until when
        try:
            with self._told():
                if self._read(_OWNER) is None:
                    self._put_new(_OWNER, owner.encode())
                found = self._read(_OWNER)
        except FileNotFoundError as error:
            raise UsageError(f"{self._url}: there is no such bucket.", "Make it, or set objects_url.") from error
        if found != owner.encode():
            raise UsageError(
                f"{self._url} holds the files of another catalog.", "Name another folder of the bucket in objects_url."
            )

    def place(self, name: str) -> Path:
        return self._near(name).place(name)

    def upload(self, name: str, file: Path) -> None:
        key = f"{_FILES}/{name}"
        with self._told():
            if file.stat().st_size <= _LARGE:
                self._put_new(key, file)
            elif not self._has(key):
                self._obstore.put(self._store, key, file, chunk_size=_PART)

    def keep(self, name: str, file: Path) -> None:
        """It is in the bucket, and stays where it is until that is sure."""

    def confirm(self, name: str, file: Path) -> None:
        with self._told():
            there = self._has(f"{_FILES}/{name}")
        if not there:
            self.upload(name, file)
        self._near(name).keep(name, file)

    def drop(self, name: str) -> None:
        """``delete`` does."""

    def delete(self, names: Collection[str], used: Used) -> None:
        """Each lies aside while it is asked for again: whoever came to use it since it was found unused may have
        confirmed it before it went.
        """
        with self._told():
            aside = {name: place for name in names if (place := self._put_aside(name))}
            self._delete([f"{_FILES}/{name}" for name in aside])
            again = used(names)
            for name in again & aside.keys():
                self._obstore.copy(self._store, aside[name], f"{_FILES}/{name}")
            left = [place for name, place in self._left_aside() if name in names and name not in again]
            self._delete([*aside.values(), *left])
        for name in set(names) - again:
            self._before.drop(name)
            self._copies.drop(name)

    def fetch(self, name: str) -> Path:
        """Raises StoreError where its bytes are not those of its name, too."""
        target = self.place(name)
        with suppress(OSError):
            os.utime(target)
            return target
        parts = self._parts(name)
        if parts is None:
            return target
        made = target.with_name(f".{uuid.uuid4().hex}")
        found = hashlib.sha256()
        try:
            make_folder(target.parent)
            with made.open("xb") as stream:
                for part in parts:
                    found.update(part)
                    stream.write(part)
            if not name.startswith(found.hexdigest()):
                raise StoreError(f"{self._url}: {name} is damaged.", "Restore it, or upload the document again.")
            self._copies.keep(name, made)
            self._copies.make_room()
        except OSError as error:
            advice = advice_of(str(error.strerror), self._copies.folder.parent, "Check the folder's permissions.")
            raise StoreError(f"{target}: cannot be written ({error.strerror}).", advice) from error
        finally:
            with suppress(OSError):
                made.unlink()
        return target

    def distant(self, name: str) -> Distant | None:
        if os.access(self.place(name), os.R_OK):
            return None
        with self._told(), suppress(FileNotFoundError):
            size = self._obstore.head(self._store, f"{_FILES}/{name}")["size"]
            return Distant(size, lambda start, stop: self._parts(name, {"range": (start, stop)}))
        return None

    def names(self) -> Iterable[str]:
        with self._told():
            there = [entry["path"].split("/")[1] for under in (_FILES, _ASIDE) for entry in self._listed(f"{under}/")]
        return dict.fromkeys((*there, *self._before.names(), *self._copies.names()))

    def link(self, name: str, seconds: int) -> str | None:
        key = f"{_FILES}/{name}"
        with self._told():
            if not (self._has(key) or self._put_back(name)):
                return None  # whoever follows a link would get the store's own words for it
            return str(self._obstore.sign(self._store, "GET", key, datetime.timedelta(seconds=seconds)))

    def made(self, kind: Made, key: str) -> bytes | None:
        return self._unless_away(lambda: self._read(_place(kind, key)))

    def keep_made(self, kind: Made, key: str, value: bytes) -> None:
        self._unless_away(lambda: self._put_new(_place(kind, key), value))

    def _put_aside(self, name: str) -> str | None:
        """Where a copy of it is then; a place of its own, so that nobody else deletes it. None where it is not kept."""
        place = f"{_ASIDE}/{name}/{uuid.uuid4().hex}"
        try:
            self._obstore.copy(self._store, f"{_FILES}/{name}", place)
        except FileNotFoundError:
            return None
        return place

    def _put_back(self, name: str) -> bool:
        """Whether it lay aside: it is being deleted, or who deleted it ended before it was asked for again."""
        for entry in self._listed(f"{_ASIDE}/{name}/"):
            with suppress(FileNotFoundError):
                self._obstore.copy(self._store, entry["path"], f"{_FILES}/{name}")
                return True
        return False

    def _left_aside(self) -> Iterator[tuple[str, str]]:
        """(name, place) of what processes left that ended."""
        for entry in self._listed(f"{_ASIDE}/"):
            if datetime.datetime.now(datetime.UTC) - entry["last_modified"] > _LEFT:
                yield entry["path"].split("/")[1], entry["path"]

    def _listed(self, prefix: str) -> Iterator[Any]:
        for part in self._obstore.list(self._store, prefix=prefix):
            yield from part

    def _delete(self, keys: list[str]) -> None:
        with suppress(FileNotFoundError):  # another process was quicker
            self._obstore.delete(self._store, keys)

    def _near(self, name: str) -> Folder:
        return self._before if os.access(self._before.place(name), os.R_OK) else self._copies

    def _unless_away(self, work: Callable[[], _T]) -> _T | None:
        """Each call to a bucket that is away takes seconds, and a scan has a thousand pages."""
        if time.monotonic() < self._paused:
            return None
        try:
            return work()
        except (OSError, self._obstore.exceptions.BaseError):
            self._paused = time.monotonic() + _PAUSE
            return None

    def _parts(self, name: str, options: Any = None) -> Iterator[bytes] | None:
        """Of a file; None where it is not kept."""
        with self._told():
            for _ in range(2):
                with suppress(FileNotFoundError):
                    return self._told_of(self._obstore.get(self._store, f"{_FILES}/{name}", options=options))
                if not self._put_back(name):
                    return None
        return None

    def _told_of(self, answer: Any) -> Iterator[bytes]:
        """What befalls whoever takes the parts is not the store's."""
        with self._told():
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

    def _put_new(self, key: str, what: bytes | Path) -> None:
        with suppress(self._obstore.exceptions.AlreadyExistsError):
            self._obstore.put(self._store, key, what, mode="create", use_multipart=False)

    def _opened(self, address: BucketAddress) -> Any:
        given = {
            "endpoint": address.endpoint, "region": address.region,
            "access_key_id": address.access_key, "secret_access_key": address.secret_key,
        }  # fmt: skip
        config = {name: value for name, value in given.items() if value}
        store = require("obstore.store", "s3")
        plain = address.endpoint.startswith("http:")
        try:
            return store.from_url(
                address.url, config=config,
                client_options={"timeout": "60s", "connect_timeout": "5s", "allow_http": plain},
                retry_config={"max_retries": 4, "retry_timeout": datetime.timedelta(seconds=_RETRY_SECONDS)},
            )  # fmt: skip
        except (self._obstore.exceptions.BaseError, ValueError, TypeError) as error:
            why = str(error).partition("\n")[0]
            raise UsageError(f"The setting objects_url is no address ({why}).", "Write it like s3://bucket.") from error

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What the store raises as errors of ours."""
        errors = self._obstore.exceptions
        try:
            yield
        except (errors.PermissionDeniedError, errors.UnauthenticatedError) as error:
            raise PageIndexError(f"{self._url} refused the key.", "Set objects_access_key and the others.") from error
        except errors.BaseError as error:
            why = str(error).partition("\n")[0]
            raise UnreachableError(f"{self._url}: does not answer ({why}).", "Try again when it does.") from error


def _place(kind: Made, key: str) -> str:
    return f"{kind}/{hashlib.sha256(key.encode()).hexdigest()}"
