"""Pictures that Markdown shows: their links, and the text without those that hold the picture itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

_IMAGE = re.compile(
    r"!\[(?P<alt>[^\[\]]{0,2000})\](?:\(\s*(?:<(?P<wide>[^<>]*)>|(?P<link>[^\s()<>]+))|\[(?P<label>[^\[\]]{0,200})\])?"
    r"|<img\s[^<>]{0,2000}?\bsrc\s*=\s*(?:\"(?P<quoted>[^\"]*)\"|'(?P<single>[^']*)')",
    re.IGNORECASE,
)
_DEFINED = re.compile(r" {0,3}\[(?P<label>[^\[\]]{1,200})\]:\s*<?(?P<link>[^\s<>]+)>?")
_DATA = re.compile(r"(data:image/[\w.+-]{1,40}(?:;[\w=-]{1,40})*,)[A-Za-z0-9+/=%_-]{80,}")


def definitions(lines: Sequence[str]) -> dict[str, str]:
    """Links that are named elsewhere («[image1]: data:…»), by their label in small letters."""
    found: dict[str, str] = {}
    for line in lines:
        if "]:" in line and (match := _DEFINED.match(line)):
            found.setdefault(match["label"].casefold(), match["link"])
    return found


def image_links(text: str, defined: Mapping[str, str] = {}) -> Iterator[str]:
    """The links of the pictures that a text shows, in order."""
    for match in _IMAGE.finditer(text) if "![" in text or "<" in text else ():
        link = match["wide"] or match["link"] or match["quoted"] or match["single"]
        named = match["label"] or match["alt"] or ""
        if link := link or defined.get(named.casefold(), ""):
            yield link


def without_data(line: str) -> str:
    """A line whose links name the kind of the pictures that they hold, and nothing of their bytes."""
    return _DATA.sub(r"\1…", line) if "data:image/" in line else line
