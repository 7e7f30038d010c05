"""What ``ask`` answers with. Field names are those of the JSON that every door returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

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

    ``supported``: every number and every quotation in it stands in a cited source, and enough of its words do. ``why``
    says what is missing; it is empty for a supported claim. Whether the page really says so is not judged.
    """

    text: str
    sources: tuple[int, ...]
    supported: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """``text`` is the answer with citations as ``[[source:n]]``, n being a source's number; those to sources that were
    not given are taken out. ``why`` says what happened where ``status`` is not ``answered``. ``sources`` are there
    with each status: they are the best pages that were found, and those that the model asked to read. ``steps`` are
    what was done besides one call of the model. ``usage`` includes what the search spent.
    """

    query: str
    library: str
    status: AnswerStatus
    text: str
    why: str
    claims: tuple[Claim, ...]
    sources: tuple[Source, ...]
    evidence: Evidence
    effort: EffortUsed
    model: str
    usage: Usage
    notes: tuple[str, ...]
    timings_ms: Mapping[str, float]
    steps: tuple[ReasoningStep, ...] = ()

    @property
    def unsupported(self) -> tuple[Claim, ...]:
        """The claims that the cited pages do not bear out."""
        return tuple(claim for claim in self.claims if not claim.supported)

    def to_dict(self) -> dict[str, Any]:
        """The JSON shape."""
        shape = asdict(self)
        for source in shape["sources"]:
            for name in ("library", "place"):
                if not source[name]:
                    del source[name]
        return shape
