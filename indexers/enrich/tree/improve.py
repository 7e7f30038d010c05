"""The section tree with a model's help: asked only where the rules' tree is uncertain, believed only where it checks.

A tree whose outline stands on its pages costs nothing. Otherwise a stratified sample of its headings is checked; what
is found wrong is looked for between its neighbours. Where there is too little to check, or too much of it is wrong,
the headings are looked for anew on three paths, each taken where the one before did not come true: printed contents
with page labels, contents without, and the pages themselves. At the end stands the tree that was there before.
Stretches over the limits are split by reading them. A section begins at its heading, so that what stands above it on
its page belongs to the one before; text before the first heading has a section of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hybrid_core.errors import ChatError, EndpointFailure
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.session import Session
from hybrid_core.types.documents import Page, ParsedPage, Section
from indexers.enrich.language import language_of
from indexers.enrich.tree.checking import CheckOutcome, check, checked_before, sample
from indexers.enrich.tree.contents import read_contents, with_labels, without_labels
from indexers.enrich.tree.finish import finish
from indexers.enrich.tree.judge import Stretch, judge, stretches
from indexers.enrich.tree.marks import SURE, Counts, graft, in_places, mark_at, marks_of, unit_of
from indexers.enrich.tree.placing import TitleSearch, ask_places
from indexers.enrich.tree.reading import read_pages, split
from indexers.enrich.tree.shown import seen
from indexers.outline.printed_toc import from_printed_toc
from indexers.outline.tree import HeadingMark, TreeLimits, tree_of
from indexers.outline.view import DocumentView

TreePath = Literal["kept", "checked", "contents", "contents without pages", "pages", "split"]
_CALLS, _PAGES_PER_CALL = 10, 8  # at most so many calls, and one more for so many pages
_GOOD, _FAIR = 0.85, 0.6  # shares of a sample that is right: nothing to do; each of its kind to be checked
_ROUNDS = 2  # of looking for wrong entries, and of splitting
_WIDER = 3  # headings to either side between which the second round looks
_FEWEST = 3
_LOST = 24  # headings of an outline that are checked because their titles are not on their pages
_ALL = 240  # headings that are checked one by one at most


@dataclass(frozen=True, slots=True)
class TreeImprovement:
    """``path`` is how the headings came about. Where ``failure`` says that the model failed, the sections are those
    of the last step that succeeded, the first of which is the tree as it was.
    """

    sections: tuple[Section, ...]
    path: TreePath
    notes: tuple[str, ...]
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
    """A tree over the same pages, with the same invariants."""
    doc = seen(pages)
    most = _CALLS + len(pages) // _PAGES_PER_CALL
    language = language_of([page.text for page in pages])
    work = _Work(Session(model, scope.part(most), language=language), doc, title, limits)
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
        work.notes.append(f"tree: {error.message} What was found before that stays.")
    for key, verdict in work.verdicts.items():
        work.session.put(key, verdict)
    if not work.changed and judged.action == "rebuild":
        work.notes.append(f"tree: {judged.reason}, and the model found no better ones")
    if not work.changed:
        return TreeImprovement(tuple(sections), work.path, work.told(), failure)
    made = tree_of(work.marks, work.parsed, limits)
    return TreeImprovement(finish(made, sections, pages, work.parsed), work.path, work.told(), failure)


@dataclass(slots=True)
class _Work:
    """The headings so far. Every step changes them as a whole or, where it fails, not at all."""

    session: Session
    doc: DocumentView
    title: str
    limits: TreeLimits
    marks: list[HeadingMark] = field(default_factory=list)
    path: TreePath = "kept"
    changed: bool = False
    notes: list[str] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
    verdicts: dict[str, str] = field(default_factory=dict)

    @property
    def parsed(self) -> list[ParsedPage]:
        return [page.page for page in self.doc.pages]

    def told(self) -> tuple[str, ...]:
        return (*self.notes, *self.counts.told())

    def verify(self) -> None:
        """A sample; where a kind of heading fails it, all of that kind; where nearly all do, the headings anew."""
        checked = self._sampled(self.marks)
        if checked is None:
            return
        self.path = "checked"
        if checked.share(checked.right) < _FAIR / 2:
            self.rebuild()
        else:
            self._correct(self.marks, checked)

    def rebuild(self, *, reading: bool = True) -> bool:
        """The first path whose headings come true in a sample; where there is none, the tree stays as it is.

        ``reading``: also the path over all pages.
        """
        for path, found in self._paths(reading):
            if len(found) < _FEWEST:
                continue
            marks = found if path == "pages" else graft(found, self.marks)
            checked = self._sampled(marks)
            if checked is None or (path == "pages" and not checked.sure):
                return False
            share = checked.share([at for at, mark in enumerate(marks) if mark.source == "model"])
            if share >= _FAIR:
                self.path, self.changed = path, True
                self._correct(marks, checked, look=path != "pages")
                return True
            self.notes.append(f"tree: of the headings by way of {path}, {share:.0%} of a sample were right")
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
        """Headings in stretches over the limits; twice, where the parts are over them too."""
        asked: set[Stretch] = set()
        for _ in range(_ROUNDS):
            tree = tree_of(self.marks, self.parsed, self.limits) if self.changed else sections
            large = [stretch for stretch in stretches(tree) if stretch not in asked]
            if not large or self.session.scope.spent:
                return
            asked.update(large)
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
        """A sample of each kind of heading with those of an outline that do not stand on their pages, and all of a kind
        whose sample is not good; None: not to be trusted.

        A document of which most was checked before is checked as it was then, sample or all: one changed heading does
        not have hundreds looked at anew.
        """
        kinds = [[at for at, mark in enumerate(marks) if (mark.source in SURE) == sure] for sure in (True, False)]
        lost = [at for at in kinds[0] if unit_of(self.doc[marks[at].page], marks[at]) is None][:_LOST]
        samples = [sample(marks, places) for places in kinds]
        rests = [sorted({*places} - {*chosen})[:_ALL] for places, chosen in zip(kinds, samples, strict=True)]
        kept = checked_before(self.session, self.doc, marks)
        known = [_most(chosen, kept) for chosen in samples]
        whole = [one and _most(rest, kept) for one, rest in zip(known, rests, strict=True)]
        also = [at for rest, one in zip(rests, whole, strict=True) if one for at in rest]
        verdicts: dict[str, str] = {}  # kept once all that belongs to a sample was answered
        checked = check(self.session, self.doc, marks, sorted({*samples[0], *samples[1], *lost, *also}), verdicts)
        if not checked.trusted:
            self.notes.append("tree: the model took wrong headings for right ones; it was not asked any further.")
            return None
        right = dict(checked.right)
        for at_kind, (places, chosen) in enumerate(zip(kinds, samples, strict=True)):
            if whole[at_kind]:
                sure = checked.sure
            elif not known[at_kind] and _FAIR / 2 <= checked.share(chosen) < _GOOD:
                rest = [at for at in rests[at_kind] if at not in right]
                more = check(self.session, self.doc, marks, rest, verdicts) if checked.sure else checked
                sure = more.trusted and (more.sure or not rest)
                right |= more.right if sure else {}
            else:
                continue
            if not sure:  # what may be a mistake of the model takes nothing from the tree that was there
                right |= {at: True for at in places if marks[at].source != "model"}
        self.verdicts |= verdicts
        return CheckOutcome(right, True, checked.sure)

    def _correct(self, marks: list[HeadingMark], checked: CheckOutcome, *, look: bool = True) -> None:
        """Wrong headings move to where they are found, else go: unless an outline says that they are there.

        ``look``: for them elsewhere, which is of use where something else than the pages told of them.
        """
        wrong = {at for at, right in checked.right.items() if not right}
        moved = self._moved(marks, wrong) if look else {}
        kept: list[HeadingMark] = []
        for at, mark in enumerate(marks):
            stands = mark.source in SURE - {"model"} and unit_of(self.doc[mark.page], mark) is not None
            if at not in wrong or at in moved or stands:
                kept.append(moved.get(at, mark))
        self.counts.moved += len(moved)
        self.counts.dropped += len(marks) - len(kept)
        self.changed = self.changed or kept != self.marks
        self.marks = in_places(kept)

    def _moved(self, marks: Sequence[HeadingMark], wrong: Collection[int]) -> dict[int, HeadingMark]:
        """Headings of an outline that stand elsewhere, looked for between their neighbours; the second time wider."""
        found: dict[int, HeadingMark] = {}
        lost = [at for at in sorted(wrong) if marks[at].source in SURE]
        contents = from_printed_toc(self.doc, self.limits.toc_pages).pages if lost else ()
        others = [at for at in range(len(marks)) if at not in wrong]
        for reach in (1, _WIDER)[:_ROUNDS]:
            wanted = []
            for at in lost:
                if at not in found:
                    before = [marks[i].page for i in others if i < at][-reach:]
                    after = [marks[i].page for i in others if i > at][:reach]
                    bounds = before[0] if before else 1, after[-1] if after else len(self.doc.pages)
                    wanted.append(TitleSearch(at, marks[at].title, *bounds))
            for at, place in ask_places(self.session, self.doc, wanted, contents, self.counts).items():
                placed = mark_at(self.doc, marks[at].title, marks[at].level, *place)
                if (placed.page, placed.anchor) != (marks[at].page, marks[at].anchor):
                    found[at] = placed
        return found


def _most(places: Collection[int], kept: Collection[int]) -> bool:
    return 2 * sum(at in kept for at in places) > len(places)
