"""Measure the seconds from saving a file until a search finds it, while a watch of its folder is running.

    python -m benchmarks watching [--files N] [--pages N] [--others N] [--poll] [--json]

The watch is started by the command line in its own process. This process searches continuously. Each new file is a PDF
with unique words. It is saved in one step into a folder that already contains --others files.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from hybrid_pageindex import Engine, run
from tests import pdfs


def seconds_until_found(engine: Engine, folder: Path, number: int, pages: int) -> float:
    topic = f"watched {number}"
    file = pdfs.numbered(folder.with_name(f"{number}.pdf"), pages, topic)
    landmark = pdfs.landmark(topic, pages)
    file.rename(folder / file.name)
    saved = time.monotonic()
    while True:
        results = run(engine.search(landmark, top_k=1, effort="fast")).results
        if results and results[0].doc_name == file.name and results[0].page == pages:
            return time.monotonic() - saved
        if time.monotonic() > saved + 120:
            raise SystemExit(f"{file.name} was not found for two minutes")
        time.sleep(0.05)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=10)
    parser.add_argument("--pages", type=int, default=10)
    parser.add_argument("--others", type=int, default=20)
    parser.add_argument("--poll", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder, home = Path(temporary, "files"), Path(temporary, "home")
        folder.mkdir()
        for number in range(options.others):
            pdfs.numbered(folder / f"other-{number}.pdf", 3, f"other {number}")
        engine = Engine(home)
        run(engine.index(folder))
        run(engine.sources.watch_folder(folder, poll=options.poll))
        command = [sys.executable, "-m", "hybrid_pageindex", "--home", str(home), "watch", "--json"]
        watch = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ)
        try:
            time.sleep(5)  # until it has looked at the folder once
            taken = [seconds_until_found(engine, folder, number, options.pages) for number in range(options.files)]
        finally:
            watch.terminate()
            watch.wait()
            engine.close()
    figures = {"files": options.files, "pages": options.pages, "median": median(taken), "most": max(taken)}
    rounded = {name: round(value, 2) for name, value in figures.items()}
    print(json.dumps(rounded) if options.json else ", ".join(f"{name} {value}" for name, value in rounded.items()))


if __name__ == "__main__":
    main()
