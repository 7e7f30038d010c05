"""The protocols of embedders, and checks that all of them share.

Texts are embedded longest first, so that the texts of a batch have similar lengths.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar, get_args, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hybrid_core.errors import ModelError, UsageError

Kind = Literal["query", "document"]
Vectors = NDArray[np.float32]  # (n, dimension), unit rows, finite
TermWeights = dict[int, float]  # token id to positive weight
T = TypeVar("T")

_BAD_ANSWER = "Check the files or the server of this model, or choose another model."

_FAULT = "Check the files of the model."


@dataclass(frozen=True, slots=True)
class EmbedderId:
    """The identity of an embedder. Vectors of embedders with equal fingerprints are comparable.

    ``fingerprint`` is a hash (16 hexadecimal digits) of everything that determines the vectors: the content of the
    model's files or, without files, its name; prefixes and limits of texts; the dimension. It does not depend on the
    model's folder, the device and the batch size.
    """

    name: str  # "hashed:256", "sentence-transformers:NAME_OR_PATH", "openai:MODEL@https://host/v1"
    dimension: int
    fingerprint: str


class Embedder(Protocol):
    """A model that turns texts into vectors. The inner product of two vectors is their similarity.

    Several threads may use it.
    """

    @property
    def id(self) -> EmbedderId:
        """Return the embedder's identity. The first access may call a remote model to learn the dimension."""
        ...

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Return the vectors of texts as float32 (n, dimension), in the order of the texts.

        Each row has length 1 and is finite. Without texts the shape is (0, dimension). A blank text gets the vector of
        a single space. A text over the model's limit is cut at its end. Raise ModelError if the model fails or returns
        invalid vectors, and UsageError after ``close``.
        """
        ...

    def close(self) -> None:
        """Release the model or the connection; calls that wait for a retry stop. May be called twice."""
        ...


@runtime_checkable
class SparseEmbedder(Protocol):
    """An embedder that also computes learned term weights, like BGE-M3."""

    def embed_both(self, texts: Sequence[str], kind: Kind) -> tuple[Vectors, list[TermWeights]]:
        """Return the vectors of ``embed`` and each text's term weights ({} if none) from one pass of the model.

        The score of two texts is the inner product of their weights. Raise the same errors as ``embed``.
        """
        ...


@runtime_checkable
class MultiVectorEmbedder(Protocol):
    """An embedder that also compares texts token by token (ColBERT's late interaction)."""

    def colbert_scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the similarity of each of n texts to a query as float32 (n,), at most 1; higher is more similar.

        For each token of the query, the similarity of the most similar token of the text counts. The score is the mean
        over the query's tokens.
        """
        ...


def checked_texts(texts: Sequence[str], kind: Kind = "document") -> list[str]:
    """Return the texts in a form that models accept: " " for a blank text, "?" for an unpaired surrogate.

    Raise UsageError for a single string, for an element that is not a string, and for an unknown kind.
    """
    if kind not in get_args(Kind):
        raise UsageError(f"The parameter kind of an embedder is '{kind}'.", "Set kind to query or document.")
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise UsageError("The texts to embed are not a list of strings.")
    return [text.encode("utf-8", "replace").decode("utf-8") if text.strip() else " " for text in texts]


def in_batches(
    texts: Sequence[str], size: int, call: Callable[[list[str]], Sequence[T]], characters: int | None = None
) -> list[T]:
    """Pass the texts to ``call`` in batches. Return one result per text, in the order of the texts.

    A batch has at most ``size`` texts and ``characters`` characters, but always at least one text. The longest texts
    come first, so that a lack of memory shows at once. Raise ModelError if a call returns too few or too many results.
    """
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]), reverse=True)
    results: list[T | None] = [None] * len(texts)
    start = 0
    while start < len(order):
        longest = max(len(texts[order[start]]), 1)
        count = size if characters is None else max(1, min(size, characters // longest))
        batch = order[start : start + count]
        results_of_batch = call([texts[i] for i in batch])
        if len(results_of_batch) != len(batch):
            raise ModelError(f"The model returned {len(results_of_batch)} vectors for {len(batch)} texts.", _BAD_ANSWER)
        for i, result in zip(batch, results_of_batch, strict=True):
            results[i] = result
        start += count
    return results  # type: ignore[return-value]  # every text was in one batch


def unit_rows(rows: Sequence[Any], model: str, dimension: int | None = None) -> Vectors:
    """Return rows of numbers as float32 (n, dimension), each scaled to length 1.

    Raise ModelError with the text's position for a row that is not numeric, not finite, zero, or of another dimension
    (by default the first row's).
    """
    width = dimension if dimension is not None else len(rows[0]) if rows else 0
    vectors = np.empty((len(rows), width), np.float64)
    for i, row in enumerate(rows):
        try:
            vector = np.asarray(row, np.float64)
        except (TypeError, ValueError) as error:
            raise _bad_row(model, i, len(rows), "is not a list of numbers") from error
        if vector.shape != (width,):
            raise _bad_row(model, i, len(rows), f"has the shape {vector.shape} instead of ({width},)")
        vectors[i] = vector
    for bad, what in (
        (~np.isfinite(vectors).all(axis=1), "holds NaN or infinity"),
        (~vectors.any(axis=1), "is zero"),
    ):
        if bad.any():
            raise _bad_row(model, int(np.flatnonzero(bad)[0]), len(rows), what)
    if width:
        vectors /= np.abs(vectors).max(axis=1, keepdims=True)  # so that squares neither overflow nor underflow
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float32)


def _bad_row(model: str, index: int, count: int, what: str) -> ModelError:
    return ModelError(f"{model}: the vector of text {index + 1} of {count} {what}.", _BAD_ANSWER)


def fingerprint(*parts: object) -> str:
    """Return a hash of all ``parts`` as 16 hexadecimal digits."""
    return hashlib.sha256("\x00".join(map(str, parts)).encode("utf-8", "replace")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Exportable:
    """A loaded model, ready to be exported.

    ``forward`` takes tensors by the tokenizer's names and returns a tensor for each of ``outputs``, in order. ``limit``
    is the maximum number of tokens of a text.
    """

    forward: Callable[[dict[str, Any]], tuple[Any, ...]]
    module: Any  # the module with the weights that ``forward`` uses
    outputs: tuple[str, ...]
    tokenizer: Any
    config: Any
    limit: int
    prompts: Mapping[str, str]


@runtime_checkable
class Exporting(Protocol):
    """An embedder whose model runs in this process with PyTorch, so that it can be exported."""

    def exportable(self) -> Exportable: ...


def heaviest(ids: Sequence[int], weights: NDArray[np.float32], ignored: Collection[int]) -> TermWeights:
    """Return, by token id, the highest weight of each token in a text. ``ids`` and ``weights`` belong together.

    Tokens in ``ignored`` and weights of 0 or less are left out. Raise ModelError for NaN or infinity.
    """
    if not np.isfinite(weights).all():
        raise ModelError("BGE-M3 returned a token weight that is NaN or infinite.", _FAULT)
    weights_by_token: TermWeights = {}
    for token, weight in zip(ids, weights.tolist(), strict=True):
        if weight > 0 and token not in ignored:
            weights_by_token[token] = max(weight, weights_by_token.get(token, 0.0))
    return weights_by_token


def checked_scores(values: Sequence[float], name: str) -> NDArray[np.float32]:
    """Return scores as an array. Raise ModelError, with the position of the text, for NaN or infinity."""
    scores = np.array(values, np.float32)
    if not np.isfinite(scores).all():
        position = int(np.flatnonzero(~np.isfinite(scores))[0]) + 1
        raise ModelError(f"{name}: the score of text {position} of {len(scores)} is not a number.", _FAULT)
    return scores
