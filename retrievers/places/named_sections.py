"""Sections that a question names by their titles: «the restructuring note», «Limitations section of …»."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from hybrid_core.text.tokens import fold, is_number, tokenise
from retrievers.documents.content import Content
from retrievers.places.headings import numbered
from retrievers.places.located import PlaceFound
from retrievers.query.content_words import is_frame

_PART = re.compile(
    r"\b(?:(?P<chapter>chapters?|kapitel|chapitres?|cap[íi]tulos?)|(?P<note>notes?)|(?P<section>sections?|clauses?|slides?"
    r"|appendix|annex|exhibit|schedule|statements?|heading|paragraph|provision|item|abschnitt|klausel|folie|anhang|secci[óo]n"
    r"|cl[áa]usula|annexe))\b|[章节]|部分",
    re.IGNORECASE,
)
_NAMED, _EXACT = 0.6, 0.85  # Dice coefficient of the title and what is asked, where a part is spoken of and where not
_SEGMENT = re.compile(r"[,;:–—(|]")
_LINE = 80  # characters of a line that may be a title
_MOST = 4


def part_spoken_of(question: str) -> str:
    """What kind of part a question asks for, by what parts are called: "chapter", "note", "section"; "" for none."""
    match = _PART.search(question)
    return (match.lastgroup or "section") if match else ""


def named_sections(
    asked: Collection[str],
    naming: Collection[str],
    content: Content,
    part: str,
    terms: Collection[str],
    worth: Callable[[int], float],
) -> list[PlaceFound]:
    """The sections whose titles say what is ``asked`` and hardly more, likeliest first.

    Terms in ``naming`` name the document, so a title may have them or not. Where a ``part`` is spoken of, less of the
    title has to be said, or only its beginning. Of titles that fit alike those come first that are called what was
    spoken of, then those below sections that the question's ``terms`` name, then those higher in the tree, then by what
    their pages are ``worth``.
    """
    found = []
    for at, section in enumerate(content.sections):
        if not section.synthetic and (fit := _fit(asked, naming, section.title, bool(part))) >= (
            _NAMED if part else _EXACT
        ):
            label = numbered(section.title)
            called = bool(part and label and label.word == part)
            above = {term for i in content.path(at)[:-1] for term in tokenise(content.sections[i].title)}
            below = -len(above.intersection(terms))
            order = (-called, section.level, -fit) if part == "chapter" else (-called, -fit, below, section.level)
            found.append(((*order, -worth(section.start_page)), section))
    found.sort(key=lambda one: one[0])
    places: dict[int, PlaceFound] = {}
    for _, section in found[:_MOST]:
        places.setdefault(section.start_page, PlaceFound(section.start_page, f"«{section.title}» begins here"))
    return list(places.values())


def titled_lines(asked: Collection[str], texts: Sequence[tuple[str, str]]) -> list[PlaceFound]:
    """The pages on which a line by itself says what is asked and nothing else: a heading that no tree has."""
    wanted = {term for term in asked if not is_frame(term)}
    if not wanted:
        return []
    rarest = max(wanted, key=len)[:5]
    places = []
    for page, (_, text) in enumerate(texts, 1):
        lines = (line for line in text.split("\n") if len(line) <= _LINE and rarest in fold(line))
        if line := next((line for line in lines if set(_words(line)) == wanted), None):
            places.append(PlaceFound(page, f"«{line.strip()}» stands here"))
    return places[:_MOST]


def _fit(asked: Collection[str], naming: Collection[str], title: str, part: bool) -> float:
    """How well a title says what is asked: the whole of it, or what stands before a comma or a colon."""
    best = 0.0
    first = _SEGMENT.split(title)[0]
    for words in [_words(title)] if first == title else [_words(title), _words(first)]:
        own = [term for term in words if term not in naming] or words
        wanted = {term for term in asked if not is_frame(term) or term in own}
        best = max(best, _dice(wanted, set(own)), _begins(wanted, own) if part else 0.0)
    return best


def _words(title: str) -> list[str]:
    """The terms of a title without its number and what it is called."""
    return [term for term in tokenise(title) if not is_number(term) and term not in _LABELS]


def _dice(asked: set[str], title: set[str]) -> float:
    return 2 * len(asked & title) / (len(asked) + len(title)) if asked and title else 0.0


def _begins(asked: set[str], title: list[str]) -> float:
    """A long title of which two words and more are asked for by its beginning."""
    return _NAMED if len(asked) > 1 and set(title[: len(asked)]) == asked else 0.0


_LABELS = frozenset(tokenise("item note section article chapter part exhibit clause appendix schedule annex"))
