"""What the doctor says of embedders."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid_core.errors import PageIndexError, UsageError
from hybrid_pageindex import Settings
from hybrid_pageindex.engine.models.embedders import embedders


def test_the_doctor_loads_what_is_named_and_lists_what_is_here(tmp_path: Path) -> None:
    for name in ("small", "owner/large"):
        (tmp_path / name / "onnx").mkdir(parents=True)
        (tmp_path / name / "config.json").write_text("{}")
    told = embedders(Settings(models_dir=str(tmp_path), embedding_model="hashed:64"), ["hashed:32"])
    assert told.startswith("hashed:32, hashed:64 can be loaded; installed: ")
    assert told.endswith(f"2 models in {tmp_path}: owner/large, small")
    assert embedders(Settings(), []).startswith("none is configured (searches rank by words)")


def test_the_doctor_says_how_a_missing_embedder_is_brought(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers", reason="the extra onnx is not installed")
    with pytest.raises(PageIndexError, match=rf"the folder does not exist.*put it at {tmp_path}/small"):
        embedders(Settings(models_dir=str(tmp_path)), ["onnx:small"])
    with pytest.raises(UsageError, match=r"models_dir names .*, which is not a folder"):
        embedders(Settings(models_dir=str(tmp_path / "nowhere")), [])
