"""Advice fits every interface: what only the command line has stands in the second text of an ``Advice``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_core.errors import NotFoundError
from hybrid_core.types.note_texts import TEMPLATES
from hybrid_pageindex import Engine, run

ROOT = Path(__file__).parents[2]
COMMAND_WORDS = re.compile(
    r"(?:^|[\s(«'])--(?!force-reinstall)[a-z]|hybrid-pageindex [a-z]|\b(?:list|same|the) command\b"
)
COMMAND_LINE_ONLY = (
    "hybrid_pageindex/cli/", "hybrid_pageindex/http/command.py", "hybrid_pageindex/mcp/transports.py",
    "hybrid_pageindex/mcp/access.py", "hybrid_core/store/recovery/", "hybrid_core/store/catalog/maintenance.py",
    "hybrid_pageindex/engine/index/reindexing.py", "hybrid_pageindex/engine/health_checks.py",
)  # fmt: skip


def advice_texts(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions that become advice: of errors, of constants, and the general text of an ``Advice``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if name == "Advice":
                yield from node.args[:1]
            elif name.endswith("Error") and len(node.args) > 1:
                yield node.args[1]
        elif (isinstance(node, ast.Return) and node.value is not None) or (
            isinstance(node, ast.Assign) and any("advice" in ast.unparse(target).lower() for target in node.targets)
        ):
            yield node.value


def words_of(node: ast.expr) -> str:
    """Return the literal words of an expression, without those of an ``Advice`` in it."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Advice":
        return ""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr | ast.BinOp | ast.IfExp | ast.FormattedValue):
        return " ".join(words_of(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
    return ""


def test_no_general_advice_is_of_the_command_line() -> None:
    wrong, seen = [], 0
    for room in ("hybrid_core", "indexers", "retrievers", "hybrid_pageindex"):
        for file in (ROOT / room).rglob("*.py"):
            place = file.relative_to(ROOT).as_posix()
            if place.startswith(COMMAND_LINE_ONLY):
                continue
            for text in map(words_of, advice_texts(ast.parse(file.read_text(encoding="utf-8")))):
                seen += bool(text)
                if COMMAND_WORDS.search(text):
                    wrong.append(f"{place}: {text[:100]}")
    assert seen > 400 and not wrong


def test_no_message_is_of_the_command_line() -> None:
    assert [code for code, template in TEMPLATES.items() if COMMAND_WORDS.search(template)] == []


def test_an_unknown_document_is_explained_in_the_words_of_the_interface(tmp_path: Path) -> None:
    (tmp_path / "mill.md").write_text("# The mill\n\nIt stands.\n")
    engine = Engine(tmp_path / "home")
    run(engine.index(tmp_path / "mill.md"))
    with pytest.raises(NotFoundError) as error:
        run(engine.documents.get("zzz.pdf"))
    engine.close()
    assert "command" not in str(error.value) and "command 'list'" in error.value.command_advice
