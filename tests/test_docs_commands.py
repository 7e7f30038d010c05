"""Commands and snippets of the documentation work as they are written, page by page, in a home of their own.

A comment ``<!-- not run: REASON -->`` before a block leaves it out. ``<!-- run with SERVICE -->`` starts a service of
``SERVICES`` for the block, and puts its address in place of the one that is written. Lines of a console block that
begin with ``$`` are commands; a line that ends with a backslash goes on; a line that begins with ``>`` is typed.
Commands that go on until Ctrl-C get it. Variables that a block exports stay set for the blocks that follow, until the
service changes. Packages are not installed: the extras that ``pip install`` names must exist. The files that pages name
are made from the sample report.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from hybrid_pageindex import Engine, run
from hybrid_pageindex.sample import main as write_sample
from tests import postgres, qdrant_real, redis_real
from tests.doubles.scripted_server import scripted_server

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / ".github").glob("*.md"))]
BLOCK = re.compile(
    r"^(?: *<!-- (?:not run: (?P<reason>.+?)|run with (?P<service>.+?)) -->\n)?(?P<indent> *)"
    r"```(?P<kind>console|python)\n(?P<text>.*?)^ *```$",
    re.M | re.S,
)
FENCE = re.compile(r"^ *(?:`{3,}|~{3,})[ \t]*(?:console|python|bash|sh|shell|py|pycon)\b", re.M | re.I)
REPORTS = ("report.pdf", "report-2023.pdf", "report-2024.pdf", "report-2025.pdf", "q1.pdf", "q2.pdf", "a.pdf")
LASTING = re.compile(r"hybrid-pageindex (serve|worker|watch(?! (add|remove|list)))|celery -A")
SECONDS = 120
FOLDERS = (".", "Documents/reports", "filings", "reports", "documents", "scans/2025")

pytestmark = pytest.mark.usefixtures("default_outlines")


class Block(NamedTuple):
    kind: str
    text: str
    line: int
    reason: str
    service: str = ""


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            found["kind"],
            textwrap.dedent(found["text"]),
            text[: found.start("text")].count("\n") + 1,
            found["reason"] or "",
            found["service"] or "",
        )
        for found in BLOCK.finditer(text)
    ]


def commands(block: Block) -> Iterator[str]:
    for line in block.text.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            yield line[2:].strip()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a user's folder with the files that the pages name, indexed."""
    folder = tmp_path_factory.mktemp("prepared")
    assert write_sample([str(folder / "sample.pdf")]) == 0
    for name in (*REPORTS, *(f"{name}/annual-report.pdf" for name in FOLDERS)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / "sample.pdf", folder / name)
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / "hybrid-pageindex").mkdir()
    (folder / "lease.md").write_text("# Lease\n\nThe tenant indemnifies the owner.\nA change of control ends it.\n")
    (folder / "old.md").write_text("# Terms\n\n## Fees\n\nThe fee is 10.\n")
    (folder / "new.md").write_text("# Terms\n\n## Fees\n\nThe fee is 12.\n\n## Notice\n\nThree months.\n")
    engine = Engine(folder / ".pageindex")
    report = run(engine.index([*(folder / name for name in REPORTS), *folder.glob("*.md")]))
    assert all(file.status == "indexed" for file in report.files)
    engine.close()
    return folder


@pytest.fixture
def desk(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give the page under test that folder as its home folder and working directory, and restore the index after it."""
    kept = shutil.copytree(prepared / ".pageindex", tmp_path / "kept")
    for name in [name for name in os.environ if name.startswith("PAGEINDEX_") and name != qdrant_real.VARIABLE]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(prepared))
    monkeypatch.setenv("BROWSER", "true")  # `serve --open` opens none
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(prepared)
    yield prepared
    shutil.rmtree(prepared / ".pageindex", ignore_errors=True)
    shutil.move(kept, prepared / ".pageindex")


@contextmanager
def http_server(desk: Path) -> Iterator[Mapping[str, str]]:
    command = [sys.executable, "-m", "hybrid_pageindex", "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=desk, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            address = next(filter(None, (re.search(r"http://\S+?(?=/#)", line) for line in process.stderr)))[0]
            yield {"http://127.0.0.1:8323": address}
        finally:
            process.send_signal(signal.SIGINT)


@contextmanager
def model(desk: Path) -> Iterator[Mapping[str, str]]:
    with scripted_server(lambda request: '{"page": 3, "word": "river"}') as server:
        yield {"http://localhost:11434/v1": server.url}


@contextmanager
def database(desk: Path) -> Iterator[Mapping[str, str]]:
    """Start a PostgreSQL server with an empty database ``reports``; `createdb` and its kin use it by default."""
    with postgres.server() as server, pytest.MonkeyPatch.context() as patch:
        user, host, port = re.search(r"//(\w+)@([\d.]+):(\d+)", server.url).groups()  # type: ignore[union-attr]
        for name, text in (("PGUSER", user), ("PGHOST", host), ("PGPORT", port)):
            patch.setenv(name, text)
        postgres.ordered(server.url, "CREATE DATABASE reports")
        yield {"user:password@localhost": f"{user}@{host}:{port}"}


@contextmanager
def qdrant(desk: Path) -> Iterator[Mapping[str, str]]:
    if qdrant_real.program() is None:
        pytest.skip(qdrant_real.REASON)
    with qdrant_real.node() as url, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PAGEINDEX_QDRANT_URL", url)
        yield {"http://localhost:6333": url}


@contextmanager
def redis(desk: Path) -> Iterator[Mapping[str, str]]:
    with redis_real.running() as server:
        yield {"redis://localhost:6379/0": server.url}


@contextmanager
def backups(desk: Path) -> Iterator[Mapping[str, str]]:
    (desk / "backup").mkdir()
    yield {"/backup/": f"{desk}/backup/"}
    shutil.rmtree(desk / "backup")


SERVICES: Mapping[str, Callable[[Path], AbstractContextManager[Mapping[str, str]]]] = {
    "a server": http_server, "a language model": model, "PostgreSQL": database, "a Qdrant server": qdrant,
    "Redis": redis, "a folder for backups": backups,
}  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_is_written_works(page: Path, desk: Path, tmp_path: Path) -> None:
    exported = tmp_path / "exported"
    for service, group in grouped(block for block in blocks(page) if not block.reason):
        with ExitStack() as stack:
            replaced = stack.enter_context(SERVICES[service](desk)) if service else {}
            for block in group:
                text = block.text
                for written, real in replaced.items():
                    text = text.replace(written, real)
                place = f"{page.name}:{block.line}"
                if block.kind == "python":
                    execute(f"exec {sys.executable} -c {shlex.quote(text)}", place, exported)
                for command in commands(block._replace(text=text)) if block.kind == "console" else ():
                    typed = "".join(f"{line[2:]}\n" for line in block.text.splitlines() if line.startswith("> "))
                    if "pip install" in command:
                        extras_exist(command)
                    elif LASTING.search(command):
                        execute_until_ctrl_c(command, place, exported)
                    else:
                        execute(f"{command}\nexport -p > {exported}", place, exported, typed)
        if service:
            exported.unlink(missing_ok=True)


def grouped(written: Iterator[Block]) -> list[tuple[str, list[Block]]]:
    """Join neighbours that run with one service."""
    groups: list[tuple[str, list[Block]]] = []
    for block in written:
        if groups and groups[-1][0] == block.service:
            groups[-1][1].append(block)
        else:
            groups.append((block.service, [block]))
    return groups


def execute(script: str, place: str, exported: Path, typed: str = "") -> None:
    script = f"set -e\nif [ -f {exported} ]; then . {exported}; fi\n{script}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=SECONDS, input=typed)
    assert done.returncode == 0, f"{place}: {script}\n{done.stdout}{done.stderr}"


def execute_until_ctrl_c(command: str, place: str, exported: Path) -> None:
    """Press Ctrl-C two seconds after the first output. A server takes any free port."""
    command = command.replace("hybrid-pageindex serve", "hybrid-pageindex serve --port 0")
    script = f"if [ -f {exported} ]; then . {exported}; fi\n{command}"
    with subprocess.Popen(
        ["bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        printed = process.stdout.readline()
        time.sleep(2)
        still_runs = process.poll() is None
        if still_runs:
            os.killpg(process.pid, signal.SIGINT)
        printed += process.communicate(timeout=SECONDS)[0]
    assert printed and still_runs and "Traceback" not in printed, f"{place}: {command}\n{printed}"


def extras_exist(command: str) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = re.search(r"\.\[([\w,-]+)\]", command)
    assert named and set(named[1].split(",")) <= extras.keys(), command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_block_escapes(page: Path) -> None:
    """Whatever is fenced as commands or Python is a block that is run or left out, indented ones too."""
    assert len(blocks(page)) == len(FENCE.findall(page.read_text(encoding="utf-8")))
    assert all(list(commands(block)) for block in blocks(page) if block.kind == "console"), "no line begins with $"
    others = re.findall(r"^ *```(?!console|python)\w+\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.M | re.S)
    assert not [text for text in others if text.lstrip().startswith("$ ")], "commands belong into a console block"


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("```console\n$ a\n```\n", ["console"]),
        ("1. x\n\n    <!-- not run: it needs a machine -->\n    ```console\n    $ a\n    ```\n", ["console"]),
        ("   ```python\n   if a:\n       b\n   ```\n\n```text\n$ c\n```\n", ["python"]),
    ],
)
def test_blocks_are_found_indented_too(text: str, kinds: list[str], tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    assert [block.kind for block in blocks(page)] == kinds
    assert all(not block.text.startswith(" ") for block in blocks(page))
    assert len(FENCE.findall(text)) == len(kinds)
    assert all(block.reason == "it needs a machine" for block in blocks(page) if "not run" in text)


def test_every_block_that_is_left_out_says_why() -> None:
    reasons = [block.reason for page in PAGES for block in blocks(page) if block.reason]
    assert reasons and all(len(reason.split()) > 2 for reason in reasons)
    assert sum(1 for page in PAGES for block in blocks(page) if not block.reason) > 20
