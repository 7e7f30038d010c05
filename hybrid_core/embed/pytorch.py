"""Embedders that run in PyTorch: sentence-transformers models, and BGE-M3 through FlagEmbedding.

BGE-M3 (Chen et al. 2024, "BGE M3-Embedding: Multi-Lingual, Multi-Functionality, Multi-Granularity") computes dense
vectors, learned term weights and token-by-token scores. Its own ``encode`` runs the first batch twice to determine a
batch size that fits, which doubles the time of a query. Here the model and tokenizer are called once per batch.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hybrid_core.embed.embedder import (
    EmbedderId,
    Exportable,
    Kind,
    TermWeights,
    Vectors,
    checked_scores,
    checked_texts,
    fingerprint,
    heaviest,
    in_batches,
    unit_rows,
)
from hybrid_core.embed.local_models import ModelPlaces, find_model, load_model, model_digest, running
from hybrid_core.errors import ModelError, UsageError
from hybrid_core.system import require

_BATCH = 32  # the library's default; not measured on a GPU
_BATCH_ON_CPU = 16  # measured: 25 texts/s of 40 to 190 words, 21 in batches of 32, 16 in batches of 128

_M3_BATCH = 16
_HEADS = ("sparse_linear.pt", "colbert_linear.pt")

_DENSE_ONLY = "sentence-transformers:PATH, which makes dense vectors only"


class SentenceTransformerEmbedder:
    """An ``Embedder`` for sentence-transformers models, with the prompts and the text limit of the model.

    Code that comes with a model is never run (``trust_remote_code`` stays off).
    """

    def __init__(
        self,
        name: str,
        *,
        batch_size: int | None = None,
        device: str | None = None,
        places: ModelPlaces = ModelPlaces(),
    ) -> None:
        local = find_model("sentence-transformers", name, places)
        self._name = local.name
        self._lock = threading.Lock()  # tokenizers are not thread-safe ("Already borrowed")
        library = require("sentence_transformers", "sentence-transformers")

        def load(source: str, offline: bool) -> Any:
            return library.SentenceTransformer(source, device=device, local_files_only=offline)

        # Without modules.json the library would guess the pooling.
        self._model, folder = load_model(local, load, needed="modules.json")
        self._batch_size = batch_size or (_BATCH_ON_CPU if self._model.device.type == "cpu" else _BATCH)
        self._dimension: int | None = None
        self._dimension = self.embed([" "], "document").shape[1]
        digest = model_digest(name, folder)
        identity = fingerprint("sentence-transformers", digest, self._model.max_seq_length, self._dimension)
        self._id = EmbedderId(self._name, self._dimension, identity)

    @property
    def id(self) -> EmbedderId:
        return self._id

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        model = self._model
        if model is None:
            raise UsageError(f"{self._name} is closed.", "Load the model again.")
        encode = model.encode_query if kind == "query" else model.encode_document

        def call(batch: list[str]) -> Any:
            with self._lock, running(self._name):
                return encode(batch, batch_size=len(batch), show_progress_bar=False, convert_to_numpy=True)

        rows = in_batches(checked_texts(texts, kind), self._batch_size, call)
        return unit_rows(rows, self._name, self._dimension)

    def exportable(self) -> Exportable:
        model = self._model
        if model is None:
            raise UsageError(f"{self._name} is closed.", "Load the model again.")
        return Exportable(
            lambda inputs: (model(inputs)["sentence_embedding"],), model, ("sentence_embedding",), model.tokenizer,
            model[0].model.config, model.max_seq_length, model.prompts,
        )  # fmt: skip

    def close(self) -> None:
        self._model = None


class BgeM3Embedder:
    """An ``Embedder``, ``SparseEmbedder`` and ``MultiVectorEmbedder`` for BGE-M3, in half precision on GPUs.

    Queries and documents are embedded alike, as the model was trained.
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
        local = find_model("bge-m3", name, places)
        self._name = local.name
        self._batch_size = batch_size or _M3_BATCH
        self._lock = threading.Lock()  # tokenizers are not thread-safe ("Already borrowed")
        self._torch = require("torch", "bge-m3")
        library = require("FlagEmbedding", "bge-m3").BGEM3FlagModel
        self._device: str = device or library.get_target_devices(None)[0]
        half = self._device.startswith("cuda")

        def load(source: str, offline: bool) -> Any:
            model = library(source, use_fp16=half, devices=[self._device])
            model.model.to(self._device).eval()
            return model

        flag, folder = load_model(local, load, needed=_HEADS[0])
        self._model = flag
        config = flag.model.config
        self._limit = min(flag.tokenizer.model_max_length, config.max_position_embeddings - config.pad_token_id - 1)
        # If the folder lacks these, FlagEmbedding initialises them at random.
        self._lacks = [head for head in _HEADS if folder is not None and not (folder / head).exists()]
        self._dimension: int = config.hidden_size
        identity = fingerprint("bge-m3 dense and sparse", model_digest(name, folder), self._limit, self._dimension)
        self._id = EmbedderId(self._name, self._dimension, identity)

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
            arrays = self._run(batch, "dense", "sparse")
            return list(zip(arrays["dense_vecs"], arrays["input_ids"], arrays["sparse_vecs"][..., 0], strict=True))

        rows = in_batches(checked_texts(texts, kind), self._batch_size, call)
        vectors = unit_rows([row for row, _, _ in rows], self._name, self._dimension)
        return vectors, [heaviest(ids.tolist(), weights, ignored) for _, ids, weights in rows]

    def colbert_scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        def call(batch: list[str]) -> list[NDArray[np.float32]]:
            arrays = self._run(batch, "colbert")
            # Without the first token, and without padding, whose zeros would outrank negative products.
            lengths = arrays["attention_mask"].sum(axis=1) - 1
            return [row[:length] for row, length in zip(arrays["colbert_vecs"], lengths, strict=True)]

        self._open(heads=True)
        query_vectors = call(checked_texts([query], "query"))[0]

        def score(batch: list[str]) -> list[float]:
            return [float((query_vectors @ vectors.T).max(axis=1).mean()) for vectors in call(batch)]

        return checked_scores(in_batches(checked_texts(texts), self._batch_size, score), self._name)

    def exportable(self) -> Exportable:
        self._open(heads=True)
        network = self._model.model
        outputs = ("dense_vecs", "sparse_vecs", "colbert_vecs")

        def forward(inputs: dict[str, Any]) -> tuple[Any, ...]:
            arrays = network(inputs, return_dense=True, return_sparse=True, return_colbert_vecs=True)
            return tuple(arrays[output] for output in outputs)

        return Exportable(forward, network, outputs, self._model.tokenizer, network.model.config, self._limit, {})

    def close(self) -> None:
        self._model = None

    def _open(self, heads: bool = False) -> None:
        if self._model is None:
            raise UsageError(f"{self._name} is closed.", "Load the model again.")
        if heads and self._lacks:
            raise ModelError(
                f"The folder of {self._name} lacks {' and '.join(self._lacks)}.",
                f"Use a folder with all files of BGE-M3, or embed with {_DENSE_ONLY}.",
            )

    def _run(self, batch: list[str], *heads: str) -> dict[str, Any]:
        """Run the model on a batch and return arrays by name. Their first axis is the texts.

        The result contains the arrays of the tokenizer. It also contains an array in single precision for each of
        ``heads``: "dense_vecs" for "dense", "sparse_vecs" for "sparse", "colbert_vecs" for "colbert".
        """
        flag = self._model
        options_of_heads = {"return_dense": "dense" in heads, "return_sparse": "sparse" in heads}
        with self._lock, running(self._name), self._torch.inference_mode():
            options = {"padding": True, "truncation": True, "max_length": self._limit, "return_tensors": "pt"}
            inputs = flag.tokenizer(batch, **options).to(self._device)
            output = flag.model(inputs, **options_of_heads, return_colbert_vecs="colbert" in heads)
            arrays = {key: value.cpu().numpy() for key, value in inputs.items()}
            return arrays | {f"{head}_vecs": output[f"{head}_vecs"].float().cpu().numpy() for head in heads}
