"""Results of ``ask``. The field names are those of the JSON of all interfaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from hybrid_core.types.notes import NONE, Note
from hybrid_core.types.results import EffortUsed, Evidence, ReasoningStep
from hybrid_core.types.usage import Usage

AnswerStatus = Literal["answered", "not_in_library", "which_document", "no_model", "model_failed"]


@dataclass(frozen=True, slots=True)
class Source:
    """A page that was sent to the model as a source of the answer.

    ``text`` is the text of the page. With ``cut`` it contains only the lines that match best; it is "" if the model's
    input had no space left. ``snippet`` is the best passage. ``image`` is True if the picture of the page, or of its
    figures, was sent too. ``figures`` is True if the page shows figures that its text does not describe. ``short_path``
    is the file name with as many folders as distinguish it from other documents.
    """

    number: int
    doc_id: str
    doc_name: str
    page: int
    label: str
    section_path: tuple[str, ...]
    text: str
    snippet: str
    cut: bool = False
    image: bool = False
    short_path: str = ""
    library: str = ""  # name of the library, if several were searched
    place: str = ""  # position in the file, see PageFound
    figures: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of the answer, and the numbers of the sources that it cites.

    ``supported`` means that a cited source contains the numbers, quotations and enough of the words of the sentence.
    The result of a correct calculation counts as a number of the source. ``why`` says what is missing; it is empty for
    a supported claim. ``pictured`` means that the missing parts may be visible in a picture of a cited source, which
    was sent to the model; the picture itself is not checked. Whether the page confirms the meaning of the sentence is
    not checked either.
    """

    text: str
    sources: tuple[int, ...]
    supported: bool
    why: Note = NONE
    pictured: bool = False


@dataclass(frozen=True, slots=True)
class Calculation:
    """A calculation that the answer states, its ``result``, and the sources of its numbers.

    ``right`` is True if the result is correct and the sources or the question contain the numbers. ``why`` describes
    the error, and is "" if there is none.
    """

    text: str
    result: str
    sources: tuple[int, ...]
    right: bool
    why: Note = NONE


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question, with its sources and its checked claims.

    ``text`` is the answer. It cites sources as ``[[source:n]]``, n being a source's number; citations of sources that
    do not exist are removed. ``why`` is the reason for a ``status`` other than ``answered``. ``sources`` are, for every
    status, the best pages of the search and the pages that the model asked to read. ``steps`` lists the model calls if
    there was more than one. ``definition`` is the definition that the answer uses for the requested figure, and
    ``calculations`` are the calculations that it states; ``text`` contains both. ``usage`` includes the usage of the
    search.
    """

    query: str
    library: str
    status: AnswerStatus
    text: str
    why: Note
    claims: tuple[Claim, ...]
    sources: tuple[Source, ...]
    evidence: Evidence
    effort: EffortUsed
    model: str
    usage: Usage
    notes: tuple[Note, ...]
    timings_ms: Mapping[str, float]
    steps: tuple[ReasoningStep, ...] = ()
    definition: str = ""
    calculations: tuple[Calculation, ...] = ()

    @property
    def unsupported(self) -> tuple[Claim, ...]:
        """Return the claims that the cited pages do not support, without those that may be visible in pictures."""
        return tuple(claim for claim in self.claims if not claim.supported and not claim.pictured)

    @property
    def pictured(self) -> tuple[Claim, ...]:
        """Return the claims that only pictures may support, because the texts of the cited pages do not."""
        return tuple(claim for claim in self.claims if claim.pictured)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON values, in the form of all interfaces."""
        shape = asdict(self)
        for source in shape["sources"]:
            for name in ("library", "place"):
                if not source[name]:
                    del source[name]
        return shape
