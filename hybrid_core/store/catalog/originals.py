"""Bytes that the home keeps, because no file of the user's holds them: members, uploads, web pages.

Each file is kept once however many documents have its bytes, as long as one has.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, insert, select

from hybrid_core.store.catalog import schema
from hybrid_core.types.addresses import is_address, shown_name

if TYPE_CHECKING:
    from hybrid_core.store.objects.objects import Objects

_SUFFIX = re.compile(r"\.[a-z0-9]{1,10}")


@dataclass(frozen=True, slots=True)
class Original:
    """``path`` is the address of a document, ``container`` that of what it lies in ("" for none). ``file`` holds the
    bytes that ``sha256`` is the hash of, in the home's ``tmp``: it is moved from there.
    """

    path: str
    container: str
    file: Path
    sha256: str

    @property
    def name(self) -> str:
        """What its file is called where it is kept: programs tell by the ending what it is."""
        suffix = PurePath(self.path).suffix.lower()
        return self.sha256 + (suffix if _SUFFIX.fullmatch(suffix) else "")


def original_file(connection: Connection, library: str, path: str) -> str | None:
    """The name under which a document's bytes are kept; None where they are not."""
    known = schema.originals.c
    found: str | None = connection.scalar(select(known.file).where(known.library == library, known.path == path))
    return found


def kept_files(connection: Connection) -> set[str]:
    """The names of all that is kept."""
    return set(connection.scalars(select(schema.originals.c.file).distinct()))


def is_member(connection: Connection, library: str, path: str) -> bool:
    """Whether it is the address of what lies in a container, and not the path of a file in a folder «wow!»."""
    known = schema.originals.c
    mine = (known.library == library, known.path == path, known.container != "")
    return is_address(path) and connection.scalar(select(known.file).where(*mine)) is not None


def document_name(connection: Connection, library: str, path: str) -> str:
    return shown_name(path) if is_member(connection, library, path) else PurePath(path).name


def members(connection: Connection, library: str, container: str) -> list[str]:
    """The addresses of what a container holds, and of what that holds, by address."""
    known, found, left = schema.originals.c, list[str](), [container]
    while left:
        mine = (known.library == library, known.container == left.pop())
        inside = connection.scalars(select(known.path).where(*mine)).all()
        found += inside
        left += inside
    return sorted(found)


def add_originals(connection: Connection, objects: Objects, library: str, found: Sequence[Original]) -> set[str]:
    """Keep these, each in the place of what had its address. Returns the names of files that may not be used now."""
    for one in found:
        objects.keep(one.name, one.file)
    unused = drop_originals(connection, library, [one.path for one in found])
    for one in found:
        values = {"library": library, "path": one.path, "container": one.container, "file": one.name}
        connection.execute(insert(schema.originals).values(values))
    return unused


def drop_originals(connection: Connection, library: str, paths: Iterable[str]) -> set[str]:
    """Forget what is kept for these addresses. Returns the names of files that may not be used now."""
    known, files = schema.originals.c, set[str]()
    for path in paths:
        mine = (known.library == library, known.path == path)
        files.update(connection.scalars(select(known.file).where(*mine)))
        connection.execute(delete(schema.originals).where(*mine))
    return files


def used(connection: Connection, files: Collection[str]) -> set[str]:
    """Those of these files, a thousand at most, that a document uses."""
    known = schema.originals.c
    return set(connection.scalars(select(known.file).where(known.file.in_(files)).distinct()))
