"""Safe reading of packages and XML: limits on expansion and nesting, entities without network access."""

from __future__ import annotations

import html
import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote

from lxml import etree

from hybrid_core.errors import BrokenFileError, LimitError, PasswordError
from hybrid_core.types.notes import Note
from indexers.formats.limits import ParseLimits, line_of_error, system_reason

_LONGEST, _MOST, _DEEPEST = 1_000, 1_000_000, 8  # characters of one, of all in a file, and one inside the other
_SUBSET = re.compile(r"(<!DOCTYPE[^\[<>]{0,1000})\[(.{0,100000}?)\]\s{0,100}>", re.I | re.S)
_DECLARED = re.compile(r"<!ENTITY\s{1,20}([\w:.-]{1,60})\s{1,20}(?:\"([^\"]{0,2000})\"|'([^']{0,2000})')\s{0,20}>")
_REFERENCE = re.compile(r"&([^\W\d][\w:.-]{0,60});")
_MARKUP = re.compile(r"<[^<>]{0,1000}>")
_PROLOG = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s|<\?.{0,2000}?\?>|<!--.{0,100000}?-->){0,1000}", re.S)
_DOCTYPE = re.compile(rb"<!DOCTYPE\s+[^\s\[<>]{1,200}\s*(?=[\[>])")
_OWN = frozenset(("amp", "lt", "gt", "quot", "apos"))


class Entities:
    """The replacement texts of the entities (``&name;``) of an XML file.

    External, undeclared and too long entities have the text "".
    """

    def __init__(self, declared: Mapping[str, str | None]) -> None:
        self._declared = declared
        self._words: dict[str, str | None] = {}
        self._left = _MOST

    def words(self, name: str) -> str:
        """Return the text of an entity without markup, "" if all replacements together exceed the limit of the file."""
        text = self._text(name, 0) or ""
        if len(text) > self._left:
            return ""
        self._left -= len(text)
        return text

    def _text(self, name: str, deep: int) -> str | None:
        if name not in self._declared:
            text = html.unescape(f"&{name};")
            return "" if text.startswith("&") and name != "amp" else text
        if name not in self._words:
            self._words[name] = None  # also for who asks from inside it
            self._words[name] = self._read(self._declared[name], deep)
        return self._words[name]

    def _read(self, content: str | None, deep: int) -> str | None:
        if content is None or len(content) > _LONGEST or deep == _DEEPEST:
            return None
        parts: list[str] = []
        at = 0
        content = _MARKUP.sub("", content)
        for match in _REFERENCE.finditer(content):
            inner = self._text(match[1], deep + 1)
            if inner is None:
                return None
            parts += (html.unescape(content[at : match.start()]), inner)
            at = match.end()
        text = "".join((*parts, html.unescape(content[at:])))
        return text if len(text) <= _LONGEST else None


def put_in(root: etree._Element) -> int:
    """Replace the entities in an XML tree by their texts, so that only elements remain.

    Return the number of entities without a text.
    """
    nodes: list[Any] = list(root.iter(etree.Entity))
    if not nodes:
        return 0
    subset: Any = root.getroottree().docinfo.internalDTD
    entities = Entities({} if subset is None else {entity.name: entity.content for entity in subset.iterentities()})
    unknown = 0
    for node in nodes:
        words = entities.words(str(node.name))
        unknown += not words
        node.tail = words + (node.tail or "")
    etree.strip_elements(root, etree.Entity, with_tail=False)
    return unknown


def put_in_text(source: str) -> str:
    """Return an HTML text without its entity declarations, and with the declared entities replaced."""
    subset = _SUBSET.search(source[:200_000])
    if subset is None:
        return source
    declared = {match[1]: match[2] or match[3] or "" for match in _DECLARED.finditer(subset[2])}
    entities = Entities(declared)

    def named(match: re.Match[str]) -> str:
        declares = match[1] in declared and match[1] not in _OWN
        return html.escape(entities.words(match[1])) if declares else match[0]

    return f"{source[: subset.start()]}{subset[1]}>{_REFERENCE.sub(named, source[subset.end() :])}"


_RATIO = 200  # expanded to packed bytes of an entry; text that is far better packed is made to be so
_SMALL = 16 * 2**20  # bytes below which the ratio does not matter: a blank sheet packs well
_ENCRYPTED = 0x1


class Package:
    """A ZIP file whose entries are read by name.

    ``warnings`` name entries that could be read only in part. Raises LimitError if it would expand to too much,
    PasswordError if it is encrypted, and DocumentError if it is damaged.
    """

    def __init__(self, path: Path, limits: ParseLimits, data: bytes | None = None) -> None:
        """Open a package. ``data`` are its bytes, if they are not those of the file at ``path``."""
        self._path = path
        self.warnings: list[str] = []
        try:
            self._zip = zipfile.ZipFile(path if data is None else io.BytesIO(data))
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise BrokenFileError(
                f"the package is damaged, so its entries cannot be listed{system_reason(error)}.", file=path
            ) from error
        entries = self._zip.infolist()
        limits.check("max_entries", len(entries), f"the package contains {len(entries):,} files", file=path)
        size = sum(entry.file_size for entry in entries)
        limits.check("max_expanded_bytes", size, f"the package has {size:,} bytes when it is unpacked", file=path)
        for entry in entries:
            if entry.file_size > max(_SMALL, _RATIO * entry.compress_size):
                raise LimitError(
                    f"the file was refused, because its entry '{entry.filename[-60:]}' has {entry.compress_size:,} "
                    f"bytes and unpacks to {entry.file_size:,} bytes. Such a ratio is typical of files that are made "
                    "to exhaust the memory.",
                    file=path,
                )
        self._entries = {entry.filename.replace("\\", "/").lstrip("/"): entry for entry in entries}
        self._spellings = {_spelling(name): entry for name, entry in self._entries.items()}

    @property
    def entries(self) -> list[zipfile.ZipInfo]:
        """Return the entries in the package's order."""
        return self._zip.infolist()

    @property
    def names(self) -> list[str]:
        return list(self._entries)

    def __contains__(self, name: str) -> bool:
        return self._find(name) is not None

    def size(self, name: str) -> int:
        """Return the uncompressed size of an entry in bytes, 0 if it is missing."""
        entry = self._find(name)
        return entry.file_size if entry is not None else 0

    def _find(self, name: str) -> zipfile.ZipInfo | None:
        """Return an entry by its name, ignoring case and percent-encoding if necessary. None if it is missing."""
        entry = self._entries.get(name)
        return entry if entry is not None else self._spellings.get(_spelling(name))

    def read(self, name: str) -> bytes:
        """Return an entry's bytes. Raise DocumentError if it is missing or damaged."""
        entry = self._entry(name)
        try:
            return self._zip.read(entry)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError) as error:
            raise BrokenFileError(
                f"the package is damaged, so its entry '{name}' cannot be unpacked{system_reason(error)}.",
                file=self._path,
            ) from error

    def stream(self, name: str) -> IO[bytes]:
        """Open an entry for reading in pieces. Raise the same errors as ``read``; damage shows during reads."""
        entry = self._entry(name)
        try:
            return self._zip.open(entry)
        except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError) as error:
            raise BrokenFileError(
                f"the package is damaged, so its entry '{name}' cannot be unpacked{system_reason(error)}.",
                file=self._path,
            ) from error

    def _entry(self, name: str) -> zipfile.ZipInfo:
        """Return an entry for reading. Raise DocumentError if it is missing, PasswordError if it is encrypted."""
        entry = self._find(name)
        if entry is None:
            raise BrokenFileError(f"the package is damaged: the entry '{name}' is missing.", file=self._path)
        if entry.flag_bits & _ENCRYPTED:
            raise PasswordError(
                "the file is encrypted.",
                "Save a copy of the file without a password, and index the copy.",
                file=self._path,
            )
        return entry

    def xml(self, name: str) -> etree._Element:
        return self.root(name, self.read(name))

    def root(self, name: str, data: bytes) -> etree._Element:
        """Return the root element of an entry's XML text ``data``."""
        root, whole = read_xml(data, f"the file is damaged: '{name}' in it", file=self._path)
        if not whole:
            self.warnings.append(Note("read.part-partly", name=name))
        return root

    def close(self) -> None:
        self._zip.close()


def _spelling(name: str) -> str:
    return unquote(name).casefold()


def words_of(element: etree._Element) -> str:
    """Return all text inside an element, in order."""
    return "".join(map(str, element.itertext()))


def line_of(element: etree._Element) -> str:
    """Return all words of an element in one line."""
    return " ".join(words_of(element).split())


def _with_outer_entities(data: bytes) -> bytes:
    """Return an XML text with a reference to an external DTD added, which is never fetched.

    This makes undeclared entities valid. Without it, libxml2 drops every entity after the first undeclared one.
    """
    at = _PROLOG.match(data)
    end = at.end() if at is not None else 0
    if (declared := _DOCTYPE.match(data, end)) is not None:
        return b'%s SYSTEM "none" %s' % (data[: declared.end()], data[declared.end() :])
    is_root = data[end : end + 1] == b"<" and data[end + 1 : end + 2] not in (b"!", b"\0", b"")
    return b'%s<!DOCTYPE none SYSTEM "none">%s' % (data[:end], data[end:]) if is_root else data


def _attempts(data: bytes) -> Iterator[tuple[bytes, bool]]:
    """Yield (bytes, recover) for each attempt to parse an XML text, until one succeeds.

    ``recover`` tells the parser to continue after errors. Later attempts use a changed copy of the bytes.
    """
    yield data, False
    outer = _with_outer_entities(data)
    yield outer, False
    yield outer, True


def read_xml(data: bytes, what: str, file: object = "") -> tuple[etree._Element, bool]:
    """Return the root element of an XML text, and whether all of it could be read.

    ``what`` begins the error message. Declared entities are replaced by their texts within limits; nothing is fetched.
    libxml2 limits the depth and the size of nodes.
    """
    for source, recover in _attempts(data):
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=recover,
            remove_comments=True, remove_pis=True,
        )  # fmt: skip
        try:
            root = etree.fromstring(source, parser)
        except (etree.XMLSyntaxError, ValueError) as error:
            if recover:
                raise BrokenFileError(f"{what} is not valid XML{line_of_error(error)}.", file=file) from error
            continue
        if root is not None:
            unknown = put_in(root)
            return root, not recover and (source is data or not unknown)
    raise BrokenFileError(f"{what} is not valid XML.", file=file)
