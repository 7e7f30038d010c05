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
    """A page as the model was given it. ``text`` is the page's, or its lines that match best where ``cut``, "" where
    there was no room for it; ``snippet`` is the best passage. ``image``: the picture of the page, or of its
    figures, was sent too; ``figures``: it shows what its text does not hold. ``short_path`` as in PageFound.
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
    library: str = ""  # where several are searched
    place: str = ""  # as in PageFound
    figures: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of the answer and the sources it cites (those that were given).

    ``supported``: every number and every quotation in it stands in a cited source or is what a right calculation comes
    to, and enough of its words stand there. ``why`` says what is missing; it is empty for a supported claim.
    ``pictured``: what is missing may stand in the picture of a cited source that was sent, and which counts where it
    and the text differ; nothing compares it. Whether the page really says so is not judged.
    """

    text: str
    sources: tuple[int, ...]
    supported: bool
    why: Note = NONE
    pictured: bool = False


@dataclass(frozen=True, slots=True)
class Calculation:
    """A calculation as the answer states it, its ``result`` and the sources of its figures. ``right``: it comes to
    that, and its figures stand in the sources or the question. ``why`` says what is wrong, "" where nothing is.
    """

    text: str
    result: str
    sources: tuple[int, ...]
    right: bool
    why: Note = NONE


@dataclass(frozen=True, slots=True)
class Answer:
    """``text`` is the answer with citations as ``[[source:n]]``, n being a source's number; those to sources that were
    not given are taken out. ``why`` says what happened where ``status`` is not ``answered``. ``sources`` are there
    with each status: they are the best pages that were found, and those that the model asked to read. ``steps`` are
    what was done besides one call of the model. ``definition`` is the one, of what was asked for, that the answer says
    it goes by, ``calculations`` what it says it calculated; both stand in ``text`` too. ``usage`` includes what the
    search spent.
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
        """The claims that the cited pages do not bear out, but for those that may be read from pictures."""
        return tuple(claim for claim in self.claims if not claim.supported and not claim.pictured)

    @property
    def pictured(self) -> tuple[Claim, ...]:
        """The claims that may be read from pictures: the texts of the cited pages do not bear them out."""
        return tuple(claim for claim in self.claims if claim.pictured)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        shape = asdict(self)
        for source in shape["sources"]:
            for name in ("library", "place"):
                if not source[name]:
                    del source[name]
        return shape
