"""Assess whether a tree can be trusted: by its shape, then by a model that sees passages of its pages.

Some of the checked entries are wrong on purpose. A model that accepts many of these is not trusted.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from pydantic import BaseModel

from hybrid_core.llm.client.chat_model import Session
from hybrid_core.types.documents import Page, Section
from indexers.enrich.tree.marks import SURE, marks_of, passage, unit_of
from indexers.outline.numbering import compact
from indexers.outline.toc import find_contents
from indexers.outline.tree import HeadingMark
from indexers.outline.view import DocumentView

Action = Literal["leave", "keep", "check", "contents", "rebuild"]

_SMALL_PAGES, _SMALL_CHARACTERS = 3, 4000  # a document below both values needs no finer tree
_PAGES_PER_SECTION = 15  # with more pages per section there are too few sections
_SMALLEST_FRAME = 3
_PRINTED = 5  # minimum rows with page labels in printed contents that are read
_LOOK_ALONE = 0.25  # share of headings known only by typography above which a sample is checked
_LOCATED, _UNLOCATED = 0.9, 0.5  # shares of the frame's titles that are on their pages


@dataclass(frozen=True, slots=True)
class TreeAssessment:
    """The assessment of a section tree. ``reason`` explains it in words.

    ``action`` says what to do with the headings: nothing, keep them, check a sample, read printed contents, or find all
    again.
    """

    action: Action
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A range of pages that exceeds the size limits and contains no headings.

    ``title`` and ``level`` are those of its section, "" and 0 before the first section.
    """

    title: str
    level: int
    first: int
    last: int


def judge(doc: DocumentView, pages: Sequence[Page], sections: Sequence[Section], search: int) -> TreeAssessment:
    """Assess a tree by its shape. ``search`` is the number of front pages that may have printed contents."""
    marks = marks_of(sections)
    small = len(pages) <= _SMALL_PAGES and sum(len(page.text) for page in pages) <= _SMALL_CHARACTERS
    if small:
        return TreeAssessment("leave")
    if any(mark.source in ("markup", "clause") for mark in marks):
        return TreeAssessment("keep")
    frame = [mark for mark in marks if mark.source in SURE]
    share = located(doc, frame)
    if len(pages) > _PAGES_PER_SECTION * len(marks):
        return TreeAssessment("rebuild", f"there are {len(marks)} headings in {len(pages)} pages")
    if len(frame) < _SMALLEST_FRAME:
        labelled = max(
            (sum(bool(row.label) for row in contents.rows) for contents in find_contents(doc, search)), default=0
        )
        return TreeAssessment(
            "contents" if labelled >= _PRINTED else "check", "headings are recognised only by their look"
        )
    if share < _LOCATED:
        action: Action = "rebuild" if share < _UNLOCATED else "check"
        return TreeAssessment(action, f"{share:.0%} of the outline's titles are on their pages")
    if len(marks) - len(frame) > _LOOK_ALONE * len(marks):
        return TreeAssessment("check", "many headings are recognised only by their typography")
    return TreeAssessment("keep")


def located(doc: DocumentView, marks: Sequence[HeadingMark]) -> float:
    """Return the share of headings that are found on their pages, counting only pages with text.

    It is 1 if no page has text.
    """
    tried = [mark for mark in marks if doc[mark.page].units]
    return sum(unit_of(doc[mark.page], mark) is not None for mark in tried) / len(tried) if tried else 1.0


def stretches(sections: Sequence[Section]) -> list[Stretch]:
    """Return the ranges of pages without headings that exceed the size limits, joined per section."""
    named = {section.node_id: section for section in sections}
    spans: dict[str | None, tuple[int, int]] = {}
    holders = {section.parent_id for section in sections}
    only_groups = all(section.synthetic for section in sections)
    for section in sections:
        parent = section.parent_id
        group = section.synthetic and section.node_id not in holders and (parent is not None or only_groups)
        if group:
            first = spans.get(parent, (section.start_page, 0))[0]
            spans[parent] = (first, section.end_page)
    result = []
    for parent, (first, last) in spans.items():
        holder = named[parent] if parent is not None else None
        level = _level(holder, named)
        title = holder.title if holder is not None and not holder.synthetic else ""
        result.append(Stretch(title, level, first, last))
    return result


def _level(section: Section | None, named: dict[str, Section]) -> int:
    """Return the heading level of a section, 0 for no section. Sections without a heading do not count."""
    level = 0
    while section is not None:
        level += not section.synthetic
        section = named[section.parent_id] if section.parent_id is not None else None
    return level


SAMPLE = 16
# parts of the document, and headings sampled from each; the rest of a sample have the longest text
_PARTS, _PER_PART = 3, 4
_PER_CALL = 40
_ANSWERED = 0.8  # minimum share of entries with an answer
_LINES = 8  # minimum lines of a page from whose middle a passage is taken
_BEGINS = 14  # letters by which a title is recognised
_FALSE = 6  # wrong entries that are added to a call
_FOOLED = 1 / 6  # maximum share of these that the model may accept


class Check(BaseModel):
    entry: int
    begins: bool


class Checks(BaseModel):
    checks: list[Check]


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """The result of a check. ``right`` tells for each position whether the section begins there.

    ``trusted`` is False if the model accepted many wrong entries or omitted some; ``sure`` is True if it accepted none.
    """

    right: Mapping[int, bool]
    trusted: bool
    sure: bool

    def share(self, places: Collection[int]) -> float:
        """Return the share of right headings among the checked places; 1 if none was checked."""
        verdicts = [self.right[at] for at in places if at in self.right]
        return sum(verdicts) / len(verdicts) if verdicts else 1.0


def sample(marks: Sequence[HeadingMark], among: Sequence[int]) -> list[int]:
    """Return the positions of headings to check: from the beginning, middle and end, and those with the longest text.

    The choice depends on hashes of titles, so that adding or removing one heading hardly changes it.
    """
    if len(among) <= SAMPLE:
        return list(among)
    times: Counter[str] = Counter()
    order: dict[int, bytes] = {}
    for at in among:
        title = compact(marks[at].title)
        order[at] = hashlib.sha256(f"{times[title]} {title}".encode("utf-8", "replace")).digest()
        times[title] += 1
    chosen: set[int] = set()
    for part in range(_PARTS):
        inside = among[part * len(among) // _PARTS : (part + 1) * len(among) // _PARTS]
        chosen.update(sorted(inside, key=order.__getitem__)[:_PER_PART])
    lengths = {at: marks[after].page - marks[at].page for at, after in pairwise(among)}
    longest = sorted(lengths, key=lambda at: -lengths[at])
    for at in longest:
        if len(chosen) == SAMPLE:
            break
        chosen.add(at)
    return sorted(chosen)


def check(
    session: Session, doc: DocumentView, marks: Sequence[HeadingMark], places: Sequence[int], verdicts: dict[str, str]
) -> CheckOutcome:
    """Let a model check the headings at some positions, many per call. Raise ChatError.

    Pages without text cannot be checked. Verdicts of a trusted model are added to ``verdicts`` for caching.
    """
    right: dict[int, bool] = {}
    shown: list[tuple[int, str]] = []
    sure = True
    for at in places:
        if text := _passage(doc, marks[at]):
            if (cached := session.get(_check_key(session, marks[at], text))) is None:
                shown.append((at, text))
            else:
                right[at], sure = "right" in cached, sure and "sure" in cached
    checked = answered = false = fooled = 0
    answers: dict[int, tuple[str, bool]] = {}
    for start in range(0, len(shown), _PER_CALL):
        if session.scope.spent:
            break
        batch = shown[start : start + _PER_CALL]
        entries: list[tuple[int | None, str, str]] = [(at, marks[at].title, text) for at, text in batch]
        for place, title, text in _false(doc, marks, shown, start):
            entries.insert(place % (len(entries) + 1), (None, title, text))
        listed = "\n\n".join(f"{n}. Title: {title}\n{text}" for n, (_, title, text) in enumerate(entries, 1))
        reply = session.ask("headings-check", Checks, {"entries": listed})
        begins = {item.entry: item.begins for item in reversed(reply.checks)}
        for number, (place_of, _, text) in enumerate(entries, 1):
            if place_of is None:
                false += 1
                fooled += begins.get(number, True)
            elif number in begins:
                answers[place_of] = text, begins[number]
        checked += len(entries)
        answered += sum(number in begins for number in range(1, len(entries) + 1))
    trusted = answered >= _ANSWERED * checked and fooled <= _FOOLED * false
    if checked:
        sure = sure and 0 == fooled < false
    for at, (text, begins_there) in answers.items():
        right[at] = begins_there
        if trusted:
            words = ("right" if begins_there else "wrong", "sure" if 0 == fooled < false else "")
            verdicts[_check_key(session, marks[at], text)] = " ".join(words).strip()
    return CheckOutcome(right, trusted, sure and bool(right))


def checked_before(session: Session, doc: DocumentView, marks: Sequence[HeadingMark]) -> frozenset[int]:
    """Return the positions of headings with a cached verdict."""
    passages = ((at, mark, _passage(doc, mark)) for at, mark in enumerate(marks))
    return frozenset(
        at for at, mark, text in passages if text and session.peek(_check_key(session, mark, text)) is not None
    )


def _check_key(session: Session, mark: HeadingMark, text: str) -> str:
    return session.key("headings-check", mark.title, text)


def _passage(doc: DocumentView, mark: HeadingMark) -> str:
    page = doc[mark.page]
    if not page.units:
        return ""
    unit = unit_of(page, mark)
    if unit is None:
        unit = next((i for i in range(len(page.units)) if page.offset(i) >= mark.anchor), 0)
    return passage(page, unit)


def _false(
    doc: DocumentView, marks: Sequence[HeadingMark], shown: Sequence[tuple[int, str]], start: int
) -> list[tuple[int, str, str]]:
    """Return test cases that a trustworthy model must reject: titles with passages that do not contain them.

    Each is (position in the list, title, passage).
    """
    entries: list[tuple[int, str, str]] = []
    middles = [passage(page, len(page.units) // 2) for page in doc.pages if len(page.units) > _LINES]
    texts = [text for _, text in shown] + middles[:: max(1, len(middles) // _PER_CALL)]
    for i in range(max(len(shown), 4 * _FALSE)):
        title = marks[shown[(start + 7 * i) % len(shown)][0]].title
        text = texts[(start + 11 * i + len(texts) // 2) % len(texts)]
        begins = compact(title)[:_BEGINS]
        if begins and begins not in compact(text):
            entries.append((5 * i + 3, title, text))
        if len(entries) == _FALSE:
            break
    return entries
