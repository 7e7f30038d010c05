"""Answers from what a ranker found: the engine writes and checks them, rules and the judge say what they are worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from eval.datasets.corpus import Corpus
from eval.measures.judges.model import NOT_HELD, Judge
from eval.measures.judges.rules import judge_by_rules
from eval.records.answers import AnswerRecord, Judgement, SourceGiven, Verdict
from eval.records.questions import EvalQuestion
from eval.records.rankings import RankedPage, Ranking
from hybrid_core.types.documents import EvidenceLevel
from hybrid_core.types.results import EffortUsed, Evidence, PageFound, Receipt, SearchResult, SectionFound
from hybrid_pageindex import Engine, run

_ABSTAINED = "it says that the library does not hold the answer"
_NO_REFERENCE = "not judged: the set has no answer to compare with"


class Answerer:
    """Has the engine answer from the first pages of a ranking, as ``ask`` does from those of a search.

    ``force``: a model is asked whatever the evidence; so it is for pages of rankers that judge none.
    """

    def __init__(
        self, engine: Engine, corpus: Corpus, judge: Judge | None, *, force: bool, pages: int | None, vision: str = ""
    ) -> None:
        """``pages`` are so many as sources, None: all of the ranking. ``vision`` is "always" or "never" for pictures of
        the pages, "" for what the engine does by itself.
        """
        self._engine, self._corpus, self._judge, self._force, self._pages = engine, corpus, judge, force, pages
        self._vision = vision

    def answer(self, question: EvalQuestion, ranking: Ranking) -> tuple[AnswerRecord, float]:
        """The answer with its judgements, and the milliseconds that writing and checking it took."""
        found = self._found(question.text, ranking)
        force = self._force or ranking.evidence is None
        if self._vision:
            made = run(self._engine.answer(found, force=force, vision=self._vision == "always"))
        else:
            made = run(self._engine.answer(found, force=force))
        answered = AnswerRecord(
            text=made.text, status=made.status, why=made.why, claims=made.claims, usage=made.usage, notes=made.notes,
            sources=tuple(SourceGiven(source.number, source.doc_name, source.page) for source in made.sources),
        )  # fmt: skip
        return judged(question, answered, self._judge), made.timings_ms["answer"]

    def failed(self, question: EvalQuestion, why: str) -> AnswerRecord:
        """What stands for the answer of a question that could not be asked."""
        return judged(question, AnswerRecord("", "model_failed", why), self._judge)

    def _found(self, question: str, ranking: Ranking) -> SearchResult:
        level, score = ranking.evidence or ("weak", 0.0)
        results = tuple(self._page(page) for page in ranking.pages[: self._pages])
        return SearchResult(
            query=question, library=self._engine.settings.library, evidence=Evidence(_level(level), score),
            effort=EffortUsed("fast", "fast", "the pages were given"), results=results, sections=(), documents=(),
            embedded_share=0.0, notes=(), timings_ms={},
        )  # fmt: skip

    def _page(self, page: RankedPage) -> PageFound:
        doc_id = self._corpus.ids[page.document]
        (read,) = run(self._engine.pages(doc_id, [page.page]))
        on = next((s for s in read.sections if s.node_id == page.section), read.sections[0] if read.sections else None)
        path, node, first, last = (on.path, on.node_id, on.start_page, on.end_page) if on else ((), "", 1, 1)
        section = SectionFound(node, path[-1] if path else "", path, first, last, 0.0)
        receipt = Receipt({}, None, None, page.score, 0.0, 0.0, 0.0, 0.0, "", path, 0.0, "")
        return PageFound(doc_id, page.document, page.page, read.label, page.score, page.text, section, receipt)


def judged(question: EvalQuestion, answered: AnswerRecord, judge: Judge | None) -> AnswerRecord:
    """The answer with what rules and the judge think of it.

    Saying that the library does not hold the answer is right where it does not and wrong where it does; an answer that
    failed is wrong. Neither is shown to the judge.
    """
    settled: Verdict | None = None
    by_judge: Judgement | None
    why = answered.why
    if answered.status == "not_in_library":
        settled, why = "wrong" if question.answerable else "right", _ABSTAINED
    elif answered.status != "answered":
        settled = "wrong"
    reference = question.answer if question.answerable else NOT_HELD
    if not reference:
        by_rules, by_judge = None, Judgement(None, _NO_REFERENCE)
    elif settled:
        by_rules, by_judge = settled, Judgement(settled, why)
    else:
        by_rules = judge_by_rules(question.text, reference, answered.text) if question.answerable else "wrong"
        by_judge = judge.judge(question.text, reference, answered.text) if judge else None
    return replace(answered, by_rules=by_rules, judgement=by_judge if judge else None)


def _level(said: str) -> EvidenceLevel:
    levels: Sequence[EvidenceLevel] = get_args(EvidenceLevel)
    return next(level for level in levels if level == said)
