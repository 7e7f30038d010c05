"""Vectors of an exported library: taken over where the embedder here is the one that made them."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from struct import Struct
from typing import IO, Any

import numpy as np

from hybrid_core.errors import DocumentError, PageIndexError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.embeddings import Embeddings, Vector
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.store.catalog.texts import content_texts
from hybrid_core.types.documents import StoredEmbedder
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.services.embedding import Embedders

VECTORS = "vectors.bin"
"""Records one after the other: the key of a text (16 bytes), how many term weights there are (4), the vector in half
precision, the weights as in the catalog.
"""
_HEAD = Struct("<16sI")
_AT_ONCE = 500
_MOST_WEIGHTS = 100_000


def write_vectors(catalog: Catalog, library: str, bundle: zipfile.ZipFile) -> dict[str, Any] | None:
    """What the manifest says of them; None where the library (an id) has none."""
    with catalog.snapshot() as snapshot:
        embedder, _ = snapshot.embedder(library)
        contents = list(snapshot.published_versions(library)) if embedder else []
    if embedder is None:
        return None
    count, written = 0, set[str]()
    with bundle.open(VECTORS, "w", force_zip64=True) as target:
        for content in contents:
            with catalog.snapshot() as snapshot:
                texts = content_texts(snapshot, content, chunks=True)
                keys = [key for key in dict.fromkeys(text.key for text in texts) if key not in written]
                for record in _records(snapshot, embedder.fingerprint, keys):
                    target.write(record)
                    count += 1
            written.update(keys)
    return {
        "name": embedder.name, "fingerprint": embedder.fingerprint, "dimension": embedder.dimension,
        "sparse": embedder.sparse, "count": count,
    }  # fmt: skip


def _records(snapshot: Snapshot, fingerprint: str, keys: Sequence[str]) -> Iterator[bytes]:
    vectors, weights = snapshot.vectors(fingerprint, keys), snapshot.weights(fingerprint, keys)
    for key, vector in vectors.items():
        terms, values = weights.get(key, ((), ()))
        weighted = np.asarray(terms, "<u4").tobytes() + np.asarray(values, "<f2").tobytes()
        yield _HEAD.pack(bytes.fromhex(key), len(terms)) + vector.astype("<f2").tobytes() + weighted


def matching(embedders: Embedders, settings: Settings, said: Mapping[str, Any]) -> StoredEmbedder:
    """The embedder here that made the vectors: the one that the settings name. What a file names is never loaded: it
    may be anywhere. Raises DocumentError with the reason where there is none.
    """
    named, made = settings.embedding_model, str(said.get("fingerprint", ""))
    was = f"its vectors are of {str(said.get('name', '?'))[:200]}"
    if not named or named == "none":
        raise DocumentError(f"{was}, and no embedder is configured here (embedding_model): embed it to have its own")
    try:
        here = embedders.load(named)
        found = here.id
    except PageIndexError as error:
        raise DocumentError(f"{was}, and {named} cannot be loaded here: {error}") from error
    if found.fingerprint != made or said.get("dimension") != found.dimension:
        raise DocumentError(f"{was}, and {named} here is another: embed it to have its own")
    return StoredEmbedder(found.fingerprint, named, found.dimension, said.get("sparse") is True)


def take_vectors(catalog: Catalog, library: str, embedder: StoredEmbedder, bundle: zipfile.ZipFile) -> int:
    """How many were kept for a new library (an id), which is embedded with them as it is indexed. Raises ValueError
    for a record that is none, and what a damaged archive raises.
    """
    target, count = Embeddings(catalog, library, embedder), 0
    target.begin()
    with bundle.open(VECTORS) as source:
        records = _read(source, embedder.dimension)
        while some := list(islice(records, _AT_ONCE)):
            vectors = {key: vector for key, vector, _ in some}
            target.put(vectors, {key: terms for key, _, terms in some} if embedder.sparse else None)
            count += len(vectors)
    return count


def _read(source: IO[bytes], dimension: int) -> Iterator[tuple[str, Vector, dict[int, float]]]:
    while head := source.read(_HEAD.size):
        key, terms = _HEAD.unpack(_whole(head, _HEAD.size))
        if terms > _MOST_WEIGHTS:
            raise ValueError("too many term weights")
        vector = np.frombuffer(_whole(source.read(2 * dimension), 2 * dimension), "<f2").astype(np.float32)
        if not np.isfinite(vector).all() or not 0.9 < float(np.linalg.norm(vector)) < 1.1:
            raise ValueError("no unit vector")
        numbers = np.frombuffer(_whole(source.read(4 * terms), 4 * terms), "<u4")
        values = np.frombuffer(_whole(source.read(2 * terms), 2 * terms), "<f2")
        if not (np.isfinite(values).all() and (values > 0).all()):
            raise ValueError("no term weight")
        yield key.hex(), vector, dict(zip(numbers.tolist(), values.astype(float).tolist(), strict=True))


def _whole(read: bytes, size: int) -> bytes:
    if len(read) != size:
        raise ValueError("cut off")
    return read
