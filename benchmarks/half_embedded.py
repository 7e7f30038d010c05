"""Compare retrieval in half-embedded libraries with retrieval without vectors and with all vectors.

    python -m benchmarks half_embedded [--set NAME] [--embedder SPEC] [--fusion rrf] [--expert auto] [--data DIR]
                                       [--out DIR]

The documents, sorted by name, are split into two alternating halves. Each half is embedded in one run. Indexes are kept
below --out and used again.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from eval.datasets import load
from eval.records.progress import Progress
from eval.runs.plan import Plan
from eval.runs.run import measure
from hybrid_core.errors import PageIndexError
from hybrid_pageindex import Engine, run

MEASURES = ("hit@1", "hit@5", "doc@1")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--set", default="financebench")
    parser.add_argument("--embedder", default="hashed:256")
    parser.add_argument("--fusion", default="weighted")
    parser.add_argument("--expert", default="none")
    parser.add_argument("--data", type=Path, help="folder of the sets (PAGEINDEX_EVAL_DATA)")
    parser.add_argument("--out", type=Path, help="keep runs and homes here (default: a temporary folder)")
    options = parser.parse_args()
    files = sorted(load(options.set, options.data).files)
    print("| embedded | " + " | ".join(MEASURES) + " |\n" + "|---" * (len(MEASURES) + 1) + "|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.out or Path(temporary)
        homes = {name: folder / "homes" / f"{options.set}-{name}" for name in ("none", "first", "second", "all")}
        if not homes["none"].exists():
            indexed(homes["none"], files)
        for name, embedded in (("first", files[::2]), ("second", files[1::2])):
            if not homes[name].exists():
                indexed(homes[name], embedded, options.embedder)
                indexed(homes[name], files)
        if not homes["all"].exists():
            shutil.copytree(homes["first"], homes["all"])
            indexed(homes["all"], files, options.embedder)
        for name, home in homes.items():
            plan = Plan(
                options.set, fusion=options.fusion, expert=options.expert, data=options.data, home=home,
                out=folder / f"{options.set}-{name}-{options.fusion}-{options.expert}",
            )  # fmt: skip
            measures = measure(plan, Progress(quiet=True)).head.measures["all"]
            print(
                f"| {name} | "
                + " | ".join(f"{measures[measure_name]:.3f}".lstrip("0") for measure_name in MEASURES)
                + " |",
                flush=True,
            )
    return 0


def indexed(home: Path, files: Sequence[Path], embedder: str = "") -> None:
    with closing(Engine(home)) as engine:
        run(engine.index(list(files), enrich="never"))
        if embedder:
            run(engine.models.embed(embedder))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PageIndexError as error:
        sys.exit(str(error))
