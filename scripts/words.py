"""Check the words of the code and the documentation: ``python scripts/words.py``. Exits 1 if it finds anything.

- No variable, parameter or field has a name of ``VAGUE``, which names no thing. Fields and parameters that are public,
  in JSON or in a setting, are exempt (``PUBLIC``).
- At most four functions of the product have the same private name.
- A function has at most eight parameters. Functions in ``WIDE`` are exempt, because they mirror a public interface.
- The first line of a docstring begins with a verb or a noun, not with a clause. Its sentences have at most 25 words.
- A line of Markdown has at most 120 characters, outside of tables and code. English text has no guillemets.
- The pages of ``LENGTHS``, which people read first, stay short.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("hybrid_core", "indexers", "retrievers", "hybrid_pageindex", "eval")
OUTSIDE = ("adapters", "benchmarks", "scripts", "docs")  # code that is no part of the package
PAGES = ("README.md", "CHANGELOG.md", "AGENTS.md", "docs", ".github", "skills")
LENGTHS = {"README.md": (90, 8000), "CHANGELOG.md": (60, 6000), "docs/architecture.md": (150, 12000)}  # lines, bytes
VAGUE = set("one found said told held made asked known kept given wanted most least here there over beside".split())
PUBLIC = {"most", "least", "asked", "given", "said", "made", "kept", "over", "one", "found"}
WIDE = {"index", "update", "page", "search", "answer", "setting", "watch_sources"}
CLAUSES = tuple(f"{word} " for word in "What Whether Of Those One Where Who Whose Which That How As None".split())
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
REPEATS, PARAMETERS, WORDS, WIDTH = 4, 8, 25, 120


def main() -> int:
    findings = [*check_code(), *check_pages()]
    sys.stdout.writelines(f"{finding}\n" for finding in findings)
    return int(bool(findings))


def check_code() -> Iterator[str]:
    private: dict[str, list[str]] = defaultdict(list)
    for path in (path for room in (*ROOMS, *OUTSIDE) for path in sorted((ROOT / room).rglob("*.py"))):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        place = path.relative_to(ROOT).as_posix()
        if path.stem in VAGUE:
            yield f"{place}: the file's name names no thing"
        for node in tree.body:
            if isinstance(node, FUNCTIONS) and node.name.startswith("_") and path.relative_to(ROOT).parts[0] in ROOMS:
                private[node.name].append(f"{place}:{node.lineno}")
        fields = {id(field.target) for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
                  for field in node.body if isinstance(field, ast.AnnAssign)}  # fmt: skip
        for node in ast.walk(tree):
            yield from (f"{place}:{text}" for text in check_node(node, fields))
    for name, places in private.items():
        if len(places) > REPEATS:
            yield f"{places[0]}: {name} is defined {len(places)} times: name each by what it does ({', '.join(places)})"


def check_node(node: ast.AST, fields: set[int]) -> Iterator[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE:
        if not (id(node) in fields and node.id in PUBLIC):
            yield f"{node.lineno}: `{node.id}` names no thing"
    elif isinstance(node, FUNCTIONS):
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        for argument in arguments:
            if argument.arg in VAGUE - PUBLIC:
                yield f"{node.lineno}: parameter `{argument.arg}` of {node.name} names no thing"
        count = sum(argument.arg not in ("self", "cls") for argument in arguments)
        if count > PARAMETERS and node.name not in WIDE:
            yield f"{node.lineno}: {node.name} has {count} parameters: pass a value"
    yield from check_docstring(node)


def check_docstring(node: ast.AST) -> Iterator[str]:
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        first = (ast.get_docstring(node) or "").split("\n")[0]
        if first.startswith(CLAUSES):
            yield f"{node.lineno}: the docstring of {node.name} begins with a clause: write `Return …`, `Rank …`"
        for sentence in re.split(r"[.;:] ", first):
            if len(sentence.split()) > WORDS:
                yield f"{node.lineno}: the docstring of {node.name} has a sentence of {len(sentence.split())} words"


def check_pages() -> Iterator[str]:
    for name, (lines, size) in LENGTHS.items():
        text = (ROOT / name).read_bytes()
        if text.count(b"\n") > lines or len(text) > size:
            yield f"{name}: more than {lines} lines or {size} bytes: shorten it, or move a part to another page"
    for path in (page for name in PAGES for page in _pages_below(ROOT / name)):
        fenced = False
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            fenced ^= line.lstrip().startswith("```")
            if fenced or line.startswith("|"):
                continue
            place = f"{path.relative_to(ROOT).as_posix()}:{number}"
            if len(line) > WIDTH and " " in line.strip()[:WIDTH]:
                yield f"{place}: a line of {len(line)} characters"
            if "«" in line and not re.search(r"[\u0400-\u04ff\u3040-\u9fff]", line):
                yield f'{place}: guillemets: quote with " or curly quotes'


def _pages_below(path: Path) -> list[Path]:
    return sorted(path.rglob("*.md")) if path.is_dir() else [path]


if __name__ == "__main__":
    sys.exit(main())
