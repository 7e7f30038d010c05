"""Dynamic forms (XFA) in PDFs. The form is an XML text in the file; its pages only ask the reader to wait."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pymupdf
from lxml import etree

from hybrid_core.errors import DocumentError
from hybrid_core.text.tokens import clean
from hybrid_core.types.documents import Line
from indexers.formats.flow.safety import read_xml

_REFERENCE = re.compile(r"(\d+) \d+ R")
_LARGEST, _MOST, _LONGEST = 50_000_000, 20_000, 2_000  # bytes of a form, its lines, characters of a line
_TEMPLATE, _DATASETS = "xfa-template", "xfa-data"


def form_lines(document: pymupdf.Document) -> list[Line]:
    """Return the labels and values of a dynamic form, [] for any other PDF."""
    catalog = document.pdf_catalog()
    kind, value = document.xref_get_key(catalog, "AcroForm/XFA")
    if kind not in ("xref", "array") or not _is_dynamic(document, catalog):
        return []
    numbers = [int(number) for number in _REFERENCE.findall(value)]
    if kind == "xref" and not document.xref_is_stream(numbers[0]):
        numbers = [int(number) for number in _REFERENCE.findall(document.xref_object(numbers[0]))]
    data = b"".join(document.xref_stream(number) or b"" for number in numbers)
    if len(data) > _LARGEST:
        return []
    try:
        root, _ = read_xml(data, "the form of the PDF")
    except DocumentError:
        return []
    texts = (clean(" ".join(text.split())[:_LONGEST]).strip() for text in _texts(root))
    return [Line(text) for text, _ in zip(filter(None, texts), range(_MOST), strict=False)]


def _is_dynamic(document: pymupdf.Document, catalog: int) -> bool:
    """Return whether a document's form is dynamic, that is, has no fields on the pages."""
    fields = document.xref_get_key(catalog, "AcroForm/Fields")[1]
    return document.xref_get_key(catalog, "NeedsRendering")[1] == "true" or not _REFERENCE.search(fields)


def _texts(root: etree._Element) -> Iterator[str]:
    """Yield the labels of the form in order, each field's value after its label, then values without a label."""
    leaves = [node for part in root.iter("{*}data") if _DATASETS in part.tag for node in part.iter() if not len(node)]
    values: dict[str, list[str]] = {}
    for node in leaves:
        if text := (node.text or "").strip():
            values.setdefault(etree.QName(node).localname, []).append(text)
    for node in root.iter("{*}draw", "{*}field"):
        if _TEMPLATE not in node.tag:
            continue
        shown = _words(node.find("{*}value"))
        if etree.QName(node).localname == "draw":
            yield shown
            continue
        label = _words(node.find("{*}caption/{*}value"))
        filled = values.get(node.get("name") or "")
        yield ": ".join(filter(None, (label.rstrip(": "), filled.pop(0) if filled else shown)))
    for name, others in values.items():
        yield from (f"{name}: {text}" for text in others)


def _words(value: etree._Element | None) -> str:
    """Return the words of a form's value, which is plain text or XHTML."""
    if value is None:
        return ""
    return " ".join(str(text).strip() for text in value.itertext() if str(text).strip())
