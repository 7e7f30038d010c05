"""The front matter of an XML document: title, authors, date, key words, and named fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from lxml import etree

from indexers.formats.flow.safety import words_of
from indexers.formats.xml.vocabularies import children, is_mixed, lacks, tag, texts_of

_TITLES = frozenset(("title", "article-title", "book-title"))
_SUBTITLES = frozenset("subtitle trans-title trans-subtitle titleabbrev alt-title".split())
_PEOPLE = frozenset("contrib author corpauthor collab collabauthor".split())
_OTHERS = frozenset("editor othercredit".split())
_KEYWORDS = frozenset(("kwd", "keyword"))
_DATES = frozenset(("pub-date", "pubdate", "date"))
_DROPPED = frozenset("encodingDesc revisionDesc xenoData counts journal-id processing-meta object-id indexterm "
                     "self-uri".split())  # fmt: skip
_LONGEST_MARK = 3  # characters of a reference from a person to an affiliation
_BLOCKS = frozenset("p para simpara formalpara aff affiliation author-notes legalnotice itemizedlist bio "
                    "authorblurb fn note".split())  # fmt: skip
_GIVEN = frozenset("given-names given-name forename firstname givenname othername".split())
_SURNAMES = frozenset(("surname", "lastname"))
_BEFORE, _AFTER = (
    frozenset(("prefix", "honorific", "roleName", "nameLink")),
    frozenset(("suffix", "lineage", "genName")),
)
_NAMES = frozenset("name personname persName string-name name-alternatives collab orgname orgName".split())
_NAME_PARTS = _BEFORE | _GIVEN | _SURNAMES | _AFTER
_DEEPEST = 30
_PAGES = (("fpage", "lpage"), ("first-page", "last-page"))


@dataclass(slots=True)
class Front:
    """The front matter of a document.

    ``fields`` are lines such as "Volume: 12", ``texts`` are elements to read as text, ``abstracts`` elements to read as
    sections. ``strays`` are texts in places where the vocabulary allows none. ``left_out`` are elements of technical
    data, ``read`` elements that need not be read again.
    """

    title: etree._Element | None = None
    subtitles: list[str] = field(default_factory=list)
    authors: list[str] = field(default_factory=list)
    date: str = ""
    keywords: list[str] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)
    texts: list[etree._Element] = field(default_factory=list)
    abstracts: list[etree._Element] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)
    left_out: list[etree._Element] = field(default_factory=list)
    read: set[etree._Element] = field(default_factory=set)

    def take(self, element: etree._Element) -> etree._Element:
        """Mark an element as completely read, and return it."""
        self.read.add(element)
        return element


def read_front(element: etree._Element, words: Callable[[etree._Element], str]) -> Front:
    """Read front matter from an element. ``words`` returns an element's words in one line."""
    front = Front()
    _gather(element, front, words, 0)

    def is_apart(node: etree._Element) -> bool:
        if technical := tag(node) in _DROPPED:
            front.left_out.append(node)
        return technical or node in front.read or _is_mark(node)

    strays = texts_of(element, is_apart)
    front.strays = [line for text in strays if (line := " ".join(text.split()))]
    title = words(front.title) if front.title is not None else ""
    front.fields = [line for line in dict.fromkeys(front.fields) if line.partition(": ")[2] != title]
    front.authors = list(dict.fromkeys(front.authors))
    return front


def is_titled(element: etree._Element) -> bool:
    """Return whether front matter contains the title of its document."""
    return any(tag(inner) in _TITLES for inner in element.iterdescendants())


def _is_mark(element: etree._Element) -> bool:
    """Return whether an element is a reference sign or number between a person and an affiliation."""
    return tag(element) == "xref" and "rid" in element.attrib and len(words_of(element).strip()) <= _LONGEST_MARK


def _gather(element: etree._Element, front: Front, words: Callable[[etree._Element], str], deep: int) -> None:
    for child in children(element):
        name = tag(child)
        if name in _DROPPED or _is_mark(child):
            continue
        if name in ("abstract", "trans-abstract"):
            front.abstracts.append(front.take(child))
        elif name in _TITLES and front.title is None:
            front.title = front.take(child)
        elif name in _SUBTITLES or (name == "title" and child.get("type") == "sub"):
            front.subtitles.append(words(front.take(child)))
        elif name in _PEOPLE and child.get("contrib-type", "author") == "author":
            front.authors += filter(None, [_first_person(child, front, words)])
            _gather_beside(child, front, words)
        elif name in _PEOPLE | _OTHERS:
            label = child.get("contrib-type") or child.get("class") or ("credit" if name[:5] == "other" else name)
            _put(front, label, _first_person(child, front, words))
            _gather_beside(child, front, words)
        elif name in _KEYWORDS or (name == "term" and tag(element) == "keywords"):
            front.keywords.append(words(front.take(child)))
        elif name in _DATES and (date := date_of(front.take(child), words)):
            if name == "date" and child.get("date-type"):
                _put(front, str(child.get("date-type")), date)
            else:
                front.date = front.date or date
                _put(front, "published" if name != "date" else name, date)
        elif name in _BLOCKS:
            front.texts.append(front.take(child))
        elif deep >= _DEEPEST or not len(child) or (child.text or "").strip():
            kind = (
                next(filter(None, map(child.get, ("pub-id-type", "type"))), "")
                if name in ("article-id", "idno")
                else ""
            )
            _put(front, kind or name, words(front.take(child)))
        else:
            _gather(child, front, words, deep + 1)


def _gather_beside(person: etree._Element, front: Front, words: Callable[[etree._Element], str]) -> None:
    """Add the details beside a person's name: affiliation and address."""
    for child in children(person):
        name = tag(child)
        if child in front.read or name in _DROPPED or _is_mark(child):
            continue
        if name in _BLOCKS:
            front.texts.append(front.take(child))
        elif name not in _NAMES | _GIVEN | _SURNAMES | _BEFORE | _AFTER:
            _put(front, name, words(front.take(child)))


def _put(front: Front, name: str, text: str) -> None:
    if text:
        label = re.sub(r"(?<=[a-z])(?=[A-Z])|[-_]", " ", name).strip().lower()
        front.fields.append(f"{label[:1].upper()}{label[1:]}: {text}")


def _first_person(element: etree._Element, front: Front, words: Callable[[etree._Element], str]) -> str:
    named = next((child for child in children(element) if tag(child) in _NAMES), None)
    if named is not None:
        return person(front.take(named), words)
    parts = _name_parts(element, words)
    if not (parts[1] or parts[2]):
        return words(front.take(element))
    front.read.update(child for child in element.iterdescendants() if tag(child) in _NAME_PARTS)
    return _in_order(parts)


def person(element: etree._Element, words: Callable[[etree._Element], str]) -> str:
    """Return a person's name in the usual order ("Dr Ada Kelp Jr"), with other spellings in brackets."""
    if tag(element) == "name-alternatives" and not is_mixed(element):
        first, *others = [person(child, words) for child in children(element)] or [""]
        return f"{first} ({', '.join(others)})" if others else first
    parts = _name_parts(element, words)
    written, whole = _in_order(parts), words(element)
    return written if (parts[2] or parts[1]) and not lacks(written, map(str, element.itertext())) else whole


def _name_parts(element: etree._Element, words: Callable[[etree._Element], str]) -> list[list[str]]:
    parts: list[list[str]] = [[], [], [], []]
    for child in element.iterdescendants():
        for at, names in enumerate((_BEFORE, _GIVEN, _SURNAMES, _AFTER)):
            if tag(child) in names:
                parts[at].append(words(child))
    return parts


def _in_order(parts: list[list[str]]) -> str:
    return " ".join(word for part in parts for word in part if word)


def date_of(element: etree._Element, words: Callable[[etree._Element], str]) -> str:
    """Return a date as "2021-02-03" if its parts are numbers, else as it is written."""
    date = _date({tag(child): words(child) for child in children(element)})
    if date and not lacks(date, map(str, element.itertext())):
        return date
    return words(element) or next(filter(None, map(element.get, ("iso-8601-date", "when", "date"))), "")


def _date(parts: Mapping[str, str]) -> str:
    date = parts.get("year", "")
    for name in ("month", "day"):
        value = parts.get(name, "")
        if value and not value.isdecimal():
            return " ".join(filter(None, (parts.get("day"), parts.get("month"), parts.get("year"))))
        if not value or not date:
            return " ".join(filter(None, (date, parts.get("season"))))
        date = f"{date}-{int(value[:4]):02}"
    return date


def citation(element: etree._Element, words: Callable[[etree._Element], str]) -> str:
    """Return a reference without punctuation as a line: people, title, source, year."""
    parts: list[str] = []
    people: list[str] = []
    for name, text in _citation_parts(element, words, 0):
        if name == "person":
            people.append(text)
            continue
        if people:
            parts.append(", ".join(people))
            people = []
        if parts and (name == "lpage" or name == "last-page") and parts[-1].rpartition(" ")[2].isalnum():
            parts[-1] += f"–{text}"
        else:
            parts.append(text)
    return ". ".join(
        part.rstrip(".") if at else part for at, part in enumerate([*parts, *filter(None, [", ".join(people)])])
    )


def _citation_parts(
    element: etree._Element, words: Callable[[etree._Element], str], deep: int
) -> Iterator[tuple[str, str]]:
    for child in children(element):
        name = tag(child)
        if name in _NAMES or (name in _PEOPLE | _OTHERS and not any(tag(inner) in _NAMES for inner in children(child))):
            if text := person(child, words):
                yield "person", text
        elif len(child) and not is_mixed(child) and deep < _DEEPEST and name not in _TITLES:
            yield from _citation_parts(child, words, deep + 1)
        elif text := words(child) or _attribute_span(child):
            yield name, text


def _attribute_span(element: etree._Element) -> str:
    """Return the text that attributes of an empty element give: a day, or a range of pages."""
    first, last = element.get("from") or "", element.get("to") or ""
    return "–".join(filter(None, (first, last))) or element.get("when") or ""
