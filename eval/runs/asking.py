"""The questions of a run asked, several at once, each written down as it comes; what a model failed at, once more."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

from eval.datasets.corpus import Corpus
from eval.measures.attribution import stage
from eval.records.degraded import degraded
from eval.records.progress import Progress
from eval.records.questions import EvalQuestion
from eval.records.rankings import Ranker
from eval.records.runs import GoldPlace, QuestionRecord, append, read_run, rewrite
from eval.runs.answers import Answerer
from eval.runs.plan import Plan
from eval.runs.scope import ask
from hybrid_core.errors import PageIndexError
from hybrid_core.llm.client.scope import patiently


@dataclass(frozen=True, slots=True)
class Asking:
    """What is asked and how. ``gold`` is by the question's id."""

    plan: Plan
    ranker: Ranker
    answerer: Answerer | None
    corpus: Corpus
    gold: Mapping[str, tuple[GoldPlace, ...]]

    def ask_all(self, folder: Path, questions: Sequence[EvalQuestion], progress: Progress) -> None:
        """Ask what the folder does not hold yet, then once more what was asked without its model, for an endpoint that
        was busy may have rested. Records stay in the order in which they came.
        """
        done = {record.id for record in read_run(folder).questions}
        left = [question for question in questions if question.id not in done]
        named = f"{self.plan.dataset}, {self.plan.setting}, {self.plan.ranker}"
        with progress.bar(named, len(questions), len(done)) as step:
            for record in self._asked(left):
                append(folder, record)
                step()
        held = {record.id: record for record in read_run(folder).questions}
        again = [q for q in questions if q.id in held and degraded(held[q.id]).by_model]
        if not again:
            return
        with progress.bar("once more, as the model failed", len(again)) as step:
            for record in self._asked(again):
                if not degraded(record).by_model:
                    held[record.id] = record
                    rewrite(folder, list(held.values()))
                step()

    def _asked(self, questions: Sequence[EvalQuestion]) -> Iterator[QuestionRecord]:
        """As they come; one at a time in their order."""
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
        """One question asked, as often as a busy endpoint needs; whatever goes wrong stands in its record."""
        gold = self.gold[question.id]
        record = QuestionRecord(
            id=question.id, question=question.text, kind=question.kind, group=question.group,
            answerable=question.answerable, gold_answer=question.answer, gold=gold,
        )  # fmt: skip
        began = time.perf_counter()
        try:
            with patiently():
                given, ranking = ask(self.ranker, self.corpus, question, gold, self.plan.setting, self.plan.depth)
                spent = {"total": round((time.perf_counter() - began) * 1000, 3), **ranking.timings_ms}
                answer = None
                if self.answerer:
                    answer, spent["answer"] = self.answerer.answer(question, ranking)
                    spent["total"] = round(spent["total"] + spent["answer"], 3)
        except Exception as error:  # noqa: BLE001 - whatever a ranker raises is what it answered
            said = str(error) if isinstance(error, PageIndexError) else f"{type(error).__name__}: {error}"
            failed = None if self.answerer is None else self.answerer.failed(question, said)
            return replace(record, error=said, stage="failed" if question.answerable else "", answer=failed)
        by_page = any(place.page is not None or place.lost for place in gold)
        ended = ""
        if by_page:
            ended = stage(gold, ranking.pages, ranking.trace, self.corpus.ids, self.corpus.sections_on)
        return replace(
            record, given=given, pages=ranking.pages, documents=ranking.documents, evidence=ranking.evidence,
            stage=ended, receipts=ranking.receipts, notes=ranking.notes, timings_ms=spent, tokens=ranking.tokens,
            input_tokens=ranking.input_tokens, cost=ranking.cost, answer=answer,
        )  # fmt: skip
