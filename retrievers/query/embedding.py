"""What an embedder makes of a question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, eq=False)
class QuestionEmbedding:
    """What an embedder makes of a question. ``vector`` is float32 (dim,) of unit length, None where it does not count.

    ``learned`` are term weights by token, from an embedder that gives them. ``share`` is the share of the searched
    pages that are embedded, ``unembedded`` the ids of the searched documents that are not; ``note`` says where and why
    meaning does not count although the library has an embedder.
    ``compare`` is there where the best pages are to be compared token by token: it gives texts scores as float32
    (n,), higher is better, and raises what an embedder raises.
    """

    share: float = 0.0
    vector: npt.NDArray[np.float32] | None = None
    note: str = ""
    learned: Mapping[int, float] = field(default_factory=dict)
    unembedded: Set[str] = frozenset()
    compare: Callable[[Sequence[str]], npt.NDArray[np.float32]] | None = None

    @property
    def over_all(self) -> bool:
        """Whether documents can be compared by meaning: all of them have vectors."""
        return self.vector is not None and not self.unembedded
