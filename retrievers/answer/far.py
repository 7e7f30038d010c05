"""Sources far behind the best are left out: they fill up a prompt, and are of other documents."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_core.types.results import PageFound

_SHARE = 0.7  # of the best score, below which a page of another document is left out


def near(found: Sequence[PageFound]) -> tuple[PageFound, ...]:
    """The pages without those of other documents than the best one's whose score is far behind it. What a model named,
    or the question means, stays.
    """
    if not found:
        return ()
    best = max(page.score - (page.receipt.reasoning or 0.0) for page in found)
    first = found[0].doc_id
    return tuple(
        page
        for page in found
        if page.doc_id == first or page.receipt.reasoning is not None or page.score >= _SHARE * best
    )
