"""A Qdrant server or cluster: addresses and nodes, error translation, collections and aliases.

Requests go to one node; if it fails, to the next. Aliases are names for administrators and are not used for searches. A
failure to set an alias is only logged.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar
from urllib.parse import urlsplit

from hybrid_core.errors import IndexMissingError, StoreError, UnreachableError
from hybrid_core.system import require

if TYPE_CHECKING:
    from qdrant_client import QdrantClient


_T = TypeVar("_T")
EXTRA = "qdrant"
_SECONDS = 60
_READ_SECONDS = 5  # timeout for reads if there are other nodes
_AGAIN = "Check that the server runs and can be reached from this machine, then try again."
_MIN_VERSION = (1, 19)  # the oldest tested version; conditional writes exist since 1.16
Quantization = Literal["none", "scalar", "binary"]
# characters that names of collections, and so aliases, may not contain
_REFUSED_SIGNS = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
_log = logging.getLogger(__name__)


class Node:
    """A node of a Qdrant server, with one client per timeout. Its ``url`` contains no key or password."""

    def __init__(self, url: str, client: Callable[[int], QdrantClient]) -> None:
        self.url = url
        self._client = client
        self._clients: dict[int, QdrantClient] = {}

    def call(self, work: Callable[[QdrantClient], _T], seconds: int) -> _T:
        """Return the result of ``work`` with a client that waits at most ``seconds`` for a response.

        Convert errors to ``StoreError``, and a missing collection to ``IndexMissingError``.
        """
        client = self._clients.get(seconds)
        if client is None:
            client = self._clients.setdefault(seconds, self._client(seconds))
        with _translated(self.url, seconds):
            return work(client)

    def alone(self) -> bool:
        """Return whether this node is not part of a cluster, so that no other node can have its collections."""
        return len(getattr(self.call(lambda client: client.cluster_status(), _READ_SECONDS), "peers", ())) <= 1

    def close(self) -> None:
        while self._clients:  # remaining clients would be closed again at interpreter exit, with a traceback
            self._clients.popitem()[1].close()


class Nodes:
    """The nodes of a cluster, each of which can answer every request. Safe for several threads if their clients are."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = tuple(nodes)
        self._first = 0  # index of the node that answered last

    def call(self, work: Callable[[QdrantClient], _T], *, writes: bool = False) -> _T:
        """Return the result of the first reachable node; ``work`` may run more than once.

        A node that has just joined a cluster knows no collection yet. So raise ``IndexMissingError`` only if two nodes
        report a missing collection, or the only node of a server. Raise ``UnreachableError`` if no node can be reached,
        or if only one node of a cluster reports that the collection is missing.
        """
        seconds = _SECONDS if writes or len(self._nodes) == 1 else _READ_SECONDS
        first, failures = self._first, list[StoreError]()
        unknown: tuple[Node, IndexMissingError] | None = None
        for step in range(len(self._nodes)):
            at = (first + step) % len(self._nodes)
            try:
                answer = self._nodes[at].call(work, seconds)
            except IndexMissingError as error:
                failures.append(error)
                if unknown is not None or len(self._nodes) == 1:
                    raise
                unknown = self._nodes[at], error
            except UnreachableError as error:
                failures.append(error)
            else:
                self._first = at
                return answer
        if len(failures) == 1:
            raise failures[0]
        if unknown is not None and unknown[0].alone():
            raise unknown[1]
        raise UnreachableError(
            f"No node of the Qdrant cluster can be used: {' '.join(failure.message for failure in failures)}", _AGAIN
        )

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
        raise _refused(url, error.status_code or 0, _error_message(error.content)) from error
    except exceptions.ResponseHandlingException as error:
        raise _unanswered(url, seconds, error.source) from error
    except busy.ResourceExhaustedResponse as error:
        raise UnreachableError(
            f"{url}: the Qdrant server is overloaded ({error}).", "Try again later, or with fewer requests at once."
        ) from error
    except json.JSONDecodeError as error:
        raise _unanswered(url, seconds, error) from error
    except (ValueError, RuntimeError) as error:  # raised by the client's local mode
        if "not found" in str(error):
            raise IndexMissingError(f"{url}: {error}.") from error
        raise StoreError(f"{url}: {error}") from error


def _refused(url: str, status: int, message: str) -> StoreError:
    if status in (401, 403):
        return StoreError(
            f"{url}: the Qdrant server refused the key ({status}).",
            "Set PAGEINDEX_QDRANT_API_KEY to a key that may read and write.",
        )
    if status == 404:
        return IndexMissingError(f"{url}: {message or 'a collection is missing'}.")
    if status in (408, 429) or status >= 500:
        return UnreachableError(f"{url}: the Qdrant server failed ({status} {message}).", _AGAIN)
    return StoreError(
        f"{url}: the Qdrant server refused a call ({status} {message}).", "Check the log and the version of the server."
    )


def _unanswered(url: str, seconds: int, cause: Exception) -> StoreError:
    httpx = require("httpx", EXTRA)
    if isinstance(cause, httpx.TimeoutException):
        return UnreachableError(f"{url}: the Qdrant server did not answer within {seconds} s.", _AGAIN)
    if isinstance(cause, httpx.TransportError):
        return UnreachableError(f"{url}: the Qdrant server cannot be reached ({cause}).", _AGAIN)
    return StoreError(
        f"{url}: the server that answers is not Qdrant, or has an unsupported version.",
        "Set qdrant_url to the address of a Qdrant server.",
    )


def _error_message(content: bytes) -> str:
    """Return the message in the JSON body of an error response, or the beginning of a body in another form."""
    try:
        message = str(json.loads(content)["status"]["error"])
    except (ValueError, KeyError, TypeError):
        message = content.decode("utf-8", "replace")
    return " ".join(message.split())[:200]


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of new collections: number of ``shards``, and of ``replicas`` of each shard on different nodes.

    A write has to reach ``write_consistency`` replicas; the others apply it before they answer again. ``on_disk``:
    vectors are read from the disk. ``quantization``: dense vectors are first compared in a short form, "scalar" (one
    byte per number) or "binary" (two bits). The best candidates are then compared with the full vectors.
    """

    shards: int = 1
    replicas: int = 1
    write_consistency: int = 1
    on_disk: bool = False
    quantization: Quantization = "none"


@dataclass(frozen=True, slots=True)
class Server:
    """The nodes of a server, and the layout of new collections."""

    nodes: Nodes
    layout: Layout = Layout()

    @property
    def url(self) -> str:
        return self.nodes.urls

    def call(self, work: Callable[[QdrantClient], _T], *, writes: bool = False) -> _T:
        """Return the result of ``work`` with the first node that can be reached. Raise the errors of ``Nodes.call``."""
        return self.nodes.call(work, writes=writes)

    def version(self) -> str:
        """Return the server's version. Raise ``StoreError`` if it is not a supported version of Qdrant."""
        try:
            version = self.call(lambda client: client.info().version)
        except IndexMissingError as error:  # 404: another service answers at the address
            raise StoreError(
                f"{self.url}: the server at this address is not Qdrant.",
                "Set qdrant_url to the address of a Qdrant server.",
            ) from error
        try:
            major, minor = (int(part) for part in version.split(".")[:2])
        except ValueError:
            major, minor = 0, 0
        oldest, release = _MIN_VERSION
        if major != oldest or minor < release:
            raise StoreError(
                f"{self.url}: Qdrant {version} is not supported; it must be {oldest}.x from {oldest}.{release} on.",
                "Upgrade the server; docker-compose.qdrant.yaml names a supported version.",
            )
        return version

    def collections(self) -> list[str]:
        """Return the names of all collections, including those of other catalogs."""

        def listed(client: QdrantClient) -> list[str]:
            names = [collection.name for collection in client.get_collections().collections]
            if not names:
                # a node that has just joined also returns none
                raise IndexMissingError("The collection does not exist on the Qdrant server.")
            return names

        try:
            return self.call(listed)
        except IndexMissingError:
            return []

    def aliases(self) -> dict[str, str]:
        """Return the name of the collection to which each alias refers, including aliases of other catalogs."""
        return {
            alias.alias_name: alias.collection_name for alias in self.call(lambda client: client.get_aliases()).aliases
        }

    def close(self) -> None:
        """Close the connections; safe to call twice."""
        self.nodes.close()


def connect(urls: str, api_key: str = "", layout: Layout = Layout()) -> Server:
    """Connect to the nodes at ``urls``: ``http(s)://HOST[:PORT][/PATH]``, separated by commas; default port 6333.

    Raise ``StoreError`` if an address or the key is invalid, the key is refused, or the server's version is not
    supported. Raise ``UnreachableError`` if no server can be reached and a retry may help.
    """
    addresses = [url.strip() for url in urls.split(",")]
    shown = [_redact_url(url) for url in addresses]
    if not (api_key.isascii() and api_key.isprintable()) or api_key != api_key.strip():
        raise StoreError(
            f"{','.join(shown)}: the API key contains characters that are not allowed in a key.",
            "Check PAGEINDEX_QDRANT_API_KEY.",
        )
    nodes = [Node(name, _client(url, api_key)) for name, url in zip(shown, addresses, strict=True)]
    server = Server(Nodes(nodes), layout)
    try:
        server.version()
    except BaseException:
        server.close()
        raise
    return server


def _client(url: str, api_key: str) -> Callable[[int], QdrantClient]:
    # A server delays the end of a response until the data before is acknowledged. Operating systems acknowledge at once
    # only on new connections, else after 40 ms. With TLS a new connection would cost more than that.
    each_new = require("httpx", EXTRA).Limits(max_connections=None, max_keepalive_connections=0)
    limits = {} if url.startswith("https:") else {"limits": each_new}

    def create(seconds: int) -> QdrantClient:
        client: QdrantClient = require("qdrant_client", EXTRA).QdrantClient(
            url=url,
            timeout=seconds,
            # As a header: with a key as argument, the client warns on stderr if the address is not https.
            headers={"api-key": api_key} if api_key else None,
            check_compatibility=False,  # ``version`` checks this, with an error instead of a warning
            **limits,
        )
        return client

    return create


def _redact_url(url: str) -> str:
    """Return the address without user, password and query. Raise ``StoreError`` for an invalid address."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    if parts.scheme not in ("http", "https") or not host:
        raise StoreError(
            "The setting qdrant_url is not a valid web address.",
            "Write it like http://localhost:6333, with commas between several addresses, or leave the setting empty.",
        )
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}:{port or 6333}{parts.path.rstrip('/')}"


@dataclass(frozen=True, slots=True)
class CollectionAlias:
    """The alias of a library's collection on the server, which shows administrators the library's name.

    ``name`` is the library's name and ``library`` its id. ``beginning`` is the prefix with which the names of all
    collections and aliases of the catalog begin.
    """

    beginning: str
    name: str
    library: str

    def give(self, server: Server, collection: str, own: Callable[[str], bool]) -> None:
        """Set the alias for a collection, and remove other aliases of the library's collections.

        ``own`` returns whether a collection is the library's. If another library uses the alias, append the library's
        id to it. Errors are only logged.
        """
        with _logged(collection):
            targets = server.aliases()
            chosen = next((name for name in self._names() if name not in targets or own(targets[name])), None)
            if chosen is None:
                raise StoreError(f"The collection '{self.name}' on the Qdrant server belongs to another library.")
            old = [name for name, of in targets.items() if own(of) and name != chosen]
            if targets.get(chosen) != collection or old:
                _change(server, {chosen: collection}, old)

    def change(self, server: Server, own: Callable[[str], bool]) -> None:
        """Replace the existing alias of the library's collection by this one, after the library was renamed."""
        with _logged(self.library):
            for collection in {of for of in server.aliases().values() if own(of)}:
                self.give(server, collection, own)

    def _names(self) -> Iterator[str]:
        for name in (self.name, f"{self.name}-{self.library}"):
            yield self.beginning + _REFUSED_SIGNS.sub("-", name)


@contextmanager
def keep_aliases(server: Server, collection: str) -> Iterator[None]:
    """Set the aliases of a collection again at the end of the context, in which it is deleted and recreated."""
    names: dict[str, str] = {}
    with _logged(collection):
        names = {name: of for name, of in server.aliases().items() if of == collection}
    yield
    with _logged(collection):
        if names:
            _change(server, names, [])


@contextmanager
def _logged(named: str) -> Iterator[None]:
    """Log a StoreError instead of raising it."""
    try:
        yield
    except StoreError as error:
        _log.warning("the alias of %s was not set: %s", named, error.message)


def _change(server: Server, added: dict[str, str], removed: list[str]) -> None:
    """Set and delete aliases in one request."""
    models = require("qdrant_client.models", EXTRA)
    away = [models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=name)) for name in removed]
    to = [
        models.CreateAliasOperation(create_alias=models.CreateAlias(collection_name=collection, alias_name=name))
        for name, collection in added.items()
    ]
    server.call(lambda client: client.update_collection_aliases([*away, *to]))
