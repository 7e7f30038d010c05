"""The measures of one run, and tables of its answers: accuracy, citations, costs and judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eval.measures.answers import AnswerFigures, answer_figures
from eval.measures.retrieval import (
    FIRST,
    Loss,
    Values,
    losses,
    mean,
    per_question,
    summarise,
    summarise_kinds,
    summarise_trees,
)
from eval.records.runs import Degraded, QuestionRecord, Run, RunHead, degraded
from eval.report.table import NONE, Cell, Table, number, share, text
from hybrid_core.types.usage import Usage

HIT = f"hit@{FIRST}"


@dataclass(frozen=True, slots=True)
class Latency:
    """Times per question in milliseconds. ``steps`` are the medians of the individual steps."""

    median: float
    p95: float
    slowest: float
    steps: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of a run.

    ``attribution`` counts questions by the stage that lost them; it is empty if the ranker leaves no trace. ``failed``
    counts questions that raised an error. ``curve`` is hit@1, hit@2, …, empty without gold pages. ``times`` are each
    question's milliseconds.

    ``search_tokens`` and ``search_cost`` are sums over the questions, ``search_inputs`` each question's input tokens.
    ``answers`` is None if no answers were requested. ``kinds`` and ``kind_counts`` are by kind of question.
    ``unreasoned`` has a reason for each question that was searched without the requested model. ``degraded`` has the
    failures of each question with any.
    """

    run: str
    head: RunHead
    questions: int
    failed: int
    attribution: tuple[Loss, ...]
    measures: Values
    kinds: Mapping[str, Values]
    kind_counts: Mapping[str, int]
    trees: Mapping[str, Values]
    curve: tuple[float, ...]
    times: tuple[float, ...]
    latency: Latency | None
    search_tokens: int
    search_inputs: tuple[int, ...]
    search_cost: float
    answers: AnswerFigures | None
    unreasoned: tuple[str, ...] = ()
    degraded: tuple[Degraded, ...] = ()

    @property
    def tokens(self) -> int:
        """Return the tokens of searches and answers, without the judge."""
        used = self.answers.answer_usage if self.answers else Usage()
        return self.search_tokens + used.input_tokens + used.output_tokens

    @property
    def cost(self) -> float:
        """Return the cost of searches and answers, without the judge."""
        return self.search_cost + (self.answers.answer_usage.cost if self.answers else 0.0)


def summary(name: str, run: Run) -> Summary:
    """Compute the summary from the run's records. Raise PageIndexError if the extra ``eval`` is not installed."""
    records = run.questions
    values = per_question(records)
    times = tuple(_total(record.timings_ms) for record in records if record.timings_ms)
    kinds = summarise_kinds(records)
    lacking = list(map(degraded, records))
    return Summary(
        run=name,
        head=run.head,
        questions=len(records),
        failed=sum(bool(record.error) for record in records),
        attribution=() if _untraced(records, values) else losses(records),
        measures=summarise(records),
        kinds=kinds,
        kind_counts={kind: sum(record.kind == kind for record in records) for kind in kinds},
        trees=summarise_trees(run.trees),
        curve=_curve(records, values),
        times=times,
        latency=_latency(records, times) if times else None,
        search_tokens=sum(record.tokens for record in records),
        search_inputs=tuple(record.input_tokens for record in records),
        search_cost=sum(record.cost for record in records),
        answers=answer_figures(records),
        unreasoned=tuple(lack.search for lack in lacking if lack.search),
        degraded=tuple(filter(None, lacking)),
    )


def _untraced(records: Sequence[QuestionRecord], values: Mapping[str, Values]) -> bool:
    """Return whether a question without a hit has no recorded stage.

    A table of stages would then be incomplete.
    """
    return any(not record.stage and not values[record.id].get(HIT, 1.0) for record in records)


def _curve(records: Sequence[QuestionRecord], values: Mapping[str, Values]) -> tuple[float, ...]:
    """Return hit@1, hit@2, … from the reciprocal ranks of the questions.

    A question is a hit at k if its reciprocal rank is at least 1/k.
    """
    reciprocal_ranks = [each["mrr"] for each in values.values() if "mrr" in each]
    depth = max((len(record.pages) for record in records), default=0)
    return (
        tuple(mean([float(rank * k > 1 - 1e-6) for rank in reciprocal_ranks]) for k in range(1, depth + 1))
        if reciprocal_ranks
        else ()
    )


def _total(timings: Mapping[str, float]) -> float:
    return timings.get("total", sum(timings.values()))


def _latency(records: Sequence[QuestionRecord], times: Sequence[float]) -> Latency:
    steps = dict.fromkeys(step for record in records for step in record.timings_ms if step != "total")
    medians = {
        step: quantile([record.timings_ms[step] for record in records if step in record.timings_ms], 0.5)
        for step in steps
    }
    return Latency(quantile(times, 0.5), quantile(times, 0.95), max(times), medians)


def quantile(values: Sequence[float], at: float) -> float:
    """Return a quantile by linear interpolation, as numpy does by default."""
    ordered = sorted(values)
    place = at * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def answer_tables(summaries: Sequence[Summary]) -> list[Table]:
    """Return the table of answers, agreement of judge and rules, citations and cost; no rows if no run has answers."""
    answered = [(run, run.answers) for run in summaries if run.answers is not None]
    return [_answers(answered), _agreements(answered), _citations(answered), _costs(answered)] if answered else []


def judges(summaries: Sequence[Summary]) -> Table:
    """Return the table of the judges and their prompts."""
    rows = [
        (text(run.run), text(run.head.judge["model"]), text(run.head.judge["prompt"]), text(run.head.judge["text"]))
        for run in summaries
        if run.head.judge
    ]
    return Table("How the judge was asked", ("run", "judge", "prompt", "its text"), tuple(rows))


def missing(summaries: Sequence[Summary]) -> list[str]:
    """Return notes on failures of models. If there are several runs, each note names its runs."""
    runs_by_note: dict[str, list[str]] = {}
    for run in summaries:
        for note in _missing(run):
            runs_by_note.setdefault(note, []).append(run.run)
    several = len(summaries) > 1
    return [f"{', '.join(runs)}: {note}" if several else note for note, runs in runs_by_note.items()]


def _unreasoned(run: Summary) -> list[str]:
    """Return a note, in a list, if a requested model was not used in all searches.

    The measures are then partly or wholly those of the effort fast.
    """
    effort = run.head.options.get("effort", "fast")
    if effort != "fast" and not run.head.model and not run.search_tokens:
        return [f"No language model is configured (llm_model): effort {effort} worked like the effort fast."]
    if not run.unreasoned:
        return []
    count = len(run.unreasoned)
    message = f"The model failed in {count} of {run.questions} searches, which went on without it"
    return [f"{message}; the first: {run.unreasoned[0]}"]


def _missing(run: Summary) -> list[str]:
    figures, notes = run.answers, _unreasoned(run)
    if figures is None:
        return notes
    if not run.head.judge:
        notes.append(
            "--judge-model is not set, so answers are judged by rules only, and the measures strict and lenient are "
            "missing."
        )
    if figures.not_judged:
        notes.append(
            f"{figures.not_judged} answers were not judged and are left out of the means; the first: {figures.failure}"
        )
    if figures.no_reference:
        notes.append(f"{figures.no_reference} questions have no reference answer: their answers cannot be judged.")
    if figures.failed:
        notes.append(f"{figures.failed} answers failed and count as wrong.")
    return notes


Held = Sequence[tuple[Summary, AnswerFigures]]


def _answers(answered: Held) -> Table:
    rows = []
    for run, figures in answered:
        values = run.measures
        rows.append((
            text(run.run), number(figures.asked),
            share(values.get("answers-strict")), share(values.get("answers-lenient")),
            share(values.get("answers-rules")), share(values.get("answers-rules-lenient")),
            number(figures.not_judged if run.head.judge else None),
            _count_cell(figures.refused_right, figures.unanswerable),
            _count_cell(figures.refused_wrong, figures.asked - figures.unanswerable), number(figures.failed),
        ))  # fmt: skip
    columns = (
        "run", "questions", "strict", "lenient", "rules strict", "rules lenient", "not judged", "refused rightly",
        "refused wrongly", "failed",
    )  # fmt: skip
    note = (
        "Strict: the same fact, the number with its unit and rounding. Lenient: also right but incomplete, coarser, "
        'or with more. Refused: "not in the library". Rules compare numbers, yes and no, and words.'
    )
    return Table("Answers", columns, tuple(rows), note)


def _agreements(answered: Held) -> Table:
    rows = [
        (
            text(run.run), text(run.head.judge["model"]), text(name), number(agreed.answers), share(agreed.accuracy),
            number(agreed.kappa, 2), number(agreed.first), number(agreed.second),
        )
        for run, figures in answered
        if run.head.judge
        for name, agreed in (("strict", figures.strict), ("lenient", figures.lenient))
    ]  # fmt: skip
    columns = ("run", "judge", "as", "answers", "agree", "kappa", "right by judge alone", "right by rules alone")
    note = "Answers that were given and that both judged; refusals say nothing of either. Kappa is Cohen's."
    return Table("Judge and rules", columns, tuple(rows), note if rows else "")


def _citations(answered: Held) -> Table:
    rows = [
        (
            text(run.run), number(figures.answered), _count_cell(figures.supported, figures.claims),
            share(run.measures.get("citations-supported")), share(run.measures.get("answers-supported")),
            _count_cell(figures.on_gold, figures.citations), share(run.measures.get("citations-gold")),
        )
        for run, figures in answered
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


def _costs(answered: Held) -> Table:
    rows = []
    for run, figures in answered:
        count, search = run.questions, run.search_cost
        rows.append((
            text(run.run), number(run.search_tokens / count), *_each(figures.answer_usage, count),
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


def _count_cell(count: int, total: int) -> Cell:
    return Cell(f"{count} of {total}", count / total) if total else NONE
