"""What a question's answer counts for: accuracy by the judge and by rules, abstention, citations."""

from __future__ import annotations

from eval.records.answers import Verdict
from eval.records.runs import QuestionRecord

Values = dict[str, float]


def answer_values(record: QuestionRecord) -> Values:
    """Measures of one answer, higher is better; empty where none was asked for.

    ``answers-strict`` and ``answers-lenient``: the judge's verdict is «right», or at least «partly»; not there where it
    gave none, which ``answers-judged`` counts as zero. ``answers-rules`` and ``answers-rules-lenient``: the same by
    rules. ``answers-given`` (questions that the library answers): an answer came; ``answers-refused`` (the others): it
    was said that the library does not hold it. ``citations-supported``: the share of claims whose numbers, quotations
    and words stand on the pages they cite; ``answers-supported``: all do. ``citations-gold``: the share of citations
    that name a gold page, 0 without any.
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
        if wanted := gold_places(record):
            places = {source.number: (source.document, source.page) for source in answer.sources}
            cited = [places[number] in wanted for claim in answer.claims for number in claim.sources]
            values["citations-gold"] = sum(cited) / len(cited) if cited else 0.0
    return values


def gold_places(record: QuestionRecord) -> set[tuple[str, int]]:
    """(document, page) of all pages that count as gold."""
    return {(g.document, page) for g in record.gold if g.page is not None for page in (g.page, *g.also)}


def _accuracy(verdict: Verdict | None, strict: str, lenient: str) -> Values:
    if verdict is None:
        return {}
    return {strict: float(verdict == "right"), lenient: float(verdict != "wrong")}
