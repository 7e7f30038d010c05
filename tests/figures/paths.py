"""Files and functions of our own that a warm search and the indexing of one PDF run through."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import tempfile
import threading
from contextlib import closing
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from hybrid_pageindex import Engine, run
from hybrid_pageindex.sample import SAMPLE_QUESTIONS, write_sample_report
from tests.figures.source import PACKAGES, ROOT
from tests.pdfs import fiscal_reports

_FOLDERS = tuple(f"{ROOT / package}{os.sep}" for package in PACKAGES)
_TOLD = "FIGURES_TOLD"  # names the file in which an indexing process says what it runs through
_STARTUP = f"import os\nif os.environ.get('{_TOLD}'):\n    from tests.figures.paths import tell; tell()\n"

Touched = set[tuple[str, int, str]]  # file, first line, name


def warm_search() -> Touched:
    """By a question to an engine that holds five reports and has answered others, packs heard, no model."""
    found: Touched = set()
    with tempfile.TemporaryDirectory() as folder:
        reports = [write_sample_report(Path(folder, "report.pdf")), *fiscal_reports(Path(folder))]
        with closing(Engine(Path(folder, "home"))) as engine:
            run(engine.index(reports))
            asked, *before = [one.question for one in SAMPLE_QUESTIONS]
            for question in before:
                engine.search_now(question, effort="fast")
            _note_into(found)
            engine.search_now(asked, effort="fast")
            sys.setprofile(None)
            threading.setprofile(None)
    return found


def indexing() -> tuple[Touched, Touched]:
    """By the process that is asked to index one PDF, and by its workers."""
    with tempfile.TemporaryDirectory() as folder:
        report, home, told = Path(folder, "report.pdf"), Path(folder, "home"), Path(folder, "told")
        write_sample_report(report)
        Path(folder, "sitecustomize.py").write_text(_STARTUP)
        program = f"from hybrid_pageindex import Engine, run; run(Engine({str(home)!r}).index({str(report)!r}))"
        environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", _TOLD: str(told)}
        parent = subprocess.Popen([sys.executable, "-c", program], env=environment, cwd=folder)
        if parent.wait():
            raise SystemExit("the sample could not be indexed")
        asking: Touched = set()
        working: Touched = set()
        for line in told.read_text().splitlines():
            pid, file, first, name = line.split("\t")
            (asking if int(pid) == parent.pid else working).add((file, int(first), name))
    return asking, working


def tell() -> None:
    """Have this process write down what it runs through: workers are killed, so nothing waits for an end."""
    told = os.open(os.environ[_TOLD], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    class Lines(Touched):
        def add(self, item: tuple[str, int, str]) -> None:
            if item not in self:
                os.write(told, "\t".join(map(str, (os.getpid(), *item))).encode() + b"\n")
            super().add(item)

    _note_into(Lines())


def _note_into(found: Touched) -> None:
    known: dict[CodeType, tuple[str, int, str] | None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        if code not in known:
            known[code] = _ours(code)
        item = known[code]
        if item is not None:
            found.add(item)

    threading.setprofile(note)
    sys.setprofile(note)


def _ours(code: CodeType) -> tuple[str, int, str] | None:
    """Bodies of modules and classes run while they are imported; comprehensions are part of their function."""
    runs = code.co_flags & inspect.CO_OPTIMIZED and not (code.co_name.startswith("<") and code.co_name != "<lambda>")
    ours = code.co_filename.startswith(_FOLDERS) and runs
    return (code.co_filename, code.co_firstlineno, code.co_qualname) if ours else None


def files_of(touched: Touched) -> int:
    return len({file for file, _, _ in touched})
