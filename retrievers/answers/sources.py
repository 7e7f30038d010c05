"""The pages that were found as numbered sources, within a number of tokens."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_core.answers import Source
from hybrid_core.results import PageFound
from hybrid_core.token_estimate import estimate, shares


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
    """At most ``tokens`` of a text: whole lines around the one where ``passage`` begins, from the top where it is
    not found.
    """
    if estimate(text) <= tokens:
        return text
    lines = text.split("\n")
    first = last = _line_of(lines, passage)
    held = estimate(lines[first])
    if held > tokens:
        return lines[first].encode()[: 3 * tokens].decode(errors="ignore")
    while True:
        after = estimate(lines[last + 1] + "\n") if last + 1 < len(lines) else None
        before = estimate(lines[first - 1] + "\n") if first else None
        if after is not None and held + after <= tokens:
            last, held = last + 1, held + after
        elif before is None or held + before > tokens:
            return "\n".join(lines[first : last + 1])
        if before is not None and held + before <= tokens:
            first, held = first - 1, held + before


def _line_of(lines: Sequence[str], passage: str) -> int:
    """The line that shares the longest beginning with a passage; 0 where none shares a word."""
    words = passage.strip("… \n").split()
    for length in range(min(6, len(words)), 0, -1):
        for start in range(0, max(1, len(words) - length + 1), length):
            wanted = " ".join(words[start : start + length])
            for at, line in enumerate(lines):
                if wanted in " ".join(line.split()):
                    return at
    return 0
