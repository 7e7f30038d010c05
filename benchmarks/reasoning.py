"""What a model that reads the section trees can add, and what `auto` saves: accuracy against cost, without an endpoint.

    python benchmarks/reasoning.py financebench [--data DIR] [--home DIR] [--setting library|given] [--strategy outline]

Each question is searched without a model and then with two scripted ones, which see what any model would see: an oracle
that knows the gold pages (the ceiling) and one that guesses (the floor). A row of the table is a threshold of
`reason_below`: the share of questions for which `auto` makes no call, tokens per question, and hit@1 / hit@5.
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

from eval.datasets.registry import load
from eval.home import prepare
from eval.locate import locate
from eval.progress import Progress
from eval.questions import EvalQuestion
from eval.run import gold_pages
from eval.scripted import Pages, scripted
from hybrid_core.errors import PageIndexError
from hybrid_core.results import SearchResult
from hybrid_core.types import Strategy
from hybrid_pageindex import Engine, run

THRESHOLDS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 1.0)


@dataclass(frozen=True)
class Asked:
    """One question: how sure the search was, ranks of the first gold page (0: none), tokens of the oracle."""

    sureness: float
    fast: int
    oracle: int
    guess: int
    tokens: int
    calls: int


def measure(
    engines: dict[str, Engine], questions: Sequence[EvalQuestion], setting: str, strategy: Strategy
) -> list[Asked]:
    asked = []
    ids = {document.name: document.doc_id for document in run(engines["fast"].documents())}
    for question in questions:
        gold = gold_pages(question)
        given = [ids[name] for name in question.documents] if setting == "given" else None
        found = {
            name: engine.search_now(
                question.text, documents=given, top_k=20, effort="fast" if name == "fast" else "deep", strategy=strategy
            )
            for name, engine in engines.items()
        }
        ranks = {name: _rank(result, gold) for name, result in found.items()}
        usage = found["oracle"].usage
        asked.append(
            Asked(
                found["fast"].sureness, ranks["fast"], ranks["oracle"], ranks["guess"], usage.input_tokens, usage.calls
            )
        )
    return asked


def _rank(result: SearchResult, gold: Pages) -> int:
    return next((at for at, page in enumerate(result.results, 1) if (page.doc_name, page.page) in gold), 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("dataset")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--setting", choices=("library", "given"), default="library")
    parser.add_argument("--strategy", choices=("outline", "mcts"), default="outline")
    options = parser.parse_args()
    dataset = load(options.dataset, options.data)
    with TemporaryDirectory() as folder:
        home = options.home or Path(folder)
        prepared = prepare(home, dataset.files, "", Progress(), ours=False)
        with closing(prepared.engine) as fast:
            located = run(locate(fast, dataset.questions)).questions
            questions = [question for question in located if gold_pages(question)]
            gold: dict[str, Pages] = {question.text: gold_pages(question) for question in questions}
            oracle = Engine(home, chat=scripted("scripted:oracle", gold))
            guess = Engine(home, chat=scripted("scripted:random", gold))
            with closing(oracle), closing(guess):
                engines = {"fast": fast, "oracle": oracle, "guess": guess}
                asked = measure(engines, questions, options.setting, options.strategy)
    spent = [one.tokens for one in asked]
    print(f"{options.dataset}, {options.setting}, {options.strategy}: {len(asked)} questions with gold pages")
    print(
        f"deep: {statistics.mean(spent):.0f} input tokens a question, most {max(spent)}, "
        f"{statistics.mean(one.calls for one in asked):.2f} calls"
    )
    print(" below  no call  tokens   ceiling: hit@1  hit@5   floor: hit@1  hit@5")
    for below in THRESHOLDS:
        print(_row(asked, below))
    return 0


def _row(asked: Sequence[Asked], below: float) -> str:
    calls = [one.sureness < below for one in asked]
    tokens = statistics.mean(one.tokens if call else 0 for one, call in zip(asked, calls, strict=True))
    shares = []
    for name in ("oracle", "guess"):
        ranks = [getattr(one, name) if call else one.fast for one, call in zip(asked, calls, strict=True)]
        shares += [sum(1 <= rank <= k for rank in ranks) / len(ranks) for k in (1, 5)]
    silent = 1 - sum(calls) / len(calls)
    top1, top5, low1, low5 = shares
    return f"{below:6.2f} {silent:8.2f} {tokens:7.0f}   {top1:14.3f} {top5:6.3f}   {low1:12.3f} {low5:6.3f}"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PageIndexError as error:
        sys.exit(str(error))
