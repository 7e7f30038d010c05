"""What models took, by day, model, library and caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select

from hybrid_core.llm.metering import Charge
from hybrid_core.store.tables import insert_into
from hybrid_core.store.usage.tables import model_usage
from hybrid_core.types.usage import ModelUse, Usage

if TYPE_CHECKING:
    from hybrid_core.store.catalog.catalog import Catalog

_SUMS = ("calls", "input_tokens", "output_tokens", "unpriced", "cost", "seconds")


class UsageStore:
    """Its methods wait for the catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def add(self, day: str, model: str, charge: Charge, usage: Usage, *, priced: bool) -> None:
        tokens = usage.input_tokens + usage.output_tokens
        values = {
            "calls": usage.calls, "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens,
            "unpriced": 0 if priced else tokens, "cost": usage.cost, "seconds": usage.seconds,
        }  # fmt: skip
        table = model_usage
        with self._catalog.writing() as connection:
            said = insert_into(connection, table).values(
                day=day, model=model, library=charge.library, who=charge.who, **values
            )
            more = {name: table.c[name] + said.excluded[name] for name in _SUMS}
            connection.execute(said.on_conflict_do_update(index_elements=list(table.primary_key), set_=more))

    def spent(self, first: str) -> tuple[float, int]:
        """Since a day, that one too: what was paid, and how many tokens no price was known of."""
        columns = model_usage.c
        query = select(func.sum(columns.cost), func.sum(columns.unpriced)).where(columns.day >= first)
        with self._catalog.reading() as connection:
            cost, tokens = connection.execute(query).one()
        return float(cost or 0), int(tokens or 0)

    def days(self, first: str, last: str) -> list[ModelUse]:
        """From one day to another, both too; the newest first."""
        columns = model_usage.c
        query = select(model_usage).where(columns.day >= first, columns.day <= last)
        query = query.order_by(columns.day.desc(), columns.model, columns.library, columns.who)
        with self._catalog.reading() as connection:
            return [ModelUse(**row._mapping) for row in connection.execute(query)]
