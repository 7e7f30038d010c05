"""Embedders: what each one does, and the checks that all of them share.

Texts are taken longest first, so that a batch holds texts of similar length.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar, get_args, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hybrid_core.errors import ModelError, UsageError

Kind = Literal["query", "document"]
Vectors = NDArray[np.float32]  # (n, dimension), unit rows, finite
TermWeights = dict[int, float]  # token id to positive weight
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EmbedderId:
    """Which embedder made a vector. Vectors may be compared where the fingerprints are equal.

    ``fingerprint`` is 16 hexadecimal digits over whatever decides the vectors: the content of the model's
    files (else its name), what is put before or cut off a text, the dimension. The place of a model's
    folder, the device and the batch size are not in it.
    """

    name: str  # "hashed:256", "sentence-transformers:NAME_OR_PATH", "openai:MODEL@https://host/v1"
    dimension: int
    fingerprint: str


class Embedder(Protocol):
    """Texts become vectors whose inner product is their similarity. Several threads may use one."""

    @property
    def id(self) -> EmbedderId:
        """What made the vectors. The first access may call a remote model, to learn its dimension."""
        ...

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """float32 (n, dimension), unit rows, finite, in the order of the texts; no texts: (0, dimension).

        A blank text gets the vector of a single space; a text over the model's limit is cut at its end.
        Raises ModelError where the model fails or answers with anything but such vectors, and UsageError
        after ``close``.
        """
        ...

    def close(self) -> None:
        """Let go of the model or the connection; calls that wait to try again stop. May be called twice."""
        ...


@runtime_checkable
class SparseEmbedder(Protocol):
    """An embedder that also weights terms, as BGE-M3 learned to."""

    def embed_both(self, texts: Sequence[str], kind: Kind) -> tuple[Vectors, list[TermWeights]]:
        """What ``embed`` gives, and from the same pass of the model each text's weights, {} where no token counts.

        Two texts' score is the inner product of their weights. Raises what ``embed`` raises.
        """
        ...


@runtime_checkable
class MultiVectorEmbedder(Protocol):
    """An embedder that also compares texts token by token (ColBERT's late interaction)."""

    def colbert_scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32 (n,), at most 1, higher is better: the mean over the query's tokens of their best match."""
        ...


def checked_texts(texts: Sequence[str], kind: Kind = "document") -> list[str]:
    """The texts as models can take them: blank ones a single space, halves of surrogate pairs replaced.

    Raises UsageError for a single string, for anything else that is no string, and for an unknown kind.
    """
    if kind not in get_args(Kind):
        raise UsageError(f"kind is '{kind}'.", "Choose query or document.")
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise UsageError("Texts to embed must be a list of strings.")
    return [text.encode("utf-8", "replace").decode("utf-8") if text.strip() else " " for text in texts]


def in_batches(
    texts: Sequence[str], size: int, call: Callable[[list[str]], Sequence[T]], characters: int | None = None
) -> list[T]:
    """What ``call`` makes of each text, in the order of the texts.

    It is called with at most ``size`` texts (and, with ``characters``, at most so many characters, or one
    text), longest first: a lack of memory shows at once. Raises ModelError where it returns another count.
    """
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]), reverse=True)
    results: list[T | None] = [None] * len(texts)
    start = 0
    while start < len(order):
        longest = max(len(texts[order[start]]), 1)
        count = size if characters is None else max(1, min(size, characters // longest))
        chosen = order[start : start + count]
        made = call([texts[i] for i in chosen])
        if len(made) != len(chosen):
            raise ModelError(f"The model answered {len(chosen)} texts with {len(made)} vectors.", _BAD_ANSWER)
        for i, result in zip(chosen, made, strict=True):
            results[i] = result
        start += count
    return results  # type: ignore[return-value]  # every text was in one batch


_BAD_ANSWER = "Choose another model, or look for a fault in this one's files or server."


def unit_rows(rows: Sequence[Any], model: str, dimension: int | None = None) -> Vectors:
    """Rows of numbers as float32 (n, dimension) of length 1.

    Raises ModelError, naming the text's position, for a row that is not numeric, not finite, zero, or not
    of the dimension (where none is given: of the first row's).
    """
    width = dimension if dimension is not None else len(rows[0]) if rows else 0
    vectors = np.empty((len(rows), width), np.float64)
    for i, row in enumerate(rows):
        try:
            vector = np.asarray(row, np.float64)
        except (TypeError, ValueError) as error:
            raise _bad_row(model, i, len(rows), "is not a list of numbers") from error
        if vector.shape != (width,):
            raise _bad_row(model, i, len(rows), f"has shape {vector.shape}, not ({width},)")
        vectors[i] = vector
    for bad, what in (
        (~np.isfinite(vectors).all(axis=1), "holds NaN or infinity"),
        (~vectors.any(axis=1), "is zero"),
    ):
        if bad.any():
            raise _bad_row(model, int(np.flatnonzero(bad)[0]), len(rows), what)
    if width:
        vectors /= np.abs(vectors).max(axis=1, keepdims=True)  # so that squares neither overflow nor vanish
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float32)


def _bad_row(model: str, index: int, count: int, what: str) -> ModelError:
    return ModelError(f"{model}: the vector of text {index + 1} of {count} {what}.", _BAD_ANSWER)


def fingerprint(*parts: object) -> str:
    """16 hexadecimal digits that depend on every part."""
    return hashlib.sha256("\x00".join(map(str, parts)).encode("utf-8", "replace")).hexdigest()[:16]
