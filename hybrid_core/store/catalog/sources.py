"""The sources of libraries, and the files that somebody took out of a library and that are not to come back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from hybrid_core.errors import UsageError
from hybrid_core.store.catalog import schema
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.libraries import outside_bin
from hybrid_core.store.damage import Decoding
from hybrid_core.store.text import to_json
from hybrid_core.types.sources import Source

_known = schema.sources.c
_excluded = schema.exclusions.c


def all_sources(catalog: Catalog, library: str | None = None) -> list[Source]:
    """Those of a library, or of all, by library and path."""
    with catalog.reading() as connection:
        return _sources(connection, library)


def watched_sources(catalog: Catalog, library: str | None = None, machine: str = "") -> dict[tuple[str, ...], Source]:
    """Those of a machine that are watched, by what tells them from others of the same place: after a library was
    cleared they are not those of before.
    """
    born = select(schema.libraries.c.id, schema.libraries.c.created_at)
    with catalog.reading() as connection:
        catalog_id = connection.scalar(select(schema.meta.c.value).where(schema.meta.c.key == "catalog")) or ""
        created = {row.id: row.created_at for row in connection.execute(born)}
        found = [one for one in _sources(connection, library) if one.watch and one.belongs_to(machine)]
    return {(catalog_id, created[one.library], one.library, one.path, one.watch): one for one in found}


def exclusions(catalog: Catalog, library: str) -> frozenset[str]:
    """Paths of files that somebody removed from a library."""
    with catalog.reading() as connection:
        return _exclusions(connection, library)


def remember(catalog: Catalog, library: str, sources: Sequence[Source]) -> None:
    """Add sources to a library, or renew what is known of them; whether they are watched stays. A file that lies in a
    folder of the same options needs no row. Files of theirs that were removed by hand may come back.
    """
    with catalog.reading() as connection:
        if not any(_renewal(connection, library, sources)):
            return
    with catalog.writing() as connection:
        old, new, back = _renewal(connection, library, sources)
        _delete(connection, library, [*old, *(one.path for one in new)])
        for one in new:
            connection.execute(insert(schema.sources).values(library=library, path=one.path, **_values(one)))
        _each(connection, delete(schema.exclusions).where(_excluded.library == library), _excluded.path, back)


def _renewal(
    connection: Connection, library: str, sources: Sequence[Source]
) -> tuple[set[str], list[Source], set[str]]:
    """Which rows go, which come or change, and which files come back."""
    before = {one.path: one for one in _sources(connection, library)}
    given = {
        one.path: replace(one, watch=old.watch, mounts=old.mounts) if (old := before.get(one.path)) else one
        for one in sources
    }
    after = before | given
    wide = [one for one in after.values() if one.kind != "file"]
    covered = {
        path
        for path, one in after.items()
        if one.kind == "file" and any(other.options == one.options and other.holds(path) for other in wide)
    }
    new = [one for path, one in given.items() if path not in covered and before.get(path) != one]
    back = {path for path in _exclusions(connection, library) if any(one.holds(path) for one in sources)}
    return covered & before.keys(), new, back


def others_sources(catalog: Catalog, library: str, machine: str) -> list[Source]:
    """Those whose files lie on other machines, at paths of theirs."""
    return [one for one in all_sources(catalog, library) if not one.belongs_to(machine)] if machine else []


def check_machine(catalog: Catalog, library: str, paths: Iterable[str], machine: str) -> None:
    """Raises UsageError where one of these paths holds, or lies in, what another machine has at the same path: it would
    take the place of that machine's documents.
    """
    others = others_sources(catalog, library, machine)
    for path in paths if others else ():
        for one in others:
            if one.meets(path):
                raise UsageError(
                    f"{path} is known of the machine {one.machine}.",
                    f"Index it there, or into another library; set PAGEINDEX_MACHINE={one.machine} "
                    "where both see the same files, or upload it (index --upload).",
                )


def set_watch(catalog: Catalog, source: Source) -> None:
    """Watch a source as it says, or no longer; one that is not known yet is added."""
    with catalog.writing() as connection:
        here = (_known.library == source.library) & (_known.path == source.path)
        if not connection.execute(update(schema.sources).where(here).values(watch=source.watch)).rowcount:
            values = {"library": source.library, "path": source.path, **_values(source)}
            connection.execute(insert(schema.sources).values(**values))


def note_mounts(catalog: Catalog, source: Source, mounts: Mapping[str, str]) -> None:
    """Record which file systems a source's documents lie on."""
    here = (_known.library == source.library) & (_known.path == source.path)
    with catalog.writing() as connection:
        connection.execute(update(schema.sources).where(here).values(mounts=to_json(dict(mounts))))


def forget_sources(catalog: Catalog, library: str, paths: Iterable[str]) -> None:
    """Forget sources; their documents stay."""
    with catalog.writing() as connection:
        _delete(connection, library, paths)


def exclude(catalog: Catalog, library: str, paths: Iterable[str]) -> None:
    """Documents were removed by hand: their files are no sources any more, and no source brings them back."""
    gone = set(paths)
    with catalog.writing() as connection:
        _delete(connection, library, gone)
        sources = _sources(connection, library)
        for path in gone - _exclusions(connection, library):
            if any(one.holds(path) for one in sources):
                connection.execute(insert(schema.exclusions).values(library=library, path=path))


@Decoding("a source")
def _sources(connection: Connection, library: str | None) -> list[Source]:
    query = select(schema.sources).where(outside_bin(_known.library)).order_by(_known.library, _known.path)
    found = connection.execute(query if library is None else query.where(_known.library == library))
    return [
        Source(row.library, row.path, row.kind, json.loads(row.options), row.watch, json.loads(row.mounts), row.machine)
        for row in found
    ]


def _exclusions(connection: Connection, library: str) -> frozenset[str]:
    return frozenset(connection.scalars(select(_excluded.path).where(_excluded.library == library)))


def _values(source: Source) -> dict[str, Any]:
    options, mounts = to_json(dict(sorted(source.options.items()))), to_json(dict(source.mounts))
    return {
        "kind": source.kind, "options": options, "watch": source.watch, "mounts": mounts, "machine": source.machine
    }  # fmt: skip


def _delete(connection: Connection, library: str, paths: Iterable[str]) -> None:
    _each(connection, delete(schema.sources).where(_known.library == library), _known.path, paths)


def _each(connection: Connection, statement: Any, column: Any, values: Iterable[str]) -> None:
    """A statement for each value of a column, as one prepared call."""
    if rows := [{"value": value} for value in values]:
        connection.execute(statement.where(column == bindparam("value")), rows)
