"""Settings: which source wins, and what a mistake says."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path

import pytest

from hybrid_core.errors import UsageError
from hybrid_pageindex import Engine, run
from hybrid_pageindex.cli.parser import build_parser
from hybrid_pageindex.config.changes import shown
from hybrid_pageindex.config.settings import Settings, load_settings
from tests import pdfs


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
        ("PAGEINDEX_WORKRS", "2", "The setting PAGEINDEX_WORKRS does not exist.*PAGEINDEX_WORKERS"),
        ("PAGEINDEX_WORKERS", "many", "PAGEINDEX_WORKERS is 'many'.*int"),
        ("PAGEINDEX_WORKERS", "-1", "workers is -1"),
        ("PAGEINDEX_TOP_K", "0", "top_k is 0"),
        ("PAGEINDEX_EFFORT", "hard", "effort is 'hard'.*fast, auto or deep"),
        ("PAGEINDEX_FUSION", "borda", "fusion is 'borda'.*weighted or rrf"),
        ("PAGEINDEX_RERANK", "llm", "rerank is 'llm'.*none, multi-vector or server"),
        ("PAGEINDEX_IMAGE_DPI", "10000", "image_dpi is 10000"),
        ("PAGEINDEX_LLM_BASE_URL", "file:///etc/passwd", "llm_base_url is 'file:.*http:// or https://"),
        ("PAGEINDEX_VLM_BASE_URL", "gopher://host/", "vlm_base_url is 'gopher:.*http:// or https://"),
        ("PAGEINDEX_EMBEDDING_BASE_URL", "host:80", "embedding_base_url is 'host:80'.*http:// or https://"),
        ("PAGEINDEX_MAX_CACHE_SIZE", "1XB", "PAGEINDEX_MAX_CACHE_SIZE is '1XB'"),
    ],
)
def test_mistakes_in_variables(tmp_path: Path, variable: str, value: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        load_settings(tmp_path, {variable: value})


def test_a_secret_may_be_in_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("a long random word\n")
    variable = {"PAGEINDEX_HTTP_TOKEN_FILE": str(secret)}
    assert load_settings(tmp_path, variable).http_token == "a long random word"
    for more, said in [
        ({"PAGEINDEX_HTTP_TOKEN": "another"}, "Both PAGEINDEX_HTTP_TOKEN and PAGEINDEX_HTTP_TOKEN_FILE are set"),
        ({"PAGEINDEX_HTTP_TOKEN_FILE": str(tmp_path / "none")}, "none cannot be read .No such file"),
        ({"PAGEINDEX_TOP_K_FILE": str(secret)}, "The setting PAGEINDEX_TOP_K_FILE does not exist"),
    ]:
        with pytest.raises(UsageError, match=said):
            load_settings(tmp_path, variable | more)
    secret.write_text("")
    with pytest.raises(UsageError, match="is empty"):
        load_settings(tmp_path, variable)


def test_every_key_and_token_may_be_in_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("http://one:word@localhost/1")
    named = [one.name for one in fields(Settings) if one.name.endswith(("_key", "_token"))]
    assert "objects_access_key" in named
    for name in (*named, "postgres_url", "redis_url"):
        settings = load_settings(tmp_path, {f"PAGEINDEX_{name.upper()}_FILE": str(secret)})
        assert getattr(settings, name) == secret.read_text() and "one:word" not in repr(settings)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("topk: 3", "config.yaml: topk.*Did you mean top_k"),
        ("- 1", "must contain lines of the form"),
        ("a: [", "is not valid YAML"),
    ],
)
def test_mistakes_in_the_file(tmp_path: Path, written: str, said: str) -> None:
    (tmp_path / "config.yaml").write_text(written)
    with pytest.raises(UsageError, match=said):
        load_settings(tmp_path, {})


def test_the_variable_of_the_evaluation_data_is_known(tmp_path: Path) -> None:
    load_settings(tmp_path, {"PAGEINDEX_EVAL_DATA": "/anywhere"})


def test_defaults_stand_the_look_that_is_taken_at_what_is_set() -> None:
    from hybrid_pageindex.config.checking import checked

    usual = {one.name: one.default for one in fields(Settings)}
    assert checked(usual) == usual


def test_settings_stay_as_they_are_and_others_are_made_of_them() -> None:
    settings = Settings(max_cache_size="2GB", storage_path="home")  # type: ignore[arg-type]
    assert settings.max_cache_size == 2 * 10**9 and settings.storage_path == Path("home")
    with pytest.raises(FrozenInstanceError):
        settings.top_k = 3  # type: ignore[misc]
    assert replace(settings, top_k=3).max_cache_size == settings.max_cache_size
    with pytest.raises(UsageError, match="It must be at least 1"):
        replace(settings, range_pages=0)


def test_nothing_set_needs_no_pydantic() -> None:
    asked = "import sys; from hybrid_pageindex.config.settings import load_settings; load_settings('/none', {});"
    told = subprocess.run([sys.executable, "-c", f"{asked} print('pydantic' in sys.modules)"], capture_output=True)
    assert told.stdout == b"False\n", told.stderr


def test_an_option_says_what_its_setting_says() -> None:
    typed = build_parser().parse_args(["search", "q"])
    assert (typed.top_k, typed.mmr, typed.fusion) == (None, None, None), "what is not typed is the setting's"
    with pytest.raises(UsageError, match="invalid choice: 'borda'"):
        build_parser().parse_args(["search", "q", "--fusion", "borda"])


def test_numbers_that_rank_can_be_set_in_the_file_and_by_variables(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("scoring:\n  pages: {headings: 0}\n  first_stage.rrf_k: 30\nmmr: 0.5\n")
    settings = load_settings(tmp_path, {})
    assert (settings.scoring.pages.headings, settings.scoring.first_stage.rrf_k) == (0, 30)
    with closing(Engine(settings=settings)) as engine:
        asked = engine.request("q")
    assert (asked.scoring, asked.mmr) == (settings.scoring, 0.5)
    for name, value in (("SCORING__PAGES__HEADINGS", "0.3"), ("SCORING", '{"pages.headings": 0.3}')):
        assert load_settings(tmp_path, {f"PAGEINDEX_{name}": value}).scoring.pages.headings == 0.3
    with pytest.raises(UsageError, match=r"'pages\.neighbors' is not a ranking parameter"):
        load_settings(tmp_path, {"PAGEINDEX_SCORING__PAGES__NEIGHBORS": "0.3"})
    with pytest.raises(UsageError, match="not valid JSON"):
        load_settings(tmp_path, {"PAGEINDEX_SCORING": "{"})


SECRETS = tuple(field.name for field in fields(Settings) if not field.repr)


@pytest.mark.parametrize("name", SECRETS)
def test_no_secret_is_shown_or_left_to_others(tmp_path: Path, name: str) -> None:
    """Addresses of databases hold passwords too."""
    assert {"postgres_url", "redis_url", "llm_api_key", "http_token"} <= set(SECRETS)
    tmp_path.chmod(0o755)
    file = tmp_path / "config.yaml"
    file.write_text(f"{name}: redis://user:open-sesame-1234@localhost/0\n")
    file.chmod(0o644)
    settings = load_settings(tmp_path, {})
    assert "sesame" in getattr(settings, name)
    assert "sesame" not in str(shown(settings)) and "sesame" not in str(shown(settings, owner=True))
    assert "sesame" not in repr(settings)
    assert file.stat().st_mode & 0o077 == 0


def test_advice_on_unread_pages_follows_a_changed_setting(tmp_path: Path) -> None:
    pdfs.scanned(tmp_path / "notes.pdf", pages=2)
    settings = replace(load_settings(tmp_path / "home", {}), ocr="never")
    with closing(Engine(settings=settings)) as engine:
        run(engine.index(tmp_path / "notes.pdf"))
        before = " ".join(run(engine.search("Who delivered the sand?")).notes)
        run(engine.admin.change_settings({"ocr": "auto", "ocr_languages": "eng"}))
        after = " ".join(run(engine.search("Who delivered the sand?")).notes)
    assert "OCR is switched off by the setting ocr" in before
    assert "OCR is switched off" not in after and "index" in after
