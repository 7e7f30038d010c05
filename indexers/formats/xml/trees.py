"""XML of unknown vocabulary as blocks: text in order, titles as a tree, records as tables.

Names of elements are not text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from lxml import etree

from indexers.formats.flow.blocks import Block, Heading, Paragraph, Table
from indexers.formats.flow.safety import line_of, words_of
from indexers.formats.xml.vocabularies import children, is_mixed, tag

_DEEPEST = 100
_TITLES = frozenset("title heading head header headline caption name subject h h1 h2 h3 h4 h5 h6 titel titre titolo "
                    "titulo título überschrift 标题 題名 заголовок".split())  # fmt: skip
_TITLE_ATTRIBUTES = ("title", "heading", "headline", "caption", "label", "name")
_LONGEST_TITLE, _LONGEST_CELL, _WIDEST = 160, 300, 20
_LONGEST_RECORD = 400  # characters of a record that is one paragraph
_FILLED = 0.5  # minimum share of the cells of a table that are not empty
_WORDED = frozenset("title heading headline caption label name alt text summary description desc tooltip comment "
                    "note value content abstract displayname".split())  # fmt: skip
_TECHNICAL = frozenset("class style id ref href src type rel path url uri xmlns d points transform viewbox lang space "
                       "schemalocation nonamespaceschemalocation pattern format encoding version".split())  # fmt: skip
_WORDS = re.compile(r"[^\W\d_]{2,}[,.;:!?]? (?:.*? )??[^\W\d_]{2,}", re.S)
_SIGNS = re.compile(r"[=<>{}|\\]|://")
_INLINE = frozenset("a b i u em strong sub sup span tt q code abbr small big font s del ins mark kbd var hi emph "
                    "bold italic".split())  # fmt: skip


class TreeReader:
    """A reader of the elements of an XML tree in order. An element that contains text and elements is a paragraph."""

    def __init__(self, root: etree._Element, metadata: dict[str, str]) -> None:
        self._root, self._metadata, self._count = root, metadata, 0

    def blocks(self) -> Iterator[Block]:
        yield from self._element(self._root, 1, 0)

    def _paragraph(self, text: str) -> Iterator[Block]:
        if text.strip():
            self._count += 1
            yield Paragraph(text, f"paragraph {self._count}")

    def _heading(self, level: int, text: str) -> Block:
        if level == 1 and not self._count:
            self._metadata.setdefault("title", text)
        self._count += 1
        return Heading(level, text, place=f"paragraph {self._count}")

    def _element(
        self, element: etree._Element, level: int, deep: int, title: etree._Element | None = None
    ) -> Iterator[Block]:
        inside = list(children(element))
        if deep > _DEEPEST:
            yield from self._paragraph(line_of(element))
        elif not inside:
            yield from self._paragraph("\n".join((*worded(element), element.text or "")))
        elif is_mixed(element) and not any(_is_section(child) for child in inside):
            yield from self._paragraph("\n".join((*worded(element), inline(element))))
        else:
            title = _title_of(element) if title is None else title
            attribute = _title_attribute(element) if title is None and element is not self._root else ""
            if title is not None or attribute:
                yield self._heading(level, attribute if title is None else " ".join(inline(title).split()))
                level += 1
            words = [value for value in worded(element) if value != attribute]
            after = "" if title is None else title.tail or ""
            yield from self._paragraph("\n".join((*words, element.text or "", after)))
            yield from self._inside(element, inside, level, deep, title)

    def _inside(self, element: etree._Element, inside: Sequence[etree._Element], level: int, deep: int,
                title: etree._Element | None) -> Iterator[Block]:  # fmt: skip
        if _is_short_record(element, inside):
            yield from self._paragraph("\n".join(inline(child).strip() for child in inside if child is not title))
            return
        for _, group in groupby((child for child in inside if child is not title), key=lambda child: child.tag):
            run = list(group)
            if (table := _table(run)) is not None:
                self._count += 1
                yield Table(table, place=f"paragraph {self._count}")
                yield from self._paragraph("\n".join(child.tail or "" for child in run))
                continue
            titles = _record_titles(run)
            for child in run:
                yield from self._element(child, level, deep + 1, titles.get(child))
                yield from self._paragraph(child.tail or "")


def inline(element: etree._Element, deep: int = 0) -> str:
    """Return the words of an element in order, with spaces between adjacent elements."""
    parts = [element.text or ""]
    for child in children(element):
        if deep > _DEEPEST:
            text = words_of(child)
        else:
            text = inline(child, deep + 1) if len(child) or child.text else " ".join(worded(child)) or " "
        meets = parts[-1][-1:] and not parts[-1][-1:].isspace() and tag(child) not in _INLINE and not _before(child)
        parts += (" " if meets else "", text, child.tail or "")
    return "".join(parts)


def _before(element: etree._Element) -> str:
    """Return the text between an element and the tag before it."""
    before, parent = element.getprevious(), element.getparent()
    return (before.tail if before is not None else parent.text if parent is not None else "") or ""


def worded(element: etree._Element) -> list[str]:
    """Return the values of an element's attributes that contain words for readers."""
    values = []
    for key, value in element.attrib.items():
        name = str(key).rpartition("}")[2].lower()
        text = " ".join(str(value).split())
        if str(key).startswith("{http://www.w3.org/") or name in _TECHNICAL or not any(map(str.isalpha, text)):
            continue
        if name in _WORDED or (_WORDS.search(text) is not None and _SIGNS.search(text) is None):
            values.append(text)
    return values


def _is_section(element: etree._Element) -> bool:
    """Return whether an element in a running text is a section: it has a title, or paragraphs inside."""
    inside = list(children(element))
    return _title_of(element) is not None or (len(inside) > 1 and not is_mixed(element))


def _title_of(element: etree._Element) -> etree._Element | None:
    """Return the child that is the title of an element: named like a title, short, and before other text."""
    inside = list(children(element))
    for child in inside[:3]:
        text = words_of(child).strip()
        if tag(child).lower() in _TITLES and text and len(text) <= _LONGEST_TITLE and len(inside) > 1:
            return child
        if len(text) > _LONGEST_TITLE:
            return None
    return None


def _title_attribute(element: etree._Element) -> str:
    values = (" ".join((element.get(name) or "").split()) for name in _TITLE_ATTRIBUTES)
    value = next(filter(None, values), "")
    return value if len(value) <= _LONGEST_TITLE and any(map(str.isalpha, value)) else ""


def _is_short_record(element: etree._Element, inside: Sequence[etree._Element]) -> bool:
    plain = all(not len(child) and not child.attrib for child in inside)
    return plain and len(inside) > 1 and not is_mixed(element) and len(words_of(element)) <= _LONGEST_RECORD


def _record_titles(run: Sequence[etree._Element]) -> dict[etree._Element, etree._Element]:
    """Return ``{element: title element}`` for several similar elements, {} if they have no such titles.

    The title is the first short child, if these differ for all elements.
    """
    if len(run) < 2 or any(_title_of(element) is not None or is_mixed(element) for element in run):
        return {}
    titles = {}
    for element in run:
        first = next(children(element), None)
        text = line_of(first) if first is not None else ""
        if first is None or len(first) or not 0 < len(text) <= _LONGEST_TITLE or len(element) < 2 or text.isdigit():
            return {}
        if len(words_of(element).strip()) < 1.3 * len(text) or _title_attribute(element):
            return {}
        titles[element] = first
    return titles if len({words_of(title) for title in titles.values()}) == len(run) else {}


def _table(run: Sequence[etree._Element]) -> tuple[tuple[str, ...], ...] | None:
    """Return similar elements as table rows if each contains only short values, None if not."""
    if len(run) < 2 or not (len(run[0]) or run[0].attrib):
        return None
    records: list[dict[str, str]] = []
    names: dict[str, None] = {}
    for element in run:
        if is_mixed(element) or (len(element) and _title_attribute(element)):
            return None
        record = {str(key).rpartition("}")[2]: str(value) for key, value in element.attrib.items()
                  if not str(key).startswith("{http://www.w3.org/")}  # fmt: skip
        for child in children(element):
            if len(child) or child.attrib:
                return None
            name, value = tag(child), " ".join((child.text or "").split())
            record[name] = f"{record[name]}; {value}" if record.get(name) else value
        if any(len(value) > _LONGEST_CELL for value in record.values()):
            return None
        records.append(record)
        names |= dict.fromkeys(record)
        if len(names) > _WIDEST:
            return None
    if len(names) < 2 or sum(map(len, records)) < _FILLED * len(names) * len(records):
        return None
    return (tuple(names), *(tuple(record.get(name, "") for name in names) for record in records))
