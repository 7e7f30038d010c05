"""How far two judges agree: shares, and Cohen's kappa, which takes chance out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eval.records.answers import Verdict
from eval.records.runs import QuestionRecord


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two judges on the same ``answers``: both say yes, only the first, only the second, neither.

    ``kappa`` (Cohen 1960) is (po - pe) / (1 - pe): 1 for agreement, 0 for what chance would give; None where chance
    alone agrees always, since both say one thing of every answer.
    """

    both: int
    first: int
    second: int
    neither: int

    @property
    def answers(self) -> int:
        return self.both + self.first + self.second + self.neither

    @property
    def accuracy(self) -> float | None:
        """The share on which they agree; None without answers."""
        return (self.both + self.neither) / self.answers if self.answers else None

    @property
    def kappa(self) -> float | None:
        if not self.answers:
            return None
        one, other = (self.both + self.first) / self.answers, (self.both + self.second) / self.answers
        chance = one * other + (1 - one) * (1 - other)
        seen = (self.both + self.neither) / self.answers
        return None if chance == 1 else (seen - chance) / (1 - chance)


def agreement(pairs: Sequence[tuple[Verdict, Verdict]], *, strict: bool) -> Agreement:
    """Over verdicts of two judges; ``strict``: only «right» is a yes, otherwise «partly» too."""
    yes = ("right",) if strict else ("right", "partly")
    counted = [(one in yes, other in yes) for one, other in pairs]
    return Agreement(*(counted.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False))))


def of_run(records: Sequence[QuestionRecord], *, strict: bool) -> Agreement:
    """Judge and rules on the answers of a run that both judged and that are answers: refusals say nothing of either."""
    return agreement(
        [
            (answer.judgement.verdict, answer.by_rules)
            for record in records
            if (answer := record.answer) and answer.status == "answered" and answer.by_rules
            if answer.judgement and answer.judgement.verdict
        ],
        strict=strict,
    )
