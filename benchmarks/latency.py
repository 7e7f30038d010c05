"""Measure how long a search takes: warm within a process, and cold on the command line.

    python -m benchmarks latency [--data DIR] [--home DIR] [--runs 7] [--json]

All figures are medians, to reduce noise. "start" is the time of a bare Python interpreter, for comparison.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.filings import indexed, options_of
from hybrid_core.errors import PageIndexError


def timed(program: list[str], runs: int) -> float:
    """Return the median run time of a program in seconds. An extra run before the measurement warms the disk cache."""
    seconds = []
    for _ in range(runs + 1):
        began = time.perf_counter()
        subprocess.run(program, check=True, capture_output=True)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds[1:])


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    with indexed(options) as (home, engine, dataset):
        stages: dict[str, list[float]] = {}
        wall = []
        for question in dataset.questions[:5]:  # to warm up
            engine.search_now(question.text, effort="fast")
        for question in dataset.questions:
            began = time.perf_counter()
            result = engine.search_now(question.text, effort="fast")
            wall.append((time.perf_counter() - began) * 1000)
            for name, value in result.timings_ms.items():
                stages.setdefault(name, []).append(value)
        engine.close()
        program = [str(Path(sys.executable).with_name("hybrid-pageindex")), "--home", str(home)]
        medians = {
            "warm_p50_ms": statistics.median(wall),
            "warm_p95_ms": statistics.quantiles(wall, n=20)[-1],
            **{f"stage_{name}_p50_ms": statistics.median(values) for name, values in stages.items()},
            "cold_search_s": timed([*program, "search", dataset.questions[0].text, "--effort", "fast"], options.runs),
            "help_s": timed([*program, "--help"], options.runs),
            "start_s": timed([sys.executable, "-c", "pass"], options.runs),
        }
    rounded = {name: round(value, 3) for name, value in medians.items()}
    print(json.dumps(rounded) if options.json else "\n".join(f"{name:<24}{value}" for name, value in rounded.items()))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PageIndexError as error:
        sys.exit(str(error))
