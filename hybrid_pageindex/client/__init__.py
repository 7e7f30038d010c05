"""A client for the HTTP interface of a remote engine."""

from hybrid_pageindex.client.client import Client
from hybrid_pageindex.client.wire import RefusedError

__all__ = ["Client", "RefusedError"]
