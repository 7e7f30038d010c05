"""Changes of tables that are written once, for whichever database holds a catalog."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, MetaData, Table
from sqlalchemy.schema import CreateColumn
from sqlalchemy.types import TypeEngine

Change = Callable[[Connection, Path], None]


def add_column(table: str, name: str, kind: type[TypeEngine[Any]], default: str | None) -> Change:
    """``default`` is what rows that are there get; None: nothing, and the column may stay empty."""

    def change(connection: Connection, _: Path) -> None:
        column = Column(name, kind, nullable=default is None, server_default=default)
        Table(table, MetaData(), column)
        written = CreateColumn(column).compile(dialect=connection.dialect)
        connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {written}")

    return change
