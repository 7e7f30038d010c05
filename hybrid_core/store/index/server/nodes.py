"""The nodes of a Qdrant server or cluster, asked in turn, and their errors in our family's words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from hybrid_core.errors import IndexMissingError, StoreError, UnreachableError
from hybrid_core.system.extras import require

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

EXTRA = "qdrant"
_SECONDS = 60
_SECONDS_OF_ONE = 5  # that a node may take for what it is only asked, where there are others
_AGAIN = "See that it runs and can be reached from here, then try again."
_T = TypeVar("_T")


class Node:
    """One address, which never holds a key or a password. Its clients differ by the seconds that a call may take."""

    def __init__(self, url: str, client: Callable[[int], QdrantClient]) -> None:
        self.url = url
        self._client = client
        self._clients: dict[int, QdrantClient] = {}

    def call(self, work: Callable[[QdrantClient], _T], seconds: int) -> _T:
        """What the client raises becomes a ``StoreError``, a missing collection an ``IndexMissingError``."""
        client = self._clients.get(seconds)
        if client is None:
            client = self._clients.setdefault(seconds, self._client(seconds))
        with _translated(self.url, seconds):
            return work(client)

    def alone(self) -> bool:
        """Whether it knows of no other node: of several addresses only one may be in use."""
        return len(getattr(self.call(lambda client: client.cluster_status(), _SECONDS_OF_ONE), "peers", ())) <= 1

    def close(self) -> None:
        while self._clients:  # none is kept: at the end of the interpreter they would be closed again, with a traceback
            self._clients.popitem()[1].close()


class Nodes:
    """Any of the nodes of a cluster answers for all of it. Safe for several threads where their clients are."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = tuple(nodes)
        self._first = 0  # which answered last

    def call(self, work: Callable[[QdrantClient], _T], *, writes: bool = False) -> _T:
        """What the first node that can be reached answers; ``work`` may be done more than once.

        A node that has just joined knows no collection yet: one is missing where two nodes say so, or one that is no
        other's. Raises ``IndexMissingError`` then, and ``UnreachableError`` where none can be reached or agree on it.
        """
        seconds = _SECONDS if writes or len(self._nodes) == 1 else _SECONDS_OF_ONE
        first, failures = self._first, list[StoreError]()
        unknown: tuple[Node, IndexMissingError] | None = None
        for step in range(len(self._nodes)):
            at = (first + step) % len(self._nodes)
            try:
                found = self._nodes[at].call(work, seconds)
            except IndexMissingError as error:
                failures.append(error)
                if unknown is not None or len(self._nodes) == 1:
                    raise
                unknown = self._nodes[at], error
            except UnreachableError as error:
                failures.append(error)
            else:
                self._first = at
                return found
        if len(failures) == 1:
            raise failures[0]
        if unknown is not None and unknown[0].alone():
            raise unknown[1]
        raise UnreachableError(f"No Qdrant node can be used: {' '.join(one.message for one in failures)}", _AGAIN)

    @property
    def urls(self) -> str:
        return ",".join(node.url for node in self._nodes)

    def close(self) -> None:
        """Close the connections; safe to call twice."""
        for node in self._nodes:
            node.close()


@contextmanager
def _translated(url: str, seconds: int) -> Iterator[None]:
    exceptions = require("qdrant_client.http.exceptions", EXTRA)
    busy = require("qdrant_client.common.client_exceptions", EXTRA)
    try:
        yield
    except exceptions.UnexpectedResponse as error:
        raise _refused(url, error.status_code or 0, _said(error.content)) from error
    except exceptions.ResponseHandlingException as error:
        raise _unanswered(url, seconds, error.source) from error
    except busy.ResourceExhaustedResponse as error:
        raise UnreachableError(f"{url}: the Qdrant server is overloaded ({error}).", "Try again.") from error
    except json.JSONDecodeError as error:
        raise _unanswered(url, seconds, error) from error
    except (ValueError, RuntimeError) as error:  # the client's local mode raises these
        if "not found" in str(error):
            raise IndexMissingError(f"{url}: {error}.") from error
        raise StoreError(f"{url}: {error}") from error


def _refused(url: str, status: int, said: str) -> StoreError:
    if status in (401, 403):
        return StoreError(
            f"{url}: the Qdrant server refused the key ({status}).",
            "Set PAGEINDEX_QDRANT_API_KEY to a key that may read and write.",
        )
    if status == 404:
        return IndexMissingError(f"{url}: {said or 'a collection is missing'}.")
    if status in (408, 429) or status >= 500:
        return UnreachableError(f"{url}: the Qdrant server failed ({status} {said}).", _AGAIN)
    return StoreError(
        f"{url}: the Qdrant server refused a call ({status} {said}).", "Look at its log, and at its version."
    )


def _unanswered(url: str, seconds: int, cause: Exception) -> StoreError:
    httpx = require("httpx", EXTRA)
    if isinstance(cause, httpx.TimeoutException):
        return UnreachableError(f"{url}: the Qdrant server did not answer within {seconds} s.", _AGAIN)
    if isinstance(cause, httpx.TransportError):
        return UnreachableError(f"{url}: the Qdrant server cannot be reached ({cause}).", _AGAIN)
    return StoreError(
        f"{url}: what answers is no Qdrant server, or one of another version.", "Look at the setting qdrant_url."
    )


def _said(content: bytes) -> str:
    """The message inside an error's JSON, else its first words."""
    try:
        said = str(json.loads(content)["status"]["error"])
    except (ValueError, KeyError, TypeError):
        said = content.decode("utf-8", "replace")
    return " ".join(said.split())[:200]
