"""Measure how much scans delay files with text that are indexed in the same run.

    python -m benchmarks scans_beside [--files 40] [--pages 20] [--decks 6] [--slides 6] [--json]

Two commands index two folders with the same PDFs. One folder also has scanned slide decks whose names come first. The
benchmark prints the seconds until the first and the last file with text can be searched. It also prints the pages with
text per second until then. The last figure is the seconds until the last deck is read. Times are wall time; ``cpu`` is
the processor time of all processes of the command.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def write_texts(folder: Path, files: int, pages: int) -> None:
    import pymupdf  # here, behind the packages that switch its libraries' telemetry off

    for number in range(files):
        document = pymupdf.open()
        for page in range(pages):
            words = " ".join(f"harbour{number} quay{page} crate{number * page % 97} is weighed" for _ in range(60))
            document.new_page().insert_htmlbox((60, 60, 535, 780), f"<h2>Part {page + 1}</h2><p>{words}</p>")
        document.save(folder / f"text-{number:03d}.pdf")


def write_decks(folder: Path, decks: int, slides: int) -> None:
    import pymupdf  # as above

    for number in range(decks):
        deck = pymupdf.open()
        for slide in range(slides):
            drawn = pymupdf.open()
            points = "".join(f"<li>Point {point}: crane {number}-{slide} lifts {point} t</li>" for point in range(12))
            drawn.new_page(width=720, height=405).insert_htmlbox(
                (40, 40, 680, 380), f"<h1>Slide {slide + 1} of deck {number}</h1><ul>{points}</ul>"
            )
            deck.new_page(width=720, height=405).insert_image((0, 0, 720, 405), pixmap=drawn[0].get_pixmap(dpi=150))
        deck.save(folder / f"deck-{number:03d}.pdf")


def index(folder: Path, home: Path) -> dict[str, float]:
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "hybrid_pageindex", "index", str(folder), "--home", str(home), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    times: dict[str, float] = {}
    pages = 0
    for line in process.stderr or ():
        event = json.loads(line) if line.startswith("{") else {}
        now = round(time.monotonic() - began, 1)
        if event.get("event") != "document":
            continue
        if Path(event["path"]).name.startswith("text"):
            pages += event["pages"]
            times.setdefault("first text", now)
            times["last text"] = now
        elif not event["unread"]:
            times["last deck"] = now
    process.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    times["text pages/s"] = round(pages / times["last text"], 1)
    times["cpu"] = round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1)
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--pages", type=int, default=20)
    parser.add_argument("--decks", type=int, default=6)
    parser.add_argument("--slides", type=int, default=6)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = {}
    with tempfile.TemporaryDirectory() as temporary:
        for name, decks in (("text alone", 0), ("with decks", options.decks)):
            folder = Path(temporary) / name.replace(" ", "-")
            folder.mkdir()
            write_texts(folder, options.files, options.pages)
            write_decks(folder, decks, options.slides)
            figures[name] = index(folder, Path(temporary) / f"home-{decks}")
    if options.json:
        print(json.dumps(figures))
        return 0
    for name, times in figures.items():
        print(name, "; ".join(f"{what} {value}" for what, value in times.items()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
