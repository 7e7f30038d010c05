"""What the files of a model folder say about its vectors. No library of models is needed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hybrid_core.embed.onnx_model import pooling_of
from hybrid_core.errors import ModelError

MEAN = {"word_embedding_dimension": 8, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}
CLS = {"word_embedding_dimension": 8, "pooling_mode": "cls", "include_prompt": True}
MAX = {"word_embedding_dimension": 8, "pooling_mode_max_tokens": True}


def folder_of(folder: Path, modules: list[tuple[str, str]], **configs: dict[str, Any]) -> Path:
    listed = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (kind, path) in enumerate(modules)
    ]
    if modules:
        (folder / "modules.json").write_text(json.dumps(listed), "utf-8")
    for name, config in configs.items():
        (folder / name.removeprefix("_")).mkdir()
        (folder / name.removeprefix("_") / "config.json").write_text(json.dumps(config), "utf-8")
    return folder


@pytest.mark.parametrize(
    ("modules", "configs", "pooling"),
    [
        ([("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")], {"_1_Pooling": CLS}, "cls"),
        ([("Transformer", "0_Transformer"), ("Pooling", "pool")], {"pool": CLS, "_1_Pooling": MEAN}, "cls"),
        ([], {"_1_Pooling": MEAN}, "mean"),
        ([], {}, "mean"),
    ],
)
def test_pooling_is_read_from_the_folder(
    tmp_path: Path, modules: list[tuple[str, str]], configs: dict[str, dict[str, Any]], pooling: str
) -> None:
    assert pooling_of(folder_of(tmp_path, modules, **configs), "onnx:m") == pooling


@pytest.mark.parametrize(
    ("kind", "config", "reason"),
    [("Dense", MEAN, "Dense"), ("LayerNorm", MEAN, "LayerNorm"), ("WeightedLayerPooling", MEAN, "Weighted"),
     ("Normalize", MAX, "max_tokens")],
)  # fmt: skip
def test_vectors_that_would_be_wrong_are_refused(
    tmp_path: Path, kind: str, config: dict[str, Any], reason: str
) -> None:
    modules = [("Transformer", ""), ("Pooling", "1_Pooling"), (kind, "2_Further")]
    with pytest.raises(ModelError, match=reason) as caught:
        pooling_of(folder_of(tmp_path, modules, _1_Pooling=config), "onnx:m")
    assert "Export it" in str(caught.value)
