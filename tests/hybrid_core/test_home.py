"""A home is its owner's alone: every folder 0700, every file 0600, whatever the umask and whoever made it before."""

from __future__ import annotations

import logging
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_core.store.home import open_home
from hybrid_pageindex import Engine, run
from hybrid_pageindex.config.settings import load_settings
from tests.conftest import Cli


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(home: Path) -> dict[str, str]:
    """Places in a home, the home's own among them, whose rights are not what they should be."""
    wrong = {}
    for place in (home, *home.rglob("*")):
        found = stat.S_IMODE(place.stat().st_mode)
        if found != (0o700 if place.is_dir() else 0o600):
            wrong[str(place)] = oct(found)
    return wrong


def test_a_new_home_is_private_whatever_the_umask(tmp_path: Path, filings: list[Path], umask: int) -> None:
    engine = Engine(tmp_path / "user" / "home")
    other = Engine(engine.home)
    try:
        run(engine.index(filings[:2], workers=1))
        assert run(engine.search("net sales")).results
        assert run(other.search("net sales")).results, "from a copy of the index in a private folder"
        made = {place.name for place in engine.home.rglob("*")}
        assert {"catalog.sqlite", "catalog.sqlite-wal", "state.json", "owner.lock", "private"} <= made
        assert not modes(engine.home)
    finally:
        other.close()
        engine.close()
    assert not modes(engine.home)


def test_an_older_home_is_closed_when_it_is_opened(tmp_path: Path, filings: list[Path]) -> None:
    home = tmp_path / "home"
    with_documents = Engine(home)
    run(with_documents.index(filings[0], workers=1))
    run(with_documents.search("net sales"))
    with_documents.close()
    (home / "config.yaml").write_text("top_k: 3\n")
    for place in (home, *home.rglob("*")):
        place.chmod(0o755 if place.is_dir() else 0o644)
    again = Engine(home)
    assert run(again.documents.list())
    again.close()
    assert not modes(home)


def test_a_folder_that_is_not_ours_alone_keeps_its_rights(tmp_path: Path) -> None:
    for name, mode in (("project", 0o755), ("shared", 0o1777)):
        home = tmp_path / name
        (home / "source").mkdir(parents=True)
        (home / "source" / "run.sh").touch(0o755)
        (home / "catalog.sqlite").touch(0o644)
        home.chmod(mode)
        open_home(home)
        assert stat.S_IMODE(home.stat().st_mode) == mode
        assert (home / "source" / "run.sh").stat().st_mode & 0o777 == 0o755
        assert (home / "catalog.sqlite").stat().st_mode & 0o777 == 0o600
        shutil.rmtree(home)


def test_a_key_that_others_could_read_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, program: Cli
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    file = home / "config.yaml"
    file.write_text("llm_api_key: sesame-open\nmcp_token: a-long-token-of-letters\ntop_k: 3\n")
    file.chmod(0o644)
    first = program("libraries", home=home)
    assert "llm_api_key and mcp_token" in first.stderr and "mode 644" in first.stderr
    assert "sesame" not in first.stderr and first.stderr.count("\n") == 1
    assert file.stat().st_mode & 0o777 == 0o600
    assert program("libraries", home=home).stderr == ""
    file.write_text("top_k: 3\n")
    file.chmod(0o644)
    home.chmod(0o755)
    with caplog.at_level(logging.WARNING):
        load_settings(home)
    assert not caplog.text, "nothing in it is secret"
