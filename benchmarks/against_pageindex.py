"""Compare the indexing speed with that of the package ``pageindex``, on the same files in one run.

    python -m venv /tmp/pageindex && /tmp/pageindex/bin/pip install pageindex
    python -m benchmarks against_pageindex --python /tmp/pageindex/bin/python [--data DIR] [--files 5]

``pageindex`` runs ``page_index_flash(pdf, summary=False, optimize=False)``, which builds a tree without summaries,
chunks or a search index. This project runs the whole ``index`` command, including its start.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from benchmarks.indexing import measure
from eval.datasets import data_folder
from hybrid_core.errors import PageIndexError

_FLASH = """
import json, sys, time
from pageindex import page_index_flash
import contextlib, io
began = time.perf_counter()
for path in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()):
        page_index_flash(path, summary=False, optimize=False)
print(json.dumps(time.perf_counter() - began))
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--python", required=True, help="a Python with the pageindex package")
    parser.add_argument("--data")
    parser.add_argument("--files", type=int, default=5)
    options = parser.parse_args()
    folder = data_folder(options.data) / "financebench" / "pdfs"
    files = sorted(folder.glob("*.pdf"))[: options.files]
    ours = measure(files, 0)
    flash = subprocess.run(
        [options.python, "-c", _FLASH, *map(str, files)], capture_output=True, text=True, check=False
    )
    if flash.returncode:
        sys.exit(f"page_index_flash failed: {flash.stderr[-500:]}")
    seconds = float(json.loads(flash.stdout.strip().splitlines()[-1]))
    pages = ours["pages"]
    print(f"{len(files)} files, {pages:.0f} pages: {', '.join(Path(f).stem for f in files)}")
    print(f"PageIndex Flash   {seconds:8.1f} s   {pages / seconds:7.1f} pages/s   trees only")
    times = seconds / ours["seconds"]
    speed = ours["pages_per_second"]
    print(f"Hybrid PageIndex  {ours['seconds']:8.1f} s   {speed:7.1f} pages/s   {times:.1f} times as fast")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PageIndexError as error:
        sys.exit(str(error))
