"""How long each of these tests goes on."""

from __future__ import annotations

import pytest


@pytest.fixture
def endurance_seconds(request: pytest.FixtureRequest) -> float:
    return float(request.config.getoption("--endurance-seconds"))


@pytest.fixture
def endurance_seed(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--endurance-seed"))
