"""Measures of answers: accuracy, abstention and citations, agreement of judges, and the totals of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eval.records.questions import VERDICTS, AnswerRecord, Verdict
from eval.records.runs import QuestionRecord
from hybrid_core.types.usage import Usage

Values = dict[str, float]


def answer_values(record: QuestionRecord) -> Values:
    """Return the measures of one answer, higher is better, {} without an answer.

    - ``answers-strict`` and ``answers-lenient``: the judge's verdict is "right", or at least "partly". Both are missing
      without a verdict.
    - ``answers-judged``: the judge gave a verdict.
    - ``answers-rules`` and ``answers-rules-lenient``: the verdict of rules is "right", or at least "partly".
    - ``answers-given`` (answerable questions only): an answer was given.
    - ``answers-refused`` (other questions): the answer says that the library does not contain it.
    - ``citations-supported``: the share of claims whose numbers, quotations and words are on the cited pages.
    - ``answers-supported``: all claims are supported.
    - ``citations-gold``: the share of citations that name gold pages, 0 without citations.
    """
    answer = record.answer
    if answer is None:
        return {}
    values: Values = {}
    comparable = bool(record.gold_answer) or not record.answerable
    if answer.judgement is not None and comparable:
        values["answers-judged"] = float(answer.judgement.verdict is not None)
        values |= _accuracy(answer.judgement.verdict, "answers-strict", "answers-lenient")
    values |= _accuracy(answer.by_rules, "answers-rules", "answers-rules-lenient")
    if record.answerable:
        values["answers-given"] = float(answer.status == "answered")
    else:
        values["answers-refused"] = float(answer.status == "not_in_library")
    if answer.status == "answered":
        supported = [claim.supported for claim in answer.claims]
        values["citations-supported"] = sum(supported) / len(supported) if supported else 0.0
        values["answers-supported"] = float(bool(supported) and all(supported))
        if gold := gold_places(record):
            places = {source.number: (source.document, source.page) for source in answer.sources}
            cited = [places[number] in gold for claim in answer.claims for number in claim.sources]
            values["citations-gold"] = sum(cited) / len(cited) if cited else 0.0
    return values


def gold_places(record: QuestionRecord) -> set[tuple[str, int]]:
    """Return (document, page) of all pages that count as gold evidence."""
    return {(g.document, page) for g in record.gold if g.page is not None for page in (g.page, *g.also)}


def _accuracy(verdict: Verdict | None, strict: str, lenient: str) -> Values:
    if verdict is None:
        return {}
    return {strict: float(verdict == "right"), lenient: float(verdict != "wrong")}


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of two judges on the same ``answers``.

    The fields count the answers to which both say yes, only the first, only the second, or neither. ``kappa`` (Cohen
    1960) is (po - pe) / (1 - pe), 1 for full agreement and 0 for chance. It is None if both always give the same reply.
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
        """Return the share of answers on which both judges agree, None without answers."""
        return (self.both + self.neither) / self.answers if self.answers else None

    @property
    def kappa(self) -> float | None:
        if not self.answers:
            return None
        first_share, second_share = (self.both + self.first) / self.answers, (self.both + self.second) / self.answers
        chance = first_share * second_share + (1 - first_share) * (1 - second_share)
        seen = (self.both + self.neither) / self.answers
        return None if chance == 1 else (seen - chance) / (1 - chance)


def agreement(pairs: Sequence[tuple[Verdict, Verdict]], *, strict: bool) -> Agreement:
    """Return the agreement of two judges, from pairs of their verdicts.

    With ``strict`` only "right" counts as yes, otherwise "partly" too.
    """
    yes = ("right",) if strict else ("right", "partly")
    counted = [(first in yes, second in yes) for first, second in pairs]
    return Agreement(*(counted.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False))))


def of_run(records: Sequence[QuestionRecord], *, strict: bool) -> Agreement:
    """Return the agreement of the judging model and the rules on the answers of a run.

    Refusals are left out.
    """
    return agreement(
        [
            (answer.judgement.verdict, answer.by_rules)
            for record in records
            if (answer := record.answer) and answer.status == "answered" and answer.by_rules
            if answer.judgement and answer.judgement.verdict
        ],
        strict=strict,
    )


@dataclass(frozen=True, slots=True)
class AnswerFigures:
    """The totals of the answers of a run.

    ``judge`` and ``rules`` count verdicts. ``not_judged`` counts answers for which the judge failed, the first with the
    reason ``failure``; ``no_reference`` counts those without a reference answer. ``refused_right`` counts refused
    unanswerable questions, ``refused_wrong`` refused answerable ones. ``failed`` counts questions whose model or search
    failed. ``on_gold`` counts citations of gold pages among the ``citations`` of questions with gold pages. ``claims``
    counts all claims, ``supported`` those that the cited page supports. ``strict`` and ``lenient`` are the agreement of
    judge and rules on given answers.
    """

    asked: int
    answered: int
    judge: Mapping[str, int]
    rules: Mapping[str, int]
    not_judged: int
    failure: str
    no_reference: int
    refused_right: int
    refused_wrong: int
    unanswerable: int
    failed: int
    claims: int
    supported: int
    citations: int
    on_gold: int
    strict: Agreement
    lenient: Agreement
    answer_usage: Usage
    judge_usage: Usage


def answer_figures(records: Sequence[QuestionRecord]) -> AnswerFigures | None:
    """Return the totals of the answers of a run, None for a run without answers."""
    pairs = [(record, record.answer) for record in records if record.answer is not None]
    if not pairs:
        return None
    comparable = [a for record, a in pairs if record.gold_answer or not record.answerable]
    judged = [a.judgement for a in comparable if a.judgement]
    unjudged = [judgement.why for judgement in judged if judgement.verdict is None]
    refused = [record.answerable for record, a in pairs if a.status == "not_in_library"]
    cited = [place for record, a in pairs if gold_places(record) for place in _cited(record, a)]
    claims = [claim for _, a in pairs for claim in a.claims]
    return AnswerFigures(
        asked=len(pairs),
        answered=sum(a.status == "answered" for _, a in pairs),
        judge={verdict: [j.verdict for j in judged].count(verdict) for verdict in VERDICTS},
        rules={verdict: sum(a.by_rules == verdict for _, a in pairs) for verdict in VERDICTS},
        not_judged=len(unjudged),
        failure=unjudged[0] if unjudged else "",
        no_reference=len(pairs) - len(comparable),
        refused_right=refused.count(False),
        refused_wrong=refused.count(True),
        unanswerable=sum(not record.answerable for record, _ in pairs),
        failed=sum(a.status in ("no_model", "model_failed") for _, a in pairs),
        claims=len(claims),
        supported=sum(claim.supported for claim in claims),
        citations=len(cited),
        on_gold=sum(cited),
        strict=of_run(records, strict=True),
        lenient=of_run(records, strict=False),
        answer_usage=sum((a.usage for _, a in pairs), Usage()),
        judge_usage=sum((a.judgement.usage for _, a in pairs if a.judgement), Usage()),
    )


def _cited(record: QuestionRecord, answer: AnswerRecord) -> list[bool]:
    """Return for every citation whether it names a gold page."""
    gold = gold_places(record)
    places = {source.number: (source.document, source.page) for source in answer.sources}
    return [places[number] in gold for claim in answer.claims for number in claim.sources]
