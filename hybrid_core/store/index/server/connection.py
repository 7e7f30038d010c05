"""A Qdrant server or cluster: addresses and nodes, errors as ours, collections and aliases.

The nodes are asked in turn. Aliases are names for people, and nothing of ours searches by them: one that cannot be set
is logged and costs nothing else.
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
_READ_SECONDS = 5  # that a node may take for what it is only asked, where there are others
_AGAIN = "Check that the server runs and can be reached from this machine, then try again."
_MIN_VERSION = (1, 19)  # the oldest that is tested; conditional writes came with 1.16
Quantization = Literal["none", "scalar", "binary"]
_REFUSED_SIGNS = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')  # in names of collections, which aliases stand for
_log = logging.getLogger(__name__)


class Node:
    """A node of a Qdrant server. Its address never contains a key or password. Clients differ by timeout."""

    def __init__(self, url: str, client: Callable[[int], QdrantClient]) -> None:
        self.url = url
        self._client = client
        self._clients: dict[int, QdrantClient] = {}

    def call(self, work: Callable[[QdrantClient], _T], seconds: int) -> _T:
        """Run work with a client.

        Convert its errors to ``StoreError``, a missing collection to ``IndexMissingError``.
        """
        client = self._clients.get(seconds)
        if client is None:
            client = self._clients.setdefault(seconds, self._client(seconds))
        with _translated(self.url, seconds):
            return work(client)

    def alone(self) -> bool:
        """Return whether it knows of no other node: of several addresses only one may be in use."""
        return len(getattr(self.call(lambda client: client.cluster_status(), _READ_SECONDS), "peers", ())) <= 1

    def close(self) -> None:
        while self._clients:  # none is kept: at the end of the interpreter they would be closed again, with a traceback
            self._clients.popitem()[1].close()


class Nodes:
    """The nodes of a cluster, each of which can answer for all. Safe for several threads if their clients are."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = tuple(nodes)
        self._first = 0  # which answered last

    def call(self, work: Callable[[QdrantClient], _T], *, writes: bool = False) -> _T:
        """Return the answer of the first node that can be reached; ``work`` may be done more than once.

        A node that has just joined knows no collection yet. A collection is missing where two nodes say so, or one that
        is no other's. Raise ``IndexMissingError`` then, and ``UnreachableError`` where none can be reached or agree on
        it.
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
        raise UnreachableError(f"{url}: the Qdrant server is overloaded ({error}).", "Try again.") from error
    except json.JSONDecodeError as error:
        raise _unanswered(url, seconds, error) from error
    except (ValueError, RuntimeError) as error:  # the client's local mode raises these
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
        f"{url}: the server that answers is not Qdrant, or has an unsupported version.", "Check the setting qdrant_url."
    )


def _error_message(content: bytes) -> str:
    """Return the message inside an error's JSON, else its first words."""
    try:
        message = str(json.loads(content)["status"]["error"])
    except (ValueError, KeyError, TypeError):
        message = content.decode("utf-8", "replace")
    return " ".join(message.split())[:200]


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of new collections: divided into ``shards``, each of which ``replicas`` nodes hold.

    A write has to reach ``write_consistency`` of these; the others make up for it before they answer again.
    ``on_disk``: vectors are read from the disk when they are needed. ``quantization``: dense ones are compared in a
    short form, "scalar" (a byte a number) or "binary" (two bits), and the best of these by the vectors themselves.
    """

    shards: int = 1
    replicas: int = 1
    write_consistency: int = 1
    on_disk: bool = False
    quantization: Quantization = "none"


@dataclass(frozen=True, slots=True)
class Server:
    """The nodes, and how collections are made from now on."""

    nodes: Nodes
    layout: Layout = Layout()

    @property
    def url(self) -> str:
        return self.nodes.urls

    def call(self, work: Callable[[QdrantClient], _T], *, writes: bool = False) -> _T:
        """Call ``Nodes.call``."""
        return self.nodes.call(work, writes=writes)

    def version(self) -> str:
        """Return the server's version. Raise ``StoreError`` where it cannot be used."""
        try:
            version = self.call(lambda client: client.info().version)
        except IndexMissingError as error:  # 404: something answers there
            raise StoreError(
                f"{self.url}: the server at this address is not Qdrant.", "Check the setting qdrant_url."
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
        """Return the names of all collections, whoever made them."""

        def listed(client: QdrantClient) -> list[str]:
            names = [collection.name for collection in client.get_collections().collections]
            if not names:
                raise IndexMissingError("The collection does not exist.")  # as a node that has just joined says too
            return names

        try:
            return self.call(listed)
        except IndexMissingError:
            return []

    def aliases(self) -> dict[str, str]:
        """Return the collection of each alias, whoever set it."""
        return {
            alias.alias_name: alias.collection_name for alias in self.call(lambda client: client.get_aliases()).aliases
        }

    def close(self) -> None:
        """Close the connections; safe to call twice."""
        self.nodes.close()


def connect(urls: str, api_key: str = "", layout: Layout = Layout()) -> Server:
    """Connect to one or several ``http(s)://HOST[:PORT][/PATH]``, separated by commas; the default port is 6333.

    Raise ``StoreError`` where an address or the key is invalid, no server can be reached, or it does not accept the key
    or has a version that does not fit. Raise ``UnreachableError`` where trying again may help.
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
    # A server holds back the end of an answer until what it sent is acknowledged, and a system acknowledges at once on
    # new connections only, else after 40 ms. With TLS a new connection would cost more than that.
    each_new = require("httpx", EXTRA).Limits(max_connections=None, max_keepalive_connections=0)
    limits = {} if url.startswith("https:") else {"limits": each_new}

    def create(seconds: int) -> QdrantClient:
        client: QdrantClient = require("qdrant_client", EXTRA).QdrantClient(
            url=url,
            timeout=seconds,
            # As a header: given as a key, the client warns on stderr where the address is not https.
            headers={"api-key": api_key} if api_key else None,
            check_compatibility=False,  # done by ``version``, with an error instead of a warning
            **limits,
        )
        return client

    return create


def _redact_url(url: str) -> str:
    """Return the address without user, password and query. Raise ``StoreError`` where it is none."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    if parts.scheme not in ("http", "https") or not host:
        raise StoreError(
            "The setting qdrant_url is not an address.",
            "Write it like http://localhost:6333, several with commas between, or leave it empty.",
        )
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}:{port or 6333}{parts.path.rstrip('/')}"


@dataclass(frozen=True, slots=True)
class CollectionAlias:
    """``name`` is what people call the library, ``library`` its id, ``beginning`` that of all names of its catalog."""

    beginning: str
    name: str
    library: str

    def give(self, server: Server, collection: str, own: Callable[[str], bool]) -> None:
        """Let it stand for a collection, and nothing else for any of which are the library's ``own``.

        Where another library's collection has the name, this one's id follows it.
        """
        with _logged(collection):
            targets = server.aliases()
            chosen = next((name for name in self._names() if name not in targets or own(targets[name])), None)
            if chosen is None:
                raise StoreError(f"Other libraries have '{self.name}'.")
            old = [name for name, of in targets.items() if own(of) and name != chosen]
            if targets.get(chosen) != collection or old:
                _change(server, {chosen: collection}, old)

    def change(self, server: Server, own: Callable[[str], bool]) -> None:
        """Let the collection that has an alias of the library have this one."""
        with _logged(self.library):
            for collection in {of for of in server.aliases().values() if own(of)}:
                self.give(server, collection, own)

    def _names(self) -> Iterator[str]:
        for name in (self.name, f"{self.name}-{self.library}"):
            yield self.beginning + _REFUSED_SIGNS.sub("-", name)


@contextmanager
def keep_aliases(server: Server, collection: str) -> Iterator[None]:
    """Keep the aliases of a collection that is deleted and made again meanwhile."""
    names: dict[str, str] = {}
    with _logged(collection):
        names = {name: of for name, of in server.aliases().items() if of == collection}
    yield
    with _logged(collection):
        if names:
            _change(server, names, [])


@contextmanager
def _logged(named: str) -> Iterator[None]:
    """Log what fails."""
    try:
        yield
    except StoreError as error:
        _log.warning("the alias of %s was not set: %s", named, error.message)


def _change(server: Server, added: dict[str, str], removed: list[str]) -> None:
    """Set and delete aliases in one step."""
    models = require("qdrant_client.models", EXTRA)
    away = [models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=name)) for name in removed]
    to = [
        models.CreateAliasOperation(create_alias=models.CreateAlias(collection_name=collection, alias_name=name))
        for name, collection in added.items()
    ]
    server.call(lambda client: client.update_collection_aliases([*away, *to]))
