"""Settings: which source wins, and what a mistake says."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid_core.errors import UsageError
from hybrid_pageindex.config.settings import Settings, load_settings


def test_priority_rises_from_defaults_over_the_file_and_variables_to_arguments(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("top_k: 7\nworkers: 3\nmax_cache_size: 2GB\n")
    environment = {"PAGEINDEX_STORAGE_PATH": str(tmp_path), "PAGEINDEX_WORKERS": "5", "OTHER": "x"}
    loaded = load_settings(None, environment)
    assert (loaded.top_k, loaded.workers, loaded.image_dpi) == (7, 5, Settings().image_dpi)
    assert loaded.max_cache_size == 2 * 10**9 and loaded.storage_path == tmp_path
    assert load_settings(tmp_path / "elsewhere", environment).storage_path == tmp_path / "elsewhere"
    assert load_settings(None, {}).storage_path == Path("~/.pageindex").expanduser()


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("PAGEINDEX_WORKRS", "2", "Unknown setting PAGEINDEX_WORKRS.*PAGEINDEX_WORKERS"),
        ("PAGEINDEX_WORKERS", "many", "PAGEINDEX_WORKERS is 'many'.*int"),
        ("PAGEINDEX_WORKERS", "-1", "workers is -1"),
        ("PAGEINDEX_TOP_K", "0", "top_k is 0"),
        ("PAGEINDEX_EFFORT", "hard", "effort is 'hard'.*fast, auto or deep"),
        ("PAGEINDEX_FUSION", "borda", "fusion is 'borda'.*weighted or rrf"),
        ("PAGEINDEX_RERANK", "llm", "rerank is 'llm'.*none or multi-vector"),
        ("PAGEINDEX_IMAGE_DPI", "10000", "image_dpi is 10000"),
        ("PAGEINDEX_MAX_CACHE_SIZE", "1XB", "PAGEINDEX_MAX_CACHE_SIZE is '1XB'"),
    ],
)
def test_mistakes_in_variables(tmp_path: Path, variable: str, value: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        load_settings(tmp_path, {variable: value})


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("topk: 3", "config.yaml: topk.*Did you mean top_k"),
        ("- 1", "must hold settings"),
        ("a: [", "cannot be read as YAML"),
    ],
)
def test_mistakes_in_the_file(tmp_path: Path, written: str, said: str) -> None:
    (tmp_path / "config.yaml").write_text(written)
    with pytest.raises(UsageError, match=said):
        load_settings(tmp_path, {})


def test_the_variable_of_the_evaluation_data_is_known(tmp_path: Path) -> None:
    load_settings(tmp_path, {"PAGEINDEX_EVAL_DATA": "/anywhere"})
