"""Measure the benefit of an expert pack on companies, laws or contracts that did not influence its entries.

    python -m benchmarks packs financebench hybrid_pageindex/packs/finance.yaml [--setting library] [--measure hit@5]

The questions are divided into five folds that keep groups together. For each fold, the benchmark selects entries by
their gain on the other four folds: "strict" keeps entries with a gain, "lenient" also those without a loss. The
selected entries are then measured on the fold. An entry's gain is the sum of two values over all settings: the
improvement by the entry alone, and the loss of the pack without it. "In-sample" is the whole pack.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from eval.datasets.corpus import Corpus, locate
from eval.datasets.registry import load
from eval.measures import comparison, retrieval
from eval.rankers.engine import EngineRanker
from eval.records.progress import Progress
from eval.records.questions import EvalQuestion
from eval.records.runs import GoldPlace, QuestionRecord
from eval.runs.asking import ask
from eval.runs.home import prepare
from eval.runs.plan import SETTINGS, Plan
from eval.runs.run import chosen, places
from hybrid_pageindex import run
from retrievers.query.expert import read_expert

Entries = Sequence[Mapping[str, Any]]
Scores = Mapping[str, float]  # by question id
RULES: dict[str, Callable[[float], bool]] = {"strict": lambda gain: gain > 0, "lenient": lambda gain: gain >= 0}


class Measured:
    """Measures, on one set in one setting, of searches with some of a pack's entries."""

    def __init__(self, plan: Plan, pack: Mapping[str, Any], measure: str, folder: Path) -> None:
        dataset = load(plan.dataset, plan.data)
        home = plan.home_folder(dataset.files)
        prepared = prepare(home, dataset.files, "", Progress(), ours=plan.home is None)
        self._plan, self._pack, self._measure, self._file = plan, pack, measure, folder / "pack.yaml"
        self._engine, self._corpus = prepared.engine, Corpus(prepared.engine)
        questions, _ = chosen(plan, dataset, self._corpus)
        located = run(locate(self._engine, questions)).questions
        gold = [places(q, placed, self._corpus) for q, placed in zip(questions, located, strict=True)]
        self._asked = [(q, places) for q, places in zip(questions, gold, strict=True) if any(p.page for p in places)]
        self.groups = {question.id: question.group for question, _ in self._asked}

    def scores(self, entries: Entries, ids: Collection[str] | None = None) -> Scores:
        """Return the measure of each question when a pack has only these entries.

        The questions are all questions, or those in ``ids``.
        """
        self._file.write_text(yaml.safe_dump({**self._pack, "expand": list(entries)}), encoding="utf-8")
        ranker = EngineRanker(
            self._engine, self._corpus.ids, {"effort": "fast", "expert": str(self._file) if entries else "none"}
        )
        questions = [(question, gold) for question, gold in self._asked if ids is None or question.id in ids]
        records = [self._record(ranker, question, gold) for question, gold in questions]
        return {number: values[self._measure] for number, values in retrieval.per_question(records).items()}

    def touched(self, entry: Mapping[str, Any]) -> set[str]:
        """Return the ids of the questions that an entry matches. Other questions are not affected."""
        alone = read_expert(yaml.safe_dump({**self._pack, "expand": [entry]}), self._file.name).everywhere()
        return {question.id for question, _ in self._asked if alone.expand(question.text, [""])}

    def _record(self, ranker: EngineRanker, question: EvalQuestion, gold: tuple[GoldPlace, ...]) -> QuestionRecord:
        _, ranking = ask(ranker, self._corpus, question, gold, self._plan.setting, self._plan.depth)
        return QuestionRecord(
            id=question.id, question=question.text, kind=question.kind, group=question.group,
            answerable=question.answerable, gold_answer=question.answer, gold=gold,
            pages=ranking.pages, documents=ranking.documents,
        )  # fmt: skip

    def close(self) -> None:
        self._engine.close()


def report(sets: Sequence[Measured], entries: Entries) -> None:
    """Print the gain of each entry, then the results of the folds.

    ``sets`` contains the measurements of one data set, one for each setting.
    """
    none, full = [m.scores([]) for m in sets], [m.scores(entries) for m in sets]
    alone, without = [], []
    for entry in entries:
        touched, others = sets[0].touched(entry), [other for other in entries if other is not entry]
        alone.append([{**old, **m.scores([entry], touched)} for m, old in zip(sets, none, strict=True)])
        without.append([{**old, **m.scores(others, touched)} for m, old in zip(sets, full, strict=True)])
    questions = list(none[0])

    def gain(at: int, ids: Sequence[str]) -> float:
        return total(alone[at], ids) - total(none, ids) + total(full, ids) - total(without[at], ids)

    print(f"{len(questions)} questions in {len(set(sets[0].groups.values()))} groups, {len(entries)} entries")
    for at, entry in enumerate(entries):
        adds = total(alone[at], questions) - total(none, questions)
        loses = total(without[at], questions) - total(full, questions)
        print(f"  alone {adds:+6.2f}, left out {loses:+6.2f}  {str(entry['when'])[:70]}")
    rows = {"none": none, "in-sample (the whole pack)": full}
    dealt = comparison.assign(sets[0].groups)
    for rule, entries_kept in RULES.items():
        crossed: list[dict[str, float]] = [{} for _ in sets]
        sizes = []
        for fold in range(comparison.FOLDS):
            outside = [q for q in questions if dealt[q] != fold]
            inside = [q for q in questions if dealt[q] == fold]
            left = [entry for at, entry in enumerate(entries) if entries_kept(gain(at, outside))]
            sizes.append(str(len(left)))
            for left_fold, m in zip(crossed, sets, strict=True):
                left_fold.update(m.scores(left, inside))
        rows[f"cross-fold, {rule} ({', '.join(sizes)} entries)"] = list(crossed)
    for name, columns in rows.items():
        print(f"  {name:<50}" + "".join(f"{retrieval.mean(list(column.values())):8.3f}" for column in columns))


def total(scores: Sequence[Scores], questions: Sequence[str]) -> float:
    """Return the sum of the scores over settings and questions."""
    return sum(values[question] for values in scores for question in questions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    add = parser.add_argument
    add("dataset", help="a set of `eval list` with groups")
    add("pack", type=Path, help="the expert file")
    add("--setting", action="append", choices=SETTINGS[:2], help="library and given unless named")
    add("--measure", default="hit@5", help="default: hit@5")
    add("--min-pages", type=int, default=0, help="only questions about documents of so many pages")
    add("--sample", type=int, default=0, help="ask only so many questions")
    add("--data", type=Path, help="folder of the sets (PAGEINDEX_EVAL_DATA)")
    add("--home", type=Path, help="the engine's home (default: one beside the runs, used again)")
    options = parser.parse_args()
    pack = yaml.safe_load(options.pack.read_text(encoding="utf-8"))
    settings = options.setting or list(SETTINGS[:2])
    sets = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            for setting in settings:
                plan = Plan(
                    options.dataset, setting, min_pages=options.min_pages, sample=options.sample, data=options.data,
                    home=options.home,
                )  # fmt: skip
                sets.append(Measured(plan, pack, options.measure, Path(folder)))
            print(f"{options.pack.stem} on {options.dataset}, {options.measure} in: {', '.join(settings)}")
            report(sets, pack["expand"])
        finally:
            for measured in sets:
                measured.close()


if __name__ == "__main__":
    main()
