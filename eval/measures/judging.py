"""Judge answers by a model, and measure the agreement of judges with human labels.

The model sees the question, the reference answer and the answer, and nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from eval.measures.answers import Agreement, agreement
from eval.measures.rules import CITATION, judge_by_rules
from eval.records.progress import Progress
from eval.records.questions import Judgement, LabelledAnswer, Verdict
from hybrid_core.errors import ChatError
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.prompts import prompt
from hybrid_core.types.usage import Usage
from hybrid_pageindex import Settings
from hybrid_pageindex.engine.models.models import Models

if TYPE_CHECKING:
    from hybrid_core.llm.client.chat_model import ChatModel


PROMPT = "judge-answer"
NOT_HELD = "The documents do not hold the answer."
_REPLY = 1000  # maximum tokens of a reply; reasoning models need some


class JudgeReply(BaseModel):
    """The reply to the prompt ``judge-answer``."""

    reasoning: str
    verdict: Verdict


class Judge:
    """A judge of answers that uses a language model. Close it at the end."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def about(self) -> Mapping[str, Any]:
        """Return {model, prompt, text}: the model, the prompt's name and version, and its messages."""
        written = prompt(PROMPT)
        return {
            "model": self._model.name,
            "prompt": written.id,
            "text": "\n\n".join(f"=== {role}\n{text}" for role, text in written.turns),
        }

    def judge(self, question: str, reference: str, answer: str) -> Judgement:
        """Return the verdict on an answer. If the model fails, the verdict is None and ``why`` has the reason."""
        written = prompt(PROMPT)
        plain_answer = CITATION.sub("", answer)
        messages = written.messages({"question": question, "reference": reference, "answer": plain_answer})
        try:
            reply = self._model.ask(
                messages, JudgeReply, prompt=written.id, max_tokens=_REPLY, scope=CallScope(patient=True)
            )
        except ChatError as error:
            return Judgement(None, f"not judged: {error}", error.usage)
        assert reply.value is not None
        return Judgement(reply.value.verdict, reply.value.reasoning, reply.usage)

    def close(self) -> None:
        self._model.close()


def load_judge(name: str, settings: Settings) -> Judge | None:
    """Return a judge that uses the model ``name`` at the endpoint of the settings' language model.

    With "" it uses the settings' model itself. Return None if no model is configured. A named judge is tested with one
    call. Raise UsageError or ChatError if it cannot be used.
    """
    models = Models(replace(settings, llm_model=name or settings.llm_model), None)
    if name:
        models.check("llm")
    model = models.get("llm")
    return None if model is None else Judge(model)


@dataclass(frozen=True, slots=True)
class JudgedLabel:
    """A labelled answer with the verdicts of the rules and of a model (None without a model)."""

    labelled: LabelledAnswer
    by_rules: Verdict
    judgement: Judgement | None


@dataclass(frozen=True, slots=True)
class JudgeFigures:
    """The agreement of a judge with human labels.

    ``strict`` and ``lenient`` compare the labels (first judge) with the verdicts (second judge). ``failure`` is the
    reason why the first missing verdict is missing.
    """

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
    """Judge every labelled answer, or a random ``sample`` of them, by rules and by a model."""
    if 0 < sample < len(answers):
        chosen = sorted(random.Random(seed).sample(range(len(answers)), sample))
        answers = [answers[at] for at in chosen]
    results = []
    with progress.bar("labelled answers", len(answers)) as step:
        for labelled in answers:
            by_rules = judge_by_rules(labelled.question, labelled.reference, labelled.answer)
            by_judge = judge.judge(labelled.question, labelled.reference, labelled.answer) if judge else None
            results.append(JudgedLabel(labelled, by_rules, by_judge))
            step()
    return results


def judge_figures(judged: Sequence[JudgedLabel], name: str) -> list[JudgeFigures]:
    """Return how the rules agree with human labels and, if a model judged, how the model does.

    ``name`` is the name of the model.
    """
    rules = [(result.labelled.label, result.by_rules) for result in judged]
    figures = [_judge_figures("rules", len(judged), rules, "", Usage())]
    judgements = [(result.labelled.label, result.judgement) for result in judged if result.judgement]
    if judgements:
        pairs = [(label, judgement.verdict) for label, judgement in judgements if judgement.verdict]
        failure = next((judgement.why for _, judgement in judgements if not judgement.verdict), "")
        figures.append(
            _judge_figures(name, len(judgements), pairs, failure, sum((j.usage for _, j in judgements), Usage()))
        )
    return figures


def _judge_figures(
    judge: str, answers: int, pairs: Sequence[tuple[Verdict, Verdict]], failure: str, usage: Usage
) -> JudgeFigures:
    strict, lenient = agreement(pairs, strict=True), agreement(pairs, strict=False)
    return JudgeFigures(judge, answers, answers - len(pairs), failure, strict, lenient, usage)
