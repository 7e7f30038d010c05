"""Questions of a set with their gold evidence, and what rankers and answering models return for them."""

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
    """``section`` is the node_id of the page's section, "" where the ranker knows none; ``node`` its page range.

    ``text`` is the snippet that is cited, "" where nothing finer than the page is.
    """

    document: str
    page: int
    score: float
    section: str = ""
    node: tuple[int, int] | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Ranking:
    """A ranker's result for a question, everything best first.

    ``documents`` are file names. ``evidence`` is (level, score), None for rankers that do not judge.
    ``trace`` is None for rankers that are not the engine. ``receipts`` go into the run's file as they are. ``failed``
    is the note on a model that failed, so that pages were ranked without it.
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
    """``name`` is shown in reports; ``options`` is recorded with a run (JSON)."""

    name: str
    options: Mapping[str, Any]

    def rank(self, question: str, documents: Sequence[str] | None, depth: int) -> Ranking:
        """Return the ``depth`` best pages, only of ``documents`` unless it is None."""
        ...


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
    """A judge's verdict with its reason and its own usage.

    ``verdict`` is None where it was not judged; ``why`` says why then.
    """

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
    """Parse an answer from its line in a run. Raise TypeError or KeyError for malformed values."""
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
    """``rows`` in reading order. Where judgement is tolerant, ``optional`` headings are no mistakes, and ``doubtful``
    ones of the rows (drawn as pictures, defensible either way) need not be found. Only headings on pages ``first`` to
    ``last`` count; None: to the end. Outlines of one ``kind`` are held out together. ``language`` is "" where nobody
    says.
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
    """A piece of evidence, by the document's file name.

    ``page`` is physical, from 1; None where only the document is known, or where ``text`` tells the place
    and its page is looked up in the indexed text (eval.datasets.corpus). ``text`` is the gold text, "" where none.
    ``also`` are pages that count as this one: those that a located text runs on to.
    ``match`` says which pages are right: "place" the one at ``page`` or where ``text`` stands, "half" those that hold
    at least half of ``text``, "turns" those that hold one of ``turns`` ("[n] " begins each turn of a transcript),
    "section" those of the section titled ``section``, "document" every page of the document.
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
    """``kind`` is the stratum of samples; ``group`` what folds keep together (a company, a law, a contract).

    ``given`` are the documents of the setting "given": those of the evidence where it is empty.
    ``within`` are the documents that the question is about in every setting; empty where it asks the whole library.
    ``language`` is an ISO 639-1 code, "" where the set does not tell.
    ``answerable`` is False where the library does not hold the answer; such a question has no evidence.
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

    @property
    def documents(self) -> tuple[str, ...]:
        """Return the documents that the setting "given" searches."""
        return self.given or self.within or tuple(dict.fromkeys(gold.document for gold in self.evidence))


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """An answer to a question with a human label of its correctness."""

    id: str
    question: str
    reference: str
    answer: str
    label: Verdict


@dataclass(frozen=True, slots=True)
class Dataset:
    """``files`` are the documents' paths; file names are unique among them. ``chinese`` picks the baseline's tokens.

    ``outlines`` gives the human outline of a file, for sets that measure trees.
    ``labelled`` are answers by which judges can be judged.
    ``notes`` say what of the source is not measured, and why; ``left_out`` names each entry that cannot be used: its
    file, its place and the reason. Reports show them.
    """

    name: str
    files: tuple[Path, ...]
    questions: tuple[EvalQuestion, ...]
    chinese: bool = False
    outlines: Mapping[str, HumanOutline] = field(default_factory=dict)
    labelled: tuple[LabelledAnswer, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
