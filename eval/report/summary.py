"""The figures of one run: what every form of the report shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eval.measures.answer_figures import AnswerFigures, figures
from eval.measures.attribution import FIRST, Loss, losses
from eval.measures.retrieval import Values, mean, per_question, summarise, summarise_kinds, summarise_trees
from eval.records.degraded import Degraded, degraded
from eval.records.runs import QuestionRecord, Run, RunHead
from hybrid_core.types.usage import Usage

HIT = f"hit@{FIRST}"


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds for one question; ``steps`` are the medians of what the time went into."""

    median: float
    p95: float
    slowest: float
    steps: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Summary:
    """``attribution`` is empty where the ranker leaves no trace. ``failed`` counts questions that raised an error.

    ``curve`` is hit@1, hit@2, …, empty without gold on pages. ``times`` are each question's milliseconds.
    ``search_tokens`` and ``search_cost`` are sums over the questions, ``search_inputs`` each question's input
    tokens; ``answers`` is None where none were asked for.
    ``kinds`` and ``kind_counts`` are by kind of question. ``unreasoned`` says for each question whose
    search went on without its model why; ``degraded`` holds what records lack.
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
        """What searches and answers took, without the judge."""
        used = self.answers.answer_usage if self.answers else Usage()
        return self.search_tokens + used.input_tokens + used.output_tokens

    @property
    def cost(self) -> float:
        """The same in money."""
        return self.search_cost + (self.answers.answer_usage.cost if self.answers else 0.0)


def summary(name: str, run: Run) -> Summary:
    """Compute the figures from the run's records. Raises PageIndexError where the extra ``eval`` is not installed."""
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
        answers=figures(records),
        unreasoned=tuple(one.search for one in lacking if one.search),
        degraded=tuple(filter(None, lacking)),
    )


def _untraced(records: Sequence[QuestionRecord], values: Mapping[str, Values]) -> bool:
    """Whether a miss has no stage: without it the table would only count hits."""
    return any(not record.stage and not values[record.id].get(HIT, 1.0) for record in records)


def _curve(records: Sequence[QuestionRecord], values: Mapping[str, Values]) -> tuple[float, ...]:
    """From reciprocal ranks: a question is hit at k where its own is at least 1/k."""
    found = [each["mrr"] for each in values.values() if "mrr" in each]
    depth = max((len(record.pages) for record in records), default=0)
    return tuple(mean([float(rank * k > 1 - 1e-6) for rank in found]) for k in range(1, depth + 1)) if found else ()


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
    """Linear between the two nearest values (what numpy does by default)."""
    ordered = sorted(values)
    place = at * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
