"""A part of a set's questions that keeps its kinds in proportion."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence

from eval.records.questions import EvalQuestion
from hybrid_core.errors import UsageError


def sample(questions: Sequence[EvalQuestion], size: int, seed: int = 0) -> tuple[EvalQuestion, ...]:
    """``size`` questions, each kind with its share of them (largest remainder), in their order.

    Which ones is decided by a hash of seed and id: the same for every order of the set, and a question that is added
    displaces at most one. All of them where ``size`` is not smaller. Raises UsageError for a size below 1.
    """
    if size < 1:
        raise UsageError(f"A sample of {size} questions measures nothing.", "Ask for at least one.")
    strata: dict[str, list[EvalQuestion]] = defaultdict(list)
    for question in questions:
        strata[question.kind].append(question)
    shares = _shares({kind: len(members) for kind, members in strata.items()}, min(size, len(questions)))
    chosen = set()
    for kind, members in strata.items():
        ranked = sorted(members, key=lambda question: _draw(seed, question.id))
        chosen |= {question.id for question in ranked[: shares[kind]]}
    return tuple(question for question in questions if question.id in chosen)


def _shares(counts: dict[str, int], size: int) -> dict[str, int]:
    """How many of each kind; what whole shares leave goes to the largest remainders, then to the larger kind."""
    total = sum(counts.values())
    shares = {kind: size * count // total for kind, count in counts.items()}
    by_remainder = sorted(counts, key=lambda kind: (-(size * counts[kind] % total), -counts[kind], kind))
    for kind in by_remainder[: size - sum(shares.values())]:
        shares[kind] += 1
    return shares


def _draw(seed: int, question: str) -> bytes:
    return hashlib.sha256(f"{seed}/{question}".encode()).digest()
