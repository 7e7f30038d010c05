"""The use of models, counted by day, model, library and caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import BigInteger, Column, Float, Table, func, select

from hybrid_core.llm.budget import Charge
from hybrid_core.store.tables import STAYS, insert_into, metadata
from hybrid_core.store.tables import CleanString as String
from hybrid_core.types.usage import ModelUse, Usage

if TYPE_CHECKING:
    from hybrid_core.store.database import TransactionalStore


model_usage = Table(
    "model_usage", metadata,
    Column("day", String, primary_key=True),  # UTC, YYYY-MM-DD
    Column("model", String, primary_key=True),
    Column("library", String, primary_key=True),  # library id, "" for none or several
    Column("who", String, primary_key=True),  # a caller's name, "" for the user of this machine
    Column("calls", BigInteger, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("unpriced", BigInteger, nullable=False),  # tokens without a known price
    Column("cost", Float, nullable=False),
    Column("seconds", Float, nullable=False),
    info={STAYS: True},  # clearing the home must not reset a spending limit
)  # fmt: skip


_SUMS = ("calls", "input_tokens", "output_tokens", "unpriced", "cost", "seconds")


class UsageStore:
    """The usage of models in the catalog. Methods block on the database."""

    def __init__(self, catalog: TransactionalStore) -> None:
        self._catalog = catalog

    def add(self, day: str, model: str, charge: Charge, usage: Usage, *, priced: bool) -> None:
        tokens = usage.input_tokens + usage.output_tokens
        values = {
            "calls": usage.calls, "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens,
            "unpriced": 0 if priced else tokens, "cost": usage.cost, "seconds": usage.seconds,
        }  # fmt: skip
        table = model_usage
        with self._catalog.writing() as connection:
            insertion = insert_into(connection, table).values(
                day=day, model=model, library=charge.library, who=charge.who, **values
            )
            sums = {name: table.c[name] + insertion.excluded[name] for name in _SUMS}
            connection.execute(insertion.on_conflict_do_update(index_elements=list(table.primary_key), set_=sums))

    def spent(self, first: str) -> tuple[float, int]:
        """Return the cost of model calls since the day ``first``, and their tokens without a known price."""
        columns = model_usage.c
        query = select(func.sum(columns.cost), func.sum(columns.unpriced)).where(columns.day >= first)
        with self._catalog.reading() as connection:
            cost, tokens = connection.execute(query).one()
        return float(cost or 0), int(tokens or 0)

    def days(self, first: str, last: str) -> list[ModelUse]:
        """Return the usage of models on the days from ``first`` to ``last``, both included, the newest first."""
        columns = model_usage.c
        query = select(model_usage).where(columns.day >= first, columns.day <= last)
        query = query.order_by(columns.day.desc(), columns.model, columns.library, columns.who)
        with self._catalog.reading() as connection:
            return [ModelUse(**row._mapping) for row in connection.execute(query)]
