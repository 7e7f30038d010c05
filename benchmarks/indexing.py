"""Measure indexing speed, peak memory and disk use on real filings.

    python -m benchmarks indexing [--data DIR | PATH… | --made PAGES] [--workers N] [--plain] [--json]

The command line indexes into a new temporary home. Meanwhile the benchmark samples the memory of all processes. It adds
their resident set sizes, which count shared pages more than once, so the true use is lower.

--made generates one PDF with that many pages, to test whether memory grows with a document's length. Each page has a
heading and about 500 words, taken from the licence in random order. --plain also runs ``page.get_text("dict")`` alone
on the same PDFs, with as many processes, before and after. The benchmark then prints the ratio of both speeds, in pages
per second of processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from eval.datasets import data_folder
from hybrid_core.errors import PageIndexError
from hybrid_pageindex import Engine
from hybrid_pageindex.engine.libraries.libraries import folder_bytes

_READ = """
import sys, pymupdf
for path in sys.argv[1:]:
    with pymupdf.open(path) as document:
        for page in document:
            page.get_text("dict")
"""


def children_seconds() -> float:
    """Return the processor time, in seconds, of all child processes that have ended and were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def plain_seconds(paths: list[Path], workers: int) -> float:
    """Return the processor time of only extracting the text of all PDFs, with ``workers`` processes."""
    files = sorted(file for path in paths for file in ([path] if path.is_file() else path.rglob("*.pdf")))
    workers = workers or os.cpu_count() or 1
    before = children_seconds()
    readers = [subprocess.Popen([sys.executable, "-c", _READ, *files[at::workers]]) for at in range(workers)]
    ended = [reader.wait() for reader in readers]
    if any(ended):
        raise SystemExit("a PDF could not be read")
    return children_seconds() - before


def measure(paths: list[Path], workers: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary, "home")
        options = ["--workers", str(workers)] if workers else []
        program = [sys.executable, "-m", "hybrid_pageindex", "--home", str(home), "index", "--json", *options]
        program += map(str, paths)
        began, before = time.perf_counter(), children_seconds()
        with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            peak = 0
            while process.poll() is None:
                peak = max(peak, tree_bytes(process.pid))
                time.sleep(0.05)
            seconds = time.perf_counter() - began
            assert process.stdout
            files = json.loads(process.stdout.read())["files"]
        used = children_seconds() - before
        pages = sum(file["pages"] for file in files)
        engine = Engine(home)
        first = time.perf_counter()
        engine.search_now("anything at all", effort="fast")
        indexing_seconds = time.perf_counter() - first
        engine.close()
        disk = folder_bytes(home)
    return {
        "files": len(files),
        "failed": sum(file["status"] == "failed" for file in files),
        "pages": pages,
        "seconds": round(seconds, 2),
        "pages_per_second": round(pages / seconds, 1),
        "pages_per_cpu_second": round(pages / used, 1),
        "peak_memory_mb": round(peak / 1e6),
        "first_search_seconds": round(indexing_seconds, 2),
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
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        if options.made:
            paths = [Path(temporary, "made.pdf")]
            write_long(paths[0], options.made)
        else:
            paths = options.paths or [data_folder(options.data) / "financebench" / "pdfs"]
        plain = [plain_seconds(paths, options.workers)] if options.plain else []
        figures = measure(paths, options.workers)
        if plain:
            plain.append(plain_seconds(paths, options.workers))
            figures["plain_pages_per_cpu_second"] = round(figures["pages"] * len(plain) / sum(plain), 1)
            figures["share_of_plain"] = round(
                figures["pages_per_cpu_second"] / figures["plain_pages_per_cpu_second"], 3
            )
    print(json.dumps(figures) if options.json else "\n".join(f"{name:<22}{value}" for name, value in figures.items()))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PageIndexError as error:
        sys.exit(str(error))
