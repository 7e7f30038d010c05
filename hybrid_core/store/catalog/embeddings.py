"""Vectors in the catalog, by a key of the embedded text.

A document counts as embedded when all its texts have vectors. A library switches to a new embedder when all its
documents have vectors of that embedder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, func, select, update

from hybrid_core.embed.texts import EmbeddingText, chunk_texts, page_texts
from hybrid_core.errors import ModelError
from hybrid_core.store.catalog import rows, schema
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.documents import Changed, log_changes
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.store.tables import insert_into
from hybrid_core.types.documents import StoredEmbedder

Vector = npt.NDArray[np.float32]


class Embeddings:
    """Writer of the vectors of one embedder for one library. They are read through ``Snapshot``."""

    def __init__(self, catalog: Catalog, library: str, embedder: StoredEmbedder) -> None:
        self._catalog, self._library, self.embedder = catalog, library, embedder

    def begin(self) -> None:
        """Record that vectors of this embedder are being computed.

        If the library has no other embedder, searches use its vectors at once, document by document. If it has one,
        searches use the older embedder until ``finish``.
        """
        new = self.embedder
        with self._catalog.writing() as connection:
            connection.execute(
                insert_into(connection, schema.embedders)
                .values(fingerprint=new.fingerprint, name=new.name, dimension=new.dimension, sparse=new.sparse)
                .on_conflict_do_nothing()
            )
            serving = self._serving(connection)
            if serving is None:
                self._set(connection, embedder=new.fingerprint, next_embedder=None)
            else:
                pending = None if serving == new.fingerprint else new.fingerprint
                self._set(connection, next_embedder=pending)

    def missing(self, keys: Sequence[str]) -> list[str]:
        """Return the text keys that have no vector of this embedder yet, in order, without repeats."""
        with self._catalog.snapshot() as snapshot:
            stored = snapshot.vectors(self.embedder.fingerprint, list(dict.fromkeys(keys)))
        return [key for key in dict.fromkeys(keys) if key not in stored]

    def put(self, vectors: Mapping[str, Vector], weights: Mapping[str, Mapping[int, float]] | None = None) -> None:
        """Store vectors by the keys of their texts. They are on disk when the call returns.

        ``weights`` are the learned term weights of these texts, by the same keys. Raise ModelError for a weight that
        does not fit a 16-bit float.
        """
        if not vectors:
            return
        fingerprint = self.embedder.fingerprint
        values = [
            {
                "fingerprint": fingerprint,
                "text_key": key,
                "vector": vector.astype("<f2").tobytes(),
                "weights": None if weights is None else self._blob(weights[key]),
            }
            for key, vector in vectors.items()
        ]
        with self._catalog.writing() as connection:
            connection.execute(insert_into(connection, schema.embeddings).on_conflict_do_nothing(), values)

    def _blob(self, weights: Mapping[int, float]) -> bytes:
        with np.errstate(over="ignore"):
            values = np.fromiter(weights.values(), np.float64, len(weights)).astype("<f2")
        if not np.isfinite(values).all():
            raise ModelError(
                f"The model {self.embedder.name} returned a term weight that is too large to store (16-bit float).",
                "Choose another embedding model.",
            )
        positive = values > 0  # weights that are 0 in half precision have no effect
        return np.fromiter(weights, "<u4", len(weights))[positive].tobytes() + values[positive].tobytes()

    def complete(self, content_id: str, vectors: int, *, chunks: bool) -> None:
        """Record that all pages of a document have vectors, so that searches use them.

        With ``chunks`` all its chunks have vectors too. ``vectors`` is the number of vectors.
        """
        fingerprint = self.embedder.fingerprint
        with self._catalog.writing() as connection:
            still_there = select(func.count()).where(schema.contents.c.content_id == content_id)
            if not connection.scalar(still_there):
                return  # the document was replaced or removed meanwhile
            key = {"content_id": content_id, "fingerprint": fingerprint}
            new = {"vectors": vectors, "chunks": chunks}
            row = insert_into(connection, schema.embedded).values(**key, **new)
            more = row.on_conflict_do_update(index_elements=list(key), set_=new)
            connection.execute(more if chunks else row.on_conflict_do_nothing())
            users = connection.execute(
                select(schema.documents.c.library, schema.documents.c.doc_id)
                .select_from(schema.documents.join(schema.libraries))
                .where(schema.documents.c.content_id == content_id, schema.libraries.c.embedder == fingerprint)
            ).all()
            log_changes(connection, [Changed(user.library, user.doc_id, content_id) for user in users])

    def finish(self) -> bool:
        """Let searches of the library use this embedder if all published documents have its vectors.

        Return whether searches now use it.
        """
        fingerprint = self.embedder.fingerprint
        with self._catalog.writing() as connection:
            done = select(schema.embedded.c.content_id).where(schema.embedded.c.fingerprint == fingerprint)
            waiting = connection.scalar(
                select(func.count()).where(
                    schema.documents.c.library == self._library,
                    schema.documents.c.content_id.is_not(None),
                    schema.documents.c.content_id.not_in(done),
                )
            )
            if not waiting:
                self._set(connection, embedder=fingerprint, next_embedder=None)
                rows.drop_unused_vectors(connection)
            return self._serving(connection) == fingerprint

    def _serving(self, connection: Connection) -> str | None:
        fingerprint: str | None = connection.scalar(
            select(schema.libraries.c.embedder).where(schema.libraries.c.id == self._library)
        )
        return fingerprint

    def _set(self, connection: Connection, **values: str | None) -> None:
        connection.execute(update(schema.libraries).where(schema.libraries.c.id == self._library).values(**values))


def drop_embedder(catalog: Catalog, library: str) -> None:
    """Stop using vectors in a library, and delete those that no library uses."""
    with catalog.writing() as connection:
        connection.execute(
            update(schema.libraries).where(schema.libraries.c.id == library).values(embedder=None, next_embedder=None)
        )
        rows.drop_unused_vectors(connection)


def content_texts(snapshot: Snapshot, content_id: str, *, chunks: bool) -> list[EmbeddingText]:
    """Return the texts of a stored document to embed: its pages, and with ``chunks`` its chunks.

    Return an empty list if the document was removed.
    """
    stored = snapshot.version(content_id)
    if stored is None:
        return []
    pages = snapshot.pages(content_id)
    texts = list(page_texts(pages))
    if chunks:
        parts = (snapshot.sections(content_id), snapshot.chunks(content_id))
        texts += chunk_texts(pages, *parts, stored.version.llm)
    return texts
