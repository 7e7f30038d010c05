"""Choosing an embedder, the checks that all share, extras, and the embedder without a model."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from hybrid_core.embed.embedder import checked_texts, fingerprint, in_batches, unit_rows
from hybrid_core.embed.hashed import HashedEmbedder
from hybrid_core.embed.load import load_embedder
from hybrid_core.embed.local_models import running
from hybrid_core.errors import ModelError, PageIndexError, UsageError
from hybrid_core.system import install_command, require


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("none", "no embedder.*no model can be loaded"),
        ("", "'' is not the name of an embedder.*The names of embedders have these forms: none, onnx"),
        ("hashed", "Did you mean hashed:DIM"),
        ("hashed:big", "Did you mean hashed:DIM"),
        ("hashd:256", "Did you mean hashed:DIM"),
        ("hashed:-3", "Did you mean hashed:DIM"),
        ("openai", "Did you mean openai:MODEL"),
        ("opnai:text-embedding-3-small", "Did you mean openai:MODEL"),
        ("bge-m4", "Did you mean bge-m3"),
        ("bge-m3:", "Did you mean bge-m3:PATH"),
        ("st:", "Did you mean sentence-transformers:NAME_OR_PATH"),
        ("sentence-transformer:x", "Did you mean sentence-transformers:NAME_OR_PATH"),
        ("intfloat/e5-base", "Did you mean sentence-transformers:intfloat/e5-base"),
        ("hashed:3", "Choose a dimension from 16 to 4096"),
        ("hashed:1000000", "Choose a dimension from 16 to 4096"),
    ],
)
def test_a_spec_that_names_nothing(spec: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        load_embedder(spec)


def test_specs_are_read_kindly() -> None:
    assert load_embedder(" Hashed : 64 ").id == load_embedder("hashed:64").id
    with pytest.raises(UsageError, match="batch_size of the embedder is 0"):
        load_embedder("hashed:64", batch_size=0)


@pytest.mark.parametrize("spec", ["bge-m3:{}/none", "st:{}/none", "st:~/none", "bge-m3:./none", "st:{}/file"])
def test_a_path_without_a_model(spec: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"does not exist|is a file"):
        load_embedder(spec.format(tmp_path))


@pytest.mark.parametrize(
    ("spec", "module", "extra"),
    [
        ("openai:m", "openai", "openai"),
        ("st:some/model", "sentence_transformers", "sentence-transformers"),
        ("bge-m3", "torch", "bge-m3"),
    ],
)
def test_a_missing_extra_explains_itself(spec: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(PageIndexError, match=f"extra '{extra}'.*{module}.*{re.escape(install_command(extra))}"):
        load_embedder(spec, api_key="key")


def test_an_installed_but_broken_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_one.py").write_text("from json import nothing_there")
    (tmp_path / "needs_other.py").write_text("import other_that_is_missing")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        PageIndexError, match=r"broken_one, of the extra 'x', is installed but.*nothing_there.*reinstall"
    ):
        require("broken_one", "x")
    with pytest.raises(PageIndexError, match="the package other_that_is_missing is not installed"):
        require("needs_other", "x")


def test_importing_it_imports_no_model_library() -> None:
    heavy = "{'torch', 'openai', 'sentence_transformers', 'transformers', 'FlagEmbedding'}"
    code = f"import sys, hybrid_core.llm.chat, hybrid_core.embed.load; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True)
    assert done.stdout.strip() == "set()"


def test_batches_hold_texts_of_similar_length_and_order_is_restored() -> None:
    batches: list[list[str]] = []

    def call(batch: list[str]) -> list[int]:
        batches.append(batch)
        return [len(text) for text in batch]

    texts = ["aa", "aaaaaaaa", "a", "aaaa", "aaa"]
    assert in_batches(texts, 2, call) == [2, 8, 1, 4, 3]
    assert [[len(text) for text in batch] for batch in batches] == [[8, 4], [3, 2], [1]]
    batches.clear()
    assert in_batches(texts, 4, call, characters=6) == [2, 8, 1, 4, 3]
    assert [[len(text) for text in batch] for batch in batches] == [[8], [4], [3, 2], [1]]
    assert in_batches([], 2, call) == []


def test_a_model_that_answers_another_count() -> None:
    with pytest.raises(ModelError, match="returned 1 vectors for 2 texts"):
        in_batches(["a", "b"], 2, lambda batch: batch[:1])


def test_unit_rows_by_hand() -> None:
    made = unit_rows([[3, 4], [0, -0.5], [1e200, 0], [1e-200, 1e-200]], "m")
    assert made.dtype == np.float32
    np.testing.assert_allclose(made, [[0.6, 0.8], [0, -1], [1, 0], [0.5**0.5, 0.5**0.5]], rtol=1e-6)
    assert unit_rows([], "m", 7).shape == (0, 7)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ([float("nan"), 1], "text 2 of 3 holds NaN"),
        ([None, 1], "text 2 of 3 holds NaN"),
        ([float("-inf"), 1], "text 2 of 3 holds NaN or infinity"),
        ([0, 0.0], "text 2 of 3 is zero"),
        ([1], r"text 2 of 3 has the shape \(1,\) instead of \(2,\)"),
        ([[1, 2]], r"text 2 of 3 has the shape \(1, 2\)"),
        (5, r"text 2 of 3 has the shape \(\)"),
        (["a", "b"], "text 2 of 3 is not a list of numbers"),
        ([[1, 2], [3]], "text 2 of 3 is not a list of numbers"),
    ],
)
def test_a_bad_row_is_named(row: object, said: str) -> None:
    with pytest.raises(ModelError, match=said) as caught:
        unit_rows([[1, 2], row, [3, 4]], "m")
    assert not caught.value.retryable and caught.value.advice


def test_texts_are_made_fit_for_models() -> None:
    assert checked_texts(["", "\n", "a\ud800b", "x"]) == [" ", " ", "a?b", "x"]


def test_fingerprints_keep_their_parts_apart() -> None:
    assert fingerprint("ab", "c") != fingerprint("a", "bc") and fingerprint("a", 1) == fingerprint("a", "1")


def test_hashed_vectors_follow_shared_words() -> None:
    embedder = HashedEmbedder(512)
    rows = embedder.embed(
        ["Capital expenditures in 2018", "The capital expenditure of FY2018", "Dividends paid to shareholders"],
        "document",
    )
    assert rows[0] @ rows[1] > 0.99, "the same terms after stemming"
    assert abs(rows[0] @ rows[2]) < 0.2


def test_hashed_vectors_are_the_same_on_every_machine() -> None:
    """Stored vectors outlive a version of this code: a change here needs a new fingerprint."""
    signs = HashedEmbedder(16).embed(["revenue"], "document")[0] * 4
    assert "".join("+" if sign > 0 else "-" for sign in signs) == "++--+++++++++-++"
    assert load_embedder("hashed:16").id.fingerprint != load_embedder("hashed:17").id.fingerprint


def test_hashed_words_count_by_the_logarithm_of_how_often_they_occur() -> None:
    embedder = HashedEmbedder(4096)
    once, often = embedder.embed(["debt tax", "debt debt debt tax"], "document")
    tax = embedder.embed(["tax"], "query")[0]
    assert tax @ once == pytest.approx(2**-0.5, abs=0.03)
    assert tax @ often == pytest.approx((1 + (1 + np.log(3)) ** 2) ** -0.5, abs=0.03)


@pytest.mark.parametrize(
    ("raised", "reason"), [(KeyError(), "the model's library gives no reason"), (OSError("a\n b"), "a b")]
)
def test_a_failure_of_a_library_is_told_without_the_name_of_its_class(raised: Exception, reason: str) -> None:
    with pytest.raises(ModelError) as told, running("bge"):
        raise raised
    assert told.value.message == f"bge failed ({reason})."


def test_a_missing_extra_is_named_in_the_words_of_each_interface() -> None:
    with pytest.raises(PageIndexError) as raised:
        require("nothing_there", "ocr")
    advice = raised.value.advice
    assert "in the environment that the engine runs in" in advice, "a reader of the page may sit at another machine"
    assert advice.command == f"Install it with: {install_command('ocr')}"


@pytest.mark.parametrize(
    ("record", "command"),
    [
        ({"url": "file:///x", "dir_info": {"editable": True}}, "pip install -e '.[ocr]' (in the checkout)"),
        ({"url": "file:///x", "dir_info": {}}, "pip install '.[ocr]' (in the checkout)"),
        ({"url": "file:///x.whl", "archive_info": {}}, "pip install 'hybrid-pageindex[ocr]'"),
        (None, "pip install 'hybrid-pageindex[ocr]'"),
    ],
)
def test_an_extra_is_installed_as_the_project_was(
    record: object, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Installed:
        def read_text(self, name: str) -> str | None:
            return json.dumps(record) if record and name == "direct_url.json" else None

    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Installed())
    assert install_command("ocr") == command


def test_an_extra_of_a_project_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.distribution", missing)
    assert install_command("ocr", " --force-reinstall") == "pip install 'hybrid-pageindex[ocr]' --force-reinstall"
