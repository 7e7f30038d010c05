"""The best pages compared with the question token by token, where that is asked for.

Late interaction (Khattab and Zaharia 2020, "ColBERT"): slower than every other part, so only a fixed number of
pages is compared, whatever number of results is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from hybrid_core.types.scoring import RerankScoring
from retrievers.pages.page_texts import PageTexts
from retrievers.pages.scores import PageScores, PageVisit, Place

Floats = npt.NDArray[np.float64]


def multi_vector_gains(
    visits: Sequence[PageVisit],
    scores: Sequence[PageScores],
    compare: Callable[[Sequence[str]], npt.NDArray[np.float32]],
    texts: PageTexts,
    scoring: RerankScoring,
) -> dict[Place, float]:
    """What the first ``scoring.multi_vector_pages`` pages gain: the best of them ``scoring.multi_vector``, the last
    nothing, so that none falls behind a page that was not compared. Raises what the embedder raises.
    """
    places = [(one.doc, one.page) for one in visits[: scoring.multi_vector_pages]]
    held = [(scores[doc].content, page) for doc, page in places]
    different = list(dict.fromkeys(held))
    found = dict(zip(different, compare([page.text for page in texts.of(different)]), strict=True))
    if not places:
        return {}
    gains = scoring.multi_vector * _scaled(np.array([found[one] for one in held], np.float64))
    return dict(zip(places, gains.tolist(), strict=True))


def _scaled(scores: Floats) -> Floats:
    """1 for the best and 0 for the last: what tells is how far above the others a page stands."""
    width = float(np.ptp(scores))
    return np.asarray((scores - scores.min()) / width if width > 0 else np.ones(len(scores)))
