"""Another search that a model asks for: in its own words, for exact words, or for a section by its name.

rent of the cold store      a search in these words
"termination for cause"     pages that hold exactly these words
section: Manual cleaning    sections that are called so
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hybrid_core.errors import PageIndexError
from hybrid_core.llm.token_estimate import estimate
from hybrid_core.text.tokens import cached_hash, fold, tokenise
from retrievers.pages.scores import PageScores, Place
from retrievers.query.expert import Expansion
from retrievers.reason.asker import Asker
from retrievers.reason.board import Board, FoundAgain, SearchAgain

MOST = 3  # searches of one round
_LONGEST = 300  # characters of one
_PAGES = 6  # that a search shows
_LOOKED_INTO = 40  # pages in which exact words are looked for
_SECTIONS = 8
_QUOTED = re.compile(r"""^[“"«„'‘](.+)[”"»“'’]$""", re.DOTALL)
_SECTION = re.compile(r"^\s*(?:section|heading|chapter|abschnitt|kapitel)\s*:\s*(.+)$", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class SearchWish:
    """A search as a model wrote it, and how it is to be done."""

    how: Literal["words", "exact", "section"]
    text: str


def search_wish(written: str) -> SearchWish | None:
    """Return what a model asks to search for; None for nothing."""
    text = " ".join(written[: 2 * _LONGEST].split())[:_LONGEST]
    if match := _SECTION.match(text):
        named = _QUOTED.match(match[1].strip())
        return SearchWish("section", named[1].strip() if named else match[1].strip())
    if match := _QUOTED.match(text):
        return SearchWish("exact", match[1].strip())
    return SearchWish("words", text) if any(map(str.isalnum, text)) else None


class AnotherSearch:
    """Searches once more and puts what it shows on the board. ``searched`` are the wishes that were met before."""

    def __init__(self, board: Board, asker: Asker, search: SearchAgain | None) -> None:
        self._board, self._asker, self._search = board, asker, search
        self.searched: dict[SearchWish, None] = {}

    def lines(self, wish: SearchWish, listed: set[int], room: int) -> list[str]:
        """Return what a search found in at most ``room`` tokens, and add its documents to those ``listed``."""
        self.searched[wish] = None
        head = f"Search for {_named(wish)}"
        self._asker.widen(wish.text)
        try:
            found = self._found(wish)
        except PageIndexError as error:
            self._asker.step("dropped", f"{head}: {error}")
            return [f"{head} failed."]
        lines: list[str] = []
        room -= estimate(f"{head} found:") + 1
        for line, doc in found:
            header = [] if doc in listed else [self._board.document_line(doc)]
            size = sum(estimate(one) + 1 for one in (*header, line))
            if size > room:
                break
            room -= size
            listed.add(doc)
            lines += [*header, line]
        self._asker.step("searched", f"{_named(wish)}: " + (", ".join(line[:40] for line in lines) or "nothing"))
        return [f"{head} found:", *lines] if lines else [f"{head} found nothing."]

    def _found(self, wish: SearchWish) -> list[tuple[str, int]]:
        """Return lines with the numbers of their documents."""
        if self._search is None:
            return []
        again = self._search(f'"{wish.text}"' if wish.how == "exact" else wish.text)
        visits = list(again.visits[:_LOOKED_INTO])
        if wish.how == "section":
            return self._sections(wish.text, again)
        if wish.how == "exact":
            held = self._asker.texts.of([(again.pages[one.doc].content, one.page) for one in visits])
            words = _plain(wish.text)
            visits = [one for one, page in zip(visits, held, strict=True) if words and words in _plain(page.whole)]
        best = [(again.pages[one.doc], again.expansions[one.doc], one.page) for one in visits[:_PAGES]]
        places = [(self._board.add(pages, expansion), page) for pages, expansion, page in best]
        return list(zip(self._asker.passage_lines(places), (doc for doc, _ in places), strict=True))

    def _sections(self, title: str, again: FoundAgain) -> list[tuple[str, int]]:
        """Return the sections with all words of a title: those of documents on the board, then of others."""
        terms = {cached_hash(term) for term in tokenise(title)}
        documents = [*self._board.scores, *again.pages]
        found: dict[Place, None] = {}
        for pages in {one.candidate.document.doc_id: one for one in documents}.values():
            content = pages.content
            places = content.headings.occurrences(terms).pages if terms else np.zeros(0, np.int64)
            holding = np.flatnonzero(np.bincount(places, minlength=1) == len(terms)) + 1 if len(places) else ()
            starts = {int(page) for page in holding}
            if not starts:
                continue
            for at, section in enumerate(content.sections):
                if section.start_page in starts and terms <= {cached_hash(t) for t in tokenise(section.title)}:
                    found[self._board.add(pages, _expansion(again, pages)), at] = None
            if len(found) >= _SECTIONS:
                break
        shortest = sorted(found, key=lambda node: len(self._board.scores[node[0]].content.sections[node[1]].title))
        return [(self._board.section_line(node).strip(), node[0]) for node in shortest[:_SECTIONS]]


def _expansion(again: FoundAgain, pages: PageScores) -> Expansion | None:
    return next((e for one, e in zip(again.pages, again.expansions, strict=True) if one is pages), None)


def _named(wish: SearchWish) -> str:
    return {"words": wish.text, "exact": f'"{wish.text}"', "section": f"section: {wish.text}"}[wish.how]


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", " ", fold(text)).strip()
