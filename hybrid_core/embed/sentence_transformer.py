"""Any sentence-transformers model, through PyTorch."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from hybrid_core.embed.embedder import EmbedderId, Kind, Vectors, checked_texts, fingerprint, in_batches, unit_rows
from hybrid_core.embed.exportable import Exportable
from hybrid_core.embed.local_models import ModelPlaces, find_model, load_model, model_digest, running
from hybrid_core.errors import UsageError
from hybrid_core.system.extras import require

_BATCH = 32  # the library's own; not measured on a GPU
_BATCH_ON_CPU = 16  # measured: 25 texts/s of 40 to 190 words, 21 in batches of 32, 16 in batches of 128


class SentenceTransformerEmbedder:
    """An ``Embedder``. The model's own prompts for queries and documents are used, its own limit cuts texts.

    The code that a model brings along is never run (``trust_remote_code`` stays off).
    """

    def __init__(
        self,
        name: str,
        *,
        batch_size: int | None = None,
        device: str | None = None,
        places: ModelPlaces = ModelPlaces(),
    ) -> None:
        found = find_model("sentence-transformers", name, places)
        self._name = found.name
        self._lock = threading.Lock()  # tokenizers are not safe between threads ("Already borrowed")
        library = require("sentence_transformers", "sentence-transformers")

        def load(source: str, here: bool) -> Any:
            return library.SentenceTransformer(source, device=device, local_files_only=here)

        # Without modules.json the library would guess how to pool.
        self._model, folder = load_model(found, load, needed="modules.json")
        self._batch_size = batch_size or (_BATCH_ON_CPU if self._model.device.type == "cpu" else _BATCH)
        self._dimension: int | None = None
        self._dimension = self.embed([" "], "document").shape[1]
        digest = model_digest(name, folder)
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

    def exportable(self) -> Exportable:
        model = self._model
        if model is None:
            raise UsageError(f"{self._name} is closed.", "Load it again.")
        return Exportable(
            lambda inputs: (model(inputs)["sentence_embedding"],), model, ("sentence_embedding",), model.tokenizer,
            model[0].model.config, model.max_seq_length, model.prompts,
        )  # fmt: skip

    def close(self) -> None:
        self._model = None
