"""Indexing speed, peak memory and disk use on real filings.

    python benchmarks/indexing.py [--data DIR | PATH… | --made PAGES] [--workers N] [--json]

Indexes into a new temporary home with the command line, as a user would, and samples the memory of the
whole process tree (resident set sizes added: shared pages count more than once, so the truth is below).
--made writes one PDF of that many pages (the licence's sentences, shuffled, about 500 words and a heading on
each) to see whether memory grows with a document's length.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from eval.datasets import data_folder
from hybrid_core.errors import PageIndexError
from hybrid_pageindex import Engine
from hybrid_pageindex.services.upkeep import folder_bytes


def measure(paths: list[Path], workers: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary, "home")
        options = ["--workers", str(workers)] if workers else []
        program = [sys.executable, "-m", "hybrid_pageindex", "--home", str(home), "index", "--json", *options]
        program += map(str, paths)
        began = time.perf_counter()
        with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            peak = 0
            while process.poll() is None:
                peak = max(peak, tree_bytes(process.pid))
                time.sleep(0.05)
            seconds = time.perf_counter() - began
            assert process.stdout
            files = json.loads(process.stdout.read())["files"]
        pages = sum(file["pages"] for file in files)
        engine = Engine(home)
        first = time.perf_counter()
        engine.search_now("anything at all", effort="fast")
        made = time.perf_counter() - first
        engine.close()
        disk = folder_bytes(home)
    return {
        "files": len(files),
        "failed": sum(file["status"] == "failed" for file in files),
        "pages": pages,
        "seconds": round(seconds, 2),
        "pages_per_second": round(pages / seconds, 1),
        "peak_memory_mb": round(peak / 1e6),
        "first_search_seconds": round(made, 2),
        "disk_kb_per_page": round(disk / 1000 / pages, 2),
    }


def write_long(path: Path, pages: int) -> None:
    import random

    import pymupdf

    licence = (Path(__file__).parent.parent / "LICENSE").read_text(encoding="utf-8")
    sentences = [" ".join(s.split()) for s in licence.split(".") if len(s.split()) > 4]
    pick = random.Random(1)
    document = pymupdf.open()
    for number in range(1, pages + 1):
        page = document.new_page()
        page.insert_text((72, 72), f"{number}. {pick.choice(sentences)[:50].title()}", fontsize=16, fontname="hebo")
        text = ". ".join(pick.choices(sentences, k=18))
        page.insert_textbox(pymupdf.Rect(72, 90, 540, 800), text, fontsize=9, fontname="tiro")
    document.save(path)


def tree_bytes(pid: int) -> int:
    try:
        root = psutil.Process(pid)
        processes = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0
    total = 0
    for process in processes:
        try:
            total += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--data")
    parser.add_argument("--made", type=int, metavar="PAGES")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        if options.made:
            paths = [Path(temporary, "made.pdf")]
            write_long(paths[0], options.made)
        else:
            paths = options.paths or [data_folder(options.data) / "financebench" / "pdfs"]
        found = measure(paths, options.workers)
    print(json.dumps(found) if options.json else "\n".join(f"{name:<22}{value}" for name, value in found.items()))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PageIndexError as error:
        sys.exit(str(error))
