"""Formats are entries of a registry; other packages bring some, and one that is broken does not stop the rest."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from hybrid_core.errors import LimitError
from hybrid_core.types.documents import Line, ParsedPage
from indexers.formats import registry
from indexers.formats.limits import ParseLimits
from tests import pdfs
from tests.conftest import Cli

ROOT = Path(__file__).parents[3]
TEXT = "\n\n".join(f"The lamp of harbour {n} burns until the keeper counts {n + 3} ships. " * 4 for n in range(60))


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path of every process."""
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder


def install(packages: Path, name: str, source: str, formats: str) -> None:
    """A package with a module and its entry points."""
    (packages / f"{name}.py").write_text(source)
    info = packages / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{formats}\n")


def documented() -> tuple[str, str]:
    """The module and the entry point that docs/formats.md shows."""
    page = (ROOT / "docs" / "formats.md").read_text()
    [module] = re.findall(r"```python\n(.*?)```", page, re.S)
    [entry] = re.findall(r'\[project\.entry-points\."hybrid_pageindex\.formats"\]\n +(.*)', page)
    return module, entry.replace('"', "")


def test_a_package_brings_a_format(packages: Path, tmp_path: Path, program: Cli) -> None:
    install(packages, "pageindex_text", *documented())
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "harbours.LOG").write_text(TEXT)
    pdfs.numbered(folder / "a.pdf", 2, "kelp")
    said = json.loads(program("index", folder, "--json").stdout)
    assert {Path(f["path"]).name: f["status"] for f in said["files"]} == {
        "a.pdf": "indexed", "harbours.LOG": "indexed",
    }  # fmt: skip
    found = json.loads(program("search", "until the keeper counts 44 ships", "--json").stdout)["results"][0]
    assert (found["doc_name"], "counts 44 ships" in found["snippet"]) == ("harbours.LOG", True)
    page = json.loads(program("page", "harbours.LOG", found["page"], "--json").stdout)["pages"][0]
    assert re.fullmatch(r"lines \d+-\d+", page["label"]) and "counts 44 ships" in page["text"]
    drawn = program("page", "harbours.LOG", "1", "--image", tmp_path / "out.png")
    assert not drawn.returncode and (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    again = json.loads(program("index", folder, "--json").stdout)
    assert {file["status"] for file in again["files"]} == {"unchanged"} and again["notes"] == []
    module, _ = documented()
    (packages / "pageindex_text.py").write_text(module.replace("text-1", "text-2"))
    again = json.loads(program("index", folder, "--json").stdout)
    assert {Path(f["path"]).name: f["status"] for f in again["files"]} == {
        "a.pdf": "unchanged", "harbours.LOG": "indexed",
    }  # fmt: skip


def test_a_broken_package_is_named_and_stops_nobody(packages: Path, tmp_path: Path, program: Cli) -> None:
    module, entry = documented()
    install(packages, "pageindex_text", module, entry)
    install(packages, "pageindex_slides", "import a_module_that_is_missing", "slides = pageindex_slides:SLIDES")
    install(packages, "pageindex_none", "NOTES = 7", "notes = pageindex_none:NOTES")
    install(packages, "pageindex_other", module.replace(".log", ".pdf"), "other = pageindex_other:TEXT")
    file = tmp_path / "harbours.log"
    file.write_text(TEXT)
    said = json.loads(program("index", file, "--json").stdout)
    assert [file["status"] for file in said["files"]] == ["indexed"]
    notes = "\n".join(said["notes"])
    assert "'slides' of the package pageindex_slides cannot be used: No module named" in notes
    assert (
        "'notes' of the package pageindex_none cannot be used: the entry point of the format must be a Format object, "
        "but is a int" in notes
    )
    assert (
        "'other' of the package pageindex_other cannot be used: the name or a file suffix of this format is already "
        "used by the "
        "format PDF" in notes
    )
    checks = {check["name"]: check for check in json.loads(program("doctor", "--json").stdout)["checks"]}
    assert not checks["formats"]["ok"] and "pageindex_slides" in checks["formats"]["detail"]


def test_a_document_whose_format_is_gone_is_still_found(packages: Path, tmp_path: Path, program: Cli) -> None:
    install(packages, "pageindex_text", *documented())
    file = tmp_path / "harbours.log"
    file.write_text(TEXT)
    assert program("index", file).returncode == 0
    (packages / "pageindex_text-1.0.dist-info" / "entry_points.txt").unlink()
    assert json.loads(program("search", "the keeper counts 44 ships", "--json").stdout)["results"]
    drawn = program("page", "harbours.log", "1", "--image", tmp_path / "out.png")
    assert "the format text is not supported by this installation" in drawn.stderr
    assert "this kind of file is not supported" in program("index", file, "--check-hashes").stdout


def test_a_file_without_a_known_ending_is_told_by_its_beginning(tmp_path: Path) -> None:
    file = pdfs.numbered(tmp_path / "a.pdf", 1, "kelp").rename(tmp_path / "scan")
    assert registry.format_of(file).name == "pdf" and registry.of_suffix("") is None
    assert registry.of_suffix(".MD") is registry.named("markdown")


def test_what_a_reader_does_not_check_is_checked_for_it() -> None:
    limits = ParseLimits(max_page_lines=2, max_page_characters=9)
    page = ParsedPage(3, lines=(Line("one"), Line("two"), Line("six")))
    assert isinstance(limits.page(page, frozenset()), LimitError)
    assert isinstance(limits.page(page, frozenset({"max_page_lines"})), LimitError)
    assert limits.page(page, frozenset({"max_page_lines", "max_page_characters"})) is page
    known = {field.name for field in fields(ParseLimits)}
    assert all(format.limits <= known and format.place for format in registry.formats())


_WORD, _HUMP = re.compile(r"[a-z0-9]+"), re.compile(r"(?<=[a-z])(?=[A-Z])")


def names(tree: ast.AST) -> set[str]:
    """Everything that code calls something, and what it compares with."""
    found: set[str] = set()
    for node in ast.walk(tree):
        for field in ("id", "attr", "arg", "name", "asname", "module"):
            if isinstance(value := getattr(node, field, None), str):
                found.add(value)
        if isinstance(node, ast.Compare):
            found |= {
                one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)
            }
    return found


@pytest.mark.parametrize("room", ["hybrid_core", "retrievers", "hybrid_pageindex/engine"])
def test_no_format_is_named_outside_its_room(room: str) -> None:
    named = {format.name for format in registry.formats()}
    files = sorted((ROOT / room).rglob("*.py"))
    assert files
    of_python = {"html", "_repr_html_"}  # a module that escapes text, and what notebooks call
    said = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in files
        for name in names(ast.parse(file.read_text())) - of_python
        if named & set(_WORD.findall(name.lower() if name.isupper() else _HUMP.sub("_", name).lower()))
    }
    assert not said
