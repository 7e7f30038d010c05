"""The fields by which a library's documents can be chosen, with the values that they really have."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from hybrid_core.llm.token_estimate import estimate, shares
from hybrid_core.text.tokens import fold, tokenise
from hybrid_core.types.documents import Document

Kind = Literal["text", "number", "date"]

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T.*)?")
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,6})?")
_METADATA_DATE = re.compile(r"\AD:([0-9]{4})([0-9]{2})([0-9]{2}).*")
_CARD = ("organisation", "symbol", "party", "type", "year", "quarter", "date", "title", "name", "format", "tag")
LONGEST = 200  # characters of a value that count
_SHOWN = 80  # those that a model sees


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """``values`` are those of the documents, as first written, each with the doc_ids that have it."""

    name: str
    kind: Kind
    values: Mapping[str, frozenset[str]]

    @property
    def documents(self) -> frozenset[str]:
        """Those that say anything here."""
        return frozenset().union(*self.values.values())


def fields_of(documents: Mapping[str, Document]) -> dict[str, Field]:
    """The fields of documents by name: those of their cards first, then what their files say of themselves."""
    found: dict[str, dict[str, tuple[str, set[str]]]] = {name: {} for name in _CARD}
    for doc_id, document in documents.items():
        for name, value in _said(document):
            short = value.strip()[:LONGEST].strip()
            if key := fold(short):
                found.setdefault(name, {}).setdefault(key, (short, set()))[1].add(doc_id)
    return {
        name: Field(
            name, _kind([value for value, _ in held.values()]), {value: frozenset(ids) for value, ids in held.values()}
        )
        for name, held in found.items()
        if held
    }


def table(fields: Iterable[Field], terms: Collection[str], tokens: int) -> str:
    """A line for each field with as many of its values as fit: those that share most terms with the question first,
    then the commonest. At most ``tokens`` by estimate, whatever the number of documents.
    """
    shown = {}
    held = {field: len(field.documents) for field in fields}
    for field, documents in held.items():
        count = len(field.values)
        if count == 1 and documents == max(held.values()):
            continue  # true of every document
        head = f"{field.name} ({field.kind}, {count} value{'s'[: count != 1]}, {documents} documents):"
        order = sorted(field.values.items(), key=lambda one: (-_shared(one[0], terms), -len(one[1]), one[0]))
        shown[head] = [f" {json.dumps(value[:_SHOWN], ensure_ascii=False)} {len(ids)}" for value, ids in order]
    wanted = [sum(map(_size, (head, *values))) for head, values in shown.items()]
    lines = []
    for (head, values), room in zip(shown.items(), shares(wanted, tokens), strict=True):
        line, left = head, room - _size(head)
        for value in values:
            left -= _size(value)
            if left < 0:
                break
            line += value + ","
        if line != head:
            lines.append(line.rstrip(","))
    return "\n".join(lines)


def _said(document: Document) -> Iterable[tuple[str, str]]:
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


def _kind(held: Collection[str]) -> Kind:
    if all(map(_DATE.fullmatch, held)):
        return "date"
    return "number" if all(map(is_number, held)) else "text"


def is_number(text: str) -> bool:
    """Whether a text is a plain decimal number."""
    return _NUMBER.fullmatch(text) is not None


def _shared(value: str, terms: Collection[str]) -> int:
    return len(set(tokenise(value)).intersection(terms))


def _size(text: str) -> int:
    return estimate(text) + 1
