"""Links between the documents lead somewhere, and benchmarks that they name are there."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from benchmarks.__main__ import DATA, benchmarks
from hybrid_pageindex.cli.parser import build_parser
from hybrid_pageindex.config.settings import load_settings

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


def options_by_command(parser: argparse.ArgumentParser) -> dict[str, set[str]]:
    """Return the options of each command. Those of its subcommands count as its own."""
    named: dict[str, set[str]] = {}
    own = {option for action in parser._actions for option in action.option_strings}
    for action in parser._actions:
        for name, command in action.choices.items() if isinstance(action, argparse._SubParsersAction) else ():
            named[name] = own.union(command._option_string_actions, *options_by_command(command).values())
    return named


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_options_of_commands_in_running_text_exist(page: Path) -> None:
    commands = options_by_command(build_parser())
    prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for code in re.findall(r"`([^`]+)`", prose):
        words = code.removeprefix("hybrid-pageindex ").split()
        if words[0] in commands:
            options = {word.partition("=")[0] for word in words if re.match(r"--\w", word)}
            assert options <= commands[words[0]], f"{page.name}: {code}"


@pytest.mark.parametrize("page", ["installation", "configuration"])
def test_settings_that_are_shown_load(page: str, tmp_path: Path) -> None:
    shown = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"), re.DOTALL)
    assert shown
    for text in shown:
        (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
        settings = load_settings(tmp_path, {})
        assert all(getattr(settings, name) for name in yaml.safe_load(text))


def test_every_benchmark_that_is_named_can_be_run_and_says_what_it_measures() -> None:
    names = benchmarks()
    named = {name for page in PAGES for name in re.findall(r"-m\s+benchmarks (\w+)", page.read_text(encoding="utf-8"))}
    assert named and named <= names.keys()
    assert all(names.values())


@pytest.mark.parametrize("name", ["titles", "model_trees", "ablation"])
def test_a_benchmark_without_its_documents_says_so(name: str) -> None:
    environment = {key: value for key, value in os.environ.items() if key != DATA}
    command = [sys.executable, "-m", "benchmarks", name]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 1 and DATA in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_the_tests_that_hold_the_promises_of_security_exist() -> None:
    named = re.findall(r"`(tests/[^`]+)`", (ROOT / "docs" / "security.md").read_text(encoding="utf-8"))
    assert len(named) > 10 and not [path for path in named if not (ROOT / path).exists()]


def test_the_stages_of_a_search_are_those_that_the_architecture_lists() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\|[^|\n]*\|([^|\n]*)\| `(\w+\.py)` \|$", page.partition("### The stages")[2], re.MULTILINE)
    listed = [(name, file) for names, file in rows for name in re.findall(r"`(\w+)`", names)]
    folder = ROOT / "retrievers" / "pipeline"
    assert listed == [
        (name, file)
        for file in ("candidate_stages.py", "result_stages.py")
        for name in re.findall(r'^@stage\("(\w+)"\)', (folder / file).read_text(encoding="utf-8"), re.MULTILINE)
    ]


def test_pages_made_from_the_code_are_as_the_code_says() -> None:
    command = [sys.executable, str(ROOT / "docs" / "reference" / "generate.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"run python docs/reference/generate.py\n{done.stdout}{done.stderr}"
