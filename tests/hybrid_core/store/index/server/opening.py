"""The index of one library on a server, opened as the tests want it."""

from __future__ import annotations

from typing import Any

from hybrid_core.store.index.index import VectorIndex
from hybrid_core.store.index.server.connection import Server
from hybrid_core.store.index.server.placement import library_collection, open_server

NAME = library_collection("0123456789ab-", "reports")
MANIFEST: dict[str, str | int] = {"tokenizer": "test"}


def opened(
    server: Server, library: Any, manifest: dict[str, str | int] | None = None, dimension: int = 0
) -> VectorIndex:
    return open_server(server, NAME, library, manifest or MANIFEST, dimension)


class Killed(BaseException):
    """Ends a simulated process."""
