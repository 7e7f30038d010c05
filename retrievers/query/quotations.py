"""What a question quotes: who searches for a sentence wants the page that says it."""

from __future__ import annotations

import re

_LEAST = 4  # words: fewer, also in quotation marks, are a name or a term
_MARKED = re.compile(r'"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」|『([^』]+)』')
_EAST_ASIAN = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_EAST_ASIAN}]|[^\W_]+")


def quotations(question: str) -> list[str]:
    """Return what a question may quote: what is marked, else all of it."""
    marked = ["".join(match.groups("")) for match in _MARKED.finditer(question)]
    marked = [text for text in marked if len(_WORD.findall(text)) >= _LEAST]
    return marked or ([question] if len(_WORD.findall(question)) >= _LEAST else [])
