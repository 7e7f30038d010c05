"""Where a text sends its reader: «see Note 7», «(Table 3)», in the document that it stands in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from hybrid_core.text.tokens import cached_hash, tokenise
from hybrid_core.types.results import Pointer
from retrievers.documents.content import Content
from retrievers.places.headings import begins_caption, fit
from retrievers.places.located import PlaceFound, lines_that_begin, sections_called
from retrievers.query.references import Reference, references

_SENDING = re.compile(
    r"(?:\b(?:see|refer\s+to|referred\s+to\s+in|consult|described\s+in|discussed\s+in|disclosed\s+in|detailed\s+in"
    r"|shown\s+in|set\s+forth\s+in|presented\s+in|included\s+in|provided\s+in|found\s+in|siehe|vgl\.|voir|véase)\s+"
    r"(?:also\s+)?|\()(?:(?:the|our|its|also)\s+)?\Z|[参见详见如]\s?\Z",
    re.IGNORECASE,
)
_MAYBE = ("see", "refer", " in ", "(", "consult", "siehe", "vgl", "voir", "véase", "见", "如")
_BEFORE = 40  # characters
_MOST, _READ = 3, 12  # places of one text, pages that are read for each

Read = Callable[[Sequence[int]], Sequence[str]]
"""The texts of pages, 1-based."""


def pointers(text: str, page: int, content: Content, read: Read) -> tuple[Pointer, ...]:
    """The places that a text of this page sends to, by their headings, else by lines that begin so on pages that hold
    the words; those that the document does not have, or has on the same page, are left out."""
    folded = text.lower()
    if not any(sign in folded for sign in _MAYBE):
        return ()
    found: dict[tuple[str, str], Pointer] = {}
    for one in references(text):
        key = (one.word, one.number)
        sends = _SENDING.search(text[max(0, one.start - _BEFORE) : one.start])
        if one.kind == "page" or sends is None or key in found or len(found) == _MOST:
            continue
        place = next((place for place in _places(one, content, read) if place.begins), None)
        if place is not None and place.page != page:
            found[key] = Pointer(" ".join(one.written.split()), place.page, place.why)
    return tuple(found.values())


def _places(reference: Reference, content: Content, read: Read) -> Iterator[PlaceFound]:
    if reference.kind == "part":
        yield from sections_called(reference, content.sections)
    wanted = {cached_hash(term) for term in tokenise(reference.written)}
    held = content.body.occurrences(list(wanted))
    pages, terms = np.unique(held.pages, return_counts=True)
    likely = (pages[terms >= len(wanted)] + 1).tolist()[:_READ] if wanted else []
    texts = [("", text) for text in read(likely)] if likely else []
    begins = begins_caption if reference.kind == "caption" else (lambda one, line: fit(one, line) > 1)
    for place in lines_that_begin(reference, texts, begins):
        yield PlaceFound(likely[place.page - 1], place.why)
