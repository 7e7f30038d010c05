"""Run the snippets of docs/frameworks.md, which need the frameworks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hybrid_pageindex import Engine, run
from tests import pdfs
from tests.test_docs_commands import ROOT, Block, blocks

SNIPPETS = [block for block in blocks(ROOT / "docs" / "frameworks.md") if "test_snippets" in block.reason]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("snippets")
    engine = Engine(folder / ".pageindex")
    assert all(file.status == "indexed" for file in run(engine.index(pdfs.fiscal_reports(folder))).files)
    engine.close()
    return folder


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: f"line {snippet.line}")
def test_a_snippet_runs(snippet: Block, home: Path) -> None:
    environment = {name: text for name, text in os.environ.items() if not name.startswith("PAGEINDEX_")}
    environment |= {"HOME": str(home), "OPENAI_API_KEY": "none"}
    done = subprocess.run(
        [sys.executable, "-c", snippet.text], cwd=home, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_snippet_is_run() -> None:
    assert len(SNIPPETS) == 5
