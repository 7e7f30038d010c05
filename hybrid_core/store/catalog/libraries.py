"""Libraries created, renamed and given an alias."""

from __future__ import annotations

import re
import unicodedata
from contextlib import AbstractContextManager
from typing import Any, Protocol

from sqlalchemy import ColumnElement, Connection, func, insert, select, update

from hybrid_core.errors import ConflictError, UsageError
from hybrid_core.store.catalog import schema
from hybrid_core.store.catalog.rows import now
from hybrid_core.types.libraries import Library, library_called, no_library

BINNED = "bin:"
"""Begins the key in ``meta`` of a library that is in the bin."""
RENEWED = "~"
"""In ids, before the number of a library whose first name another one had before; in no name."""
_PLAIN = re.compile(r"[^\W_][\w.\- ]{0,63}")  # a name that serves as the id
_LONGEST = 100  # characters of a name
_UNSEEN = frozenset(("Cc", "Cs", "Zl", "Zp"))  # categories of characters that nobody types into a name


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
        made = Library(library or new_id(name, library_ids(connection)), name, alias)
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
    """Return the id of a new library: its name, so that the same libraries of two homes have the same ids.

    Characters that folders and addresses do not take become hyphens; a number is added where the id is taken.
    """
    if not _PLAIN.fullmatch(name):
        name = re.sub(r"^[\W_]+|[\W_]+$", "", re.sub(r"[^\w.\- ]+", "-", name))[:64] or "library"
    ids = [name, *(f"{name}{RENEWED}{number}" for number in range(2, len(taken) + 3))]
    return next(one for one in ids if one not in taken)


def all_libraries(connection: Connection) -> list[Library]:
    """By name, without those in the bin."""
    libraries = schema.libraries.c
    query = select(libraries.id, libraries.name, libraries.alias).where(outside_bin(libraries.id))
    return [Library(row.id, row.name, row.alias) for row in connection.execute(query.order_by(libraries.name))]


def library_ids(connection: Connection) -> list[str]:
    """Return the ids of all libraries, also of those in the bin."""
    return list(connection.scalars(select(schema.libraries.c.id)))


def outside_bin(library: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the condition that the library of an id is not in the bin."""
    hidden = select(func.substr(schema.meta.c.key, len(BINNED) + 1)).where(schema.meta.c.key.startswith(BINNED))
    return library.not_in(hidden)


def check_name(name: str) -> None:
    """Raises UsageError for a name that is empty, too long, or holds what nobody can see or type."""
    unseen = any(unicodedata.category(character) in _UNSEEN for character in name)
    if unseen or name != name.strip() or len(name) > _LONGEST or not name.strip("."):
        raise UsageError(
            f"'{name[: 2 * _LONGEST]}' cannot be a library's name.",
            f"Use up to {_LONGEST} characters, without line breaks and without spaces around them.",
        )


def _check_free(name: str, others: list[Library]) -> None:
    holder = library_called(name, others)
    if holder is not None:
        told = f"'{holder.name}'" + (f" (alias '{holder.alias}')" if holder.alias else "")
        raise ConflictError(f"There is a library {told} already.", "Choose another name: case and width do not count.")
