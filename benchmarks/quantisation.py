"""Measure how many of the exact nearest vectors a quantised collection finds.

    PAGEINDEX_QDRANT_BINARY=… python -m benchmarks quantisation HOME [--copies N]

HOME is a home with an embedded library, whose vectors are used. Quantisation needs many vectors, so each is stored N
times, and each copy is rotated slightly at random. Queries are vectors of the library that are rotated further. For
each kind of quantisation, the benchmark prints the recall of the 200 exact neighbours and the median time in
milliseconds.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import numpy as np
import numpy.typing as npt

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.home import CATALOG
from hybrid_core.store.index.points import Point, Query
from hybrid_core.store.index.server.collection import CollectionStore
from hybrid_core.store.index.server.connection import Layout, Quantization, connect
from tests import qdrant_real

Rows = npt.NDArray[np.float32]
_LIMIT = 200
_QUERIES = 100
_SHARE = 0.5  # of a copy that is not the vector itself


def turned(rows: Rows, share: float, seed: int) -> Rows:
    """Return the rows rotated: each is mixed with a random direction by ``share`` and scaled to length 1."""
    other = np.random.default_rng(seed).normal(size=rows.shape).astype(np.float32)
    mixed = rows + share * other / np.linalg.norm(other, axis=1, keepdims=True)
    return (mixed / np.linalg.norm(mixed, axis=1, keepdims=True)).astype(np.float32)


def stored(home: Path) -> Rows:
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary, CATALOG)
        copy.write_bytes((home / CATALOG).read_bytes())
        catalog = Catalog(copy)
        with catalog.reading() as connection:
            blobs = [row[0] for row in connection.exec_driver_sql("SELECT vector FROM embeddings")]
        catalog.close()
    return np.stack([np.frombuffer(blob, "<f2").astype(np.float32) for blob in blobs])


def points(rows: Rows) -> Iterator[Point]:
    none = np.zeros(0, np.uint32), np.zeros(0, np.float32)
    for number, row in enumerate(rows):
        yield Point(f"d{number // 100}", "c", number % 100 + 1, *none, dense=row)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("home", type=Path)
    parser.add_argument("--copies", type=int, default=3)
    options = parser.parse_args()
    if qdrant_real.program() is None:
        sys.exit(f"{qdrant_real.REASON}.")
    real = stored(options.home)
    rows = np.concatenate([real, *(turned(real, _SHARE, seed) for seed in range(1, options.copies))])
    some = np.random.default_rng(0).choice(len(real), _QUERIES, replace=False)
    queries = turned(real[some], _SHARE, 99)
    exact = np.argsort(-(queries @ rows.T), axis=1, kind="stable")[:, :_LIMIT]
    print(f"{len(real)} real vectors of {real.shape[1]} numbers, {len(rows)} with copies")
    with qdrant_real.cluster(1) as [node]:
        for kind in get_args(Quantization):
            server = connect(node.url, layout=Layout(on_disk=True, quantization=kind))
            store = CollectionStore(server, f"q-{kind}", rows.shape[1])
            store.refill(points(rows), 0)
            node.wait_for(lambda store=store: node.asked(f"/collections/{store.name}")["result"]["status"] == "green")
            shares, seconds = [], []
            for expected, query in zip(exact, queries, strict=True):
                began = time.perf_counter()
                hits = store.nearest(Query("dense", query.tolist(), _LIMIT))
                seconds.append(time.perf_counter() - began)
                payloads = store.payloads([id for id, _ in hits])
                numbers = {int(payload["doc_id"][1:]) * 100 + payload["page"] - 1 for payload in payloads.values()}
                shares.append(len(numbers.intersection(expected.tolist())) / _LIMIT)
            indexed = node.asked(f"/collections/{store.name}")["result"]["indexed_vectors_count"]
            recall = f"recall of the exact {_LIMIT}: {statistics.mean(shares):.4f}, least {min(shares):.3f}"
            print(
                f"{kind:7} {recall}; p50 {1000 * statistics.median(seconds):.1f} ms; {indexed} indexed",
                flush=True,
            )
            server.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
