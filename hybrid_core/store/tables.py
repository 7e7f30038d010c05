"""What all tables of a catalog's file are kept in, so that they are made together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, MetaData, Table
from sqlalchemy.dialects import sqlite

metadata = MetaData()
STAYS = "stays"
"""In a table's ``info``: clearing the home leaves it as it is."""


def insert_into(connection: Connection, table: Table) -> Any:
    """An INSERT that knows ON CONFLICT, in the database's own dialect."""
    insert: Callable[[Table], Any] = sqlite.insert
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql

        insert = postgresql.insert
    return insert(table)
