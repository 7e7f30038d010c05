"""Private copies of files, which ensure that the hashed bytes and the parsed bytes are the same."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG

from hybrid_core.errors import ChangedError, DocumentError
from hybrid_core.system import OUTSIDE, Reach
from hybrid_core.types.files import FileStamp
from indexers.formats.pictures import local_links, pictures_beside
from indexers.formats.registry import of_suffix

_CHUNK = 2**20


def fingerprint(file: Path, at: Path | None = None, reach: Reach | None = None) -> tuple[FileStamp, str]:
    """Return a file's stamp (size and times) and the SHA-256 of its bytes. The bytes may be ``at`` another path.

    The hash also covers pictures in the same folder that the file shows. The stamp of such a file does not prove that
    it is unchanged. ``reach`` are the folders that the server may read; it is checked only here, since later readers
    compare the hash. Raise DocumentError if the file cannot be read or is outside of them, ChangedError if it keeps
    changing.
    """
    began = time.time()
    reach = reach if at in (None, file) else None  # otherwise its bytes are stored in the home
    stat, sha256 = _read_file(file, at or file, _ignored, reach)
    links = _links(file, at, at or file)
    pictures = [
        (name, _read_file(file, place, _ignored, reach)[1]) for name, place in pictures_beside(file.parent, links)
    ]
    return FileStamp.of(stat, stat.st_mtime if links else began), _with(sha256, pictures)


def copy_small(file: Path, target: Path, max_bytes: int, reach: Reach | None = None) -> tuple[FileStamp, str] | None:
    """Copy a file's bytes to ``target`` while hashing them, and return its stamp (size and times) and hash.

    Return None if the file is larger than ``max_bytes`` or links to pictures in its folder. Raise the same errors as
    ``fingerprint``, and OSError if the copy cannot be written.
    """
    began = time.time()
    with target.open("xb") as stream:
        stat, sha256 = _read_file(file, file, stream.write, reach)
    if stat.st_size > max_bytes or _links(file, None, target):
        return None
    return FileStamp.of(stat, began), sha256


@dataclass(slots=True)
class PrivateCopy:
    """A private copy of a file, with the hash ``sha256`` of its bytes.

    Reading in place is not safe: several processes open the file many times during minutes. Meanwhile it may be
    replaced, and even restored. Size, times and inode are too coarse to detect this. The copy is made while the file is
    hashed.
    """

    path: Path
    sha256: str
    stat: os.stat_result
    _uses: int = 1
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def lend(self, task: Future[object]) -> None:
        """Keep the copy until a task has ended, even if its creator releases it earlier."""
        with self._lock:
            self._uses += 1
        task.add_done_callback(lambda _: self.release())

    def release(self) -> None:
        with self._lock:
            self._uses -= 1
            if not self._uses:
                shutil.rmtree(self.path.parent, ignore_errors=True)


@contextmanager
def private_copy(file: Path, folder: Path, at: Path | None = None) -> Iterator[PrivateCopy]:
    """Copy a file and the pictures that it shows to ``folder`` while hashing them, and yield the copy.

    Errors about the copy name the original file. ``at`` is the location of the bytes, if not the file's own path. Raise
    DocumentError if it cannot be read or copied, ChangedError if it keeps changing.
    """
    place = folder / uuid.uuid4().hex
    target = place / file.name
    try:
        try:
            place.mkdir()
            with target.open("xb") as stream:
                stat, sha256 = _read_file(file, at or file, stream.write)
            pictures = []
            for name, picture in pictures_beside(file.parent, _links(file, at, target)):
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                with (place / name).open("xb") as stream:
                    pictures.append((name, _read_file(file, picture, stream.write)[1]))
        except OSError as error:
            message = f"the file cannot be copied to {folder} for reading ({error.strerror})."
            raise DocumentError(
                message, "Free some space on that disk, or choose another home folder.", file=file
            ) from error
        copy = PrivateCopy(target, _with(sha256, pictures), stat)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    try:
        yield copy
    except DocumentError as error:
        error.name_original(target, file)
        raise
    finally:
        copy.release()


def _links(file: Path, at: Path | None, text: Path) -> list[str]:
    """Return the links in ``text`` to pictures in the file's folder."""
    format = of_suffix(file.suffix)
    if format is None or not format.reads_siblings or at not in (None, file):
        return []
    with _readable(file):
        return local_links(text)


def _with(sha256: str, pictures: Sequence[tuple[str, str]]) -> str:
    """Return one hash for the bytes of a file and of its pictures."""
    names = "".join(f"\n{name}\0{hash}" for name, hash in pictures)
    return hashlib.sha256(f"{sha256}{names}".encode("utf-8", "surrogateescape")).hexdigest() if pictures else sha256


def changed(file: Path) -> ChangedError:
    return ChangedError(
        "the file changed while it was read.", "Index the file again when no other program is writing to it.", file=file
    )


def system_stat(file: Path) -> os.stat_result | None:
    """Return a file's status from the operating system, None if it is not available."""
    try:
        return file.stat()
    except OSError:
        return None


def size(file: Path) -> int:
    """Return a file's size in bytes; 0 if it cannot be read."""
    status = system_stat(file)
    return 0 if status is None else status.st_size


def _read_file(
    file: Path, at: Path, write: Callable[[memoryview], object], reach: Reach | None = None
) -> tuple[os.stat_result, str]:
    digest, buffer = hashlib.sha256(), memoryview(bytearray(_CHUNK))
    with _readable(file):
        stream = open(at, "rb", buffering=0, opener=_opened)  # noqa: SIM115 - as a context below
    with stream:
        status = os.fstat(stream.fileno())
        if not S_ISREG(status.st_mode):
            raise DocumentError("this is a special file, such as a device or a pipe, not a regular file.", file=file)
        if reach is not None and not reach.allows_open(at, stream.fileno()):
            raise DocumentError(OUTSIDE, file=file)
        while True:
            with _readable(file):
                got = stream.readinto(buffer)
            if not got:
                break
            digest.update(buffer[:got])
            write(buffer[:got])
    now = system_stat(at)
    if now is None or _identity(now) != _identity(status):
        raise changed(file)
    return status, digest.hexdigest()


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DocumentError(f"the file cannot be read ({error.strerror}).", file=file) from error


def _identity(stat: os.stat_result) -> tuple[int, ...]:
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def _opened(path: str, flags: int) -> int:
    """Open a file and return its descriptor. Do not wait if the file has been replaced by a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _ignored(_: memoryview) -> None:
    return None
