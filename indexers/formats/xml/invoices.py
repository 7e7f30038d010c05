"""Electronic invoices in XML (Factur-X, ZUGFeRD, XRechnung, UBL) as labelled values, and their items as a table."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree

from indexers.formats.flow.blocks import Block, Heading, Paragraph, Table
from indexers.formats.flow.safety import line_of, words_of
from indexers.formats.xml.vocabularies import children, tag

_DEEPEST = 60
_WIDEST = 20
_LINES = frozenset("IncludedSupplyChainTradeLineItem InvoiceLine CreditNoteLine".split())
_ENCODED = frozenset(("EmbeddedDocumentBinaryObject", "AttachmentBinaryObject", "BinaryObject"))
_DATE = re.compile(r"(\d{4})(\d\d)(\d\d)")
_EMPTY_WORDS = frozenset("specified applicable included associated defined trade supply chain ram rsm".split())
_WHOLE = "Transaction"  # label of the element around all groups of an invoice
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_UNITS = ("currencyID", "unitCode", "schemeID", "currencyId")
_KINDS = {"380": "invoice", "381": "credit note", "384": "corrected invoice", "326": "partial invoice",
          "386": "prepayment invoice", "389": "self-billed invoice"}  # fmt: skip
_TITLES = {"380": "Invoice", "381": "Credit note", "384": "Corrected invoice"}


class InvoiceReader:
    """A reader of an electronic invoice.

    Each value is a line that begins with a label made from the names of its element. The items of the invoice are a
    table.
    """

    def __init__(self, root: etree._Element, metadata: dict[str, str]) -> None:
        self._root, self._metadata = root, metadata
        self.encoded = 0  # number of embedded files

    def blocks(self) -> Iterator[Block]:
        title = self._title()
        self._metadata["title"] = title
        yield Heading(1, title, place="invoice")
        for group, lines in self._groups(self._root, (), 0):
            if group:
                yield Heading(2, group, place="invoice")
            if lines:
                yield Paragraph("\n".join(lines), "invoice")
        yield from self._line_table()

    def _title(self) -> str:
        document = next((child for child in children(self._root) if tag(child).endswith("Document")), self._root)
        values = {tag(child): words_of(child).strip() for child in children(document)}
        code = values.get("TypeCode") or values.get("InvoiceTypeCode") or ""
        usual = "Credit note" if "CreditNote" in tag(self._root) else "Invoice"
        return f"{_TITLES.get(code, usual)} {values.get('ID', '')}".strip()

    def _groups(self, element: etree._Element, above: tuple[str, ...], deep: int) -> Iterator[tuple[str, list[str]]]:
        """Yield (heading, lines with values) for the parts of an invoice. Its items are left out."""
        values, groups = list(self._texts(element, "")), []
        for child in children(element):
            if tag(child) in _LINES:
                continue
            if len(child) and deep < 2 and any(len(inner) for inner in children(child)):
                groups.append(child)
            else:
                values += self._values(child, (), deep)
        if values:
            yield " – ".join(above), values
            above = ()
        for child in groups:
            name = label_of(tag(child))
            yield from self._groups(child, above if name == _WHOLE else (*above, name), deep + 1)

    def _values(self, element: etree._Element, above: tuple[str, ...], deep: int) -> Iterator[str]:
        """Yield the values of an element as labelled lines, such as "Postal address, city name: Port"."""
        names = (*above, label_of(tag(element)))
        label = ", ".join(filter(None, names[:1] + tuple(name.lower() for name in names[1:])))
        if not len(element) or deep > _DEEPEST:
            if value := self._value(element):
                yield f"{label}: {value}"
            return
        inside = list(children(element))
        if len(inside) == 1 and not len(inside[0]) and tag(inside[0]).endswith("String"):
            yield f"{label}: {self._value(inside[0])}"
            inside = []
        yield from self._texts(element, label)
        for child in inside:
            yield from self._values(child, names, deep + 1)

    def _texts(self, element: etree._Element, label: str) -> Iterator[str]:
        """Yield text between elements, which the invoice format does not allow."""
        texts = (element.text, *(child.tail for child in element))
        for text in texts:
            if line := " ".join((text or "").split()):
                yield f"{label}: {line}" if label else line

    def _value(self, element: etree._Element) -> str:
        value = line_of(element)
        if tag(element) in _ENCODED and value:
            self.encoded += 1
            return element.get("filename") or ""
        if element.get("format") == "102" and (date := _DATE.fullmatch(value)) is not None:
            return "-".join(date.groups())
        if tag(element) in ("TypeCode", "InvoiceTypeCode") and value in _KINDS:
            return f"{value} ({_KINDS[value]})"
        unit = next(filter(None, map(element.get, _UNITS)), "")
        return f"{value} {unit}" if unit and value else value

    def _line_table(self) -> Iterator[Block]:
        records = []
        for line in (element for element in self._root.iter() if tag(element) in _LINES):
            record: dict[str, str] = {}
            for text in (*self._texts(line, "Text"), *(value for child in children(line)
                                                      for value in self._values(child, (), 0))):  # fmt: skip
                label, _, value = text.partition(": ")
                record[label] = f"{record[label]}; {value}" if label in record else value
            records.append(record)
        names = list(dict.fromkeys(name for record in records for name in record))
        if not records:
            return
        yield Heading(2, "Lines", place="lines")
        if len(names) <= _WIDEST:
            rows = (tuple(record.get(name, "") for name in names) for record in records)
            yield Table((tuple(short_labels(names)), *rows), place="lines")
            return
        for number, record in enumerate(records, 1):
            yield Paragraph("\n".join(f"{name}: {value}" for name, value in record.items()), f"line {number}")


def short_labels(names: list[str]) -> list[str]:
    """Return labels shortened to their last words: as many as distinguish each label from all others."""
    short = []
    for name in names:
        parts = name.split(", ")
        ends = (", ".join(parts[-count:]) for count in range(1, len(parts) + 1))
        text = next((end for end in ends if sum(_ends_with(other, end) for other in names) == 1), name)
        short.append(f"{text[:1].upper()}{text[1:]}")
    return short


def _ends_with(label: str, end: str) -> bool:
    return label.casefold() == end.casefold() or label.casefold().endswith(f", {end.casefold()}")


def label_of(name: str) -> str:
    """Return the label of an element: "Seller party" for "SellerTradeParty"."""
    words = [word if word.isupper() else word.lower() for word in _WORD.findall(name)]
    shown = [word for word in words if word not in _EMPTY_WORDS] or words
    text = " ".join(shown)
    return f"{text[:1].upper()}{text[1:]}"
