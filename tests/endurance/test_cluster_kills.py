"""A whole cluster under load, of which some process is killed, stands still or loses all it had, at any moment."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.reader import JobReader
from tests.endurance.machines import TOKEN, Machines, machines
from tests.endurance.nodes import lose_disk, stop_nodes

pytestmark = pytest.mark.endurance
_DOCUMENTS = 40
_HARMS = {"killed": 12, "paused": 6, "emptied": 2, "no quorum": 2, "disk lost": 1}  # and how often, to each other
_LONGEST = 60.0  # seconds until a search answers, or says why it does not
_SETTLED = 300.0  # seconds after the last kill in which everything is done


class Load:
    """Somebody who uploads, each text once, and some who search; what they were told."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._stop = threading.Event()
        self.sent: dict[str, list[str]] = {}
        """Of each document all texts, in their order."""
        self.accepted: dict[str, str] = {}
        """Of each the last text that was accepted."""
        self.answers: Counter[str] = Counter()
        self.unexplained: list[str] = []
        self.slowest = 0.0
        self._threads = [threading.Thread(target=self._upload), *(threading.Thread(target=self._search) for _ in "ab")]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _client(self) -> httpx.Client:
        return httpx.Client(base_url=self._url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=2 * _LONGEST)

    def _upload(self) -> None:
        with self._client() as client:
            client.headers["Content-Type"] = "application/octet-stream"
            number = 0
            while not self._stop.wait(0.3):
                number += 1
                name = f"bay-{number % _DOCUMENTS}.md"
                text = f"# Bay {number % _DOCUMENTS}\n\nThe heron of the bay was seen by {number} people.\n"
                self.sent.setdefault(name, []).append(text)
                try:
                    answer = client.post("/libraries/bays/documents", params={"name": name}, content=text.encode())
                except httpx.TransportError:
                    self.answers["upload: nobody there"] += 1
                    continue
                self._note("upload", answer, 202)
                if answer.status_code == 202:
                    self.accepted[name] = text

    def _search(self) -> None:
        with self._client() as client:
            while not self._stop.wait(0.2):
                began = time.monotonic()
                try:
                    asked = {"question": "who saw the heron of the bay", "libraries": ["bays"], "effort": "fast"}
                    answer = client.post("/search", json=asked)
                except httpx.TransportError as error:
                    self.answers["search: nobody there"] += 1
                    if isinstance(error, httpx.TimeoutException):
                        self.unexplained.append(f"search: nothing within {2 * _LONGEST} s")
                    continue
                self.slowest = max(self.slowest, time.monotonic() - began)
                self._note("search", answer, 200)
                if answer.status_code == 200 and self.accepted and not answer.json()["results"]:
                    self.answers["search: nothing found"] += 1

    def _note(self, what: str, answer: httpx.Response, well: int) -> None:
        said: dict[str, Any] = {} if answer.status_code == well else answer.json().get("error", {})
        self.answers[f"{what}: {answer.status_code} {said.get('code', '')}".strip()] += 1
        if answer.status_code != well and not (answer.status_code == 503 and said.get("message")):
            self.unexplained.append(f"{what}: {answer.status_code} {answer.text[:500]}")


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
        _compare(catalog, load, cluster)
        catalog.close()
    for what, times in sorted(done.items()):
        record_property(what, times)
    record_property("answers", dict(load.answers))
    record_property("slowest search, s", round(load.slowest, 1))
    assert not load.unexplained, load.unexplained[:5]
    assert load.slowest < _LONGEST


def _compare(catalog: Catalog, load: Load, cluster: Machines) -> None:
    """What is published is what was accepted, or sent after it; each version was published once; searches find it."""
    with catalog.snapshot() as snapshot:
        documents = {one.name: one for one in snapshot.documents("bays")}
        assert set(load.accepted) <= set(documents) <= set(load.sent)
        for name, accepted in load.accepted.items():
            content = snapshot.published("bays")[documents[name].doc_id]
            text = snapshot.pages(content)[0].text
            sent = load.sent[name]
            possible = sent[sent.index(accepted) :]
            assert any(one.split("\n\n")[1].strip() in text for one in possible), (name, text, possible)
        log = [(change.doc_id, change.content_id) for change in snapshot.changes("bays", 0)]
        twice = [one for one, times in Counter(log).items() if times > 1]
        assert not twice, twice
    assert JobReader(catalog).counts().failed == 0
    with httpx.Client(base_url=cluster.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as client:
        for name in documents:
            asked = {"question": "heron of the bay", "libraries": ["bays"], "documents": [name], "effort": "fast"}
            found = client.post("/search", json=asked).json()
            assert [one["doc_name"] for one in found["results"]] == [name], found
    asked = [sys.executable, "-m", "hybrid_pageindex", "doctor", "--deep"]
    checked = subprocess.run(
        asked, env={**os.environ, **cluster.variables}, capture_output=True, text=True, timeout=120
    )
    assert checked.returncode == 0, checked.stdout
