"""Exported models: the same vectors as PyTorch's but for int8, and folders as hubs offer them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hybrid_core.embed.embedder import MultiVectorEmbedder, SparseEmbedder
from hybrid_core.embed.load import load_embedder
from hybrid_core.embed.local_models import ModelPlaces
from hybrid_core.embed.onnx_model import network_file
from hybrid_core.errors import ModelError, UsageError
from tests import tiny_models
from tests.tiny_models import SENTENCES

for module in ("sentence_transformers", "onnxscript", "tokenizers"):
    pytest.importorskip(module, reason="the extra export is not installed")


@pytest.fixture(scope="module")
def sentence(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model and its export."""
    return exported("st", tiny_models.sentence_transformer(tmp_path_factory.mktemp("sentence")))


@pytest.fixture(scope="module")
def bge(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    pytest.importorskip("FlagEmbedding", reason="the extra bge-m3 is not installed")
    return exported("bge-m3", tiny_models.bge_m3(tmp_path_factory.mktemp("bge")))


def exported(form: str, folder: Path) -> tuple[Path, Path]:
    from hybrid_core.embed.onnx_model import export_model

    made = folder.parent / f"{folder.name}-onnx"
    report = export_model(load_embedder(f"{form}:{folder}", device="cpu"), made)
    assert report.cosine > 0.99 and report.least_cosine > 0.98 and report.folder == str(made)
    return folder, made


def test_an_exported_sentence_transformer_gives_its_vectors(sentence: tuple[Path, Path]) -> None:
    model, made = load_embedder(f"st:{sentence[0]}", device="cpu"), load_embedder(f"onnx:{sentence[1]}")
    assert made.id.name == f"onnx:{sentence[1]}" and made.id.fingerprint != model.id.fingerprint
    for kind in ("query", "document"):  # a query has its prompt
        cosines = (model.embed(SENTENCES, kind) * made.embed(SENTENCES, kind)).sum(axis=1)
        assert cosines.min() > 0.99
    start = "debt " * 100
    vectors = made.embed([start, start + "tax"], "document")
    np.testing.assert_array_equal(vectors[0], vectors[1])  # cut at the model's limit


def test_a_text_s_vector_does_not_depend_on_its_neighbours(sentence: tuple[Path, Path]) -> None:
    made = load_embedder(f"onnx:{sentence[1]}")
    together = made.embed(SENTENCES, "document")
    alone = np.concatenate([made.embed([one], "document") for one in SENTENCES])
    np.testing.assert_array_equal(together, alone)


def test_an_exported_bge_m3_weights_terms_and_compares_tokens(bge: tuple[Path, Path]) -> None:
    model, made = load_embedder(f"bge-m3:{bge[0]}", device="cpu"), load_embedder(f"onnx:{bge[1]}")
    assert isinstance(made, SparseEmbedder) and isinstance(made, MultiVectorEmbedder)
    assert isinstance(model, SparseEmbedder) and isinstance(model, MultiVectorEmbedder)
    vectors, weights = made.embed_both(SENTENCES, "document")
    ours, theirs = model.embed_both(SENTENCES, "document")
    assert (vectors * ours).sum(axis=1).min() > 0.99
    for one, other in zip(weights, theirs, strict=True):
        assert one.keys() == other.keys() and one == pytest.approx(other, abs=0.02)
    question = "who repaid the debt"
    np.testing.assert_allclose(
        made.colbert_scores(question, SENTENCES), model.colbert_scores(question, SENTENCES), atol=0.02
    )


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_folder_as_hubs_offer_it(sentence: tuple[Path, Path], tmp_path: Path) -> None:
    """A network that gives a vector for each token is pooled as the folder says."""
    import torch
    import transformers

    encoder = transformers.AutoModel.from_pretrained(sentence[0], attn_implementation="eager").eval()
    folder = tmp_path / "models" / "owner" / "small"
    shutil.copytree(sentence[1], folder, ignore=shutil.ignore_patterns("onnx"))
    (folder / "onnx").mkdir()
    ids = torch.tensor([[0, 5, 6, 2], [0, 7, 8, 2]])
    free = torch.export.Dim.DYNAMIC
    torch.onnx.export(
        encoder, (ids, torch.ones_like(ids)), str(folder / "onnx" / "model.onnx"),
        input_names=["input_ids", "attention_mask"], output_names=["last_hidden_state"],
        dynamic_shapes=({0: free, 1: free}, {0: free, 1: free}), dynamo=True, external_data=False, verbose=False,
    )  # fmt: skip
    pooling = folder / "1_Pooling" / "config.json"
    pooling.parent.mkdir()
    pooling.write_text(json.dumps({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}))
    places = ModelPlaces(tmp_path / "models")
    made = load_embedder("onnx:owner/small", places=places)
    assert made.id.name == "onnx:owner/small"
    model = load_embedder(f"st:{sentence[0]}", device="cpu")
    np.testing.assert_allclose(made.embed(SENTENCES, "query"), model.embed(SENTENCES, "query"), atol=1e-5)
    pooling.write_text(json.dumps({"pooling_mode": "cls"}))
    other = load_embedder("onnx:owner/small", places=places)
    assert other.id.fingerprint != made.id.fingerprint
    assert np.abs(other.embed(SENTENCES, "query") - made.embed(SENTENCES, "query")).max() > 1e-2
    pooling.write_text(json.dumps({"pooling_mode_weightedmean_tokens": True}))
    with pytest.raises(ModelError, match=r"combines token vectors .* does not support: weightedmean_tokens"):
        load_embedder("onnx:owner/small", places=places)


def test_networks_of_a_folder(tmp_path: Path) -> None:
    assert network_file(tmp_path) is None
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "model_qint8.onnx").touch()
    assert network_file(tmp_path) == tmp_path / "onnx" / "model_qint8.onnx"
    (tmp_path / "onnx" / "model_O4.onnx").touch()
    with pytest.raises(ModelError, match=r"several ONNX files: onnx/model_O4.onnx, onnx/model_qint8.onnx"):
        network_file(tmp_path)
    (tmp_path / "model.onnx").touch()
    assert network_file(tmp_path) == tmp_path / "model.onnx"
    (tmp_path / "onnx" / "model_int8.onnx").touch()
    assert network_file(tmp_path) == tmp_path / "onnx" / "model_int8.onnx"


def test_what_cannot_be_loaded_says_what_to_do(sentence: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"onnx:nobody: the folder does not exist.*Export it where PyTorch is"):
        load_embedder("onnx:nobody")
    with pytest.raises(
        ModelError, match=r"does not contain a model exported to ONNX.*Export the model on a machine with PyTorch"
    ):
        load_embedder(f"onnx:{sentence[0]}")
    broken = tmp_path / "broken"
    shutil.copytree(sentence[1], broken)
    (broken / "onnx" / "model_int8.onnx").write_bytes(b"no network")
    with pytest.raises(ModelError, match=r"cannot be loaded.*holds all files of an exported model"):
        load_embedder(f"onnx:{broken}")


def test_an_export_that_is_refused_leaves_nothing(sentence: tuple[Path, Path], tmp_path: Path) -> None:
    from hybrid_core.embed.onnx_model import export_model

    with pytest.raises(UsageError, match="does not run in PyTorch on this machine"):
        export_model(load_embedder("hashed:64"), tmp_path / "new")
    with pytest.raises(UsageError, match="already exists"):
        export_model(load_embedder(f"st:{sentence[0]}", device="cpu"), sentence[1])
    assert list(tmp_path.iterdir()) == []


_SEARCHES = """
import sys
from hybrid_core.embed.load import load_embedder
made = load_embedder(sys.argv[1])
made.embed(["who pays the tax"], "query")
print(sorted({"torch", "transformers", "sentence_transformers", "huggingface_hub"} & sys.modules.keys()))
"""


def test_an_exported_model_needs_no_pytorch(sentence: tuple[Path, Path]) -> None:
    told = subprocess.run(
        [sys.executable, "-c", _SEARCHES, f"onnx:{sentence[1]}"],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    assert told.stdout.strip() == "[]"
