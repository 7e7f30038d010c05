"""What is indexed and is no file of the user's: bytes that a caller holds, files of the web. The home keeps them."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hybrid_core.errors import DocumentError, UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.originals import Original
from hybrid_core.types.addresses import UPLOAD
from hybrid_core.types.requests import several
from hybrid_pageindex.config.settings import Settings

_URL = re.compile(r"https?://", re.I)
_LONGEST = 1000  # characters of a name with its folders


@dataclass(frozen=True, slots=True)
class Upload:
    """Bytes to index, or a file of them on the home's disk, which is taken away unless it ``stays``. The ending of
    ``name`` tells what they are where they do not tell themselves; folders in it are kept.
    """

    name: str
    data: bytes | Path
    stays: bool = False

    @property
    def address(self) -> str:
        """What its document is called. Raises UsageError for a name that cannot be one."""
        return UPLOAD + _file_name(self.name)


def to_index(given: Sequence[str | Path] | str | Path | bytes, name: str | None) -> tuple[str | Upload, ...]:
    """What a call names to be indexed. Raises UsageError where bytes have no name, or a name no bytes."""
    if isinstance(given, bytes | bytearray | memoryview):
        if not name:
            raise UsageError("These bytes have no name.", "Name what they are, for example name='notes.md'.")
        return (Upload(name, bytes(given)),)
    if name is not None:
        raise UsageError("A name is given to bytes alone.", "Leave it out: files have their own.")
    return several(given)


def local_paths(given: Sequence[str | Path | Upload]) -> list[str]:
    """Those that are paths of the user's own."""
    return [str(one) for one in given if not isinstance(one, Upload) and not _URL.match(str(one))]


def uploads_of(given: Sequence[str | Path]) -> list[Upload]:
    """The files that these paths name, to be kept where every machine finds them; those of a folder by its name."""
    from indexers.files.discover import discover

    found: list[Upload] = []
    for path in given:
        inside = discover([path])
        if inside.problems:
            where, why = inside.problems[0]
            raise UsageError(f"{where}: {why}", "Name files and folders that are there.")
        for root in inside.roots:
            beside = root.parent
            found += [
                Upload(file.relative_to(beside).as_posix(), file, stays=True)
                for file in inside.files
                if file == root or file.is_relative_to(root)
            ]
    return found


def take_in(
    catalog: Catalog, library: str, given: Sequence[str | Path | Upload], settings: Settings
) -> tuple[list[str], list[tuple[str, str]]]:
    """Paths to index, those of uploads and web pages being addresses; and what could not be fetched, and why.

    Raises UsageError for a web address where the settings allow none.
    """
    paths: list[str] = []
    problems: list[tuple[str, str]] = []
    for one in given:
        if isinstance(one, Upload):
            paths.append(_kept(catalog, library, one.address, one.data, settings, stays=one.stays))
        elif _URL.match(url := str(one)):
            try:
                paths.append(_fetched(catalog, library, url, settings))
            except DocumentError as error:
                problems.append((url, str(error).removeprefix(f"{url}: ")))
        else:
            paths.append(str(one))
    return paths, problems


def _fetched(catalog: Catalog, library: str, url: str, settings: Settings) -> str:
    if settings.fetch_web == "never":
        advice = "Allow it with the setting fetch_web: public, or save it to a file."
        raise UsageError(f"{url}: files of the web are not fetched.", advice)
    from hybrid_pageindex.services.fetching import fetch

    found = fetch(url, settings.max_download_size)
    return _kept(catalog, library, found.address, found.data, settings)


def _file_name(name: str) -> str:
    from indexers.formats.members import own_name

    cleaned = own_name(name)
    if not cleaned or len(cleaned) > _LONGEST:
        raise UsageError(f"'{name[:100]}' is no name.", "Name what is indexed, for example notes.md.")
    return cleaned


def _kept(
    catalog: Catalog, library: str, address: str, data: bytes | Path, settings: Settings, *, stays: bool = False
) -> str:
    catalog.ensure_library(library)
    from hybrid_core.store.scratch import scratch_folder  # with filelock, which a search does not need

    with scratch_folder(settings.storage_path / "tmp") as folder:
        file = Path(folder, "upload")
        if isinstance(data, Path) and stays:
            shutil.copyfile(data, file)
        elif isinstance(data, Path):
            data.replace(file)
        else:
            file.write_bytes(data)
        with file.open("rb") as bytes_of_it:
            sha256 = hashlib.file_digest(bytes_of_it, "sha256").hexdigest()
        catalog.keep(library, "", [Original(address, "", file, sha256)])
    return address
