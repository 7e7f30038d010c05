"""Libraries created, renamed and given an alias."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from typing import Protocol

from sqlalchemy import Connection, insert, select, update

from hybrid_core.errors import ConflictError, UsageError
from hybrid_core.store.catalog import schema
from hybrid_core.store.catalog.rows import now
from hybrid_core.types.libraries import Library, library_called, no_library

RENEWED = "~"
"""In ids, before the number of a library whose first name another one had before; in no name."""
_NAME = re.compile(r"[^\W_][\w.\- ]{0,63}")


class Writable(Protocol):
    """A catalog, as far as libraries need one."""

    def writing(self) -> AbstractContextManager[Connection]: ...


def create_library(catalog: Writable, name: str, *, alias: str = "", library: str | None = None) -> Library:
    """A new library, by default of the id that ``new_id`` gives. Where another process made it meanwhile, that one.

    Raises UsageError for a name that cannot be one, or that another library has.
    """
    check_name(name)
    with catalog.writing() as connection:
        known = all_libraries(connection)
        made = Library(library or new_id(name, [one.id for one in known]), name, alias)
        if there := next((one for one in known if one.id == made.id), None):
            return there
        for value in filter(None, (name, alias)):
            check_name(value)
            _check_free(value, known)
        values = {"id": made.id, "name": name, "alias": alias, "created_at": now()}
        connection.execute(insert(schema.libraries).values(**values))
    return made


def name_library(catalog: Writable, library: str, *, name: str | None = None, alias: str | None = None) -> Library:
    """Give a library another name, another alias ("" takes it away), or both; its documents stay where they are.

    Raises NotFoundError for an unknown id, UsageError for a name that cannot be one or that another library has.
    """
    changed = {"name": name, "alias": alias}
    values = {column: value for column, value in changed.items() if value is not None}
    with catalog.writing() as connection:
        known = all_libraries(connection)
        if library not in [one.id for one in known]:
            raise no_library(library, known)
        for value in values.values():
            if value or value is name:
                check_name(value)
                _check_free(value, [one for one in known if one.id != library])
        if values:
            connection.execute(update(schema.libraries).where(schema.libraries.c.id == library).values(**values))
        return next(one for one in all_libraries(connection) if one.id == library)


def new_id(name: str, taken: list[str]) -> str:
    """The name, so that the same libraries of two homes have the same ids; a number is added where it is taken."""
    ids = [name, *(f"{name}{RENEWED}{number}" for number in range(2, len(taken) + 3))]
    return next(one for one in ids if one not in taken)


def all_libraries(connection: Connection) -> list[Library]:
    """By name."""
    libraries = schema.libraries.c
    found = connection.execute(select(libraries.id, libraries.name, libraries.alias).order_by(libraries.name))
    return [Library(row.id, row.name, row.alias) for row in found]


def check_name(name: str) -> None:
    """Raises UsageError for one that cannot be a library's."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"'{name}' cannot be a library's name.", "Use up to 64 letters, digits, spaces, dots and hyphens."
        )


def _check_free(name: str, others: list[Library]) -> None:
    holder = library_called(name, others)
    if holder is not None:
        told = f"'{holder.name}'" + (f" (alias '{holder.alias}')" if holder.alias else "")
        raise ConflictError(f"There is a library {told} already.", "Choose another name: case and width do not count.")
