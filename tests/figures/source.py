"""What the source says of itself: its size, its folders, its circles of imports, where an option is written."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]
PACKAGES = ("hybrid_core", "indexers", "retrievers", "hybrid_pageindex", "eval")
ENGINE = PACKAGES[:-1]  # without the harness
_NOT_COUNTED = {"__init__.py", "py.typed", "__pycache__"}


def files(packages: tuple[str, ...] = PACKAGES) -> list[Path]:
    return [path for package in packages for path in sorted((ROOT / package).rglob("*.py"))]


def lines() -> dict[str, int]:
    """Lines of every Python file by folder of the root, blank ones and comments included; tests apart."""
    folders = {path.relative_to(ROOT).parts[0] for path in ROOT.glob("*/*.py")} - {"tests"} | set(PACKAGES)
    return {
        folder: sum(len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / folder).rglob("*.py"))
        for folder in sorted(folders)
    }


def entries() -> dict[str, int]:
    """How many files and folders stand in each package and subpackage."""
    folders = {path.parent for path in files()}
    found = {folder: {entry.name for entry in folder.iterdir()} - _NOT_COUNTED for folder in sorted(folders)}
    return {str(folder.relative_to(ROOT)): len(names) for folder, names in found.items()}


def circles() -> list[list[str]]:
    """Modules that import each other in a loop; imports inside functions and for types count too."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    loops = set()
    for module in graph.modules:
        below = graph.find_upstream_modules(module)
        loop = {module, *(other for other in graph.find_downstream_modules(module) if other in below)}
        if len(loop) > 1:
            loops.add(frozenset(loop))
    return sorted(sorted(loop) for loop in loops)


def places(option: str) -> list[str]:
    """The definitions in which a search option is written out on its way from a door to the stage that uses it: as a
    parameter, a field, an argument, a key or a flag. Who only reads it off a request (``request.option``) is not one.
    """
    found: Counter[str] = Counter()
    for path in files(ENGINE):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for holder, node in _inside(tree, ""):
            if _lists(node, option):
                found[f"{path.relative_to(ROOT)}:{holder}"] += 1
    return sorted(found)


def _inside(node: ast.AST, holder: str) -> Iterator[tuple[str, ast.AST]]:
    for child in ast.iter_child_nodes(node):
        named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        inner = f"{holder}.{child.name}".lstrip(".") if named else holder
        yield inner, child
        yield from _inside(child, inner)


def _lists(node: ast.AST, option: str) -> bool:
    match node:
        case ast.arg(arg=name) | ast.keyword(arg=name):
            return name == option
        case ast.AnnAssign(target=ast.Name(id=name)):
            return name == option
        case ast.Call(args=arguments):
            flags = {option, f"--{option}"}
            return any(
                (isinstance(one, ast.Name) and one.id == option)
                or (isinstance(one, ast.Constant) and one.value in flags)
                or (isinstance(one, ast.Attribute) and one.attr in flags)
                for one in arguments
            )
        case ast.Dict(keys=keys):
            return any(isinstance(key, ast.Constant) and key.value == option for key in keys)
    return False
