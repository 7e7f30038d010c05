"""A whole cluster under load, of which some process is killed, stands still or loses all it had, at any moment."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.reader import JobReader
from tests.endurance.load import LONGEST, Load, compare
from tests.endurance.machines import TOKEN, Machines, machines
from tests.endurance.nodes import lose_disk, stop_nodes

pytestmark = pytest.mark.endurance
_HARMS = {"killed": 12, "paused": 6, "emptied": 2, "no quorum": 2, "disk lost": 1}  # and how often, to each other
_SETTLED = 300.0  # seconds after the last kill in which everything is done


def _harm(cluster: Machines, choose: random.Random, done: Counter[str], what: str) -> None:
    """One thing that can happen, until it is over."""
    if what == "emptied":
        import redis

        with redis.Redis.from_url(cluster.redis.url) as messages:
            messages.flushall()
        done["Redis emptied"] += 1
        return
    if what == "disk lost":
        number = choose.randrange(len(cluster.nodes))
        done[f"Qdrant {number} lost its disk"] += 1
        lose_disk(cluster, number, _SETTLED)
        return
    if what == "no quorum":
        done["two nodes of Qdrant stopped"] += 1
        stop_nodes(choose.sample(cluster.nodes, 2), choose.uniform(2, 8))
        return
    part = choose.choice(cluster.parts)
    done[f"{part.name} {what}"] += 1
    if what == "killed":
        part.kill()
        time.sleep(choose.uniform(0, 4))
        part.start()
    else:
        part.pause()
        try:
            time.sleep(choose.uniform(0, 8))
        finally:
            part.resume()


def _ready(url: str) -> None:
    until = time.monotonic() + _SETTLED
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=30) as client:
        while True:
            try:
                if client.get("/ready").status_code == 200:
                    client.post("/libraries", json={"name": "bays"})
                    return
            except httpx.TransportError:
                pass
            assert time.monotonic() < until
            time.sleep(0.2)


def test_whatever_is_killed_nothing_is_lost_or_published_twice_and_searches_answer(
    tmp_path: Path, endurance_seconds: float, record_property: Callable[[str, object], None], endurance_seed: int
) -> None:
    pytest.importorskip("redis", reason="the extra celery is not installed")
    choose, done = random.Random(endurance_seed), Counter[str]()
    with machines(tmp_path) as cluster:
        _ready(cluster.url)
        with Load(cluster.url) as load:
            end = time.monotonic() + endurance_seconds
            first = choose.sample(list(_HARMS), len(_HARMS))  # each once, however short it is
            while time.monotonic() < end:
                time.sleep(choose.uniform(0.5, 3))
                _harm(cluster, choose, done, first.pop() if first else choose.choices([*_HARMS], [*_HARMS.values()])[0])
        _ready(cluster.url)
        catalog = Catalog(tmp_path / "reader" / "catalog.sqlite", cluster.variables["PAGEINDEX_POSTGRES_URL"])
        reader = JobReader(catalog)
        until = time.monotonic() + _SETTLED
        while (counts := reader.counts()).waiting or counts.running:
            assert time.monotonic() < until, counts
            time.sleep(0.5)
        compare(catalog, load, cluster)
        catalog.close()
    for what, times in sorted(done.items()):
        record_property(what, times)
    record_property("answers", dict(load.answers))
    record_property("slowest search, s", round(load.slowest, 1))
    assert not load.unexplained, load.unexplained[:5]
    assert not load.wrong, load.wrong[:5]
    assert load.slowest < LONGEST
