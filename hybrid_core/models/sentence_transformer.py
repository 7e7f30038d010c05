"""Any sentence-transformers model, by its folder or its name on the Hugging Face hub."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from hybrid_core.errors import UsageError
from hybrid_core.extras import require
from hybrid_core.models.embedder import (
    EmbedderId,
    Kind,
    Vectors,
    checked_texts,
    fingerprint,
    in_batches,
    loading,
    model_digest,
    model_folder,
    model_source,
    running,
    unit_rows,
)

_BATCH = 32


class SentenceTransformerEmbedder:
    """An ``Embedder``. The model's own prompts for queries and documents are used, its own limit cuts texts.

    The code that a model brings along is never run (``trust_remote_code`` stays off).
    """

    def __init__(self, name: str, *, batch_size: int | None = None, device: str | None = None) -> None:
        source, local = model_source(name)
        self._name = f"sentence-transformers:{source}"
        self._batch_size = batch_size or _BATCH
        self._lock = threading.Lock()  # tokenizers are not safe between threads ("Already borrowed")
        library = require("sentence_transformers", "sentence-transformers")
        with loading(self._name, local):
            self._model: Any = library.SentenceTransformer(source, device=device, local_files_only=local)
        self._dimension: int | None = None
        self._dimension = self.embed([" "], "document").shape[1]
        digest = model_digest(source, model_folder(source, local))
        made = fingerprint("sentence-transformers", digest, self._model.max_seq_length, self._dimension)
        self._id = EmbedderId(self._name, self._dimension, made)

    @property
    def id(self) -> EmbedderId:
        return self._id

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        model = self._model
        if model is None:
            raise UsageError(f"{self._name} is closed.", "Load it again.")
        encode = model.encode_query if kind == "query" else model.encode_document

        def call(batch: list[str]) -> Any:
            with self._lock, running(self._name):
                return encode(batch, batch_size=len(batch), show_progress_bar=False, convert_to_numpy=True)

        rows = in_batches(checked_texts(texts, kind), self._batch_size, call)
        return unit_rows(rows, self._name, self._dimension)

    def close(self) -> None:
        self._model = None
