"""Records that say less than they seem to: a question that failed, a search or an answer without its model."""

from __future__ import annotations

from dataclasses import dataclass

from eval.records.runs import QuestionRecord

_FAILED = "the model failed"  # as the engine's notes begin where it went on without


@dataclass(frozen=True, slots=True)
class Degraded:
    """Why, each "" where it is not so: ``error`` of the question, ``search`` without its model, ``answer`` that failed,
    ``judge`` that did.
    """

    error: str = ""
    search: str = ""
    answer: str = ""
    judge: str = ""

    def __bool__(self) -> bool:
        return bool(self.error or self.search or self.answer or self.judge)

    @property
    def by_model(self) -> bool:
        """Whether asking again may mend it."""
        return not self.error and bool(self.search or self.answer)


def degraded(record: QuestionRecord) -> Degraded:
    """What is missing of a record."""
    answer = record.answer
    failed = "" if answer is None or answer.status != "model_failed" else answer.why or "the model failed"
    judged = None if answer is None else answer.judgement
    unjudged = judged is not None and judged.verdict is None and bool(record.gold_answer) and not failed
    return Degraded(
        record.error,
        next((note for note in record.notes if note.startswith(_FAILED)), ""),
        "" if record.error else failed,
        judged.why if judged is not None and unjudged else "",
    )
