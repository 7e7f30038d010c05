"""Uploaded files and fetched web pages, which the home stores because the user has no local file of them."""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import mimetypes
import re
import shutil
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from hybrid_core.errors import DocumentError, LimitError, UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.documents import Original
from hybrid_core.store.jobs.reader import JobReader
from hybrid_core.system import content_digest
from hybrid_core.types.jobs import ACTIVE
from hybrid_core.types.libraries import UPLOAD, WEB
from hybrid_core.types.notes import Note
from hybrid_core.types.requests import several
from hybrid_pageindex.config.settings import Settings
from indexers.formats.format import own_name
from indexers.formats.registry import of_suffix

if TYPE_CHECKING:
    from indexers.jobs.report import IndexReport

_URL = re.compile(r"https?://", re.I)
_LONGEST = 1000  # maximum characters of a name with its folders


@dataclass(frozen=True, slots=True)
class Upload:
    """A file to index, given as bytes or as a path. The file is deleted after indexing unless ``stays`` is set.

    The suffix of ``name`` determines the format if the bytes do not. Folders in the name are kept.
    """

    name: str
    data: bytes | Path
    stays: bool = False

    @property
    def address(self) -> str:
        """Return the path under which the catalog lists the uploaded document.

        Raise UsageError if the name is not valid.
        """
        return UPLOAD + _file_name(self.name)


@dataclass(frozen=True, slots=True)
class Fetched:
    """A fetched web page. ``address`` names its document: "web:/example.org/report.pdf"."""

    address: str
    data: bytes


def to_index(items: Sequence[str | Path] | str | Path | bytes, name: str | None) -> tuple[str | Upload, ...]:
    """Return the paths and uploads that the arguments of an index call mean.

    Raise UsageError for bytes without a name, or a name without bytes.
    """
    if isinstance(items, bytes | bytearray | memoryview):
        if not name:
            raise UsageError("The uploaded bytes have no file name.", "Pass a file name, for example name='notes.md'.")
        return (Upload(name, bytes(items)),)
    if name is not None:
        raise UsageError(
            "A name was passed together with a path, but only uploaded bytes need a name.",
            "Leave the name out. The engine uses the name of the file.",
        )
    return several(items)


def local_paths(items: Sequence[str | Path | Upload | Fetched]) -> list[str]:
    """Return the items that are local paths."""
    return [str(item) for item in items if not isinstance(item, Upload | Fetched) and not _URL.match(str(item))]


def uploads_of(paths: Sequence[str | Path]) -> list[Upload]:
    """Return all files at these paths as uploads, whose copies every machine can read.

    Files in a folder are named relative to the parent of that folder. Raise UsageError for a missing path.
    """
    from indexers.files.discover import discover

    uploads: list[Upload] = []
    for path in paths:
        inside = discover([path])
        if inside.problems:
            where, why = inside.problems[0]
            raise UsageError(f"{where}: {why}", "Name existing files and folders.")
        for root in inside.roots:
            parent = root.parent
            uploads += [
                Upload(file.relative_to(parent).as_posix(), file, stays=True)
                for file in inside.files
                if file == root or file.is_relative_to(root)
            ]
    return uploads


def take_in(
    catalog: Catalog, library: str, items: Sequence[str | Path | Upload | Fetched], settings: Settings
) -> tuple[list[str], list[tuple[str, str]]]:
    """Store uploads and fetch web pages. Return the paths to index, and (address, reason) of failed web pages.

    Raise UsageError for a web address if the settings do not allow fetching, and if one upload would replace another.
    """
    _check_names([item for item in items if isinstance(item, Upload)])
    paths: list[str] = []
    problems: list[tuple[str, str]] = []
    for item in items:
        if isinstance(item, Upload):
            paths.append(_keep_file(catalog, library, item.address, item.data, settings, stays=item.stays))
        elif isinstance(item, Fetched):
            paths.append(_keep_file(catalog, library, item.address, item.data, settings))
        elif _URL.match(url := str(item)):
            try:
                fetched = fetch_allowed(url, settings)
                paths.append(_keep_file(catalog, library, fetched.address, fetched.data, settings))
            except DocumentError as error:
                problems.append((url, str(error.without_file)))
        else:
            paths.append(str(item))
    return paths, problems


def _check_names(uploads: Sequence[Upload]) -> None:
    by_address: dict[str, bytes | Path] = {}
    for upload in uploads:
        if by_address.setdefault(upload.address, upload.data) != upload.data:
            raise UsageError(
                f"Two of the files have the name {upload.name}, so the second would replace the first.",
                "Give each file a name of its own.",
            )


def fetch_allowed(url: str, settings: Settings) -> Fetched:
    """Fetch a URL with the limits of the settings.

    Raise UsageError if the settings do not allow fetching, DocumentError or LimitError if the URL cannot be fetched.
    """
    if settings.fetch_web == "never":
        advice = "Set fetch_web to public to allow downloads, or save the page to a file and index the file."
        raise UsageError(f"{url}: this installation does not fetch files from the web.", advice)
    return fetch(url, settings.max_download_size)


def _file_name(name: str) -> str:
    cleaned = own_name(name)
    if not cleaned or len(cleaned) > _LONGEST:
        raise UsageError(f"'{name[:100]}' is not a file name.", "Give a file name, for example notes.md.")
    return cleaned


def _keep_file(
    catalog: Catalog, library: str, address: str, data: bytes | Path, settings: Settings, *, stays: bool = False
) -> str:
    catalog.ensure_library(library)
    from hybrid_core.store.home import scratch_folder  # imports filelock, which a search does not need

    with scratch_folder(settings.storage_path / "tmp") as folder:
        file = Path(folder, "upload")
        if isinstance(data, Path) and stays:
            shutil.copyfile(data, file)
        elif isinstance(data, Path):
            data.replace(file)
        else:
            file.write_bytes(data)
        catalog.keep(library, "", [Original(address, "", file, content_digest(file))])
    return address


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """An uploaded file. ``path`` is the path of its document in the catalog.

    ``job`` is the number of the job that indexes it. If the library already has the file, ``job`` is None and
    ``doc_id`` is set.
    """

    path: str
    job: int | None
    doc_id: str | None


@dataclass(frozen=True, slots=True)
class Uploaded:
    library: str
    files: tuple[UploadedFile, ...]
    notes: tuple[Note, ...]


def uploaded(catalog: Catalog, library: str, uploads: Sequence[Upload | Fetched], report: IndexReport) -> Uploaded:
    """Return for each upload or fetched page the number of the job that indexes it.

    For unchanged content, return the id of its document instead.
    """
    paths = list(dict.fromkeys(upload.address for upload in uploads))
    with catalog.snapshot() as snapshot:
        entry = snapshot.library(library)
    reader = JobReader(catalog)
    waiting = reader.listed(library=entry.id, subjects=paths, status=ACTIVE, limit=len(paths))
    jobs = {job.subject: job.id for job in waiting}
    unchanged = {file.path: file.doc_id for file in report.files if file.status == "unchanged"}
    for path in set(paths).difference(jobs, (file.path for file in report.files)):  # a worker was quicker
        for job in reader.listed(library=entry.id, subjects=[path], limit=1):
            jobs[path] = job.id
    files = tuple(UploadedFile(path, jobs.get(path), unchanged.get(path)) for path in paths)
    return Uploaded(entry.name, files, tuple(note for note in report.notes if note.code != "index.left-to-workers"))


_REDIRECTS, _SECONDS, _TOGETHER = 5, 15.0, 120.0
_PIECE = 2**16
_REDIRECT_CODES = (301, 302, 303, 307, 308)
_PORTS = {"http": 80, "https": 443}
_KINDS = {  # suffixes of media types that the standard library lacks or maps to another suffix
    "text/html": ".html", "application/xhtml+xml": ".html", "text/plain": ".txt", "text/markdown": ".md",
    "application/xml": ".xml", "text/xml": ".xml", "application/rss+xml": ".rss", "application/atom+xml": ".atom",
    "application/rdf+xml": ".xml", "application/jats+xml": ".xml", "application/tei+xml": ".tei",
    "application/docbook+xml": ".dbk", "application/x-xliff+xml": ".xlf", "text/x-opml": ".opml",
    "application/x-ndjson": ".jsonl", "application/jsonl": ".jsonl", "application/geo+json": ".geojson",
    "application/ld+json": ".jsonld", "application/vnd.citationstyles.csl+json": ".json",
    "application/yaml": ".yaml", "application/x-yaml": ".yaml", "text/yaml": ".yaml", "application/toml": ".toml",
    "text/calendar": ".ics", "text/vcard": ".vcf", "text/x-vcard": ".vcf", "application/x-bibtex": ".bib",
    "text/x-bibtex": ".bib", "application/x-research-info-systems": ".ris", "text/x-gettext-translation": ".po",
}  # fmt: skip
_GENERIC_TYPES = ("", "application/octet-stream", "binary/octet-stream")  # then the address' ending tells

Allows = Callable[[str], bool]


def is_public(ip: str) -> bool:
    """Return whether an IP address is public. IPv4 addresses inside IPv6 addresses are checked too."""
    address = ipaddress.ip_address(ip.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is not None:
            address = inner
        elif address in _NAT64_NETWORK:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


_NAT64_NETWORK = ipaddress.ip_network("64:ff9b::/96")


def fetch(url: str, limit: int, allows: Allows = is_public) -> Fetched:
    """Fetch a URL of at most ``limit`` bytes, and return its data and address.

    Each host name is resolved once, and the connection goes to that address, which ``allows`` must accept. Redirects
    are checked in the same way. No proxy and no cookies are used. Raise DocumentError if the page cannot be fetched,
    LimitError if it is too large or too slow.
    """
    until, at = time.monotonic() + _TOGETHER, url
    for _ in range(_REDIRECTS + 1):
        parts = _examined(at, url)
        with _open_url(parts, url, allows) as response:
            if response.status in _REDIRECT_CODES and (target := response.getheader("Location")):
                at = urljoin(at, target)
                continue
            if response.status != http.client.OK:
                raise DocumentError(f"the server answered {response.status} {response.reason}.", file=url)
            name = _name_from_url(parts, response.getheader("Content-Type") or "", url)
            return Fetched(name, _body(response, url, limit, until))
    raise DocumentError(f"the server redirects more than {_REDIRECTS} times.", file=url)


def _examined(at: str, url: str) -> SplitResult:
    try:
        parts = urlsplit(at)
        fine = parts.scheme in _PORTS and parts.hostname and parts.username is None and (parts.port or 1) > 0
    except ValueError:
        fine = False
    if not fine:
        raise DocumentError(
            "this is not a web address that can be fetched.",
            "Use an http or https address without a user name in it.",
            file=url,
        )
    return parts


@contextlib.contextmanager
def _open_url(parts: SplitResult, url: str, allows: Allows) -> Iterator[http.client.HTTPResponse]:
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
        raise DocumentError(
            f"the address cannot be fetched ({error}).",
            "Try again, or save the page to a file and index the file.",
            file=url,
        ) from error


def _resolved(host: str, port: int, url: str, allows: Allows) -> str:
    """Return an IP address of a host whose addresses are all allowed.

    Raise DocumentError if any address is not allowed, because a mix of public and private addresses may be an attack.
    """
    addresses = [str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    refused = [ip for ip in addresses if not allows(ip)]
    if refused or not addresses:
        leads = ", ".join(refused) or "no address"
        detail = f"{host} is" if leads == host else f"{host} leads to {leads}, which is"
        raise DocumentError(f"{detail} not a public address.", file=url)
    return addresses[0]


def _name_from_url(parts: SplitResult, media_type: str, url: str) -> str:
    path = PurePosixPath(own_name(unquote(parts.path).strip("/")) or "index")
    kind = media_type.partition(";")[0].strip().lower()
    suffix = path.suffix if kind in _GENERIC_TYPES else _KINDS.get(kind) or mimetypes.guess_extension(kind) or ""
    format = of_suffix(suffix)
    if format is None:
        raise DocumentError(f"files of the type {kind or 'unknown'} are not supported.", file=url)
    if of_suffix(path.suffix) is not format:
        path = path.with_name(path.name + suffix)
    query = own_name(unquote(parts.query).replace("/", "_"))
    return f"{WEB}{parts.netloc}/{path.with_name(f'{path.stem}?{query}{path.suffix}') if query else path}"


def _body(response: http.client.HTTPResponse, url: str, limit: int, until: float) -> bytes:
    data = bytearray()
    while piece := response.read(_PIECE):
        data += piece
        if len(data) > limit:
            advice = "Raise the setting max_download_size, and index the address again."
            raise LimitError(f"the file has more than {limit:,} bytes.", advice, file=url)
        if time.monotonic() > until:
            raise LimitError(
                f"the download was not complete after {_TOGETHER:g} s.",
                "Save the page to a file, and index the file.",
                file=url,
            )
    return bytes(data)
