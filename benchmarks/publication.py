"""Measure how much one publication delays the next search, for libraries of several sizes.

    python -m benchmarks publication [--documents 1000 20000] [--rounds 15]

The documents have one page and generated cards, with several documents per organisation. In each round one document is
published and the same question is searched twice. The difference between both searches is the time to update the index,
the view of the library and the router. Figures are medians in milliseconds. "open" is this step as reported by the
search itself.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.documents import Publication
from hybrid_core.types.documents import Card
from hybrid_core.types.files import ContentVersion, FileStamp
from hybrid_pageindex import Engine, run

TYPES = ("annual report", "quarterly report", "current report", "agreement")
SYLLABLES = "ba do fen gor hal ix jun kel lor mex nim os pra quil rho sten tur val wex yor".split()
ENDINGS = ("Inc.", "Holdings", "Water Works", "International Ltd", "Optics Company")


def card(number: int) -> Card:
    """Return the card of a generated report. Four consecutive numbers belong to one organisation."""
    rng = random.Random(number // 4)
    name = "".join(rng.choices(SYLLABLES, k=3)).capitalize() + " " + rng.choice(ENDINGS)
    year, kind = 2010 + number % 15, TYPES[number % len(TYPES)]
    return Card(
        names=(name,), years=(year,), quarter=1 + number % 3 if kind == "quarterly report" else None,
        date=f"{year}-12-31", dates=(f"{year}-12-31",), type=kind, title=f"{kind} {year} of {name}",
    )  # fmt: skip


def publish(catalog: Catalog, version: ContentVersion, number: int) -> None:
    catalog.publish(
        Publication(
            library="default",
            doc_id=f"made{number:07}",
            path=f"/made/{number % 97}/report {number}.md",
            version=version,
            content=None,
            card=card(number),
            stamp=FileStamp(1, 0.0, 0.0, "1", 0.0),
        )
    )


def measured(documents: int, rounds: int) -> tuple[float, float, float]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "first.md"
        file.write_text("# Tides\n\nThe weir was built by the harbour works in fiscal 2019.\n", encoding="utf-8")
        engine = Engine(Path(folder) / "home")
        run(engine.index(file))
        catalog = Catalog(Path(folder) / "home" / "catalog.sqlite")
        with catalog.snapshot() as snapshot:
            (first,) = snapshot.documents("default")
            [version] = [document.version for document in snapshot.versions(first.sha256)]
        for number in range(documents):
            publish(catalog, version, number)
        question = f"What did {card(documents // 2).names[0]} say of the weir in 2014?"
        engine.search_now(question, effort="fast")
        after, warm, opened = [], [], []
        for number in range(documents, documents + rounds):
            publish(catalog, version, number)
            for times in (after, warm):
                begun = time.perf_counter()
                result = engine.search_now(question, effort="fast")
                times.append(1e3 * (time.perf_counter() - begun))
                if times is after:
                    opened.append(result.timings_ms["open"])
        catalog.close()
        engine.close()
    return statistics.median(after), statistics.median(warm), statistics.median(opened)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, nargs="+", default=[1000, 20_000])
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    print(f"{'documents':>10}{'after one':>12}{'again':>10}{'open':>10}")
    for documents in options.documents:
        after, warm, opened = measured(documents, options.rounds)
        print(f"{documents:>10}{after:>12.1f}{warm:>10.1f}{opened:>10.1f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
