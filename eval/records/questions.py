"""What every data set yields: documents, questions, and the gold evidence that answers them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from eval.records.answers import Verdict
from eval.records.outlines import HumanOutline

GoldMatch = Literal["place", "half", "turns", "section", "document"]


@dataclass(frozen=True, slots=True)
class Gold:
    """One piece of evidence, by the document's file name.

    ``page`` is physical, from 1; None where only the document is known, or where ``text`` tells the place
    and its page is looked up in the indexed text (eval.datasets.locate). ``text`` is the gold text, "" where none.
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

    ``given`` are the documents of the setting «given»: those of the evidence where it is empty.
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
        """The documents that the setting «given» gives."""
        return self.given or self.within or tuple(dict.fromkeys(gold.document for gold in self.evidence))


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """Somebody's answer to a question, and what people say it is worth beside the reference answer."""

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
