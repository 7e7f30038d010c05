"""The engine beside plain page BM25 on every set and in every setting: where it is better and where it falls below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from eval.datasets.registry import SOURCES, data_folder, load, sets_of
from eval.measures.compare import compare
from eval.measures.significance import Interval
from eval.records.progress import Progress
from eval.records.runs import Run
from eval.runs.plan import RUNS, Plan
from eval.runs.run import measure

MEASURES = ("hit@1", "hit@5", "hit@10", "hit@20", "mrr", "doc@1")
SETTINGS = ("library", "given")
EXPERTS = ("none", "auto")
RANKERS = ("page-bm25", "page-bm25-stemmed")
"""The baselines, each of which the engine is compared with."""


@dataclass(frozen=True, slots=True)
class BaselinePair:
    """One set in one setting, with one expert knowledge: means of both, and the engine's minus the baseline's."""

    dataset: str
    setting: str
    expert: str
    questions: int
    baseline: Mapping[str, float]
    engine: Mapping[str, float]
    differences: Mapping[str, Interval]
    ranker: str = RANKERS[0]

    @property
    def below(self) -> tuple[str, ...]:
        """The measures whose whole interval lies below zero."""
        return tuple(name for name, interval in self.differences.items() if interval.high < 0)


def sets_at_hand(data: Path | None = None) -> tuple[str, ...]:
    """Return the sets whose folders are there and that ask questions."""
    folder = data_folder(data)
    own = (name for name, source in SOURCES.items() if source.folder(folder).is_dir() and load(name, folder).questions)
    return (*own, *sets_of(folder))


def against_baseline(
    plans: Sequence[Plan],
    settings: Sequence[str],
    experts: Sequence[str],
    out: Path,
    progress: Progress,
    rankers: Sequence[str] = RANKERS,
) -> Iterator[BaselinePair]:
    """Yield the engine beside each baseline, for each plan (one a set), setting and expert.

    Runs that ``out`` holds finished are read. A setting in which none of a set's questions can be asked is left out.
    """
    for plan in plans:
        asked = load(plan.dataset, plan.data, docs=plan.docs, questions=plan.questions, wording=plan.wording).questions
        for setting in settings:
            if setting != "library" and not any(question.documents for question in asked):
                continue
            stem = f"{plan.label}-{setting}"
            lower = [
                measure(
                    replace(plan, setting=setting, ranker=name, expert="none", out=out / f"{stem}-{name}"), progress
                )
                for name in rankers
            ]
            for expert in experts:
                engine = measure(
                    replace(plan, setting=setting, expert=expert, out=out / f"{stem}-{Path(expert).stem}"), progress
                )
                yield from (_pair(plan.dataset, setting, expert, baseline, engine) for baseline in lower)


def _pair(dataset: str, setting: str, expert: str, lower: Run, engine: Run) -> BaselinePair:
    compared = compare([lower, engine])
    differences = compared.against[0].differences
    kept = [name for name in MEASURES if name in differences]
    first, second = compared.measures
    return BaselinePair(
        dataset, setting, expert, len(compared.questions),
        {name: first[name] for name in kept}, {name: second[name] for name in kept},
        {name: differences[name] for name in kept}, lower.head.ranker,
    )  # fmt: skip


def plans_of(
    sets: Sequence[str], *, data: Path | None, docs: Path | None, questions: Path | None, sample: int, depth: int
) -> list[Plan]:
    """One plan for each set by name; ``docs`` and ``questions`` are of «custom»."""
    return [
        Plan(
            name, data=data, sample=sample, depth=depth,
            docs=docs if name == "custom" else None, questions=questions if name == "custom" else None,
        )
        for name in sets
    ]  # fmt: skip


DEFAULT_OUT = Path(RUNS) / "baseline"
