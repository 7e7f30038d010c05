"""Compare searches on a Qdrant server and on a cluster with searches of the embedded index.

    PAGEINDEX_QDRANT_BINARY=… python -m benchmarks cluster --home HOME [--questions 92] [--nodes 1 3] [--warm 10]

All indexes are built from a copy of HOME's catalog; ``benchmarks/scale.py --keep`` creates large ones. The same
questions are searched in an embedded index, on one node, and on three nodes with four shards and two replicas. The
cluster is measured undisturbed, with one node killed, and while that node catches up. The nodes run on this machine and
keep their files in memory.

Each row shows the points indexed per second, and the median, 95th percentile and maximum time of a warm search. It also
shows the processor time in this process and in all nodes. ``same`` counts the questions with the same pages in the same
order as in the embedded index. Their scores may differ by a millionth.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from eval.datasets.registry import load
from hybrid_core.errors import PageIndexError
from hybrid_core.store.home import CATALOG
from hybrid_pageindex import Engine
from hybrid_pageindex.config.settings import load_settings
from tests import qdrant_real

Row = dict[str, float | str]
Ranking = list[tuple[str, int, float]]
_TICKS = os.sysconf("SC_CLK_TCK")
_ALIKE = 1e-6


def worked(pids: Sequence[int]) -> float:
    """Return the processor time, in seconds, that these processes have used."""
    seconds = 0.0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        seconds += (int(fields[11]) + int(fields[12])) / _TICKS
    return seconds


def timed_searches(
    engine: Engine, questions: Sequence[str], pids: Sequence[int], warm: int
) -> tuple[Row, list[Ranking]]:
    for question in questions[:warm]:
        engine.search_now(question, effort="fast")
    own, others = time.process_time(), worked(pids)
    seconds, rankings = list[float](), list[Ranking]()
    for question in questions:
        began = time.perf_counter()
        ranking = engine.search_now(question, effort="fast")
        seconds.append(1000 * (time.perf_counter() - began))
        if late := [note for note in ranking.notes if "behind" in note]:
            sys.exit(late[0])
        rankings.append([(page.doc_id, page.page, page.score) for page in ranking.results])
    own, others = time.process_time() - own, worked(pids) - others
    ordered = sorted(seconds)
    return {
        "p50_ms": round(statistics.median(seconds), 1), "p95_ms": round(ordered[int(0.95 * len(ordered))], 1),
        "longest_ms": round(ordered[-1], 1), "cpu_ms": round(1000 * own / len(questions), 1),
        "nodes_cpu_ms": round(1000 * others / len(questions), 1),
    }, rankings  # fmt: skip


def same(actual: Ranking, expected: Ranking) -> bool:
    pages = [(doc, page) for doc, page, _ in actual] == [(doc, page) for doc, page, _ in expected]
    return pages and all(abs(hit[2] - other[2]) <= _ALIKE for hit, other in zip(actual, expected, strict=True))


@contextmanager
def opened(home: Path, urls: str = "", nodes: int = 1) -> Iterator[tuple[Engine, float]]:
    """Yield an engine that has indexed all documents, and the number of points written per second."""
    spread = {"qdrant_shards": 4, "qdrant_replicas": 2} if nodes > 1 else {}
    engine = Engine(settings=replace(load_settings(home), storage_path=home, qdrant_url=urls, **spread))
    try:
        began = time.perf_counter()
        points = engine._parts().indexes.ready("default").count()
        yield engine, points / (time.perf_counter() - began)
    finally:
        engine.close()


def measured(home: Path, questions: Sequence[str], nodes: Sequence[int], host: str, warm: int) -> Iterator[Row]:
    with opened(home) as (engine, rate):
        row, expected = timed_searches(engine, questions, [], warm)
    yield {"on": "embedded", "points_per_s": round(rate), **row}
    for many in nodes:
        with qdrant_real.cluster(many) as running:
            pids = [node.pid for node in running]
            urls = ",".join(node.url.replace("127.0.0.1", host) for node in running)
            with opened(home, urls, many) as (engine, rate):
                row, rankings = timed_searches(engine, questions, pids, warm)
                alike = sum(map(same, rankings, expected))
                yield {"on": f"{many} nodes", "points_per_s": round(rate), **row, "same": alike}
                if many < 3:
                    continue
                running[0].kill()
                row, rankings = timed_searches(engine, questions, pids[1:], warm=0)
                yield {"on": "one of them killed", **row, "same": sum(map(same, rankings, expected))}
                running[0].start()
                running[0].wait_for(running[0].answers)
                row, rankings = timed_searches(engine, questions, [node.pid for node in running], warm=0)
                yield {"on": "it is back", **row, "same": sum(map(same, rankings, expected))}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--data")
    parser.add_argument("--set", default="financebench", help="whose questions are asked")
    parser.add_argument("--questions", type=int, default=92)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 3])
    parser.add_argument("--warm", type=int, default=10, help="questions asked before they are counted")
    parser.add_argument("--host", default="127.1", help="which the client does not take for this machine")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if qdrant_real.program() is None:
        sys.exit(f"{qdrant_real.REASON}.")
    questions = [question.text for question in load(options.set, options.data).questions][: options.questions]
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        shutil.copy(options.home / CATALOG, home / CATALOG)
        for row in measured(home, questions, options.nodes, options.host, options.warm):
            print(json.dumps(row) if options.json else "  ".join(f"{k} {v}" for k, v in row.items()), flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PageIndexError as error:
        sys.exit(str(error))
