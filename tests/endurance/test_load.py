"""Many clients of one server for minutes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.mcp_load import load
from hybrid_pageindex import Engine
from tests.interfaces.mcp_client import http
from tests.pdfs import FISCAL_QUESTIONS

pytestmark = pytest.mark.endurance
_CLIENTS = 50


async def test_no_call_of_many_clients_fails(
    library: Engine, endurance_seconds: float, record_property: Callable[[str, object], None]
) -> None:
    with http(library.home, "--read-only") as url:
        found = await load(url, [question for question, *_ in FISCAL_QUESTIONS], _CLIENTS, endurance_seconds)
    assert found["errors"] == [] and found["calls"] > _CLIENTS
    record_property(f"calls of {_CLIENTS} clients over HTTP in {endurance_seconds:.0f} s", found["calls"])
    record_property("their p50 / p95, ms", f"{found['p50_ms']} / {found['p95_ms']}")
