"""An HTTP server under many clients, and under requests that nobody would write."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.http_load import load
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
_CHECKS = """
[checks]
# What fits the description and not the library (a cursor of another list, a conversation's other branch) is 400, and
# so are fields that contradict each other (a section without its document) and what no schema describes (a regular
# expression, a name of a ranking parameter). 422 says that a request does not fit the description.
positive_data_acceptance.expected-statuses = ["2xx", "3xx", "400", "401", "403", "404", "409", "429", "5xx"]
negative_data_rejection.expected-statuses = ["400", "401", "403", "404", "405", "406", "409", "413", "422", "5xx"]
""" + "".join(
    f"""
[[operations]]
include-name = "POST {path}"
checks.positive_data_acceptance.enabled = false  # no schema says what is in a file, or on a disk
"""
    for path in ("/api/v1/imports", "/api/v1/libraries/{library}/index", "/api/v1/libraries/{library}/sources")
)
_CHECKS += "".join(
    f"""
[[operations]]
include-name = "POST /api/v1/libraries/{{library}}/{kind}"
checks.ensure_resource_availability.enabled = false  # 404 is also said of a document that the body names
"""
    for kind in ("notes", "feedback")
)
_STREAMS = "events|/session|/clear"
_STAY = ("changeSettings", "deleteLibrary", "deleteVectorStore", "nameLibrary")
"""Nothing that a sequence of requests does takes the library away that it is about."""


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
        (tmp_path / "schemathesis.toml").write_text(_CHECKS)
        single = _describe_seeded(described, there)
        shared = _describe_seeded(described, {name: there[name] for name in ("library", "model", "vector_store")})
        makers = [part for one in _MAKERS for part in ("--include-operation-id", one)]
        others = [part for one in _MAKERS for part in ("--exclude-operation-id", one)]
        others += ["--exclude-path-regex", f"{_STREAMS}|/tokens|/settings", "--exclude-method", "DELETE"]
        sequences = [part for one in _STAY for part in ("--exclude-operation-id", one)]
        sequences += ["--exclude-path-regex", _STREAMS]
        phases = "examples,coverage,fuzzing"
        for name, schema, phase, count, operations in (
            ("others", single, phases, 4, others),  # first: they make no library of a name that a path may have
            ("makers", single, phases, 4, makers),
            ("sequences", shared, "stateful", 80, sequences),
        ):
            (tmp_path / "openapi.json").write_text(json.dumps(schema))
            asked = [
                Path(sys.executable).with_name("schemathesis"), "run", str(tmp_path / "openapi.json"),
                "--url", served.url, "-H", f"Authorization: Bearer {START}", "--max-examples", str(count),
                "--suppress-health-check", "all", "--phases", phase, "--request-timeout", "120", "--seed", "46",
            ]  # fmt: skip
            done = subprocess.run([*asked, *operations], capture_output=True, text=True, cwd=tmp_path)
            (tmp_path / f"{name}.txt").write_text(done.stdout)
            assert done.returncode == 0, done.stdout[-10000:]
            cases += sum(map(int, re.findall(r"(\d[\d,]*) generated", done.stdout.replace(",", ""))))
        with served.client() as client:
            assert client.get("/health").status_code == 200
        assert not [line for line in served.said if "Traceback" in line]
    assert cases >= _CASES
    record_property("cases made from the description, all answered as described", cases)


def _describe_seeded(described: dict[str, Any], there: Mapping[str, object]) -> dict[str, Any]:
    """Return a description whose parameters of paths name what is there."""
    seeded: dict[str, Any] = json.loads(json.dumps(described))
    for operations in seeded["paths"].values():
        for parameter in (one for operation in operations.values() for one in operation.get("parameters", [])):
            if parameter["in"] == "path" and parameter["name"] in there:
                parameter["schema"] = parameter["schema"] | {"enum": [there[parameter["name"]]]}
    return seeded
