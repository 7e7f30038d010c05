"""Commands and snippets of the documentation work as they are written, page by page, in a home of their own.

A comment ``<!-- not run: REASON -->`` before a block leaves it out. Lines of a console block that begin with ``$``
are commands; a line that ends with a backslash goes on. The files that pages name are made from the sample report.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from hybrid_pageindex import Engine, run
from hybrid_pageindex.sample import main as write_sample

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / ".github").glob("*.md"))]
BLOCK = re.compile(
    r"^(?P<skip> *<!-- not run: (?P<reason>.+?) -->\n)?(?P<indent> *)```(?P<kind>console|python)\n(?P<text>.*?)^ *```$",
    re.M | re.S,
)
FENCE = re.compile(r"^ *(?:`{3,}|~{3,})[ \t]*(?:console|python|bash|sh|shell|py|pycon)\b", re.M | re.I)
REPORTS = ("report.pdf", "report-2023.pdf", "report-2024.pdf", "report-2025.pdf", "q1.pdf", "q2.pdf", "a.pdf")
FOLDERS = (".", "Documents/reports", "filings", "reports", "documents", "scans/2025")

pytestmark = pytest.mark.usefixtures("default_outlines")


class Block(NamedTuple):
    kind: str
    text: str
    line: int
    reason: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            found["kind"],
            textwrap.dedent(found["text"]),
            text[: found.start("text")].count("\n") + 1,
            found["reason"] or "",
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
    for name in [name for name in os.environ if name.startswith("PAGEINDEX_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(prepared))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(prepared)
    yield prepared
    shutil.rmtree(prepared / ".pageindex")
    shutil.move(kept, prepared / ".pageindex")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_is_written_works(page: Path, desk: Path) -> None:
    for block in blocks(page):
        if block.reason:
            continue
        if block.kind == "python":
            run_python(block, page)
            continue
        for command in commands(block):
            done = subprocess.run(["bash", "-c", command], cwd=desk, capture_output=True, text=True, timeout=600)
            assert done.returncode == 0, f"{page.name}:{block.line}: {command}\n{done.stdout}{done.stderr}"


def run_python(block: Block, page: Path) -> None:
    """Run a snippet in a process of its own, as a script."""
    done = subprocess.run([sys.executable, "-c", block.text], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{page.name}:{block.line}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_block_escapes(page: Path) -> None:
    """Whatever is fenced as commands or Python is a block that is run or left out, indented ones too."""
    assert len(blocks(page)) == len(FENCE.findall(page.read_text(encoding="utf-8")))
    assert all(list(commands(block)) for block in blocks(page) if block.kind == "console"), "no line begins with $"


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
