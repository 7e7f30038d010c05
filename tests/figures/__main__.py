"""``scripts/figures [--quick] [--json]``: how much there is to read, and how much a question and a page run through.

Counted with the code at hand: files and functions of our own that run for one search of a warm engine and for the
indexing of one PDF (a file counts where one of its functions runs); the definitions in which a search option is
written out between door and stage; lines of Python (blank ones and comments too, without tests); entries of every
package's folder besides __init__.py and py.typed; circles of imports, those inside functions and for types too.
Speed is what ``benchmarks/`` measures on the filings of PAGEINDEX_EVAL_DATA; --quick leaves it out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from typing import Any

from tests.figures import paths, source

_OPTIONS = ("mmr", "fusion", "route", "strategy")
_MOST_ENTRIES = 8


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/figures", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="without the benchmarks")
    parser.add_argument("--data", default=os.environ.get("PAGEINDEX_EVAL_DATA"), help="(PAGEINDEX_EVAL_DATA)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = {**_read(), **_run()}
    if not options.quick and options.data:
        found |= _measured(options.data)
    if options.json:
        print(json.dumps(found))
        return 0
    print("| | |\n|---|---|")
    for name, value in found.items():
        print(f"| {name} | {value} |")
    return 0


def _read() -> dict[str, Any]:
    lines, entries = source.lines(), source.entries()
    over = {folder: count for folder, count in entries.items() if count > _MOST_ENTRIES}
    return {
        "definitions that write out a search option": _listed({one: len(source.places(one)) for one in _OPTIONS}),
        "source lines of the five packages": f"{sum(lines[one] for one in source.PACKAGES):,}",
        "of which": _listed({one: lines[one] for one in source.PACKAGES}),
        f"folders with more than {_MOST_ENTRIES} entries": f"{len(over)} of {len(entries)}",
        "namely": _listed(over),
        "circles of imports": len(source.circles()),
    }


def _run() -> dict[str, Any]:
    search, (asking, working) = paths.warm_search(), paths.indexing()
    return {
        "files / functions of a warm search": f"{paths.files_of(search)} / {len(search)}",
        "of indexing one PDF, the process that is asked": f"{paths.files_of(asking)} / {len(asking)}",
        "of indexing one PDF, its workers": f"{paths.files_of(working)} / {len(working)}",
    }


def _measured(data: str) -> dict[str, Any]:
    latency, indexing = _benchmark("latency", data), _benchmark("indexing", data)
    return {
        "warm search, p50 / p95, ms": f"{latency['warm_p50_ms']:.1f} / {latency['warm_p95_ms']:.1f}",
        "indexing, pages/s": indexing["pages_per_second"],
    }


def _benchmark(name: str, data: str) -> dict[str, float]:
    program = [sys.executable, "-m", "benchmarks", name, "--data", data, "--json"]
    done = subprocess.run(program, cwd=source.ROOT, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


if __name__ == "__main__":
    sys.exit(main())
