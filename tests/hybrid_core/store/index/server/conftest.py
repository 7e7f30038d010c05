"""Servers in this process, and a library."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hybrid_core.store.index import follower
from hybrid_core.store.index.server.connection import Server
from tests import qdrant_stub
from tests.contract.vectors.library import Library
from tests.qdrant_local import local_server
from tests.qdrant_stub import Stub


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower, "_PATIENCE", (0.0, 0.0))


@pytest.fixture
def server() -> Iterator[Server]:
    server = local_server()
    yield server
    server.close()


@pytest.fixture
def stub() -> Iterator[Stub]:
    with qdrant_stub.running(api_key="secret-key") as stub:
        yield stub


@pytest.fixture
def library() -> Library:
    library = Library()
    library.publish("a", "a1", {1: 1.0, 2: 0.5}, {2: 2.0}, {})
    library.publish("b", "b1", {1: 0.25})
    return library
