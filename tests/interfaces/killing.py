"""Workers and commands that wait, killed with kill -9 at any moment over a mixed folder."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from hybrid_core.llm.chat import Request
from hybrid_core.store.jobs.reader import JobReader
from hybrid_pageindex import Engine, run
from tests import pdfs
from tests.doubles.scripted_server import ScriptedServer
from tests.indexers.enrich.test_stage import reading

PAGES = 4
AT_ONCE = 8  # calls that a process makes together
_ANSWERED = ("SectionSummaries", "Description")


def answer(request: Request) -> Any:
    """Of the model: something of everything."""
    try:
        return reading(request)
    except AssertionError:
        return "nothing of use"


def mixed_folder(folder: Path) -> Path:
    """PDFs, notes, a pair with the same bytes, and one that is no PDF."""
    folder.mkdir()
    for number in range(6):
        pdfs.numbered(folder / f"{number:02}.pdf", PAGES, f"harbour {number}")
        (folder / f"{number:02}.md").write_text(f"# Note {number}\n\nThe heron of bay {number} is grey.\n")
    (folder / "same.md").write_bytes((folder / "00.md").read_bytes())
    pdfs.not_a_pdf(folder / "poison.pdf")
    return folder


class Killing:
    """``model`` answers what enriches the documents."""

    def __init__(self, home: Path, folder: Path, model: ScriptedServer, seed: int) -> None:
        self._home, self._folder, self._model = home, folder, model
        self._choose = random.Random(seed)
        self._alive: dict[str, subprocess.Popen[bytes]] = {}
        self.killed: Counter[str] = Counter()

    def run(self, kills: int) -> None:
        """A worker and two commands over the same folder, of which one is killed and begun again, so many times."""
        usual = self._whole()
        for _ in range(kills):
            for name in ("worker", "index", "other"):
                if name not in self._alive or self._alive[name].poll() is not None:
                    self._alive[name] = self._begin("worker" if name == "worker" else "index")
            self._change()
            time.sleep(self._choose.uniform(0.1, 1.0) * usual)
            victim = self._choose.choice(list(self._alive))
            process = self._alive.pop(victim)
            if process.poll() is None:
                process.kill()
                self.killed[victim] += 1
            process.wait()
            self.check()
        for process in self._alive.values():
            process.send_signal(signal.SIGTERM if process is self._alive.get("worker") else signal.SIGINT)
        for process in self._alive.values():
            process.wait(600)

    def finish(self) -> None:
        """A last command ends what is left: nothing waits, nothing runs, nothing is lost or half."""
        assert self._begin("index").wait(600) == 1, "one file is no PDF"
        engine = Engine(self._home)
        try:
            counts = JobReader(engine._catalog()).counts()
            assert (counts.waiting, counts.running) == (0, 0), counts
            found = {document.name: document for document in run(engine.documents.list())}
            assert len(found) == 14 and [name for name, one in found.items() if not one.published] == ["poison.pdf"]
            self.check()
            assert run(engine.admin.doctor()).ok
        finally:
            engine.close()
        assert not list((self._home / "tmp").iterdir()), "working files of what was killed"

    def check(self) -> None:
        """What is published is whole: every page is there, and of one version of its file."""
        if not (self._home / "catalog.sqlite").exists():
            return
        engine = Engine(self._home)
        try:
            for document in run(engine.documents.list()) if run(engine.libraries.list()) else ():
                if document.published and document.name.endswith(".pdf"):
                    pages = run(engine.pages(document.doc_id, f"1-{document.pages}"))
                    topic = next(line for line in pages[0].text.splitlines() if line)
                    assert len(pages) == PAGES and topic, document.name
        finally:
            engine.close()

    def repeated(self) -> int:
        """How many calls the model heard again, of those whose reply can be used: only such a reply is kept."""
        asked = Counter(str(request.messages) for request in self._model.requests if request.title in _ANSWERED)
        return sum(times - 1 for times in asked.values())

    def _change(self) -> None:
        """Another version of one of the files, in one step, as an editor saves."""
        number = self._choose.randrange(6)
        made = pdfs.numbered(self._folder / f".{number}.new", PAGES, f"harbour {number} {self._choose.random()}")
        made.rename(self._folder / f"{number:02}.pdf")

    def _whole(self) -> float:
        """Seconds that a command takes which has nothing to do but to start and end."""
        began = time.monotonic()
        subprocess.run([*self._program("list")], capture_output=True, check=False, env=self._environment())
        return 2 * (time.monotonic() - began)

    def _begin(self, command: str) -> subprocess.Popen[bytes]:
        more = [str(self._folder)] if command == "index" else ["--concurrency", "1"]
        return subprocess.Popen(
            [*self._program(command), *more], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=self._environment(),
        )  # fmt: skip

    def _program(self, command: str) -> list[str]:
        return [sys.executable, "-m", "hybrid_pageindex", "--home", str(self._home), command]

    def _environment(self) -> dict[str, Any]:
        said = {"LLM_MODEL": "scripted", "LLM_BASE_URL": self._model.url, "WORKERS": "1", "OCR": "never"}
        return {**os.environ, **{f"PAGEINDEX_{name}": value for name, value in said.items()}}
