"""What the report says of answers: accuracy, citations, cost, and how the judge was asked."""

from __future__ import annotations

from collections.abc import Sequence

from eval.measures.answer_figures import AnswerFigures
from eval.report.summary import Summary
from eval.report.table import NONE, Cell, Table, number, share, text
from hybrid_core.types.usage import Usage


def answer_tables(summaries: Sequence[Summary]) -> list[Table]:
    """Answers, how far judge and rules agree on them, citations, and cost; none where no run asked for answers."""
    held = [(one, one.answers) for one in summaries if one.answers is not None]
    return [_answers(held), _agreements(held), _citations(held), _costs(held)] if held else []


def judges(summaries: Sequence[Summary]) -> Table:
    """Who judged, and how it was asked."""
    rows = [
        (text(one.run), text(one.head.judge["model"]), text(one.head.judge["prompt"]), text(one.head.judge["text"]))
        for one in summaries
        if one.head.judge
    ]
    return Table("How the judge was asked", ("run", "judge", "prompt", "its text"), tuple(rows))


def missing(summaries: Sequence[Summary]) -> list[str]:
    """What a reader of the figures must know of the models; behind the runs' names where there are several."""
    said: dict[str, list[str]] = {}
    for one in summaries:
        for note in _missing(one):
            said.setdefault(note, []).append(one.run)
    several = len(summaries) > 1
    return [f"{', '.join(runs)}: {note}" if several else note for note, runs in said.items()]


def _unreasoned(one: Summary) -> list[str]:
    """Where the effort asked for a model, and the figures are those of effort fast."""
    effort = one.head.options.get("effort", "fast")
    if effort != "fast" and not one.head.model and not one.search_tokens:
        return [f"No language model is configured (llm_model): effort {effort} did what fast does."]
    if not one.unreasoned:
        return []
    count = len(one.unreasoned)
    told = f"The model failed in {count} of {one.questions} searches, which went on without it"
    return [f"{told}; the first: {one.unreasoned[0]}"]


def _missing(one: Summary) -> list[str]:
    figures, notes = one.answers, _unreasoned(one)
    if figures is None:
        return notes
    if not one.head.judge:
        notes.append(
            "No judge was named (--judge-model): strict and lenient are not measured, only what rules can tell."
        )
    if figures.not_judged:
        notes.append(f"{figures.not_judged} answers were not judged and count in no mean; the first: {figures.failure}")
    if figures.no_reference:
        notes.append(f"{figures.no_reference} questions have no reference answer: their answers cannot be judged.")
    if figures.failed:
        notes.append(f"{figures.failed} answers failed and count as wrong.")
    return notes


Held = Sequence[tuple[Summary, AnswerFigures]]


def _answers(held: Held) -> Table:
    rows = []
    for one, figures in held:
        values = one.measures
        rows.append((
            text(one.run), number(figures.asked),
            share(values.get("answers-strict")), share(values.get("answers-lenient")),
            share(values.get("answers-rules")), share(values.get("answers-rules-lenient")),
            number(figures.not_judged if one.head.judge else None),
            _of(figures.refused_right, figures.unanswerable),
            _of(figures.refused_wrong, figures.asked - figures.unanswerable), number(figures.failed),
        ))  # fmt: skip
    columns = (
        "run", "questions", "strict", "lenient", "rules strict", "rules lenient", "not judged", "refused rightly",
        "refused wrongly", "failed",
    )  # fmt: skip
    note = (
        "Strict: the same fact, the number with its unit and rounding. Lenient: also right but incomplete, coarser, "
        "or with more. Refused: «not in the library». Rules compare numbers, yes and no, and words."
    )
    return Table("Answers", columns, tuple(rows), note)


def _agreements(held: Held) -> Table:
    rows = [
        (
            text(one.run), text(one.head.judge["model"]), text(name), number(agreed.answers), share(agreed.accuracy),
            number(agreed.kappa, 2), number(agreed.first), number(agreed.second),
        )
        for one, figures in held
        if one.head.judge
        for name, agreed in (("strict", figures.strict), ("lenient", figures.lenient))
    ]  # fmt: skip
    columns = ("run", "judge", "as", "answers", "agree", "kappa", "right by judge alone", "right by rules alone")
    note = "Answers that were given and that both judged; refusals say nothing of either. Kappa is Cohen's."
    return Table("Judge and rules", columns, tuple(rows), note if rows else "")


def _citations(held: Held) -> Table:
    rows = [
        (
            text(one.run), number(figures.answered), _of(figures.supported, figures.claims),
            share(one.measures.get("citations-supported")), share(one.measures.get("answers-supported")),
            _of(figures.on_gold, figures.citations), share(one.measures.get("citations-gold")),
        )
        for one, figures in held
    ]  # fmt: skip
    columns = (
        "run", "answers", "claims supported", "mean of answers", "answers with all supported",
        "citations of gold pages", "mean of answers",
    )  # fmt: skip
    note = (
        "A claim is supported where its numbers, quotations and enough of its words stand on the pages it cites; "
        "a calculated figure stands on none."
    )
    return Table("Citations", columns, tuple(rows), note)


def _costs(held: Held) -> Table:
    rows = []
    for one, figures in held:
        count, search = one.questions, one.search_cost
        rows.append((
            text(one.run), number(one.search_tokens / count), *_each(figures.answer_usage, count),
            *_each(figures.judge_usage, count), number(search / count, 5), number(figures.answer_usage.cost / count, 5),
            number(figures.judge_usage.cost / count, 5),
        ))  # fmt: skip
    columns = (
        "run", "search tokens", "answer: in", "out", "judge: in", "out", "cost of search", "of answer", "of judge",
    )  # fmt: skip
    return Table(
        "Cost of a question", columns, tuple(rows), "Means over the questions; tokens as the endpoint counts them."
    )


def _each(usage: Usage, count: int) -> tuple[Cell, Cell]:
    return number(usage.input_tokens / count), number(usage.output_tokens / count)


def _of(count: int, total: int) -> Cell:
    return Cell(f"{count} of {total}", count / total) if total else NONE
