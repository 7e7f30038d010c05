"""Indexes over some rows of a table.

SQLAlchemy's own ``postgresql_where`` imports the whole dialect as soon as a table is described: a tenth of a second of
each start, whatever holds the catalog.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Index, TextClause
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateIndex


def partial_index(
    name: str, *columns: ColumnElement[Any], where: ColumnElement[bool] | TextClause, **said: Any
) -> Index:
    """``where`` says which rows; ``said`` is what Index takes besides."""
    return Index(name, *columns, sqlite_where=where, **said)


@compiles(CreateIndex, "postgresql")
def _of_postgresql(element: CreateIndex, compiler: Any, **said: Any) -> Any:
    index = element.element
    index.dialect_options["postgresql"]["where"] = index.dialect_options["sqlite"]["where"]
    return compiler.visit_create_index(element, **said)
