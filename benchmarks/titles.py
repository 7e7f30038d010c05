"""Measure how many documents get the right title: ``python -m benchmarks titles [KIND…]``.

``data/titles.jsonl`` contains titles that people wrote down from the documents' first pages. A title is right if it
equals one of them, comparing only letters and digits and ignoring case.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import unicodedata
from collections import Counter
from pathlib import Path

from hybrid_pageindex.engine.engine import Engine


def key(title: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKC", title).casefold() if c.isalnum())


async def main() -> None:
    data, kinds = Path(os.environ["PAGEINDEX_EVAL_DATA"]), sys.argv[1:]
    rows = (Path(__file__).parent / "data" / "titles.jsonl").read_text(encoding="utf-8").splitlines()
    gold = {row["file"]: row["titles"] for row in map(json.loads, rows)}
    gold = {file: titles for file, titles in gold.items() if not kinds or file.split("/")[0] in kinds}
    right: Counter[str] = Counter()
    total = Counter(file.split("/")[0] for file in gold)
    with tempfile.TemporaryDirectory() as home:
        engine = Engine(home=Path(home))
        for number, file in enumerate(gold):  # a library each: the same file may stand in two sets
            await engine.index(data / file, library=f"d{number}")
            title = (await engine.documents.list(library=f"d{number}"))[0].title
            if key(title) in map(key, gold[file]):
                right[file.split("/")[0]] += 1
            else:
                print(f"wrong  {file}\n       {title!r}, not {gold[file][0]!r}")
    for kind, count in total.items():
        print(f"{kind:<14}{right[kind]:>3} of {count}")
    print(f"{'all':<14}{right.total():>3} of {total.total()}")


if __name__ == "__main__":
    asyncio.run(main())
