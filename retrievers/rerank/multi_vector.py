"""The best pages compared with the question token by token, where that is asked for.

Late interaction (Khattab and Zaharia 2020, "ColBERT"): slower than every other part, so only a fixed number of
pages is compared, whatever number of results is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from hybrid_core.errors import PageIndexError, UsageError
from hybrid_core.types.scoring import RerankScoring
from retrievers.documents.candidates import Valued
from retrievers.pages.page_texts import PageTexts
from retrievers.pages.tree_walk import Reached
from retrievers.rerank.raised import Raised, raised

Floats = npt.NDArray[np.float64]


def rerank(
    reached: list[Reached],
    valued: list[Valued],
    compare: Callable[[Sequence[str]], npt.NDArray[np.float32]],
    texts: PageTexts,
    scoring: RerankScoring,
) -> Raised:
    """The first ``scoring.multi_vector_pages`` pages ordered by their values and the comparison together.

    The best of them gains ``scoring.multi_vector``, the last nothing, so that none falls behind a page that was not
    compared. Raises UsageError where the embedder cannot compare; where it fails, the order stays.
    """
    best = reached[: scoring.multi_vector_pages]
    places = [(valued[one.doc].candidate.content, one.page) for one in best]
    different = list(dict.fromkeys(places))
    try:
        scores = dict(zip(different, compare([page_text for _, page_text in texts.of(different)]), strict=True))
    except UsageError:
        raise
    except PageIndexError as error:
        return Raised(reached, valued, note=f"the embedder failed, so nothing was reranked: {error}")
    if not best:
        return Raised(reached, valued)
    gains = scoring.multi_vector * _scaled(np.array([scores[place] for place in places], np.float64))
    return raised(reached, valued, gains.tolist())


def _scaled(scores: Floats) -> Floats:
    """1 for the best and 0 for the last: what tells is how far above the others a page stands."""
    width = float(np.ptp(scores))
    return np.asarray((scores - scores.min()) / width if width > 0 else np.ones(len(scores)))
