"""Measure how much each part of page retrieval contributes, on several question sets.

    python -m benchmarks ablation [--data DIR] [--out DIR] [--only NAME …] [--sample N]

The output is the table of docs/lab/retrieval.md. Every variant changes one number of ``ScoringConfig``, or the expert
knowledge, and searches for the questions of each set again. Indexes are kept below --out and used again. The figures
are hit@5, except for cuad (hit@1) and statutes_zh (hit@10).
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eval.records.progress import Progress
from eval.runs.plan import Plan
from eval.runs.run import measure
from hybrid_core.errors import PageIndexError


@dataclass(frozen=True)
class Variant:
    """A search configuration to measure. ``changed`` maps names of ScoringConfig's numbers to their changed values."""

    name: str
    changed: dict[str, Any] = field(default_factory=dict)
    expert: str = "none"


@dataclass(frozen=True)
class Column:
    name: str
    measure: str
    plan: dict[str, Any]


COLUMNS = (
    Column("filings, library", "hit@5", {"dataset": "financebench"}),
    Column("filing given", "hit@5", {"dataset": "financebench", "setting": "given"}),
    Column("mmlongbench, given", "hit@5", {"dataset": "mmlongbench", "setting": "given"}),
    Column("cuad, given, hit@1", "hit@1", {"dataset": "cuad", "setting": "given", "min_pages": 6}),
    Column("statutes, hit@10", "hit@10", {"dataset": "statutes_zh"}),
)
VARIANTS = (
    Variant("as it is, no expert knowledge"),
    Variant("expert knowledge: auto (the default)", expert="auto"),
    Variant("without routing by cards", {"documents.cards": 0.0}),
    Variant("100 pages of the coarse pass", {"first_stage.hits": 100}),
    Variant("20 pages of each document searched wholly", {"documents.pages": 20}),
    Variant("80 pages of each document searched wholly", {"documents.pages": 80}),
    Variant("4 documents searched wholly", {"documents.limit": 4}),
    Variant("16 documents searched wholly", {"documents.limit": 16}),
    Variant("k1 1.2 instead of 2 within documents", {"pages.k1": 1.2}),
    Variant("b .75 instead of 1 within documents", {"pages.b": 0.75}),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder of the sets (PAGEINDEX_EVAL_DATA)")
    parser.add_argument("--out", type=Path, help="keep runs and homes here (default: a temporary folder)")
    parser.add_argument("--only", action="append", default=[], help="variants whose name contains this (repeatable)")
    parser.add_argument("--sample", type=int, default=0, help="ask only so many questions of each set")
    options = parser.parse_args()
    chosen = [v for v in VARIANTS if not options.only or any(part in v.name for part in options.only)]
    print("| | " + " | ".join(column.name for column in COLUMNS) + " |\n" + "|---" * (len(COLUMNS) + 1) + "|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.out or Path(temporary)
        for variant in chosen:
            cells = [f"{figure(variant, column, folder, options):.3f}".lstrip("0") for column in COLUMNS]
            print(f"| {variant.name} | " + " | ".join(cells) + " |", flush=True)
    return 0


def figure(variant: Variant, column: Column, folder: Path, options: argparse.Namespace) -> float:
    dataset = str(column.plan["dataset"])
    name = re.sub(r"\W+", "-", f"{column.name} {variant.name}")
    plan = Plan(
        **column.plan, expert=variant.expert, scoring=variant.changed, sample=options.sample, data=options.data,
        home=folder / "homes" / dataset, out=folder / name,
    )  # fmt: skip
    return float(measure(plan, Progress(quiet=True)).head.measures["all"][column.measure])


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PageIndexError as error:
        sys.exit(str(error))
