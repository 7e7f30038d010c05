"""What expert knowledge tells a model about a question, as far as it fits the documents that it is shown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hybrid_core.text.term_counts import TermCounts
from hybrid_core.text.tokens import cached_hash, tokenise
from retrievers.documents.content import Content
from retrievers.query.expert import Expansion


def hint_lines(expansion: Expansion, contents: Sequence[Content]) -> list[str]:
    """Of roles, phrases and headings those that one of the documents has: a role among its titles, a heading's words in
    them, a phrase's words on its pages.
    """
    roles = [role.name for role in expansion.roles if any(one.titled(role.title) for one in contents)]
    phrases = [words for words in expansion.phrases if any(_together(one.body, words) for one in contents)]
    titles = [words for words in expansion.titles if any(_together(one.headings, words) for one in contents)]
    said = (
        ("Kinds of pages that such a question needs", roles),
        ("Pages may call it", phrases),
        ("Headings it may stand under", titles),
    )
    return [f"{what}: {'; '.join(words)}." for what, words in said if words]


def _together(counts: TermCounts, words: str) -> bool:
    """Whether one page holds all words."""
    terms = set(map(cached_hash, tokenise(words)))
    found = counts.occurrences(terms)
    return bool(terms) and int(np.bincount(found.pages, minlength=1).max(initial=0)) == len(terms)
