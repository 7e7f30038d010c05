"""A page's text as summaries read it: of the same length line by line, without markup and what is not prose."""

from __future__ import annotations

import re

from hybrid_core.types.documents import Line, ParsedPage

_HIDDEN = frozenset({"hidden", "heading", "code", "command", "config", "plain", "comment", "metadata"})
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()\s]*(?:\s\"[^\"]*\")?\)|\[[^\[\]]*\])")
_MARKS = re.compile(r"\*{1,3}|`+|~~|(?<!\w)_{1,3}|_{1,3}(?!\w)|<[a-zA-Z/!][^<>]*>")
_BEGINNING = re.compile(r"(?:>\s?|[-*+]\s(?:\[[ xX]\]\s)?)+")
_RULE = re.compile(r"[\s|:=-]*")


def prose(page: ParsedPage) -> str:
    """The page's text where its format has no markup. Else each line's words, padded to the line's length."""
    words = [_words(line).ljust(len(line.text)) if line.role else line.text for line in page.lines]
    return "\n".join(words) if any(map(str.strip, words)) else page.text  # a page of nothing but code


def _words(line: Line) -> str:
    if line.role in _HIDDEN or _RULE.fullmatch(line.text):
        return ""
    text = _MARKS.sub("", _LINK.sub(r"\1", _LINK.sub(r"\1", line.text.strip())))  # twice: an image in a link
    if line.role == "table":
        return "  ".join(cell.strip() for cell in text.strip("|").split("|"))[: len(line.text)]
    return _BEGINNING.sub("", text, count=1)
