"""Translations (gettext PO, XLIFF, TMX) as tables of source, translation and remarks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lxml import etree

from hybrid_core.errors import BrokenFileError, EmptyFileError
from hybrid_core.types.notes import Note
from indexers.formats.decode import decode
from indexers.formats.flow.blocks import Block, Flow, Heading, Paragraph, Part, Table
from indexers.formats.flow.safety import line_of
from indexers.formats.limits import ParseLimits
from indexers.formats.xml.vocabularies import children, tag

_KEYWORD = re.compile(r"(msgctxt|msgid_plural|msgid|msgstr)(?:\[(\d{1,3})\])?\s*(.*)")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*+)("?)')
_ESCAPES = {"n": "\n", "t": "\t", "r": "", "\\": "\\", '"': '"'}
_ESCAPE = re.compile(r"\\(.)", re.S)
_CHARSET = re.compile(rb"charset=([\w.:-]{1,40})")
_SHOWN = ("Project-Id-Version", "Language", "Language-Team", "Last-Translator", "PO-Revision-Date")


@dataclass(slots=True)
class _Entry:
    parts: dict[str, str] = field(default_factory=dict)  # "msgid", "msgstr", "msgstr1" …
    remarks: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)  # lines that are not valid syntax

    def row(self) -> tuple[str, ...]:
        sources = (self.parts.get("msgid", ""), self.parts.get("msgid_plural", ""))
        translations = (text for name, text in self.parts.items() if name.startswith("msgstr"))
        remarks = (*self.remarks, *self.others)
        texts = (" / ".join(filter(None, texts)) for texts in (sources, translations))
        return (*texts, self.parts.get("msgctxt", ""), "; ".join(remarks))


def read_po(path: Path, limits: ParseLimits) -> Flow:
    """Read gettext translations. Raise DocumentError if there is none."""
    limits.check_file(path)
    data = path.read_bytes()
    if not data:
        raise EmptyFileError("the file is empty.", file=path)
    label = _CHARSET.search(data[:4096])
    text, warnings = decode(data, path, label[1].decode() if label and label[1] != b"CHARSET" else "")
    entries, whole = _entries(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    if not any(entry.parts for entry in entries):
        raise BrokenFileError("the file is damaged: it contains no translation (no line with msgid).", file=path)
    if not whole:
        warnings.append(Note("read.cut-entry"))
    blocks: list[Block] = []
    head = next((entry for entry in entries if entry.parts.get("msgid") == "" and "msgstr" in entry.parts), None)
    if head is not None:
        fields = dict(line.partition(":")[::2] for line in head.parts["msgstr"].split("\n"))
        lines = [f"{name}: {fields[name].strip()}" for name in _SHOWN if fields.get(name, "").strip()]
        blocks.append(Paragraph("\n".join((*lines, *head.remarks)), "entry 0"))
        entries.remove(head)
    rows = [row for entry in entries if any(row := entry.row())]
    blocks.append(_table(rows, ("Source", "Translation", "Context", "Remark"), "entry 1"))
    return Flow(iter([Part(blocks)]), {}, warnings)


def _table(rows: Sequence[tuple[str, ...]], names: tuple[str, ...], place: str) -> Table:
    """Return a table of the rows below the column names. Columns after the second are left out if they are empty."""
    shown = [at for at in range(len(names)) if at < 2 or any(row[at] for row in rows)]
    return Table(tuple(tuple(row[at] for at in shown) for row in (names, *rows)), place=place)


def _entries(text: str) -> tuple[list[_Entry], bool]:
    """Return the entries of a gettext file, and whether the last one is complete."""
    entries = [_Entry()]
    at, whole = "", True
    for line in text.split("\n"):
        line = line.strip().removeprefix("#~").strip() if line.lstrip().startswith("#~") else line.strip()
        entry = entries[-1]
        if not line or (line[0] == "#" and at.startswith("msgstr")):
            if entry.parts:
                entries.append(_Entry())
            at = ""
        if line[:1] == "#":
            if line[1:2] in ("", " ", ".") and line[2:].strip():
                entries[-1].remarks.append(line[2:].strip())
            continue
        if (match := _KEYWORD.match(line)) is not None:
            name = match[1] + (match[2] or "")
            if at.startswith("msgstr") and match[1] in ("msgctxt", "msgid"):
                entries.append(_Entry())
            at, line = name, match[3]
            entries[-1].parts.setdefault(at, "")
        elif line and line[0] != '"':
            entries[-1].others.append(line)
            continue
        rest = line
        for quoted in _QUOTED.finditer(line):
            whole = bool(quoted[2])
            rest = line[quoted.end() :]
            words = _ESCAPE.sub(lambda sign: _ESCAPES.get(sign[1], sign[0]), quoted[1])
            entries[-1].parts[at or "msgid"] = entries[-1].parts.get(at or "msgid", "") + words
            break
        if rest.strip():
            entries[-1].others.append(rest.strip())
    return entries, whole


_INLINE = frozenset(("bpt", "ept", "it", "ph", "x", "bx", "ex", "ut"))  # inline codes, which are not words
_UNITS, _OTHERS = frozenset(("trans-unit", "unit")), frozenset(("alt-trans", "match"))
_STANDING = frozenset(("x", "ph"))  # inline codes that stand alone, such as a line break or a variable
_MOST_LANGUAGES = 20
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def xliff_blocks(root: etree._Element) -> Iterator[Block]:
    """Yield a section for each file of an XLIFF document, with a table of its units."""
    number = 0
    for file in (element for element in root.iter() if tag(element) == "file"):
        if name := file.get("original") or "":
            yield Heading(1, name, place=f"entry {number + 1}")
        names = (file.get("source-language") or root.get("srcLang") or "Source",
                 file.get("target-language") or root.get("trgLang") or "Translation", "Remark")  # fmt: skip
        rows = [row for unit in filter(_is_unit, file.iter()) for row in _unit_rows(unit)]
        notes = (note for note in file.iter() if tag(note) == "note" and not any(map(_is_unit, note.iterancestors())))
        if about := "\n".join(dict.fromkeys(filter(None, map(line_of, notes)))):
            yield Paragraph(about, f"entry {number + 1}")
        if rows:
            yield _table(rows, names, f"entry {number + 1}")
        number += len(rows)


def _unit_rows(unit: etree._Element) -> Iterator[tuple[str, str, str]]:
    notes = "; ".join(dict.fromkeys(line_of(note) for note in unit.iter() if tag(note) == "note"))
    others = [_words(text) for other in unit.iter() if tag(other) in _OTHERS for text in other if tag(text) == "target"]
    notes = "; ".join(filter(None, (notes, *dict.fromkeys(others))))
    for segment in [part for part in unit.iter() if tag(part) == "segment"] or [unit]:
        texts = [next((_words(child) for child in children(segment) if tag(child) == name), "")
                 for name in ("source", "target")]  # fmt: skip
        if any(texts) or notes:
            yield texts[0], texts[1], notes
        notes = ""


def memory_blocks(root: etree._Element) -> Iterator[Block]:
    """Yield a translation memory (TMX) as a table with a column for each language and one for remarks."""
    header = next((child for child in children(root) if tag(child) == "header"), None)
    if header is not None and (about := "\n".join(filter(None, map(line_of, header)))):
        yield Paragraph(about, "entry 1")
    units: list[dict[str, str]] = []
    for unit in (element for element in root.iter() if tag(element) == "tu"):
        texts = {_language(text): _words(segment) for text in children(unit) if tag(text) == "tuv"
                 for segment in children(text) if tag(segment) == "seg"}  # fmt: skip
        notes = "; ".join(filter(None, (line_of(note) for note in unit.iter() if tag(note) == "note")))
        units.append(texts | {"Remark": notes} if notes else texts)
    first = "" if header is None else header.get("srclang") or ""
    names = dict.fromkeys(name for unit in units for name in unit if name != "Remark")
    columns = sorted(names, key=lambda name: name.lower() != first.lower())[:_MOST_LANGUAGES]
    rows = [tuple(unit.get(name, "") for name in (*columns, "Remark")) for unit in units]
    if rows:
        yield _table(rows, (*columns, "Remark"), "entry 1")


def _language(text: etree._Element) -> str:
    return text.get(_LANGUAGE) or text.get("lang") or "Translation"


def _is_unit(element: etree._Element) -> bool:
    return tag(element) in _UNITS


def _words(element: etree._Element) -> str:
    """Return the words of a text. An inline code without content is shown as the file describes it."""
    parts = [element.text or ""]
    for child in children(element):
        name = tag(child)
        described = next((text for key in ("equiv-text", "disp", "equiv") if (text := child.get(key))), "")
        shown = " " if not described or described.startswith("<") else described
        parts += (shown if name in _STANDING else "" if name in _INLINE else _words(child), child.tail or "")
    return " ".join("".join(parts).split())
