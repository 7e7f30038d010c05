"""Single pages of any contents, read by one statement: a search looks at hundreds, of as many documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row, Select, Table, and_, bindparam, or_, select

from hybrid_core.store.catalog import rows, schema
from hybrid_core.store.damage import Decoding
from hybrid_core.store.parts import parts
from hybrid_core.text.term_order import TermOrder
from hybrid_core.types.documents import PageText

_MOST = 64  # pages a statement: its parameters stay far below what any database takes
_READ = ("content_id", "number", "label", "text", "places", "described")
_ORDER = ("content_id", "number", "terms")


def page_texts(connection: Connection, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], PageText]:
    """By (content_id, number); pages that are not there are left out."""
    return {
        (row.content_id, row.number): PageText.of(row.label, row.text, rows.to_places(row.places), row.described)
        for row in _rows(connection, schema.pages, _READ, wanted)
    }


def text_of_pages(connection: Connection, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], str]:
    """Return the texts of pages alone, by (content_id, number); pages that do not exist are left out."""
    found = _rows(connection, schema.pages, ("content_id", "number", "text"), wanted)
    return {(row.content_id, row.number): row.text for row in found}


def page_orders(connection: Connection, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], TermOrder]:
    """Return the pages' terms in order, by (content_id, number); pages that are not there are left out."""
    found = _rows(connection, schema.orders, _ORDER, wanted)
    with Decoding("the terms of a page"):
        return {(row.content_id, row.number): TermOrder.from_bytes(row.terms) for row in found}


def _rows(
    connection: Connection, table: Table, names: tuple[str, ...], wanted: Sequence[tuple[str, int]]
) -> Iterator[Row[Any]]:
    for some in parts(wanted, _MOST):
        size = 1 << (len(some) - 1).bit_length()
        asked = [*some, *[some[-1]] * (size - len(some))]
        given = {f"{name}{at}": value for at, pair in enumerate(asked) for name, value in zip("cn", pair, strict=True)}
        yield from connection.execute(_statement(table, names, size), given)


@cache
def _statement(table: Table, names: tuple[str, ...], size: int) -> Select[Any]:
    """For a power of two of pages, so that there are few statements. Pairs in a list would be looked for in every row
    of the table, by SQLite."""
    held = table.c
    each = (and_(held.content_id == bindparam(f"c{at}"), held.number == bindparam(f"n{at}")) for at in range(size))
    return select(*(held[name] for name in names)).where(or_(*each))
