"""An answer in a run's records, and what was thought of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from hybrid_core.types.answers import AnswerStatus, Claim
from hybrid_core.types.usage import Usage

Verdict = Literal["right", "partly", "wrong"]
"""``right`` counts as strict and lenient, ``partly`` as lenient alone: true, but incomplete, coarser, or with more."""
ANSWERS = (
    "answers-strict", "answers-lenient", "answers-judged", "answers-rules", "answers-rules-lenient", "answers-given",
    "answers-refused", "citations-supported", "answers-supported", "citations-gold",
)  # fmt: skip
"""The measures of answers, in the order in which tables show them."""
VERDICTS: tuple[Verdict, ...] = ("right", "partly", "wrong")


@dataclass(frozen=True, slots=True)
class SourceGiven:
    """A page that the answer could cite, by its number there."""

    number: int
    document: str
    page: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the judge said, and its own usage. ``verdict`` is None where it was not judged; ``why`` says why then."""

    verdict: Verdict | None
    why: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """``usage`` is the answer's alone, without search and judge. ``by_rules`` is None where there is nothing to
    compare with, ``judgement`` None where no judge was named.
    """

    text: str
    status: AnswerStatus
    why: str = ""
    claims: tuple[Claim, ...] = ()
    sources: tuple[SourceGiven, ...] = ()
    usage: Usage = field(default_factory=Usage)
    notes: tuple[str, ...] = ()
    by_rules: Verdict | None = None
    judgement: Judgement | None = None


def read_answered(data: Mapping[str, Any]) -> AnswerRecord:
    """An answer as its record's line holds it. Raises what malformed values raise (TypeError, KeyError)."""
    judged = data.get("judgement")
    return AnswerRecord(
        text=str(data["text"]),
        status=cast(AnswerStatus, data["status"]),
        why=str(data.get("why", "")),
        claims=tuple(Claim(**(claim | {"sources": tuple(claim["sources"])})) for claim in data.get("claims", ())),
        sources=tuple(SourceGiven(**source) for source in data.get("sources", ())),
        usage=Usage(**data.get("usage", {})),
        notes=tuple(data.get("notes", ())),
        by_rules=cast("Verdict | None", data.get("by_rules")),
        judgement=judged and Judgement(**(judged | {"usage": Usage(**judged.get("usage", {}))})),
    )
