"""Prompts by which a model chooses documents: filter conditions, or documents by descriptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from hybrid_core.llm.budget import cut, estimate, shares
from hybrid_core.text.tokens import plain_words
from hybrid_core.types.documents import Document
from hybrid_core.types.notes import Note
from retrievers.query.question import Question
from retrievers.reason.asker import QuestionSession
from retrievers.reason.board import Described, about, card, file_name, short
from retrievers.reason.conditions import Condition, Field, Operator, table

MOST = 72  # documents described where somebody did
_REPLY = 600  # tokens that a reply may have
_PROMPT_SHARE = 0.5  # share of the question's tokens; the rest is for finding its pages
_MAX_PICKS = 3  # documents that a reply may name
_LINE, _LEAST = 90, 24  # tokens of a document's line at most, and as few as still tell something
_ABOUT, _PASSAGE = 50, 110  # characters
_PASSAGE_SHARE = 0.55  # share of a document's tokens for the passage of its best page
_ALL = 1300  # tokens of all of them together
_FIELDS = 1500  # tokens of all fields together
_CONDITIONS, _VALUES = 6, 20


class ConditionSaid(BaseModel):
    """A condition on a field, as a model writes it."""

    field: str
    operator: Operator
    values: list[str]


class Conditions(BaseModel):
    """The conditions that documents must meet."""

    reasoning: str
    conditions: list[ConditionSaid]


class Picks(BaseModel):
    """The documents in which to search, as a model names them."""

    reasoning: str
    documents: list[str]


@dataclass(frozen=True, slots=True)
class DocumentPicks:
    """The documents that a model chose, as doc_ids, best first, with its reason."""

    documents: tuple[str, ...]
    reasoning: str


def ask_conditions(session: QuestionSession, question: Question, fields: Mapping[str, Field]) -> list[Condition]:
    """Ask a model for the filter conditions in a question. Raise ChatError if this fails.

    The conditions are not yet checked against the library.
    """
    room = _room(session, "route-filter", Conditions, {"fields": ""})
    shown = table(fields.values(), question.terms, min(_FIELDS, room))
    conditions = session.ask("route-filter", Conditions, {"fields": shown}, tokens=_REPLY).conditions[:_CONDITIONS]
    return [
        Condition(condition.field, condition.operator, tuple(condition.values[:_VALUES])) for condition in conditions
    ]


def pick(session: QuestionSession, documents: Sequence[Described]) -> DocumentPicks:
    """Ask a model in which documents to search. Raise ChatError if this fails.

    The model is shown the first documents, as many as the tokens allow, at most MOST.
    """
    room = _room(session, "route-documents", Picks, {"documents": ""})
    shown = documents[: max(1, min(MOST, room // _LEAST))]
    names = {f"d{number}": document.document.doc_id for number, document in enumerate(shown, 1)}
    lines = document_lines(names, shown, min(room, _ALL))
    picks = session.ask("route-documents", Picks, {"documents": "\n".join(lines)}, tokens=_REPLY)
    written = [name.strip().casefold() for name in picks.documents]
    if lost := [name for name in written if name not in names]:
        session.step("dropped", f"there is no {', '.join(lost[: 2 * _MAX_PICKS])}")
    doc_ids = tuple(dict.fromkeys(names[name] for name in written if name in names))
    return DocumentPicks(doc_ids[:_MAX_PICKS], " ".join(picks.reasoning.split()))


def _room(session: QuestionSession, name: str, schema: type[BaseModel], values: Mapping[str, str]) -> int:
    return session.room(name, schema, values, int(_PROMPT_SHARE * session.scope.budget.tokens))


def document_lines(names: Iterable[str], documents: Sequence[Described], tokens: int) -> list[str]:
    """Return a description of each document with its best passage, in at most ``tokens`` together.

    If there is not enough space, descriptions and passages are cut. A passage keeps at least ``_PASSAGE_SHARE`` of the
    space.
    """
    parts = [_describe_document(name, described) for name, described in zip(names, documents, strict=True)]
    sizes = [estimate(head) + estimate(passage) for head, passage in parts]
    lines = []
    for (head, passage), size in zip(parts, shares(sizes, tokens - 4 * len(parts)), strict=True):
        passage_size = min(estimate(passage), max(int(_PASSAGE_SHARE * size), size - estimate(head)))
        lines.append(
            cut(head, size - passage_size) + (f"\n  {cut(passage, passage_size)}" if passage and passage_size else "")
        )
    return lines


def _describe_document(name: str, described: Described) -> tuple[str, str]:
    """Return two lines about a document: its description, and its best passage ("" for none).

    The description states type, length, pages with figures, and subject.
    """
    document = described.document
    pictures = f", {document.unread} of pictures without text" if document.unread else ""
    drawn = [str(page) for page, seen in sorted(described.best.items()) if seen.pictured]
    pictures += f", figures on {', '.join(drawn)}" if drawn else ""
    parts = [name, file_name(document), card(document), f"{document.pages} pages{pictures}"]
    if reason := _telling(described.reason, document):
        parts.append(f"fits by {reason}")
    page, best = next(iter(described.best.items()), (0, None))
    if (best and best.passage) or not document.card.type:
        parts.append(about(document, _ABOUT))
    line = cut(" · ".join(part for part in parts if part), _LINE)
    return line, f"page {page}: {short(best.passage, _PASSAGE)}" if best and best.passage else ""


def _telling(reason: Note, document: Document) -> str:
    """Return a reason without the parts that the document's file name already states."""
    name = set(plain_words(document.name).split())
    reasons = reason.parts
    return "; ".join(part for part in reasons if not set(plain_words(part).split()[1:]) <= name)
