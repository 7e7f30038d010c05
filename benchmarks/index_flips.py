"""Check that flipped bits in a search index never end a process or change a result.

    python -m benchmarks index_flips [--times 200] [--seed N] [--file NAME]

Each flip changes one bit where a file of the index has data. The benchmark then opens the index, compares its points
with the catalog, and searches by words and by vectors. Half of the flips are in an index that was closed properly, the
other half in one whose process was killed after a write. One process tries flips until it crashes, so this is much
faster than ``endurance flips``, which tests whole homes. Set TMPDIR to a disk in memory. The exit code is 1 if a
process crashed or hung, or if an index stayed damaged or returned other results.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.endurance import BLOCK, UNIQUE, blocks_of, fill_homes, flip, restore
from hybrid_core.errors import PageIndexError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.home import CATALOG
from hybrid_core.store.index.points import Query
from hybrid_pageindex.engine.search.indexes import Indexes
from retrievers.features.pages import PageQuery

_SECONDS = 300.0  # by the clock, for one flip
_TERMS = np.fromiter(PageQuery({"harbour": 1.0, "curlew": 1.0, "heron": 1.0}).hashed()[0], np.uint32)
_QUERIES = {
    "default": [
        Query("bm25", (_TERMS, np.ones(len(_TERMS), np.float32)), 100),
        Query("dense", np.full(16, 0.25, np.float32), 100),
    ],
    "second": [Query("bm25", (_TERMS, np.ones(len(_TERMS), np.float32)), 100)],
}

Answers = list[list[list[str | int | float]]]


class _Flip(NamedTuple):
    home: Path
    name: Path
    place: int
    bit: int

    @property
    def library(self) -> str:
        return self.name.parts[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--file", default="", help="only files whose path below the home holds this")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        homes = fill_homes(Path(folder))[0]
        flips = _choose(homes, args.times, args.seed, args.file)
        outcomes = _try_all(Path(folder), flips)
    bad = 0
    by_file: dict[Path, Counter[str]] = {}
    for trial, outcome in zip(flips, outcomes, strict=True):
        by_file.setdefault(trial.name, Counter())[outcome.partition(":")[0]] += 1
        if outcome not in ("the same", "the same, made anew"):
            bad += 1
            print(f"{trial.home.name}/{trial.name} byte {trial.place} bit {trial.bit}: {outcome}", file=sys.stderr)
    for name, count in by_file.items():
        print(f"{name}: {dict(count)}", file=sys.stderr)
    total = sum(by_file.values(), Counter())
    figures = {"files": len(by_file), "flips": len(flips), "outcomes": dict(total), "bad": bad, "ok": not bad}
    print(json.dumps(figures))
    return 0 if not bad else 1


def _choose(homes: Sequence[Path], times: int, seed: int, only: str) -> list[_Flip]:
    """Choose the positions of all flips. Each kind of file gets the same number of flips."""
    flips = []
    for path in sorted(path for path in (homes[0] / "libraries").rglob("*") if path.is_file() and path.stat().st_size):
        name = path.relative_to(homes[0])
        if only in str(name):
            choose = random.Random(f"{seed} {UNIQUE.sub('', str(name))}")
            blocks = [blocks_of(home / name) for home in homes]
            for number in range(times):
                home = number % 2 if blocks[1] else 0
                place = choose.choice(blocks[home]) + choose.randrange(BLOCK)
                flips.append(_Flip(homes[home], name, place, choose.randrange(8)))
    return flips


def _try_all(folder: Path, flips: Sequence[_Flip]) -> list[str]:
    """Return the outcome of each flip. After a crash or a hang, a new process tries the remaining flips."""
    outcomes: list[str] = []
    written = folder / "outcomes"
    while len(outcomes) < len(flips):
        written.write_text("")
        child = os.fork()
        if not child:
            try:
                _try_from(folder, flips[len(outcomes) :], written)
            finally:
                os._exit(1)
        size, until = 0, time.monotonic() + _SECONDS
        while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < until:
            time.sleep(0.05)
            if written.stat().st_size != size:
                size, until = written.stat().st_size, time.monotonic() + _SECONDS
        if not ended[0]:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        outcomes += written.read_text().splitlines()
        if len(outcomes) < len(flips):
            outcomes.append(f"died: {os.waitstatus_to_exitcode(ended[1])}" if ended[0] else "hung")
        print(f"{len(outcomes)} of {len(flips)}", file=sys.stderr, flush=True)
    return outcomes


def _try_from(folder: Path, flips: Sequence[_Flip], written: Path) -> None:
    """Try flips one by one, and write a line with the outcome of each."""
    copy = folder / "copy"
    catalogs = {home: Catalog(home / CATALOG) for home in {trial.home for trial in flips}}
    with written.open("a") as stream:
        expected: dict[tuple[Path, str], tuple[str, Answers]] = {}
        for trial in flips:
            shard = Path("libraries", trial.library, "vectors")
            if (trial.home, trial.library) not in expected:
                restore(trial.home / shard, copy / shard)
                expected[trial.home, trial.library] = _look(catalogs[trial.home], copy, trial.library)
            restore(trial.home / shard, copy / shard)
            flip(copy / trial.name, trial.place, trial.bit)
            try:
                state, answers = _look(catalogs[trial.home], copy, trial.library)
                if answers == expected[trial.home, trial.library][1]:
                    outcome = "the same, made anew" if state == "rebuilt" else "the same" if state == "same" else state
                else:
                    outcome = "another result"
            except PageIndexError as error:
                outcome = f"refused: {error!r}"
            except Exception as error:  # noqa: BLE001 - it is the outcome
                outcome = f"error: {error!r}"
            print(outcome.replace("\n", " "), file=stream, flush=True)
    os._exit(0)


def _look(catalog: Catalog, home: Path, library: str) -> tuple[str, Answers]:
    """Open an index. Return whether it agrees with the catalog ("rebuilt" if it had to be built again), and search
    results.
    """
    indexes = Indexes(catalog, home)
    try:
        index = indexes.searchable(library).index
        answers: Any = [[[hit.doc_id, hit.page, hit.score] for hit in index.search(q)] for q in _QUERIES[library]]
        same = indexes.compare(library, lambda: None).same
        return ("rebuilt" if index.rebuilt else "same") if same else "incomplete", answers
    finally:
        indexes.close()


if __name__ == "__main__":
    sys.exit(main())
