"""Run many deep searches at once with a slow model. Check failures, connections and the database log.

    python -m benchmarks many_questions [--home DIR] [--questions 200] [--seconds 30] [--at-once 200] [--json]

The model is scripted and always names the first page. ``--at-once`` is the number of simultaneous calls (the setting
max_concurrent_calls); further questions wait. Connections are counted as open files of the catalog (Linux). The
write-ahead log must remain small, so the benchmark tests whether SQLite can checkpoint it.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from benchmarks.filings import indexed, options_of
from hybrid_core.errors import PageIndexError
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.limiter import Limiter
from hybrid_core.types.results import SearchResult
from hybrid_pageindex import Engine, run
from tests.doubles.replies import FakeEndpoint, FakeReply

_PAGE = {"document": "D1", "page": 1}
_SAID = json.dumps({"reasoning": "", "expand": [], "read": [], "pages": [_PAGE], "sections": []})


class Watch:
    """Count the catalog's open files and try to checkpoint its log, ten times a second."""

    def __init__(self, catalog: Path) -> None:
        self._catalog = catalog
        self.most, self.folds, self.busy = 0, 0, 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def stop(self) -> None:
        self._end.set()
        self._thread.join()

    def _look(self) -> None:
        other = sqlite3.connect(self._catalog, timeout=0)
        while not self._end.wait(0.1):
            self.most = max(self.most, self._open() - 1)  # without this one
            busy, _, _ = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            self.folds, self.busy = self.folds + 1, self.busy + busy
        other.close()

    def _open(self) -> int:
        open_files = 0
        for link in Path("/proc/self/fd").glob("*"):
            try:
                open_files += link.readlink() == self._catalog
            except OSError:
                continue
        return open_files


async def ask(engine: Engine, questions: list[str]) -> list[SearchResult | BaseException]:
    return await asyncio.gather(*(engine.search(q, effort="deep") for q in questions), return_exceptions=True)


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--at-once", type=int, default=200)
    options = parser.parse_args()
    with indexed(options) as (home, plain, dataset):
        plain.close()
        questions = [dataset.questions[n % len(dataset.questions)].text for n in range(options.questions)]
        endpoint = FakeEndpoint(lambda _: FakeReply(_SAID, wait=options.seconds))
        engine = Engine(home, chat=ChatModel(endpoint, limiter=Limiter(options.at_once)))
        watch = Watch(home / "catalog.sqlite")
        began = time.perf_counter()
        results = run(ask(engine, questions))
        seconds = time.perf_counter() - began
        watch.stop()
        engine.close()
    failed = [repr(result) for result in results if isinstance(result, BaseException)]
    answered = [result for result in results if not isinstance(result, BaseException)]
    fast = [result.effort.why for result in answered if result.effort.used != "deep"]
    report = {
        "questions": len(results),
        "failed": len(failed),
        "answered_by_the_model": len(answered) - len(fast),
        "seconds": round(seconds, 1),
        "most_connections": watch.most,
        "log_folded_back": f"{watch.folds - watch.busy} of {watch.folds} times",
    }
    print(json.dumps(report) if options.json else "\n".join(f"{name:<24}{value}" for name, value in report.items()))
    for why, count in Counter([*failed, *fast]).most_common(5):
        print(f"{count} times: {why}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PageIndexError as error:
        sys.exit(str(error))
