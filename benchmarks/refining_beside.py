"""Measure how much refining section trees slows down simultaneous searches, and how fast the refining is.

    python -m benchmarks refining_beside FILE --home HOME [--searches 40] [--json]

HOME has an index. It is searched for the titles of its documents: first alone, then while another command refines the
section tree of the PDF FILE with the layout model. ``clock`` and ``cpu`` are medians in milliseconds per search: wall
time, and processor time of the searching process. Pages per second are given for wall time and for processor time. The
processor time includes all processes of the command, with parsing and loading the model.
"""

from __future__ import annotations

import argparse
import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import cycle
from pathlib import Path
from statistics import median

from hybrid_pageindex import Engine, Settings, run


def searched(engine: Engine, questions: Iterator[str], goes_on: Callable[[int], bool]) -> dict[str, float]:
    clock: list[float] = []
    cpu: list[float] = []
    while goes_on(len(clock)):
        began, before = time.perf_counter(), time.process_time()
        run(engine.search(next(questions)))
        clock.append(1000 * (time.perf_counter() - began))
        cpu.append(1000 * (time.process_time() - before))
    return {"searches": len(clock), "clock": round(median(clock), 1), "cpu": round(median(cpu), 1)}


def read(home: Path) -> int:
    """Return the number of pages that the layout model has read so far."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{home / 'cache.sqlite'}?mode=ro", uri=True)) as cache:
        return int(cache.execute("SELECT count(*) FROM entries WHERE key LIKE 'regions/%'").fetchone()[0])
    return 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--searches", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with (
        closing(Engine(settings=Settings(storage_path=options.home))) as engine,
        tempfile.TemporaryDirectory() as folder,
    ):
        questions = cycle([document.title for document in run(engine.documents.list())])
        searched(engine, questions, lambda done: done < 5)
        alone = searched(engine, questions, lambda done: done < options.searches)
        scratch, before = Path(folder) / "home", resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "hybrid_pageindex", "--home", str(scratch), "index", str(options.file),
                   "--outline", "refined"]  # fmt: skip
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and not read(scratch):
            time.sleep(0.2)
        began, first = time.monotonic(), read(scratch)
        times = searched(engine, questions, lambda done: process.poll() is None and done < options.searches)
        process.wait()
        seconds, pages = time.monotonic() - began, read(scratch)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        again = searched(engine, questions, lambda done: done < options.searches)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    report = {
        "alone": alone, "beside": times, "alone again": again, "pages": pages,
        "pages a second": round((pages - first) / seconds, 2), "pages a second of a core": round(pages / used, 2),
    }  # fmt: skip
    for name, value in report.items() if not options.json else ():
        print(f"{name:26} {value}")
    if options.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
