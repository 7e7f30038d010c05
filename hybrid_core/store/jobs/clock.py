"""The database's clock, which alone decides what has expired: those of machines differ."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


class db_now(FunctionElement[int]):  # noqa: N801 - written like SQL's own functions
    """Milliseconds since 1970, when the statement runs."""

    type = BigInteger()
    inherit_cache = True


@compiles(db_now, "sqlite")
def _of_sqlite(element: db_now, compiler: Any, **_: Any) -> str:
    return "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"


@compiles(db_now, "postgresql")
def _of_postgresql(element: db_now, compiler: Any, **_: Any) -> str:
    return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
