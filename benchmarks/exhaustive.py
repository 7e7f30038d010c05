"""Measure how long exhaustive searches take in a large generated library, by kind of pattern.

    python -m benchmarks exhaustive [--pages 100000] [--home DIR] [--runs 20] [--json]

The patterns are words, phrases and regular expressions. The texts are drawn from a vocabulary of 50,000 words by Zipf's
law, with about 250 words per page. One document is indexed, and the others are published as copies with their own
texts. Only ``grep`` is measured, because ranking would need the term counts of the copies. Times are medians over
patterns and runs. Processor times are shown too, because other programs affect them less. The first search builds the
word index and has its own row. With ``--home`` the library is kept and used again.
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

import numpy as np

from hybrid_core.errors import PageIndexError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.documents import Publication
from hybrid_core.store.home import CATALOG
from hybrid_core.types.files import FileStamp
from hybrid_pageindex import Engine, GrepRequest, run
from hybrid_pageindex.config.settings import load_settings

_WORDS, _PER_PAGE, _PER_DOCUMENT = 50_000, 250, 100
_SYLLABLES = "ba co di fer gal hum ist jor kel lum mon nar pol rus tam vek".split()


def vocabulary() -> list[str]:
    """Return distinct words, ordered by their rank in Zipf's law."""
    rng = np.random.default_rng(1)
    words: dict[str, None] = {}
    while len(words) < _WORDS:
        words["".join(rng.choice(_SYLLABLES, rng.integers(2, 5)))] = None
    return list(words)


def page_texts(words: list[str], document: int, pages: int) -> list[str]:
    """Return the texts of a document's pages, which are the same at each call.

    Each page begins with a contract number.
    """
    rng = np.random.default_rng(document)
    ranks = np.minimum(rng.zipf(1.2, (pages, _PER_PAGE)), _WORDS) - 1
    return [
        f"Contract {document % 97}-{page:04d}/{1900 + document % 120}\n"
        + "\n".join(" ".join(words[rank] for rank in row[at : at + 12]) + "." for at in range(0, _PER_PAGE, 12))
        for page, row in enumerate(ranks.tolist())
    ]


def grow(home: Path, words: list[str], pages: int) -> int:
    """Add documents to a home's default library until it has about ``pages`` pages. Return the number of pages."""
    engine = Engine(settings=load_settings(home, {}))
    first = "\n\n".join(f"# Part {at}\n\n{text}" for at, text in enumerate(page_texts(words, 0, _PER_DOCUMENT)))
    run(engine.index(first.encode(), name="first.md"))
    engine.close()
    catalog = Catalog(home / CATALOG)
    with catalog.snapshot() as snapshot:
        [document] = snapshot.documents("default")
        content, version = snapshot.content(document.content_id), snapshot.version(document.content_id)
    assert content is not None and version is not None
    have, number = document.pages, 0
    while have < pages:
        number += 1
        texts = page_texts(words, number, len(content.pages))
        sha256 = f"{number:064x}"
        copies = tuple(
            replace(page, text=text, summary="", boxes=(), places=())
            for page, text in zip(content.pages, texts, strict=True)
        )
        catalog.publish(
            Publication(
                library="default", doc_id=f"{number:012x}", path=f"/generated/{number}.md",
                version=replace(version.version, sha256=sha256),
                content=replace(content, sha256=sha256, pages=copies, chunks=()), card=document.card,
                stamp=FileStamp(document.size, 0.0, 0.0, "", 0.0),
            )
        )  # fmt: skip
        have += len(copies)
    catalog.close()
    return have


def timed(engine: Engine, request: GrepRequest) -> tuple[float, float, int]:
    """Return the wall time and the processor time of a search in milliseconds, and the number of matching pages."""
    began, worked = time.perf_counter(), time.process_time()
    result = run(engine.grep(request))
    took = (1000 * (time.perf_counter() - began), 1000 * (time.process_time() - worked))
    if not result.complete:
        raise PageIndexError(f"The search for {request.pattern} is not complete.")
    return *took, result.total_pages


def measured(home: Path, words: list[str], runs: int) -> list[dict[str, float | str]]:
    """Measure searches by kind of pattern, and return the rows of the table.

    Every regular expression is new, so that no scan is cached.
    """
    kinds = {
        "word, frequent": [GrepRequest(words[at]) for at in range(20, 20 + runs)],
        "word, rare": [GrepRequest(words[at]) for at in range(5_000, 5_000 + runs)],
        "word, documents listed": [GrepRequest(words[at], listed="documents") for at in range(200, 200 + runs)],
        "prefix": [GrepRequest(f"{words[at][:5]}*") for at in range(300, 300 + runs)],
        "phrase": [GrepRequest(f"{words[at]} {words[at + 1]}") for at in range(50, 50 + runs)],
        "regex with letters": [GrepRequest(rf"{words[at]}\w* \w+\.", regex=True) for at in range(400, 400 + runs)],
        "regex without letters": [GrepRequest(rf"\b{at}-00\d\d/19[0-5]\d", regex=True) for at in range(min(runs, 5))],
    }
    rows: list[dict[str, float | str]] = []
    engine = Engine(settings=load_settings(home, {}))
    try:
        first, worked, _ = timed(engine, GrepRequest(words[7]))
        rows.append({"kind": "first search", "ms": round(first, 1), "cpu_ms": round(worked, 1), "pages": 0})
        for kind, requests in kinds.items():
            timings = [timed(engine, request) for request in requests]
            clock, processor, pages = (statistics.median(column) for column in zip(*timings, strict=True))
            rows.append({"kind": kind, "ms": round(clock, 1), "cpu_ms": round(processor, 1), "pages": pages})
    finally:
        engine.close()
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    words = vocabulary()
    with tempfile.TemporaryDirectory() as temporary:
        home = options.home or Path(temporary, "home")
        if not (home / CATALOG).exists():
            grow(home, words, options.pages)
        rows = measured(home, words, options.runs)
    if options.json:
        print(json.dumps(rows))
    else:
        for row in rows:
            print(f"{row['kind']:<24}{row['ms']:>10} ms  {row['cpu_ms']:>10} ms of processor  {row['pages']:>8} pages")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PageIndexError as error:
        sys.exit(str(error))
