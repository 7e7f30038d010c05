"""Which headings, lines and captions bear the number that a question names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from hybrid_core.text.numerals import part_number
from retrievers.query.references import NUMBER, Reference, references

# Headings whose number stands by itself: «7. Warranties» is section 7, «G Error Cases» appendix G.
_BARE = frozenset(("section", "chapter", "article", "clause", "note", "part", "appendix", "item"))
_NUMBERED = re.compile(rf"\s*(?:[(\[]\s?)?(?P<number>{NUMBER})(?:[.:)\]]|\s[-–—:]|(?=\s))(?P<rest>.*)", re.DOTALL)
_AFTER_CAPTION = re.compile(r"\s?[.:|–—-]|\s*$|\s+[A-Z(\[]")
_WORDED, _BARE_NUMBER = 2, 1


@dataclass(frozen=True, slots=True)
class Numbered:
    """What a heading or line begins with: the ``word`` («note»), "" where its number stands by itself."""

    word: str
    number: str
    after: str


@lru_cache(maxsize=20_000)
def numbered(line: str) -> Numbered | None:
    """The number that a line begins with, if any."""
    if found := [one for one in references(line[:80]) if not line[: one.start].strip(" \t#*[(")]:
        return Numbered(found[0].word, found[0].number, line[found[0].end :])
    match = _NUMBERED.match(line[:80])
    return Numbered("", part_number(match["number"]), line[match.start("rest") :]) if match else None


def fit(reference: Reference, title: str) -> int:
    """How surely a heading is the one referred to: 2 where it has the word, 1 where only the number, 0 where not."""
    found = numbered(title)
    if found is None or found.number != reference.number:
        return 0
    if found.word == reference.word or {found.word, reference.word} <= {"section", "clause", "article"}:
        return _WORDED
    return _BARE_NUMBER if not found.word and reference.word in _BARE and found.after.strip() else 0


def begins_caption(reference: Reference, line: str) -> bool:
    """Whether a line is the caption referred to, not a sentence that mentions it."""
    found = numbered(line)
    if found is None or (found.word, found.number) != (reference.word, reference.number):
        return False
    return _AFTER_CAPTION.match(found.after) is not None
