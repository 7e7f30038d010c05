"""Compare section trees with human outlines: title and page of every heading, and its parent.

A heading of the tree is right if its title matches one of the outline at most one page away, each used once. Titles
match with a difflib ratio of at least 0.85, ignoring case, spacing, punctuation and leading numbering. Synthetic
sections (front matter, page groups) are not counted. ``parent`` is the share of right headings whose parent is right
too. Every PDF is scored twice: unchanged, and as a copy without bookmarks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path

import pymupdf

from eval.datasets.corpus import Corpus
from eval.measures import retrieval
from eval.records.progress import Progress
from eval.records.questions import Dataset, HumanOutline, Row
from eval.records.runs import Run, RunHead, TreeRecord, append, read_run, write_head
from eval.runs.home import engine_code, machine, prepare, resumed, settings_that_matter
from eval.runs.plan import Plan
from hybrid_core.errors import UsageError
from hybrid_core.store.catalog.rows import now
from hybrid_core.types.documents import Section

KEPT, STRIPPED = "kept", "stripped"
_NUMBERING = re.compile(
    r"^(?:(?:chapter|part|section|article|appendix|item)\s+(?:\d+[a-z]?|[ivxlc]+|[a-z])\b[.:)]?"
    r"|\d+(?:\.\d+)*[.:)]?(?=\s)|(?:[ivxlc]+|[a-z])[.:)](?=\s))\s*"
)
_ALIKE = 0.85
_NEAR = 0.8  # required similarity of a heading with an optional or doubtful one


@dataclass(frozen=True, slots=True)
class OutlineHeading:
    level: int
    title: str  # folded
    page: int


@dataclass(frozen=True, slots=True)
class TreeScore:
    """The scores of a section tree.

    ``tolerant`` is an F1 for which optional headings are no errors and doubtful ones need not be found. ``at_depth`` is
    the F1 without headings deeper than the outline.
    """

    f1: float
    precision: float
    recall: float
    parent: float
    tolerant: float
    at_depth: float = 0.0


def measure_trees(plan: Plan, dataset: Dataset, folder: Path, progress: Progress) -> Run:
    """Index the documents of a set with and without their bookmarks, and score both section trees.

    An interrupted run is resumed.
    """
    if plan.ranker != "engine":
        raise UsageError(f"{dataset.name} measures section trees, so no ranker is used.", "Leave --ranker out.")
    previous = resumed(folder, plan)
    if previous and previous.finished:
        progress.say(f"{folder} is a finished run of the same documents, so no document is measured again.")
        return read_run(folder)
    home = plan.home_folder(dataset.files)
    begun = previous.started if previous else now()
    head = _measured(plan, dataset, folder, dataset.files, home, KEPT, begun, progress)
    bare = [_stripped(path, home.with_name(home.name + ".stripped-files")) for path in dataset.files]
    _measured(plan, dataset, folder, bare, home.with_name(home.name + "-stripped"), STRIPPED, begun, progress)
    kinds = retrieval.summarise_trees(read_run(folder).trees)
    write_head(folder, replace(head, measures={"all": kinds[f"bookmarks {STRIPPED}"], "kinds": kinds}, finished=now()))
    return read_run(folder)


def _measured(
    plan: Plan,
    dataset: Dataset,
    folder: Path,
    files: Sequence[Path],
    home: Path,
    bookmarks: str,
    begun: str,
    progress: Progress,
) -> RunHead:
    """Index the files, and score those that have no score yet. Return the head of the run."""
    prepared = prepare(home, files, "", progress, ours=plan.home is None)
    with closing(prepared.engine):
        head = RunHead(
            dataset=dataset.name, setting="trees", ranker="engine", options=plan.options, engine=engine_code(),
            settings=settings_that_matter(prepared.engine.settings), machine=machine(),
            counts={"documents": len(files), "pages": int(prepared.figures["pages"]), "questions": 0,
                    "left out": len(dataset.left_out)},
            index=prepared.figures, left_out=dataset.left_out,
            problems=(*dataset.notes, *prepared.problems), started=begun,
        )  # fmt: skip
        if bookmarks == KEPT:
            write_head(folder, head)
        _score_all(folder, bookmarks, dataset, Corpus(prepared.engine))
    return head


def score(outline: HumanOutline, sections: Sequence[Section]) -> TreeScore:
    """Score the headings of a section tree by a human outline."""
    gold, optional, doubtful = (_folded(rows) for rows in (outline.rows, outline.optional, outline.doubtful))
    last = outline.last or max((section.end_page for section in sections), default=0)
    in_scope = [heading for heading in headings(sections) if outline.first <= heading.page <= last]
    pairs = _pair_headings(gold, in_scope)
    precision, recall, f1 = _shares(len(pairs), len(in_scope), len(gold))
    gold_parents, found_parents = _parents(gold), _parents(in_scope)
    same = sum(_likeness(gold_parents[j], found_parents[i]) >= _ALIKE for j, i in pairs)
    needed = [heading for heading in gold if not _among(heading, doubtful) or _among(heading, in_scope)]
    meant = [heading for heading in in_scope if not _among(heading, optional) or _among(heading, gold)]
    _, _, tolerant = _shares(len(_pair_headings(needed, meant)), len(meant), len(needed))
    deepest = max((heading.level for heading in gold), default=0)
    upper = [heading for heading in in_scope if heading.level <= deepest]
    _, _, at_depth = _shares(len(_pair_headings(gold, upper)), len(upper), len(gold))
    return TreeScore(f1, precision, recall, same / len(pairs) if pairs else 0.0, tolerant, at_depth)


def _folded(rows: Sequence[Row]) -> list[OutlineHeading]:
    return [OutlineHeading(level, fold(title), page) for level, title, page in rows]


def _pair_headings(gold: Sequence[OutlineHeading], tree: Sequence[OutlineHeading]) -> list[tuple[int, int]]:
    """Pair similar headings of ``gold`` and ``tree``, each used once. Return pairs of indexes."""
    free = set(range(len(gold)))
    pairs: list[tuple[int, int]] = []
    for i, heading in enumerate(tree):
        near = [j for j in sorted(free) if abs(gold[j].page - heading.page) <= 1 and gold[j].title and heading.title]
        best, j = max(((_likeness(gold[j].title, heading.title), -j) for j in near), default=(0.0, 0))
        if best >= _ALIKE:
            free.discard(-j)
            pairs.append((-j, i))
    return pairs


def _shares(right: int, tree: int, gold: int) -> tuple[float, float, float]:
    """Return precision, recall and F1 from the counts of right headings and of all headings."""
    precision, recall = right / tree if tree else 0.0, right / gold if gold else 0.0
    return precision, recall, 2 * precision * recall / (precision + recall) if right else 0.0


def _among(heading: OutlineHeading, others: Sequence[OutlineHeading]) -> bool:
    return any(
        abs(heading.page - other.page) <= 1 and _likeness(heading.title, other.title) > _NEAR for other in others
    )


def fold(title: str) -> str:
    """Return a title in lower case without leading numbering and punctuation.

    A title that is only numbering keeps it.
    """
    lowered = title.strip().lower()
    return re.sub(r"\W+", " ", _NUMBERING.sub("", lowered) or lowered).strip()


def alike(left: str, right: str) -> bool:
    """Return whether two folded titles are similar enough to count as the same."""
    return _likeness(left, right) >= _ALIKE


def headings(sections: Sequence[Section]) -> list[OutlineHeading]:
    """Return the headings of a section tree. Synthetic sections are left out and add no level."""
    depth: dict[str | None, int] = {None: 0}
    rows = []
    for section in sections:
        depth[section.node_id] = depth[section.parent_id] + (not section.synthetic)
        if not section.synthetic:
            rows.append(OutlineHeading(depth[section.node_id], fold(section.title), section.start_page))
    return rows


def _parents(outline: Sequence[OutlineHeading]) -> list[str | None]:
    path: list[OutlineHeading] = []
    out = []
    for heading in outline:
        while path and path[-1].level >= heading.level:
            path.pop()
        out.append(path[-1].title if path else None)
        path.append(heading)
    return out


def _likeness(left: str | None, right: str | None) -> float:
    if left is None or right is None:
        return float(left is right)
    return 1.0 if left == right else SequenceMatcher(None, left, right).ratio()


def _score_all(folder: Path, bookmarks: str, dataset: Dataset, corpus: Corpus) -> None:
    done = {record.document for record in read_run(folder).trees if record.bookmarks == bookmarks}
    for path in dataset.files:
        if path.name in done or path.name not in dataset.outlines:
            continue
        if path.name not in corpus.documents:  # scored zero; the run's problems give the reason
            append(folder, TreeRecord(path.name, bookmarks, 0.0, 0.0, 0.0, 0.0, 0, "not indexed"))
            continue
        sections = corpus.sections(path.name)
        result = score(dataset.outlines[path.name], sections)
        headings_count = sum(not section.synthetic for section in sections)
        append(
            folder,
            TreeRecord(
                path.name,
                bookmarks,
                result.f1,
                result.precision,
                result.recall,
                result.parent,
                headings_count,
                tolerant=result.tolerant,
            ),
        )


def _stripped(path: Path, folder: Path) -> Path:
    """Write a copy of a PDF without bookmarks."""
    target = folder / path.name
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        draft = target.with_suffix(".new")
        with pymupdf.open(path) as pdf:
            pdf.set_toc([])
            pdf.save(draft)
        draft.replace(target)
    return target
