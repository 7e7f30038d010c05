"""A filter over the fields of a library: conditions of a fixed form, checked against the values that exist.

A condition is data: it is compared with values in memory and never becomes part of a query or a command.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hybrid_core.cards.document_types import finder
from hybrid_core.text.names import name_key
from hybrid_core.text.periods import find_periods
from hybrid_core.text.tokens import fold, tokenise
from hybrid_core.types.documents import Period
from retrievers.reason.routing.fields import LONGEST, Field, is_number

Operator = Literal["is", "is not", "contains", "at least", "at most"]

_LIKE = 0.8  # difflib's ratio from which a value means one that the library has
_FIRST = ("organisation", "symbol", "party")  # whose documents: said before which of them
_DATE = re.compile(r"[0-9]{4}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12][0-9]|3[01]))?)?")
_SHORTEST = 2  # characters of what a value is to contain


@dataclass(frozen=True, slots=True)
class Condition:
    """A document meets it if one of its values of the field stands in this relation to one of ``values``.

    ``is not`` is met by every document that ``is`` is not met by.
    """

    field: str
    operator: Operator
    values: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.field} {self.operator} {' or '.join(self.values)}"


@dataclass(frozen=True, slots=True)
class FilterMatch:
    """``documents`` meet all of ``conditions``; ``dropped`` says of every other condition why it does not count."""

    conditions: tuple[Condition, ...]
    documents: frozenset[str]
    dropped: tuple[str, ...] = ()


def apply(fields: Mapping[str, Field], asked: Sequence[Condition], documents: Collection[str]) -> FilterMatch:
    """The documents that meet every condition that can count.

    Left out are conditions on what the library does not have, and those that would leave nothing behind the ones
    before; whose documents are meant (organisation, symbol, party) is asked first. Never raises for odd values.
    """
    used: list[Condition] = []
    dropped: list[str] = []
    kept = frozenset(documents)
    for condition in sorted(asked, key=lambda one: one.field not in _FIRST):
        checked = check(fields, condition)
        if isinstance(checked, str):
            dropped.append(checked)
            continue
        left = kept & met(fields, checked, documents)
        if left:
            kept = left
            used.append(checked)
        else:
            behind = " and ".join(map(str, used)) or "the filters"
            dropped.append(f"no document of {behind} has {checked}")
    return FilterMatch(tuple(used), kept, tuple(dropped))


def check(fields: Mapping[str, Field], condition: Condition) -> Condition | str:
    """The condition in the library's own words, or why it cannot be used."""
    held = fields.get(fold(condition.field.strip()))
    if held is None:
        return f"there is no field '{_short(condition.field)}'"
    if condition.operator in ("at least", "at most") and held.kind == "text":
        return f"the field '{held.name}' has no order"
    given = [value.strip()[:LONGEST].strip() for value in condition.values]
    read = [_READERS[held.kind](held, condition.operator, value) for value in given if value]
    values = tuple(dict.fromkeys(value for found in read for value in found))
    if not values:
        return f"the library has no {held.name} '{_short(' or '.join(given))}'"
    return Condition(held.name, condition.operator, values)


def met(fields: Mapping[str, Field], condition: Condition, documents: Collection[str]) -> frozenset[str]:
    """The documents that meet a condition that ``check`` gave back."""
    held = fields[condition.field]
    if condition.operator == "is not":
        return frozenset(documents) - met(fields, replace(condition, operator="is"), documents)
    stands = _relation(held, condition)
    found: Iterable[frozenset[str]] = (ids for value, ids in held.values.items() if stands(value))
    return frozenset().union(*found) & frozenset(documents)


def _relation(held: Field, condition: Condition) -> Callable[[str], bool]:
    operator, wanted = condition.operator, condition.values
    if operator == "contains":
        inside = [fold(value) for value in wanted]
        return lambda value: any(part in fold(value) for part in inside)
    if held.kind == "number":
        numbers = [float(value) for value in wanted]
        if operator == "at least":
            return lambda value: float(value) >= min(numbers)
        if operator == "at most":
            return lambda value: float(value) <= max(numbers)
        return lambda value: float(value) in numbers
    if held.kind == "date":  # ISO dates compare as texts; a shorter one stands for all that begin so
        if operator == "at least":
            return lambda value: value >= min(wanted)
        if operator == "at most":
            return lambda value: any(value[: len(date)] <= date for date in wanted)
        return lambda value: value.startswith(wanted)
    exact = {fold(value) for value in wanted}
    return lambda value: fold(value) in exact


def _number(held: Field, operator: Operator, value: str) -> list[str]:
    """``FY2018`` is the year 2018, ``Q3`` the quarter 3."""
    if operator == "contains":
        return [value] if any(value in one for one in held.values) else []
    if not is_number(value):
        period = _period(value)
        value = str((period.quarter if held.name == "quarter" else period.year) or "") if period else ""
        if not value:
            return []
    exists = operator in ("at least", "at most") or any(float(one) == float(value) for one in held.values)
    return [value] if exists else []


def _period(value: str) -> Period | None:
    """The period that the whole of a value names."""
    return next((one.period for one in find_periods(value) if (one.start, one.end) == (0, len(value))), None)


def _date(held: Field, operator: Operator, value: str) -> list[str]:
    if not _DATE.fullmatch(value):
        period = _period(value)
        value = (period.date or str(period.year or "")) if period else ""
        if not value:
            return []
    exists = operator in ("at least", "at most") or any(one.startswith(value) for one in held.values)
    return [value] if exists else []


def _text(held: Field, operator: Operator, value: str) -> list[str]:
    """The values that are meant: those written so, else those of that name or type, else those that hold all its
    words, else the one that is spelled most alike.
    """
    asked = fold(value)
    if operator == "contains":
        return [value] if len(asked) >= _SHORTEST and any(asked in fold(one) for one in held.values) else []
    if same := [one for one in held.values if fold(one) == asked]:
        return same
    if (key := name_key(value)) and (same := [one for one in held.values if name_key(one) == key]):
        return same
    if held.name == "type":
        types = {mention.type for mention in finder().find(value)}
        return [one for one in held.values if one in types]
    words = set(tokenise(value))
    if words and (same := [one for one in held.values if words <= set(tokenise(one))]):
        return same
    folded = {fold(one): one for one in held.values}
    return [folded[near] for near in difflib.get_close_matches(asked, folded, n=1, cutoff=_LIKE)]


_READERS: dict[str, Callable[[Field, Operator, str], list[str]]] = {"number": _number, "date": _date, "text": _text}


def _short(text: str, most: int = 60) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= most else one_line[: most - 1] + "…"
