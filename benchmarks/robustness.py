"""Check that every file is indexed or refused with a one-line reason: odd, damaged and ordinary PDFs.

    python -m benchmarks robustness [--data DIR | PATH…] [--workers N] [--json]

The public engine indexes into a new temporary home. ``slowest`` is by the seconds from a file's start to its first
publication, including the wait for a worker. ``later_by_ocr`` is by the additional seconds for reading scans. Memory is
the largest resident set of any single process, including Tesseract, sampled every 20 ms. The exit code is 1 if a file
took over 20 s or a process used over 1 GB. It is also 1 if a reason has several lines or a worker died.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil

from eval.datasets import data_folder
from hybrid_core.errors import PageIndexError
from hybrid_pageindex import Engine, Settings, run

_FOLDERS = ("robustness/pdf", "robustness/scans", "mmlongbench/pdfs", "cuad/pdfs")
_MOST_SECONDS, _MOST_BYTES = 20.0, 10**9
_SLOWEST = 8


class PeakMemory(threading.Thread):
    """Samples the memory of this process and its children, in bytes.

    ``largest`` is the maximum of one process, ``together`` that of all at once.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.largest = self.together = 0
        self._stop_asked = threading.Event()

    def run(self) -> None:
        root = psutil.Process()
        while not self._stop_asked.wait(0.02):
            sizes = [_resident(process) for process in [root, *root.children(recursive=True)]]
            self.largest = max(self.largest, *sizes)
            self.together = max(self.together, sum(sizes))

    def stop(self) -> None:
        self._stop_asked.set()
        self.join()


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


def measure(paths: list[Path], workers: int) -> dict[str, Any]:
    memory = PeakMemory()
    with tempfile.TemporaryDirectory() as temporary:
        engine = Engine(settings=Settings(storage_path=Path(temporary, "home"), workers=workers))
        memory.start()
        began = time.perf_counter()
        report = run(engine.index(paths))
        seconds = time.perf_counter() - began
        memory.stop()
        healthy = run(engine.admin.doctor()).ok
        unread = sum(page.needs_ocr for d in run(engine.documents.list()) for page in _pages(engine, d.doc_id, d.pages))
        engine.close()
    refused = [file for file in report.files if file.status == "failed"]
    slowest = sorted(report.files, key=lambda file: -file.seconds)[:_SLOWEST]
    return {
        "files": len(report.files),
        "indexed": sum(file.status != "failed" for file in report.files),
        "refused": len(refused),
        "pages": sum(file.pages for file in report.files),
        "pages_needing_ocr": unread,
        "seconds": round(seconds, 1),
        "largest_process_mb": round(memory.largest / 1e6),
        "all_processes_mb": round(memory.together / 1e6),
        "doctor_ok": healthy,
        "slowest": {_name(file.path): file.seconds for file in slowest},
        "later_by_ocr": {_name(file.path): file.ocr_seconds for file in report.files if file.ocr_seconds},
        "reasons": dict(Counter(_kind(file.error or "") for file in refused).most_common()),
        "refusals": {_name(file.path): file.error or "" for file in refused},
        "notes": dict(Counter(kind for file in report.files for kind in _notes(file.note)).most_common()),
    }


def _pages(engine: Engine, doc_id: str, pages: int) -> list[Any]:
    return run(engine.pages(doc_id, range(1, pages + 1))) if pages else []


def _name(path: str) -> str:
    return "/".join(Path(path).parts[-2:])


def _kind(error: str) -> str:
    """Return an error message without numbers and bracketed parts, by which refusals are grouped."""
    return re.sub(r"\([^()]*\)", "(…)", re.sub(r"\d+", "#", error))


def _notes(note: str) -> list[str]:
    return [_kind(part).split(": #")[0] for part in note.split("; ") if part]


def faults(report: dict[str, Any]) -> list[str]:
    """Return the faults of a run: slow files, large processes, refusals without a reason, or a damaged home."""
    messages = [f"{name} took {seconds} s" for name, seconds in report["slowest"].items() if seconds > _MOST_SECONDS]
    if report["largest_process_mb"] * 1e6 > _MOST_BYTES:
        messages.append(f"a process held {report['largest_process_mb']} MB")
    for name, reason in report["refusals"].items():
        if not reason or "\n" in reason or "died" in reason:
            messages.append(f"{name}: {reason!r}")
    return messages if report["doctor_ok"] else [*messages, "doctor finds the home unsound"]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--data")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    paths = options.paths or [data_folder(options.data) / folder for folder in _FOLDERS]
    report = measure(paths, options.workers)
    report["faults"] = faults(report)
    if options.json:
        print(json.dumps(report, ensure_ascii=False))
        return 1 if report["faults"] else 0
    for name, value in report.items():
        if isinstance(value, dict):
            print(f"\n{name}")
            for item, value_text in value.items():
                print(f"  {item}: {value_text}" if name == "refusals" else f"  {value_text!s:<8} {item}")
        else:
            print(f"{name:<22}{value}")
    return 1 if report["faults"] else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PageIndexError as error:
        sys.exit(str(error))
