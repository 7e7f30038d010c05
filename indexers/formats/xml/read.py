"""XML files as blocks, read by the vocabulary of their root element."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from hybrid_core.errors import BrokenFileError, EmptyFileError
from hybrid_core.types.notes import Note
from indexers.formats.decode import decode
from indexers.formats.flow.blocks import Block, Flow, Paragraph, Part
from indexers.formats.flow.safety import read_xml
from indexers.formats.limits import ParseLimits
from indexers.formats.web.html import declared_label
from indexers.formats.xml.documents import DocumentWriter
from indexers.formats.xml.feeds import feed_blocks, outline_blocks
from indexers.formats.xml.invoices import InvoiceReader
from indexers.formats.xml.trees import TreeReader
from indexers.formats.xml.vocabularies import KINDS, tag, vocabulary_of

_DECLARATION = re.compile(r"\s*<\?xml\b[^>]{0,1000}\?>", re.I)
_HEADERS = re.compile(r"<\?xml\b[^>]{0,1000}\?>|<!DOCTYPE\b[^>\[]{0,1000}(?:\[[^\]]{0,10000}\]\s*)?>", re.I)
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_AMPERSAND = re.compile(r"(<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z))"
                        r"|&(?!#\d{1,7};|#x[\da-f]{1,6};|[^\W\d][\w.:-]*;)",
                        re.I | re.S)  # fmt: skip
_OUTSIDE = re.compile(r"<!ENTITY\s{1,20}([\w:.-]{1,60})\s{1,20}(?:SYSTEM|PUBLIC)\b")
_INCLUDE = "{http://www.w3.org/2001/XInclude}include"
_MAP_ENTRIES = frozenset(("topicref", "chapter", "appendix", "part", "mapref", "keydef", "notices", "glossarylist"))
_MAPS = frozenset(("map", "bookmap", "subjectScheme"))
_HEAD = 100_000  # characters that may contain entity declarations


def read_xml_file(path: Path, limits: ParseLimits) -> Flow:
    """Read an XML file. Raise DocumentError if it is empty, has no element, or exceeds a limit."""
    root, warnings = read_root(path, limits)
    vocabulary, metadata = vocabulary_of(root), dict[str, str]()
    if vocabulary in KINDS:
        writer = DocumentWriter(vocabulary, root, metadata)
        blocks = iter([*writer.blocks()])
        if words := writer.words_left_out:
            warnings.append(Note("read.entries-left-out", words=words))
    elif vocabulary == "feed":
        blocks = feed_blocks(root, metadata)
    elif vocabulary == "invoice":
        invoice = InvoiceReader(root, metadata)
        blocks = iter([*invoice.blocks()])
        if invoice.encoded:
            warnings.append(Note("read.encoded-left-out", values=invoice.encoded))
    elif vocabulary == "outline":
        blocks = outline_blocks(root, metadata)
    elif vocabulary in ("xliff", "tmx"):
        from indexers.formats.records.translations import memory_blocks, xliff_blocks

        blocks = xliff_blocks(root) if vocabulary == "xliff" else memory_blocks(root)
    else:
        blocks = TreeReader(root, metadata).blocks()
    return Flow(iter([Part(_never_empty(blocks, root))]), metadata, warnings)


def _never_empty(blocks: Iterator[Block], root: etree._Element) -> list[Block]:
    """Return the blocks as a list. If there are none, return all words of the file as one block."""
    return list(blocks) or [
        Paragraph("\n".join(filter(None, map(str.strip, map(str, root.itertext())))), "paragraph 1")
    ]


def read_root(path: Path, limits: ParseLimits) -> tuple[etree._Element, list[str]]:
    """Return the root element of a file, and warnings. A bare ``&`` in a malformed file is repaired."""
    limits.check_file(path)
    data = path.read_bytes()
    if not data:
        raise EmptyFileError("the file is empty.", file=path)
    text, warnings = decode(data, path, declared_label(data))
    del data
    text = _DECLARATION.sub("", text.lstrip("\ufeff \t\r\n"), count=1).lstrip()
    text, controls = _CONTROLS.subn("", text)
    if controls:
        warnings.append(Note("read.controls-left-out", characters=controls))
    if re.search(r"<[^\W\d]", text) is None:
        raise BrokenFileError("the file is damaged: it contains no XML element.", file=path)
    what = "the file is damaged: it"
    root, whole = read_xml(text.encode(), what, file=path)
    if not whole:
        mended, signs = _AMPERSAND.subn(lambda sign: sign[1] or "&amp;", text)
        if signs:
            root, whole = read_xml(mended.encode(), what, file=path)
        if whole:
            warnings.append(Note("read.unescaped"))
        elif (several := _several_roots(mended, what, path)) is not None:
            root = several
        else:
            warnings.append(Note("read.partly"))
    if parts := _parts_outside(root, text[:_HEAD], text):
        warnings.append(Note("read.parts-elsewhere", parts=parts))
    return root, warnings


def _several_roots(text: str, what: str, path: Path) -> etree._Element | None:
    """Return an element around the root elements of a file that joins several XML files, None for any other file."""
    joined = f"<files>{_HEADERS.sub('', text)}</files>"
    root, whole = read_xml(joined.encode(), what, file=path)
    return root if whole and len(root) > 1 else None


def _parts_outside(root: etree._Element, head: str, text: str) -> int:
    """Return the number of places at which a file includes another file."""
    parts = sum(1 for _ in root.iter(_INCLUDE))
    if names := set(_OUTSIDE.findall(head)):
        parts += sum(text.count(f"&{name};") for name in names)
    if tag(root) in _MAPS:
        parts += sum(1 for entry in root.iter() if tag(entry) in _MAP_ENTRIES and entry.get("href"))
    return parts
