"""BGE-M3 through FlagEmbedding: dense vectors, learned term weights, comparison token by token.

Chen et al. 2024, "BGE M3-Embedding: Multi-Lingual, Multi-Functionality, Multi-Granularity". Its own
``encode`` runs the first batch twice (to find a batch size that fits), which doubles the time of a question;
here the same model and tokenizer are called once per batch.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hybrid_core.embed.embedder import (
    EmbedderId,
    Kind,
    TermWeights,
    Vectors,
    checked_texts,
    fingerprint,
    in_batches,
    unit_rows,
)
from hybrid_core.embed.exportable import Exportable
from hybrid_core.embed.local_models import ModelPlaces, find_model, load_model, model_digest, running
from hybrid_core.embed.term_weights import checked_scores, heaviest
from hybrid_core.errors import ModelError, UsageError
from hybrid_core.system.extras import require

_BATCH = 16
_HEADS = ("sparse_linear.pt", "colbert_linear.pt")


class BgeM3Embedder:
    """An ``Embedder``, ``SparseEmbedder`` and ``MultiVectorEmbedder``; half precision on GPUs, else single.

    Queries and documents are treated alike, as the model was trained.
    """

    PUBLISHED: ClassVar[str] = "BAAI/bge-m3"

    def __init__(
        self,
        name: str = PUBLISHED,
        *,
        batch_size: int | None = None,
        device: str | None = None,
        places: ModelPlaces = ModelPlaces(),
    ) -> None:
        found = find_model("bge-m3", name, places)
        self._name = found.name
        self._batch_size = batch_size or _BATCH
        self._lock = threading.Lock()  # tokenizers are not safe between threads ("Already borrowed")
        self._torch = require("torch", "bge-m3")
        library = require("FlagEmbedding", "bge-m3").BGEM3FlagModel
        self._device: str = device or library.get_target_devices(None)[0]
        half = self._device.startswith("cuda")

        def load(source: str, here: bool) -> Any:
            made = library(source, use_fp16=half, devices=[self._device])
            made.model.to(self._device).eval()
            return made

        flag, folder = load_model(found, load, needed=_HEADS[0])
        self._model = flag
        config = flag.model.config
        self._limit = min(flag.tokenizer.model_max_length, config.max_position_embeddings - config.pad_token_id - 1)
        # FlagEmbedding draws these at random where the folder lacks them.
        self._lacks = [head for head in _HEADS if folder is not None and not (folder / head).exists()]
        self._dimension: int = config.hidden_size
        made = fingerprint("bge-m3 dense and sparse", model_digest(name, folder), self._limit, self._dimension)
        self._id = EmbedderId(self._name, self._dimension, made)

    @property
    def id(self) -> EmbedderId:
        return self._id

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        def call(batch: list[str]) -> Any:
            return self._run(batch, "dense")["dense_vecs"]

        self._open()
        rows = in_batches(checked_texts(texts, kind), self._batch_size, call)
        return unit_rows(rows, self._name, self._dimension)

    def embed_both(self, texts: Sequence[str], kind: Kind) -> tuple[Vectors, list[TermWeights]]:
        self._open(heads=True)
        tokenizer = self._model.tokenizer
        ignored = (tokenizer.cls_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id, tokenizer.unk_token_id)

        def call(batch: list[str]) -> list[tuple[Any, Any, Any]]:
            made = self._run(batch, "dense", "sparse")
            return list(zip(made["dense_vecs"], made["input_ids"], made["sparse_vecs"][..., 0], strict=True))

        rows = in_batches(checked_texts(texts, kind), self._batch_size, call)
        vectors = unit_rows([row for row, _, _ in rows], self._name, self._dimension)
        return vectors, [heaviest(ids.tolist(), weights, ignored) for _, ids, weights in rows]

    def colbert_scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        def call(batch: list[str]) -> list[NDArray[np.float32]]:
            made = self._run(batch, "colbert")
            # Without the first token, and without padding, whose zeros would win over negative products.
            lengths = made["attention_mask"].sum(axis=1) - 1
            return [row[:length] for row, length in zip(made["colbert_vecs"], lengths, strict=True)]

        self._open(heads=True)
        asked = call(checked_texts([query], "query"))[0]

        def score(batch: list[str]) -> list[float]:
            return [float((asked @ vectors.T).max(axis=1).mean()) for vectors in call(batch)]

        return checked_scores(in_batches(checked_texts(texts), self._batch_size, score), self._name)

    def exportable(self) -> Exportable:
        self._open(heads=True)
        network = self._model.model
        outputs = ("dense_vecs", "sparse_vecs", "colbert_vecs")

        def forward(inputs: dict[str, Any]) -> tuple[Any, ...]:
            made = network(inputs, return_dense=True, return_sparse=True, return_colbert_vecs=True)
            return tuple(made[output] for output in outputs)

        return Exportable(forward, network, outputs, self._model.tokenizer, network.model.config, self._limit, {})

    def close(self) -> None:
        self._model = None

    def _open(self, heads: bool = False) -> None:
        if self._model is None:
            raise UsageError(f"{self._name} is closed.", "Load it again.")
        if heads and self._lacks:
            raise ModelError(
                f"{self._name} lacks {' and '.join(self._lacks)}.",
                f"Take a folder that holds all of BGE-M3, or embed with {_DENSE_ONLY}.",
            )

    def _run(self, batch: list[str], *want: str) -> dict[str, Any]:
        """Arrays whose first axis is the texts: the tokenizer's, and "dense_vecs", "sparse_vecs", "colbert_vecs"
        as far as ``want`` names "dense", "sparse", "colbert", in single precision.
        """
        flag = self._model
        wanted = {"return_dense": "dense" in want, "return_sparse": "sparse" in want}
        with self._lock, running(self._name), self._torch.inference_mode():
            options = {"padding": True, "truncation": True, "max_length": self._limit, "return_tensors": "pt"}
            inputs = flag.tokenizer(batch, **options).to(self._device)
            output = flag.model(inputs, **wanted, return_colbert_vecs="colbert" in want)
            arrays = {key: value.cpu().numpy() for key, value in inputs.items()}
            return arrays | {f"{one}_vecs": output[f"{one}_vecs"].float().cpu().numpy() for one in want}


_DENSE_ONLY = "sentence-transformers:PATH, which makes dense vectors only"
