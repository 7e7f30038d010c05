"""How search latency grows with the library: real filings, published again and again under invented names.

    python benchmarks/scale.py [--data DIR] [--pages 10000 30000 100000] [--svg FILE] [--json]

Each copy is a document of its own in the catalog and in the vector index; its card bears another name, so that
questions still route to one company. Medians over all questions, warm, in process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from eval.datasets import load
from hybrid_core.errors import PageIndexError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.types.documents import Document
from hybrid_core.types.files import FileStamp
from hybrid_pageindex import Engine, run
from hybrid_pageindex.services.sizes import folder_bytes

STAGES = ("total", "coarse", "gather", "pages", "results")


def grow(catalog: Catalog, originals: list[Document], have: int, pages: int) -> int:
    """Publish copies until the library has about ``pages`` pages; returns how many it has."""
    copy = have
    while have < pages:
        original = originals[copy % len(originals)]
        with catalog.snapshot() as snapshot:
            [version] = [one.version for one in snapshot.versions(original.sha256)]
        names = tuple(f"{name} of Province {copy}" for name in original.card.names)
        catalog.publish(
            library="default",
            doc_id=f"copy{copy:07}",
            path=f"/copies/{copy}/{original.name}",
            version=version,
            content=None,
            card=replace(original.card, names=names, symbols=()),
            stamp=FileStamp(original.size, 0.0, 0.0, "", 0.0),
        )
        have += original.pages
        copy += 1
    return have


def latency(engine: Engine, questions: list[str]) -> dict[str, float]:
    for question in questions[:5]:
        engine.search_now(question, effort="fast")
    timings = [engine.search_now(question, effort="fast").timings_ms for question in questions]
    return {stage: round(statistics.median(t[stage] for t in timings), 2) for stage in STAGES}


def draw(rows: list[dict[str, float]], file: Path) -> None:
    """A chart of two lines, pages across (logarithmic), milliseconds up."""
    import math

    width, height, left, bottom = 640, 360, 60, 310
    top = max(row["total"] for row in rows) * 1.1
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
    for stage, colour in (("total", "#1f77b4"), ("coarse", "#d62728")):
        line = " ".join(f"{x(row):.1f},{y(row[stage]):.1f}" for row in rows)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        name = "whole search" if stage == "total" else "coarse pass"
        parts.append(f'<text x="{x(rows[-1]) + 8:.0f}" y="{y(rows[-1][stage]) + 4:.0f}" fill="{colour}">{name}</text>')
    file.write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data")
    parser.add_argument("--pages", type=int, nargs="+", default=[7_000, 10_000, 30_000, 100_000])
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    dataset = load("financebench", options.data)
    questions = [question.text for question in dataset.questions]
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        engine = Engine(temporary)
        run(engine.index(dataset.files))
        originals = run(engine.documents())
        have = sum(document.pages for document in originals)
        for pages in sorted(options.pages):
            engine.close()  # what follows is measured as after a start
            catalog = Catalog(Path(temporary, "catalog.sqlite"))
            have = grow(catalog, originals, have, pages)
            catalog.close()
            began = time.perf_counter()
            engine.search_now(questions[0], effort="fast")
            taken_up = time.perf_counter() - began
            row: dict[str, float] = {"library": have, "take_up_s": round(taken_up, 1), **latency(engine, questions)}
            row["vector_mb"] = round(folder_bytes(Path(temporary, "libraries")) / 1e6, 1)
            rows.append(row)
            if not options.json:
                print("  ".join(f"{name} {value:,}" for name, value in row.items()), flush=True)
        engine.close()
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
