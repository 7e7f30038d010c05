"""The pages that were found as numbered sources, within a number of tokens."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import zip_longest

from hybrid_core.llm.token_estimate import cut, estimate
from hybrid_core.types.answers import Source
from hybrid_core.types.results import PageFound
from retrievers.pages import snippet
from retrievers.pages.windows import PassageTerms
from retrievers.query.question import read_question

_KEPT = 150  # tokens of a page's best lines that stay where there is no room for all of it
_CAPS = (750, 450)  # tokens of a long page that nobody asked for: the best ones'
_CAP = 250  # and the others'
_KEPT_SHARE = 0.5  # of all tokens at most, for these


def sources(
    question: str, found: Sequence[PageFound], texts: Sequence[str], budget: int, asked_for: Collection[int] = (),
    going_on: Collection[int] = (),
) -> list[Source]:  # fmt: skip
    """Pages numbered from 1 in their order; ``texts`` are their full texts.

    Together they have at most ``budget`` tokens by estimate. Pages ``asked_for`` by their numbers are whole; of those
    ``going_on`` from the page before the beginning is given. Of long
    pages that are not, the lines that match best are kept: most of those that a model named and then of the best, of
    the last ones nothing where even for these there is no room.
    """
    asked = read_question(question)
    numbered = []
    for number, (page, text, tokens) in enumerate(
        zip(found, texts, _shares(found, texts, budget, asked_for), strict=True), 1
    ):
        terms = PassageTerms(page.receipt.terms).naming(asked.terms)
        shown = snippet.excerpt(text, terms, tokens, numeric=asked.numeric) if tokens else ""
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


def _shares(found: Sequence[PageFound], texts: Sequence[str], budget: int, asked_for: Collection[int]) -> list[int]:
    """The tokens of each page: what its best lines need, and in the order of their worth what is left for all of it."""
    wanted = [estimate(text) for text in texts]
    order = sorted(range(len(found)), key=lambda at: (at + 1 not in asked_for, found[at].receipt.reasoning is None))
    long = [at for at in order if at + 1 not in asked_for]
    for at, most in zip_longest(long, _CAPS[: len(long)], fillvalue=_CAP):
        wanted[at] = min(wanted[at], most)
    if sum(wanted) <= budget:
        return wanted
    given = [0] * len(found)
    kept = int(_KEPT_SHARE * budget)
    for at in order:
        given[at] = min(wanted[at], _KEPT, kept)
        kept -= given[at]
    left = budget - sum(given)
    for at in order:
        more = min(wanted[at] - given[at], left)
        given[at] += more
        left -= more
    return given
