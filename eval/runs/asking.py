"""Ask the questions of a run, several at a time, let the engine answer, and judge the answers.

Each record is written immediately. If a model failed, the question is asked once more.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from eval.datasets.corpus import Corpus
from eval.measures import retrieval
from eval.measures.judging import NOT_HELD, Judge
from eval.measures.retrieval import stage
from eval.measures.rules import judge_by_rules
from eval.records.progress import Progress
from eval.records.questions import (
    AnswerRecord,
    EvalQuestion,
    Judgement,
    RankedPage,
    Ranker,
    Ranking,
    SourceGiven,
    Verdict,
)
from eval.records.runs import GoldPlace, QuestionRecord, Run, append, degraded, read_run, rewrite, write_head
from eval.runs.plan import Plan
from hybrid_core.errors import NotFoundError, PageIndexError, UsageError
from hybrid_core.llm.client.scope import patiently
from hybrid_core.types.documents import EvidenceLevel
from hybrid_core.types.notes import NONE, Note
from hybrid_core.types.results import EffortUsed, Evidence, PageFound, Receipt, SearchResult, SectionFound
from hybrid_pageindex import Engine, run

_ABSTENTION = "it says that the library does not hold the answer"
_NO_REFERENCE = "not judged: the set has no answer to compare with"


class Answerer:
    """Answers by the engine from the first pages of a ranking, like ``ask`` from search results.

    With ``force``, the model is called whatever the evidence, for rankers that do not estimate it.
    """

    def __init__(
        self, engine: Engine, corpus: Corpus, judge: Judge | None, *, force: bool, pages: int | None, vision: str = ""
    ) -> None:
        """Create the answerer. ``pages`` is the number of source pages, None for the whole ranking.

        ``vision`` is "always" or "never" for pictures of the pages, "" for the engine's default.
        """
        self._engine, self._corpus, self._judge, self._force, self._pages = engine, corpus, judge, force, pages
        self._vision = vision

    def answer(self, question: EvalQuestion, ranking: Ranking) -> tuple[AnswerRecord, float]:
        """Return the judged answer, and the milliseconds for writing and checking it."""
        result = self._search_result(question.text, ranking)
        force = self._force or ranking.evidence is None
        if self._vision:
            reply = run(self._engine.answer(result, force=force, vision=self._vision == "always"))
        else:
            reply = run(self._engine.answer(result, force=force))
        answered = AnswerRecord(
            text=reply.text, status=reply.status, why=reply.why, claims=reply.claims, usage=reply.usage,
            notes=reply.notes,
            sources=tuple(SourceGiven(source.number, source.doc_name, source.page) for source in reply.sources),
        )  # fmt: skip
        return judged(question, answered, self._judge), reply.timings_ms["answer"]

    def failed(self, question: EvalQuestion, why: str) -> AnswerRecord:
        """Return the answer record of a question that could not be asked."""
        return judged(question, AnswerRecord("", "model_failed", why), self._judge)

    def _search_result(self, question: str, ranking: Ranking) -> SearchResult:
        level, score = ranking.evidence or ("weak", 0.0)
        results = tuple(self._page(page) for page in ranking.pages[: self._pages])
        return SearchResult(
            query=question, library=self._engine.settings.library, evidence=Evidence(_level(level), score),
            effort=EffortUsed("fast", "fast", Note.of("the pages were given")), results=results, sections=(),
            documents=(), embedded_share=0.0, notes=(), timings_ms={},
        )  # fmt: skip

    def _page(self, page: RankedPage) -> PageFound:
        doc_id = self._corpus.ids[page.document]
        (read,) = run(self._engine.pages(doc_id, [page.page]))
        on = next((s for s in read.sections if s.node_id == page.section), read.sections[0] if read.sections else None)
        path, node, first, last = (on.path, on.node_id, on.start_page, on.end_page) if on else ((), "", 1, 1)
        section = SectionFound(node, path[-1] if path else "", path, first, last, 0.0)
        receipt = Receipt({}, None, None, page.score, 0.0, 0.0, 0.0, 0.0, NONE, path, 0.0, NONE)
        return PageFound(doc_id, page.document, page.page, read.label, page.score, page.text, section, receipt)


def judged(question: EvalQuestion, answered: AnswerRecord, judge: Judge | None) -> AnswerRecord:
    """Return an answer with the verdicts of rules and judge.

    A refusal is right only if the library does not contain the answer; a failed answer is wrong. Neither is sent to the
    judge.
    """
    settled: Verdict | None = None
    by_judge: Judgement | None
    why = answered.why
    if answered.status == "not_in_library":
        settled, why = "wrong" if question.answerable else "right", _ABSTENTION
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


def _level(name: str) -> EvidenceLevel:
    levels: Sequence[EvidenceLevel] = get_args(EvidenceLevel)
    return next(level for level in levels if level == name)


def judge_again(folder: Path, judge: Judge, progress: Progress, *, everything: bool) -> Run:
    """Judge the answers of a run again, and replace the results in its folder.

    With ``everything``, answers that have a verdict are judged too. Raise NotFoundError if the folder is not a run.
    Raise UsageError if the run is unfinished or has no answers, or if it was judged by another judge and not everything
    is judged again.
    """
    run = read_run(folder)
    if not run.head.finished or not any(record.answer for record in run.questions):
        raise UsageError(f"{folder} is not a finished run with answers.", "Write answers with: eval run … --answers")
    if not everything and run.head.judge and dict(run.head.judge) != dict(judge.about):
        raise UsageError(
            f"The answers in {folder} were judged by the model {run.head.judge['model']}, or with another prompt.",
            "Add --all to judge all answers again.",
        )
    open_ = [
        unjudged for unjudged in run.questions if unjudged.answer and (everything or not _settled(unjudged.answer))
    ]
    new: dict[str, QuestionRecord] = {}
    with progress.bar("answers", len(open_)) as step:
        for record in open_:
            new[record.id] = replace(record, answer=_again(record, judge, everything))
            step()
    records = [new.get(record.id, record) for record in run.questions]
    measured = {"all": retrieval.summarise(records), "kinds": retrieval.summarise_kinds(records)}
    rewrite(folder, records)
    write_head(folder, replace(run.head, judge=dict(judge.about), measures=measured))
    return read_run(folder)


def _settled(answer: AnswerRecord) -> bool:
    return answer.judgement is not None and answer.judgement.verdict is not None


def _again(record: QuestionRecord, judge: Judge, everything: bool) -> AnswerRecord | None:
    """Return the answer of a record, judged again.

    The usage of an earlier failed attempt is added to that of the new judgement.
    """
    if record.answer is None:
        return None
    question = EvalQuestion(record.id, record.question, (), answer=record.gold_answer, answerable=record.answerable)
    answered = judged(question, record.answer, judge)
    before = record.answer.judgement
    if everything or before is None or answered.judgement is None:
        return answered
    return replace(answered, judgement=replace(answered.judgement, usage=before.usage + answered.judgement.usage))


_MAX_RESULTS = 1000  # the engine's maximum


def ask(
    ranker: Ranker, corpus: Corpus, question: EvalQuestion, gold: Sequence[GoldPlace], setting: str, depth: int
) -> tuple[tuple[str, ...] | None, Ranking]:
    """Rank the pages for a question in a setting. Return the selected documents and the ranking.

    The documents are None for the whole library. A question with ``within`` is limited to those documents in the
    setting "library", too. "oracle-section" removes the pages outside the deepest sections with gold. "oracle-pages"
    leaves only gold pages, an upper bound. Gold pages that were not found are added with score 0. Raise the ranker's
    errors, and NotFoundError if none of the selected documents was indexed.
    """
    if setting == "library" and not question.within:
        return None, _located(corpus, ranker.rank(question.text, None, depth))
    names = question.within if setting == "library" else question.documents
    indexed = tuple(name for name in names if name in corpus.documents)
    if not indexed:
        raise NotFoundError(
            f"Question {question.id} names no document that was indexed ({', '.join(question.documents) or 'none'}).",
            "See the problems of the run, which name the documents that failed.",
        )
    if setting in ("library", "given"):
        return indexed, _located(corpus, ranker.rank(question.text, indexed, depth))
    everything = min(_MAX_RESULTS, max(depth, sum(corpus.documents[name].pages for name in indexed)))
    ranking = ranker.rank(question.text, indexed, everything)
    allowed = _sections(corpus, gold) if setting == "oracle-section" else _gold_pages(gold)
    allowed_positions = [at for at, page in enumerate(ranking.pages) if (page.document, page.page) in allowed][:depth]
    pages = tuple(ranking.pages[at] for at in allowed_positions)
    if setting == "oracle-pages":
        page_set = {(page.document, page.page) for page in pages}
        pages += tuple(RankedPage(*place, 0.0) for place in sorted(allowed - page_set))
    receipts = tuple(ranking.receipts[at] for at in allowed_positions) if ranking.receipts else ()
    return indexed, _located(corpus, replace(ranking, pages=pages, receipts=receipts))


def _sections(corpus: Corpus, gold: Sequence[GoldPlace]) -> set[tuple[str, int]]:
    allowed = set()
    for place in gold:
        if place.section:
            first, last = corpus.section_range(place.document, place.section)
            allowed |= {(place.document, page) for page in range(first, last + 1)}
    return allowed


def _gold_pages(gold: Sequence[GoldPlace]) -> set[tuple[str, int]]:
    return {(place.document, place.page) for place in gold if place.page is not None}


def _located(corpus: Corpus, ranking: Ranking) -> Ranking:
    """Return the ranking with a section for each page.

    A page for which the ranker returned no section gets the deepest section that contains most of the page.
    """
    if all(page.section for page in ranking.pages):
        return ranking
    pages = []
    for page in ranking.pages:
        if not page.section:
            node = corpus.section_at(page.document, page.page)
            page = replace(page, section=node, node=corpus.section_range(page.document, node) if node else None)
        pages.append(page)
    return replace(ranking, pages=tuple(pages))


@dataclass(frozen=True, slots=True)
class Asking:
    """The questions of a run with their ranker and answerer. ``gold`` is by question id."""

    plan: Plan
    ranker: Ranker
    answerer: Answerer | None
    corpus: Corpus
    gold: Mapping[str, tuple[GoldPlace, ...]]

    def ask_all(self, folder: Path, questions: Sequence[EvalQuestion], progress: Progress) -> None:
        """Ask all questions that have no record in the folder. Then repeat those whose model failed.

        Records are in the order of completion.
        """
        done = {record.id for record in read_run(folder).questions}
        left = [question for question in questions if question.id not in done]
        named = f"{self.plan.dataset}, {self.plan.setting}, {self.plan.ranker}"
        with progress.bar(named, len(questions), len(done)) as step:
            for record in self._ask_each(left):
                append(folder, record)
                step()
        records = {record.id: record for record in read_run(folder).questions}
        again = [q for q in questions if q.id in records and degraded(records[q.id]).by_model]
        if not again:
            return
        with progress.bar("once more, as the model failed", len(again)) as step:
            for record in self._ask_each(again):
                if not degraded(record).by_model:
                    records[record.id] = record
                    rewrite(folder, list(records.values()))
                step()

    def _ask_each(self, questions: Sequence[EvalQuestion]) -> Iterator[QuestionRecord]:
        """Ask questions and yield their records as they are completed.

        Without parallel questions, this is the order of the questions.
        """
        if self.plan.parallel < 2:
            yield from map(self.record, questions)
            return
        pool = ThreadPoolExecutor(self.plan.parallel, thread_name_prefix="eval")
        try:
            for done in as_completed([pool.submit(self.record, question) for question in questions]):
                yield done.result()
        finally:
            pool.shutdown(cancel_futures=True)

    def record(self, question: EvalQuestion) -> QuestionRecord:
        """Ask a question and return its record, including any failure. Retry if an endpoint is busy."""
        gold = self.gold[question.id]
        record = QuestionRecord(
            id=question.id, question=question.text, kind=question.kind, group=question.group,
            answerable=question.answerable, gold_answer=question.answer, gold=gold,
        )  # fmt: skip
        began = time.perf_counter()
        try:
            with patiently():
                documents, ranking = ask(self.ranker, self.corpus, question, gold, self.plan.setting, self.plan.depth)
                spent = {"total": round((time.perf_counter() - began) * 1000, 3), **ranking.timings_ms}
                answer = None
                if self.answerer:
                    answer, spent["answer"] = self.answerer.answer(question, ranking)
                    spent["total"] = round(spent["total"] + spent["answer"], 3)
        except Exception as error:  # noqa: BLE001 - any exception of a ranker becomes the record's error
            message = str(error) if isinstance(error, PageIndexError) else f"{type(error).__name__}: {error}"
            failed = None if self.answerer is None else self.answerer.failed(question, message)
            return replace(record, error=message, stage="failed" if question.answerable else "", answer=failed)
        by_page = any(place.page is not None or place.lost for place in gold)
        ended = ""
        if by_page:
            ended = stage(gold, ranking.pages, ranking.trace, self.corpus.ids, self.corpus.sections_on)
        return replace(
            record, given=documents, pages=ranking.pages, documents=ranking.documents, evidence=ranking.evidence,
            stage=ended, receipts=ranking.receipts, notes=ranking.notes, timings_ms=spent, tokens=ranking.tokens,
            input_tokens=ranking.input_tokens, cost=ranking.cost, answer=answer, search_failed=ranking.failed,
        )  # fmt: skip
