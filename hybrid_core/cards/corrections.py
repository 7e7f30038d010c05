"""Corrections of a document's card by users, and cards as JSON for the catalog."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any

from hybrid_core.cards.document_types import document_types, finder
from hybrid_core.errors import Advice, UsageError
from hybrid_core.types.documents import Card

FIELDS = ("title", "organisation", "year", "quarter", "date", "type", "tags")
"""The fields that can be corrected. Several organisations or tags are separated by semicolons, years by commas; the
first one counts most.
"""

_YEARS = re.compile(r"[12]\d{3}(?:\s*,\s*[12]\d{3})*")
_QUARTER = re.compile(r"[Qq]?([1-4])")
LONGEST = 500  # characters


def correction(field: str, value: str) -> str:
    """Return the normalised value of a user's correction of a card's field.

    Raise UsageError for a field that cannot be corrected, or an invalid value.
    """
    value = " ".join(value.split())
    if field not in FIELDS:
        raise UsageError(
            f"The field '{field}' cannot be corrected.", f"The fields that can be corrected are: {', '.join(FIELDS)}."
        )
    if not value or len(value) > LONGEST:
        raise UsageError(
            f"The new value of the field '{field}' {f'has {len(value)} characters' if value else 'is empty'}.",
            Advice(
                f"Write 1 to {LONGEST} characters, or unset {field} to remove its correction.",
                f"Write 1 to {LONGEST} characters, or remove the correction with --unset {field}.",
            ),
        )
    if field == "year" and not _YEARS.fullmatch(value):
        raise UsageError(
            f"The new value '{value}' of the field 'year' is not a year.",
            "Write year=2022, or year=2022,2021 for several years.",
        )
    if field == "quarter":
        if (match := _QUARTER.fullmatch(value)) is None:
            raise UsageError(
                f"The new value '{value}' of the field 'quarter' is not a quarter of a year.",
                "Write quarter=1, quarter=2, quarter=3 or quarter=4.",
            )
        return match[1]
    if field == "date":
        try:
            return datetime.date.fromisoformat(value).isoformat()
        except ValueError as error:
            raise UsageError(
                f"The new value '{value}' of the field 'date' is not a date.",
                "Write year-month-day, for example date=2022-12-31.",
            ) from error
    return _known_type(value) if field == "type" else value


def _known_type(value: str) -> str:
    types = [mention.type for mention in finder().find(value)]
    if value.lower() in document_types():
        return value.lower()
    if len(set(types)) != 1:
        raise UsageError(
            f"The new value '{value}' of the field 'type' is not a known document type.",
            f"The document types are: {', '.join(document_types())}.",
        )
    return types[0]


def corrected_card(card: Card, corrections: Mapping[str, str]) -> Card:
    """Return the card with the user's corrections.

    Facts that contradict a correction are dropped, such as a date of another year.
    """
    if title := corrections.get("title"):
        card = replace(card, title=title)
    if organisation := corrections.get("organisation"):
        card = replace(card, names=_several(organisation, ";"), symbols=(), topic=False)
    if kind := corrections.get("type"):
        card = replace(card, type=kind)
    if tags := corrections.get("tags"):
        card = replace(card, tags=_several(tags, ";"))
    if date := corrections.get("date"):
        card = replace(card, date=date, dates=(date,), years=(int(date[:4]),))
    if year := corrections.get("year"):
        years = tuple(map(int, _several(year, ",")))
        ends = {written for first in years for written in (first, first + 1)}  # a fiscal year may end in the next year
        dates = tuple(day for day in card.dates if int(day[:4]) in ends)
        fits = card.date is not None and int(card.date[:4]) in ends
        card = replace(card, years=years, dates=dates, date=card.date if fits else None)
    if quarter := corrections.get("quarter"):
        card = replace(card, quarter=int(quarter))
    return card


def _several(value: str, sign: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in value.split(sign) if part.strip()))


def card_to_json(card: Card) -> dict[str, Any]:
    """Return the card as JSON values, without empty fields."""
    values = {key: value for key, value in asdict(card).items() if value not in ((), None, "", False)}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


def card_from_json(data: Mapping[str, Any]) -> Card:
    """Return the card that ``card_to_json`` converted. Unknown keys are ignored."""
    names = {field.name for field in fields(Card)}
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k in names}
    return Card(**values)
