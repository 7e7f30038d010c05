"""An HTTP server under many clients, and under requests that nobody would write."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.http_load import load
from tests.doors.http.conftest import START, serving, upload

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


def test_no_request_that_fits_the_description_is_a_defect(tmp_path: Path) -> None:
    """Schemathesis makes them from the description, of what is there and of what is not."""
    with serving(tmp_path / "home", PAGEINDEX_HTTP_REQUESTS_PER_MINUTE="0") as served:
        with served.client() as client:
            client.post("/libraries", json={"name": "default"})
            upload(client, "default", mill="# The mill\n\nThe mill was sold.\n")
            [document] = client.get("/libraries/default/documents").json()["documents"]
            described = client.get("/openapi.json").json()
        there = {"library": "default", "document": document["doc_id"], "number": 1}
        for one in (one for path in described["paths"].values() for one in path.values()):
            for parameter in one.get("parameters", []):
                if parameter["in"] == "path" and parameter["name"] in there and "delete" not in one["operationId"]:
                    parameter["schema"] = {"enum": [there[parameter["name"]]]}
        (tmp_path / "openapi.json").write_text(json.dumps(described))
        done = subprocess.run(
            [Path(sys.executable).with_name("schemathesis"), "run", str(tmp_path / "openapi.json"), "--url", served.url,
             "-H", f"Authorization: Bearer {START}", "--checks", "not_a_server_error", "--max-examples", "10",
             "--phases", "examples,coverage,fuzzing", "--exclude-path-regex", "events|/session|/clear",
             "--exclude-method", "DELETE"],
            capture_output=True, text=True, cwd=tmp_path,  # where it keeps what it found
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-5000:]
        with served.client() as client:
            assert client.get("/health").status_code == 200
        assert not [line for line in served.said if "Traceback" in line]
