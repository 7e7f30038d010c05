"""What models took, and the limits of a month."""

from __future__ import annotations

import datetime
import logging
import threading
from dataclasses import dataclass, field

from hybrid_core.errors import ChatError, StoreError, UsageError
from hybrid_core.llm.metering import Charge
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.usage.store import UsageStore
from hybrid_core.types.usage import ModelUse, Usage
from hybrid_pageindex.config.settings import Settings

_log = logging.getLogger(__name__)
_ADVICE = "It begins anew with the next month (UTC); the setting {} is the limit."


@dataclass(frozen=True, slots=True)
class UsageReport:
    """``days`` are rows by day, model, library (by its id) and caller, the newest first. ``month_cost`` and
    ``month_unpriced`` (tokens of models without a price) are what counts for the limits of this month, 0 for none.
    """

    days: tuple[ModelUse, ...]
    month_cost: float
    month_unpriced: int
    monthly_spending: float
    monthly_tokens: int
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Spending:
    """A ``Meter`` over a catalog. ``settings`` are those of now."""

    catalog: Catalog
    settings: Settings
    _unwritten: list[tuple[str, str, Charge, Usage, bool]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, model: str, *, priced: bool) -> None:
        limit, tokens = self.settings.monthly_spending, self.settings.monthly_tokens
        if not (limit if priced else tokens):
            return
        cost, unpriced = UsageStore(self.catalog).spent(_month())
        if priced and cost >= limit:
            message = f"{model} was not asked: {cost:.2f} of {limit:g} are spent this month."
            raise ChatError(message, _ADVICE.format("monthly_spending"), failure="quota")
        if not priced and unpriced >= tokens:
            message = f"{model} was not asked: {unpriced:,} of {tokens:,} tokens without a price are used this month."
            raise ChatError(message, _ADVICE.format("monthly_tokens"), failure="quota")

    def add(self, model: str, usage: Usage, charge: Charge, *, priced: bool) -> None:
        """Where the catalog cannot be written now it is with the next call: the answer was paid for, and is given."""
        with self._lock:
            self._unwritten.append((_today(), model, charge, usage, priced))
            try:
                while self._unwritten:
                    day, name, whose, took, known = self._unwritten[0]
                    UsageStore(self.catalog).add(day, name, whose, took, priced=known)
                    self._unwritten.pop(0)
            except StoreError as error:
                _log.warning("what %s took could not be noted yet: %s", model, error)

    def report(self, first: str = "", last: str = "") -> UsageReport:
        """Days as YYYY-MM-DD, by default this month. Raises UsageError for what is no day."""
        store = UsageStore(self.catalog)
        days = tuple(store.days(_day(first) or _month(), _day(last) or "9999-12-31"))
        cost, unpriced = store.spent(_month())
        limits = self.settings.monthly_spending, self.settings.monthly_tokens
        notes: tuple[str, ...] = ()
        if limits[0] and unpriced and not limits[1]:
            names = sorted({one.model for one in days if one.unpriced})
            notes = (
                f"no price is known of {', '.join(names) or 'some models'} (model_prices), so monthly_spending does "
                "not bound them: monthly_tokens can",
            )
        return UsageReport(days, cost, unpriced, *limits, notes)


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _month() -> str:
    return _today()[:8] + "01"


def _day(said: str) -> str:
    try:
        return datetime.date.fromisoformat(said).isoformat() if said else ""
    except ValueError as error:
        raise UsageError(f"'{said[:40]}' is no day.", "Write 2026-03-31.") from error
