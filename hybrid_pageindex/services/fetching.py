"""One file from the web, from public addresses only: no door into the network that this machine stands in."""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import mimetypes
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from hybrid_core.errors import DocumentError, LimitError
from hybrid_core.types.addresses import WEB
from indexers.formats.members import own_name
from indexers.formats.registry import of_suffix

_REDIRECTS, _SECONDS, _TOGETHER = 5, 15.0, 120.0
_PIECE = 2**16
_MOVED = (301, 302, 303, 307, 308)
_PORTS = {"http": 80, "https": 443}
_KINDS = {"text/html": ".html", "application/xhtml+xml": ".html", "text/plain": ".txt", "text/markdown": ".md"}
_UNTOLD = ("", "application/octet-stream", "binary/octet-stream")  # then the address' ending tells

Allows = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Fetched:
    """``address`` is what its document is called: «web:/example.org/report.pdf»."""

    address: str
    data: bytes


def is_public(ip: str) -> bool:
    """Whether an IP address is one of the public internet, also where it is written as one of version 6."""
    found = ipaddress.ip_address(ip.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if inner is not None:
            found = inner
        elif found in _TRANSLATED:
            return False
    return found.is_global and not found.is_multicast and not found.is_reserved


_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")


def fetch(url: str, most: int, allows: Allows = is_public) -> Fetched:
    """A file of ``most`` bytes at most.

    Names are resolved once, and the connection goes to what they were resolved to; each redirection is examined as
    the address was. No proxy is used, and nothing is sent but the request. Raises DocumentError, LimitError.
    """
    until, at = time.monotonic() + _TOGETHER, url
    for _ in range(_REDIRECTS + 1):
        parts = _examined(at, url)
        with _asked(parts, url, allows) as response:
            if response.status in _MOVED and (target := response.getheader("Location")):
                at = urljoin(at, target)
                continue
            if response.status != http.client.OK:
                raise DocumentError(f"{url}: the server answered {response.status} {response.reason}.")
            name = _name(parts, response.getheader("Content-Type") or "", url)
            return Fetched(name, _body(response, url, most, until))
    raise DocumentError(f"{url}: it is redirected more than {_REDIRECTS} times.")


def _examined(at: str, url: str) -> SplitResult:
    try:
        parts = urlsplit(at)
        fine = parts.scheme in _PORTS and parts.hostname and parts.username is None and (parts.port or 1) > 0
    except ValueError:
        fine = False
    if not fine:
        raise DocumentError(f"{url}: no address that is fetched.", "Name one with http or https, without a user.")
    return parts


@contextlib.contextmanager
def _asked(parts: SplitResult, url: str, allows: Allows) -> Iterator[http.client.HTTPResponse]:
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    try:
        ip = _resolved(host, port, url, allows)
        plain = socket.create_connection((ip, port), timeout=_SECONDS)
        with contextlib.closing(plain):
            secure = parts.scheme == "https"
            stream = ssl.create_default_context().wrap_socket(plain, server_hostname=host) if secure else plain
            connection = http.client.HTTPConnection(host, port)
            connection.sock = stream
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            headers = {"User-Agent": "hybrid-pageindex", "Accept-Encoding": "identity", "Connection": "close"}
            connection.request("GET", target, headers=headers)
            with contextlib.closing(connection):
                yield connection.getresponse()
    except (OSError, http.client.HTTPException, UnicodeError, ValueError) as error:
        raise DocumentError(f"{url}: it cannot be fetched ({error}).", "Try again, or save it to a file.") from error


def _resolved(host: str, port: int, url: str, allows: Allows) -> str:
    """An IP address of a host, all of whose addresses are allowed: a name with a private one beside is a trap."""
    found = [str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    refused = [ip for ip in found if not allows(ip)]
    if refused or not found:
        raise DocumentError(f"{url}: {host} is {', '.join(refused) or 'nowhere'}, which is no public address.")
    return found[0]


def _name(parts: SplitResult, said: str, url: str) -> str:
    path = PurePosixPath(own_name(unquote(parts.path).strip("/")) or "index")
    kind = said.partition(";")[0].strip().lower()
    suffix = path.suffix if kind in _UNTOLD else _KINDS.get(kind) or mimetypes.guess_extension(kind) or ""
    format = of_suffix(suffix)
    if format is None:
        raise DocumentError(f"{url}: files of the type {kind or 'of which nothing is said'} are not read.")
    if of_suffix(path.suffix) is not format:
        path = path.with_name(path.name + suffix)
    query = own_name(unquote(parts.query).replace("/", "_"))
    return f"{WEB}{parts.netloc}/{path.with_name(f'{path.stem}?{query}{path.suffix}') if query else path}"


def _body(response: http.client.HTTPResponse, url: str, most: int, until: float) -> bytes:
    data = bytearray()
    while piece := response.read(_PIECE):
        data += piece
        if len(data) > most:
            advice = "Raise the setting max_download_size to read it."
            raise LimitError(f"{url}: it has more than {most:,} bytes.", advice)
        if time.monotonic() > until:
            raise LimitError(f"{url}: it was not there after {_TOGETHER:g} s.", "Save it to a file.")
    return bytes(data)
