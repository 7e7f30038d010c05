"""The Edge index in several processes, and kill -9."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from hybrid_core.store.index.edge.store import open_edge
from tests.hybrid_core.store.index.edge.library import MANIFEST, Library, Opener, right
from tests.hybrid_core.store.index.edge.worker import Worker


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
