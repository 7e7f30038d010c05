"""The version follows the tag, the lock fits what is required, and a release that is not ready is refused."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import hybrid_pageindex
from hybrid_pageindex.http.api import UNVERSIONED, build_api
from scripts import licences
from scripts.release import LOCK, check_lock, check_versions

ROOT = Path(__file__).parent.parent
FILES = ("CHANGELOG.md", "CITATION.cff", "docker-compose.yaml", "pyproject.toml", "server.json", LOCK)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def built(folder: Path) -> str:
    """Return the version that a build of this folder would have."""
    command = [sys.executable, "-m", "setuptools_scm"]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_the_version_follows_the_tag(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tree.parent))
    assert built(tree) == "0.1.0.dev0", "an archive without git"
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "first")
    assert built(tree).startswith("0.1.0.dev"), "a clone without tags"
    git(tree, "tag", "v0.1.0")
    assert built(tree) == "0.1.0"
    (tree / "CHANGELOG.md").write_text("more")
    git(tree, "commit", "-qam", "second")
    assert built(tree).startswith("0.1.1.dev1+g")
    git(tree, "tag", "v0.2.0")
    assert built(tree) == "0.2.0"
    shutil.rmtree(tree / ".git")
    (tree / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: hybrid-pageindex\nVersion: 0.2.0\n")
    assert built(tree) == "0.2.0", "an sdist"


def test_every_interface_tells_the_version_of_the_package() -> None:
    assert hybrid_pageindex.__version__ == version("hybrid-pageindex") != UNVERSIONED
    assert build_api().openapi()["info"]["version"] == hybrid_pageindex.__version__


def test_a_tree_that_was_never_installed_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.distribution", _refuse)
    assert hybrid_pageindex.__version__ == "0+unknown"


def _refuse(name: str) -> None:
    from importlib.metadata import PackageNotFoundError

    raise PackageNotFoundError(name)


def test_the_lock_fits_and_all_files_name_one_version() -> None:
    assert [*check_lock(ROOT), *check_versions(ROOT)] == []


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"fastapi>=0.165,<1"', '"fastapi>=99"', "fastapi>=99 is required"),
        ('"PyYAML>=6"', '"PyYAML>=6",\n  "new-package"', "new-package is required, nothing is locked"),
        ('ocr = ["rapidocr>=3.10,<4"]', 'ocr = ["rapidocr>=4"]', "rapidocr>=4 is required"),
        ('postgres = ["psycopg', 'postgres = ["hybrid-pageindex[s4]", "psycopg', "obstore>=9 is required"),
    ],
)
def test_a_lock_that_does_not_fit_is_refused(tree: Path, old: str, new: str, complaint: str) -> None:
    project = tree / "pyproject.toml"
    text = project.read_text()
    assert old in text
    project.write_text(text.replace(old, new).replace("\ns3 = ", '\ns4 = ["obstore>=9"]\ns3 = '))
    assert any(complaint in problem for problem in check_lock(tree))


@pytest.mark.parametrize(
    "line", ["fastapi==0.165.0\n", "fastapi @ git+ssh://x\n", "--index-url somewhere\n", "fastapi>=1 \\\n"]
)
def test_a_lock_with_something_else_in_it_is_refused(tree: Path, line: str) -> None:
    with (tree / LOCK).open("a") as file:
        file.write(line)
    assert list(check_lock(tree))


@pytest.mark.parametrize("file", ["CITATION.cff", "docker-compose.yaml", "pyproject.toml", "server.json"])
def test_a_file_that_names_another_version_is_refused(tree: Path, file: str) -> None:
    text = (tree / file).read_text()
    (tree / file).write_text(text.replace("0.1.0", "0.9.0"))
    assert any(problem.startswith(file) for problem in check_versions(tree))


def test_a_tag_needs_its_version_and_its_date(tree: Path) -> None:
    assert any("not released" in problem for problem in check_versions(tree, "v0.1.0"))
    assert any("the tag is v0.3.0" in problem for problem in check_versions(tree, "v0.3.0"))
    text = (tree / "CHANGELOG.md").read_text()
    (tree / "CHANGELOG.md").write_text(text.replace("(not released yet)", "(2027-01-04)"))
    assert [*check_versions(tree, "v0.1.0")] == ["tests/released/0.1.0.zip is missing: run python -m tests.released"]
    (tree / "tests" / "released").mkdir(parents=True)
    (tree / "tests" / "released" / "0.1.0.zip").touch()
    assert list(check_versions(tree, "v0.1.0")) == []


@pytest.mark.parametrize(
    ("licence", "fits"),
    [
        ("MIT", True), ("Apache-2.0 WITH LLVM-exception", True), ("GPL-2.0-only", False),
        ("GPL-2.0-only OR MIT", True), ("MIT AND GPL-2.0-only", False), ("MIT AND (SSPL-1.0 OR BSD-3-Clause)", True),
        ("(MIT OR ISC) AND SSPL-1.0", False), ("Proprietary", False), ("", False),
    ],
)  # fmt: skip
def test_licences_that_do_not_fit_are_refused(licence: str, fits: bool) -> None:
    assert licences.compatible(licence) is fits
