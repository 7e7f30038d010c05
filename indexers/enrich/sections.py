"""Section summaries by a model, and what a section announces but does not hold.

Long texts are summarised, short ones are their own summary. What a branch is given beside its own text are the
summaries of the leaves below it, whatever stands between. Leaves and all that holds them share a call where one is
enough, the branches given there what the rules say of those leaves: so a changed page costs one call, however deep the
tree is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from pydantic import BaseModel

from hybrid_core.errors import ChatError, EndpointFailure
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.session import Session
from hybrid_core.text import tokens
from hybrid_core.types.documents import Page, Section
from indexers.enrich.language import language_of
from indexers.enrich.section_texts import Material, branch_materials, leaf_materials

_PROMPT = "section-summaries"
_BATCH_TOKENS, _BATCH_SECTIONS = 16_000, 20  # half a context of 32,000
_TOKENS_EACH, _TOKENS_BASE = 180, 400  # of a reply: 4,000 for a batch, which is what many models write at most
_AGAIN = 3  # what a batch's reply lacks is asked for in batches so many times smaller
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
class SectionOutcome:
    """The sections with their summaries and gaps. What ``failure`` kept from being asked has the summaries of before;
    what was answered is kept, so that another run asks for the rest only.
    """

    sections: tuple[Section, ...]
    notes: tuple[str, ...]
    failure: EndpointFailure | None = None


def summarise_sections(
    model: ChatModel, scope: CallScope, pages: Sequence[Page], sections: Sequence[Section]
) -> SectionOutcome:
    """Summaries and gaps of all sections: first of the leaves, then of the branches over them."""
    session = Session(model, scope, language=language_of([page.text for page in pages]))
    round_ = _Round(session, [section.summary for section in sections])
    leaves = leaf_materials(pages, sections)
    wanted = round_.take(leaves, {})
    above = branch_materials(pages, sections, round_.summaries, {leaf.at for leaf in wanted}) if wanted else []
    together = [*wanted, *(branch for branch in above if round_.lacks(branch))]
    said = round_.ask(together if len(_batches(together)) == 1 else wanted)
    lost = round_.take(leaves, said)
    branches = branch_materials(pages, sections, round_.summaries)
    lost += round_.take(branches, round_.ask(round_.take(branches, said)))
    made = [
        replace(s, summary=round_.summaries[at], gaps=tuple(dict.fromkeys((*s.gaps, *round_.gaps[at]))))
        for at, s in enumerate(sections)
    ]
    if not lost:
        return SectionOutcome(tuple(made), ())
    why = round_.error.message if round_.error else "the model left them out."
    note = f"section summaries: {len(lost)} have those made without a model: {why}"
    return SectionOutcome(tuple(made), (note,), round_.error.failure if round_.error else "reply")


class _Round:
    """Asks for materials in batches, side by side; what is kept is not asked for."""

    def __init__(self, session: Session, summaries: list[str]) -> None:
        self.summaries = summaries
        self.gaps: list[tuple[str, ...]] = [() for _ in summaries]
        self._session = session
        self.error: ChatError | None = None
        self._known: dict[str, _Said] = {}

    def take(self, materials: Sequence[Material], said: Mapping[int, _Said]) -> list[Material]:
        """Puts what is said of each material, by its place, or kept of it at its section; those that lack it."""
        lacking = []
        for material in materials:
            if material.short is not None:
                self.summaries[material.at] = material.short
            if not material.asked:
                continue
            if self.lacks(material) and material.at in said:
                self._known[self._key(material)] = said[material.at]
                self._session.put(self._key(material), said[material.at].model_dump_json())
            held = self._known.get(self._key(material))
            if held is None:
                lacking.append(material)
                continue
            self.gaps[material.at] = tuple(held.gaps)
            if material.short is None:
                self.summaries[material.at] = held.summary
        return lacking

    def lacks(self, material: Material) -> bool:
        """Whether a model is asked about it of which nothing is kept."""
        key = self._key(material)
        if material.asked and key not in self._known and (held := self._session.get(key)) is not None:
            self._known[key] = _Said.model_validate_json(held)
        return material.asked and key not in self._known

    def _key(self, material: Material) -> str:
        return self._session.key(_PROMPT, material.text)

    def ask(self, wanted: Sequence[Material]) -> dict[int, _Said]:
        """What is said of each, by its place; the rest is asked for once more in smaller batches."""
        found: dict[int, _Said] = {}
        for share in (1, _AGAIN):
            left = [material for material in wanted if material.at not in found]
            if not left or (self.error and self.error.failure in _HOPELESS):
                break
            with ThreadPoolExecutor(_WORKERS) as pool:
                for said in pool.map(self._batch, _batches(left, share)):
                    found |= said
        return found

    def _batch(self, batch: Sequence[Material]) -> dict[int, _Said]:
        if self.error and self.error.failure in _HOPELESS:
            return {}
        shown = "\n\n".join(f"[section {number}]\n{material.text}" for number, material in enumerate(batch, 1))
        most = _TOKENS_BASE + _TOKENS_EACH * len(batch)
        try:
            reply = self._session.ask(_PROMPT, SectionSummaries, {"sections": shown}, tokens=most)
        except ChatError as error:
            self.error = error
            return {}
        found: dict[int, _Said] = {}
        for one in reply.summaries:
            material = batch[one.section - 1] if 1 <= one.section <= len(batch) else None
            said = " ".join(one.summary.split())
            if material is not None and material.at not in found and (said or material.short is not None):
                said = said if len(said) <= _LONGEST else said[: _LONGEST - 1] + "…"
                found[material.at] = _Said(summary=said, gaps=_checked(one.gaps, material.text))
        return found


def _checked(gaps: Sequence[str], shown: str) -> list[str]:
    """Gaps that name something the section speaks of, each once."""
    terms = set(tokens.tokenise(shown))
    told = dict.fromkeys(" ".join(gap.split())[:_GAP] for gap in gaps)
    return [gap for gap in told if terms.intersection(tokens.tokenise(gap))][:_GAPS]


def _batches(materials: Sequence[Material], share: int = 1) -> list[list[Material]]:
    """Runs of materials, none above the bounds divided by ``share`` unless it is a single one."""
    batches: list[list[Material]] = []
    size = 0
    for material in materials:
        full = batches and (len(batches[-1]) >= _BATCH_SECTIONS // share)
        if not batches or full or size + material.tokens > _BATCH_TOKENS // share:
            batches.append([])
            size = 0
        batches[-1].append(material)
        size += material.tokens
    return batches
