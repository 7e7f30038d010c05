"""Bibliographies (BibTeX, RIS, CSL JSON) as blocks: a section for each entry, with readable fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hybrid_core.errors import BrokenFileError
from hybrid_core.types.notes import Note
from indexers.formats.decode import read_text
from indexers.formats.flow.blocks import Block, Flow, Heading, Paragraph, Part
from indexers.formats.limits import ParseLimits
from indexers.formats.records.bibtex import read_bibtex

_RIS = re.compile(r"([A-Z][A-Z0-9])  ?-(?: (.*)|\s*)")
_NAMES = {  # RIS tags -> fields with their BibTeX names
    "AU": "author", "A1": "author", "A2": "editor", "ED": "editor", "TI": "title", "T1": "title", "CT": "title",
    "T2": "journal", "JO": "journal", "JF": "journal", "JA": "journal", "BT": "booktitle", "T3": "series",
    "PY": "year", "Y1": "year", "DA": "date", "VL": "volume", "IS": "number", "SP": "first page", "EP": "last page",
    "AB": "abstract", "N2": "abstract", "KW": "keywords", "DO": "doi", "UR": "url", "PB": "publisher",
    "CY": "address", "SN": "issn", "N1": "note", "LA": "language", "ET": "edition", "TY": "type",
}  # fmt: skip
_LISTS = {"author": "; ", "editor": "; ", "keywords": ", "}
_CSL = {"container-title": "journal", "collection-title": "series", "DOI": "doi", "URL": "url", "page": "pages",
        "issue": "number", "publisher-place": "address", "ISSN": "issn", "ISBN": "isbn"}  # fmt: skip
_DROPPED = frozenset(("file", "bdsk-url-1", "bdsk-url-2", "owner", "timestamp", "date-added", "date-modified", "id",
                      "citation-key"))  # fmt: skip
_MARKUP = re.compile(r"</?(?:i|b|sup|sub|sc|span)\b[^<>]{0,100}>")
_LONGEST_TITLE = 250


def read_citations(path: Path, limits: ParseLimits) -> Flow:
    """Read a bibliography in BibTeX or RIS. Raise DocumentError if it has no entry."""
    limits.check_file(path)
    text, warnings = read_text(path)
    text = text.removeprefix("\ufeff")
    is_ris = path.suffix.lower() == ".ris" or re.match(r"\s*TY {1,2}- ", text) is not None
    entries, outside, whole = read_ris(text) if is_ris else read_bibtex(text)
    if not entries:
        raise BrokenFileError("the file is damaged: it contains no entry of a bibliography.", file=path)
    if not whole:
        warnings.append(Note("read.cut-entry"))
    blocks: list[Block] = [Paragraph("\n".join(outside), "entry 0")]
    for number, entry in enumerate(entries, 1):
        blocks += entry_blocks(entry, f"entry {number}")
    return Flow(iter([Part(blocks)]), {}, warnings)


def entry_blocks(entry: dict[str, str], place: str) -> Iterator[Block]:
    """Yield the blocks of an entry: a heading with author, year and title, then its fields and its abstract."""
    who = entry.get("author") or entry.get("editor") or ""
    when = entry.get("year") or entry.get("date") or ""
    year = next(iter(re.findall(r"\d{4}", when)), "")
    title = entry.get("title") or entry.get("booktitle") or ""
    name = f"{who}{f' ({year})' if year else ''}" if who else ""
    heading = f"{name}: {title}" if name and title else title or name or entry.get("key", "") or place.capitalize()
    short = len(heading) <= _LONGEST_TITLE
    yield Heading(1, heading if short else title[:_LONGEST_TITLE] or heading[:_LONGEST_TITLE], place=place)
    shown = {"title": title, "author": who} if short else {}
    lines = [who, title] if not short else []
    pages = "–".join(filter(None, (entry.get("first page"), entry.get("last page"))))
    for field, value in {**entry, "pages": entry.get("pages") or pages}.items():
        if field in _DROPPED | {"abstract", "first page", "last page"} or not value or shown.get(field) == value:
            continue
        if value not in heading or field not in ("title", "author", "editor", "key"):
            lines.append(f"{field[:1].upper()}{field[1:]}: {value}")
    yield Paragraph("\n".join(lines), place)
    yield Paragraph(entry.get("abstract", ""), place)


def read_ris(text: str) -> tuple[list[dict[str, str]], list[str], bool]:
    """Return the entries of RIS as fields, the lines outside of them, and whether the last entry is complete."""
    entries: list[dict[str, str]] = []
    outside: list[str] = []
    field = ""
    opened = False
    for line in text.split("\n"):
        match = _RIS.match(line)
        if match is None:
            if opened and field and line.strip():
                entries[-1][field] = (
                    f"{entries[-1][field]} {line.strip()}".strip()
                    if line[:1].isspace()
                    else f"{entries[-1][field]}\n{line.strip()}"
                )
            elif line.strip():
                outside.append(line.strip())
            continue
        name, value = match[1], (match[2] or "").strip()
        if name == "ER":
            opened, field = False, ""
            continue
        if name == "TY" or not opened:
            entries.append({})
            opened = True
        field = _NAMES.get(name, name)
        entry = entries[-1]
        if value or field not in entry:
            sign = _LISTS.get(field, "; ")
            entry[field] = (
                f"{entry[field]}{sign}{value}"
                if entry.get(field) and value not in entry[field]
                else entry.get(field) or value
            )
    for entry in entries:
        for name in ("first page", "year"):
            if entry.get(name):
                entry[name] = entry[name].rstrip("/")
    return entries, outside, not opened


def is_csl(value: Any) -> bool:
    """Return whether a JSON value is a bibliography: one item, or a list of items."""
    items = _items(value)
    names = [{key for key, _ in item} if _is_object(item) else set() for item in items]
    return bool(items) and all({"type", "title"} <= keys and keys & {"author", "issued"} for keys in names)


def _items(value: Any) -> Sequence[Any]:
    return [value] if _is_object(value) else value if isinstance(value, list) else ()


def _is_object(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(pair, tuple) for pair in value)


def csl_blocks(value: Any) -> Iterator[Block]:
    for number, item in enumerate(_items(value), 1):
        entry: dict[str, str] = {}
        for key, child in item:
            field = _CSL.get(key, key)
            if text := _csl_text(field, child):
                entry["year" if field == "issued" else field] = text
        if "pages" in entry:
            entry["pages"] = re.sub(r"(?<=\d)-+(?=\d)", "–", entry["pages"])
        yield from entry_blocks(entry, f"entry {number}")


def _csl_text(field: str, value: Any) -> str:
    """Return a value of a CSL field as text. People and dates get a readable form."""
    if _is_object(value):
        parts = dict(value)
        if "family" in parts or "literal" in parts or "given" in parts:
            names = (parts.get("non-dropping-particle"), parts.get("family"), parts.get("suffix"))
            family = " ".join(str(name) for name in names if name)
            return str(parts.get("literal") or ", ".join(filter(None, (family, str(parts.get("given") or "")))))
        if "date-parts" in parts and isinstance(parts["date-parts"], list):
            days = parts["date-parts"]
            return " – ".join("-".join(str(part).zfill(2) for part in day) for day in days if isinstance(day, list))
        return "; ".join(filter(None, (_csl_text(field, child) for child in parts.values())))
    if isinstance(value, list):
        return "; ".join(filter(None, (_csl_text(field, child) for child in value)))
    return _MARKUP.sub("", str(value)) if value is not None else ""
