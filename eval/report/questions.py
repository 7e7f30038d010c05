"""The list of questions on the HTML page, and helpers to write HTML elements.

A question is shown with its gold evidence, results and receipts, and the stage that lost the page.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from eval.measures.answers import gold_places
from eval.measures.retrieval import FIRST
from eval.records.questions import AnswerRecord
from eval.records.runs import STAGES, GoldPlace, QuestionRecord, Run


class Markup(str):
    """HTML that is already escaped."""

    __slots__ = ()


def element(name: str, *inside: str, **attributes: str) -> Markup:
    """Return an HTML element ``<name attribute="…">inside</name>``.

    In attribute names, a trailing ``_`` is removed and each other ``_`` becomes ``-``.
    """
    named = "".join(f' {key.rstrip("_").replace("_", "-")}="{html.escape(value)}"' for key, value in attributes.items())
    return Markup(f"<{name}{named}>{join(inside)}</{name}>")


def join(parts: Iterable[str]) -> Markup:
    """Join the parts as HTML. Escape those that are not Markup."""
    return Markup("".join(part if isinstance(part, Markup) else html.escape(part) for part in parts))


_RECEIPTS = 5  # shown; the run's folder contains the others
_SNIPPET = 320


def questions(runs: Sequence[Run], names: Sequence[str]) -> Markup:
    """Return the list of questions, with a filter by the stage where they ended; empty without questions."""
    by_question: dict[str, list[tuple[str, QuestionRecord]]] = {}
    for run, name in zip(runs, names, strict=True):
        for record in run.questions:
            by_question.setdefault(record.id, []).append((name, record))
    if not by_question:
        return Markup("")
    ended = {_ends(record) for records in by_question.values() for _, record in records}
    choices = [element("option", "all questions", value="")]
    choices += [element("option", end, value=end) for end in sorted(ended, key=_order)]
    chooser = element("label", "Show", element("select", *choices, id="filter"), class_="filter")
    return join(
        [
            element("h2", "Questions"),
            element("p", "Each opens to its gold, its results and their receipts.", class_="soft"),
            chooser,
            *(_question(records, len(runs) > 1) for records in by_question.values()),
        ]
    )


def _question(records: Sequence[tuple[str, QuestionRecord]], several: bool) -> Markup:
    first = records[0][1]
    ends = [
        element("span", f"{name}: {_ends(record)}" if several else _ends(record), class_=_colour(record))
        for name, record in records
    ]
    head = element("summary", element("span", first.question), element("span", *ends, class_="ends"))
    about = {"id": first.id, "kind": first.kind, "group": first.group, "gold answer": first.gold_answer}
    about["asked of"] = "the whole library" if first.given is None else ", ".join(first.given)
    inside = [_list({name: value for name, value in about.items() if value}), element("h3", "Gold"), _gold(first)]
    for name, record in records:
        inside += [element("h3", f"Results of {name}" if several else "Results"), _came(record)]
    return element(
        "details", head, element("div", *inside, class_="inside"), class_="question",
        data_ends="|".join(dict.fromkeys(_ends(record) for _, record in records)),
    )  # fmt: skip


def _gold(record: QuestionRecord) -> Markup:
    if not record.gold:
        return element("p", "The library does not hold the answer." if not record.answerable else "None.")
    return _grid(("document", "page", "section", "text"), [(_gold_cells(place), "") for place in record.gold])


def _gold_cells(place: GoldPlace) -> list[str]:
    also = f" (also {', '.join(map(str, place.also))})" if place.also else ""
    page = "not placed" if place.page is None else f"{place.page}{also}"
    return [place.document, page, place.section, _cut(place.text)]


def _came(record: QuestionRecord) -> Markup:
    gold_pages = gold_places(record)
    facts: dict[str, Any] = {"ended": _ends(record)}
    if record.error:
        facts["error"] = record.error
    if record.evidence:
        facts["evidence"] = f"{record.evidence[0]} ({record.evidence[1]:.2f})"
    if record.answer is not None:
        facts |= _answer(record.answer)
    if record.notes:
        facts["notes"] = "; ".join(record.notes)
    if record.timings_ms:
        facts["milliseconds"] = record.timings_ms
    rows = []
    for rank, page in enumerate(record.pages, 1):
        gold = (page.document, page.page) in gold_pages
        nodes = f" ({_span(*page.node)})" if page.node else ""
        row = [
            f"{rank} gold" if gold else str(rank), page.document, str(page.page), f"{page.score:.3f}",
            f"{page.section}{nodes}", _cut(page.text),
        ]  # fmt: skip
        rows.append((row, "gold" if gold else ""))
    parts = [_list(facts)]
    parts.append(
        _grid(("rank", "document", "page", "score", "section", "snippet"), rows)
        if rows
        else element("p", "No results.")
    )
    for rank, receipt in enumerate(record.receipts[:_RECEIPTS], 1):
        parts.append(element("details", element("summary", f"Receipt of result {rank}"), _list(receipt)))
    if len(record.receipts) > _RECEIPTS:
        message = f"The receipts of the other {len(record.receipts) - _RECEIPTS} results are in the run's folder."
        parts.append(element("p", message, class_="soft"))
    return join(parts)


def _answer(answer: AnswerRecord) -> dict[str, Any]:
    facts: dict[str, Any] = {"answer": answer.text or f"{answer.status}: {answer.why}"}
    if answer.judgement is not None:
        facts["judge"] = f"{answer.judgement.verdict or 'not judged'}: {answer.judgement.why}"
    if answer.by_rules is not None:
        facts["by rules"] = answer.by_rules
    facts["sources"] = "; ".join(f"{s.number}: {s.document}, page {s.page}" for s in answer.sources) or "none"
    if unsupported := [f"{claim.text} ({claim.why})" for claim in answer.claims if not claim.supported]:
        facts["unsupported"] = "; ".join(unsupported)
    return facts


def _span(first: int, last: int) -> str:
    return f"page {first}" if first == last else f"pages {first}–{last}"


def _ends(record: QuestionRecord) -> str:
    """Return the stage at which a question ended, or a description if the ranker leaves no trace."""
    if record.stage:
        return record.stage
    if record.error:
        return "failed"
    if not record.answerable:
        return f"unanswerable, evidence {record.evidence[0] if record.evidence else 'not judged'}"
    return f"not among the first {FIRST}"


def _colour(record: QuestionRecord) -> str:
    return "hit" if record.stage == "hit" else "miss" if record.answerable or record.error else "soft"


def _order(end: str) -> tuple[int, str]:
    return (STAGES.index(end) if end in STAGES else len(STAGES)), end


def _cut(text: str) -> str:
    return text if len(text) <= _SNIPPET else f"{text[:_SNIPPET]}…"


def _list(facts: Mapping[str, Any]) -> Markup:
    return element("dl", *(part for name, fact in facts.items() for part in (element("dt", name), _fact(fact))))


def _fact(fact: Any) -> Markup:
    return element("dd", _fact_text(fact))


def _fact_text(fact: Any) -> str:
    if isinstance(fact, Mapping):
        return ", ".join(f"{name} {_fact_text(inner)}" for name, inner in fact.items()) or "none"
    if isinstance(fact, list | tuple):
        return " › ".join(_fact_text(inner) for inner in fact) or "none"
    if isinstance(fact, float):
        return f"{fact:.3f}"
    return "–" if fact is None else str(fact)


def _grid(columns: Sequence[str], rows: Sequence[tuple[Sequence[str], str]]) -> Markup:
    """Return a table. Each row is given as (cells, CSS class of the row)."""
    head = element("thead", element("tr", *(element("th", name, scope="col") for name in columns)))
    body = [element("tr", *(element("td", cell) for cell in cells), class_=kind) for cells, kind in rows]
    return element("div", element("table", head, element("tbody", *body)), class_="wide")
