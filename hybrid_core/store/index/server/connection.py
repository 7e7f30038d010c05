"""A connection to a Qdrant server: what it is called, whether it fits, and its errors in our family's words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hybrid_core.errors import IndexDamagedError, StoreError, UnreachableError
from hybrid_core.system.extras import require

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

EXTRA = "qdrant"
_LEAST = (1, 19)  # the oldest that is tested; conditional writes came with 1.16
_SECONDS = 60
_AGAIN = "See that it runs and can be reached from here, then try again."


@dataclass(frozen=True, slots=True)
class Server:
    """A client together with the address that messages name, which never holds a key or a password. Collections are
    made with so many ``shards``, and each shard on so many nodes as there are ``replicas``.
    """

    client: QdrantClient
    url: str
    shards: int = 1
    replicas: int = 1

    def version(self) -> str:
        """The server's version. Raises ``StoreError`` where it cannot be used."""
        try:
            with self.calling() as client:
                version = client.info().version
        except IndexDamagedError as error:  # 404: something answers there
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
        with self.calling() as client:
            return [collection.name for collection in client.get_collections().collections]

    def close(self) -> None:
        """Close the connection; safe to call twice."""
        self.client.close()

    @contextmanager
    def calling(self) -> Iterator[QdrantClient]:
        """The client; what it raises becomes a ``StoreError``, a missing collection an ``IndexDamagedError``."""
        exceptions = require("qdrant_client.http.exceptions", EXTRA)
        busy = require("qdrant_client.common.client_exceptions", EXTRA)
        try:
            yield self.client
        except exceptions.UnexpectedResponse as error:
            raise self._refused(error.status_code or 0, _said(error.content)) from error
        except exceptions.ResponseHandlingException as error:
            raise self._unanswered(error.source) from error
        except busy.ResourceExhaustedResponse as error:
            raise UnreachableError(f"{self.url}: the Qdrant server is overloaded ({error}).", "Try again.") from error
        except json.JSONDecodeError as error:
            raise self._unanswered(error) from error
        except (ValueError, RuntimeError) as error:  # the client's local mode raises these
            if "not found" in str(error):
                raise IndexDamagedError(f"{self.url}: {error}.") from error
            raise StoreError(f"{self.url}: {error}") from error

    def _refused(self, status: int, said: str) -> StoreError:
        if status in (401, 403):
            return StoreError(
                f"{self.url}: the Qdrant server refused the key ({status}).",
                "Set PAGEINDEX_QDRANT_API_KEY to a key that may read and write.",
            )
        if status == 404:
            return IndexDamagedError(f"{self.url}: {said or 'a collection is missing'}.")
        if status in (408, 429) or status >= 500:
            return UnreachableError(f"{self.url}: the Qdrant server failed ({status} {said}).", _AGAIN)
        return StoreError(
            f"{self.url}: the Qdrant server refused a call ({status} {said}).", "Look at its log, and at its version."
        )

    def _unanswered(self, cause: Exception) -> StoreError:
        httpx = require("httpx", EXTRA)
        if isinstance(cause, httpx.TimeoutException):
            return UnreachableError(f"{self.url}: the Qdrant server did not answer within {_SECONDS} s.", _AGAIN)
        if isinstance(cause, httpx.TransportError):
            return UnreachableError(f"{self.url}: the Qdrant server cannot be reached ({cause}).", _AGAIN)
        return StoreError(
            f"{self.url}: what answers is no Qdrant server, or one of another version.",
            "Look at the setting qdrant_url.",
        )


def connect(url: str, api_key: str = "", *, shards: int = 1, replicas: int = 1) -> Server:
    """A connection to ``http(s)://HOST[:PORT][/PATH]``; the port is 6333 unless it says otherwise.

    Raises ``StoreError`` where the address or the key cannot be one, the server cannot be reached, does not
    accept the key, or has a version that does not fit; ``UnreachableError`` where trying again may help.
    """
    shown = _shown(url)
    if not (api_key.isascii() and api_key.isprintable()) or api_key != api_key.strip():
        raise StoreError(f"{shown}: the API key holds characters that no key has.", "Look at PAGEINDEX_QDRANT_API_KEY.")
    client = require("qdrant_client", EXTRA).QdrantClient(
        url=url,
        timeout=_SECONDS,
        # As a header: given as a key, the client warns on stderr where the address is not https.
        headers={"api-key": api_key} if api_key else None,
        check_compatibility=False,  # done below, with an error instead of a warning
    )
    server = Server(client, shown, shards, replicas)
    try:
        server.version()
    except BaseException:
        server.close()
        raise
    return server


def _shown(url: str) -> str:
    """The address without user, password and query. Raises ``StoreError`` where it is none."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    if parts.scheme not in ("http", "https") or not host:
        raise StoreError(
            "The setting qdrant_url is not an address.", "Write it like http://localhost:6333, or leave it empty."
        )
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}:{port or 6333}{parts.path.rstrip('/')}"


def _said(content: bytes) -> str:
    """The message inside an error's JSON, else its first words."""
    try:
        said = str(json.loads(content)["status"]["error"])
    except (ValueError, KeyError, TypeError):
        said = content.decode("utf-8", "replace")
    return " ".join(said.split())[:200]
