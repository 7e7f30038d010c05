"""What Word's, PowerPoint's and Excel's packages have in common: parts, relations and properties."""

from __future__ import annotations

import posixpath
from urllib.parse import unquote

from lxml import etree

from hybrid_core.errors import BrokenFileError, DocumentError
from indexers.formats.flow.safety import Package

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_STRICT = b"http://purl.oclc.org/ooxml/"
_USUAL = {
    b"http://purl.oclc.org/ooxml/officeDocument/relationships": R[1:-1].encode(),
    b"http://purl.oclc.org/ooxml/wordprocessingml/main": W[1:-1].encode(),
    b"http://purl.oclc.org/ooxml/drawingml/main": b"http://schemas.openxmlformats.org/drawingml/2006/main",
    b"http://purl.oclc.org/ooxml/presentationml/main": b"http://schemas.openxmlformats.org/presentationml/2006/main",
}
_PROPERTIES = {"title": "title", "creator": "author", "subject": "subject", "keywords": "keywords",
               "description": "description", "created": "creationDate", "modified": "modDate"}  # fmt: skip


def part(package: Package, name: str) -> etree._Element:
    """A part's root, its namespaces as Office writes them by default (ISO's «strict» ones are others)."""
    data = package.read(name)
    if _STRICT in data[:4096]:
        for strict, usual in _USUAL.items():
            data = data.replace(strict, usual)
    return package.root(name, data)


def relations(package: Package, name: str) -> dict[str, tuple[str, str]]:
    """(kind, target) of what a part refers to inside the package, by id; what lies outside is left out."""
    folder, file = posixpath.split(name)
    listed = f"{folder}/_rels/{file}.rels".lstrip("/")
    if listed not in package:
        return {}
    found = {}
    for one in package.xml(listed):
        if one.get("TargetMode") == "External" or not one.get("Target"):
            continue
        target = posixpath.normpath(posixpath.join("/", folder, unquote(one.get("Target", ""))))
        found[one.get("Id", "")] = ((one.get("Type") or "").rpartition("/")[2], target.lstrip("/"))
    return found


def main_part(package: Package, path: object, default: str) -> str:
    """The part that holds the document."""
    for kind, target in relations(package, "").values():
        if kind == "officeDocument" and target in package:
            return target
    if default in package:
        return default
    raise BrokenFileError(f"{path}: damaged, the document is missing in it.")


def properties(package: Package) -> dict[str, str]:
    for kind, target in relations(package, "").values():
        if kind == "core-properties" and target in package:
            try:
                root = package.xml(target)
            except DocumentError:
                return {}
            said = {etree.QName(one).localname: " ".join((one.text or "").split()) for one in root}
            return {_PROPERTIES[key]: value for key, value in said.items() if key in _PROPERTIES and value}
    return {}
