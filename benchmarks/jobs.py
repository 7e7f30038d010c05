"""Measure the speed of the job queue: jobs added and claimed per second, and the cost of many ended jobs.

    python -m benchmarks jobs [--jobs 5000] [--ended 1000000] [--processes 4]

The catalog is in a temporary home, and every write is durable (fsync), as in normal use. "claimed" is a claim and the
write that ends the job. Then ``--ended`` finished jobs are added, and 500 claims are timed among them. The benchmark
prints their median and maximum in milliseconds of wall time and of processor time. Other programs affect processor time
less. "folded away" is the time to delete old jobs until only the retained number is left.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import sys
import tempfile
import time
from pathlib import Path

from sqlalchemy import insert

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.control import Keep, fold
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.store.jobs.reader import JobReader
from hybrid_core.store.jobs.tables import jobs
from hybrid_core.types.jobs import JobRequest, JobUpdate

_ROUNDS = 500
_TOGETHER = 10_000


def request(number: int) -> JobRequest:
    return JobRequest("default", "index", f"/made/{number % 97}/report {number}.pdf", "parse", version=str(number))


def work(path: Path, name: str) -> int:
    """Claim and end jobs until none is left."""
    catalog, done = Catalog(path), 0
    queue = JobQueue(catalog)
    while taken := queue.claim(name, []):
        queue.advance(taken[0].fence, JobUpdate("done"))
        done += 1
    catalog.close()
    return done


def enqueue(path: Path, count: int) -> None:
    catalog = Catalog(path)
    JobQueue(catalog).enqueue([request(number) for number in range(count)])
    catalog.close()


def put_ended(catalog: Catalog, count: int) -> None:
    for start in range(0, count, _TOGETHER):
        values = [
            {
                "library": "default", "kind": "index", "subject": f"/old/{number}.pdf", "options": "{}", "needs": "",
                "key": f"old {number}", "version": "", "priority": 10, "status": "done", "stage": "parse",
                "created_at": 1, "started_at": 2, "finished_at": 10**12 + number, "claim": 1,
            }
            for number in range(start, min(count, start + _TOGETHER))
        ]  # fmt: skip
        with catalog.writing() as connection:
            connection.execute(insert(jobs), values)


def claims(queue: JobQueue) -> tuple[list[float], list[float]]:
    """Return the milliseconds of each claim: wall time, and this process's processor time, which other programs affect
    less.
    """
    times, used = [], []
    for _ in range(_ROUNDS):
        begun, cpu = time.perf_counter(), time.process_time()
        [taken] = queue.claim("w", [])
        times.append(1e3 * (time.perf_counter() - begun))
        used.append(1e3 * (time.process_time() - cpu))
        queue.advance(taken.fence, JobUpdate("done"))
    return times, used


def shown(times: list[float]) -> str:
    return f"{statistics.median(times):.2f} (at most {max(times):.2f})"


def per_second(count: int, begun: float) -> str:
    return f"{count / (time.perf_counter() - begun):,.0f} per second"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=5_000)
    parser.add_argument("--ended", type=int, default=1_000_000)
    parser.add_argument("--processes", type=int, default=4)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "catalog.sqlite"
        catalog = Catalog(path)
        queue, reader = JobQueue(catalog), JobReader(catalog)
        begun = time.perf_counter()
        queue.enqueue([request(number) for number in range(options.jobs)])
        print(f"enqueued in one call       {per_second(options.jobs, begun)}")
        begun = time.perf_counter()
        queue.enqueue([request(number) for number in range(options.jobs)])
        print(f"enqueued again, all joined {per_second(options.jobs, begun)}")
        begun = time.perf_counter()
        for number in range(options.jobs, options.jobs + _ROUNDS):
            queue.enqueue([request(number)])
        print(f"enqueued one by one        {per_second(_ROUNDS, begun)}")
        begun = time.perf_counter()
        claims(queue)
        print(f"claimed by one process     {per_second(_ROUNDS, begun)}")
        with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
            pool.starmap(work, [(Path(folder) / "none.sqlite", "start")])  # the processes are there
            begun = time.perf_counter()
            done = sum(pool.starmap(work, [(path, f"w{number}") for number in range(options.processes)], 1))
            print(f"claimed by {options.processes} processes     {per_second(done, begun)}")
        with multiprocessing.get_context("spawn").Pool(8) as pool:
            pool.starmap(work, [(Path(folder) / "none.sqlite", "start")] * 8, 1)
            begun = time.perf_counter()
            pool.starmap(enqueue, [(path, 1000)] * 8, 1)
            seconds = time.perf_counter() - begun
        print(f"8 processes with the same 1,000 files: {seconds:.1f} s, {reader.counts().waiting:,} jobs")
        put_ended(catalog, options.ended)
        queue.enqueue([request(number) for number in range(_ROUNDS)])
        times, used = claims(queue)
        print(f"a claim among {options.ended:,} ended jobs: {shown(times)} ms, of processor time {shown(used)} ms")
        begun = time.perf_counter()
        reader.listed(limit=50)
        print(f"a list of them: {1e3 * (time.perf_counter() - begun):.1f} ms")
        begun = time.perf_counter()
        gone = fold(catalog, Keep(days=36_500))
        seconds = time.perf_counter() - begun
        print(f"folded away: {gone:,} in {seconds:.1f} s")
        catalog.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
