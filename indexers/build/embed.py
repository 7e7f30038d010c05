"""Vectors for a library whose text is indexed already: follows ``index``, never in its way, and can be resumed.

Pages come first, by a short text each, and serve document by document. Chunks follow as a pass of their own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hybrid_core.embed.embedder import Embedder, SparseEmbedder
from hybrid_core.errors import Cancelled, DamageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.embeddings import Embeddings
from hybrid_core.store.catalog.texts import content_texts
from hybrid_core.types.documents import StoredEmbedder

_TEXTS_AT_ONCE = 128  # kept together: what a kill can cost


@dataclass(frozen=True, slots=True)
class EmbedProgress:
    documents: int
    documents_done: int
    texts: int  # an estimate until the last document is read: blank chunks are not counted out
    texts_done: int


@dataclass(frozen=True, slots=True)
class EmbedReport:
    """``reused`` vectors were there already: the same text in another document, another version, or before a stop.

    ``serving`` is whether searches now use this embedder.
    """

    embedder: str
    dimension: int
    documents: int
    vectors: int
    reused: int
    seconds: float
    serving: bool


def embed_library(
    catalog: Catalog,
    library: str,
    embedder: Embedder,
    on_progress: Callable[[EmbedProgress], None] = lambda _: None,
    cancelled: threading.Event | None = None,
    *,
    chunks: bool = False,
) -> EmbedReport:
    """Embed the pages of every published document of a library where that is not done yet; with ``chunks`` the chunks
    of those whose pages are.

    Raises what the embedder raises (ModelError), and Cancelled once ``cancelled`` is set; what was made
    until then is kept, and the next call goes on from there. A document
    whose stored reading is damaged is left out; DamageError is raised once all others are done.
    """
    began = time.monotonic()
    sparse = isinstance(embedder, SparseEmbedder)
    known = StoredEmbedder(embedder.id.fingerprint, embedder.id.name, embedder.id.dimension, sparse)
    target = Embeddings(catalog, library, known)
    target.begin()
    with catalog.snapshot() as snapshot:
        done = snapshot.embedded(known.fingerprint, chunks=chunks)
        among = list(snapshot.published(library).values())
        if chunks:
            paged = snapshot.embedded(known.fingerprint)
            among = [content for content in among if content in paged]
        waiting = list(dict.fromkeys(content for content in among if content not in done))
        expected = sum(snapshot.text_count(content, chunks) for content in waiting)
    texts_done = made = 0
    damaged: list[DamageError] = []
    for number, content_id in enumerate(waiting):
        try:
            with catalog.snapshot() as snapshot:
                texts = content_texts(snapshot, content_id, chunks=chunks)
        except DamageError as error:
            damaged.append(error)
            continue
        wanted = [text for text in texts if text.chunk] if chunks else texts
        by_key = {text.key: text.text for text in wanted}
        missing = target.missing(list(by_key))
        missing.sort(key=lambda key: len(by_key[key]))  # alike in length, so that little of a batch is padding
        texts_done += len(wanted) - len(missing)
        for start in range(0, len(missing), _TEXTS_AT_ONCE):
            if cancelled is not None and cancelled.is_set():
                raise Cancelled(
                    f"Embedding was stopped; {number} of {len(waiting)} documents are done.",
                    "Run embed again to go on from there.",
                )
            on_progress(EmbedProgress(len(waiting), number, max(expected, texts_done), texts_done))
            some = missing[start : start + _TEXTS_AT_ONCE]
            _embed(embedder, target, {key: by_key[key] for key in some})
            texts_done += len(some)
            made += len(some)
        target.complete(content_id, len(texts), chunks=chunks)
    on_progress(EmbedProgress(len(waiting), len(waiting), texts_done, texts_done))
    serving = target.finish()
    if damaged:
        message = f"{len(damaged)} of {len(waiting)} documents cannot be embedded, the others are: {damaged[0].message}"
        raise DamageError(message, damaged[0].advice) from damaged[0]
    seconds = round(time.monotonic() - began, 2)
    return EmbedReport(known.name, known.dimension, len(waiting), made, texts_done - made, seconds, serving)


def _embed(embedder: Embedder, target: Embeddings, texts: Mapping[str, str]) -> None:
    """Embed and keep texts by their keys, with term weights where the embedder gives them."""
    if isinstance(embedder, SparseEmbedder):
        vectors, weights = embedder.embed_both(list(texts.values()), "document")
        target.put(dict(zip(texts, vectors, strict=True)), dict(zip(texts, weights, strict=True)))
    else:
        target.put(dict(zip(texts, embedder.embed(list(texts.values()), "document"), strict=True)))
