"""A model that PyTorch runs becomes a folder that onnxruntime runs: its network in int8, and what says how it is run.

int8 is dynamic quantisation with a scale for each output channel: nothing is calibrated, weights are rounded once, and
numbers between layers are scaled as they come.
"""

from __future__ import annotations

import json
import logging
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_core.embed.embedder import Embedder
from hybrid_core.embed.exportable import Exportable, Exporting
from hybrid_core.embed.local_models import LocalModel, ModelPlaces, one_line
from hybrid_core.embed.onnx_model import NETWORKS, open_onnx
from hybrid_core.errors import ModelError, PageIndexError, UsageError
from hybrid_core.system.extras import require

_LEAST = 0.95  # cosine below which something went wrong
_TRIED = (
    "The company reported higher revenue in the second quarter, because customers bought more machines.",
    "Who has to pay the tax where goods are returned within fourteen days?",
    "Section 4.2  Limitation of liability. Neither party is liable for indirect damages.",
    "Long-term debt of $4,210 million was repaid before it was due.",
    "Add the eggs, a little salt and the flour, and stir.",
    "Figure 3 shows how the error falls with the number of layers.",
    "Der Mieter hat die Wohnung in gutem Zustand zu hinterlassen.",
    "用人单位应当按照劳动合同约定和国家规定，向劳动者及时足额支付劳动报酬。",
)


@dataclass(frozen=True, slots=True)
class ExportReport:
    """``cosine`` and ``least_cosine`` compare the exported model's vectors with PyTorch's, of a few sentences."""

    model: str
    folder: str
    megabytes: float
    cosine: float
    least_cosine: float


def export_model(embedder: Embedder, folder: Path) -> ExportReport:
    """Write the int8 form of a loaded model to a folder, which appears once it is whole and was tried.

    Raises UsageError for an embedder that PyTorch does not run here and for a folder that holds something,
    PageIndexError where the extra is missing, ModelError where the model cannot be exported or then differs.
    """
    name = embedder.id.name
    if not isinstance(embedder, Exporting):
        advice = "Name sentence-transformers:NAME_OR_PATH or bge-m3[:PATH]."
        raise UsageError(f"{name} is no model that PyTorch runs here.", advice)
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise UsageError(f"{folder} is there already.", "Name a new folder.")
    for package in ("onnx", "onnxscript", "tokenizers"):
        require(package, "export")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".export-") as scratch:
        plain, made = Path(scratch) / "plain", Path(scratch) / "model"
        plain.mkdir()
        (made / "onnx").mkdir(parents=True)
        network = made / "onnx" / NETWORKS[0]
        with _exporting(name):
            model = embedder.exportable()
            _trace(model, plain / "model.onnx")
            _quantise(plain / "model.onnx", network)
            _write_configs(model, made)
        cosine, least = _compared(embedder, made)
        size = round(network.stat().st_size / 1e6, 1)
        if folder.is_dir():
            folder.rmdir()
        shutil.move(made, folder)
    return ExportReport(name, str(folder), size, round(cosine, 4), round(least, 4))


def _trace(model: Exportable, file: Path) -> None:
    torch = require("torch", "export")
    inputs = dict(model.tokenizer(["a few words", "and some more of them"], padding=True, return_tensors="pt"))

    class Network(torch.nn.Module):  # type: ignore[misc, name-defined]  # torch is an extra
        def __init__(self) -> None:
            super().__init__()
            self.module = model.module

        def forward(self, *tensors: Any) -> tuple[Any, ...]:
            return model.forward(dict(zip(inputs, tensors, strict=True)))

    free = torch.export.Dim.DYNAMIC  # texts and tokens may be any number
    torch.onnx.export(
        Network().eval(), tuple(inputs.values()), str(file), input_names=list(inputs),
        output_names=list(model.outputs), dynamic_shapes=(tuple({0: free, 1: free} for _ in inputs),),
        dynamo=True, external_data=True, verbose=False,
    )  # fmt: skip


def _quantise(file: Path, network: Path) -> None:
    """With one bit to spare: processors without VNNI add products of eight bits in sixteen, which would overflow."""
    quantization = require("onnxruntime.quantization", "export")
    quantization.quantize_dynamic(
        str(file), str(network), per_channel=True, reduce_range=True, weight_type=quantization.QuantType.QInt8
    )


def _write_configs(model: Exportable, folder: Path) -> None:
    model.tokenizer.save_pretrained(str(folder))
    model.config.save_pretrained(str(folder))
    for name, told in (
        ("sentence_bert_config.json", {"max_seq_length": model.limit}),
        ("config_sentence_transformers.json", {"prompts": dict(model.prompts)}),
    ):
        (folder / name).write_text(json.dumps(told, indent=1), encoding="utf-8")


def _compared(embedder: Embedder, folder: Path) -> tuple[float, float]:
    """The mean and the least cosine. Raises ModelError for a mean that is too low."""
    exported = open_onnx(LocalModel("onnx", str(folder), folder, ModelPlaces()))
    cosines = np.concatenate(
        [(embedder.embed(_TRIED, kind) * exported.embed(_TRIED, kind)).sum(axis=1) for kind in ("query", "document")]
    )
    exported.close()
    if cosines.mean() < _LEAST:
        message = f"{embedder.id.name}: the exported model's vectors differ (cosine {cosines.mean():.3f})."
        raise ModelError(message, "Use it as it is.")
    return float(cosines.mean()), float(cosines.min())


@contextmanager
def _exporting(name: str) -> Iterator[None]:
    """One error for all that can go wrong in the libraries, and nothing of what they say."""
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
