"""Libraries: ids, names and aliases, their sources, and files excluded from them."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, insert, select, update

from hybrid_core.errors import Advice, ConflictError, UsageError
from hybrid_core.store.catalog import schema
from hybrid_core.store.catalog.rows import now
from hybrid_core.store.database import Decoding
from hybrid_core.store.tables import to_json
from hybrid_core.types.libraries import Library, library_called, no_library
from hybrid_core.types.sources import Source

if TYPE_CHECKING:
    from hybrid_core.store.database import TransactionalStore


BINNED = "bin:"
"""The prefix of the keys in ``meta`` of libraries in the bin."""
REMOVALS = "removals"
"""The counter of removals into the bin. A library that was restored and removed again has the same id."""
RENEWED = "~"
"""The separator in ids before the number of a library whose first name another library had before. No name
contains it.
"""
_PLAIN = re.compile(r"[^\W_][\w.\- ]{0,63}")  # a name that serves as the id
_MAX_LENGTH = 100  # maximum length of a name
# Unicode categories of characters that a name may not contain
_INVISIBLE_CATEGORIES = frozenset(("Cc", "Cs", "Zl", "Zp"))
_source = schema.sources.c
_exclusion = schema.exclusions.c


class Writable(Protocol):
    """The methods of a catalog that the functions in this module use."""

    def writing(self) -> AbstractContextManager[Connection]: ...


def create_library(catalog: Writable, name: str, *, alias: str = "", library: str | None = None) -> Library:
    """Create a library. ``library`` is its id, by default the one from ``new_id``.

    Return the existing library if the id exists. Raise UsageError for a name that is invalid or in use.
    """
    check_name(name)
    with catalog.writing() as connection:
        libraries = all_libraries(connection)
        new = Library(library or new_id(name, library_ids(connection)), name, alias)
        if existing := next((other for other in libraries if other.id == new.id), None):
            return existing
        for value in filter(None, (name, alias)):
            check_name(value)
            _check_free(value, libraries)
        values = {"id": new.id, "name": name, "alias": alias, "created_at": now()}
        connection.execute(insert(schema.libraries).values(**values))
    return new


def name_library(catalog: Writable, library: str, *, name: str | None = None, alias: str | None = None) -> Library:
    """Change the name of a library, its alias ("" removes it), or both. Its documents are unaffected.

    Raise NotFoundError for an unknown id. Raise UsageError for a name that is invalid or in use.
    """
    changed = {"name": name, "alias": alias}
    values = {column: value for column, value in changed.items() if value is not None}
    with catalog.writing() as connection:
        libraries = all_libraries(connection)
        if library not in [other.id for other in libraries]:
            raise no_library(library, libraries)
        for value in values.values():
            if value or value is name:
                check_name(value)
                _check_free(value, [other for other in libraries if other.id != library])
        if values:
            connection.execute(update(schema.libraries).where(schema.libraries.c.id == library).values(**values))
        return next(other for other in all_libraries(connection) if other.id == library)


def new_id(name: str, taken: list[str]) -> str:
    """Return an unused id for a new library. It is derived from the name, so that equal names in two homes give one id.

    Characters that are not allowed in folder names and addresses become hyphens. A number is added if the id is taken.
    """
    if not _PLAIN.fullmatch(name):
        name = re.sub(r"^[\W_]+|[\W_]+$", "", re.sub(r"[^\w.\- ]+", "-", name))[:64] or "library"
    ids = [name, *(f"{name}{RENEWED}{number}" for number in range(2, len(taken) + 3))]
    return next(candidate for candidate in ids if candidate not in taken)


def all_libraries(connection: Connection) -> list[Library]:
    """Return the libraries in the order of their names, without those in the bin."""
    return [Library(row.id, row.name, row.alias) for row in connection.execute(_LIBRARIES)]


def library_ids(connection: Connection) -> list[str]:
    """Return the ids of all libraries, including those in the bin."""
    return list(connection.scalars(select(schema.libraries.c.id)))


def outside_bin(library: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the SQL condition that a library is not in the bin. ``library`` is the column with its id."""
    hidden = select(func.substr(schema.meta.c.key, len(BINNED) + 1)).where(schema.meta.c.key.startswith(BINNED))
    return library.not_in(hidden)


_LIBRARIES = (
    select(schema.libraries.c.id, schema.libraries.c.name, schema.libraries.c.alias)
    .where(outside_bin(schema.libraries.c.id))
    .order_by(schema.libraries.c.name)
)


def check_name(name: str) -> None:
    """Raise UsageError for a name that is empty, too long, or contains invisible characters."""
    unseen = any(unicodedata.category(character) in _INVISIBLE_CATEGORIES for character in name)
    if unseen or name != name.strip() or len(name) > _MAX_LENGTH or not name.strip("."):
        raise UsageError(
            f"'{name[: 2 * _MAX_LENGTH]}' cannot be a library's name.",
            f"Use up to {_MAX_LENGTH} characters, without line breaks, and without spaces at the start or the end.",
        )


def _check_free(name: str, others: list[Library]) -> None:
    holder = library_called(name, others)
    if holder is not None:
        label = f"'{holder.name}'" + (f" (alias '{holder.alias}')" if holder.alias else "")
        raise ConflictError(
            f"A library named {label} already exists.",
            "Choose another name. Names that differ only in upper case or character width count as equal.",
        )


def all_sources(catalog: TransactionalStore, library: str | None = None) -> list[Source]:
    """Return the sources of a library, or of all libraries if it is None, ordered by library and path."""
    with catalog.reading() as connection:
        return _sources(connection, library)


def watched_sources(
    catalog: TransactionalStore, library: str | None = None, machine: str = ""
) -> dict[tuple[str, ...], Source]:
    """Return the watched sources of a machine by a key: catalog, creation time of the library, library, path, mode.

    So the key changes when a library is cleared and created again.
    """
    born = select(schema.libraries.c.id, schema.libraries.c.created_at)
    with catalog.reading() as connection:
        catalog_id = connection.scalar(select(schema.meta.c.value).where(schema.meta.c.key == "catalog")) or ""
        created = {row.id: row.created_at for row in connection.execute(born)}
        watched = [source for source in _sources(connection, library) if source.watch and source.belongs_to(machine)]
    return {
        (catalog_id, created[source.library], source.library, source.path, source.watch): source for source in watched
    }


def exclusions(catalog: TransactionalStore, library: str) -> frozenset[str]:
    """Return the paths of files that users removed from a library."""
    with catalog.reading() as connection:
        return _exclusions(connection, library)


def remember(catalog: TransactionalStore, library: str, sources: Sequence[Source]) -> None:
    """Add sources to a library, or update their options. Whether a source is watched does not change.

    A file inside a source folder with the same options is not added. Files of these sources that users removed may be
    indexed again.
    """
    with catalog.reading() as connection:
        if not any(_renewal(connection, library, sources)):
            return
    with catalog.writing() as connection:
        old, new, back = _renewal(connection, library, sources)
        _delete(connection, library, [*old, *(source.path for source in new)])
        for source in new:
            connection.execute(insert(schema.sources).values(library=library, path=source.path, **_values(source)))
        _each(connection, delete(schema.exclusions).where(_exclusion.library == library), _exclusion.path, back)


def _renewal(
    connection: Connection, library: str, sources: Sequence[Source]
) -> tuple[set[str], list[Source], set[str]]:
    """Determine the changes of the database when sources are added to a library.

    Return the paths of rows to delete, the sources to write, and the paths that are no longer excluded.
    """
    before = {source.path: source for source in _sources(connection, library)}
    renewed = {
        source.path: replace(source, watch=old.watch, mounts=old.mounts) if (old := before.get(source.path)) else source
        for source in sources
    }
    after = before | renewed
    wide = [source for source in after.values() if source.kind != "file"]
    covered = {
        path
        for path, source in after.items()
        if source.kind == "file" and any(other.options == source.options and other.holds(path) for other in wide)
    }
    new = [source for path, source in renewed.items() if path not in covered and before.get(path) != source]
    back = {path for path in _exclusions(connection, library) if any(source.holds(path) for source in sources)}
    return covered & before.keys(), new, back


def others_sources(catalog: TransactionalStore, library: str, machine: str) -> list[Source]:
    """Return the sources of a library that belong to other machines than ``machine``."""
    return [source for source in all_sources(catalog, library) if not source.belongs_to(machine)] if machine else []


def check_machine(catalog: TransactionalStore, library: str, paths: Iterable[str], machine: str) -> None:
    """Raise UsageError if a path to index overlaps a source that belongs to another machine.

    The documents below the path would replace those of the other machine.
    """
    others = others_sources(catalog, library, machine)
    for path in paths if others else ():
        for source in others:
            if source.meets(path):
                raise UsageError(
                    f"{path} was indexed on the machine '{source.machine}'. This machine may have a "
                    "different file at that path.",
                    Advice(
                        "Index the file on that machine, index it into another library, or upload it. If both "
                        f"machines see the same files, set PAGEINDEX_MACHINE={source.machine}.",
                        "Index the file on that machine, index it into another library, or upload it with "
                        "index --upload. If both machines see the same files, set "
                        f"PAGEINDEX_MACHINE={source.machine}.",
                    ),
                )


def set_watch(catalog: TransactionalStore, source: Source) -> None:
    """Set whether and how a source is watched. An unknown source is added."""
    with catalog.writing() as connection:
        condition = (_source.library == source.library) & (_source.path == source.path)
        if not connection.execute(update(schema.sources).where(condition).values(watch=source.watch)).rowcount:
            values = {"library": source.library, "path": source.path, **_values(source)}
            connection.execute(insert(schema.sources).values(**values))


def note_mounts(catalog: TransactionalStore, source: Source, mounts: Mapping[str, str]) -> None:
    """Record the file systems of a source's documents, by mount point."""
    condition = (_source.library == source.library) & (_source.path == source.path)
    with catalog.writing() as connection:
        connection.execute(update(schema.sources).where(condition).values(mounts=to_json(dict(mounts))))


def forget_sources(catalog: TransactionalStore, library: str, paths: Iterable[str]) -> None:
    """Delete sources from a library. Their documents stay."""
    with catalog.writing() as connection:
        _delete(connection, library, paths)


def exclude(catalog: TransactionalStore, library: str, paths: Iterable[str]) -> None:
    """Exclude files that a user removed from a library, so that no source adds them again."""
    gone = set(paths)
    with catalog.writing() as connection:
        _delete(connection, library, gone)
        sources = _sources(connection, library)
        for path in gone - _exclusions(connection, library):
            if any(source.holds(path) for source in sources):
                connection.execute(insert(schema.exclusions).values(library=library, path=path))


@Decoding("a source")
def _sources(connection: Connection, library: str | None) -> list[Source]:
    query = select(schema.sources).where(outside_bin(_source.library)).order_by(_source.library, _source.path)
    result = connection.execute(query if library is None else query.where(_source.library == library))
    return [
        Source(row.library, row.path, row.kind, json.loads(row.options), row.watch, json.loads(row.mounts), row.machine)
        for row in result
    ]


def _exclusions(connection: Connection, library: str) -> frozenset[str]:
    return frozenset(connection.scalars(select(_exclusion.path).where(_exclusion.library == library)))


def _values(source: Source) -> dict[str, Any]:
    options, mounts = to_json(dict(sorted(source.options.items()))), to_json(dict(source.mounts))
    return {
        "kind": source.kind, "options": options, "watch": source.watch, "mounts": mounts, "machine": source.machine
    }  # fmt: skip


def _delete(connection: Connection, library: str, paths: Iterable[str]) -> None:
    _each(connection, delete(schema.sources).where(_source.library == library), _source.path, paths)


def _each(connection: Connection, statement: Any, column: Any, values: Iterable[str]) -> None:
    """Execute a statement once for each value, with the condition that ``column`` has the value, in one call."""
    if rows := [{"value": value} for value in values]:
        connection.execute(statement.where(column == bindparam("value")), rows)
