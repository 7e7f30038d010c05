"""Other places of a Word document's words: flat XML, embedded files (altChunk), and data bound to its controls."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from lxml import etree

from hybrid_core.errors import DocumentError
from indexers.formats.decode import decode
from indexers.formats.flow.blocks import Block, Paragraph
from indexers.formats.flow.safety import Package, read_xml, words_of
from indexers.formats.limits import ParseLimits
from indexers.formats.office.ooxml import R, W, part, relations
from indexers.formats.office.rtf import rtf_blocks
from indexers.formats.web.html import html_text, parse_html

_PACKAGE = "{http://schemas.microsoft.com/office/2006/xmlPackage}"
_WORD_2003 = "http://schemas.microsoft.com/office/word/2003/wordml"
_MARKUP = "{http://schemas.microsoft.com/aml/2001/core}"
_HINT = "{http://schemas.microsoft.com/office/word/2003/auxHint}"
_RELATED = '<Relationship Id="r{}" Type="/{}" Target="{}"{}/>'
_HEAD = 1024


def flat_package(path: Path, limits: ParseLimits) -> bytes | None:
    """Return a document in flat XML, converted to a package without pictures; None if it is a package already.

    Flat OPC files and the XML of Word 2003 are supported. Raise DocumentError if it is damaged.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if head.startswith(b"PK") or b"<" not in head or zipfile.is_zipfile(path):
        return None
    limits.check_file(path)
    root, _ = read_xml(path.read_bytes(), "damaged, it", file=path)
    parts: dict[str, bytes] = {}
    if root.tag == f"{_PACKAGE}package":
        for entry in root.iter(f"{_PACKAGE}part"):
            data = entry.find(f"{_PACKAGE}xmlData")
            if data is not None and len(data):
                parts[entry.get(f"{_PACKAGE}name", "").lstrip("/")] = etree.tostring(data[0])
    else:
        usual = etree.tostring(root).replace(_WORD_2003.encode(), W[1:-1].encode())
        parts = dict(_parts_of_2003(read_xml(usual, "damaged, it", file=path)[0]))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as package:
        for name, content in parts.items():
            package.writestr(name, content)
    return packed.getvalue()


def _parts_of_2003(root: etree._Element) -> Iterator[tuple[str, bytes]]:
    """Yield the parts of a package (name, content) for a document of Word 2003.

    Such a document has its notes, comments and running heads inside the text, and the numbers of its lists in words.
    """
    links: list[str] = []
    texts: dict[str, list[etree._Element]] = {kind: [] for kind in ("footnote", "endnote", "comment")}
    for node in list(root.iter(f"{W}hdr", f"{W}ftr")):
        kind = "header" if node.tag == f"{W}hdr" else "footer"
        name = f"{kind}{len(links)}.xml"
        links.append(_RELATED.format(len(links), kind, name, ""))
        yield f"word/{name}", etree.tostring(node)
        _remove(node)
    for link in root.iter(f"{W}hlink"):
        link.tag = f"{W}hyperlink"
        link.set(f"{R}id", f"r{len(links)}")
        address = escape(link.get(f"{W}dest") or "", {'"': "&quot;"})
        links.append(_RELATED.format(len(links), "hyperlink", address, ' TargetMode="External"'))
    for merged in root.iter(f"{W}vmerge"):
        merged.tag = f"{W}vMerge"
    for node in list(root.iter(f"{W}footnote", f"{W}endnote", f"{_MARKUP}annotation")):
        kind = "comment" if node.tag == f"{_MARKUP}annotation" else etree.QName(node).localname
        parent = node.getparent()
        if parent is None or node.get(f"{W}type") != ("Word.Comment" if kind == "comment" else None):
            continue  # a tracked change, or the line above notes
        id = str(len(texts[kind]))
        reference = etree.Element(f"{W}{kind}Reference", {f"{W}id": id})
        reference.tail = node.tail
        parent.replace(node, reference)
        node.tag, node.tail = f"{W}{kind}", None
        node.attrib.update({f"{W}id": id, f"{W}author": node.get(f"{_MARKUP}author") or ""})
        texts[kind].append(node)
    for mark in list(root.iter(f"{_HINT}t")):
        paragraph = next(mark.iterancestors(f"{W}p"), None)
        parent = mark.getparent()
        if paragraph is not None and parent is not None and parent.tag == f"{W}listPr":
            run = etree.SubElement(paragraph, f"{W}r")
            etree.SubElement(run, f"{W}t").text = f"{mark.get(f'{_HINT}val') or ''} "
            paragraph.insert(1, run)
    for kind, notes in texts.items():
        listed = etree.Element(f"{W}{kind}s")
        listed.extend(notes)
        links.append(_RELATED.format(len(links), f"{kind}s", f"{kind}s.xml", ""))
        yield f"word/{kind}s.xml", etree.tostring(listed)
    yield "word/document.xml", etree.tostring(root)
    yield "word/_rels/document.xml.rels", f"<Relationships>{''.join(links)}</Relationships>".encode()


def _remove(node: etree._Element) -> None:
    if (parent := node.getparent()) is not None:
        parent.remove(node)


def chunk_blocks(
    data: bytes, name: str, path: Path, limits: ParseLimits, read_package: Callable[[Package], Iterator[Block]]
) -> Iterator[Block]:
    """Yield the blocks of an embedded file (altChunk). Its format is detected from its content, not from its name."""
    head = data[:_HEAD].lstrip().lower()
    if data.startswith(b"PK"):
        package = Package(path, limits, data)
        try:
            yield from list(read_package(package))
        finally:
            package.close()
    elif head.startswith(b"{\\rtf"):
        yield from rtf_blocks(data)
    else:
        data = _web_page(data) if head.startswith((b"mime-version:", b"from:")) or name.endswith(".mht") else data
        if b"<" in data[:_HEAD] and not name.endswith(".txt"):
            yield from parse_html(html_text(data, path)[0], whole=True, place=f"{name} ").blocks
            return
        try:
            text, _ = decode(data, path)
        except DocumentError:
            return
        yield from (Paragraph(line, name) for line in text.splitlines() if line.strip())


def _web_page(data: bytes) -> bytes:
    """Return the HTML page in a web archive (MHT), or the data itself if it has none."""
    for message in message_from_bytes(data, policy=policy.default).walk():
        content = message.get_payload(decode=True)
        if message.get_content_type() in ("text/html", "application/xhtml+xml") and isinstance(content, bytes):
            return content
    return data


_CORE = "{6C3C8BC8-F283-45AE-878A-BAB7291924A1}"  # the store of the file's properties
_EXTENDED = "{6668398D-A668-4E3E-A5EB-62B293D839F1}"
_STEPS = re.compile(
    r"(?:/(?:[\w.-]{1,100}:)?[\w.-]{1,100}(?:\[\d{1,6}\])?){1,20}(?:/@(?:[\w.-]{1,100}:)?[\w.-]{1,100})?"
)
_PREFIX = re.compile(r"xmlns:([\w.-]{1,100})=(?:'([^']{1,300})'|\"([^\"]{1,300})\")")
_ITEM = "{http://schemas.openxmlformats.org/officeDocument/2006/customXml}"
_MOST_STORES = 100


class BoundControls:
    """The XML data in a document to which its content controls are bound. Word shows the data in the controls."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._stores: dict[str, etree._Element] | None = None

    def fill(self, root: etree._Element) -> None:
        """Put the data in place of the words of the plain text controls and lists that are bound to it."""
        for binding in list(root.iter(f"{W}dataBinding")):
            properties = binding.getparent()
            control = None if properties is None else properties.getparent()
            content = None if control is None else control.find(f"{W}sdtContent")
            if properties is None or content is None or not (value := self._value(binding)):
                continue
            lists = [node for name in ("comboBox", "dropDownList") for node in properties.iterfind(f"{W}{name}")]
            shown = {item.get(f"{W}value"): item.get(f"{W}displayText") for node in lists for item in node}
            value = shown.get(value) or value
            is_hint = properties.find(f"{W}showingPlcHdr") is not None
            words = list(content.iter(f"{W}t"))
            if words and (lists or properties.find(f"{W}text") is not None or is_hint):
                words[0].text = value
                for other in words[1:]:
                    other.text = ""

    def _value(self, binding: etree._Element) -> str:
        path, id = binding.get(f"{W}xpath") or "", (binding.get(f"{W}storeItemID") or "").upper()
        if self._stores is None:
            self._stores = dict(self._read_stores())
        if id not in self._stores or _STEPS.fullmatch(path) is None:
            return ""
        names = {
            name: first or second for name, first, second in _PREFIX.findall(binding.get(f"{W}prefixMappings") or "")
        }
        try:
            nodes: Any = self._stores[id].getroottree().xpath(f"({path})[1]", namespaces=names)
        except etree.XPathError:
            return ""
        node = nodes[0] if isinstance(nodes, list) and nodes else ""
        text = " ".join((words_of(node) if isinstance(node, etree._Element) else str(node)).split())
        return text.removesuffix("T00:00:00")

    def _read_stores(self) -> Iterator[tuple[str, etree._Element]]:
        """Yield (id, root element) of each set of data. Damaged ones are skipped."""
        for kind, target in self._relations(""):
            if kind in ("core-properties", "extended-properties"):
                yield from self._store(target, _CORE if kind == "core-properties" else _EXTENDED)
        names = (name for name in self._package.names if re.fullmatch(r"customXml/item\d+\.xml", name, re.I))
        for name in list(names)[:_MOST_STORES]:
            for kind, target in self._relations(name):
                if kind == "customXmlProps":
                    yield from ((id, root) for _, props in self._store(target, "")
                                if (id := (props.get(f"{_ITEM}itemID") or "").upper())
                                for _, root in self._store(name, id))  # fmt: skip

    def _relations(self, name: str) -> list[tuple[str, str]]:
        try:
            return list(relations(self._package, name).values())
        except DocumentError:
            return []

    def _store(self, name: str, id: str) -> Iterator[tuple[str, etree._Element]]:
        try:
            if name in self._package:
                yield id, part(self._package, name)
        except DocumentError:
            return
