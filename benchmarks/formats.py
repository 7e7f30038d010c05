"""Measure the pages per second and the memory of each format's reader, on a folder of files of many kinds.

    python -m benchmarks formats FOLDER [--json]

Each format is read in its own process, as a worker reads it: open the file, detect headings, and split it into pages.
Nothing is indexed, and OCR does not run. Seconds are processor time.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

from hybrid_core.errors import PageIndexError
from indexers.formats.limits import ParseLimits
from indexers.formats.registry import format_of, of_suffix, open_file


def read(paths: list[str]) -> dict[str, float]:
    """Read files in this process. Return counts of files, pages and refused files, processor seconds, and peak memory
    in MB.
    """
    totals: dict[str, float] = defaultdict(int, files=len(paths))
    began = time.process_time()
    for path in paths:
        try:
            file = open_file(Path(path), None, ParseLimits())
            file.info()
            totals["pages"] += sum(1 for _ in file.read(range(1, file.pages + 1), lambda _: None))
            file.close()
        except PageIndexError:
            totals["refused"] += 1
    totals["seconds"] = round(time.process_time() - began, 2)
    totals["mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return dict(totals)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    by: dict[str, list[str]] = defaultdict(list)
    for path in sorted(options.folder.rglob("*")):
        if path.is_file() and of_suffix(path.suffix) is not None:
            by[format_of(path).name].append(str(path))
    figures = {}
    for name, paths in sorted(by.items()):
        done = subprocess.run(
            [sys.executable, __file__, "--read"], input=json.dumps(paths), capture_output=True, text=True, check=True
        )
        figures[name] = json.loads(done.stdout)
    if options.json:
        print(json.dumps(figures))
        return 0
    print(f"{'format':10}{'files':>7}{'refused':>9}{'pages':>8}{'pages/s':>9}{'MB':>6}")
    for name, row in figures.items():
        speed = row.get("pages", 0) / max(row["seconds"], 0.01)
        print(f"{name:10}{row['files']:7}{row.get('refused', 0):9}{row.get('pages', 0):8}{speed:9.0f}{row['mb']:6.0f}")
    return 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--read"]:
        print(json.dumps(read(json.load(sys.stdin))))
    else:
        raise SystemExit(main())
