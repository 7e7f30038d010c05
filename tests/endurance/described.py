"""Requests that schemathesis makes from the OpenAPI description of a server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CHECKS = """
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
CHECKS += "".join(
    f"""
[[operations]]
include-name = "POST /api/v1/libraries/{{library}}/{kind}"
checks.ensure_resource_availability.enabled = false  # 404 is also said of a document that the body names
"""
    for kind in ("notes", "feedback")
)
STREAMS = "events|/session|/clear"
STAY = ("changeSettings", "deleteLibrary", "deleteVectorStore", "nameLibrary")
"""The operations that a sequence leaves out, so that it keeps the library that it is about."""
SEQUENCES = [part for name in STAY for part in ("--exclude-operation-id", name)] + ["--exclude-path-regex", STREAMS]


def describe_seeded(described: dict[str, Any], values: Mapping[str, object]) -> dict[str, Any]:
    """Return a description whose parameters of paths have these values."""
    seeded: dict[str, Any] = json.loads(json.dumps(described))
    for operations in seeded["paths"].values():
        for parameter in (each for operation in operations.values() for each in operation.get("parameters", [])):
            if parameter["in"] == "path" and parameter["name"] in values:
                parameter["schema"] = parameter["schema"] | {"enum": [values[parameter["name"]]]}
    return seeded


def send_described(
    url: str, token: str, folder: Path, schema: dict[str, Any], operations: Sequence[str],
    *, phases: str, examples: int, seed: int,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """Run schemathesis in a folder against a server, with all of its checks. ``operations`` are options that choose."""
    (folder / "schemathesis.toml").write_text(CHECKS)
    (folder / "openapi.json").write_text(json.dumps(schema))
    command = [
        Path(sys.executable).with_name("schemathesis"), "run", str(folder / "openapi.json"),
        "--url", url, "-H", f"Authorization: Bearer {token}", "--max-examples", str(examples),
        "--suppress-health-check", "all", "--phases", phases, "--request-timeout", "120", "--seed", str(seed),
    ]  # fmt: skip
    return subprocess.run([*command, *operations], capture_output=True, text=True, cwd=folder, check=False)
