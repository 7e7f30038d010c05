"""Files embedded in Word, PowerPoint and Excel files: workbooks, documents, packages of OLE."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from hybrid_core.errors import DocumentError
from indexers.formats.flow.safety import Package
from indexers.formats.limits import ParseLimits
from indexers.formats.members import Member
from indexers.formats.office.ooxml import relations

_FOLDERS = ("/embeddings/", "/embedded/")
_STREAMS = {"WordDocument": ".doc", "PowerPoint Document": ".ppt", "Workbook": ".xls", "Book": ".xls",
            "__properties_version1.0": ".msg"}  # fmt: skip
_PARTS = (("word/", ".docx"), ("ppt/", ".pptx"), ("xl/", ".xlsx"))
_HEAD = 4096


def office_members(path: Path, limits: ParseLimits) -> Iterator[Member]:
    """List what is embedded in a package, but for the workbooks of charts, whose values stand on the page.

    Raises as ``Package``.
    """
    package = Package(path, limits)
    try:
        names = [name for name in package.names if any(folder in f"/{name}" for folder in _FOLDERS)]
        names = [name for name in names if "/_rels/" not in name and not name.endswith("/")]
        charts = set(_of_charts(package)) if names else set()
        entries = [_named(package, name) for name in names if name not in charts]
    finally:
        package.close()
    for name, shown in entries:
        yield Member(shown, partial(_content, path, limits, name))


def _of_charts(package: Package) -> Iterator[str]:
    for name in package.names:
        if "/charts/" in name and name.endswith(".xml") and "/_rels/" not in name:
            try:
                yield from (target for kind, target in relations(package, name).values() if kind == "package")
            except DocumentError:
                continue  # a damaged list names no workbook


def _named(package: Package, name: str) -> tuple[str, str]:
    """An entry, and what it is called: its own name where it has one."""
    path = PurePosixPath(name)
    if path.suffix.lower() not in (".bin", ".ole"):
        return name, path.name
    try:
        label, data = _unwrapped(package.read(name))
    except DocumentError:
        return name, path.name  # its reader says what is wrong
    return name, label or f"{path.stem}{_ending(data)}"


def _content(path: Path, limits: ParseLimits, name: str) -> list[bytes]:
    package = Package(path, limits)
    try:
        return [_unwrapped(package.read(name))[1]]
    finally:
        package.close()


def _unwrapped(data: bytes) -> tuple[str, bytes]:
    """The name, "" where none is stored, and the bytes of the file that an OLE object holds; others as they are."""
    import olefile

    if not data.startswith(olefile.MAGIC):
        return "", data
    try:
        with olefile.OleFileIO(io.BytesIO(data)) as ole:
            for stream in ("Package", "EmbeddedOdf", "CONTENTS"):
                if ole.exists(stream):
                    inside: bytes = ole.openstream(stream).read()
                    if stream != "CONTENTS" or inside.startswith(b"%PDF"):
                        return "", inside
            if ole.exists("\x01Ole10Native"):
                return _native(ole.openstream("\x01Ole10Native").read())
    except (OSError, ValueError, IndexError) as error:
        raise DocumentError("damaged, it cannot be opened as an object of OLE.") from error
    return "", data


def _native(data: bytes) -> tuple[str, bytes]:
    """A file that the Packager of Windows wrapped: sizes and names before its bytes."""
    if data[4:6] != b"\x02\0":
        return "", data[4:]
    label, _, rest = data[6:].partition(b"\0")
    rest = rest.partition(b"\0")[2][4:]  # the path it came from, and what it is
    size = int.from_bytes(rest[:4], "little")
    rest = rest[4 + size :]
    size = int.from_bytes(rest[:4], "little")
    return PurePosixPath(label.decode("cp1252", "replace").replace("\\", "/")).name, rest[4 : 4 + size]


def _ending(data: bytes) -> str:
    """The ending of a file without a name, by what it holds."""
    import olefile

    if data.startswith(b"%PDF"):
        return ".pdf"
    if data.startswith(b"{\\rtf"):
        return ".rtf"
    try:
        if data.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(data)) as package:
                return _packed(package)
        if data.startswith(olefile.MAGIC):
            with olefile.OleFileIO(io.BytesIO(data)) as ole:
                return next((ending for stream, ending in _STREAMS.items() if ole.exists(stream)), ".bin")
    except (zipfile.BadZipFile, OSError, ValueError, IndexError):
        pass  # damaged: it keeps the ending of what it is not
    return ".bin"


def _packed(package: Any) -> str:
    names = package.namelist()
    if "mimetype" in names:
        kind = package.read("mimetype")[:_HEAD]
        return next(
            (
                f".{end}"
                for end, word in (("ods", b"sheet"), ("odp", b"presentation"), ("odt", b"text"))
                if word in kind
            ),
            ".zip",
        )
    return next((ending for folder, ending in _PARTS if any(name.startswith(folder) for name in names)), ".zip")
