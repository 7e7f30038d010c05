"""An HTTP server under many clients, and under requests that nobody would write."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.http_load import load
from tests.endurance.described import SEQUENCES, STREAMS, describe_seeded, send_described
from tests.interfaces.http.conftest import START, serving, upload

pytestmark = pytest.mark.endurance
_CLIENTS = 200


async def test_no_request_of_many_clients_fails(
    tmp_path: Path, endurance_seconds: float, record_property: Callable[[str, object], None]
) -> None:
    with serving(tmp_path, PAGEINDEX_HTTP_REQUESTS_PER_MINUTE="0") as served:
        with served.client() as client:
            for name in ("bench", "arriving"):
                client.post("/libraries", json={"name": name})
            upload(client, "bench", mill="# The mill\n\nThe mill of the town cost 4,200 crowns.\n")
        found = await load(served.api, _CLIENTS, endurance_seconds, START)
    assert found["errors"] == [] and found["requests"] > _CLIENTS
    record_property(f"requests of {_CLIENTS} HTTP clients in {endurance_seconds:.0f} s", found["requests"])
    record_property("p95 of a search, ms", found["kinds"]["search"]["p95_ms"])


_CASES = 3_500
_MAKERS = ("createLibrary", "nameLibrary", "createVectorStore", "importLibrary", "makeSample")


def test_every_request_is_answered_as_it_is_described(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Schemathesis makes them from the description, of what is there and of what is not, with all of its checks.

    Last come sequences, in which one request uses what another made: documents, notes, jobs, tokens.
    """
    cases = 0
    with serving(tmp_path / "home", PAGEINDEX_HTTP_REQUESTS_PER_MINUTE="0") as served:
        with served.client() as client:
            client.post("/libraries", json={"name": "default"})
            upload(client, "default", mill="# The mill\n\nThe mill was sold.\n")
            [document] = client.get("/libraries/default/documents").json()["documents"]
            conversation = client.post("/conversations", json={"libraries": ["default"]}).json()["id"]
            there = {
                "library": "default", "document": document["doc_id"], "number": 1, "model": "default",
                "vector_store": "default", "file": document["doc_id"],
                "conversation": conversation, "job": client.get("/jobs").json()["jobs"][0]["id"],
                "note": client.post("/libraries/default/notes", json={"text": "A note."}).json()["id"],
                "message": client.post(f"/conversations/{conversation}/messages", json={"question": "sold"}).json()[
                    "id"
                ],
            }  # fmt: skip
            described = client.get("/openapi.json").json()
        single = describe_seeded(described, there)
        shared = describe_seeded(described, {name: there[name] for name in ("library", "model", "vector_store")})
        makers = [part for one in _MAKERS for part in ("--include-operation-id", one)]
        others = [part for one in _MAKERS for part in ("--exclude-operation-id", one)]
        others += ["--exclude-path-regex", f"{STREAMS}|/tokens|/settings", "--exclude-method", "DELETE"]
        phases = "examples,coverage,fuzzing"
        for name, schema, phase, count, operations in (
            ("others", single, phases, 4, others),  # first: they make no library of a name that a path may have
            ("makers", single, phases, 4, makers),
            ("sequences", shared, "stateful", 80, SEQUENCES),
        ):
            done = send_described(
                served.url, START, tmp_path, schema, operations, phases=phase, examples=count, seed=46
            )
            (tmp_path / f"{name}.txt").write_text(done.stdout)
            assert done.returncode == 0, done.stdout[-10000:]
            cases += sum(map(int, re.findall(r"(\d[\d,]*) generated", done.stdout.replace(",", ""))))
        with served.client() as client:
            assert client.get("/health").status_code == 200
        assert not [line for line in served.said if "Traceback" in line]
    assert cases >= _CASES
    record_property("cases made from the description, all answered as described", cases)
