"""What errors advise: the words of the command line are said by it alone."""

from __future__ import annotations

import ast
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_core.errors import Advice, NotFoundError
from hybrid_pageindex import Engine

ROOT = Path(__file__).parents[2]
ROOMS = ("hybrid_core", "retrievers", "indexers", "hybrid_pageindex/engine",
         "hybrid_pageindex/conversations", "hybrid_pageindex/mcp",
         "hybrid_pageindex/http")  # fmt: skip
TYPED = re.compile(r"(?<![\w-])--[a-z]{2,}|hybrid-pageindex [a-z]|\bthe command \w+|tool add_documents")
STARTING = (  # said by the command line alone: before anything is served, and by commands that have no other door
    "hybrid_pageindex/http/command.py", "hybrid_pageindex/mcp/transports.py",
    "hybrid_pageindex/mcp/access.py", "hybrid_pageindex/engine/index/reindexing.py",
    "hybrid_core/store/recovery", "hybrid_core/store/home.py",
    "hybrid_core/store/sqlite.py", "hybrid_core/store/database.py", "hybrid_core/store/catalog/schema.py",
    "hybrid_core/store/catalog/libraries.py", "hybrid_core/store/index/follower.py", "hybrid_core/embed",
    "hybrid_core/system.py", "retrievers/ranking/model.py", "hybrid_pageindex/engine/health_checks.py",
    "indexers/files/private_copy.py",
)  # fmt: skip


def raised() -> Iterator[tuple[Path, int, str]]:
    """The texts of calls that make errors and refusals, but for what ``Advice`` keeps for the command line."""
    for file in sorted(one for room in ROOMS for one in (ROOT / room).rglob("*.py")):
        name = file.relative_to(ROOT).as_posix()
        if name.startswith(STARTING):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
                called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
                if called.endswith(("Error", "Refusal", "Advice")):
                    texts = node.args[:1] if called == "Advice" else node.args
                    for part in (one for text in texts for one in _constants(text)):
                        yield file, node.lineno, part


def _constants(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call):  # an Advice, which is looked at by itself
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    for child in ast.iter_child_nodes(node):
        yield from _constants(child)


def test_no_error_tells_other_interfaces_what_to_type() -> None:
    texts = list(raised())
    assert len(texts) > 600
    typed = [f"{file}:{line}: {text}" for file, line, text in texts if TYPED.search(text)]
    assert not typed, "\n".join(typed)


async def test_the_command_line_says_what_to_type_and_others_do_not(tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    await engine.libraries.create("default")
    with pytest.raises(NotFoundError) as raised:
        await engine.jobs.get(7)
    assert (
        str(raised.value) == "Job 7 does not exist. List the jobs. Ended jobs are deleted after some time."
        and "jobs list" in raised.value.command_advice
    )
    engine.close()
    command = [sys.executable, "-m", "hybrid_pageindex", "--home", str(tmp_path), "jobs", "show", "7"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode and "hybrid-pageindex jobs list" in done.stderr


def test_advice_is_text_that_survives_processes() -> None:
    advice = Advice("Give its password.", "Give its password with --password.")
    again = pickle.loads(pickle.dumps(advice))
    assert again == "Give its password." and again.command == advice.command
    assert Advice("Wait.").command == "Wait."
