"""Each part of a cluster is away for a minute while clients work and documents are indexed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.reader import JobReader
from tests import buckets
from tests.doubles.scripted_server import scripted_server
from tests.endurance.load import LONGEST, Load, compare
from tests.endurance.machines import TOKEN, Machines, machines
from tests.relay import Relay

pytestmark = pytest.mark.endurance
_CLIENTS = {"search": 8, "upload": 4, "ask": 4, "read": 4}
_DOCUMENTS = 200  # uploaded at once before each outage
_RECOVERED = 60.0  # seconds after the end of an outage
_SETTLED = 600.0
_MISSING = {"PostgreSQL": "catalog", "Qdrant": "search", "bucket": "originals"}
"""The name of each part in ``/ready``. The server works without the others."""


class _Load(Load):
    """A load whose readers know what is published."""

    reader: Callable[[], set[str]] = staticmethod(set)

    def published(self) -> set[str]:
        return self.reader()


@pytest.mark.parametrize("part", ["PostgreSQL", "Qdrant", "Redis", "bucket", "workers"])
def test_while_a_part_is_away_requests_are_answered_or_refused_and_all_recovers(
    part: str, tmp_path: Path, endurance_seconds: float, record_property: Callable[[str, object], None]
) -> None:
    pytest.importorskip("redis", reason="the extra celery is not installed")
    with (
        buckets.bucket() as address,
        scripted_server(lambda _: "The heron was seen by many people [1].") as model,
    ):
        host = urlsplit(address.endpoint)
        relay = Relay((str(host.hostname), int(host.port or 80)))
        named = buckets.variables(address) | {
            "PAGEINDEX_OBJECTS_ENDPOINT": f"http://127.0.0.1:{relay.port}", "PAGEINDEX_LLM_MODEL": "scripted",
            "PAGEINDEX_LLM_BASE_URL": model.url, "PAGEINDEX_LLM_API_KEY": "none",
        }  # fmt: skip
        try:
            with _cluster(tmp_path, named) as (cluster, catalog):
                _try(part, cluster, relay, catalog, endurance_seconds, record_property)
        finally:
            relay.kill()


@contextmanager
def _cluster(folder: Path, variables: Mapping[str, str]) -> Iterator[tuple[Machines, Catalog]]:
    with machines(folder, variables) as cluster:
        _wait(lambda: _missing(cluster) == {}, _SETTLED)
        with _client(cluster) as client:
            client.post("/libraries", json={"name": "bays"})
        catalog = Catalog(folder / "reader" / "catalog.sqlite", cluster.variables["PAGEINDEX_POSTGRES_URL"])
        try:
            yield cluster, catalog
        finally:
            catalog.close()


def _try(
    part: str, cluster: Machines, relay: Relay, catalog: Catalog, seconds: float, record: Callable[[str, object], None]
) -> None:
    reader = JobReader(catalog)
    parts = {name: [one for one in cluster.parts if one.name.startswith(name)] for name in ("PostgreSQL", "Qdrant")}
    parts |= {"Redis": [one for one in cluster.parts if one.name in ("Redis", "celery")]}
    parts |= {"workers": [one for one in cluster.parts if one.name.startswith(("worker", "celery"))]}
    stopped = parts.get(part, [relay])
    with _Load(cluster.url, **_CLIENTS) as load:
        load.reader = _published(catalog)
        _wait(lambda: reader.counts().done >= 10, _SETTLED)
        with _client(cluster) as client:
            for number in range(_DOCUMENTS):
                content = f"# Cove {number}\n\nThe curlew of cove {number} sleeps.\n".encode()
                kind = {"Content-Type": "application/octet-stream"}
                sent = client.post(
                    "/libraries/bays/documents", params={"name": f"cove-{number}.md"}, content=content, headers=kind
                )
                assert sent.status_code == 202, sent.text
        before = load.answers.copy()
        for one in stopped:
            one.kill()
        end = time.monotonic() + seconds
        missing: dict[str, str] = {}
        while time.monotonic() < end:
            with suppress(httpx.TransportError):
                missing |= _missing(cluster)
            time.sleep(1)
        during = load.answers - before
        for one in stopped:
            one.start()
        began = time.monotonic()
        _wait(lambda: _works(cluster, reader), _RECOVERED)
        recovered = time.monotonic() - began
    record("during the outage", dict(during))
    record("missing", missing)
    record("recovered after, s", round(recovered, 1))
    record("slowest request, s", round(load.slowest, 1))
    _wait(lambda: not (reader.counts().waiting or reader.counts().running), _SETTLED)
    assert set(missing) == ({_MISSING[part]} if part in _MISSING else set()), missing
    assert not load.unexplained, (len(load.unexplained), load.unexplained[:5])
    assert not load.wrong, load.wrong[:5]
    assert load.slowest < LONGEST
    coves = {f"cove-{number}.md" for number in range(_DOCUMENTS)}
    assert coves <= _published(catalog)()
    load.sent["cape.md"] = ["# Cape\n\nSeen from the cape.\n"]
    load.sent |= {name: [f"# {name}\n\nThe curlew of {name[:-3].replace('-', ' ')} sleeps.\n"] for name in coves}
    compare(catalog, load, cluster)


def _published(catalog: Catalog) -> Callable[[], set[str]]:
    """Return a function that lists the published documents, renewed each second and kept while there is no catalog."""
    state: tuple[float, set[str]] = (0.0, set())

    def names() -> set[str]:
        nonlocal state
        if time.monotonic() > state[0] + 1:
            found = state[1]
            with suppress(Exception), catalog.snapshot() as snapshot:
                found = {document.name for document in snapshot.documents("bays")}
            state = time.monotonic(), found
        return state[1]

    return names


def _works(cluster: Machines, reader: JobReader) -> bool:
    """Return whether the server misses nothing, a search answers, and an upload is published."""
    with suppress(httpx.TransportError), _client(cluster) as client:
        if client.get("/ready").status_code != 200:
            return False
        body = {"question": "heron", "libraries": ["bays"], "effort": "fast"}
        if client.post("/search", json=body).status_code != 200:
            return False
        done = reader.counts().done
        kind = {"Content-Type": "application/octet-stream"}
        text = f"# Cape\n\nSeen from the cape at {time.monotonic()}.\n".encode()
        sent = client.post("/libraries/bays/documents", params={"name": "cape.md"}, content=text, headers=kind)
        if sent.status_code != 202:
            return False
        with suppress(AssertionError):
            _wait(lambda: reader.counts().done > done, 5)
            return True
    return False


def _missing(cluster: Machines) -> dict[str, str]:
    with _client(cluster) as client:
        try:
            missing: dict[str, str] = client.get("/ready").json().get("missing", {})
        except httpx.ConnectError:
            return {"server": "It does not answer."}
        return missing


def _client(cluster: Machines) -> httpx.Client:
    return httpx.Client(base_url=cluster.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=2 * LONGEST)


def _wait(fulfilled: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not fulfilled():
        assert time.monotonic() < until
        time.sleep(0.5)
