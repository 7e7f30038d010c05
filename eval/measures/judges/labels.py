"""How far the judges agree with people, on answers that people have labelled."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from eval.measures.judges.agreement import Agreement, agreement
from eval.measures.judges.model import Judge
from eval.measures.judges.rules import judge_by_rules
from eval.records.answers import Judgement, Verdict
from eval.records.progress import Progress
from eval.records.questions import LabelledAnswer
from hybrid_core.types.usage import Usage


@dataclass(frozen=True, slots=True)
class JudgedLabel:
    """A labelled answer with both verdicts; ``judgement`` is None where no model judged."""

    labelled: LabelledAnswer
    by_rules: Verdict
    judgement: Judgement | None


@dataclass(frozen=True, slots=True)
class JudgeFigures:
    """One judge against the labels, which come first in ``strict`` and ``lenient``. ``failure`` is the first one's."""

    judge: str
    answers: int
    not_judged: int
    failure: str
    strict: Agreement
    lenient: Agreement
    usage: Usage


def judge_labelled(
    answers: Sequence[LabelledAnswer], judge: Judge | None, progress: Progress, *, sample: int = 0, seed: int = 0
) -> list[JudgedLabel]:
    """Every labelled answer, or ``sample`` of them, by rules and by the judge."""
    if 0 < sample < len(answers):
        chosen = sorted(random.Random(seed).sample(range(len(answers)), sample))
        answers = [answers[at] for at in chosen]
    found = []
    with progress.bar("labelled answers", len(answers)) as step:
        for one in answers:
            by_rules = judge_by_rules(one.question, one.reference, one.answer)
            by_judge = judge.judge(one.question, one.reference, one.answer) if judge else None
            found.append(JudgedLabel(one, by_rules, by_judge))
            step()
    return found


def judge_figures(judged: Sequence[JudgedLabel], name: str) -> list[JudgeFigures]:
    """The rules, and the judge of that name where there was one."""
    rules = [(one.labelled.label, one.by_rules) for one in judged]
    found = [_figures("rules", len(judged), rules, "", Usage())]
    said = [(one.labelled.label, one.judgement) for one in judged if one.judgement]
    if said:
        pairs = [(label, judgement.verdict) for label, judgement in said if judgement.verdict]
        failure = next((judgement.why for _, judgement in said if not judgement.verdict), "")
        found.append(_figures(name, len(said), pairs, failure, sum((j.usage for _, j in said), Usage())))
    return found


def _figures(
    judge: str, answers: int, pairs: Sequence[tuple[Verdict, Verdict]], failure: str, usage: Usage
) -> JudgeFigures:
    strict, lenient = agreement(pairs, strict=True), agreement(pairs, strict=False)
    return JudgeFigures(judge, answers, answers - len(pairs), failure, strict, lenient, usage)
