"""Measure what a model that reads section trees can add, and how much effort `auto` saves: accuracy against cost.

    python -m benchmarks reasoning financebench [--data DIR] [--home DIR] [--setting library|given]
                                                [--strategy outline|mcts] [--svg FILE]

Each question is searched without a model, and with two scripted models that see what a real model would see. One knows
the right pages and shows the upper bound; the other guesses and shows the lower bound. No endpoint is needed. Each row
of the table is a threshold for the setting `reason_below`. The columns are the share of questions for which `auto` asks
the model about pages, the input tokens per question, and hit@1 and hit@5. For comparison, a row also shows the hits if
the same number of questions were chosen at random. The route `auto` may also ask the model which documents are right if
their scores are close; this applies to every row except the first.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.reasoning_curve import Line, draw
from eval.datasets.corpus import locate
from eval.datasets.registry import load
from eval.records.progress import Progress
from eval.records.questions import EvalQuestion
from eval.runs.home import prepare
from eval.runs.run import gold_pages
from eval.runs.scripted import Pages, scripted
from hybrid_core.errors import PageIndexError
from hybrid_core.types.documents import Strategy
from hybrid_core.types.results import SearchResult
from hybrid_pageindex import Engine, Settings, run

DEFAULT = Settings().reason_below
THRESHOLDS = tuple(sorted({0.02, 0.04, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3, 1.0, DEFAULT}))
NEVER = 1e-9  # below this sureness no page is asked for, while close documents still are
MODELS = ("oracle", "guess")


@dataclass(frozen=True)
class Found:
    """The result of one search.

    ``rank`` is the rank of the first right page, 0 for none. ``sureness`` is the estimated probability that the first
    page answers.
    """

    rank: int
    sureness: float
    tokens: int
    calls: int


@dataclass(frozen=True)
class Asked:
    """A question with the results of its searches.

    ``fast`` is without a model. ``routed`` and ``deep`` are by model: asked only about documents, or about pages too.
    """

    fast: Found
    routed: dict[str, Found]
    deep: dict[str, Found]

    def at(self, model: str, below: float) -> Found:
        routed = self.routed[model]
        return self.deep[model] if routed.sureness < below else routed


def measure(
    home: Path, questions: Sequence[EvalQuestion], ids: dict[str, str], setting: str, strategy: Strategy
) -> list[Asked]:
    gold: dict[str, Pages] = {question.text: gold_pages(question) for question in questions}
    settings = Settings(storage_path=home, reason_below=NEVER)
    names = {"oracle": "scripted:oracle", "guess": "scripted:random"}
    outcomes: dict[tuple[str, str], list[Found]] = {}
    for model in ("", *MODELS):
        with closing(Engine(settings=settings, chat=scripted(names.get(model, ""), gold))) as engine:
            for effort in ("auto", "deep") if model else ("fast",):
                results = []
                for question in questions:
                    scope = [ids[name] for name in question.documents] if setting == "given" else None
                    result = engine.search_now(
                        question.text, documents=scope, top_k=20, effort=effort, strategy=strategy
                    )
                    results.append(_outcome(result, gold[question.text]))
                outcomes[model, effort] = results
    return [
        Asked(
            outcomes["", "fast"][at],
            {model: outcomes[model, "auto"][at] for model in MODELS},
            {model: outcomes[model, "deep"][at] for model in MODELS},
        )
        for at in range(len(questions))
    ]


def _outcome(result: SearchResult, gold: Pages) -> Found:
    rank = next((at for at, page in enumerate(result.results, 1) if (page.doc_name, page.page) in gold), 0)
    return Found(rank, result.sureness, result.usage.input_tokens, result.usage.calls)


def hit(ranks: Sequence[int], k: int) -> float:
    return sum(1 <= rank <= k for rank in ranks) / len(ranks)


def share_asked(questions: Sequence[Asked], model: str, below: float) -> float:
    return sum(question.routed[model].sureness < below for question in questions) / len(questions)


def at_random(questions: Sequence[Asked], model: str, k: int, share: float) -> float:
    """Return the expected hit@k if the model were asked about the pages of a random ``share`` of the questions."""
    without, always = ([question.at(model, below).rank for question in questions] for below in (0.0, 2.0))
    return (1 - share) * hit(without, k) + share * hit(always, k)


def auroc(sure: Sequence[float], right: Sequence[bool]) -> float:
    """Return the probability that a rightly answered question has a higher sureness than another.

    0.5 is chance. The result is nan if all questions are right or all are wrong.
    """
    good = [value for value, well in zip(sure, right, strict=True) if well]
    bad = [value for value, well in zip(sure, right, strict=True) if not well]
    if not good or not bad:
        return float("nan")
    return sum((a > b) + 0.5 * (a == b) for a in good for b in bad) / len(good) / len(bad)


def table(questions: Sequence[Asked]) -> list[str]:
    fast = [question.fast.rank for question in questions]
    lines = [
        f"{'':8} {'pages':>6} {'input':>7}   ceiling: at random:      floor: at random:",
        f"{'below':>8} {'asked':>6} {'tokens':>7}   @1   @5     @1   @5     @1   @5     @1   @5",
        f"{'no model':>8} {0:6.2f} {0:7}  {hit(fast, 1):.3f} {hit(fast, 5):.3f}",
    ]
    for below in (0.0, *THRESHOLDS):
        share = share_asked(questions, "oracle", below)
        tokens = statistics.mean(question.at("oracle", below).tokens for question in questions)
        row = f"{below:8.2f} {share:6.2f} {tokens:7.0f} "
        for model in MODELS:
            ranks = [question.at(model, below).rank for question in questions]
            own = share_asked(questions, model, below)
            row += f" {hit(ranks, 1):.3f} {hit(ranks, 5):.3f}"
            row += f" ({at_random(questions, model, 1, own):.3f} {at_random(questions, model, 5, own):.3f})"
        lines.append(row + (" *" if below == DEFAULT else ""))
    return lines


def curves(questions: Sequence[Asked]) -> list[Line]:
    """Return hit@1 and hit@5 of both models, for every threshold that separates two questions."""
    lines = []
    for model, colour in zip(MODELS, ("#1f77b4", "#d62728"), strict=True):
        levels = sorted({question.routed[model].sureness for question in questions})
        for k in (5, 1):
            points = [
                (
                    share_asked(questions, model, below),
                    hit([question.at(model, below).rank for question in questions], k),
                )
                for below in (0.0, *levels[1:], 2.0)
            ]
            lines.append(Line(f"{model}, hit@{k}", colour, k == 5, points))
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("dataset")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--setting", choices=("library", "given"), default="library")
    parser.add_argument("--strategy", choices=("outline", "mcts"), default="outline")
    parser.add_argument("--svg", type=Path, help="draw the curves into this file")
    options = parser.parse_args()
    dataset = load(options.dataset, options.data)
    with TemporaryDirectory() as folder:
        home = options.home or Path(folder)
        prepared = prepare(home, dataset.files, "", Progress(), ours=False)
        with closing(prepared.engine) as engine:
            located = run(locate(engine, dataset.questions)).questions
            ids = {document.name: document.doc_id for document in run(engine.documents.list())}
        questions = [question for question in located if gold_pages(question)]
        outcomes = measure(home, questions, ids, options.setting, options.strategy)
    spent = [outcome.deep["oracle"].tokens for outcome in outcomes]
    named = f"{options.dataset}, {options.setting}, {options.strategy}"
    print(f"{named}: {len(outcomes)} questions with gold pages")
    calls = statistics.mean(outcome.deep["oracle"].calls for outcome in outcomes)
    print(f"deep: {statistics.mean(spent):.0f} input tokens a question, most {max(spent)}, {calls:.2f} calls")
    routed = statistics.mean(outcome.routed["oracle"].calls for outcome in outcomes)
    print(f"asked for documents: {routed:.2f} calls a question")
    sure = [outcome.fast.sureness for outcome in outcomes]
    areas = [auroc(sure, [1 <= outcome.fast.rank <= k for outcome in outcomes]) for k in (1, 5)]
    print(f"sureness tells questions with a gold page first from others with AUROC {areas[0]:.2f}, ", end="")
    print(f"within five {areas[1]:.2f}")
    print("\n".join(table(outcomes)))
    if options.svg:
        title = f"hit@k against the share of questions a model is asked ({named}); thin: asked at random"
        draw(title, curves(outcomes), share_asked(outcomes, "oracle", DEFAULT), options.svg)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PageIndexError as error:
        sys.exit(str(error))
