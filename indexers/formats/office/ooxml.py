"""Office Open XML packages: parts, relations and properties, words in drawings, embedded files."""

from __future__ import annotations

import codecs
import io
import posixpath
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

from lxml import etree

from hybrid_core.errors import BrokenFileError, DocumentError
from indexers.formats.flow.linear import EQUATION, Piece, equation, linear
from indexers.formats.flow.safety import Package
from indexers.formats.format import Member
from indexers.formats.limits import ParseLimits
from indexers.formats.office.symbol_fonts import decode_signs

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_STRICT = b"http://purl.oclc.org/ooxml/"
_YEARLESS = re.compile(rb"(?<==[\"'])http://purl\.oclc\.org/ooxml/(officeDocument|[a-z]+ml)/([A-Za-z/]+)")
_ENCODING = re.compile(rb"(<\?xml[^>]{0,100}?)\sencoding=(?:\"[^\"]*\"|'[^']*')")
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_PROPERTIES = {"title": "title", "creator": "author", "subject": "subject", "keywords": "keywords",
               "description": "description", "created": "creationDate", "modified": "modDate"}  # fmt: skip


def part(package: Package, name: str) -> etree._Element:
    """Return the root element of a part, with the usual (transitional) namespaces in place of strict ones."""
    data = package.read(name)
    return package.root(name, usual_namespaces(data))


def usual_namespaces(data: bytes) -> bytes:
    """Return an XML text with the usual (transitional) namespaces in place of strict ones.

    A part of a usual file may have elements in strict namespaces, at any place. UTF-16 becomes UTF-8.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        data = _ENCODING.sub(rb"\1", data.decode("utf-16", "replace").encode(), count=1)
    if _STRICT not in data:
        return data
    return _YEARLESS.sub(rb"http://schemas.openxmlformats.org/\1/2006/\2", data)


def relations(package: Package, name: str) -> dict[str, tuple[str, str]]:
    """Return the internal relations of a part as (kind, target) by id. External targets are left out."""
    folder, file = posixpath.split(name)
    listed = f"{folder}/_rels/{file}.rels".lstrip("/")
    if listed not in package:
        return {}
    related = {}
    for relation in package.xml(listed):
        if relation.get("TargetMode") == "External" or not relation.get("Target"):
            continue
        link = unquote(relation.get("Target", "")).replace("\\", "/")
        target = posixpath.normpath(posixpath.join("/", folder, link))
        related[relation.get("Id", "")] = ((relation.get("Type") or "").rpartition("/")[2], target.lstrip("/"))
    return related


def link_targets(package: Package, name: str) -> dict[str, str]:
    """Return the addresses outside the file to which a part links, by the id of the relation."""
    folder, file = posixpath.split(name)
    listed = f"{folder}/_rels/{file}.rels".lstrip("/")
    if listed not in package:
        return {}
    links = (relation for relation in package.xml(listed) if relation.get("TargetMode") == "External")
    return {
        relation.get("Id", ""): relation.get("Target", "")
        for relation in links if (relation.get("Type") or "").endswith("/hyperlink")
    }  # fmt: skip


def main_part(package: Package, path: object, default: str) -> str:
    """Return the name of the part of a package that contains the main document.

    Raise BrokenFileError if it is missing.
    """
    for kind, target in relations(package, "").values():
        if kind == "officeDocument" and target in package:
            return target
    if default in package:
        return default
    raise BrokenFileError("the file is damaged: its main document is missing.", file=path)


def properties(package: Package) -> dict[str, str]:
    for kind, target in relations(package, "").values():
        if kind == "core-properties" and target in package:
            try:
                root = package.xml(target)
            except DocumentError:
                return {}
            values = {etree.QName(child).localname: " ".join((child.text or "").split()) for child in root}
            return {_PROPERTIES[key]: value for key, value in values.items() if key in _PROPERTIES and value}
    return {}


DRAWN = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_ALTERNATE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
_DEEPEST = 20


def choose_alternatives(root: etree._Element) -> None:
    """Replace each set of alternatives (AlternateContent) in a tree by its first non-empty choice."""
    for node in list(root.iter(_ALTERNATE)):
        parent = node.getparent()
        if parent is None:
            continue
        at = parent.index(node)
        parent[at : at + 1] = list(choose_alternative(node))


def choose_alternative(node: etree._Element) -> etree._Element:
    """Return the first non-empty choice in a set of alternatives (AlternateContent), or an empty element.

    A choice that only refers to ink (contentPart) is empty. Its fallback is a picture of the ink.
    """
    choices = (choice for choice in node if any(not str(inner.tag).endswith("}contentPart") for inner in choice))
    return next(choices, etree.Element("none"))


def drawn_lines(shape: etree._Element) -> Iterator[str]:
    """Yield the alternative texts and the paragraphs of a drawn shape."""
    choose_alternatives(shape)
    for node in shape.iter("{*}cNvPr"):
        if alt := alternative_text(node):
            yield alt
    for paragraph in shape.iter(f"{DRAWN}p"):
        if line := " ".join(paragraph_text(paragraph).split()):
            yield line


def alternative_text(properties: etree._Element) -> str:
    """Return the alternative text in the properties of a shape: its description, else its title."""
    return " ".join((properties.get("descr") or properties.get("title") or "").split())


def unescaped(text: str) -> str:
    """Decode escapes such as "_x000D_". Control characters, which are invalid in XML, become spaces."""
    if "_x" not in text:
        return text
    return _ESCAPE.sub(lambda inner: chr(code) if (code := int(inner[1], 16)) >= 32 else " ", text)


def paragraph_text(paragraph: etree._Element, links: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the text of a paragraph with superscripts, subscripts and equations.

    ``links`` are the addresses to which it may link, by the id of the relation.
    """
    pieces: list[Piece] = []
    waiting: list[tuple[Any, int, bool, str, tuple[str, ...]]]
    waiting = [(node, 0, False, "", ("", "")) for node in reversed(paragraph)]
    while waiting:
        element, shift, struck, link, fonts = waiting.pop()
        name = str(element.tag).rpartition("}")[2]
        if element.tag == EQUATION:
            pieces.append(Piece(equation(element)))
        elif name == "t":
            words = decode_signs(unescaped(element.text or ""), fonts[:1], fonts)
            pieces.append(Piece(words, shift, struck, link))
        elif name == "br":
            pieces.append(Piece("\n"))
        elif name not in ("rPr", "pPr", "endParaRPr", "Fallback"):
            if name in ("r", "fld") and (how := element.find(f"{DRAWN}rPr")) is not None:
                raised = (how.get("baseline") or "0").rstrip("%").lstrip("+")
                shift = 0 if not raised.strip("-0.") else -1 if raised.startswith("-") else 1
                struck = how.get("strike") in ("sngStrike", "dblStrike")
                named = (how.find(f"{DRAWN}{kind}") for kind in ("latin", "sym"))
                fonts = tuple("" if font is None else font.get("typeface") or "" for font in named)
                click = how.find(f"{DRAWN}hlinkClick")
                link = "" if click is None else links.get(click.get(f"{R}id") or "", "")
            waiting += [(node, shift, struck, link, fonts) for node in reversed(element)]
    return linear(pieces)


def diagram_lines(root: etree._Element) -> Iterator[tuple[int, str]]:
    """Yield (depth, text) of the nodes of a diagram (SmartArt) along its connections, then of unconnected nodes."""
    points = {node.get("modelId", ""): node for node in root.iter(f"{_DIAGRAM}pt")}
    below: dict[str, list[tuple[int, str]]] = {}
    for node in root.iter(f"{_DIAGRAM}cxn"):
        if node.get("type", "parOf") == "parOf":
            order = node.get("srcOrd") or "0"
            below.setdefault(node.get("srcId", ""), []).append(
                (int(order) if order.isdigit() else 0, node.get("destId", ""))
            )
    first = [(0, name) for name, node in points.items() if node.get("type") == "doc"]
    waiting, seen = list(reversed(first)), set[str]()
    while waiting or len(seen) < len(points):
        if not waiting:
            waiting = [(1, name) for name in reversed(points) if name not in seen]
        depth, name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if (point := points.get(name)) is not None:
            for paragraph in point.iter(f"{DRAWN}p"):
                if line := " ".join(paragraph_text(paragraph).split()):
                    yield max(0, depth - 1), line
        children = sorted(below.get(name, ()), reverse=True)
        waiting += [(min(depth + 1, _DEEPEST), child) for _, child in children if child not in seen]


def diagram_words(data: etree._Element | None, drawings: Iterable[etree._Element]) -> list[tuple[int, str]]:
    """Return (depth, text) of the nodes of a diagram. Without data, return the texts of the ``drawings`` made from it.

    They are requested only then.
    """
    nodes = [] if data is None else list(diagram_lines(data))
    return nodes or [(0, line) for root in drawings for line in drawn_lines(root)]


_FOLDERS = ("/embeddings/", "/embedded/")
_STREAMS = {"WordDocument": ".doc", "PowerPoint Document": ".ppt", "Workbook": ".xls", "Book": ".xls",
            "__properties_version1.0": ".msg"}  # fmt: skip
_PARTS = (("word/", ".docx"), ("ppt/", ".pptx"), ("xl/", ".xlsx"))
_HEAD = 4096


def office_members(path: Path, limits: ParseLimits) -> Iterator[Member]:
    """Yield the files embedded in a package, except the workbooks of charts, whose values are on the page.

    Raise the errors of ``Package``.
    """
    package = Package(path, limits)
    try:
        names = [name for name in package.names if any(folder in f"/{name}" for folder in _FOLDERS)]
        names = [name for name in names if "/_rels/" not in name and not name.endswith("/")]
        charts = set(_of_charts(package)) if names else set()
        entries = [_label_entry(package, name) for name in names if name not in charts]
    finally:
        package.close()
    for name, shown in entries:
        yield Member(shown, partial(_content, path, limits, name))


def _of_charts(package: Package) -> Iterator[str]:
    for name in package.names:
        if "/charts/" in name and name.endswith(".xml") and "/_rels/" not in name:
            try:
                yield from (target for kind, target in relations(package, name).values() if kind == "package")
            except DocumentError:
                continue  # a damaged list names no workbook


def _label_entry(package: Package, name: str) -> tuple[str, str]:
    """Return (entry name, display name) of an embedded file.

    The display name is the original file name if it is stored.
    """
    path = PurePosixPath(name)
    if path.suffix.lower() not in (".bin", ".ole"):
        return name, path.name
    try:
        label, data = unwrapped(package.read(name))
    except DocumentError:
        return name, path.name  # its reader reports the damage
    return name, label or f"{path.stem}{file_ending(data)}"


def _content(path: Path, limits: ParseLimits, name: str) -> list[bytes]:
    package = Package(path, limits)
    try:
        return [unwrapped(package.read(name))[1]]
    finally:
        package.close()


def unwrapped(data: bytes) -> tuple[str, bytes]:
    """Return (name, bytes) of the file inside an OLE object. Other files are returned unchanged.

    The name is "" if none is stored.
    """
    import olefile

    if not data.startswith(olefile.MAGIC):
        return "", data
    try:
        with olefile.OleFileIO(io.BytesIO(data)) as ole:
            for stream in ("Package", "EmbeddedOdf", "CONTENTS"):
                if ole.exists(stream):
                    inside: bytes = ole.openstream(stream).read()
                    if stream != "CONTENTS" or inside.startswith(b"%PDF"):
                        return "", inside
            if ole.exists("\x01Ole10Native"):
                return _native(ole.openstream("\x01Ole10Native").read())
    except (OSError, ValueError, IndexError) as error:
        raise DocumentError("the file is damaged: an embedded file (OLE object) cannot be opened.") from error
    return "", data


def _native(data: bytes) -> tuple[str, bytes]:
    """Return (name, bytes) of a file that the Packager of Windows wrapped. Sizes and names precede the bytes."""
    if data[4:6] != b"\x02\0":
        return "", data[4:]
    label, _, rest = data[6:].partition(b"\0")
    rest = rest.partition(b"\0")[2][4:]  # the original path and the kind of the file
    size = int.from_bytes(rest[:4], "little")
    rest = rest[4 + size :]
    size = int.from_bytes(rest[:4], "little")
    return PurePosixPath(label.decode("cp1252", "replace").replace("\\", "/")).name, rest[4 : 4 + size]


def file_ending(data: bytes) -> str:
    """Return the suffix for an embedded file without a name, detected from its content."""
    import olefile

    if data.startswith(b"%PDF"):
        return ".pdf"
    if data.startswith(b"{\\rtf"):
        return ".rtf"
    try:
        if data.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(data)) as package:
                return _packed(package)
        if data.startswith(olefile.MAGIC):
            with olefile.OleFileIO(io.BytesIO(data)) as ole:
                return next((ending for stream, ending in _STREAMS.items() if ole.exists(stream)), ".bin")
    except (zipfile.BadZipFile, OSError, ValueError, IndexError):
        pass  # damaged: the generic suffix
    return ".bin"


def _packed(package: Any) -> str:
    names = package.namelist()
    if "mimetype" in names:
        kind = package.read("mimetype")[:_HEAD]
        return next(
            (
                f".{end}"
                for end, word in (("ods", b"sheet"), ("odp", b"presentation"), ("odt", b"text"))
                if word in kind
            ),
            ".zip",
        )
    return next((ending for folder, ending in _PARTS if any(name.startswith(folder) for name in names)), ".zip")
