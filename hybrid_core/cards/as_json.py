"""Cards as the catalog keeps them. Apart from how they are read off documents, which searches do not need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from hybrid_core.types.documents import Card


def card_to_json(card: Card) -> dict[str, Any]:
    """The card as plain JSON values, empty fields left out."""
    return {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(card).items() if v not in ((), None, "")}


def card_from_json(data: Mapping[str, Any]) -> Card:
    """The card that ``card_to_json`` wrote; keys it does not know are ignored."""
    known = {field.name for field in fields(Card)}
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k in known}
    return Card(**values)
