"""Section summaries made by a model, and the gaps that it finds.

Long texts are summarised; short ones are their own summary. A parent section is summarised from its own text and the
summaries of the childless sections (leaves) below it. If leaves and their parents fit into one call, they share it, so
a changed page costs one call at any depth.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from pydantic import BaseModel

from hybrid_core.errors import ChatError, EndpointFailure
from hybrid_core.llm.budget import cut, estimate, shares
from hybrid_core.llm.client.chat_model import ChatModel, Session
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.text import tokens
from hybrid_core.types.documents import Page, Section
from hybrid_core.types.notes import Note
from indexers.assembly.chunks import own_ranges
from indexers.assembly.title import describe

_SHORT = 200  # tokens: a shorter text is its own summary
_TEXT, _PAGES = 1400, 400  # tokens of a leaf's text, and of the descriptions of its pages
_OWN, _PARTS = 400, 1200  # tokens of a parent's own text, and of the summaries below it
_ANNOUNCES = re.compile(
    r"\b(?:see|refer(?:red)? to|reference|attached|annexed|enclosed|below|following|follows|set forth|omitted|"
    r"siehe|anlage|voir|annexe|ci-(?:dessous|après|joint)|véase|adjunto|siguiente)\b"
    r"|[见見]|附[件表录錄图圖]|下[表列图圖]|如下|另行|从略",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Material:
    """A section prepared for a model. ``at`` is its index in the list of sections.

    ``short`` is a summary that needs no model, None if there is none. ``needs_model`` is True if a call is needed; with
    ``short`` the call only looks for gaps.
    """

    at: int
    text: str
    short: str | None
    needs_model: bool

    @property
    def tokens(self) -> int:
        return estimate(self.text)


def leaf_materials(pages: Sequence[Page], sections: Sequence[Section]) -> list[Material]:
    """Return the sections without children, prepared for a model."""
    holders = {section.parent_id for section in sections}
    materials = []
    for at, (section, first, last) in enumerate(own_ranges(sections)):
        if section.node_id in holders:
            continue
        own, summaries = _own(pages, section, first, last, _TEXT)
        if estimate(own) + estimate(summaries) <= _SHORT:
            short = " ".join(f"{own} {summaries}".split()) or section.summary
            announced = bool(own) and _ANNOUNCES.search(own) is not None
            materials.append(Material(at, f"Wanted: gaps\nTitle: {section.title}\nText:\n{own}", short, announced))
        else:
            materials.append(Material(at, _section_text(section, own, "Pages", summaries), None, True))
    return materials


def branch_materials(
    pages: Sequence[Page], sections: Sequence[Section], summaries: Sequence[str], open_: Collection[int] = ()
) -> list[Material]:
    """Return the sections with children, prepared for a model.

    ``summaries`` has the summary of each section by index. ``open_`` are the indexes of childless sections whose
    summaries will change, so that their parents may need a call.
    """
    holders = {section.parent_id for section in sections}
    place = {section.node_id: at for at, section in enumerate(sections)}
    below: list[list[str]] = [[] for _ in sections]
    held_open: set[int] = set()
    for at, section in enumerate(sections):
        if section.node_id not in holders:
            title = "" if section.synthetic else f"{section.title}: "
            parent = section.parent_id
            while parent is not None:
                below[place[parent]].append(f"- {title}{summaries[at]}")
                held_open |= {place[parent]} if at in open_ else set()
                parent = sections[place[parent]].parent_id
    materials = []
    for at, (section, first, last) in enumerate(own_ranges(sections)):
        if not below[at]:
            continue
        own, _ = _own(pages, section, first, last, _OWN)
        budgets = shares(list(map(estimate, below[at])), _PARTS)
        parts = "\n".join(cut(part, size) for part, size in zip(below[at], budgets, strict=True) if size > 4)
        if at not in held_open and estimate(own) + estimate(parts) <= _SHORT:
            short = " ".join(f"{own} {' '.join(part[2:] for part in below[at])}".split())
            materials.append(Material(at, "", short, False))
        else:
            materials.append(Material(at, _section_text(section, own, "Parts", parts), None, True))
    return materials


def _section_text(section: Section, own: str, what: str, others: str) -> str:
    title = "" if section.synthetic else f"Title: {section.title}\n"
    return f"{title}Text:\n{own}" + (f"\n{what}:\n{others}" if others else "")


def _own(
    pages: Sequence[Page], section: Section, first: tuple[int, int], last: tuple[int, int | None], tokens: int
) -> tuple[str, str]:
    """Return a section's text before its first subsection, and the summaries of pages that it does not show in full.

    The text is cut to ``tokens``, and leaves out the section's title.
    """
    fragments = []
    for number in range(first[0], last[0] + 1):
        start = first[1] if number == first[0] else 0
        fragments.append(pages[number - 1].visible[start : last[1] if number == last[0] else None].strip())
    head, _, rest = fragments[0].partition("\n")
    if head.strip() == section.title:
        fragments[0] = rest.strip()
    budgets = shares(list(map(estimate, fragments)), tokens)
    shown, summaries = [], []
    for number, fragment, size in zip(range(first[0], last[0] + 1), fragments, budgets, strict=True):
        shown.append(cut(fragment, size))
        page = pages[number - 1]
        mainly_own = number not in (first[0], last[0]) or len(fragment) > 0.5 * len(page.text)
        if page.described:
            summaries.append(f"- {page.summary} {page.described}".replace("\n", " "))
        elif mainly_own and page.summary and (shown[-1] != fragment or not fragment):
            summaries.append(f"- {page.summary}")
    return "\n".join(part for part in shown if part), cut("\n".join(summaries), _PAGES)


_HAN_SAMPLE, _HAN_SHARE = 20_000, 0.3


def language_of(texts: Sequence[str]) -> str:
    """Return "zh" if much of the text is Chinese, else ""."""
    sample = "".join(texts)[:_HAN_SAMPLE]
    letters = sum(map(str.isalpha, sample))
    kana = sum("\u3040" <= c <= "\u30ff" for c in sample)  # Japanese is written with Han characters too
    han = sum("\u4e00" <= c <= "\u9fff" for c in sample)
    return "zh" if han > _HAN_SHARE * max(1, letters) and kana < 0.05 * han else ""


_PROMPT = "section-summaries"
_BATCH_TOKENS, _BATCH_SECTIONS = 16_000, 20  # half of a context of 32,000 tokens
_TOKENS_EACH, _TOKENS_BASE = 180, 400  # of a reply: 4,000 tokens for a batch, which is the maximum of many models
_AGAIN = 3  # sections missing in a reply are requested again in batches smaller by this factor
_LONGEST_SUMMARY, _GAP = 1500, 160  # characters
_GAPS = 3
_WORKERS = 8
_HOPELESS = frozenset({"key", "model", "quota", "connection", "timeout", "request", "overload", "rate limit"})


class SectionSummary(BaseModel):
    section: int
    summary: str = ""
    gaps: list[str] = []


class SectionSummaries(BaseModel):
    summaries: list[SectionSummary]


class _SectionReply(BaseModel):
    summary: str
    gaps: list[str]


@dataclass(frozen=True, slots=True)
class SectionOutcome:
    """The sections, with new summaries and gaps from the model.

    If ``failure`` stopped the calls, the remaining sections keep their old summaries; replies are cached for the next
    run.
    """

    sections: tuple[Section, ...]
    notes: tuple[Note, ...]
    failure: EndpointFailure | None = None


def summarise_sections(
    model: ChatModel, scope: CallScope, pages: Sequence[Page], sections: Sequence[Section]
) -> SectionOutcome:
    """Summarise all sections and find their gaps: first the leaves, then their parents."""
    session = Session(model, scope, language=language_of([page.text for page in pages]))
    round_ = _Round(session, [section.summary for section in sections])
    leaves = leaf_materials(pages, sections)
    due = round_.take(leaves, {})
    above = branch_materials(pages, sections, round_.summaries, {leaf.at for leaf in due}) if due else []
    together = [*due, *(branch for branch in above if round_.lacks(branch))]
    replies = round_.ask(together if len(_batches(together)) == 1 else due)
    lost = round_.take(leaves, replies)
    branches = branch_materials(pages, sections, round_.summaries)
    lost += round_.take(branches, round_.ask(round_.take(branches, replies)))
    summarised = [
        replace(s, summary=round_.summaries[at], gaps=tuple(dict.fromkeys((*s.gaps, *map(Note.of, round_.gaps[at])))))
        for at, s in enumerate(sections)
    ]
    if not lost:
        return SectionOutcome(tuple(summarised), ())
    why = round_.error.message if round_.error else "the model returned none."
    note = Note("model.summaries-lost", count=len(lost), reason=why.removesuffix("."))
    return SectionOutcome(tuple(summarised), (note,), round_.error.failure if round_.error else "reply")


class _Round:
    """Model requests for prepared sections (materials), in concurrent batches.

    Cached replies are not requested again.
    """

    def __init__(self, session: Session, summaries: list[str]) -> None:
        self.summaries = summaries
        self.gaps: list[tuple[str, ...]] = [() for _ in summaries]
        self._session = session
        self.error: ChatError | None = None
        self._known: dict[str, _SectionReply] = {}

    def take(self, materials: Sequence[Material], replies: Mapping[int, _SectionReply]) -> list[Material]:
        """Store the model's replies, new or cached, for the sections to which they belong.

        Return the materials without a reply.
        """
        lacking = []
        for material in materials:
            if material.short is not None:
                self.summaries[material.at] = material.short
            if not material.needs_model:
                continue
            if self.lacks(material) and material.at in replies:
                self._known[self._key(material)] = replies[material.at]
                self._session.put(self._key(material), replies[material.at].model_dump_json())
            reply = self._known.get(self._key(material))
            if reply is None:
                lacking.append(material)
                continue
            self.gaps[material.at] = tuple(reply.gaps)
            if material.short is None:
                self.summaries[material.at] = reply.summary
        return lacking

    def lacks(self, material: Material) -> bool:
        """Return whether a prepared section needs a call and has no cached reply."""
        key = self._key(material)
        if material.needs_model and key not in self._known and (cached := self._session.get(key)) is not None:
            self._known[key] = _SectionReply.model_validate_json(cached)
        return material.needs_model and key not in self._known

    def _key(self, material: Material) -> str:
        return self._session.key(_PROMPT, material.text)

    def ask(self, materials: Sequence[Material]) -> dict[int, _SectionReply]:
        """Return the model's reply for each section, by the section's index.

        Missing replies are requested once more in smaller batches.
        """
        replies: dict[int, _SectionReply] = {}
        for share in (1, _AGAIN):
            left = [material for material in materials if material.at not in replies]
            if not left or (self.error and self.error.failure in _HOPELESS):
                break
            with ThreadPoolExecutor(_WORKERS) as pool:
                for batch_replies in pool.map(self._batch, _batches(left, share)):
                    replies |= batch_replies
        return replies

    def _batch(self, batch: Sequence[Material]) -> dict[int, _SectionReply]:
        if self.error and self.error.failure in _HOPELESS:
            return {}
        shown = "\n\n".join(f"[section {number}]\n{material.text}" for number, material in enumerate(batch, 1))
        tokens = _TOKENS_BASE + _TOKENS_EACH * len(batch)
        try:
            reply = self._session.ask(_PROMPT, SectionSummaries, {"sections": shown}, tokens=tokens)
        except ChatError as error:
            self.error = error
            return {}
        replies: dict[int, _SectionReply] = {}
        for item in reply.summaries:
            material = batch[item.section - 1] if 1 <= item.section <= len(batch) else None
            summary = " ".join(item.summary.split())
            if material is not None and material.at not in replies and (summary or material.short is not None):
                summary = summary if len(summary) <= _LONGEST_SUMMARY else summary[: _LONGEST_SUMMARY - 1] + "…"
                replies[material.at] = _SectionReply(summary=summary, gaps=_check_gaps(item.gaps, material.text))
        return replies


def _check_gaps(gaps: Sequence[str], shown: str) -> list[str]:
    """Return the gaps that a model named, without duplicates and without those whose words are not in the section."""
    terms = set(tokens.tokenise(shown))
    unique = dict.fromkeys(" ".join(gap.split())[:_GAP] for gap in gaps)
    return [gap for gap in unique if terms.intersection(tokens.tokenise(gap))][:_GAPS]


def _batches(materials: Sequence[Material], share: int = 1) -> list[list[Material]]:
    """Divide prepared sections into batches that keep the limits of sections and tokens, divided by ``share``.

    A batch of a single section may exceed the token limit.
    """
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


_CHARS = 480
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[\"'“(]?[^\Wa-z_])|(?<=[。！？])")


def compose(sections: Sequence[Section], pages: Sequence[Page], described: Collection[int]) -> tuple[Section, ...]:
    """Build section summaries from the first sentences of their pages' summaries.

    A section keeps its summary unless at least half of its pages are described. Pages that two sections share do not
    count.
    """
    return tuple(_composed(section, pages, described) for section in sections)


def _composed(section: Section, pages: Sequence[Page], described: Collection[int]) -> Section:
    first = section.start_page + (section.anchor > 0)
    last = section.end_page - (section.end_anchor is not None)
    whole = [pages[number - 1] for number in range(first, last + 1)]
    sentences = [_SENTENCE.split(page.summary.strip(), 1)[0] for page in whole if page.summary.strip()]
    if not sentences or 2 * sum(page.number in described for page in whole) < len(whole):
        return section
    return replace(section, summary=_spread(sentences))


def _spread(sentences: Sequence[str]) -> str:
    """Return as many of the sentences as fit, evenly spread over the list.

    The result has at least the first sentence, cut if necessary.
    """
    for count in range(len(sentences), 0, -1):
        chosen = [sentences[at * len(sentences) // count] for at in range(count)]
        line = " ".join(dict.fromkeys(chosen))
        if len(line) <= _CHARS:
            return line
    return sentences[0][: _CHARS - 1].rstrip() + "…"


_BEGINNING, _SECTIONS = 700, 2000  # tokens of the beginning and of the sections in the prompt
_MAX_LISTED = 40
_LONGEST_LINE = 400  # characters of a description


class Description(BaseModel):
    description: str


@dataclass(frozen=True, slots=True)
class DescriptionResult:
    """A document's one-line description. If the model failed (``failure``), the line is made by rules."""

    line: str
    notes: tuple[Note, ...] = ()
    failure: EndpointFailure | None = None


def describe_document(
    model: ChatModel, scope: CallScope, title: str, sections: Sequence[Section], pages: Sequence[Page]
) -> DescriptionResult:
    """Let a model describe a document in one line: kind, owner, date and subject.

    The model sees the beginning of the document and its main sections.
    """
    session = Session(model, scope, language=language_of([page.text for page in pages]))
    beginning = "\n".join(page.visible or page.summary for page in pages[:3])
    values = {"title": title, "beginning": cut(beginning, _BEGINNING), "sections": "\n".join(_main(sections))}
    try:
        reply = session.ask("document-description", Description, values, tokens=300).description
        line = " ".join(reply.split()).strip("\"'“”")
        if not line:
            raise ChatError("the description is empty.", failure="reply")
    except ChatError as error:
        note = Note("model.description-failed", error=error.message)
        return DescriptionResult(describe(title, sections, len(pages)), (note,), error.failure)
    return DescriptionResult(line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…")


def _main(sections: Sequence[Section]) -> list[str]:
    """Return lines for the top sections, and for deeper sections if the top ones are few. Summaries are cut to fit."""
    real = [section for section in sections if not section.synthetic] or list(sections)
    deepest = next((n for n in (1, 2, 3) if sum(s.level <= n for s in real) >= 5), 3)
    shown = [section for section in real if section.level <= deepest][:_MAX_LISTED]
    lines = [f"{'  ' * (s.level - 1)}{s.title}: {' '.join(s.summary.split())}" for s in shown]
    return [
        cut(line, budget) for line, budget in zip(lines, shares(list(map(estimate, lines)), _SECTIONS), strict=True)
    ]
