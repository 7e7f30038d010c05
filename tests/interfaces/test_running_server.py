"""The command ``search`` asks a server that runs on its home, and searches alone where there is none that fits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from hybrid_pageindex import Engine, run
from tests.interfaces.http.conftest import MILL, SOLD, Serving, serving

pytestmark = pytest.mark.slow

BLOCKED = "import sys; sys.modules['hybrid_pageindex.engine.engine'] = None\n"
"""A process that begins so cannot search by itself."""


def search(home: Path, *arguments: str, alone: bool = True, **settings: Any) -> subprocess.CompletedProcess[str]:
    """Search in a new process. It can also search by itself if ``alone``."""
    typed = ["--home", str(home), "search", SOLD, *arguments]
    script = f"from hybrid_pageindex.cli.main import main\nraise SystemExit(main({typed!r}))"
    command = [sys.executable, "-c", script if alone else BLOCKED + script]
    return subprocess.run(command, env=os.environ | settings, capture_output=True, text=True)


def result(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    shape: dict[str, Any] = json.loads(done.stdout)
    del shape["timings_ms"]
    return shape


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("running")
    for name in ("mill", "weir", "barn"):
        (folder / f"{name}.md").write_text(MILL.replace("mill", name))
    engine = Engine(folder / "home")
    run(engine.index(folder))
    engine.close()
    return folder / "home"


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Serving]:
    with serving(home) as running:
        yield running


@pytest.mark.parametrize("options", [(), ("--top-k", "2"), ("--doc", "mill.md"), ("--mmr", "0.5")], ids=" ".join)
def test_its_result_is_the_same(home: Path, server: Serving, options: tuple[str, ...]) -> None:
    by_server = search(home, "--json", *options, alone=False)
    assert result(by_server) == result(search(home, "--json", "--no-daemon", *options))


def test_its_text_is_the_same(home: Path, server: Serving) -> None:
    by_server, alone = search(home, "--why", alone=False), search(home, "--why", "--no-daemon")
    assert by_server.returncode == 0 and "1987" in by_server.stdout
    assert by_server.stdout.splitlines()[1:] == alone.stdout.splitlines()[1:]  # the first line has the time


@pytest.mark.parametrize(
    "settings",
    [{"PAGEINDEX_TOP_K": "1"}, {"PAGEINDEX_EXPERT": "none"}, {"PAGEINDEX_LLM_MODEL": "x", "PAGEINDEX_EFFORT": "deep"}],
    ids=lambda settings: next(iter(settings)),
)
def test_a_process_with_other_settings_searches_alone(home: Path, server: Serving, settings: dict[str, Any]) -> None:
    assert search(home, "--json", alone=False, **settings).returncode != 0
    assert len(result(search(home, "--json", "--effort", "fast", **settings))["results"]) >= 1


def test_errors_are_those_of_the_command(home: Path, server: Serving) -> None:
    for options in (("--library", "none"), ("--doc", "none.md"), ("--where", "nonsense")):
        by_server, alone = search(home, *options), search(home, "--no-daemon", *options)
        assert by_server.returncode == alone.returncode != 0
        assert by_server.stderr == alone.stderr


def test_its_secret_reads_and_no_more(home: Path, server: Serving) -> None:
    record = home / "server.json"
    if os.name == "posix":
        assert record.stat().st_mode & 0o777 == 0o600
    secret = json.loads(record.read_text())["secret"]
    with httpx.Client(base_url=server.api, headers={"Authorization": f"Bearer {secret}"}) as client:
        assert client.post("/search", json={"question": SOLD}).status_code == 200
        assert client.delete("/libraries/default").status_code == 403
        assert client.get("/settings").status_code == 403
        assert client.post("/session", json={"token": secret}).status_code == 401


def test_the_record_goes_with_the_server_or_is_harmless(home: Path, tmp_path: Path) -> None:
    with serving(home):
        assert (home / "server.json").is_file()
    assert not (home / "server.json").exists()
    with serving(home) as killed:
        killed.process.kill()
        killed.process.wait()
        assert (home / "server.json").is_file()
        assert result(search(home, "--json"))["results"]
    for damaged in ("", "[]", '{"url": 5, "secret": "x", "stamp": "y"}', "\0"):
        (home / "server.json").write_text(damaged)
        assert result(search(home, "--json"))["results"]
    (home / "server.json").unlink()
