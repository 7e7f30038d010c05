"""What stands before the text of an XML document: title, authors, date, key words, and fields with their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from lxml import etree

from indexers.formats.xml.vocabularies import children, tag

_TITLES = frozenset(("title", "article-title", "book-title"))
_SUBTITLES = frozenset("subtitle trans-title trans-subtitle titleabbrev alt-title".split())
_PEOPLE = frozenset("contrib author corpauthor collab collabauthor".split())
_OTHERS = frozenset("editor othercredit".split())
_KEYWORDS = frozenset(("kwd", "keyword"))
_DATES = frozenset(("pub-date", "pubdate", "date"))
_DROPPED = frozenset("encodingDesc revisionDesc xenoData counts journal-id processing-meta object-id indexterm "
                     "self-uri xref graphic".split())  # fmt: skip
_BLOCKS = frozenset("p para simpara formalpara aff affiliation author-notes legalnotice itemizedlist bio "
                    "authorblurb fn note".split())  # fmt: skip
_GIVEN = frozenset("given-names given-name forename firstname givenname othername".split())
_SURNAMES = frozenset(("surname", "lastname"))
_BEFORE, _AFTER = (
    frozenset(("prefix", "honorific", "roleName", "nameLink")),
    frozenset(("suffix", "lineage", "genName")),
)
_NAMES = frozenset("name personname persName string-name name-alternatives collab orgname orgName".split())
_DEEPEST = 30
_PAGES = (("fpage", "lpage"), ("first-page", "last-page"))


@dataclass(slots=True)
class Front:
    """``fields`` are lines ("Volume: 12"), ``texts`` elements that are read as text, ``abstracts`` sections."""

    title: etree._Element | None = None
    subtitles: list[str] = field(default_factory=list)
    authors: list[str] = field(default_factory=list)
    date: str = ""
    keywords: list[str] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)
    texts: list[etree._Element] = field(default_factory=list)
    abstracts: list[etree._Element] = field(default_factory=list)


def read_front(element: etree._Element, words: Callable[[etree._Element], str]) -> Front:
    """Read what an element says of the document. ``words`` gives an element's words in one line."""
    front = Front()
    _gather(element, front, words, 0)
    title = words(front.title) if front.title is not None else ""
    front.fields = [line for line in dict.fromkeys(front.fields) if line.partition(": ")[2] != title]
    front.authors = list(dict.fromkeys(front.authors))
    return front


def is_titled(element: etree._Element) -> bool:
    """Return whether front matter says the title of its document."""
    return any(tag(inner) in _TITLES for inner in element.iterdescendants())


def _gather(element: etree._Element, front: Front, words: Callable[[etree._Element], str], deep: int) -> None:
    for child in children(element):
        name = tag(child)
        if name in _DROPPED:
            continue
        if name in ("abstract", "trans-abstract"):
            front.abstracts.append(child)
        elif name in _TITLES and front.title is None:
            front.title = child
        elif name in _SUBTITLES or (name == "title" and child.get("type") == "sub"):
            front.subtitles.append(words(child))
        elif name in _PEOPLE and child.get("contrib-type", "author") == "author":
            front.authors += filter(None, [_first_person(child, words)])
            _gather_beside(child, front, words)
        elif name in _PEOPLE | _OTHERS:
            label = child.get("contrib-type") or child.get("class") or ("credit" if name[:5] == "other" else name)
            _put(front, label, _first_person(child, words))
        elif name in _KEYWORDS or (name == "term" and tag(element) == "keywords"):
            front.keywords.append(words(child))
        elif name in _DATES and (date := date_of(child, words)):
            if name == "date" and child.get("date-type"):
                _put(front, str(child.get("date-type")), date)
            else:
                front.date = front.date or date
                _put(front, "published" if name != "date" else name, date)
        elif name in _BLOCKS:
            front.texts.append(child)
        elif deep >= _DEEPEST or not len(child) or (child.text or "").strip():
            kind = (
                next(filter(None, map(child.get, ("pub-id-type", "type"))), "")
                if name in ("article-id", "idno")
                else ""
            )
            _put(front, kind or name, words(child))
        else:
            _gather(child, front, words, deep + 1)


def _gather_beside(person: etree._Element, front: Front, words: Callable[[etree._Element], str]) -> None:
    """Gather what stands with a person's name: where they work, how they are reached."""
    for child in children(person):
        name = tag(child)
        if name in _BLOCKS:
            front.texts.append(child)
        elif name not in _DROPPED | _NAMES | _GIVEN | _SURNAMES | _BEFORE | _AFTER:
            _put(front, name, words(child))


def _put(front: Front, name: str, text: str) -> None:
    if text:
        label = re.sub(r"(?<=[a-z])(?=[A-Z])|[-_]", " ", name).strip().lower()
        front.fields.append(f"{label[:1].upper()}{label[1:]}: {text}")


def _first_person(element: etree._Element, words: Callable[[etree._Element], str]) -> str:
    named = next((child for child in children(element) if tag(child) in _NAMES), element)
    return person(named, words)


def person(element: etree._Element, words: Callable[[etree._Element], str]) -> str:
    """Return a name as people write it: "Dr Ada Kelp Jr"; of several spellings the first."""
    if tag(element) == "name-alternatives":
        element = next(children(element), element)
    parts: list[list[str]] = [[], [], [], []]
    for child in element.iterdescendants():
        for at, names in enumerate((_BEFORE, _GIVEN, _SURNAMES, _AFTER)):
            if tag(child) in names:
                parts[at].append(words(child))
    written = " ".join(word for part in parts for word in part if word)
    return written if parts[2] or parts[1] else words(element)


def date_of(element: etree._Element, words: Callable[[etree._Element], str]) -> str:
    """Return a date as "2021-02-03" where its parts are numbers, else as it is written."""
    parts = {tag(child): words(child) for child in children(element)}
    if "year" in parts:
        date = parts["year"]
        for name in ("month", "day"):
            value = parts.get(name, "")
            if not value.isdecimal():
                return (
                    " ".join(filter(None, (parts.get("day"), parts.get("month"), parts["year"])))
                    if value
                    else " ".join(filter(None, (date, parts.get("season"))))
                )
            date = f"{date}-{int(value[:4]):02}"
        return date
    return words(element) or next(filter(None, map(element.get, ("iso-8601-date", "when", "date"))), "")


def citation(element: etree._Element, words: Callable[[etree._Element], str]) -> str:
    """Return a reference whose parts stand without signs between them as a line: people, title, source, year."""
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
        elif len(child) and not (child.text or "").strip() and deep < _DEEPEST and name not in _TITLES:
            yield from _citation_parts(child, words, deep + 1)
        elif text := words(child) or _attribute_span(child):
            yield name, text


def _attribute_span(element: etree._Element) -> str:
    """Return what an empty element says in attributes: a day, or pages from and to."""
    first, last = element.get("from") or "", element.get("to") or ""
    return "–".join(filter(None, (first, last))) or element.get("when") or ""
