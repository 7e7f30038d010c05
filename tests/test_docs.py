"""Links between the documents lead somewhere, and benchmarks that they name are there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import benchmarks

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "AGENTS.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / ".github").glob("*.md")),
]
LINK = re.compile(r"\]\(([^()\s]+)\)")


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings: lower case, punctuation dropped, spaces as hyphens."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name}: {link}"
        assert not anchor or anchor in anchors(target), f"{page.name}: {link}"


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        for link in LINK.findall(page.read_text(encoding="utf-8")):
            target = (page.parent / link.partition("#")[0]).resolve()
            if target.suffix == ".md" and target.exists() and target not in reached:
                waiting.append(target)
    documentation = [page for page in PAGES if page.parent.name != ".github" and page.name != "AGENTS.md"]
    assert not [page.name for page in documentation if page not in reached]


def test_every_benchmark_that_is_named_can_be_run_and_says_what_it_measures() -> None:
    names = benchmarks()
    named = {name for page in PAGES for name in re.findall(r"-m\s+benchmarks (\w+)", page.read_text(encoding="utf-8"))}
    assert named and named <= names.keys()
    assert all(names.values())


def test_the_tests_that_hold_the_promises_of_security_exist() -> None:
    named = re.findall(r"`(tests/[^`]+)`", (ROOT / "docs" / "security.md").read_text(encoding="utf-8"))
    assert len(named) > 10 and not [path for path in named if not (ROOT / path).exists()]


def test_pages_made_from_the_code_are_as_the_code_says() -> None:
    command = [sys.executable, str(ROOT / "docs" / "reference" / "generate.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"run python docs/reference/generate.py\n{done.stdout}{done.stderr}"
