"""Choose the text of each numbered source of an answer within a token budget, and the pages that are sent as images."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from hybrid_core.llm.budget import cut, estimate
from hybrid_core.types.answers import Source
from hybrid_core.types.locators import Box
from hybrid_core.types.results import PageFound
from retrievers.explain.passages import PassageTerms, excerpt
from retrievers.query.question import read_question

_BEST_LINES_TOKENS = 150  # tokens of a page's best lines that are kept if the page does not fit
_CAPS = (750, 450)  # maximum tokens of the best long pages that the model did not request
_CAP = 250  # maximum tokens of the other long pages
_KEPT_SHARE = 0.5  # maximum share of all tokens for best lines


def sources(
    question: str, pages: Sequence[PageFound], texts: Sequence[str], budget: int, asked_for: Collection[int] = (),
    going_on: Collection[int] = (),
) -> list[Source]:  # fmt: skip
    """Return pages as sources for an answer, numbered from 1, each with an excerpt of its text.

    All sources together have at most ``budget`` estimated tokens. ``asked_for`` and ``going_on`` contain source
    numbers. Pages in ``asked_for`` are sent completely. Pages in ``going_on`` continue the page before, so their
    beginning is kept.
    """
    parsed = read_question(question)
    numbered = []
    for number, (page, text, tokens) in enumerate(
        zip(pages, texts, _shares(pages, texts, budget, asked_for), strict=True), 1
    ):
        terms = PassageTerms(page.receipt.terms).naming(parsed.terms)
        shown = excerpt(text, terms, tokens, numeric=parsed.numeric) if tokens else ""
        if number in going_on and number not in asked_for:
            shown = cut(text, tokens)
        numbered.append(
            Source(
                number, page.doc_id, page.doc_name, page.page, page.label, page.section.path, shown, page.snippet,
                cut=len(shown) < len(text), short_path=page.short_path, library=page.library,
                place=page.place,
            )
        )  # fmt: skip
    return numbered


def _shares(pages: Sequence[PageFound], texts: Sequence[str], budget: int, asked_for: Collection[int]) -> list[int]:
    """Divide ``budget`` tokens among the pages, and return the tokens of each.

    Every page first gets tokens for its best lines. The rest completes pages in order of relevance.
    """
    sizes = [estimate(text) for text in texts]
    order = sorted(range(len(pages)), key=lambda at: (at + 1 not in asked_for, pages[at].receipt.reasoning is None))
    long = [at for at in order if at + 1 not in asked_for]
    for at, cap in zip_longest(long, _CAPS[: len(long)], fillvalue=_CAP):
        sizes[at] = min(sizes[at], cap)
    if sum(sizes) <= budget:
        return sizes
    tokens = [0] * len(pages)
    reserve = int(_KEPT_SHARE * budget)
    for at in order:
        tokens[at] = min(sizes[at], _BEST_LINES_TOKENS, reserve)
        reserve -= tokens[at]
    left = budget - sum(tokens)
    for at in order:
        more = min(sizes[at] - tokens[at], left)
        tokens[at] += more
        left -= more
    return tokens


_SHARE = 0.7  # minimum score of a page in another document, as a share of the best


def near(pages: Sequence[PageFound]) -> tuple[PageFound, ...]:
    """Return the pages without low-scoring pages of other documents than the first page's.

    A score is low if it is far below the best one. Pages that the question or a model named are always returned.
    """
    if not pages:
        return ()
    best = max(page.score - (page.receipt.reasoning or 0.0) for page in pages)
    first = pages[0].doc_id
    return tuple(
        page
        for page in pages
        if page.doc_id == first or page.receipt.reasoning is not None or page.score >= _SHARE * best
    )


MOST = 3  # maximum pictures for a question unless vision is "always"
_WHOLE = 0.6  # share of the page from which figures are shown with the whole page
_AROUND = 36.0  # points around figures, with their captions and axis labels
_MATTERS = 0.04  # share of a page from which figures are more than ornaments
_TOGETHER = 4  # maximum slides in one picture, still readable at half size
_MARKS = 2  # curves and bars from which a page has more than a rule


@dataclass(frozen=True, slots=True)
class Showing:
    """The figures of a page of ``width`` by ``height`` points.

    ``figures`` are the boxes of pictures, drawings and tables without text. ``marks`` are the boxes of curves and bars,
    which may form a chart. ``scan`` is True if the page's text came from OCR or is missing.
    """

    width: float
    height: float
    figures: tuple[Box, ...] = ()
    scan: bool = False
    marks: tuple[Box, ...] = ()

    @property
    def share(self) -> float:
        """Return the share of the page area that is covered by figures, 0 to 1."""
        whole = max(1.0, self.width * self.height)
        return min(1.0, sum((x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in self.figures) / whole)

    @property
    def unread(self) -> bool:
        """Return whether the page shows content, such as a chart, that is missing from its text."""
        return self.scan or self.share >= _MATTERS or len(self.marks) >= _MARKS

    @property
    def slide(self) -> bool:
        """Return whether the page is wider than high, as slides are."""
        return self.width > self.height and self.clip is None

    @property
    def clip(self) -> Box | None:
        """Return the box around all figures, or None if the whole page should be sent as an image."""
        if self.scan or self.share < _MATTERS:
            return None
        lefts, tops, rights, bottoms = zip(*self.figures, *self.marks, strict=True)
        box = (
            max(0.0, min(lefts) - _AROUND), max(0.0, min(tops) - _AROUND),
            min(self.width, max(rights) + _AROUND), min(self.height, max(bottoms) + _AROUND),
        )  # fmt: skip
        part = (box[2] - box[0]) * (box[3] - box[1])
        return box if part < _WHOLE * self.width * self.height else None


def pictured(pages: Sequence[Showing | None], documents: Sequence[str], pictures: int) -> list[tuple[int, ...]]:
    """Return the pages to send as images: for each image the positions of its pages (from 0).

    There are at most ``pictures`` images. The first pages with figures that their text lacks are chosen. The last image
    may combine several slides of one document.
    """
    unread = [at for at, page in enumerate(pages) if page is not None and page.unread]
    alone, left = unread[:pictures], unread[pictures:]
    if not left:
        return [(at,) for at in alone]

    def slide_of(at: int) -> str:
        page = pages[at]
        return documents[at] if page is not None and page.slide else ""

    last = alone[-1] if alone else -1
    neighbours = [at for at in left if last >= 0 and slide_of(at) and slide_of(at) == slide_of(last)]
    return [*((at,) for at in alone[:-1]), (last, *neighbours[: _TOGETHER - 1])] if alone else []
