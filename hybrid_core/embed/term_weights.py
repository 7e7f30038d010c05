"""What BGE-M3's heads give, however it is run: weights of terms, and scores token by token."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from hybrid_core.embed.embedder import TermWeights
from hybrid_core.errors import ModelError

_FAULT = "Look for a fault in the model's files."


def heaviest(ids: Sequence[int], weights: NDArray[np.float32], ignored: Collection[int]) -> TermWeights:
    """The greatest positive weight of each token of one text."""
    if not np.isfinite(weights).all():
        raise ModelError("BGE-M3 weighted a token with NaN or infinity.", _FAULT)
    found: TermWeights = {}
    for token, weight in zip(ids, weights.tolist(), strict=True):
        if weight > 0 and token not in ignored:
            found[token] = max(weight, found.get(token, 0.0))
    return found


def checked_scores(made: Sequence[float], name: str) -> NDArray[np.float32]:
    """Raises ModelError for one that is not a number, naming its text."""
    scores = np.array(made, np.float32)
    if not np.isfinite(scores).all():
        position = int(np.flatnonzero(~np.isfinite(scores))[0]) + 1
        raise ModelError(f"{name}: the score of text {position} of {len(scores)} is not a number.", _FAULT)
    return scores
