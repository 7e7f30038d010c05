"""Measure how fast several processes publish into one catalog at once, and how long one publication takes.

    python -m benchmarks writers --home HOME [--writers 1 2 4 8] [--documents 50] [--json]

The documents are variants of those in HOME's default library, created as in ``benchmarks/scale.py`` before the clock
starts. They are written to a new SQLite catalog, or to the empty PostgreSQL database that PAGEINDEX_POSTGRES_URL names,
with one library for each number of writers. Every writer is a process that publishes ``--documents`` documents, each in
its own transaction. If the catalog is busy, the writer tries again, as a worker does.

Each row shows the total pages and documents per second, and the median, 95th percentile and maximum time of a
publication. It also shows the number of retries and the processor time per document. The benchmark fails if a document
or the word statistics of a page are missing at the end.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from benchmarks.scale import Read, originals, thinned
from hybrid_core.errors import BusyError, PageIndexError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.documents import Publication
from hybrid_core.store.catalog.frequencies import EVERY, pages_holding
from hybrid_core.store.home import CATALOG
from hybrid_core.types.files import FileStamp

_MINUTES = 10  # that writers wait for each other to be ready


def varied(read: Sequence[Read], library: str, numbers: range) -> list[Publication]:
    """Return a publication for each number: a copy of one of the read documents with varied terms."""
    publications = []
    for number in numbers:
        document, version, content, counts = read[number % len(read)]
        sha256 = f"{library}-{number:016x}"
        publications.append(
            Publication(
                library=library, doc_id=sha256, path=f"/{library}/{number}/{document.name}",
                version=replace(version, sha256=sha256),
                content=replace(content, sha256=sha256, terms=thinned(counts, number)),
                card=replace(document.card, names=(f"Province {number}",), symbols=()),
                stamp=FileStamp(document.size, 0.0, 0.0, "", 0.0),
            )
        )  # fmt: skip
    return publications


def write(
    source: Path, target: Path, url: str, library: str, numbers: range, ready: Barrier, reports_queue: Queue[Any]
) -> None:
    """Prepare the documents of one writer, and publish them when all writers are ready."""
    catalog = Catalog(source)
    mine = varied(originals(catalog), library, numbers)
    catalog.close()
    catalog = Catalog(target, url)
    ready.wait(60 * _MINUTES)
    before, seconds, again = resource.getrusage(resource.RUSAGE_SELF), list[float](), 0
    for publication in mine:
        began = time.perf_counter()
        while True:
            try:
                catalog.publish(publication)
                break
            except BusyError:
                again += 1
        seconds.append(time.perf_counter() - began)
    after = resource.getrusage(resource.RUSAGE_SELF)
    catalog.close()
    reports_queue.put((seconds, again, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))


def publish(source: Path, target: Path, url: str, writers: int, documents: int) -> dict[str, float]:
    """Measure ``writers`` processes that publish ``documents`` documents each.

    Return a row of the table.
    """
    library = f"written-by-{writers}"
    catalog = Catalog(target, url)
    catalog.ensure_library(library)
    processes = multiprocessing.get_context("spawn")
    ready, reports_queue = processes.Barrier(writers + 1), processes.Queue()
    shares = [range(at * documents, (at + 1) * documents) for at in range(writers)]
    started = [
        processes.Process(target=write, args=(source, target, url, library, share, ready, reports_queue), daemon=True)
        for share in shares
    ]
    for process in started:
        process.start()
    ready.wait(60 * _MINUTES)
    began = time.perf_counter()
    reports = [reports_queue.get() for _ in started]
    took = time.perf_counter() - began
    for process in started:
        process.join()
    with catalog.snapshot() as snapshot:
        published, pages = len(snapshot.published(library)), snapshot.expected_pages(library)
    with catalog.reading() as connection:
        counted = pages_holding(connection, library, [EVERY])[EVERY]
    catalog.close()
    if published != writers * documents or counted != pages:
        sys.exit(f"{published} of {writers * documents} documents, {counted} of {pages} pages are there.")
    times = sorted(1000 * process for seconds, _, _ in reports for process in seconds)
    return {
        "writers": writers, "documents": published, "pages": pages, "pages_per_s": round(pages / took),
        "documents_per_s": round(published / took, 1), "p50_ms": round(times[len(times) // 2], 1),
        "p95_ms": round(times[int(len(times) * 0.95)], 1), "longest_ms": round(times[-1], 1),
        "again": sum(again for _, again, _ in reports),
        "cpu_ms_a_document": round(1000 * sum(cpu for _, _, cpu in reports) / published, 1),
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--writers", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--documents", type=int, default=50, help="that each of the writers publishes")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    url, rows = os.environ.get("PAGEINDEX_POSTGRES_URL", ""), []
    with tempfile.TemporaryDirectory() as temporary:
        for writers in options.writers:
            rows.append(publish(options.home / CATALOG, Path(temporary, CATALOG), url, writers, options.documents))
            if not options.json:
                print("  ".join(f"{name} {value:,}" for name, value in rows[-1].items()), flush=True)
    if options.json:
        print(json.dumps(rows))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PageIndexError as error:
        sys.exit(str(error))
