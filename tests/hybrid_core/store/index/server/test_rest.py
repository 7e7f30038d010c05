"""The server's engine and real processes, over REST. Run as a script, this file is another process."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from hybrid_core.store.index.index import WeightedIndex
from hybrid_core.store.index.points import Query
from hybrid_core.store.index.server.connection import Server, connect
from tests.hybrid_core.store.index.edge import library as shared
from tests.hybrid_core.store.index.server.opening import opened
from tests.hybrid_core.text import test_bm25
from tests.qdrant_stub import Stub

pytestmark = pytest.mark.filterwarnings(
    "ignore:Local mode performs exact:UserWarning", "ignore:Payload indexes have no effect:UserWarning"
)


@pytest.mark.parametrize("backend", ["local mode", "its engine"])
def test_scores_equal_bm25s_lucene(stub: Stub, server: Server, backend: str) -> None:
    text = test_bm25.LICENCE.read_text(encoding="utf-8")
    passages = [terms for p in text.split("\n\n") if (terms := test_bm25.tokens.tokenise(p))]
    used = server if backend == "local mode" else connect(stub.url, "secret-key")
    source = test_bm25.Passages(passages)
    index = opened(used, source)
    for written in test_bm25.QUERIES:
        terms = test_bm25.query(written)
        hits = WeightedIndex(index, source).search(Query("bm25", (list(terms), list(terms.values())), 1000))
        asked = list(dict.fromkeys(test_bm25.tokens.tokenise(written)))
        theirs = test_bm25.oracle(passages).get_scores(asked)
        assert {hit.page - 1 for hit in hits} == set(np.flatnonzero(theirs))
        assert [hit.score for hit in hits] == pytest.approx([float(theirs[h.page - 1]) for h in hits], rel=5e-4)
        assert all(one.score >= two.score for one, two in pairwise(hits))
    used.close()


def writer(url: str, path: str) -> subprocess.Popen[bytes]:
    """Another process that opens the index and catches up until it is killed or told to end."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, __file__, url, path], env=environment, stdout=subprocess.PIPE)


def test_processes_that_are_killed_leave_a_right_index(stub: Stub, tmp_path: Path) -> None:
    library = shared.Library(tmp_path / "library.db")
    library.publish(("a", "a1", 30), ("b", "b1", 5), ("c", "c1", 15))
    rng = random.Random(5)
    others = [writer(stub.url, str(library.path)) for _ in range(3)]
    for other in others:
        assert other.stdout and other.stdout.readline() == b"open\n"
    for number in range(30):
        library.publish((rng.choice("abc"), f"n{number % 7}", rng.randint(1, 40)))
        if number % 5 == 1:
            library.remove(rng.choice("abc"))
        time.sleep(rng.random() / 30)
        if number in (10, 20):
            others[number // 20].send_signal(signal.SIGKILL)
    (tmp_path / "end").touch()
    assert [other.wait(600) for other in others] == [-signal.SIGKILL, -signal.SIGKILL, 0]
    with_key = connect(stub.url, "secret-key")
    index = opened(with_key, library)
    shared.right(index, library)  # type: ignore[arg-type]  # any index
    with_key.close()
    for other in others:
        assert other.stdout
        other.stdout.close()


def _be_a_process(url: str, path: str) -> None:
    library = shared.Library(Path(path))
    index = opened(connect(url, "secret-key"), library)
    print("open", flush=True)
    while not (Path(path).parent / "end").exists():
        index.catch_up(library)
    index.catch_up(library)


if __name__ == "__main__":
    _be_a_process(*sys.argv[1:])
