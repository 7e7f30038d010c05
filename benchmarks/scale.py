"""Measure how search time grows with the library, with real documents published many times in varied copies.

    python -m benchmarks scale [--data DIR] [--home HOME] [--pages 10000 100000] [--keep DIR] [--svg FILE] [--json]

Each copy is a separate document with another name on its card. It keeps a random three quarters of the word
occurrences, so that no two pages have equal scores. HOME's default library is enlarged; without it the financebench
filings are indexed. A Qdrant server or PostgreSQL is used if the settings name one.

Each row shows the pages, the documents, the publications and points per second, and the first search of a new process.
It also shows the memory that two searches add (private, and mapped from files), and the median, 95th percentile and
steps of warm searches.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from eval.datasets.registry import load
from hybrid_core.errors import PageIndexError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.documents import Publication
from hybrid_core.store.home import CATALOG
from hybrid_core.text.terms import TermCounts
from hybrid_core.types.documents import Document, IndexedContent
from hybrid_core.types.files import ContentVersion, FileStamp
from hybrid_pageindex import Engine, run
from hybrid_pageindex.config.settings import load_settings

STAGES = ("open", "coarse", "gather", "pages", "results")
_KEPT_SHARE = 0.75  # of the occurrences of words that a copy keeps
_COPY = "0000"  # begins the ids of copies, of twelve hexadecimal digits like those of any document
_ORIGINALS = 100  # contents that are held in memory at once, to be copied

Read = tuple[Document, ContentVersion, IndexedContent, TermCounts]


def thinned(counts: TermCounts, copy: int) -> bytes:
    """Return the term counts of pages with a random part left out, different for each copy.

    Pages keep their lengths.
    """
    chosen = np.random.default_rng(copy).random(len(counts.pages)) < _KEPT_SHARE
    before = np.append(0, np.cumsum(chosen))
    starts = before[counts.starts]
    present = np.flatnonzero(np.diff(starts))
    thin = TermCounts(
        counts.terms[present],
        np.append(starts[present], starts[-1]),
        counts.pages[chosen],
        counts.counts[chosen],
        counts.lengths,
    )
    return thin.to_bytes()


def originals(catalog: Catalog) -> list[Read]:
    with catalog.snapshot() as snapshot:
        documents = [
            entry for entry in snapshot.documents("default") if entry.published and not entry.doc_id.startswith(_COPY)
        ]
        read = list[Read]()
        for document in random.Random(0).sample(documents, min(_ORIGINALS, len(documents))):
            content, version = snapshot.content(document.content_id), snapshot.version(document.content_id)
            if content is not None and version is not None:
                read.append((document, version.version, content, TermCounts.from_bytes(content.terms)))
        return read


def grow(catalog: Catalog, read: list[Read], copy: int, have: int, pages: int) -> tuple[int, int]:
    """Publish copies until the library has about ``pages`` pages. Return the next copy's number and the number of
    pages.
    """
    while have < pages:
        document, version, content, counts = read[copy % len(read)]
        sha256 = f"{copy:064x}"
        names = tuple(f"{name} of Province {copy}" for name in document.card.names)
        catalog.publish(
            Publication(
                library="default",
                doc_id=f"{_COPY}{copy:08x}",
                path=f"/copies/{copy}/{document.name}",
                version=replace(version, sha256=sha256),
                content=replace(content, sha256=sha256, terms=thinned(counts, copy)),
                card=replace(document.card, names=names, symbols=()),
                stamp=FileStamp(document.size, 0.0, 0.0, "", 0.0),
            )
        )
        have += document.pages
        copy += 1
    return copy, have


def resident() -> tuple[float, float]:
    """Return this process's memory in MB: private memory, and memory mapped from files, which the system can
    reclaim.
    """
    all_, mapped = (int(word) for word in Path("/proc/self/statm").read_text(encoding="ascii").split()[1:3])
    return (all_ - mapped) * resource.getpagesize() / 1e6, mapped * resource.getpagesize() / 1e6


def opened(home: Path) -> Engine:
    return Engine(settings=replace(load_settings(home), storage_path=home))


def first_search(home: Path, question: str) -> dict[str, float]:
    """Measure the first search of a new process, without its imports, and return the figures."""
    engine = opened(home)
    before, began, worked = resident(), time.perf_counter(), time.process_time()
    result = engine.search_now(question, effort="fast")
    seconds, processor = time.perf_counter() - began, time.process_time() - worked
    engine.search_now(question, effort="fast")
    after = resident()
    engine.close()
    own, mapped = (now - then for now, then in zip(after, before, strict=True))
    return {
        "first_s": round(seconds, 2), "first_cpu_s": round(processor, 2),
        "first_own_mb": round(own, 1), "first_mapped_mb": round(mapped, 1),
        "first_open_s": round(result.timings_ms["open"] / 1000, 2),
    }  # fmt: skip


def warm(engine: Engine, questions: list[str]) -> dict[str, float]:
    for question in questions[:10]:
        engine.search_now(question, effort="fast")
    worked = time.process_time()
    timings = [engine.search_now(question, effort="fast").timings_ms for question in questions]
    worked = time.process_time() - worked
    totals = sorted(t["total"] for t in timings)
    stages = {stage: round(statistics.median(t[stage] for t in timings), 2) for stage in STAGES}
    return {
        "p50": round(totals[len(totals) // 2], 2), "p95": round(totals[int(len(totals) * 0.95)], 2),
        "cpu": round(1000 * worked / len(questions), 2), **stages,
    }  # fmt: skip


def measured(home: Path, questions: list[str]) -> dict[str, float]:
    own = [sys.executable, __file__, "--first", questions[0], "--home", str(home)]
    fresh = [json.loads(subprocess.run(own, check=True, capture_output=True, text=True).stdout) for _ in range(3)]
    row: dict[str, float] = {name: min(times[name] for times in fresh) for name in fresh[0]}
    engine = opened(home)
    row |= warm(engine, questions)
    engine.close()
    return row


def draw(rows: list[dict[str, float]], file: Path) -> None:
    """Write a chart with two lines: pages on a logarithmic x axis, milliseconds on the y axis."""
    import math

    width, height, left, bottom = 640, 360, 60, 310
    top = max(row["p50"] for row in rows) * 1.1
    low, high = (math.log10(rows[at]["library"]) for at in (0, -1))

    def x(row: dict[str, float]) -> float:
        return left + (width - left - 110) * (math.log10(row["library"]) - low) / max(high - low, 1e-9)

    def y(value: float) -> float:
        return bottom - (bottom - 30) * value / top

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif"',
        ' font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{left}" y="18">Median latency of a warm search (ms) by pages in the library</text>',
        f'<path d="M{left} 30V{bottom}H{width - 100}" fill="none" stroke="#888"/>',
    ]
    for tick in range(5):
        value = top * tick / 4
        parts.append(f'<text x="{left - 8}" y="{y(value) + 4:.0f}" text-anchor="end">{value:.0f}</text>')
    parts += [
        f'<text x="{x(row):.0f}" y="{bottom + 18}" text-anchor="middle">{row["library"]:,.0f}</text>' for row in rows
    ]
    for stage, colour in (("p50", "#1f77b4"), ("coarse", "#d62728")):
        line = " ".join(f"{x(row):.1f},{y(row[stage]):.1f}" for row in rows)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        name = "whole search" if stage == "p50" else "coarse pass"
        parts.append(f'<text x="{x(rows[-1]) + 8:.0f}" y="{y(rows[-1][stage]) + 4:.0f}" fill="{colour}">{name}</text>')
    file.write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data")
    parser.add_argument("--home", type=Path)
    parser.add_argument("--pages", type=int, nargs="+", default=[10_000, 30_000, 100_000])
    parser.add_argument("--keep", type=Path, help="folder in which the grown home stays, and goes on growing")
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--first", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.first:
        print(json.dumps(first_search(options.home, options.first)))
        return 0
    dataset = load("financebench", options.data)
    questions = [question.text for question in dataset.questions]
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        home = options.keep or Path(temporary, "home")
        if options.home and not home.exists():
            home.mkdir(parents=True)
            shutil.copy(options.home / CATALOG, home / CATALOG)
        elif not home.exists():
            engine = opened(home)
            run(engine.index(dataset.files))
            engine.close()
        catalog = Catalog(home / CATALOG, os.environ.get("PAGEINDEX_POSTGRES_URL", ""))
        read = originals(catalog)
        with catalog.snapshot() as snapshot:
            copy = sum(doc_id.startswith(_COPY) for doc_id in snapshot.published("default"))
            have = snapshot.expected_pages("default")
        for pages in sorted(options.pages):
            before, began = have, time.perf_counter()
            copy, have = grow(catalog, read, copy, have, pages)
            published = time.perf_counter() - began
            began = time.perf_counter()
            engine = opened(home)
            engine._parts().indexes.ready("default")
            taken_up = time.perf_counter() - began
            engine.close()
            row: dict[str, float] = {"library": have, "copies": copy}
            if have > before:
                row |= {
                    "published_per_s": round((have - before) / published),
                    "points_per_s": round((have - before) / taken_up),
                }
            row |= measured(home, questions)
            row["catalog_mb"] = round((home / CATALOG).stat().st_size / 1e6)
            rows.append(row)
            if not options.json:
                print("  ".join(f"{name} {value:,}" for name, value in row.items()), flush=True)
        catalog.close()
    if options.svg:
        draw(rows, options.svg)
    if options.json:
        print(json.dumps(rows))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PageIndexError as error:
        sys.exit(str(error))
