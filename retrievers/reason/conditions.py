"""Metadata fields of documents, and filter conditions on them.

Conditions are checked against the values that exist. A condition is data: it is compared in memory and never becomes
part of a query or command.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hybrid_core.cards.document_types import finder
from hybrid_core.llm.budget import estimate, shares
from hybrid_core.text.names import name_key
from hybrid_core.text.periods import find_periods
from hybrid_core.text.tokens import fold, tokenise
from hybrid_core.types.documents import Document, Period
from hybrid_core.types.notes import Note

Kind = Literal["text", "number", "date"]

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T.*)?")
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,6})?")
_METADATA_DATE = re.compile(r"\AD:([0-9]{4})([0-9]{2})([0-9]{2}).*")
_CARD = ("organisation", "symbol", "party", "type", "year", "quarter", "date", "title", "name", "format", "tag")
LONGEST = 200  # characters of a value that count
_VALUE_CHARS = 80  # maximum characters of a value that a model sees


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A metadata field. ``values`` maps each value, in its first spelling, to the doc_ids that have it."""

    name: str
    kind: Kind
    values: Mapping[str, frozenset[str]]

    @property
    def documents(self) -> frozenset[str]:
        """Return the documents that have a value in this field."""
        return frozenset().union(*self.values.values())


def fields_of(documents: Mapping[str, Document]) -> dict[str, Field]:
    """Return the metadata fields of documents by name, fields of cards before fields of files."""
    values_by_name: dict[str, dict[str, tuple[str, set[str]]]] = {name: {} for name in _CARD}
    for doc_id, document in documents.items():
        for name, value in _field_values(document):
            short = value.strip()[:LONGEST].strip()
            if key := fold(short):
                values_by_name.setdefault(name, {}).setdefault(key, (short, set()))[1].add(doc_id)
    return {
        name: Field(
            name,
            _value_kind([value for value, _ in values.values()]),
            {value: frozenset(ids) for value, ids in values.values()},
        )
        for name, values in values_by_name.items()
        if values
    }


def table(fields: Iterable[Field], terms: Collection[str], tokens: int) -> str:
    """Return a line for each field, with as many of its values as fit.

    Values that share terms with the question come first, then the most frequent values. All lines together have at most
    ``tokens`` by estimate.
    """
    shown = {}
    sizes_by_field = {field: len(field.documents) for field in fields}
    for field, documents in sizes_by_field.items():
        count = len(field.values)
        if count == 1 and documents == max(sizes_by_field.values()):
            continue  # true of every document
        head = f"{field.name} ({field.kind}, {count} value{'s'[: count != 1]}, {documents} documents):"
        order = sorted(field.values.items(), key=lambda item: (-_shared(item[0], terms), -len(item[1]), item[0]))
        shown[head] = [f" {json.dumps(value[:_VALUE_CHARS], ensure_ascii=False)} {len(ids)}" for value, ids in order]
    sizes = [sum(map(_size, (head, *values))) for head, values in shown.items()]
    lines = []
    for (head, values), room in zip(shown.items(), shares(sizes, tokens), strict=True):
        line, left = head, room - _size(head)
        for value in values:
            left -= _size(value)
            if left < 0:
                break
            line += value + ","
        if line != head:
            lines.append(line.rstrip(","))
    return "\n".join(lines)


def _field_values(document: Document) -> Iterable[tuple[str, str]]:
    card = document.card
    values = (
        card.names, card.symbols, card.parties, (card.type,), map(str, card.years), (str(card.quarter or ""),),
        (card.date or "",), (document.title,), (document.name,), (document.format,), card.tags,
    )  # fmt: skip
    for name, several in zip(_CARD, values, strict=True):
        yield from ((name, value) for value in several)
    for key, value in document.metadata.items():
        if key.casefold() not in _CARD:
            yield key.casefold(), _METADATA_DATE.sub(r"\1-\2-\3", value)


def _value_kind(values: Collection[str]) -> Kind:
    if all(map(_DATE.fullmatch, values)):
        return "date"
    return "number" if all(map(is_number, values)) else "text"


def is_number(text: str) -> bool:
    """Return whether a text is a plain decimal number."""
    return _NUMBER.fullmatch(text) is not None


def _shared(value: str, terms: Collection[str]) -> int:
    return len(set(tokenise(value)).intersection(terms))


def _size(text: str) -> int:
    return estimate(text) + 1


Operator = Literal["is", "is not", "contains", "at least", "at most"]

_LIKE = 0.8  # difflib's ratio from which a value means one that the library has
_FIRST = ("organisation", "symbol", "party")  # fields that are applied first, because they name the organisation
_CONDITION_DATE = re.compile(r"[0-9]{4}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12][0-9]|3[01]))?)?")
_SHORTEST = 2  # characters of what a value is to contain


@dataclass(frozen=True, slots=True)
class Condition:
    """A filter condition on a field. It holds if a value of the document matches one of ``values``.

    ``operator`` is the relation that makes a match. A document meets ``is not`` if it does not meet ``is``.
    """

    field: str
    operator: Operator
    values: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.field} {self.operator} {' or '.join(self.values)}"


@dataclass(frozen=True, slots=True)
class FilterMatch:
    """The documents that meet a filter.

    ``documents`` meet all ``conditions``. ``dropped`` gives the reasons why further conditions were ignored.
    """

    conditions: tuple[Condition, ...]
    documents: frozenset[str]
    dropped: tuple[Note, ...] = ()


def apply(fields: Mapping[str, Field], conditions: Sequence[Condition], documents: Collection[str]) -> FilterMatch:
    """Return the documents that meet all usable conditions.

    A condition is ignored if the library lacks its values, or if it would leave no document. Conditions on
    organisation, symbol or party are applied first. Unusual values raise no error.
    """
    used: list[Condition] = []
    dropped: list[Note] = []
    documents_left = frozenset(documents)
    for condition in sorted(conditions, key=lambda condition: condition.field not in _FIRST):
        checked = check(fields, condition)
        if isinstance(checked, Note):
            dropped.append(checked)
            continue
        left = documents_left & met(fields, checked, documents)
        if left:
            documents_left = left
            used.append(checked)
        else:
            others = " and ".join(map(str, used)) or Note("route.the-filters")
            dropped.append(Note("route.no-document", others=others, condition=str(checked)))
    return FilterMatch(tuple(used), documents_left, tuple(dropped))


def check(fields: Mapping[str, Field], condition: Condition) -> Condition | Note:
    """Return the condition with values spelled as in the library, or a note why it is unusable."""
    field = fields.get(fold(condition.field.strip()))
    if field is None:
        return Note("route.unknown-field", field=_shorten_text(condition.field))
    if condition.operator in ("at least", "at most") and field.kind == "text":
        return Note("route.no-order", field=field.name)
    written = [value.strip()[:LONGEST].strip() for value in condition.values]
    read = [_READERS[field.kind](field, condition.operator, value) for value in written if value]
    values = tuple(dict.fromkeys(value for matching in read for value in matching))
    if not values:
        return Note("route.unknown-value", field=field.name, value=_shorten_text(" or ".join(written)))
    return Condition(field.name, condition.operator, values)


def met(fields: Mapping[str, Field], condition: Condition, documents: Collection[str]) -> frozenset[str]:
    """Return the documents that meet a condition returned by ``check``."""
    field = fields[condition.field]
    if condition.operator == "is not":
        return frozenset(documents) - met(fields, replace(condition, operator="is"), documents)
    stands = _relation(field, condition)
    sets: Iterable[frozenset[str]] = (ids for value, ids in field.values.items() if stands(value))
    return frozenset().union(*sets) & frozenset(documents)


def _relation(field: Field, condition: Condition) -> Callable[[str], bool]:
    operator, values = condition.operator, condition.values
    if operator == "contains":
        inside = [fold(value) for value in values]
        return lambda value: any(part in fold(value) for part in inside)
    if field.kind == "number":
        numbers = [float(value) for value in values]
        if operator == "at least":
            return lambda value: float(value) >= min(numbers)
        if operator == "at most":
            return lambda value: float(value) <= max(numbers)
        return lambda value: float(value) in numbers
    if field.kind == "date":  # ISO dates compare as texts; a shorter one stands for all that begin so
        if operator == "at least":
            return lambda value: value >= min(values)
        if operator == "at most":
            return lambda value: any(value[: len(date)] <= date for date in values)
        return lambda value: value.startswith(values)
    exact = {fold(value) for value in values}
    return lambda value: fold(value) in exact


def _number(field: Field, operator: Operator, value: str) -> list[str]:
    """Return the number that a value names, in a list, or [] if the field lacks it.

    In a year field ``FY2018`` is 2018, and in a quarter field ``Q3`` is 3.
    """
    if operator == "contains":
        return [value] if any(value in known_value for known_value in field.values) else []
    if not is_number(value):
        period = _period(value)
        value = str((period.quarter if field.name == "quarter" else period.year) or "") if period else ""
        if not value:
            return []
    exists = operator in ("at least", "at most") or any(
        float(known_value) == float(value) for known_value in field.values
    )
    return [value] if exists else []


def _period(value: str) -> Period | None:
    """Return the period that a text names, None if the text contains anything else."""
    return next(
        (mention.period for mention in find_periods(value) if (mention.start, mention.end) == (0, len(value))), None
    )


def _date(field: Field, operator: Operator, value: str) -> list[str]:
    if not _CONDITION_DATE.fullmatch(value):
        period = _period(value)
        value = (period.date or str(period.year or "")) if period else ""
        if not value:
            return []
    exists = operator in ("at least", "at most") or any(known_value.startswith(value) for known_value in field.values)
    return [value] if exists else []


def _match_text(field: Field, operator: Operator, value: str) -> list[str]:
    """Return the values of a field that a text may mean.

    Equal values come first. If there are none, values with that name or type are returned, then values that contain all
    its words. The last resort is the value with the most similar spelling.
    """
    folded_value = fold(value)
    if operator == "contains":
        return (
            [value]
            if len(folded_value) >= _SHORTEST and any(folded_value in fold(known_value) for known_value in field.values)
            else []
        )
    if same := [known_value for known_value in field.values if fold(known_value) == folded_value]:
        return same
    if (key := name_key(value)) and (
        same := [known_value for known_value in field.values if name_key(known_value) == key]
    ):
        return same
    if field.name == "type":
        types = {mention.type for mention in finder().find(value)}
        return [known_value for known_value in field.values if known_value in types]
    words = set(tokenise(value))
    if words and (same := [known_value for known_value in field.values if words <= set(tokenise(known_value))]):
        return same
    folded = {fold(known_value): known_value for known_value in field.values}
    return [folded[near] for near in difflib.get_close_matches(folded_value, folded, n=1, cutoff=_LIKE)]


_READERS: dict[str, Callable[[Field, Operator, str], list[str]]] = {
    "number": _number,
    "date": _date,
    "text": _match_text,
}


def _shorten_text(text: str, length: int = 60) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= length else one_line[: length - 1] + "…"
