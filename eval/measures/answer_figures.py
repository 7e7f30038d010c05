"""The answers of a run counted: verdicts, refusals, citations, and what it all cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eval.measures.answers import gold_places
from eval.measures.judges.agreement import Agreement, of_run
from eval.records.answers import VERDICTS, AnswerRecord
from eval.records.runs import QuestionRecord
from hybrid_core.types.usage import Usage


@dataclass(frozen=True, slots=True)
class AnswerFigures:
    """``judge`` and ``rules`` count verdicts. Of the answers that the judge gave none, ``not_judged`` failed (the first
    one's ``failure``) and ``no_reference`` have nothing to be compared with.

    ``refused_right`` are questions that the library does not answer and that were refused, ``refused_wrong`` the
    others that were; ``failed`` are those whose model, or whose search, failed. ``on_gold`` counts citations of gold
    pages among the ``citations`` of questions with gold on pages; ``claims`` are all, ``supported`` those whose
    page bears them out. ``strict`` and ``lenient`` say how far judge and rules agree on the answers that were given.
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


def figures(records: Sequence[QuestionRecord]) -> AnswerFigures | None:
    """None for a run that asked for no answers."""
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
        judge={verdict: sum(one.verdict == verdict for one in judged) for verdict in VERDICTS},
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
    """For every citation whether it names a gold page."""
    wanted = gold_places(record)
    places = {source.number: (source.document, source.page) for source in answer.sources}
    return [places[number] in wanted for claim in answer.claims for number in claim.sources]
