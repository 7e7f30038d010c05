"""The words of a question in a snippet, so that the eye finds them. Without a terminal nothing is marked."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from hybrid_core.text.names import has_cjk
from hybrid_core.text.tokens import tokenise
from hybrid_pageindex.doors.cli.output import visible

_WORD = re.compile(r"[^\W_]+(?:[.,'’-][^\W_]+)*")
_OPEN, _CLOSE = "[bold not italic]", "[/]"


def highlit(text: str, terms: Collection[str]) -> str:
    """The text in Rich's markup, with the words in bold whose terms are among these; ``terms`` are as receipts have
    them."""
    from rich.markup import escape

    parts, last = [], 0
    for start, end in sorted(_places(text, terms)):
        if start >= last:
            parts += [escape(visible(text[last:start])), _OPEN, escape(visible(text[start:end])), _CLOSE]
            last = end
    return "".join([*parts, escape(visible(text[last:]))])


def _places(text: str, terms: Collection[str]) -> Iterator[tuple[int, int]]:
    for term in terms:
        if has_cjk(term):
            yield from ((match.start(), match.end()) for match in re.finditer(re.escape(term), text))
    for match in _WORD.finditer(text):
        if not has_cjk(match[0]) and not set(tokenise(match[0])).isdisjoint(terms):
            yield match.span()
