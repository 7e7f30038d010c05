"""RSS, Atom and OPML as blocks: an entry is a section with its date, link and text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from email.utils import parsedate_to_datetime

from lxml import etree

from indexers.formats.flow.blocks import Block, Heading, Item, Paragraph
from indexers.formats.flow.safety import line_of, words_of
from indexers.formats.web.html import parse_html
from indexers.formats.xml.vocabularies import children, is_mixed, tag

_XHTML = "{http://www.w3.org/1999/xhtml}"
_MARKUP = re.compile(r"<[a-zA-Z!/][^<>]*>")
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d))?(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:?\d\d)?")
_DATES = ("pubDate", "published", "updated", "modified", "issued", "date", "lastBuildDate")
_CONTENTS = ("encoded", "content", "description", "summary", "subtitle", "tagline", "transcript")
_ENTRIES = frozenset(("item", "entry"))
_DROPPED = frozenset("guid id comments commentRss generator docs ttl cloud image icon logo thumbnail language "
                     "skipHours skipDays items textInput textinput hash block explicit".split())  # fmt: skip
_PEOPLE, _LINKS = ("author", "creator", "contributor"), ("link", "enclosure")
_SUBJECTS = ("category", "subject", "keywords")
_READ = {"title", *_DATES, *_CONTENTS, *_ENTRIES, *_DROPPED, *_PEOPLE, *_LINKS, *_SUBJECTS}
_WORD = re.compile(r"\w+")
_LONGEST_TITLE = 80
_DEEPEST = 60


def feed_blocks(root: etree._Element, metadata: dict[str, str]) -> Iterator[Block]:
    """Yield the description of a feed and its entries, in the order of the file."""
    entries = [element for element in root.iter() if tag(element) in _ENTRIES]
    inside = set(entries)
    channel = next((element for element in root.iter() if tag(element) == "channel"), root)
    head = [child for child in children(channel) if child not in inside]
    title = next((plain_text(child) for child in head if tag(child) == "title"), "")
    if title:
        metadata["title"] = title
        yield Heading(1, title, place="feed")
    yield Paragraph(_field_lines(head), "feed")
    yield from _contents(head, "feed", 1)
    for number, entry in enumerate(entries, 1):
        yield from _entry(entry, number, 1 + bool(title))


def _entry(entry: etree._Element, number: int, level: int) -> Iterator[Block]:
    fields, place = list(children(entry)), f"entry {number}"
    title = next((text for field in fields if tag(field) == "title" and (text := plain_text(field))), "")
    lines, described = _field_lines(fields), _contents(fields, place, level)
    if not title:
        first = next((block.text for block in described if isinstance(block, Paragraph)), "")
        title = first if len(first) <= _LONGEST_TITLE else f"{first[:_LONGEST_TITLE].rpartition(' ')[0]} …"
        if title and described[0] == Paragraph(title, place):
            described.pop(0)
    yield Heading(level, title or f"Entry {number}", place=place)
    yield Paragraph(lines, place)
    yield from described


def _field_lines(fields: list[etree._Element]) -> str:
    """Return the fields of a feed or entry except its content: date, people, subjects, links, others."""
    dates = [read_date(words_of(field)) for name in _DATES for field in fields if tag(field) == name]
    people = [_person(field) for field in fields if tag(field) in _PEOPLE]
    about = [text for field in fields if tag(field) in _SUBJECTS
             if (text := field.get("label") or field.get("term") or plain_text(field))]  # fmt: skip
    links = [link for field in fields if tag(field) in _LINKS and (link := _link(field))]
    lines = (*dates[:1], "; ".join(dict.fromkeys(filter(None, people))), ", ".join(dict.fromkeys(about)), *links)
    others = (plain_text(field) for field in fields if tag(field) not in _READ)
    return "\n".join(dict.fromkeys(filter(None, (*lines, *others))))


def _person(field: etree._Element) -> str:
    """Return a person's name, with the address and other details if the field has elements for them."""
    return line_of(field) if is_mixed(field) else ", ".join(filter(None, map(line_of, children(field))))


def _contents(fields: list[etree._Element], place: str, level: int) -> list[Block]:
    """Return the texts of an entry, the summary first, without texts that another one contains."""
    contents = sorted((field for field in fields if tag(field) in _CONTENTS), key=lambda it: _CONTENTS.index(tag(it)))
    written: list[tuple[set[str], list[Block]]] = []
    for field in contents:
        blocks = [_set_below(replace(block, place=place), level) for block in content_blocks(field)]
        words = set(
            _WORD.findall(" ".join(str(getattr(block, "text", getattr(block, "rows", ""))) for block in blocks))
        )
        if not any(words <= before for before, _ in written):
            written.append((words, blocks))
    return [block for _, blocks in reversed(written) for block in blocks]


def _set_below(block: Block, level: int) -> Block:
    """Return a block of an entry. A heading is lowered so that it is below the heading of the entry."""
    return replace(block, level=level + max(1, block.level - 1)) if isinstance(block, Heading) else block


def _link(element: etree._Element) -> str:
    link = element.get("href") or element.get("url") or (element.text or "").strip()
    return link if element.get("rel", "alternate") in ("alternate", "enclosure", "related", "via") else ""


def content_blocks(element: etree._Element) -> list[Block]:
    """Return the content of an element that holds XHTML, HTML as text, or plain text."""
    if any(str(child.tag).startswith(_XHTML) or tag(child) == "div" for child in children(element)):
        source = "".join(etree.tostring(child, encoding="unicode") for child in children(element))
        return parse_html(re.sub(r"(</?)\w+:(?=[a-zA-Z])", r"\1", source), whole=True).blocks
    text = words_of(element)
    if element.get("type") not in ("text", "text/plain") and (_MARKUP.search(text) or "&" in text):
        return parse_html(text, whole=True).blocks
    return [Paragraph(part.strip()) for part in re.split(r"\n\s*\n", text) if part.strip()]


def plain_text(element: etree._Element) -> str:
    """Return an element's words in one line. If they are HTML as text, its tags are removed."""
    text = words_of(element)
    if element.get("type") not in ("text", "text/plain"):
        text = html.unescape(_MARKUP.sub(" " if "<br" in text else "", text))
    return " ".join(text.split())


def read_date(text: str) -> str:
    """Return a date as "2026-03-03 10:00 +01:00", or as it is written."""
    text = " ".join(text.split())
    if (iso := _ISO.fullmatch(text)) is not None:
        return " ".join(filter(None, (iso[1], iso[2], "UTC" if iso[3] == "Z" else iso[3])))
    try:
        return parsedate_to_datetime(text).isoformat(" ", "minutes").replace("+00:00", " UTC")
    except (ValueError, TypeError, IndexError, OverflowError):
        return text


def outline_blocks(root: etree._Element, metadata: dict[str, str]) -> Iterator[Block]:
    """Yield an outline. Top-level items with children are sections, the rest are list items."""
    head = next((child for child in children(root) if tag(child) == "head"), None)
    fields = {tag(child): line_of(child) for child in children(head)} if head is not None else {}
    if title := fields.pop("title", ""):
        metadata["title"] = title
        yield Heading(1, title, place="outline 1")
    names = ("ownerName", "ownerEmail", "dateCreated", "dateModified")
    if about := "\n".join(fields[name] for name in names if fields.get(name)):
        yield Paragraph(about, "outline 1")
    number = 0
    stack = [(entry, 0) for body in children(root) if tag(body) != "head" for entry in children(body)][::-1]
    sections = any(len(entry) for entry, _ in stack)
    while stack:
        entry, depth = stack.pop()
        number += 1
        yield from _outline(entry, depth, f"outline {number}", sections, 1 + bool(title))
        stack += [(child, depth + 1) for child in children(entry)][::-1]


def _outline(entry: etree._Element, depth: int, place: str, sections: bool, level: int) -> Iterator[Block]:
    text = entry.get("text") or entry.get("title") or " ".join((entry.text or "").split())
    text = " ".join(html.unescape(_MARKUP.sub("", text)).split()) if "<" in text or "&" in text else text
    more = [entry.get(name) or "" for name in ("title", "description", "_note", "htmlUrl", "xmlUrl", "url", "created")]
    more = [value for value in dict.fromkeys(filter(None, more)) if value != entry.get("text") and value != text]
    if sections and not depth and len(entry) and text:
        yield Heading(level, text, place=place)
        if more:
            yield Paragraph("\n".join(more), place)
    elif text or more:
        yield Item("\n".join(filter(None, (text, *more))), "-", max(0, min(depth, _DEEPEST) - sections), place)
