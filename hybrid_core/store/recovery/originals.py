"""Uploaded files of a home that its salvaged catalog does not name any more: they get a name again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath

from sqlalchemy import Connection, insert, select, text

from hybrid_core.store.catalog import schema
from hybrid_core.store.catalog.libraries import all_libraries
from hybrid_core.store.catalog.originals import kept_files
from hybrid_core.store.catalog.rows import now
from hybrid_core.types.addresses import UPLOAD, containers, is_upload
from hybrid_core.types.libraries import library_called

RECOVERED = "recovered"
"""The library of files of which it is not known where they belong."""

HASH = 64  # characters of the SHA-256 that a kept file's name begins with
SHOWN = 12  # of them, in the name of a file whose name is lost
_DOCUMENT = text(
    "SELECT d.library, d.path FROM documents d JOIN contents c ON c.content_id = d.content_id WHERE c.sha256 = :sha256 "
    "AND NOT EXISTS (SELECT 1 FROM originals o WHERE o.library = d.library AND o.path = d.path)"
)
_CITED = text(
    "SELECT library, doc_name FROM citations WHERE sha256 = :sha256 AND library IN (SELECT id FROM libraries)"
)


def name_originals(connection: Connection, names: Sequence[str]) -> int:
    """Give each kept file that no row of ``originals`` names one: that of its document, else a new one to be indexed.
    Returns how many had none.
    """
    unnamed = sorted(set(names) - kept_files(connection))
    for name in unnamed:
        for library, path in _places(connection, name):
            inside = containers(path)
            values = {"library": library, "path": path, "container": inside[-1] if inside else "", "file": name}
            connection.execute(insert(schema.originals).values(**values))
    return len(unnamed)


def _places(connection: Connection, name: str) -> list[tuple[str, str]]:
    """Return the libraries and addresses of a kept file."""
    sha256 = name[:HASH]
    documents = [tuple(row) for row in connection.execute(_DOCUMENT, {"sha256": sha256})]
    places = [(library, path) for library, path in documents if is_upload(path) or not Path(path).exists()]
    if places:
        return places
    cited = connection.execute(_CITED, {"sha256": sha256}).first()
    if cited is None:
        library, called = _recovered(connection), sha256[:SHOWN] + PurePath(name).suffix
    else:
        library, called = cited.library, cited.doc_name.replace("!/", "-")
    return [(library, _free(connection, library, called))]


def _free(connection: Connection, library: str, called: str) -> str:
    """Return an address of this name that no upload of the library has."""
    columns = schema.originals.c
    taken = set(connection.scalars(select(columns.path).where(columns.library == library)))
    stem, suffix = PurePath(called).stem, PurePath(called).suffix
    path, number = UPLOAD + called, 1
    while path in taken:
        number += 1
        path = f"{UPLOAD}{stem}-{number}{suffix}"
    return path


def _recovered(connection: Connection) -> str:
    """Return the id of the library for files of unknown places. Create it if it is missing."""
    libraries = all_libraries(connection)
    library = library_called(RECOVERED, libraries)
    if library is not None:
        return library.id
    values = {"id": RECOVERED, "name": RECOVERED, "alias": "", "created_at": now()}
    connection.execute(insert(schema.libraries).values(**values))
    return RECOVERED
