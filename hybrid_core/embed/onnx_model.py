"""Exported models (``export``) through onnxruntime: no PyTorch, and int8 on processors.

A folder holds what a sentence-transformers model holds, with the network in ``onnx/`` in place of its weights; so those
that the hub offers with an ``onnx`` folder can be used as they are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybrid_core.embed.embedder import (
    EmbedderId,
    Kind,
    TermWeights,
    Vectors,
    checked_texts,
    fingerprint,
    unit_rows,
)
from hybrid_core.embed.local_models import LocalModel, file_digest, one_line, running
from hybrid_core.embed.term_weights import checked_scores, heaviest
from hybrid_core.errors import ModelError, UsageError
from hybrid_core.system.extras import require

NETWORKS = ("model_int8.onnx", "model.onnx")
"""Which of several is taken, the first that is there."""
READ = (
    "config.json", "tokenizer.json", "tokenizer_config.json", "config_sentence_transformers.json",
    "sentence_bert_config.json", "1_Pooling/config.json",
)  # fmt: skip
"""The files beside the network that say how it is run."""
_MOST_THREADS = 4  # more gain little on texts of a few dozen tokens
_PROMPTS: Mapping[Kind, Sequence[str]] = {"query": ("query",), "document": ("document", "passage", "corpus")}
_Arrays = dict[str, NDArray[np.float32]]


def open_onnx(model: LocalModel, *, threads: int = 0) -> OnnxEmbedder:
    """The embedder of an exported model: one that also weights terms where the network gives that.

    ``threads`` work on a text, 0 for one a core, 4 at most. Raises UsageError where there is no
    folder, PageIndexError where the extra is missing, ModelError where the model cannot be loaded.
    """
    network = _Network(model, threads)
    return (OnnxM3Embedder if "sparse_vecs" in network.gives else OnnxEmbedder)(network)


class OnnxEmbedder:
    """An ``Embedder``.

    Texts are run one by one, which is as quick as in batches: nothing is padded. Run together, an int8 network would
    scale the numbers of all by the largest, so that a text's vector would depend on its neighbours.
    """

    def __init__(self, network: _Network) -> None:
        self._network: _Network | None = network
        self._name = network.name
        self._dimension = next(network.dense([" "])).shape[-1]
        self._id = EmbedderId(self._name, self._dimension, fingerprint("onnx", network.digest, network.limit))

    @property
    def id(self) -> EmbedderId:
        return self._id

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        network = self._open()
        rows = list(network.dense(network.prompted(texts, kind)))
        return unit_rows(rows, self._name, self._dimension)

    def close(self) -> None:
        self._network = None

    def _open(self) -> _Network:
        if self._network is None:
            raise UsageError(f"{self._name} is closed.", "Load it again.")
        return self._network


class OnnxM3Embedder(OnnxEmbedder):
    """Also a ``SparseEmbedder`` and a ``MultiVectorEmbedder``: BGE-M3 exported with its heads."""

    def embed_both(self, texts: Sequence[str], kind: Kind) -> tuple[Vectors, list[TermWeights]]:
        network = self._open()
        ignored = network.special
        rows: list[NDArray[np.float32]] = []
        weights: list[TermWeights] = []
        for ids, made in network.run(network.prompted(texts, kind), "dense_vecs", "sparse_vecs"):
            rows.append(made["dense_vecs"])
            weights.append(heaviest(ids, made["sparse_vecs"].reshape(-1), ignored))
        return unit_rows(rows, self._name, self._dimension), weights

    def colbert_scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        network = self._open()
        [(_, asked)] = network.run(network.prompted([query], "query"), "colbert_vecs")
        scores = [
            float((asked["colbert_vecs"] @ made["colbert_vecs"].T).max(axis=1).mean())
            for _, made in network.run(network.prompted(texts, "document"), "colbert_vecs")
        ]
        return checked_scores(scores, self._name)


class _Network:
    """A network with its tokenizer: neither is changed by use, so several threads may use one."""

    def __init__(self, model: LocalModel, threads: int) -> None:
        self.name = model.name
        runtime, tokenizers = require("onnxruntime", "onnx"), require("tokenizers", "onnx")
        if model.folder is None:
            raise UsageError(f"{model.name}: there is no such folder.", model.how_to_bring())
        self._folder, file = model.folder, network_file(model.folder)
        if file is None:
            raise ModelError(
                f"{model.name}: {model.folder} holds no exported network.",
                f"Where PyTorch is, make one: embed --export {model.folder} --embedder sentence-transformers:PATH",
            )
        try:
            options = runtime.SessionOptions()
            options.intra_op_num_threads = threads or min(os.cpu_count() or 1, _MOST_THREADS)
            options.inter_op_num_threads = 1
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # waiting threads take no core
            options.log_severity_level = 3
            self._session = runtime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
            self._tokenizer = tokenizers.Tokenizer.from_file(str(self._folder / "tokenizer.json"))
            self._tokenizer.no_padding()
            self._read_configs()
            self._tokenizer.enable_truncation(self.limit)
        except (UsageError, ModelError):
            raise
        except Exception as error:
            message = f"{model.name} cannot be loaded ({one_line(error)})."
            raise ModelError(message, "Check that the folder holds all files of an exported model.") from error
        self._inputs = {one.name for one in self._session.get_inputs()}
        self.gives = [one.name for one in self._session.get_outputs()]
        self.digest = " ".join([file_digest(file), *(f"{n} {file_digest(f)}" for n, f in self._configs())])

    def prompted(self, texts: Sequence[str], kind: Kind) -> list[str]:
        checked = checked_texts(texts, kind)
        prompt = self._prompts[kind]
        return [prompt + text for text in checked] if prompt else checked

    def dense(self, texts: Sequence[str]) -> Iterator[NDArray[np.float32]]:
        """One vector for each text, of any length."""
        for output in ("sentence_embedding", "dense_vecs"):
            if output in self.gives:
                yield from (made[output] for _, made in self.run(texts, output))
                return
        first = self.gives[0]  # a vector for each token
        for _, made in self.run(texts, first):
            yield made[first][0] if self._pooling == "cls" else made[first].mean(axis=0)

    def run(self, texts: Sequence[str], *outputs: str) -> Iterator[tuple[list[int], _Arrays]]:
        """Of each text its tokens, and these outputs."""
        with running(self.name):
            tokens = [encoded.ids for encoded in self._tokenizer.encode_batch(list(texts))]
        for ids in tokens:
            with running(self.name):
                made = self._session.run(list(outputs), self._fed(ids))
            yield ids, {name: np.asarray(value[0], np.float32) for name, value in zip(outputs, made, strict=True)}

    def _fed(self, ids: list[int]) -> dict[str, NDArray[np.int64]]:
        tokens = np.array([ids], np.int64)
        given = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        return {name: value for name, value in given.items() if name in self._inputs}

    def _configs(self) -> list[tuple[str, Path]]:
        return [(name, self._folder / name) for name in READ if (self._folder / name).is_file()]

    def _read_configs(self) -> None:
        found = {name: json.loads(file.read_text("utf-8")) for name, file in self._configs()}
        empty: dict[str, Any] = {}
        sentence = found.get("sentence_bert_config.json", empty)
        self.limit = int(sentence.get("max_seq_length") or _limit(found))
        named = found.get("config_sentence_transformers.json", empty).get("prompts") or empty
        self._prompts = {kind: next((named[n] for n in of if named.get(n)), "") for kind, of in _PROMPTS.items()}
        self._pooling = _pooling(found.get("1_Pooling/config.json", empty), self.name)
        names = ("cls_token", "eos_token", "sep_token", "pad_token", "unk_token", "bos_token")
        tokens = (_text(found.get("tokenizer_config.json", empty).get(name)) for name in names)
        self.special = {self._tokenizer.token_to_id(token) for token in tokens if token}


def network_file(folder: Path) -> Path | None:
    """The network in a folder, in it or in its folder ``onnx``; where neither of ``NETWORKS`` is there, the only one.

    Raises ModelError where there are several others.
    """
    found = [*sorted(folder.glob("*.onnx")), *sorted(folder.glob("onnx/*.onnx"))]
    for name in NETWORKS:
        if chosen := [file for file in found if file.name == name]:
            return chosen[-1]
    if len(found) > 1:
        names = ", ".join(str(file.relative_to(folder)) for file in found)
        raise ModelError(f"{folder} holds several networks: {names}.", "Name the one to use model.onnx.")
    return found[0] if found else None


def _limit(found: Mapping[str, Any]) -> int:
    """How many tokens a model takes that does not say it itself."""
    config, tokenizer = found.get("config.json", {}), found.get("tokenizer_config.json", {})
    positions = int(config.get("max_position_embeddings") or 512)
    if config.get("model_type") in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        positions -= int(config.get("pad_token_id") or 0) + 1  # these number their places from there
    return min(positions, int(tokenizer.get("model_max_length") or positions))


def _pooling(config: Mapping[str, Any], name: str) -> str:
    mode = config.get("pooling_mode")
    modes = (
        [mode]
        if isinstance(mode, str)
        else [key[13:] for key, on in config.items() if on is True and key.startswith("pooling_mode_")]
    )
    known = {"mean": "mean", "mean_tokens": "mean", "cls": "cls", "cls_token": "cls"}
    wanted = [known.get(one) for one in modes] or ["mean"]
    if len(wanted) != 1 or wanted[0] is None:
        raise ModelError(f"{name} pools its tokens by {', '.join(modes)}.", "Export it with embed --export.")
    return wanted[0]


def _text(token: Any) -> str:
    return str(token.get("content", "")) if isinstance(token, Mapping) else str(token or "")
