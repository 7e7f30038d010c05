"""Entities that an XML text declares itself: their words, within bounds; nothing is fetched."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

from lxml import etree

_LONGEST, _MOST, _DEEPEST = 1_000, 1_000_000, 8  # characters of one, of all in a file, and one inside the other
_SUBSET = re.compile(r"(<!DOCTYPE[^\[<>]{0,1000})\[(.{0,100000}?)\]\s{0,100}>", re.I | re.S)
_DECLARED = re.compile(r"<!ENTITY\s{1,20}([\w:.-]{1,60})\s{1,20}(?:\"([^\"]{0,2000})\"|'([^']{0,2000})')\s{0,20}>")
_REFERENCE = re.compile(r"&([^\W\d][\w:.-]{0,60});")
_MARKUP = re.compile(r"<[^<>]{0,1000}>")
_OWN = frozenset(("amp", "lt", "gt", "quot", "apos"))


class Entities:
    """What names stand for. One that is external, declared nowhere, or longer than allowed stands for nothing."""

    def __init__(self, declared: Mapping[str, str | None]) -> None:
        self._declared = declared
        self._words: dict[str, str | None] = {}
        self._left = _MOST

    def words(self, name: str) -> str:
        """Return the text of a name, without markup, and count it among what all may have."""
        text = self._text(name, 0) or ""
        if len(text) > self._left:
            return ""
        self._left -= len(text)
        return text

    def _text(self, name: str, deep: int) -> str | None:
        if name not in self._declared:
            text = html.unescape(f"&{name};")
            return "" if text.startswith("&") and name != "amp" else text
        if name not in self._words:
            self._words[name] = None  # also for who asks from inside it
            self._words[name] = self._read(self._declared[name], deep)
        return self._words[name]

    def _read(self, content: str | None, deep: int) -> str | None:
        if content is None or len(content) > _LONGEST or deep == _DEEPEST:
            return None
        parts: list[str] = []
        at = 0
        content = _MARKUP.sub("", content)
        for found in _REFERENCE.finditer(content):
            inner = self._text(found[1], deep + 1)
            if inner is None:
                return None
            parts += (html.unescape(content[at : found.start()]), inner)
            at = found.end()
        text = "".join((*parts, html.unescape(content[at:])))
        return text if len(text) <= _LONGEST else None


def put_in(root: etree._Element) -> None:
    """Replace the entities in a tree by their words, so that only elements are left in it."""
    nodes: list[Any] = list(root.iter(etree.Entity))
    if not nodes:
        return
    subset: Any = root.getroottree().docinfo.internalDTD
    entities = Entities({} if subset is None else {one.name: one.content for one in subset.iterentities()})
    for node in nodes:
        node.tail = entities.words(str(node.name)) + (node.tail or "")
    etree.strip_elements(root, etree.Entity, with_tail=False)


def put_in_text(source: str) -> str:
    """Return an HTML text without the declarations at its beginning, and with the words that they name."""
    subset = _SUBSET.search(source[:200_000])
    if subset is None:
        return source
    declared = {found[1]: found[2] or found[3] or "" for found in _DECLARED.finditer(subset[2])}
    entities = Entities(declared)

    def named(found: re.Match[str]) -> str:
        known = found[1] in declared and found[1] not in _OWN
        return html.escape(entities.words(found[1])) if known else found[0]

    return f"{source[: subset.start()]}{subset[1]}>{_REFERENCE.sub(named, source[subset.end() :])}"
