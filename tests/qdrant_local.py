"""qdrant-client's local mode as the server: one client, in memory, that any number of handles share."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from qdrant_client import QdrantClient, models

from hybrid_core.store.index.server.connection import Node, Nodes, Server


class Between:
    """A client whose calls are made one at a time, after ``before(name of the call)``.

    Local mode itself is not made for several threads.
    """

    def __init__(self, client: Any, before: Callable[[str], object] = lambda _: None) -> None:
        self._client, self._before = client, before
        self._lock = client._lock if isinstance(client, Between) else threading.RLock()

    @property
    def http(self) -> _Rest:
        return _Rest(self)

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._client, name)

        @wraps(call)
        def guarded(*args: Any, **named: Any) -> Any:
            self._before(name)
            with self._lock:
                return call(*args, **named)

        return guarded


class _Rest:
    """The one call of the REST API that is made without the client's models, of a client that has no REST API."""

    def __init__(self, client: Any) -> None:
        self.client, self._local = self, client

    def request(self, *, path_params: dict[str, str], content: str, **_: Any) -> dict[str, Any]:
        asked = models.QueryRequestBatch.model_validate_json(content)
        found = self._local.query_batch_points(path_params["collection_name"], asked.searches)
        return {"result": [result.model_dump() for result in found]}


def local_server(client: Any = None, before: Callable[[str], object] = lambda _: None) -> Server:
    """A server in memory, or another handle to one: give it the ``client`` of the first."""
    held = cast("QdrantClient", Between(client or QdrantClient(":memory:"), before))
    return Server(Nodes([Node("local mode", lambda _: held)]))


def client_of(server: Server) -> QdrantClient:
    return server.call(lambda client: client)
