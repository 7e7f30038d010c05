"""Questions of a data set with their gold evidence, and the results of rankers and answering models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, cast

from hybrid_core.types.answers import AnswerStatus, Claim
from hybrid_core.types.results import Trace
from hybrid_core.types.usage import Usage


@dataclass(frozen=True, slots=True)
class RankedPage:
    """A page in a ranking.

    ``section`` is the node_id of the page's section, "" if the ranker does not return one, and ``node`` the section's
    page range. ``text`` is the cited snippet, "" if the whole page is cited.
    """

    document: str
    page: int
    score: float
    section: str = ""
    node: tuple[int, int] | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The result of a ranker for a question. All lists are best first.

    ``documents`` are file names. ``evidence`` is (level, score), None for rankers that do not estimate it. ``trace`` is
    None for rankers other than the engine. ``receipts`` are stored unchanged in the run's file. If a model failed, so
    that pages were ranked without it, ``failed`` is the note on this.
    """

    pages: tuple[RankedPage, ...]
    documents: tuple[str, ...]
    evidence: tuple[str, float] | None = None
    trace: Trace | None = None
    receipts: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    tokens: int = 0  # in and out
    input_tokens: int = 0
    cost: float = 0.0
    failed: str = ""


class Ranker(Protocol):
    """A method to rank pages. ``name`` is shown in reports; ``options`` (JSON values) are recorded."""

    name: str
    options: Mapping[str, Any]

    def rank(self, question: str, documents: Sequence[str] | None, depth: int) -> Ranking:
        """Return the ``depth`` best pages for a question.

        They are from ``documents``, or from the whole library if it is None.
        """
        ...


Verdict = Literal["right", "partly", "wrong"]
"""The judgement of an answer. ``right`` counts in strict and lenient measures. ``partly`` counts only in lenient ones:
the answer is true, but incomplete, less exact, or says more.
"""
ANSWERS = (
    "answers-strict", "answers-lenient", "answers-judged", "answers-rules", "answers-rules-lenient", "answers-given",
    "answers-refused", "citations-supported", "answers-supported", "citations-gold",
)  # fmt: skip
"""The measures of answers, in the order of the tables."""
VERDICTS: tuple[Verdict, ...] = ("right", "partly", "wrong")


@dataclass(frozen=True, slots=True)
class SourceGiven:
    """A page that an answer could cite, with its source number."""

    number: int
    document: str
    page: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's verdict with its reason and usage.

    ``verdict`` is None if the answer was not judged; ``why`` is then the reason.
    """

    verdict: Verdict | None
    why: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """An answer with its judgements.

    ``usage`` excludes the search and the judge. ``by_rules`` is None without a reference answer, ``judgement`` None
    without a judge.
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
    """Return the answer in a line of a run. Raise TypeError or KeyError for malformed values."""
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


Row = tuple[int, str, int]  # level from 1, title, page from 1


@dataclass(frozen=True, slots=True)
class HumanOutline:
    """The headings of a document as people wrote them down, with ``rows`` in reading order.

    For the tolerant score, ``optional`` headings are no errors. ``doubtful`` ones (drawn as pictures, or debatable)
    need not be found. Only headings on pages ``first`` to ``last`` count; None means to the end. Outlines of one
    ``kind`` are held out together. ``language`` is "" if unknown.
    """

    rows: tuple[Row, ...]
    optional: tuple[Row, ...] = ()
    doubtful: tuple[Row, ...] = ()
    first: int = 1
    last: int | None = None
    kind: str = ""
    language: str = ""


GoldMatch = Literal["place", "half", "turns", "section", "document"]


@dataclass(frozen=True, slots=True)
class Gold:
    """A piece of gold evidence: a right page or text in a document, which is given by file name.

    ``page`` is the physical page, from 1. It is None if only the document is known, or if the page must be found by
    ``text`` (eval.datasets.corpus). ``text`` is the gold text, "" for none. ``also`` are pages that count as equal,
    onto which the text continues.

    ``match`` defines the right pages. "place" is the page given by ``page`` or ``text``. "half" are pages with at least
    half of ``text``. "turns" are pages with one of ``turns`` ("[n] " begins each turn of a transcript). "section" are
    pages of the section titled ``section``. "document" are all pages of the document.
    """

    document: str
    page: int | None = None
    text: str = ""
    also: tuple[int, ...] = ()
    match: GoldMatch = "place"
    turns: tuple[int, ...] = ()
    section: str = ""


@dataclass(frozen=True, slots=True)
class EvalQuestion:
    """A question of a data set.

    ``kind`` is the group from which samples are drawn. ``group`` is the unit that folds keep together (a company, a
    law, a contract). ``given`` are the documents of the setting "given"; if it is empty, they are those of the
    evidence. ``within`` are the documents that the question is about in every setting, empty for the whole library.
    ``language`` is an ISO 639-1 code, "" if the set does not state it. ``before`` are earlier questions of the same
    conversation, oldest first, if the question is a follow-up. ``answerable`` is False if the library does not contain
    the answer; such a question has no evidence.
    """

    id: str
    text: str
    evidence: tuple[Gold, ...]
    answer: str = ""
    kind: str = ""
    group: str = ""
    answerable: bool = True
    given: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    language: str = ""
    before: tuple[str, ...] = ()

    @property
    def documents(self) -> tuple[str, ...]:
        """Return the documents that are searched in the setting "given"."""
        return self.given or self.within or tuple(dict.fromkeys(gold.document for gold in self.evidence))


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """An answer to a question, with a human label that says whether it is right."""

    id: str
    question: str
    reference: str
    answer: str
    label: Verdict


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set: documents and questions.

    ``files`` are the documents' paths, with unique file names. ``chinese`` is True if the BM25 baseline must tokenise
    Chinese. ``outlines`` are human outlines by file, for sets that measure trees. ``labelled`` are answers with human
    labels, by which judges are measured. ``notes`` describe what is not measured, with reasons. ``left_out`` lists
    unusable entries with file, position and reason. Reports show notes and unusable entries.
    """

    name: str
    files: tuple[Path, ...]
    questions: tuple[EvalQuestion, ...]
    chinese: bool = False
    outlines: Mapping[str, HumanOutline] = field(default_factory=dict)
    labelled: tuple[LabelledAnswer, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
