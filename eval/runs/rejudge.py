"""Judging the answers of a run again: those that no judge got to, or all of them by another judge."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from eval.measures import retrieval
from eval.measures.judges.model import Judge
from eval.records.answers import AnswerRecord
from eval.records.progress import Progress
from eval.records.questions import EvalQuestion
from eval.records.runs import QuestionRecord, Run, read_run, rewrite, write_head
from eval.runs.answers import judged
from hybrid_core.errors import UsageError


def judge_again(folder: Path, judge: Judge, progress: Progress, *, everything: bool) -> Run:
    """The run with new judgements, written in its place. ``everything``: not only the answers without a verdict.

    Raises NotFoundError for a folder that is no run, UsageError for one that is not finished, holds no answers, or was
    judged by another judge while only its gaps are to be filled.
    """
    run = read_run(folder)
    if not run.head.finished or not any(record.answer for record in run.questions):
        raise UsageError(f"{folder} is no finished run with answers.", "Make one with: eval run … --answers")
    if not everything and run.head.judge and dict(run.head.judge) != dict(judge.about):
        raise UsageError(f"{folder} was judged by {run.head.judge['model']}, or by another prompt.", "Use --all.")
    open_ = [one for one in run.questions if one.answer and (everything or not _settled(one.answer))]
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
    """The answer with a new judgement, to which what was spent in vain is added."""
    if record.answer is None:
        return None
    question = EvalQuestion(record.id, record.question, (), answer=record.gold_answer, answerable=record.answerable)
    answered = judged(question, record.answer, judge)
    before = record.answer.judgement
    if everything or before is None or answered.judgement is None:
        return answered
    return replace(answered, judgement=replace(answered.judgement, usage=before.usage + answered.judgement.usage))
