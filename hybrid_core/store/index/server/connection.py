"""A Qdrant server or cluster: how its addresses are written, whether it fits, how collections are made there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar
from urllib.parse import urlsplit

from hybrid_core.errors import IndexMissingError, StoreError
from hybrid_core.store.index.server.nodes import EXTRA, Node, Nodes
from hybrid_core.system.extras import require

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

_LEAST = (1, 19)  # the oldest that is tested; conditional writes came with 1.16
_T = TypeVar("_T")
Quantization = Literal["none", "scalar", "binary"]


@dataclass(frozen=True, slots=True)
class Layout:
    """How collections are made: divided into ``shards``, each of which ``replicas`` nodes hold; a write has to
    reach ``write_consistency`` of these; the others make up for it before they answer again. ``on_disk``: vectors are
    read from the disk when they are needed. ``quantization``: dense ones are compared in a short form, "scalar" (a byte
    a number) or "binary" (two bits), and the best of these by the vectors themselves.
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
        """``Nodes.call``."""
        return self.nodes.call(work, writes=writes)

    def version(self) -> str:
        """The server's version. Raises ``StoreError`` where it cannot be used."""
        try:
            version = self.call(lambda client: client.info().version)
        except IndexMissingError as error:  # 404: something answers there
            raise StoreError(f"{self.url}: this is no Qdrant server.", "Look at the setting qdrant_url.") from error
        try:
            major, minor = (int(part) for part in version.split(".")[:2])
        except ValueError:
            major, minor = 0, 0
        if major != _LEAST[0] or minor < _LEAST[1]:
            raise StoreError(
                f"{self.url}: Qdrant {version} does not fit; it must be {_LEAST[0]}.x from {_LEAST[0]}.{_LEAST[1]} on.",
                "Upgrade the server; docker-compose.qdrant.yaml names a version that fits.",
            )
        return version

    def collections(self) -> list[str]:
        """The names of all collections, whoever made them."""

        def listed(client: QdrantClient) -> list[str]:
            found = [collection.name for collection in client.get_collections().collections]
            if not found:
                raise IndexMissingError("There is no collection.")  # as a node that has just joined says too
            return found

        try:
            return self.call(listed)
        except IndexMissingError:
            return []

    def aliases(self) -> dict[str, str]:
        """For which collection each alias stands, whoever gave it."""
        return {one.alias_name: one.collection_name for one in self.call(lambda client: client.get_aliases()).aliases}

    def close(self) -> None:
        """Close the connections; safe to call twice."""
        self.nodes.close()


def connect(urls: str, api_key: str = "", layout: Layout = Layout()) -> Server:
    """A connection to one or several ``http(s)://HOST[:PORT][/PATH]``, separated by commas; the port is 6333 unless an
    address says otherwise.

    Raises ``StoreError`` where an address or the key cannot be one, no server can be reached, or it does not
    accept the key or has a version that does not fit; ``UnreachableError`` where trying again may help.
    """
    addresses = [url.strip() for url in urls.split(",")]
    shown = [_shown(url) for url in addresses]
    if not (api_key.isascii() and api_key.isprintable()) or api_key != api_key.strip():
        raise StoreError(
            f"{','.join(shown)}: the API key holds characters that no key has.", "Look at PAGEINDEX_QDRANT_API_KEY."
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

    def made(seconds: int) -> QdrantClient:
        client: QdrantClient = require("qdrant_client", EXTRA).QdrantClient(
            url=url,
            timeout=seconds,
            # As a header: given as a key, the client warns on stderr where the address is not https.
            headers={"api-key": api_key} if api_key else None,
            check_compatibility=False,  # done by ``version``, with an error instead of a warning
            **limits,
        )
        return client

    return made


def _shown(url: str) -> str:
    """The address without user, password and query. Raises ``StoreError`` where it is none."""
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
