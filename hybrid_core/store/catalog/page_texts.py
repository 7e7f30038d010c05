"""Single pages of any contents, read by one statement: a search looks at some dozens, of as many documents."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Select, and_, bindparam, or_, select

from hybrid_core.store.catalog import rows, schema
from hybrid_core.store.parts import parts
from hybrid_core.types.documents import PageText

_MOST = 64  # pages a statement: its parameters stay far below what any database takes
_READ = ("content_id", "number", "label", "text", "places", "described")


def page_texts(connection: Connection, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], PageText]:
    """By (content_id, number); pages that are not there are left out."""
    found: dict[tuple[str, int], PageText] = {}
    for some in parts(wanted, _MOST):
        size = 1 << (len(some) - 1).bit_length()
        asked = [*some, *[some[-1]] * (size - len(some))]
        given = {f"{name}{at}": value for at, pair in enumerate(asked) for name, value in zip("cn", pair, strict=True)}
        found |= {
            (row.content_id, row.number): PageText(row.label, row.text, rows.to_places(row.places), row.described)
            for row in connection.execute(_statement(size), given)
        }
    return found


@cache
def _statement(size: int) -> Select[Any]:
    """For a power of two of pages, so that there are few statements. Pairs in a list would be looked for in every row
    of the table, by SQLite."""
    pages = schema.pages.c
    each = (and_(pages.content_id == bindparam(f"c{at}"), pages.number == bindparam(f"n{at}")) for at in range(size))
    return select(*(pages[name] for name in _READ)).where(or_(*each))
