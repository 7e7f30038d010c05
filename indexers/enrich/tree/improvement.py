"""Improve an uncertain section tree with a model, using only verified headings.

A tree whose outline matches its pages costs no call. Otherwise a sample of its headings is checked, and wrong ones are
searched for between their neighbours. If too many are wrong, all headings are found again. The sources are printed
contents with page labels, contents without labels, and the pages themselves. If all fail, the old tree stays. Page
ranges above the size limits are split. Text above the first heading of a page belongs to the section before.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Literal

from hybrid_core.errors import ChatError, EndpointFailure
from hybrid_core.llm.client.chat_model import ChatModel, Session
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.text import tokens
from hybrid_core.types.documents import Page, ParsedPage, Section
from hybrid_core.types.notes import Note
from indexers.assembly import summaries
from indexers.assembly.chunks import own_ranges
from indexers.assembly.flags import FLAGS, find_flags
from indexers.enrich.sections import language_of
from indexers.enrich.tree.headings import (
    TitleSearch,
    ask_places,
    read_contents,
    read_pages,
    split,
    with_labels,
    without_labels,
)
from indexers.enrich.tree.marks import SURE, Counts, graft, in_places, mark_at, marks_of, seen, unit_of
from indexers.enrich.tree.trust import CheckOutcome, Stretch, check, checked_before, judge, sample, stretches
from indexers.outline.printed_toc import from_printed_toc
from indexers.outline.tree import HeadingMark, TreeLimits, tree_of
from indexers.outline.view import DocumentView

_PARSER_FLAGS = frozenset({"has_code", "has_figure"})  # recognised by fonts and images, which are not stored
Span = tuple[int, int]


def finish(
    sections: Sequence[Section], before: Sequence[Section], pages: Sequence[Page], parsed: Sequence[ParsedPage]
) -> tuple[Section, ...]:
    """Return the sections with flags and summaries. ``before`` is the old tree.

    Flags that only the parser could set pass to the section that contains most of the same text.
    """
    texts = [page.text for page in pages]
    counts = [tokens.counts(tokens.tokenise(page)) for page in texts]
    summarised = summaries.summarise(texts, sections, counts, summaries.find_furniture(texts)).sections
    old = dict(zip(map(_section_key, before, _spans(before, pages)), before, strict=True))
    spans = _spans(sections, pages)
    passed = _passed(spans, before, pages)
    finished = []
    for at, (section, flags) in enumerate(zip(sections, find_flags(sections, parsed), strict=True)):
        same = old.get(_section_key(section, spans[at]))
        if same is not None:
            finished.append(replace(section, flags=same.flags, summary=same.summary or summarised[at], gaps=same.gaps))
        else:
            all_flags = passed[at].union(flags)
            finished.append(
                replace(section, flags=tuple(flag for flag in FLAGS if flag in all_flags), summary=summarised[at])
            )
    return tuple(finished)


def _section_key(section: Section, span: Span) -> tuple[str, Span, int, int | None]:
    return section.title, span, section.end_page, section.end_anchor


def _spans(sections: Sequence[Section], pages: Sequence[Page]) -> list[Span]:
    """Return for each section the range of its text without subsections, in characters of the whole document."""
    starts = [0, *accumulate(len(page.text) for page in pages)]

    def at(page: int, anchor: int | None) -> int:
        return starts[page] if anchor is None else starts[page - 1] + anchor

    return [(at(*first), at(*last)) for _, first, last in own_ranges(sections)]


def _passed(spans: Sequence[Span], before: Sequence[Section], pages: Sequence[Page]) -> list[set[str]]:
    passed: list[set[str]] = [set() for _ in spans]
    ends = [end for _, end in spans]
    for section, (start, end) in zip(before, _spans(before, pages), strict=True):
        flags = _PARSER_FLAGS.intersection(section.flags)
        at = bisect_left(ends, start + 1)
        while flags and at < len(spans) and spans[at][0] < end:
            if 2 * (min(end, spans[at][1]) - max(start, spans[at][0])) > end - start:
                passed[at] |= flags
            at += 1
    return passed


TreePath = Literal["kept", "checked", "contents", "contents without pages", "pages", "split"]
_CALLS, _PAGES_PER_CALL = 10, 8  # maximum calls: a constant, and one more per so many pages
# shares of correct headings in a sample: from the first, nothing is done; from half of the second, all headings of
# the kind are checked
_GOOD, _FAIR = 0.85, 0.6
_ROUNDS = 2  # rounds of searches for wrong entries, and of splits
_WIDER = 3  # headings on either side that bound the search in the second round
_FEWEST = 3
_LOST = 24  # maximum of outline headings that are checked because their titles are not on their pages
_ALL = 240  # maximum of headings that are checked one by one


@dataclass(frozen=True, slots=True)
class TreeImprovement:
    """The result of improving a tree. ``path`` names the method that found the headings.

    If the model failed (``failure``), the sections are those of the last successful step.
    """

    sections: tuple[Section, ...]
    path: TreePath
    notes: tuple[Note, ...]
    failure: EndpointFailure | None = None


def improve_tree(
    model: ChatModel,
    scope: CallScope,
    pages: Sequence[Page],
    sections: Sequence[Section],
    title: str,
    *,
    limits: TreeLimits = TreeLimits(),
) -> TreeImprovement:
    """Check a section tree with a model, and return an improved tree over the same pages."""
    doc = seen(pages)
    max_calls = _CALLS + len(pages) // _PAGES_PER_CALL
    language = language_of([page.text for page in pages])
    work = _Work(Session(model, scope.part(max_calls), language=language), doc, title, limits)
    work.marks = marks_of(sections)
    judged = judge(doc, pages, sections, limits.toc_pages)
    failure: EndpointFailure | None = None
    try:
        if judged.action == "rebuild":
            work.rebuild()
        elif judged.action == "check" or (judged.action == "contents" and not work.rebuild(reading=False)):
            work.verify()
        if judged.action != "leave":
            work.split(sections)
    except ChatError as error:
        failure = error.failure
        work.notes.append(Note("tree.failed", error=error.message))
    for key, verdict in work.verdicts.items():
        work.session.put(key, verdict)
    if not work.changed and judged.action == "rebuild":
        work.notes.append(Note("tree.no-better", reason=judged.reason))
    if not work.changed:
        return TreeImprovement(tuple(sections), work.path, work.all_notes(), failure)
    tree = tree_of(work.marks, work.parsed, limits)
    return TreeImprovement(finish(tree, sections, pages, work.parsed), work.path, work.all_notes(), failure)


@dataclass(slots=True)
class _Work:
    """The headings of a tree while it is improved. Each step changes all of them or, if it fails, none."""

    session: Session
    doc: DocumentView
    title: str
    limits: TreeLimits
    marks: list[HeadingMark] = field(default_factory=list)
    path: TreePath = "kept"
    changed: bool = False
    notes: list[Note] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
    verdicts: dict[str, str] = field(default_factory=dict)

    @property
    def parsed(self) -> list[ParsedPage]:
        return [page.page for page in self.doc.pages]

    def all_notes(self) -> tuple[Note, ...]:
        return (*self.notes, *self.counts.notes())

    def verify(self) -> None:
        """Check a sample of headings, and all headings of a kind whose sample has errors.

        If more than 70 % of the checked headings are wrong, find all headings again.
        """
        checked = self._sampled(self.marks)
        if checked is None:
            return
        self.path = "checked"
        if checked.share(checked.right) < _FAIR / 2:
            self.rebuild()
        else:
            self._correct(self.marks, checked)

    def rebuild(self, *, reading: bool = True) -> bool:
        """Find the headings again by several methods in order, and use the first whose headings pass a check.

        Return whether one passed; if not, the tree does not change. ``reading`` also allows the model to read all
        pages.
        """
        for path, candidates in self._paths(reading):
            if len(candidates) < _FEWEST:
                continue
            marks = candidates if path == "pages" else graft(candidates, self.marks)
            checked = self._sampled(marks)
            if checked is None or (path == "pages" and not checked.sure):
                return False
            share = checked.share([at for at, mark in enumerate(marks) if mark.source == "model"])
            if share >= _FAIR:
                self.path, self.changed = path, True
                self._correct(marks, checked, look=path != "pages")
                return True
            self.notes.append(Note("tree.sample", share=round(share, 4), way=Note.of(path)))
        return False

    def _paths(self, reading: bool) -> Iterator[tuple[TreePath, list[HeadingMark]]]:
        printed = read_contents(self.session, self.doc, self.limits.toc_pages, self.counts)
        if printed is not None:
            if printed.labelled:
                yield "contents", with_labels(self.session, self.doc, printed, self.counts)
            yield "contents without pages", without_labels(self.session, self.doc, printed, self.counts)
        if reading:
            yield "pages", read_pages(self.session, self.doc, self.title, self.counts)

    def split(self, sections: Sequence[Section]) -> None:
        """Find headings in page ranges above the size limits. Repeat this for parts that are still above them."""
        tried: set[Stretch] = set()
        for _ in range(_ROUNDS):
            tree = tree_of(self.marks, self.parsed, self.limits) if self.changed else sections
            large = [stretch for stretch in stretches(tree) if stretch not in tried]
            if not large or self.session.scope.spent:
                return
            tried.update(large)
            new = split(self.session, self.doc, self.title, large, self.marks, self.counts)
            chosen = sample(new, range(len(new)))
            checked = (
                check(self.session, self.doc, new, chosen, self.verdicts) if new else CheckOutcome({}, False, False)
            )
            if not (checked.sure and checked.trusted) or checked.share(chosen) < _FAIR:
                return
            wrong = {at for at, right in checked.right.items() if not right}
            self.marks = in_places([*self.marks, *(mark for at, mark in enumerate(new) if at not in wrong)])
            self.changed = True
            self.path = "split" if self.path == "kept" else self.path

    def _sampled(self, marks: Sequence[HeadingMark]) -> CheckOutcome | None:
        """Check a sample of each kind of heading. Return None if the model cannot be trusted.

        Headings from outlines (such as bookmarks) that are not on their pages are checked too. If a sample has errors,
        all headings of its kind are checked. If the cache has verdicts on most of a kind, the same headings are used
        again. So one changed heading does not cause hundreds of new checks.
        """
        kinds = [[at for at, mark in enumerate(marks) if (mark.source in SURE) == sure] for sure in (True, False)]
        lost = [at for at in kinds[0] if unit_of(self.doc[marks[at].page], marks[at]) is None][:_LOST]
        samples = [sample(marks, places) for places in kinds]
        rests = [sorted({*places} - {*chosen})[:_ALL] for places, chosen in zip(kinds, samples, strict=True)]
        verified = checked_before(self.session, self.doc, marks)
        mostly = [_mostly(chosen, verified) for chosen in samples]
        whole = [
            mostly_verified and _mostly(rest, verified) for mostly_verified, rest in zip(mostly, rests, strict=True)
        ]
        also = [at for rest, mostly_verified in zip(rests, whole, strict=True) if mostly_verified for at in rest]
        verdicts: dict[str, str] = {}  # cached when the whole sample is answered
        checked = check(self.session, self.doc, marks, sorted({*samples[0], *samples[1], *lost, *also}), verdicts)
        if not checked.trusted:
            self.notes.append(Note("tree.not-trusted"))
            return None
        right = dict(checked.right)
        for at_kind, (places, chosen) in enumerate(zip(kinds, samples, strict=True)):
            if whole[at_kind]:
                sure = checked.sure
            elif not mostly[at_kind] and _FAIR / 2 <= checked.share(chosen) < _GOOD:
                rest = [at for at in rests[at_kind] if at not in right]
                more = check(self.session, self.doc, marks, rest, verdicts) if checked.sure else checked
                sure = more.trusted and (more.sure or not rest)
                right |= more.right if sure else {}
            else:
                continue
            if not sure:  # a possible mistake of the model does not remove headings of the old tree
                right |= {at: True for at in places if marks[at].source != "model"}
        self.verdicts |= verdicts
        return CheckOutcome(right, True, checked.sure)

    def _correct(self, marks: list[HeadingMark], checked: CheckOutcome, *, look: bool = True) -> None:
        """Move wrong headings to their right places, or remove them if no outline contains them.

        ``look`` searches for them elsewhere, which is useful only if they do not come from the pages.
        """
        wrong = {at for at, right in checked.right.items() if not right}
        moved = self._moved(marks, wrong) if look else {}
        corrected: list[HeadingMark] = []
        for at, mark in enumerate(marks):
            stands = mark.source in SURE - {"model"} and unit_of(self.doc[mark.page], mark) is not None
            if at not in wrong or at in moved or stands:
                corrected.append(moved.get(at, mark))
        self.counts.moved += len(moved)
        self.counts.dropped += len(marks) - len(corrected)
        self.changed = self.changed or corrected != self.marks
        self.marks = in_places(corrected)

    def _moved(self, marks: Sequence[HeadingMark], wrong: Collection[int]) -> dict[int, HeadingMark]:
        """Return the wrong outline headings that are found elsewhere, by index, with their new positions.

        Each is searched for between its right neighbours. A second round searches a wider range.
        """
        moved: dict[int, HeadingMark] = {}
        lost = [at for at in sorted(wrong) if marks[at].source in SURE]
        contents = from_printed_toc(self.doc, self.limits.toc_pages).pages if lost else ()
        others = [at for at in range(len(marks)) if at not in wrong]
        for reach in (1, _WIDER)[:_ROUNDS]:
            searches = []
            for at in lost:
                if at not in moved:
                    before = [marks[i].page for i in others if i < at][-reach:]
                    after = [marks[i].page for i in others if i > at][:reach]
                    bounds = before[0] if before else 1, after[-1] if after else len(self.doc.pages)
                    searches.append(TitleSearch(at, marks[at].title, *bounds))
            for at, place in ask_places(self.session, self.doc, searches, contents, self.counts).items():
                placed = mark_at(self.doc, marks[at].title, marks[at].level, *place)
                if (placed.page, placed.anchor) != (marks[at].page, marks[at].anchor):
                    moved[at] = placed
        return moved


def _mostly(places: Collection[int], verified: Collection[int]) -> bool:
    return 2 * sum(at in verified for at in places) > len(places)
