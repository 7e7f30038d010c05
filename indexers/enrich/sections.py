"""Section summaries by a model, and what a section announces but does not hold.

Long texts are summarised, short ones are their own summary. What a branch is given beside its own text are the
summaries of the leaves below it, whatever stands between: so a changed page costs one call for the leaves on it and
one for all that holds them, however deep the tree is.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from pydantic import BaseModel

from hybrid_core import text
from hybrid_core.errors import ChatError, ChatFailure
from hybrid_core.models.chat import ChatModel
from hybrid_core.types import Page, Section
from hybrid_core.usage import Usage
from indexers.enrich.asking import Asker, language_of
from indexers.enrich.cache import PartCache
from indexers.enrich.section_texts import Material, branch_materials, leaf_materials

_PROMPT = "section-summaries"
_BATCH_TOKENS, _BATCH_SECTIONS = 6000, 16
_TOKENS_EACH, _TOKENS_BASE = 220, 400  # of a reply
_LONGEST, _GAP = 1500, 160  # characters
_GAPS = 3
_WORKERS = 8
_HOPELESS = frozenset({"key", "model", "quota", "connection", "timeout", "request", "overload", "rate limit"})


class SectionSummary(BaseModel):
    section: int
    summary: str = ""
    gaps: list[str] = []


class SectionSummaries(BaseModel):
    summaries: list[SectionSummary]


class _Said(BaseModel):
    summary: str
    gaps: list[str]


@dataclass(frozen=True, slots=True)
class SectionsSaid:
    """The sections with their summaries and gaps. What ``failure`` kept from being asked has the summaries of before;
    what was answered is kept, so that another run asks for the rest only.
    """

    sections: tuple[Section, ...]
    notes: tuple[str, ...]
    usage: Usage
    failure: ChatFailure | None = None


def summarise_sections(
    model: ChatModel,
    pages: Sequence[Page],
    sections: Sequence[Section],
    cache: PartCache,
    *,
    deadline: float | None = None,
) -> SectionsSaid:
    """Summaries and gaps of all sections: first of the leaves, then of the branches over them."""
    asker = Asker(model, cache, language=language_of([page.text for page in pages]), deadline=deadline)
    round_ = _Round(asker)
    summaries = [section.summary for section in sections]
    gaps: list[tuple[str, ...]] = [() for _ in sections]
    round_.run(leaf_materials(pages, sections), summaries, gaps)
    round_.run(branch_materials(pages, sections, summaries), summaries, gaps)
    made = [replace(s, summary=said, gaps=held) for s, said, held in zip(sections, summaries, gaps, strict=True)]
    return SectionsSaid(tuple(made), tuple(round_.notes()), asker.usage, round_.failure)


class _Round:
    """Asks for materials in batches, side by side; what is kept is not asked for."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self._error: ChatError | None = None
        self._missing = 0

    @property
    def failure(self) -> ChatFailure | None:
        return self._error.failure if self._error else ("reply" if self._missing else None)

    def notes(self) -> list[str]:
        if not self._missing:
            return []
        why = self._error.message if self._error else "the model left them out."
        return [f"section summaries: {self._missing} have those made without a model: {why}"]

    def run(self, materials: Sequence[Material], summaries: list[str], gaps: list[tuple[str, ...]]) -> None:
        """Puts what is said of each material at its section's place."""
        wanted = []
        for material in materials:
            if material.short is not None:
                summaries[material.at] = material.short
            if not material.asked:
                continue
            held = self._asker.get(self._key(material))
            if held is None:
                wanted.append(material)
            else:
                _take(material, _Said.model_validate_json(held), summaries, gaps)
        for material, said in self._ask_for(wanted):
            self._asker.put(self._key(material), said.model_dump_json())
            _take(material, said, summaries, gaps)

    def _key(self, material: Material) -> str:
        return self._asker.key(_PROMPT, material.text)

    def _ask_for(self, wanted: Sequence[Material]) -> list[tuple[Material, _Said]]:
        """What is said of each, the rest once more in smaller batches."""
        found: list[tuple[Material, _Said]] = []
        for share in (1, 2):
            done = {material.at for material, _ in found}
            left = [material for material in wanted if material.at not in done]
            if not left or (self._error and self._error.failure in _HOPELESS):
                break
            with ThreadPoolExecutor(_WORKERS) as pool:
                for said in pool.map(self._batch, _batches(left, _BATCH_TOKENS // share, _BATCH_SECTIONS // share)):
                    found += said
        self._missing += len(wanted) - len(found)
        if not self._missing:
            self._error = None  # what failed first went well in smaller batches
        return found

    def _batch(self, batch: Sequence[Material]) -> list[tuple[Material, _Said]]:
        if self._error and self._error.failure in _HOPELESS:
            return []
        shown = "\n\n".join(f"[section {number}]\n{material.text}" for number, material in enumerate(batch, 1))
        most = _TOKENS_BASE + _TOKENS_EACH * len(batch)
        try:
            reply = self._asker.ask(_PROMPT, SectionSummaries, {"sections": shown}, keep=False, tokens=most)
        except ChatError as error:
            self._error = error
            return []
        found: dict[int, _Said] = {}
        for one in reply.summaries:
            material = batch[one.section - 1] if 1 <= one.section <= len(batch) else None
            said = " ".join(one.summary.split())
            if material is not None and one.section not in found and (said or material.short is not None):
                said = said if len(said) <= _LONGEST else said[: _LONGEST - 1] + "…"
                found[one.section] = _Said(summary=said, gaps=_checked(one.gaps, material.text))
        return [(batch[number - 1], said) for number, said in sorted(found.items())]


def _take(material: Material, said: _Said, summaries: list[str], gaps: list[tuple[str, ...]]) -> None:
    gaps[material.at] = tuple(said.gaps)
    if material.short is None:
        summaries[material.at] = said.summary


def _checked(gaps: Sequence[str], shown: str) -> list[str]:
    """Gaps that name something the section speaks of, each once."""
    terms = set(text.tokenise(shown))
    told = dict.fromkeys(" ".join(gap.split())[:_GAP] for gap in gaps)
    return [gap for gap in told if terms.intersection(text.tokenise(gap))][:_GAPS]


def _batches(materials: Sequence[Material], tokens: int, sections: int) -> list[list[Material]]:
    """Runs of materials, none above the bounds unless it is a single one."""
    batches: list[list[Material]] = []
    size = 0
    for material in materials:
        if not batches or size + material.tokens > tokens or len(batches[-1]) >= sections:
            batches.append([])
            size = 0
        batches[-1].append(material)
        size += material.tokens
    return batches
