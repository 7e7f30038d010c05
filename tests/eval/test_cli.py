"""``eval`` as users type it: found through its entry point, out of everybody else's way."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hybrid_pageindex.cli.parser import needs_plugins
from tests import pdfs
from tests.conftest import Cli
from tests.eval.sets import own_set


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    folder = tmp_path_factory.mktemp("set")
    return folder, *own_set(folder)


def run_of(folder: Path, docs: Path, questions: Path, *more: str) -> list[str]:
    out = ["--out", str(folder / "runs" / "page-bm25")]
    return ["eval", "run", "custom", "--docs", str(docs), "--questions", str(questions), *out, *more]


def test_help_names_eval_and_its_actions(cli: Cli) -> None:
    script = (
        "import sys; from hybrid_pageindex.cli import main; code = main(['--help']); "
        "sys.exit(code or 'rich' in sys.modules or 'eval.cli' not in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "    eval" in shown
    shown = cli("eval", "--help").stdout
    for action in ("list", "run", "baseline", "fit", "compare", "report", "folds"):
        assert f"    {action}" in shown


def test_other_commands_neither_look_for_eval_nor_import_it(tmp_path: Path) -> None:
    script = (
        "import sys; from hybrid_pageindex.cli import main; "
        f"main(['--home', {str(tmp_path)!r}, 'libraries']); "
        "sys.exit('eval' in sys.modules or 'hybrid_pageindex.cli.parser' not in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], stdout=subprocess.DEVNULL, check=False).returncode == 0
    known = ["index", "list"]
    assert not needs_plugins(["--home", "eval", "index", "eval"], known)
    assert needs_plugins(["--home", "list", "--json", "eval", "list"], known)
    assert needs_plugins(["--help"], known)


def test_list_says_where_to_get_what_is_absent(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "data" / "hips").mkdir(parents=True)
    shown = cli("eval", "list", "--data", tmp_path / "data").stdout
    assert "https://github.com/patronus-ai/financebench" in shown
    assert "HiPS" not in shown
    said = json.loads(cli("eval", "list", "--data", tmp_path / "data", "--json").stdout)
    assert {entry["name"]: entry["present"] for entry in said["sets"]}["hips"]
    assert not {entry["name"]: entry["present"] for entry in said["sets"]}["cuad"]


def test_a_run_prints_its_figures_and_fails_below_a_floor(made: tuple[Path, Path, Path], cli: Cli) -> None:
    arguments = run_of(*made, "--ranker", "page-bm25", "--fail-under", "hit@20=0.9")
    shown = cli(*arguments)
    assert shown.returncode == 0, shown.stderr
    assert "hit@5" in shown.stdout
    assert "runs/page-bm25" in shown.stdout
    said = cli(*arguments, "--fail-under", "hit@1=1.01", "--json")
    assert said.returncode == 1
    summary = json.loads(said.stdout)
    assert summary["measures"]["hit@20"] == 1
    assert "hit@1 is" in summary["fell_short"][0]
    assert "under 1.01" in said.stderr


def test_the_engine_beside_page_bm25(made: tuple[Path, Path, Path], cli: Cli, tmp_path: Path) -> None:
    folder, docs, questions = made
    arguments = ["eval", "baseline", "custom", "--docs", docs, "--questions", questions, "--expert", "none",
                 "--out", folder / "baseline"]  # fmt: skip
    shown = cli(*arguments, "--json")
    assert shown.returncode == 0, shown.stderr
    pairs = json.loads(shown.stdout)["pairs"]
    assert [(pair["setting"], pair["expert"], pair["ranker"], pair["below"]) for pair in pairs] == [
        (setting, "none", ranker, [])
        for setting in ("library", "given")
        for ranker in ("page-bm25", "page-bm25-stemmed")
    ]
    for pair in pairs:
        assert pair["differences"]["hit@5"]["mean"] == pytest.approx(
            pair["engine"]["hit@5"] - pair["baseline"]["hit@5"]
        )
    again = cli(*arguments)  # reads the runs that are there
    assert "The engine beside page BM25" in again.stdout


def test_python_m_eval_is_the_same(made: tuple[Path, Path, Path], cli: Cli) -> None:
    arguments = run_of(*made, "--ranker", "page-bm25", "--json")
    ours = cli(*arguments)
    theirs = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, check=False)
    assert json.loads(theirs.stdout) == json.loads(ours.stdout)


def test_what_is_wrong_is_said_in_one_line(cli: Cli, tmp_path: Path) -> None:
    absent = cli("eval", "run", "financebench", "--data", tmp_path, "--json")
    assert absent.returncode == 1
    assert "https://github.com/patronus-ai/financebench" in json.loads(absent.stdout)["error"]["advice"]
    for arguments in (["eval"], ["eval", "run", "nosuch", "--data", tmp_path], ["eval", "run", "hips", "--depth", "3"]):
        said = cli(*arguments)
        assert said.returncode == 2
        assert "Traceback" not in said.stderr
    floor = cli("eval", "run", "hips", "--fail-under", "hit@5")
    assert (floor.returncode, "does not have the form MEASURE=NUMBER" in floor.stderr) == (2, True)


def test_bad_lines_are_counted_named_and_left_out(cli: Cli, tmp_path: Path) -> None:
    """As a published set has them: no JSON, page 0, and a page that the document does not have."""
    name = pdfs.FISCAL_QUESTIONS[0][1]
    bad = [{"id": f"page-{page}", "question": "What?", "evidence": [{"doc": name, "page": page}]} for page in (0, 900)]
    docs, questions = own_set(tmp_path, more=bad)
    good = len(pdfs.FISCAL_QUESTIONS)
    with questions.open("a") as file:
        file.write("{\n")
    out = tmp_path / "runs" / "bad"
    arguments = ["--docs", str(docs), "--questions", str(questions), "--ranker", "page-bm25", "--out", str(out)]
    shown = cli("eval", "run", "custom", *arguments)
    assert shown.returncode == 0, shown.stderr
    said = " ".join(shown.stdout.split())
    assert "3 entries of the set cannot be used and are left out" in said
    head = json.loads((out / "run.json").read_text())
    assert (head["counts"]["questions"], head["counts"]["left out"]) == (good, 3)
    places = [f"questions.jsonl, line {good + 1}: '0' is not the number of a page"]
    places.append(f"line {good + 3}: the line is not valid JSON")
    places.append(f"question page-900: {name} has no page 900")
    report = " ".join(cli("eval", "report", out).stdout.split())
    for place, left_out in zip(places, head["left_out"], strict=True):
        assert place in left_out
        assert place in said
        assert left_out.split(";")[0] in report
