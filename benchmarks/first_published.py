"""Measure how soon files can be searched, with and without later refinement of their section trees.

    python -m benchmarks first_published FOLDER [--runs 3] [--json]

A folder is indexed once with each kind of section tree. The benchmark prints the median seconds until the first and the
last document are published. It also prints how many documents were published when the layout model began to read.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path
from statistics import median
from typing import NamedTuple

_LOOKS = 0.05  # seconds between two


class Times(NamedTuple):
    first: float
    last: float
    at_first_region: int  # documents that were published; 0 where no page was read


def count(database: Path, query: str) -> int:
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as opened:
        return int(opened.execute(query).fetchone()[0])
    return 0


def times(folder: Path, outline: str) -> Times:
    with tempfile.TemporaryDirectory() as scratch:
        home, began = Path(scratch) / "home", time.monotonic()
        command = [sys.executable, "-m", "hybrid_pageindex", "--home", str(home), "index", str(folder)]
        process = subprocess.Popen(
            [*command, "--outline", outline], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        first = last = 0.0
        published = at_first_region = 0
        while process.poll() is None and not at_first_region:
            if (count_now := count(home / "catalog.sqlite", "SELECT count(*) FROM documents")) > published:
                published, last = count_now, time.monotonic() - began
                first = first or last
            if count(home / "cache.sqlite", "SELECT count(*) FROM entries WHERE key LIKE 'regions/%'"):
                at_first_region = published
            time.sleep(_LOOKS)
        process.terminate()
        process.wait()
    return Times(first, last, at_first_region)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    measured: dict[str, list[Times]] = {"fast": [], "refined": []}
    for _ in range(options.runs):
        for outline, runs in measured.items():
            runs.append(times(options.folder, outline))
    report = {
        outline: {
            "first": round(median(run_times.first for run_times in runs), 2),
            "last": round(median(run_times.last for run_times in runs), 2),
            "published before a page was refined": min(run_times.at_first_region for run_times in runs),
        }
        for outline, runs in measured.items()
    }
    if options.json:
        print(json.dumps(report))
        return
    for outline, values in report.items():
        print(f"{outline:8} " + ", ".join(f"{name} {value}" for name, value in values.items()))


if __name__ == "__main__":
    main()
