"""A client for the HTTP interface of an engine on a server."""

from hybrid_pageindex.client.client import Client
from hybrid_pageindex.client.wire import RefusedError

__all__ = ["Client", "RefusedError"]
