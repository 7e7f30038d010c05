"""What a model is asked in order to choose documents: conditions on their fields, or a few by their descriptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from hybrid_core.errors import ChatError, ChatFailure
from hybrid_core.token_estimate import cut
from hybrid_core.types import Document
from retrievers.question import Question
from retrievers.reason.board import card
from retrievers.routing import fields
from retrievers.routing.calls import Calls
from retrievers.routing.conditions import Condition, Operator

PAGE = 24  # documents described in one call
MOST = 72  # documents described at all: three calls, and one more for those that they name
_NAMED = 3  # documents that a call may name
_LINE = 120  # tokens of a document's line at most
_FIELDS = 1500  # tokens of all fields together
_CONDITIONS, _VALUES = 6, 20
_OF_THIS_REPLY: frozenset[ChatFailure] = frozenset(("reply", "refusal", "too long"))  # another call may still succeed


class ConditionSaid(BaseModel):
    """One condition on a field."""

    field: str = Field(description="a field's name from the list")
    operator: Operator
    values: list[str] = Field(description="one or several values, of which one must hold")


class Conditions(BaseModel):
    """What the documents must meet."""

    reasoning: str = Field(description="one or two sentences")
    conditions: list[ConditionSaid] = Field(description="all must hold; empty if no field helps")


class Picks(BaseModel):
    """The documents in which to look."""

    reasoning: str = Field(description="one or two sentences")
    documents: list[str] = Field(description="short names from the list, the best first; empty if none fits")


@dataclass(frozen=True, slots=True)
class Picked:
    """doc_ids, the best first, and why."""

    documents: tuple[str, ...]
    reasoning: str
    notes: tuple[str, ...] = ()


def conditions(calls: Calls, question: Question, held: Mapping[str, fields.Field]) -> list[Condition]:
    """The conditions that a model makes of a question, not yet checked. Raises ChatError."""
    shown = fields.table(held.values(), question.terms, _FIELDS)
    said = calls.ask("route-filter", Conditions, {"fields": shown}).conditions[:_CONDITIONS]
    return [Condition(one.field, one.operator, tuple(one.values[:_VALUES])) for one in said]


def pick(calls: Calls, documents: Sequence[tuple[Document, str]]) -> Picked:
    """The documents that a model names of the first MOST, each given with why it fits, "" where nothing says so.

    More than a page of them is a tournament: those named on each page meet on one more. Of a page whose call fails
    the first ones go on. Raises ChatError where the endpoint fails, and where every page's call does.
    """
    left, notes = list(documents[:MOST]), []
    failed: ChatError | None = None
    while len(left) > PAGE:
        pages = [left[at : at + PAGE] for at in range(0, len(left), PAGE)]
        left = []
        failures = 0
        for page in pages:
            try:
                named = _page(calls, page).documents
            except ChatError as error:
                if error.failure not in _OF_THIS_REPLY:
                    raise
                calls.step("failed", str(error))
                failed, failures = error, failures + 1
                named = tuple(document.doc_id for document, _ in page[:_NAMED])
            left += [one for doc_id in named for one in page if one[0].doc_id == doc_id]
        if failed is not None and failures == len(pages):
            raise failed
        if failures:
            notes.append(f"{failures} of {len(pages)} lists of documents were not read by the model ({failed})")
    if not left:
        return Picked((), "", tuple(notes))
    last = _page(calls, left)
    return Picked(last.documents, last.reasoning, tuple(notes))


def _page(calls: Calls, documents: Sequence[tuple[Document, str]]) -> Picked:
    names = {f"d{number}": document.doc_id for number, (document, _) in enumerate(documents, 1)}
    lines = [_line(name, *one) for name, one in zip(names, documents, strict=True)]
    said = calls.ask("route-documents", Picks, {"documents": "\n".join(lines)})
    written = [name.strip().casefold() for name in said.documents]
    if lost := [name for name in written if name not in names]:
        calls.step("dropped", f"there is no {', '.join(lost[: 2 * _NAMED])}")
    known = _unique(names[name] for name in written if name in names)
    return Picked(known[:_NAMED], " ".join(said.reasoning.split()))


def _line(name: str, document: Document, reason: str) -> str:
    parts = [name, document.name, *card(document)]
    if reason:
        parts.append(f"matches the question by {reason}")
    return cut(" · ".join(parts), _LINE)


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
