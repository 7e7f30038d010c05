"""JATS, DocBook, TEI and DITA as blocks.

Sections are nested, notes follow their paragraph, and references are a section.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from lxml import etree

from indexers.formats.flow.blocks import Block, Code, Heading, Item, Picture
from indexers.formats.flow.linear import Piece
from indexers.formats.flow.safety import line_of, words_of
from indexers.formats.xml.front import citation, is_titled, read_front
from indexers.formats.xml.lines import LineWriter
from indexers.formats.xml.tables import rows_of, tables_of
from indexers.formats.xml.vocabularies import children, is_mixed, tag

_DEEPEST = 90  # each level needs up to four calls
_CAPTIONS = frozenset("title caption head desc info textobject".split())
_NUMBER = re.compile(r"[\dIVXLA-Z]{1,6}(?:\.\d{1,4}){0,6}\.?")
_ORDERED = frozenset(("orderedlist", "procedure", "substeps", "ol", "steps", "calloutlist"))
_ORDERS = frozenset("order ordered alpha-lower alpha-upper roman-lower roman-upper numbered 1".split())
_DEFAULT = {"abstract": "Abstract", "references": "References"}


class DocumentWriter(LineWriter):
    """A writer of a document's blocks. It also fills ``metadata`` from the document's front matter."""

    def blocks(self) -> Iterator[Block]:
        self._element(self._root, 0, 0)
        self._flush()
        self._write_label()
        self._write_notes()
        yield from self._written

    @property
    def words_left_out(self) -> int:
        """Return the number of words that are left out: index entries, generated lists and technical data."""
        return sum(len(words_of(element).split()) for element in self._left_out)

    def _element(self, element: etree._Element, lists: int, deep: int, level: int = 0, form: Piece = Piece("")) -> None:
        kind = self._kind(element)
        if deep > _DEEPEST:
            self._say(f" {words_of(element)} ", form)
        elif kind in ("section", "abstract", "references"):
            self._flush()
            self._section(element, kind, level, deep)
        elif kind in ("title", "label"):
            self._title(element, kind, level)
        elif kind == "front":
            self._flush()
            self._front(element, level)
        elif kind in ("transparent", "para", "figure", "alternative"):
            self._paragraph(element, kind, level, lists, deep)
        elif kind in ("list", "item", "table", "code", "reference", "line"):
            self._structure(element, kind, level, lists, deep)
        elif kind == "dropped":
            self._left_out.add(element)
        else:
            self._inline(element, kind, level, lists, deep, form)

    def _section(self, element: etree._Element, kind: str, level: int, deep: int) -> None:
        self._write_mark()
        before, self._item = self._item, None
        fronts = [child for child in children(element) if self._kind(child) == "front"]
        titled = any(self._kind(child) == "title" for child in children(element)) or any(map(is_titled, fronts))
        refmeta = next((child for child in children(element) if tag(child) in ("refmeta", "titlegroup")), None)
        own = level + (titled or refmeta is not None or kind in _DEFAULT)
        if not titled and kind in _DEFAULT and not self._titled_before(element):
            self._written.append(Heading(own, _DEFAULT[kind], place=self._place()))
        self._walk(element, own, 0, deep)
        self._flush()
        self._write_label()
        self._item = before

    def _titled_before(self, element: etree._Element) -> bool:
        """Return whether a section contains only this element and a title, so that the title names the element."""
        parent = element.getparent()
        inside = list(children(parent)) if parent is not None else []
        return any(self._kind(child) == "title" for child in inside) and len(inside) <= 2

    def _title(self, element: etree._Element, kind: str, level: int) -> None:
        parent = element.getparent()
        if parent is not None and tag(parent) in ("refmeta", "titlegroup"):
            parent = parent.getparent()
        text = self._flat(element)
        if kind == "label":
            self._flush()
            self._write_label()
            self._label = text
            return
        if not text:
            return
        owner = "" if parent is None else self._kind(parent)
        if owner == "reference" or (parent is not None and "citation" in tag(parent)):
            self._say(text)
            return
        if owner not in ("section", "abstract", "references", "transparent") and parent is not self._root:
            is_verse = owner == "para" and tag(parent) == "lg" if parent is not None else False
            if not is_verse:
                self._flush()
                self._say(text)
                self._flush()
                return
            level += 1
        self._flush()
        number, self._label = self._label or element.get("n") or "", ""
        if number and not _NUMBER.fullmatch(number):
            text, number = f"{number} {text}", ""
        if text.startswith(number):
            number = ""
        if not self._metadata.get("title") and level <= 1:
            self._metadata["title"] = text
        self._written.append(Heading(max(1, level), text, number, self._place()))

    def _front(self, element: etree._Element, level: int) -> None:
        front = read_front(element, self._flat)
        self._left_out.update(front.left_out)
        if front.title is not None and (title := self._flat(front.title)):
            self._written.append(Heading(max(1, level), title, place=self._place()))
            self._put("title", title)
        self._put("author", "; ".join(front.authors))
        self._put("date", front.date)
        self._put("keywords", ", ".join(front.keywords))
        for line in (*front.subtitles, "; ".join(front.authors)):
            self._say(line)
            self._flush()
        places = [text for text in front.texts if tag(text).startswith("aff")]
        for text in places:
            self._walk_apart(text, level)
        for line in ("\n".join(front.fields), ", ".join(front.keywords), *front.strays):
            self._say(line)
            self._flush()
        for text in front.texts:
            if text not in places:
                self._walk_apart(text, level)
        for abstract in front.abstracts:
            self._section(abstract, "abstract" if self._kind(abstract) == "abstract" else "", max(1, level), 0)

    def _put(self, name: str, value: str) -> None:
        if value:
            self._metadata.setdefault(name, value)

    def _walk_apart(self, element: etree._Element, level: int) -> None:
        self._flush()
        if self._kind(element) == "note":
            self._placed.add(element)
        if self._stands_apart(element):
            self._say(self._joined(element))
        else:
            self._walk(element, level, 0, 0)
        self._flush()
        self._write_label()

    def _paragraph(self, element: etree._Element, kind: str, level: int, lists: int, deep: int) -> None:
        self._flush()
        if kind == "alternative":
            if text := line_of(element):
                self._written.append(Picture(text, self._place()))
            return
        before = self._item
        if kind == "figure" and tag(element) == "image" and element.get("alt"):
            self._written.append(Picture(str(element.get("alt")), self._place()))
        if "synopsis" in tag(element):
            self._say(" ".join(" ".join(map(str, element.itertext())).split()))
        else:
            self._walk(element, level, lists, deep)
        self._flush()
        if kind == "figure":
            self._write_label()
        if before is None:
            self._item = None

    def _structure(self, element: etree._Element, kind: str, level: int, lists: int, deep: int) -> None:
        if kind == "line":
            self._say("\n")
            self._walk(element, level, lists, deep)
            self._say("\n")
            return
        self._flush()
        self._write_mark()
        before = self._item
        if kind == "list":
            self._walk(element, level, lists + 1, deep)
        elif kind == "item":
            if (named := element.get("navtitle")) and not any(tag(child) == "topicmeta" for child in children(element)):
                self._say(named)
            label = next((child for child in children(element) if self._kind(child) == "label"), None)
            self._item = (self._flat(label) if label is not None else self._mark(element), max(0, lists - 1))
            self._marked = self._item if label is not None else None
            nested, lists = any(self._kind(child) == "item" for child in children(element)), max(1, lists)
            self._walk(element, level, lists + nested, deep, skip=[label] if label is not None else [])
        elif kind == "code":
            if (text := words_of(element)).strip():
                self._written.append(Code(text, element.get("language") or "", place=self._place()))
        elif kind == "reference":
            self._reference(element)
        else:
            self._table(element, level, lists, deep)
        self._flush()
        self._write_mark()
        self._item = before

    def _mark(self, element: etree._Element) -> str:
        parent = element.getparent()
        if parent is None:
            return "-"
        how = next(filter(None, map(parent.get, ("list-type", "type", "rend", "numeration"))), "")
        if tag(parent) not in _ORDERED and how not in _ORDERS:
            return "-"
        start = parent.get("startingnumber") or parent.get("start") or "1"
        first = int(start[:6]) if start.isascii() and start.isdigit() else 1
        self._numbers[parent] = self._numbers.get(parent, first - 1) + 1
        return f"{self._numbers[parent]}."

    def _reference(self, element: etree._Element) -> None:
        label = next((child for child in children(element) if tag(child) in ("label", "abbrev")), None)
        inside = [child for child in children(element) if child is not label]
        body = inside[0] if len(inside) == 1 and len(inside[0]) else element
        plain = not is_mixed(body)
        if plain and body is element and any("citation" in tag(child) for child in inside):
            text = " ".join(self._cited(child) for child in inside)
        else:
            text = (
                citation(body, self._flat)
                if plain and len(body)
                else self._flat(body, skip=[label] if label is not None else [])
            )
        labels = [label] if label is not None else []
        if self._misses(text, element, skip=labels):
            text = self._flat(element, skip=labels)
        mark = self._flat(label) if label is not None else "-"
        if text or labels:
            self._written.append(Item(text, mark, 0, self._place()))

    def _cited(self, element: etree._Element) -> str:
        return citation(element, self._flat) if len(element) and not is_mixed(element) else self._flat(element)

    def _table(self, element: etree._Element, level: int, lists: int, deep: int) -> None:
        def is_row(child: etree._Element) -> bool:
            return self._kind(child) == "row"

        rows = rows_of(element, is_row)
        if not rows:
            self._walk(element, level, lists, deep)
            return
        tables = list(tables_of(element, is_row, self._flat))
        captions = [child for child in children(element) if tag(child) in _CAPTIONS and not rows_of(child, is_row)]
        for child in captions:
            self._walk_apart(child, level)
        for table in tables:
            self._written.append(replace(table, place=self._place()))
        self._write_notes()
        self._beside_rows(element, rows, {*captions}, level, deep)

    def _beside_rows(self, element: etree._Element, rows: set[etree._Element], captions: set[etree._Element],
                     level: int, deep: int) -> None:  # fmt: skip
        """Write the contents of a table element that are neither rows nor captions, such as notes."""
        is_row = element in rows
        self._say(element.text or "")
        for child in children(element):
            if child in rows or (not is_row and not rows.isdisjoint(child.iterdescendants())):
                self._beside_rows(child, rows, captions, level, deep + 1)
            elif not is_row and child not in captions:
                self._element(child, 0, deep + 1, level)
            self._say(child.tail or "")
        self._flush()
