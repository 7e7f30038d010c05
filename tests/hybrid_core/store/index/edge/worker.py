"""Another process that has an Edge index open. Run as a script, this file is that process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from hybrid_core.store.index.edge.store import open_edge
from tests.hybrid_core.store.index.edge.library import MANIFEST, Library, right


class Worker:
    """This file run as a script: opens the index, then does what it is told line by line."""

    def __init__(self, folder: Path, library: Library, *, wait: bool = True) -> None:
        command = [sys.executable, "-P", __file__, str(folder), str(library.path)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.opened = self.read() if wait else {}

    def read(self) -> dict[str, object]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the worker died"
        answer: dict[str, object] = json.loads(line)
        return answer

    def tell(self, word: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def ask(self, word: str) -> dict[str, object]:
        self.tell(word)
        return self.read()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def work(folder: Path, library: Library) -> None:
    """The other process: says that it has opened the index, then obeys."""
    index = open_edge(folder, library, MANIFEST)
    print(json.dumps({"private": index.store.private, "rebuilt": index.rebuilt}), flush=True)
    for word in sys.stdin:
        match word.strip():
            case "right":
                index.catch_up(library)
                right(index, library)
                print(json.dumps({"right": index.position}), flush=True)
            case "churn":
                for number in range(1_000_000):
                    library.publish((f"n{number % 50}", f"x{os.getpid()}-{number}", number % 25))
                    index.catch_up(library)
                    time.sleep(0.005)  # on one core nobody who looks for a free lock would ever find one


if __name__ == "__main__":
    work(Path(sys.argv[1]), Library(Path(sys.argv[2])))
