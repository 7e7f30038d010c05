"""The Edge index in several processes, and kill -9. Run as a script, this file is the other process."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hybrid_core.store.index.edge.store import open_edge
from tests.hybrid_core.store.qdrant_edge.library import MANIFEST, Library, Opener, right


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


@pytest.fixture
def start(folder: Path, library: Library) -> Iterator[Callable[..., Worker]]:
    workers: list[Worker] = []

    def starter(*, wait: bool = True) -> Worker:
        workers.append(Worker(folder, library, wait=wait))
        return workers[-1]

    yield starter
    for worker in workers:
        worker.kill()


def test_two_processes_read_while_the_first_follows_the_log(
    start: Callable[..., Worker], reopen: Opener, library: Library, folder: Path
) -> None:
    worker = start()
    assert worker.opened == {"private": False, "rebuilt": ""}
    index = reopen()
    assert (index.store.private, index.rebuilt) == (True, "")
    for number in range(5):
        library.publish(("a", f"new{number}", 40 + number))
        worker.tell("right")
        index.catch_up(library)
        right(index, library)
        assert worker.read() == {"right": library.position()}
    worker.kill()
    index.catch_up(library)
    right(index, library)
    after = open_edge(folder, library, MANIFEST)  # the owner is dead: the next to open owns the shard
    with closing(after):
        assert (after.store.private, after.rebuilt) == (False, "")
        right(after, library)


def test_copies_taken_while_the_owner_writes_are_whole(
    start: Callable[..., Worker], reopen: Opener, library: Library
) -> None:
    library.publish(*((f"n{number}", f"n{number}", 10) for number in range(200)))
    worker = start()
    worker.tell("churn")
    copies = [reopen() for _ in range(8)]
    worker.kill()
    for index in copies:
        assert (index.store.private, index.rebuilt) == (True, "")
        index.catch_up(library)
        right(index, library)


def test_the_folder_of_a_killed_reader_is_removed(start: Callable[..., Worker], reopen: Opener, folder: Path) -> None:
    index = reopen()
    reader, other = start(), start()
    assert reader.opened["private"] and other.opened["private"]
    assert len(list((folder / "private").iterdir())) == 2
    reader.kill()
    third = reopen()
    assert len(list((folder / "private").iterdir())) == 2  # the living reader's and the new one
    assert other.ask("right") == {"right": index.position}
    third.close()


def test_kill_at_any_moment_of_a_catch_up(start: Callable[..., Worker], library: Library, folder: Path) -> None:
    rng = random.Random(5)
    open_edge(folder, library, MANIFEST).close()
    for round_ in range(15):
        library.publish(*((f"n{number}", f"n{number}-{round_}", rng.randint(0, 30)) for number in range(40)))
        library.remove(f"n{rng.randrange(40)}")
        worker = start(wait=False)
        worker.tell("churn")
        time.sleep(rng.uniform(0.2, 0.6))
        worker.process.send_signal(signal.SIGKILL)
        worker.process.communicate()
        with closing(open_edge(folder, library, MANIFEST)) as index:
            assert not index.store.private
            right(index, library)


def test_kill_while_it_is_rebuilt(start: Callable[..., Worker], library: Library, folder: Path) -> None:
    library.publish(*((f"n{number}", f"n{number}", 20) for number in range(200)))
    for delay in (0.3, 0.45, 0.6):
        (folder / "state.json").unlink(missing_ok=True)
        worker = start(wait=False)
        time.sleep(delay)
        worker.kill()
    with closing(open_edge(folder, library, MANIFEST)) as index:
        right(index, library)


def test_threads_catch_up_at_once(reopen: Opener, library: Library) -> None:
    index = reopen()
    library.publish(*((f"n{number}", f"n{number}", 5) for number in range(100)))
    threads = [threading.Thread(target=index.catch_up, args=(library,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    right(index, library)


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
