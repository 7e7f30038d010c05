"""Retrieval measures on pages, sections and documents, and the stage where a page was lost.

A question without results scores zero and is never dropped. A measure is left out for a question without the gold
evidence that the measure needs, e.g. pages if only the document is known. A mean is over the questions that have the
measure.

A question is lost at a stage of the search. The search selects the document, finds candidate sections in it, reads
their pages and returns the best pages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from eval.measures.answers import answer_values
from eval.records.questions import RankedPage
from eval.records.runs import STAGES, GoldPlace, QuestionRecord, TreeRecord
from hybrid_core.system import require
from hybrid_core.text.tokens import tokenise
from hybrid_core.types.results import Trace

CUTOFFS = (1, 3, 5, 10, 20)
AMONG = 5
"""The number of first results in which every requested document should have a page."""
OVERLAP_RESULTS = 5
"""The number of first results whose snippets are compared with the gold text."""

LEVELS = {"pages": "", "sections": "section.", "documents": "document."}
"""The levels that are ranked, and the prefixes of their measures' names."""

Values = dict[str, float]


def per_question(records: Sequence[QuestionRecord]) -> dict[str, Values]:
    """Return every measure of every question, by question id; higher is better.

    ``hit@k``, ``recall@k``, ``mrr``, ``ndcg@5``, ``ndcg@10`` and ``r-precision`` are ir-measures' Success@k, R@k, RR,
    nDCG@k and Rprec on pages. The prefixes ``section.`` and ``document.`` mark these measures on sections and
    documents.

    ``document.among@5`` is the share of the right documents that have a page among the first five results. ``doc@1``
    tells whether the first result is in a right document, ``citation.page`` whether it is on a gold page.
    ``citation.overlap`` is the best token F1 between a gold text and the snippet of one of the first five results. For
    ``answers-…`` and ``citations-…`` see ``answer_values``.

    Raise PageIndexError if the extra ``eval`` is not installed.
    """
    by_id: dict[str, Values] = {record.id: answer_values(record) for record in records}
    answerable = [record for record in records if record.answerable]
    for level, prefix in LEVELS.items():
        _ranked(by_id, prefix, level_rankings(records, level))
    for record in answerable:
        values = by_id[record.id]
        if record.gold:
            among = {page.document for page in record.pages[:AMONG]}
            values[f"document.among@{AMONG}"] = mean([float(doc in among) for doc in {g.document for g in record.gold}])
            values["doc@1"] = float(any(p.document in {g.document for g in record.gold} for p in record.pages[:1]))
        if "hit@1" in values:
            values["citation.page"] = values["hit@1"]
        texts, shown = [g.text for g in record.gold if g.text], [p.text for p in record.pages[:OVERLAP_RESULTS]]
        if texts and (any(shown) or not shown):  # a ranker of whole pages cites no text
            values["citation.overlap"] = max((token_f1(s, t) for s in shown for t in texts), default=0.0)
    return by_id


def summarise(records: Sequence[QuestionRecord]) -> Values:
    """Return the mean of each measure over the questions that have it, and the measures of ``abstention``."""
    return means(per_question(records).values()) | abstention(records)


def summarise_kinds(records: Sequence[QuestionRecord]) -> dict[str, Values]:
    """Return the mean of each measure for each kind of question; empty if there is only one kind."""
    values, kinds = per_question(records), sorted({record.kind for record in records})
    return {k: means(values[r.id] for r in records if r.kind == k) for k in kinds} if len(kinds) > 1 else {}


def summarise_trees(records: Sequence[TreeRecord]) -> dict[str, Values]:
    """Return the mean scores of section trees, separately for PDFs with and without bookmarks."""
    kinds: dict[str, list[Values]] = {}
    for r in records:
        row = {"f1": r.f1, "precision": r.precision, "recall": r.recall, "parent": r.parent}
        row |= {} if r.tolerant is None else {"tolerant": r.tolerant}
        kinds.setdefault(f"bookmarks {r.bookmarks}", []).append({f"tree.{name}": value for name, value in row.items()})
    return {kind: means(rows) for kind, rows in kinds.items()}


def means(rows: Iterable[Mapping[str, float]]) -> Values:
    """Return the mean of each measure over the questions that have it."""
    by_measure: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row.items():
            by_measure.setdefault(name, []).append(value)
    return {name: mean(values) for name, values in by_measure.items()}


def mean(values: Sequence[float]) -> float:
    """Return the mean of the values, 0.0 for none."""
    return sum(values) / len(values) if values else 0.0


def abstention(records: Sequence[QuestionRecord]) -> Values:
    """Return how well evidence separates answerable from unanswerable questions.

    ``evidence.auroc`` is the probability that an answerable question has more evidence than an unanswerable one.
    ``abstention.recall`` is the share of unanswerable questions with evidence "none". ``abstention.false`` is the share
    of answerable questions with evidence "none", lower is better. A question that failed counts as wrong. Return {} if
    all questions are of one sort.
    """
    judged = [r for r in records if r.evidence is not None or r.error]
    yes, no = [r for r in judged if r.answerable], [r for r in judged if not r.answerable]
    if not yes or not no or not any(r.evidence for r in judged):
        return {}
    high = [r.evidence[1] if r.evidence else float("-inf") for r in yes]
    low = [r.evidence[1] if r.evidence else float("inf") for r in no]
    return {
        "evidence.auroc": auroc(high, low),
        "abstention.recall": mean([float(r.evidence is not None and r.evidence[0] == "none") for r in no]),
        "abstention.false": mean([float(r.evidence is None or r.evidence[0] == "none") for r in yes]),
    }


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Return the probability that a positive score is above a negative one.

    Ties count half (Mann-Whitney U / n m).
    """
    above = sum((p > n) + 0.5 * (p == n) for p in positive for n in negative)
    return above / (len(positive) * len(negative))


def token_f1(answer: str, gold: str) -> float:
    """Return the F1 of the tokens that two texts share, 0.0 if either is empty.

    Repeated tokens count each time, as in SQuAD.
    """
    left, right = Counter(tokenise(answer)), Counter(tokenise(gold))
    shared = sum((left & right).values())
    return 2 * shared / (left.total() + right.total()) if shared else 0.0


def unplaced(record: QuestionRecord) -> bool:
    """Return whether all gold of a question lacks a page because a named place was not found.

    Measures on pages leave such a question out.
    """
    return any(place.lost for place in record.gold) and all(place.page is None for place in record.gold)


def level_rankings(records: Sequence[QuestionRecord], level: str) -> dict[str, tuple[set[str], list[str]]]:
    """Return (gold ids, ranked ids) of each question with gold at ``level``, by question id.

    The level is pages, sections or documents.
    """
    rows = {record.id: _gold_and_ranking(record, level) for record in records if record.answerable}
    return {id: row for id, row in rows.items() if row[0]}


def _gold_and_ranking(record: QuestionRecord, level: str) -> tuple[set[str], list[str]]:
    if level == "pages":
        return _page_gold(record), _page_ranking(record)
    if level == "sections":
        return _section_gold(record), _section_ranking(record)
    return {place.document for place in record.gold}, list(record.documents)


def _ranked(values: dict[str, Values], prefix: str, runs: Mapping[str, tuple[set[str], list[str]]]) -> None:
    """Compute the measures with ir-measures for questions with gold, and add them to ``values``.

    ``runs`` contains the gold and the ranking of each question, as of ``level_rankings``.
    """
    if not runs:
        return
    ir = require("ir_measures", "eval")
    names = {ir.RR: "mrr", ir.nDCG @ 5: "ndcg@5", ir.nDCG @ 10: "ndcg@10", ir.Rprec: "r-precision"}
    names |= {ir.Success @ k: f"hit@{k}" for k in CUTOFFS} | {ir.R @ k: f"recall@{k}" for k in CUTOFFS}
    qrels = [ir.Qrel(id, item, 1) for id, (gold, _) in runs.items() for item in sorted(gold)]
    ranked = [
        ir.ScoredDoc(id, item, float(len(items) - rank))  # the scores only express the order
        for id, (_, items) in runs.items()
        for rank, item in enumerate(items)
    ]
    for name in sorted(names.values()):
        for id in runs:
            values[id][prefix + name] = 0.0
    if ranked:
        for metric in ir.iter_calc(list(names), qrels, ranked):
            values[metric.query_id][prefix + names[metric.measure]] = float(metric.value)


def page_key(document: str, page: int) -> str:
    """Return the id of a page in TREC qrels and runs."""
    return f"{document}#{page}"


def _page_gold(record: QuestionRecord) -> set[str]:
    return {page_key(place.document, place.page) for place in record.gold if place.page is not None}


def _page_ranking(record: QuestionRecord) -> list[str]:
    """Return the keys of a question's result pages without duplicates, best first.

    A page that counts as equal to a gold page has the key of the gold page.
    """
    stands_for = {
        page_key(place.document, other): page_key(place.document, place.page)
        for place in record.gold
        if place.page is not None
        for other in place.also
    }
    stands_for |= {place: place for place in _page_gold(record)}
    keys = (page_key(page.document, page.page) for page in record.pages)
    return list(dict.fromkeys(stands_for.get(key, key) for key in keys))


def _section_gold(record: QuestionRecord) -> set[str]:
    return {f"{place.document}#{place.section}" for place in record.gold if place.section}


def _section_ranking(record: QuestionRecord) -> list[str]:
    """Return the keys of the sections of a question's results without duplicates, best first.

    A section that counts as equal to a gold section has the key of the gold section.
    """
    stands_for = {
        f"{place.document}#{other}": f"{place.document}#{place.section}"
        for place in record.gold
        for other in place.sections_also
    } | {section: section for section in _section_gold(record)}
    keys = (f"{page.document}#{page.section}" for page in record.pages if page.section)
    return list(dict.fromkeys(stands_for.get(key, key) for key in keys))


FIRST = 5
"""The number of first results among which a gold page counts as a hit."""


@dataclass(frozen=True, slots=True)
class Loss:
    """The number and share of the questions that were lost at a stage of the search.

    ``ceiling`` is the share of questions that could still be hits if all later stages were perfect.
    """

    stage: str
    count: int
    share: float
    ceiling: float


def stage(
    gold: Sequence[GoldPlace],
    pages: Sequence[RankedPage],
    trace: Trace | None,
    ids: Mapping[str, str],
    sections: Callable[[str, int], Sequence[str]],
    first: int = FIRST,
) -> str:
    """Return the stage where a question ended: one of STAGES, or "" for a miss without a trace.

    The gold page that reached the latest stage counts. ``ids`` are doc_ids by document name; ``sections`` returns the
    node_ids of the sections that have text on a page.
    """
    gold_pages = [
        (place.document, page) for place in gold if place.page is not None for page in (place.page, *place.also)
    ]
    if not gold_pages:
        return "no gold placed"
    if any((page.document, page.page) in gold_pages for page in pages[:first]):
        return "hit"
    if trace is None:
        return ""
    ended = [_ended(ids.get(document, ""), page, sections(document, page), trace) for document, page in gold_pages]
    return max(ended, key=STAGES.index)


def _ended(doc_id: str, page: int, sections: Sequence[str], trace: Trace) -> str:
    if doc_id not in trace.documents:
        return "wrong document"
    if (doc_id, page) in trace.read:
        return "not ranked"
    if any((doc_id, section) in trace.opened for section in sections):
        return "wrong page"
    if any((doc_id, section) in trace.sections for section in sections):
        return "section not chosen"
    return "section not a candidate"


def losses(records: Sequence[QuestionRecord]) -> tuple[Loss, ...]:
    """Return how many questions were lost at each stage, in order and with hits last.

    Questions without an answer or gold pages do not count. Gold that was not located has its own row. Return () if no
    question has a stage.
    """
    counts = Counter(record.stage for record in records if record.stage)
    total, left = counts.total(), counts.total()
    rows = []
    for name in STAGES:
        if name != "hit":
            left -= counts[name]
        if total:
            rows.append(Loss(name, counts[name], counts[name] / total, left / total))
    return tuple(rows)
