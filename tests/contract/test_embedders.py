"""What every ``Embedder`` must do. A new backend adds one line to ``BACKENDS``."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid_core.embed.embedder import Embedder, Kind, MultiVectorEmbedder, SparseEmbedder
from hybrid_core.embed.load import load_embedder
from hybrid_core.errors import UsageError
from tests import tiny_models

pytestmark = pytest.mark.slow

Load = Callable[..., Embedder]  # called with batch_size


def _hashed(folder: Path, stack: ExitStack) -> Load:
    return lambda **options: load_embedder("hashed:256", **options)


def _hashed_m3(folder: Path, stack: ExitStack) -> Load:
    return lambda **options: load_embedder("hashed-m3:256", **options)


def _sentence_transformers(folder: Path, stack: ExitStack) -> Load:
    pytest.importorskip("sentence_transformers", reason="the extra sentence-transformers is not installed")
    made = tiny_models.sentence_transformer(folder)
    return lambda **options: load_embedder(f"sentence-transformers:{made}", device="cpu", **options)


def _bge_m3(folder: Path, stack: ExitStack) -> Load:
    pytest.importorskip("FlagEmbedding", reason="the extra bge-m3 is not installed")
    made = tiny_models.bge_m3(folder)
    return lambda **options: load_embedder(f"bge-m3:{made}", device="cpu", **options)


def _onnx(folder: Path, stack: ExitStack) -> Load:
    for module in ("sentence_transformers", "onnxscript"):
        pytest.importorskip(module, reason="the extra export is not installed")
    from hybrid_core.embed.onnx_model import export_model

    model = load_embedder(f"sentence-transformers:{tiny_models.sentence_transformer(folder)}", device="cpu")
    export_model(model, folder / "onnx")
    return lambda **options: load_embedder(f"onnx:{folder / 'onnx'}", **options)


def _openai(folder: Path, stack: ExitStack) -> Load:
    pytest.importorskip("openai", reason="the extra openai is not installed")
    server = stack.enter_context(tiny_models.embedding_server())
    return lambda **options: load_embedder("openai:m", base_url=server.url, **options)


BACKENDS: dict[str, Callable[[Path, ExitStack], Load]] = {
    "hashed": _hashed,
    "hashed-m3": _hashed_m3,
    "sentence-transformers": _sentence_transformers,
    "bge-m3": _bge_m3,
    "onnx": _onnx,
    "openai": _openai,
}
KINDS: tuple[Kind, Kind] = ("query", "document")
# As much as batches of different padding, and threads, may change a float32 sum.
CLOSE = {"rtol": 0, "atol": 2e-5}


@pytest.fixture(scope="module", params=BACKENDS)
def load(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Load]:
    with ExitStack() as stack:
        yield BACKENDS[request.param](tmp_path_factory.mktemp("model"), stack)


@pytest.fixture(scope="module")
def embedder(load: Load) -> Iterator[Embedder]:
    """Batches of three, so that a handful of texts already takes several."""
    made = load(batch_size=3)
    yield made
    made.close()


def check(vectors: np.ndarray, count: int, embedder: Embedder) -> None:
    assert vectors.dtype == np.float32 and vectors.shape == (count, embedder.id.dimension)
    assert np.isfinite(vectors).all()
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_unit_and_in_the_order_of_the_texts(embedder: Embedder, kind: Kind) -> None:
    texts = [*tiny_models.SENTENCES, "a", "revenue " * 20, "Sales in 2018."]
    vectors = embedder.embed(texts, kind)
    check(vectors, len(texts), embedder)
    one_by_one = np.concatenate([embedder.embed([text], kind) for text in texts])
    np.testing.assert_allclose(vectors, one_by_one, **CLOSE)
    assert np.abs(vectors[0] - vectors[1]).max() > 100 * CLOSE["atol"], "the texts must differ for this to say anything"


@pytest.mark.parametrize("kind", KINDS)
def test_no_texts(embedder: Embedder, kind: Kind) -> None:
    check(embedder.embed([], kind), 0, embedder)
    check(embedder.embed((), kind), 0, embedder)


def test_blank_texts_have_the_vector_of_a_space(embedder: Embedder) -> None:
    vectors = embedder.embed(["", " ", "\n\t \n", "profit"], "document")
    check(vectors, 4, embedder)
    np.testing.assert_allclose(vectors[1:3], vectors[[0, 0]], **CLOSE)
    assert vectors[0] @ vectors[3] < 0.999


def test_overlong_and_odd_texts(embedder: Embedder) -> None:
    odd = ["debt was repaid " * 3000, "\x00\x07", "half a pair: \ud83d", "数" * 500, "🦆", "the of and", "-" * 5000]
    check(embedder.embed(odd, "document"), len(odd), embedder)


def test_the_same_again(load: Load, embedder: Embedder) -> None:
    texts = list(tiny_models.SENTENCES)
    first = embedder.embed(texts, "document")
    np.testing.assert_array_equal(first, embedder.embed(texts, "document"))
    other = load(batch_size=100)
    assert other.id == embedder.id, "a batch size decides no vector"
    np.testing.assert_allclose(first, other.embed(texts, "document"), **CLOSE)
    other.close()


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(texts=st.lists(st.text(max_size=60), max_size=8), seed=st.randoms(use_true_random=False))
def test_a_vector_depends_on_its_text_alone(embedder: Embedder, texts: list[str], seed: random.Random) -> None:
    vectors = embedder.embed(texts, "document")
    check(vectors, len(texts), embedder)
    order = list(range(len(texts)))
    seed.shuffle(order)
    np.testing.assert_allclose(embedder.embed([texts[i] for i in order], "document"), vectors[order], **CLOSE)


def test_its_id_says_what_made_the_vectors(embedder: Embedder) -> None:
    made = embedder.id
    assert made == embedder.id and made.dimension > 0
    assert re.fullmatch(r"(hashed(-m3)?|sentence-transformers|bge-m3|onnx|openai):\S+", made.name)
    assert re.fullmatch("[0-9a-f]{16}", made.fingerprint)


def test_several_threads(embedder: Embedder) -> None:
    texts = list(tiny_models.SENTENCES)
    expected = embedder.embed(texts, "document")
    made: list[np.ndarray] = []
    threads = [
        threading.Thread(target=lambda: made.extend(embedder.embed(texts, "document") for _ in range(5)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 20
    for vectors in made:
        np.testing.assert_allclose(vectors, expected, **CLOSE)


def test_wrong_calls(embedder: Embedder) -> None:
    with pytest.raises(UsageError, match="are not a list of strings"):
        embedder.embed("one text", "query")
    with pytest.raises(UsageError, match="are not a list of strings"):
        embedder.embed(["a", None], "query")  # type: ignore[list-item]
    with pytest.raises(UsageError, match=r"The parameter kind of an embedder is 'passage'.*query or document"):
        embedder.embed(["a"], "passage")  # type: ignore[arg-type]


def test_closed(load: Load) -> None:
    embedder = load()
    embedder.embed(["a"], "query")
    known = embedder.id
    embedder.close()
    embedder.close()
    assert embedder.id == known
    with pytest.raises(UsageError, match="is closed"):
        embedder.embed(["a"], "query")


def test_what_it_can_do_beyond_is_said_by_its_type(embedder: Embedder) -> None:
    more = embedder.id.name.startswith(("bge-m3", "hashed-m3"))
    assert isinstance(embedder, SparseEmbedder) is more
    assert isinstance(embedder, MultiVectorEmbedder) is more


@pytest.mark.parametrize("kind", KINDS)
def test_term_weights_come_with_the_same_vectors(embedder: Embedder, kind: Kind) -> None:
    if not isinstance(embedder, SparseEmbedder):
        pytest.skip("gives no term weights")
    texts = [*tiny_models.SENTENCES, "", "revenue " * 20, "\x00 half a pair: \ud83d 数"]
    vectors, weights = embedder.embed_both(texts, kind)
    np.testing.assert_allclose(vectors, embedder.embed(texts, kind), **CLOSE)
    assert len(weights) == len(texts) and sum(map(bool, weights)) >= len(tiny_models.SENTENCES)
    for held in weights:
        assert all(0 <= token < 2**32 and 0 < weight < 1000 for token, weight in held.items())
    one_by_one = [embedder.embed_both([text], kind)[1][0] for text in texts]
    for held, alone in zip(weights, one_by_one, strict=True):
        assert held == pytest.approx(alone, abs=2e-5)
    empty = embedder.embed_both([], kind)
    assert empty[0].shape == (0, embedder.id.dimension) and empty[1] == []


def test_token_by_token_a_text_is_nearest_to_itself(embedder: Embedder) -> None:
    if not isinstance(embedder, MultiVectorEmbedder):
        pytest.skip("does not compare token by token")
    scores = embedder.colbert_scores(tiny_models.SENTENCES[3], [*tiny_models.SENTENCES, "", "x"])
    assert scores.dtype == np.float32 and scores.shape == (7,) and np.isfinite(scores).all()
    assert scores.argmax() == 3 and scores[3] == pytest.approx(1, abs=1e-5)
    assert embedder.colbert_scores("tax", []).shape == (0,)


def test_closed_it_does_nothing_more(load: Load) -> None:
    embedder = load()
    embedder.close()
    if not (isinstance(embedder, SparseEmbedder) and isinstance(embedder, MultiVectorEmbedder)):
        pytest.skip("can do nothing beyond")
    with pytest.raises(UsageError, match="is closed"):
        embedder.embed_both(["a"], "query")
    with pytest.raises(UsageError, match="is closed"):
        embedder.colbert_scores("a", ["b"])
