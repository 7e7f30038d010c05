"""Measure how long the first search takes after many pages were published.

    python -m benchmarks following [--data DIR] [--pages 90000] [--new 10000] [--json]

A library of real filings grows to ``--pages`` pages by publishing copies under invented names. Then two cases are
measured:

- A searching process is paused, ``--new`` pages are published, and the process continues. Its next search is compared
  with the median of its earlier searches.
- The same number of pages is published while no process searches. The first search of a new process is compared with
  the first search of a process whose index is up to date.

The question names the last new document, to check that the search finds it. Times are milliseconds of wall time and of
processor time in all threads. Processor time is more reliable on a busy machine.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.scale import grow
from eval.datasets import load
from hybrid_core.errors import PageIndexError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.documents import Publication
from hybrid_core.types.documents import Document
from hybrid_core.types.files import FileStamp
from hybrid_pageindex import Engine, run


def publish_new(catalog: Catalog, originals: list[Document], pages: int, first: int = 0) -> tuple[int, int, str]:
    """Publish copies of documents under new names, numbered from ``first``.

    Return the number of published pages, the next number, and the last name.
    """
    have, copy, name = 0, first, ""
    while have < pages:
        original = originals[copy % len(originals)]
        with catalog.snapshot() as snapshot:
            [stored] = snapshot.versions(original.sha256)
            content = snapshot.content(stored.content_id)
        name = f"Newcomer {copy} Incorporated"
        catalog.publish(
            Publication(
                library="default",
                doc_id=f"new{copy:07}",
                path=f"/new/{copy}/{original.name}",
                version=replace(stored.version, sha256=hashlib.sha256(name.encode()).hexdigest()),
                content=content,
                card=replace(original.card, names=(name,), symbols=()),
                stamp=FileStamp(original.size, 0.0, 0.0, "", 0.0),
            )
        )
        have += original.pages
        copy += 1
    return have, copy, name


class Reader:
    """A process that runs searches and returns their times."""

    def __init__(self, home: str) -> None:
        command = [sys.executable, __file__, "--reader", home]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, **pipes)

    def ask(self, question: str) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def end(self) -> float:
        """End the process and return how many seconds that took."""
        assert self.process.stdin is not None
        began = time.perf_counter()
        self.process.stdin.close()
        self.process.wait()
        return time.perf_counter() - began


def read(home: str) -> None:
    """Search for each question on stdin, and print times and results, until the input ends."""
    with_engine = Engine(home)
    for line in sys.stdin:
        began, worked = time.perf_counter(), time.process_time()
        result = with_engine.search_now(json.loads(line), effort="fast")
        taken, worked = (time.perf_counter() - began) * 1000, (time.process_time() - worked) * 1000
        answer = {"ms": taken, "cpu_ms": worked, "notes": result.notes, "timings": result.timings_ms}
        answer |= {"ids": [page.doc_id for page in result.results], "names": [page.doc_name for page in result.results]}
        print(json.dumps(answer), flush=True)
    with_engine.close()


def question_line(name: str) -> str:
    return f"What were the capital expenditures of {name}?"


def cold(home: str, question: str) -> dict[str, Any]:
    """Return the times and results of a new process's first search.

    ``ends_s`` are the seconds that the process takes to end.
    """
    reader = Reader(home)
    answer = reader.ask(question)
    return answer | {"ends_s": reader.end()}


def measure(home: str, originals: list[Document], questions: list[str], new: int) -> dict[str, Any]:
    catalog = Catalog(Path(home, "catalog.sqlite"))
    cold(home, questions[0])  # whatever the system reads from the disk for the first time
    reader = Reader(home)
    warm = [reader.ask(question) for question in questions * 2][len(questions) :]
    os.kill(reader.process.pid, signal.SIGSTOP)
    pages, copy, name = publish_new(catalog, originals, new)
    os.kill(reader.process.pid, signal.SIGCONT)
    first = reader.ask(question_line(name))
    during, began, up_to_date = [], time.perf_counter(), 0.0
    while not up_to_date:
        answer = reader.ask(questions[len(during) % len(questions)])
        if any("behind" in note for note in answer["notes"]):
            during.append(answer)
        else:
            up_to_date = time.perf_counter() - began
    reader.end()
    fresh = [cold(home, question) for question in questions[:7]]
    *_, name = publish_new(catalog, originals, new, copy)
    catalog.close()
    behind = cold(home, question_line(name))
    return {
        "new_pages": pages,
        "warm_p50_ms": middle(warm),
        "first_ms": middle([first]),
        "found_new": any(doc_id.startswith("new") for doc_id in first["ids"]),
        "notes": first["notes"],
        "during_p50_ms": middle(during),
        "during_max_ms": [round(max((sample[kind] for sample in during), default=0.0)) for kind in ("ms", "cpu_ms")],
        "up_to_date_s": round(up_to_date, 1),
        "process_p50_ms": middle(fresh),
        "process_behind_ms": middle([behind]),
        "process_found_new": any(doc_id.startswith("new") for doc_id in behind["ids"]),
        "process_ends_s": [
            round(statistics.median(sample["ends_s"] for sample in fresh), 2),
            round(behind["ends_s"], 2),
        ],
        "timings": [first["timings"], behind["timings"]],
    }


def middle(answers: Sequence[dict[str, Any]]) -> list[int]:
    """Return the median wall time and the median processor time, in milliseconds."""
    return [round(statistics.median(sample[kind] for sample in answers)) if answers else 0 for kind in ("ms", "cpu_ms")]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data")
    parser.add_argument("--pages", type=int, default=90_000)
    parser.add_argument("--new", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--reader", metavar="HOME", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.reader:
        read(options.reader)
        return 0
    dataset = load("financebench", options.data)
    questions = [question.text for question in dataset.questions][:40]
    with tempfile.TemporaryDirectory() as home:
        with_engine = Engine(home)
        run(with_engine.index(dataset.files))
        originals = run(with_engine.documents.list())
        catalog = Catalog(Path(home, "catalog.sqlite"))
        have = grow(catalog, originals, sum(document.pages for document in originals), options.pages)
        catalog.close()
        run(with_engine.index(dataset.files))  # nothing to do but to bring the index up to date
        with_engine.close()
        row = {"library": have, **measure(home, originals, questions, options.new)}
    print(json.dumps(row) if options.json else "\n".join(f"{name}: {value}" for name, value in row.items()))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PageIndexError as error:
        sys.exit(str(error))
