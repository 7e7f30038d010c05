"""What tests share: homes, an engine, the command line as a process, a small indexed library."""

from __future__ import annotations

import contextlib
import functools
import gc
import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

from hybrid_pageindex import Engine, run
from hybrid_pageindex.cli import main
from hybrid_pageindex.config.settings import Settings
from tests import homes, pdfs, postgres

pytest_plugins = ["tests.tiers", "tests.required"]

# How long an example, or making one, takes says nothing on a busy machine.
BUSY = [hypothesis.HealthCheck.too_slow]
hypothesis.settings.register_profile("project", deadline=None, suppress_health_check=BUSY)
# --hypothesis-profile repeatable: the same examples each time, so that a change is judged by what it changes.
hypothesis.settings.register_profile("repeatable", parent=hypothesis.settings.get_profile("project"), derandomize=True)
hypothesis.settings.register_profile("endurance", parent=hypothesis.settings.get_profile("project"), max_examples=2000)
hypothesis.settings.load_profile("project")

# A shell that runs the tests in the background has them ignore Ctrl-C, and processes they start inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

Cli = Callable[..., subprocess.CompletedProcess[str]]

# A developer's own settings must not reach the tests, nor what tables are fitted to; servers here need no proxy.
_SHOWN = ("COLUMNS", "LINES", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
for name in list(os.environ):
    own = name.startswith("PAGEINDEX_") and name not in ("PAGEINDEX_EVAL_DATA", "PAGEINDEX_QDRANT_BINARY")
    if own or name.lower().endswith("_proxy") or name in _SHOWN:
        del os.environ[name]
os.environ["PAGEINDEX_OUTLINE"] = "fast"  # the layout model takes most of a small file's time: see default_outlines


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """What is imported stays: looking for garbage in it takes a quarter of the time, now and in every test."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--catalog", choices=["sqlite", "postgresql"], default="sqlite",
        help="what holds the catalogs of engines and command lines; each test has a database of its own",
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _home_of_its_own(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    if request.config.getoption("--catalog") == "postgresql":
        shares = "library" in request.fixturenames
        url = request.getfixturevalue("library_url" if shares else "postgres_url")
        monkeypatch.setenv(homes.VARIABLE, url if shares else postgres.new_database(url))


@pytest.fixture
def default_outlines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refine outlines as a user's engine does; elsewhere the tests ask for the fast ones."""
    monkeypatch.delenv("PAGEINDEX_OUTLINE")


@pytest.fixture
def in_a_file(request: pytest.FixtureRequest) -> None:
    """For tests that look into the file of a catalog."""
    if request.config.getoption("--catalog") != "sqlite":
        pytest.skip("it looks into the catalog's file")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = Engine(tmp_path / "home")
    yield made
    made.close()


@pytest.fixture(scope="session")
def filings(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return pdfs.fiscal_reports(tmp_path_factory.mktemp("filings"))


@pytest.fixture(scope="session")
def databases(request: pytest.FixtureRequest) -> Callable[[], str]:
    """Makes a database for the catalog of a home that several tests share; gives "" where a file is that."""
    if request.config.getoption("--catalog") == "sqlite":
        return str
    return functools.partial(postgres.new_database, request.getfixturevalue("postgres_url"))


@pytest.fixture(scope="session")
def library_url(databases: Callable[[], str]) -> str:
    return databases()


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory, filings: list[Path], library_url: str) -> Iterator[Engine]:
    """Four invented filings and a book with bookmarks, indexed once; tests must not change it."""
    home = tmp_path_factory.mktemp("library")
    book = pdfs.bookmarked(home / "book.pdf")
    engine = Engine(settings=Settings(storage_path=home / "home", postgres_url=library_url))
    report = run(engine.index([*filings, book]))
    assert [file.status for file in report.files] == ["indexed"] * 5
    yield engine
    engine.close()


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Run the command line: ``cli("index", path)``; its home is below tmp_path.

    In this process, since it takes ten times as long to begin one; ``program`` has one of its own.
    """

    def call(*arguments: object, home: Path | None = None) -> subprocess.CompletedProcess[str]:
        typed = ["--home", str(home or tmp_path / "home"), *map(str, arguments)]
        out, error = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            try:
                code = main(typed)
            except SystemExit as end:
                code = int(end.code or 0)
        said, told = (stream.buffer.getvalue().decode() for stream in (out, error))  # type: ignore[attr-defined]
        return subprocess.CompletedProcess(typed, code, said, told)

    return call


@pytest.fixture
def program(tmp_path: Path) -> Cli:
    """As ``cli``, in a process of its own, as users run it."""

    def call(*arguments: object, home: Path | None = None, timeout: float = 600) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "hybrid_pageindex", "--home", str(home or tmp_path / "home"), *map(str, arguments)],
            capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip

    return call


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    with postgres.server() as server:
        yield server.url


@pytest.fixture(scope="module")
def own_postgres() -> Iterator[postgres.Server]:
    """Start a server that tests may stop. A busy machine starts it slowly, so connections wait for it longer."""
    with postgres.server() as server, pytest.MonkeyPatch.context() as patch:
        patch.setattr("hybrid_core.store.postgres._PATIENCE", 300.0)
        yield server
