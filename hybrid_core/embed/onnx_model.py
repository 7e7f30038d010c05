"""Embedders that run in onnxruntime without PyTorch, and the export of PyTorch models to int8.

The folder of an exported model has the files of a sentence-transformers model, with the network in ``onnx/`` in place
of its weights. So models that the Hugging Face hub offers with an ``onnx`` folder can be used unchanged. int8 means
dynamic quantisation with a scale for each output channel: there is no calibration, weights are rounded once, and
activations are scaled at run time.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybrid_core.embed.embedder import (
    Embedder,
    EmbedderId,
    Exportable,
    Exporting,
    Kind,
    TermWeights,
    Vectors,
    checked_scores,
    checked_texts,
    fingerprint,
    heaviest,
    unit_rows,
)
from hybrid_core.embed.local_models import LocalModel, ModelPlaces, file_digest, one_line, running
from hybrid_core.errors import Advice, ModelError, PageIndexError, UsageError
from hybrid_core.system import require

NETWORKS = ("model_int8.onnx", "model.onnx")
"""File names of exported models; the first one that exists is used."""
READ = (
    "config.json", "tokenizer.json", "tokenizer_config.json", "config_sentence_transformers.json",
    "sentence_bert_config.json", "1_Pooling/config.json",
)  # fmt: skip
"""The files beside the network that describe how to run it."""
_MOST_THREADS = 4  # more threads gain little on texts of a few dozen tokens
_PROMPTS: Mapping[Kind, Sequence[str]] = {"query": ("query",), "document": ("document", "passage", "corpus")}
_Arrays = dict[str, NDArray[np.float32]]

_MIN_COSINE = 0.95  # mean cosine below which an export is rejected
_SENTENCES = (
    "The company reported higher revenue in the second quarter, because customers bought more machines.",
    "Who has to pay the tax where goods are returned within fourteen days?",
    "Section 4.2  Limitation of liability. Neither party is liable for indirect damages.",
    "Long-term debt of $4,210 million was repaid before it was due.",
    "Add the eggs, a little salt and the flour, and stir.",
    "Figure 3 shows how the error falls with the number of layers.",
    "Der Mieter hat die Wohnung in gutem Zustand zu hinterlassen.",
    "用人单位应当按照劳动合同约定和国家规定，向劳动者及时足额支付劳动报酬。",
)


def open_onnx(model: LocalModel, *, threads: int = 0) -> OnnxEmbedder:
    """Return the embedder of an exported model, with term weights if the model has them.

    ``threads`` is the number of threads per text, 0 for one per core but at most 4. Raise UsageError if there is no
    folder, PageIndexError if the extra is missing, ModelError if the model cannot be loaded.
    """
    network = _Network(model, threads)
    return (OnnxM3Embedder if "sparse_vecs" in network.outputs else OnnxEmbedder)(network)


class OnnxEmbedder:
    """An ``Embedder`` that runs an exported model.

    Texts are run one by one, which is as fast as in batches, since there is no padding. In a batch, an int8 model
    would scale the activations of all texts by the largest, so that a vector would depend on the other texts.
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
            raise UsageError(f"{self._name} is closed.", "Load the model again.")
        return self._network


class OnnxM3Embedder(OnnxEmbedder):
    """An embedder for an exported BGE-M3 with its dense, sparse and ColBERT outputs.

    It is also a ``SparseEmbedder`` and a ``MultiVectorEmbedder``.
    """

    def embed_both(self, texts: Sequence[str], kind: Kind) -> tuple[Vectors, list[TermWeights]]:
        network = self._open()
        ignored = network.special
        rows: list[NDArray[np.float32]] = []
        weights: list[TermWeights] = []
        for ids, arrays in network.run(network.prompted(texts, kind), "dense_vecs", "sparse_vecs"):
            rows.append(arrays["dense_vecs"])
            weights.append(heaviest(ids, arrays["sparse_vecs"].reshape(-1), ignored))
        return unit_rows(rows, self._name, self._dimension), weights

    def colbert_scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        network = self._open()
        [(_, query_arrays)] = network.run(network.prompted([query], "query"), "colbert_vecs")
        scores = [
            float((query_arrays["colbert_vecs"] @ arrays["colbert_vecs"].T).max(axis=1).mean())
            for _, arrays in network.run(network.prompted(texts, "document"), "colbert_vecs")
        ]
        return checked_scores(scores, self._name)


class _Network:
    """A model file in the ONNX format with its tokenizer. Calls change neither, so several threads may share it."""

    def __init__(self, model: LocalModel, threads: int) -> None:
        self.name = model.name
        runtime, tokenizers = require("onnxruntime", "onnx"), require("tokenizers", "onnx")
        if model.folder is None:
            raise UsageError(f"{model.name}: the folder does not exist.", model.how_to_bring())
        self._folder, file = model.folder, network_file(model.folder)
        if file is None:
            raise ModelError(
                f"{model.name}: {model.folder} does not contain a model exported to ONNX.",
                Advice(
                    "Export the model on a machine with PyTorch (see the documentation of embedders).",
                    f"Create one on a machine with PyTorch: embed --export {model.folder} --embedder "
                    "sentence-transformers:PATH",
                ),
            )
        try:
            options = runtime.SessionOptions()
            options.intra_op_num_threads = threads or min(os.cpu_count() or 1, _MOST_THREADS)
            options.inter_op_num_threads = 1
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # waiting threads use no CPU time
            options.log_severity_level = 3
            self._session = runtime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
            self._tokenizer = tokenizers.Tokenizer.from_file(str(self._folder / "tokenizer.json"))
            self._tokenizer.no_padding()
            self.outputs = [tensor.name for tensor in self._session.get_outputs()]
            self._read_configs()
            self._tokenizer.enable_truncation(self.limit)
        except (UsageError, ModelError):
            raise
        except Exception as error:
            message = f"{model.name} cannot be loaded ({one_line(error)})."
            raise ModelError(message, "Check that the folder holds all files of an exported model.") from error
        self._inputs = {tensor.name for tensor in self._session.get_inputs()}
        self.digest = " ".join([file_digest(file), *(f"{n} {file_digest(f)}" for n, f in self._configs())])

    def prompted(self, texts: Sequence[str], kind: Kind) -> list[str]:
        checked = checked_texts(texts, kind)
        prompt = self._prompts[kind]
        return [prompt + text for text in checked] if prompt else checked

    def dense(self, texts: Sequence[str]) -> Iterator[NDArray[np.float32]]:
        """Yield one vector per text, before normalisation."""
        for output in ("sentence_embedding", "dense_vecs"):
            if output in self.outputs:
                yield from (arrays[output] for _, arrays in self.run(texts, output))
                return
        first = self.outputs[0]  # the output has a vector for each token
        for _, arrays in self.run(texts, first):
            yield arrays[first][0] if self._pooling == "cls" else arrays[first].mean(axis=0)

    def run(self, texts: Sequence[str], *outputs: str) -> Iterator[tuple[list[int], _Arrays]]:
        """Run the model on each text. Yield its token ids and the requested ``outputs``, by name."""
        with running(self.name):
            tokens = [encoded.ids for encoded in self._tokenizer.encode_batch(list(texts))]
        for ids in tokens:
            with running(self.name):
                outputs_of_text = self._session.run(list(outputs), self._inputs_of(ids))
            yield (
                ids,
                {name: np.asarray(value[0], np.float32) for name, value in zip(outputs, outputs_of_text, strict=True)},
            )

    def _inputs_of(self, ids: list[int]) -> dict[str, NDArray[np.int64]]:
        tokens = np.array([ids], np.int64)
        inputs = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        return {name: value for name, value in inputs.items() if name in self._inputs}

    def _configs(self) -> list[tuple[str, Path]]:
        return [(name, self._folder / name) for name in READ if (self._folder / name).is_file()]

    def _read_configs(self) -> None:
        configs = {name: json.loads(file.read_text("utf-8")) for name, file in self._configs()}
        empty: dict[str, Any] = {}
        sentence = configs.get("sentence_bert_config.json", empty)
        self.limit = int(sentence.get("max_seq_length") or _token_limit(configs))
        named = configs.get("config_sentence_transformers.json", empty).get("prompts") or empty
        self._prompts = {kind: next((named[n] for n in of if named.get(n)), "") for kind, of in _PROMPTS.items()}
        self._pooling = ""
        if not {"sentence_embedding", "dense_vecs"} & set(self.outputs):
            self._pooling = pooling_of(self._folder, self.name)
        names = ("cls_token", "eos_token", "sep_token", "pad_token", "unk_token", "bos_token")
        tokens = (_token_text(configs.get("tokenizer_config.json", empty).get(name)) for name in names)
        self.special = {self._tokenizer.token_to_id(token) for token in tokens if token}


def network_file(folder: Path) -> Path | None:
    """Return the ONNX file in a folder or its subfolder ``onnx``, None if there is none.

    Files named in ``NETWORKS`` take precedence. Raise ModelError if there are several files with other names.
    """
    files = [*sorted(folder.glob("*.onnx")), *sorted(folder.glob("onnx/*.onnx"))]
    for name in NETWORKS:
        if chosen := [file for file in files if file.name == name]:
            return chosen[-1]
    if len(files) > 1:
        names = ", ".join(str(file.relative_to(folder)) for file in files)
        raise ModelError(f"{folder} contains several ONNX files: {names}.", "Rename the file to use to model.onnx.")
    return files[0] if files else None


def _token_limit(configs: Mapping[str, Any]) -> int:
    """Return the token limit of a model from its number of positions and its tokenizer.

    It is needed if the sentence-transformers configuration states no limit.
    """
    config, tokenizer = configs.get("config.json", {}), configs.get("tokenizer_config.json", {})
    positions = int(config.get("max_position_embeddings") or 512)
    if config.get("model_type") in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        positions -= int(config.get("pad_token_id") or 0) + 1  # positions of these models begin after the padding id
    return min(positions, int(tokenizer.get("model_max_length") or positions))


def pooling_of(folder: Path, name: str) -> str:
    """Return how a model combines the vectors of tokens: "mean" or "cls".

    Raise ModelError for any other way, and if modules.json names further steps, since without them vectors were wrong.
    """
    file = folder / "modules.json"
    modules = json.loads(file.read_text("utf-8")) if file.is_file() else []
    paths = {str(module["type"]).rpartition(".")[2]: str(module["path"]) for module in modules}
    if further := sorted(paths.keys() - {"Transformer", "Pooling", "Normalize"}):
        raise ModelError(
            f"{name} has steps that its ONNX file does not contain: {', '.join(further)}.",
            Advice("Export it from PyTorch.", "Export it with embed --export."),
        )
    config = folder / paths.get("Pooling", "1_Pooling") / "config.json"
    return _pooling(json.loads(config.read_text("utf-8")) if config.is_file() else {}, name)


def _pooling(config: Mapping[str, Any], name: str) -> str:
    mode = config.get("pooling_mode")
    modes = (
        [mode]
        if isinstance(mode, str)
        else [key[13:] for key, on in config.items() if on is True and key.startswith("pooling_mode_")]
    )
    supported = {"mean": "mean", "mean_tokens": "mean", "cls": "cls", "cls_token": "cls"}
    poolings = [supported.get(name_of_mode) for name_of_mode in modes] or ["mean"]
    if len(poolings) != 1 or poolings[0] is None:
        raise ModelError(
            f"{name} combines token vectors in a way that this version does not support: {', '.join(modes)}.",
            Advice("Export it from PyTorch.", "Export it with embed --export."),
        )
    return poolings[0]


def _token_text(token: Any) -> str:
    return str(token.get("content", "")) if isinstance(token, Mapping) else str(token or "")


@dataclass(frozen=True, slots=True)
class ExportReport:
    """The result of an export.

    ``cosine`` and ``least_cosine`` are the mean and the lowest cosine between vectors of the exported and the PyTorch
    model, for a few sentences.
    """

    model: str
    folder: str
    megabytes: float
    cosine: float
    least_cosine: float


def export_model(embedder: Embedder, folder: Path) -> ExportReport:
    """Export a loaded model to a folder in int8 form. The folder appears when it is complete and was tested.

    Raise UsageError for an embedder that does not run in PyTorch here, and for a folder that is not empty. Raise
    PageIndexError if the extra is missing, ModelError if the model cannot be exported or its vectors differ.
    """
    name = embedder.id.name
    if not isinstance(embedder, Exporting):
        advice = "Name sentence-transformers:NAME_OR_PATH or bge-m3[:PATH]."
        raise UsageError(f"{name} does not run in PyTorch on this machine, so it cannot be exported.", advice)
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise UsageError(
            f"The model cannot be exported to {folder}, because this folder already exists.",
            "Give the path of a folder that does not exist yet.",
        )
    for package in ("onnx", "onnxscript", "tokenizers"):
        require(package, "export")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".export-") as scratch:
        plain, target = Path(scratch) / "plain", Path(scratch) / "model"
        plain.mkdir()
        (target / "onnx").mkdir(parents=True)
        network = target / "onnx" / NETWORKS[0]
        with _export_errors(name):
            model = embedder.exportable()
            _trace(model, plain / "model.onnx")
            _quantise(plain / "model.onnx", network)
            _write_configs(model, target)
        cosine, lowest = _compare(embedder, target)
        size = round(network.stat().st_size / 1e6, 1)
        if folder.is_dir():
            folder.rmdir()
        shutil.move(target, folder)
    return ExportReport(name, str(folder), size, round(cosine, 4), round(lowest, 4))


def _trace(model: Exportable, file: Path) -> None:
    torch = require("torch", "export")
    inputs = dict(model.tokenizer(["a few words", "and some more of them"], padding=True, return_tensors="pt"))

    class Network(torch.nn.Module):  # type: ignore[misc, name-defined]  # torch is an extra
        def __init__(self) -> None:
            super().__init__()
            self.module = model.module

        def forward(self, *tensors: Any) -> tuple[Any, ...]:
            return model.forward(dict(zip(inputs, tensors, strict=True)))

    free = torch.export.Dim.DYNAMIC  # the numbers of texts and tokens are variable
    torch.onnx.export(
        Network().eval(), tuple(inputs.values()), str(file), input_names=list(inputs),
        output_names=list(model.outputs), dynamic_shapes=(tuple({0: free, 1: free} for _ in inputs),),
        dynamo=True, external_data=True, verbose=False,
    )  # fmt: skip


def _quantise(file: Path, network: Path) -> None:
    """Quantise a model's weights to int8, using only 7 of the 8 bits.

    Processors without VNNI instructions add the products in 16 bits, which would overflow with all 8 bits.
    """
    quantization = require("onnxruntime.quantization", "export")
    quantization.quantize_dynamic(
        str(file), str(network), per_channel=True, reduce_range=True, weight_type=quantization.QuantType.QInt8
    )


def _write_configs(model: Exportable, folder: Path) -> None:
    model.tokenizer.save_pretrained(str(folder))
    model.config.save_pretrained(str(folder))
    for name, content in (
        ("sentence_bert_config.json", {"max_seq_length": model.limit}),
        ("config_sentence_transformers.json", {"prompts": dict(model.prompts)}),
    ):
        (folder / name).write_text(json.dumps(content, indent=1), encoding="utf-8")


def _compare(embedder: Embedder, folder: Path) -> tuple[float, float]:
    """Return the mean and the lowest cosine between the vectors of a model and of its export in ``folder``.

    Raise ModelError if the mean is too low.
    """
    exported = open_onnx(LocalModel("onnx", str(folder), folder, ModelPlaces()))
    cosines = np.concatenate(
        [
            (embedder.embed(_SENTENCES, kind) * exported.embed(_SENTENCES, kind)).sum(axis=1)
            for kind in ("query", "document")
        ]
    )
    exported.close()
    if cosines.mean() < _MIN_COSINE:
        message = f"{embedder.id.name}: the exported model's vectors differ (cosine {cosines.mean():.3f})."
        raise ModelError(message, "Use the model without exporting it.")
    return float(cosines.mean()), float(cosines.min())


@contextmanager
def _export_errors(name: str) -> Iterator[None]:
    """Translate errors of the export libraries into ModelError, and silence their warnings."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except PageIndexError:
        raise
    except Exception as error:
        raise ModelError(f"{name} cannot be exported ({one_line(error)}).") from error
    finally:
        logging.disable(logging.NOTSET)
