"""The pages that were found as numbered sources, within a number of tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hybrid_core.answers import Source
from hybrid_core.results import PageFound
from hybrid_core.token_estimate import BYTES, estimate, shares

_WORDS = 8  # of a passage, by which it is found again: its white space is not the text's
_BEFORE = 4  # a quarter of what is kept stands before the passage


def sources(found: Sequence[PageFound], texts: Sequence[str], budget: int) -> list[Source]:
    """Pages numbered from 1 in their order; ``texts`` are their full texts. Those too long are cut around what matched.

    Together they have at most ``budget`` tokens by estimate; short pages leave their share to long ones.
    """
    given = shares([estimate(text) for text in texts], budget)
    numbered = []
    for number, (page, text, tokens) in enumerate(zip(found, texts, given, strict=True), 1):
        shown = around(text, page.snippet, tokens)
        numbered.append(
            Source(
                number, page.doc_id, page.doc_name, page.page, page.label, page.section.path, shown, page.snippet,
                cut=len(shown) < len(text),
            )
        )  # fmt: skip
    return numbered


def around(text: str, passage: str, tokens: int) -> str:
    """At most ``tokens`` of a text, where a passage begins (the top where it is not found); whole lines if there are
    line ends near the cuts.
    """
    data, size = text.encode("utf-8", "replace"), tokens * BYTES
    if len(data) <= size:
        return text
    begins = re.search(r"\s+".join(map(re.escape, passage.split()[:_WORDS])), text) if passage.split() else None
    at = len(text[: begins.start()].encode("utf-8", "replace")) if begins else 0
    start = max(0, min(at - size // _BEFORE, len(data) - size))
    end = start + size
    if start and (line := data.find(b"\n", start, start + size // _BEFORE)) >= 0:
        start = line + 1
    if end < len(data) and (line := data.rfind(b"\n", end - size // _BEFORE, end)) > start:
        end = line
    return data[start:end].decode("utf-8", "ignore")
