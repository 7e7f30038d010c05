"""The command line as users and programs meet it: real processes, exit codes, JSON shapes."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hybrid_core.types.results import Evidence
from hybrid_pageindex import Engine, run
from hybrid_pageindex.cli import main
from hybrid_pageindex.cli.progress import Pace, embed_progress
from hybrid_pageindex.cli.search import show_search_result
from indexers.jobs.embedding import EmbedProgress
from tests import pdfs
from tests.conftest import Cli
from tests.postgres import catalog_of

pytestmark = pytest.mark.slow


def call(capsys: pytest.CaptureFixture[str], engine: Engine, *arguments: object) -> tuple[int, str, str]:
    """The command line in this process, on the shared library (quicker than a process of its own)."""
    try:
        code = main(["--home", str(engine.home), *map(str, arguments)])
    except SystemExit as stop:
        code = int(stop.code or 0)
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_index_and_search_end_to_end(cli: Cli, tmp_path: Path) -> None:
    files = [pdfs.numbered(tmp_path / "a.pdf", 3, "shoals"), pdfs.not_a_pdf(tmp_path / "bad.pdf")]
    done = cli("index", *files, "--json")
    assert done.returncode == 1, "one file failed"
    (a, bad) = json.loads(done.stdout)["files"]
    assert {"path", "status", "error", "doc_id", "pages", "sections", "seconds"} <= a.keys()
    assert (a["status"], a["error"], a["pages"]) == ("indexed", None, 3) and a["path"] == str(files[0])
    assert (bad["status"], bad["doc_id"]) == ("failed", None) and bad["error"].startswith("the file is not a PDF")
    found = cli("search", pdfs.landmark("shoals", 2), "--json", "--top-k", "1", "--effort", "fast")
    assert found.returncode == 0 and found.stderr == ""
    result = json.loads(found.stdout)
    assert {"query", "evidence", "effort", "results", "sections", "documents", "timings_ms"} <= result.keys()
    assert result["effort"] == {"asked": "fast", "used": "fast", "why": "as requested"}
    assert result["evidence"]["level"] == "strong" and 0 < result["evidence"]["score"] <= 1
    (page,) = result["results"]
    assert {"doc_id", "doc_name", "page", "score", "snippet", "section", "receipt"} <= page.keys()
    assert {"node_id", "title", "path", "start_page", "end_page", "node_score"} <= page["section"].keys()
    assert (page["doc_name"], page["page"], page["doc_id"]) == ("a.pdf", 2, a["doc_id"])
    again = cli("index", files[0])
    assert again.returncode == 0 and "0 indexed (0 pages), 1 unchanged, 0 failed" in again.stdout
    assert "[1/1] unchanged  a.pdf: 3 pages" in again.stderr


def test_a_new_token_stands_alone_on_stdout(cli: Cli) -> None:
    created = cli("token", "create", "reader", "--role", "read")
    assert re.fullmatch(r"hpi_[\w-]{40,}\n", created.stdout), "a pipe takes the token and nothing else"
    assert created.stderr.count("\n") == 1 and "shown only now" in created.stderr and "\\" not in created.stderr


def test_home_before_or_after_the_command_or_from_the_environment(tmp_path: Path) -> None:
    path, home = pdfs.numbered(tmp_path / "a.pdf", 1, "spits"), tmp_path / "place"
    program = [sys.executable, "-m", "hybrid_pageindex"]
    subprocess.run([*program, "--home", home, "index", path], check=True, capture_output=True)
    after = subprocess.run([*program, "list", "--json", "--home", home], check=True, capture_output=True, text=True)
    environment = os.environ | {"PAGEINDEX_STORAGE_PATH": str(home)}
    by_name = subprocess.run([*program, "list", "--json"], check=True, capture_output=True, text=True, env=environment)
    assert after.stdout == by_name.stdout
    assert [d["name"] for d in json.loads(after.stdout)["documents"]] == ["a.pdf"]


def test_the_human_search_shows_pages_places_and_receipts(capsys: pytest.CaptureFixture[str], library: Engine) -> None:
    asked = ("search", "net sales of Corvane Optics in fiscal 2023")
    code, out, _ = call(capsys, library, *asked)
    assert code == 0
    for part in ("evidence strong", "1. corvane-optics-2023-10k.pdf, page 3", "418.2"):
        assert part in out
    sentence = 'why: holds "Net sales" under Item 7. Results of operations'
    assert sentence in out and "its document fits the question by organisation corvane-optics, year 2023" in out
    assert not [part for part in ("effort", "NodeScore", "terms", "model") if part in out]
    _, out, _ = call(capsys, library, *asked, "--why")
    for part in (sentence, "page 0.", "sale 0.", "NodeScore", "routed by", "effort fast (no language model"):
        assert part in out


@pytest.mark.parametrize(
    ("level", "score", "printed"),
    [("weak", 0.6499, "weak (0.64)"), ("none", 0.3499, "none (0.34)"), ("strong", 0.65, "strong (0.65)"),
     ("weak", 0.57, "weak (0.57)")],
)  # fmt: skip
def test_the_printed_evidence_never_contradicts_its_level(
    level: str, score: float, printed: str, capsys: pytest.CaptureFixture[str], library: Engine
) -> None:
    result = replace(run(library.search("net sales")), evidence=Evidence(level, score))
    show_search_result(result, parts=False, effort=False)
    assert f"evidence {printed}" in capsys.readouterr().out


def test_effort_that_was_asked_for_and_cannot_be_had_is_said(
    capsys: pytest.CaptureFixture[str], library: Engine
) -> None:
    for effort in ("deep", "auto"):
        assert "effort fast (no language model" in call(capsys, library, "search", "net sales", "--effort", effort)[1]
    said = json.loads(call(capsys, library, "search", "net sales", "--json")[1])
    assert said["effort"]["asked"] == "auto" and "no language model" in said["effort"]["why"]
    assert said["results"][0]["why"].startswith(("holds", "stands"))


def test_the_doctor_lays_a_damaged_catalog_to_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "catalog.sqlite").write_bytes(b"no catalog" * 1000)
    assert main(["--home", str(tmp_path), "doctor"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines if "not a catalog" in line] == ["failed catalog"]
    assert [line for line in lines if "vector index" in line] == [
        "failed vector index: not checked, because the catalog cannot be opened"
    ]


@pytest.mark.parametrize("limit", ["-v 60", "-v 150", "-v 250", "-v 600", "-v 950", "-d 200"])
def test_too_little_memory_gives_a_line_and_no_traceback(tmp_path: Path, limit: str) -> None:
    (tmp_path / "a.md").write_text("# Mill\n\nIt was sold in 1987.\n")
    command = f"ulimit {limit}000; exec {sys.executable} -m hybrid_pageindex --home home index a.md"
    ended = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 1 and not ended.stdout
    assert ended.stderr.startswith("hybrid-pageindex: ") and ended.stderr.count("\n") == 1
    assert "needs 1,000 MB. Raise the memory limit (ulimit -v)." in ended.stderr


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        ImportError("libblas.so: failed to map segment from shared object"),
        SystemError("initialization of umath raised: error return without exception set"),
        RuntimeError("can't start new thread"),
    ],
)
def test_memory_that_runs_out_is_one_line(
    error: Exception, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise error

    monkeypatch.setattr("hybrid_pageindex.cli.commands.run_command", fail)
    assert main(["list"]) == 1
    assert capsys.readouterr().err.startswith("hybrid-pageindex: the memory limit of this process is reached.")


def test_an_unclear_question_is_told_how_to_ask(capsys: pytest.CaptureFixture[str], library: Engine) -> None:
    _, text, _ = call(capsys, library, "search", "And the year before?")
    assert "evidence unclear" in text and "hint the question names no subject" in " ".join(text.split())
    _, out, _ = call(capsys, library, "search", "And the year before?", "--json")
    assert json.loads(out)["evidence"]["hint"]


def test_outline_in_all_formats(capsys: pytest.CaptureFixture[str], library: Engine) -> None:
    _, text, _ = call(capsys, library, "outline", "book.pdf", "--depth", "1")
    _, deep, _ = call(capsys, library, "outline", "book.pdf")
    assert 0 < text.count("\n") < deep.count("\n")
    _, out, _ = call(capsys, library, "outline", "book.pdf", "--format", "pageindex")
    tree = json.loads(out)
    assert tree.keys() == {"doc_name", "doc_description", "structure"}

    def check(nodes: list[dict[str, Any]], expected: int) -> int:
        for node in nodes:
            expected += 1
            assert node["node_id"] == f"{expected:04d}" and node["title"]
            assert 1 <= node["start_index"] <= node["end_index"] and node.get("synthetic", True) is True
            assert ("prefix_summary" if "nodes" in node else "summary") in node
            expected = check(node.get("nodes", []), expected)
        return expected

    assert check(tree["structure"], 0) >= len(pdfs.BOOKMARKED)
    assert "text" not in out
    _, out, _ = call(capsys, library, "outline", "book.pdf", "--format", "pageindex", "--text")
    texts = {node["title"]: node["text"] for node in _flat(json.loads(out)["structure"])}
    assert texts["Operations"].startswith("Operations") and "Transport" in texts["Operations"]
    assert texts["Revenue"].startswith("Revenue") and "Borrowings" not in texts["Revenue"]
    assert "Finance" not in texts["Operations"] and texts["Plants"] in texts["Operations"]
    code, _, err = call(capsys, library, "outline", "book.pdf", "--text")
    assert code == 2 and "--format pageindex" in err
    _, out, _ = call(capsys, library, "outline", "book.pdf", "--json", "--query", pdfs.BOOKMARKED[-1][1])
    scored = json.loads(out)
    flat = list(scored["nodes"])
    for node in flat:
        flat += node.get("nodes", [])
    assert all("node_score" in node and "best_pages" in node for node in flat)
    assert max(node["node_score"] for node in flat) > 0


def _flat(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [inside for node in nodes for inside in (node, *_flat(node.get("nodes", [])))]


def test_page_shows_text_and_draws_the_original(
    capsys: pytest.CaptureFixture[str], library: Engine, tmp_path: Path
) -> None:
    code, out, _ = call(
        capsys, library, "page", "corvane-optics-2023-10k", "3,1-2", "--json", "--image", tmp_path / "p.png"
    )
    read = json.loads(out)
    assert code == 0 and [p["page"] for p in read["pages"]] == [3, 1, 2]
    assert "Net sales were $418.2 million" in read["pages"][0]["text"] and read["pages"][0]["sections"][0]["path"]
    assert [Path(i).name for i in read["images"]] == ["p-3.png", "p-1.png", "p-2.png"]
    assert all(Path(i).read_bytes().startswith(b"\x89PNG") for i in read["images"])
    _, human, _ = call(capsys, library, "page", "corvane-optics-2023-10k.pdf", "3")
    assert "Summary:" in human and "Results of operations" in human


def test_the_image_of_a_moved_original_says_what_is_missing(cli: Cli, tmp_path: Path) -> None:
    path = pdfs.numbered(tmp_path / "a.pdf", 1, "spits")
    cli("index", path)
    path.rename(tmp_path / "b.pdf")
    gone = cli("page", "a.pdf", "1", "--image", tmp_path / "x.png")
    assert gone.returncode == 1 and "the original file is missing" in gone.stderr and not (tmp_path / "x.png").exists()
    assert cli("page", "a.pdf", "1").returncode == 0, "the text is still there"
    pdfs.numbered(path, 2, "other")
    changed = cli("page", "a.pdf", "1", "--image", tmp_path / "x.png")
    assert changed.returncode == 1 and "has changed since it was indexed" in changed.stderr


def test_list_info_libraries_doctor(capsys: pytest.CaptureFixture[str], library: Engine) -> None:
    code, out, _ = call(capsys, library, "list")
    assert code == 0 and "corvane-optics-2023-10k.pdf" in out and "annual report" in out
    _, out, _ = call(capsys, library, "info", "book.pdf", "--json")
    document = json.loads(out)
    assert document["status"] == "indexed" and document["library"] == "default" and len(document["sha256"]) == 64
    _, out, _ = call(capsys, library, "libraries", "--json")
    assert [(e["name"], e["documents"]) for e in json.loads(out)["libraries"]] == [("default", 5)]
    code, out, _ = call(capsys, library, "doctor", "--json")
    health = json.loads(out)
    assert code == 0 and health["ok"] and all(check["ok"] for check in health["checks"])
    assert any("5 documents" in check["detail"] for check in health["checks"])


def test_remove_and_clear(cli: Cli, tmp_path: Path) -> None:
    cli("index", pdfs.numbered(tmp_path / "a.pdf", 1, "spits"), pdfs.numbered(tmp_path / "b.pdf", 1, "coves"))
    refused = cli("remove", "a.pdf", "nothing.pdf")
    assert refused.returncode == 1 and "no document 'nothing.pdf'" in refused.stderr
    assert len(json.loads(cli("list", "--json").stdout)["documents"]) == 2, "all are found before any is removed"
    removed = json.loads(cli("remove", "a.pdf", "--json").stdout)
    assert [d["name"] for d in removed["removed"]] == ["a.pdf"]
    unsure = cli("clear")
    assert unsure.returncode == 2 and "--yes" in unsure.stderr and "uploaded files" in unsure.stderr
    assert cli("clear", "--library", "other", "--yes").returncode == 1
    engine = Engine(tmp_path / "home")
    run(engine.conversations.create(libraries="default"))
    engine.close()
    unsure = cli("clear", "--library", "default")
    assert unsure.returncode == 2 and "conversations and your own files stay" in unsure.stderr
    assert "notes, corrections, feedback and uploaded files" in unsure.stderr
    cleared = cli("clear", "--library", "default", "--yes", "--for-good")
    assert "1 conversation about it stays" in cleared.stdout and "chat remove ID" in " ".join(cleared.stdout.split())
    assert "nothing was asked" in cli("chat", "list").stdout
    cli("index", tmp_path / "b.pdf")
    again = json.loads(cli("clear", "--library", "default", "--yes", "--json").stdout)
    assert again == {"cleared": ["default"], "conversations_kept": 1, "bin": "default"}
    cli("index", tmp_path / "b.pdf")
    assert json.loads(cli("clear", "--yes", "--json").stdout) == {"cleared": ["default"]}
    assert (tmp_path / "b.pdf").exists() and "No library" in cli("libraries").stdout
    cli("token", "create", "reader", "--role", "read")
    assert "config.yaml stays" in cli("clear", "--yes").stdout
    assert "reader" not in cli("token", "list").stdout


USAGE = [
    (["page", "book.pdf", "999"], "book.pdf has no page 999. Its pages are 1 to"),
    (["page", "book.pdf", "0"], "has no page 0"),
    (["page", "book.pdf", "x"], "'x' is not a list of page numbers"),
    (["page", "book.pdf", "3-1"], "The page range '3-1' is not ascending"),
    (["page", "book.pdf", "1,,2"], "is not a list of page numbers"),
    (["page", "book.pdf", "1", "--image", "a.gif"], "does not end in .png or .jpg"),
    (["search", " "], "The question is empty"),
    (["outline", "book.pdf", "--query", " "], "The question is empty"),
    (["list", "--library", ""], "name of the library is empty"),
    (["clear", "--yes", "--library", ""], "name of the library is empty"),
    (["search", "x", "--top", "3"], "unrecognized arguments"),
    (["search", "x", "--where", "nonsense"], "is not a filter"),
    (["search", "x", "--top-k", "0"], "too small"),
    (["search", "x", "--top-k", "many"], "not a whole number"),
    (["search", "x", "--effort", "hard"], "invalid choice"),
    (["search", "x", "--expert", "/nowhere.yaml"], "cannot be read"),
    (["nonsense"], "invalid choice"),
    ([], "required"),
]


@pytest.mark.parametrize(("arguments", "said"), USAGE)
def test_usage_errors_end_with_2(
    capsys: pytest.CaptureFixture[str], library: Engine, arguments: list[str], said: str
) -> None:
    code, out, err = call(capsys, library, *arguments)
    assert code == 2 and said in err and out == ""
    code, out, err = call(capsys, library, *arguments, "--json")
    told = json.loads(out)["error"]
    assert (code, told["type"]) == (2, "UsageError") and told["advice"] and said in f"{told['message']} {err}"


@pytest.mark.parametrize(
    "arguments", [["info", "bok.pdf"], ["outline", "bok"], ["page", "bok", "1"], ["search", "x", "--doc", "bok"]]
)
def test_unknown_documents_end_with_1_and_near_names(
    capsys: pytest.CaptureFixture[str], library: Engine, arguments: list[str]
) -> None:
    code, out, err = call(capsys, library, *arguments, "--json")
    assert code == 1 and "book.pdf" in err
    assert json.loads(out)["error"]["type"] == "NotFoundError"


def test_nothing_indexed_yet_says_what_to_do(cli: Cli, tmp_path: Path) -> None:
    for arguments in (("search", "anything"), ("list",), ("info", "x")):
        done = cli(*arguments)
        assert done.returncode == 1 and "Nothing is indexed yet" in done.stderr
    empty, missing = cli("index", tmp_path, "-L", "new"), cli("index", tmp_path / "missing", tmp_path / "*.pdf")
    assert empty.returncode == 1 and "no documents in this folder" in empty.stdout
    assert missing.returncode == 1 and "[2/2] failed     *.pdf: no such file or folder." in missing.stderr
    assert "No library" in cli("libraries").stdout


def test_files_that_no_parser_reads_are_counted_by_kind(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    (folder / "below").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    pdfs.numbered(folder / "a.pdf", 1, "spits")
    for number in range(200):
        (folder / "below" / f"{number}.DWG").touch()
    for name in ("b.vsd", "notes", "draft v1.final version", ".hidden/c.dwg", ".d.dwg"):
        (folder / name).write_text("words")
    done = cli("index", folder)
    (said,) = [line for line in done.stdout.splitlines() if "left out" in line]
    assert done.returncode == 0
    assert "203 files were left out" in said and "(200 .dwg, 2 without an ending, 1 .vsd)" in said
    assert "PDF, Markdown, Word" in said and "convert" in said
    machine = json.loads(cli("index", folder, "--json").stdout)
    assert machine["skipped"] == {".dwg": 200, "": 2, ".vsd": 1} and any("left out" in n for n in machine["notes"])
    alone = cli("index", folder / "below", "--json")
    (failed,) = json.loads(alone.stdout)["files"]
    assert alone.returncode == 1 and "200 .dwg" in failed["error"] and "the supported formats are" in failed["error"]
    assert json.loads(alone.stdout)["notes"] == [], "it is said once"


def test_a_named_file_of_another_kind_says_what_is_read(cli: Cli, tmp_path: Path) -> None:
    sheet, renamed = tmp_path / "b.vsd", pdfs.numbered(tmp_path / "a.pdf", 1, "spits").rename(tmp_path / "a.part")
    sheet.write_bytes(b"PK")
    done = cli("index", sheet, renamed)
    assert done.returncode == 1 and "1 indexed" in done.stdout, "a PDF is one under any name"
    assert "this kind of file is not supported; the supported formats are PDF, Markdown, Word" in done.stdout


def test_what_finds_nothing_says_why(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    cli("index", pdfs.numbered(folder / "a.pdf", 1, "spits"), pdfs.not_a_pdf(folder / "bad.pdf"))
    none = json.loads(cli("search", "spits", "--where", "year=1900", "--json").stdout)
    assert none["results"] == [] and none["notes"] == ["no document matches the filters (year=1900)"]
    assert cli("list", "--where", "year=1900").stdout == "No document meets these conditions.\n"
    failed = cli("search", "spits", "--doc", "bad.pdf")
    assert failed.returncode == 1 and "bad.pdf could not be indexed: the file is not a PDF" in failed.stderr
    mixed = cli("search", "spits", "--doc", "a.pdf", "--doc", "bad")
    assert mixed.returncode == 1 and "could not be indexed" in mixed.stderr
    assert "no document 'worse.pdf'" in cli("search", "spits", "--doc", "worse.pdf").stderr


def test_a_folder_that_became_empty_can_be_pruned(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    path = pdfs.numbered(folder / "a.pdf", 1, "spits")
    cli("index", folder)
    path.unlink()
    assert cli("index", folder).returncode == 1, "without --prune nothing was there to do"
    pruned = cli("index", folder, "--prune", "--json")
    assert pruned.returncode == 0 and json.loads(pruned.stdout) | {"usage": {}} == {
        "files": [], "removed": [str(path)], "notes": [], "skipped": {}, "usage": {},
    }  # fmt: skip
    assert cli("list").stdout == "The library is empty.\n"


def test_a_limit_holds_for_bytes_that_another_library_has(cli: Cli, tmp_path: Path) -> None:
    path = pdfs.numbered(tmp_path / "a.pdf", 3, "spits")
    assert cli("index", path).returncode == 0
    (tmp_path / "home" / "config.yaml").write_text("max_pages: 2")
    refused = cli("index", path, "-L", "other")
    assert refused.returncode == 1 and "the file has 3 pages; the limit is 2" in refused.stderr
    assert cli("index", path).returncode == 0, "what is published stays"


def test_paths_name_documents_from_the_working_directory(
    capsys: pytest.CaptureFixture[str], library: Engine, filings: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, name = filings[0].parent, filings[0].name
    monkeypatch.chdir(folder.parent)
    for written in (f"{folder.name}/{name}", f"./{folder.name}/../{folder.name}/{name}", str(filings[0])):
        code, out, _ = call(capsys, library, "info", written, "--json")
        assert code == 0 and json.loads(out)["path"] == str(filings[0])
    assert call(capsys, library, "info", f"./{name}")[0] == 1, "another place is another document"


def test_a_home_that_cannot_be_written_and_one_of_a_newer_version(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    blocked = cli("list", home=tmp_path / "file" / "home")
    assert blocked.returncode == 1 and "cannot be written" in blocked.stderr and "--home" in blocked.stderr
    cli("index", pdfs.numbered(tmp_path / "a.pdf", 1, "spits"))
    with closing(catalog_of(tmp_path / "home")) as catalog, catalog.writing() as direct:
        direct.exec_driver_sql("UPDATE meta SET value = '99'")
    newer = cli("search", "spits")
    assert newer.returncode == 1 and "newer version" in newer.stderr and "Upgrade" in newer.stderr


def test_a_terminal_gets_a_bar_with_time_left(tmp_path: Path) -> None:
    for number in range(3):
        pdfs.numbered(tmp_path / f"{number}.pdf", 150, f"spit {number}")
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "hybrid_pageindex", "--home", tmp_path / "home", "index", tmp_path],
        stdout=subprocess.PIPE, stderr=terminal, env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
    )  # fmt: skip
    os.close(terminal)
    shown = b""
    try:
        while block := os.read(master, 4096):
            shown += block
    except OSError:  # the terminal closes with the process
        pass
    assert process.wait() == 0 and process.stdout
    assert b"3 indexed (450 pages)" in process.stdout.read()
    process.stdout.close()
    os.close(master)
    assert b"indexing" in shown and b"pages" in shown and b"left" in shown


def test_help_and_version(cli: Cli) -> None:
    assert "index" in cli("--help").stdout
    assert cli("--version").stdout.startswith("hybrid-pageindex 0.")


def test_help_imports_no_heavy_package() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "hybrid_pageindex", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    heavy = {"numpy", "pydantic", "sqlalchemy", "fastapi", "pymupdf"}
    assert done.returncode == 0 and "hybrid_pageindex.cli.parser" in done.stderr
    assert not heavy & {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}


@pytest.mark.usefixtures("default_outlines")  # any setting is checked with pydantic
def test_searching_imports_only_what_it_needs(library: Engine) -> None:
    """PyMuPDF alone takes 0.8 s to import, pydantic 0.1."""
    script = (
        "import sys; from hybrid_pageindex.cli import main\n"
        f"main(['--home', {str(library.home)!r}, 'search', 'net sales', '--json'])\n"
        "unneeded = ('pymupdf', 'onnxruntime', 'alembic', 'torch', 'pydantic', 'filelock', 'indexers')\n"
        "unneeded += ('numpy.ma', 'sqlalchemy.dialects.postgresql')\n"
        "print([module for module in unneeded if module in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_results_tell_files_of_one_name_apart(cli: Cli, tmp_path: Path) -> None:
    for folder in ("spits", "coves"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "readme.md").write_text(
            f"# Guide to {folder}\n\nThe harbour master counts the {folder}.\n"
        )
    cli("index", tmp_path / "spits", tmp_path / "coves")
    shown = cli("search", "harbour master", "--json")
    assert {page["short_path"] for page in json.loads(shown.stdout)["results"]} == {
        "spits/readme.md",
        "coves/readme.md",
    }
    assert "1. spits/readme.md, page 1" in cli("search", "who counts spits").stdout
    assert "# Guide to coves" in cli("page", "coves/readme.md", "1").stdout, "and it can be typed as it is shown"


def test_small_things_are_said_as_people_say_them(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    path, other = pdfs.numbered(folder / "a.pdf", 1, "spits"), pdfs.numbered(folder / "report.pdf", 1, "coves")
    assert "a.pdf: 1 page, " in cli("index", folder).stderr
    unquoted = cli("search", "where", "are", "spits")
    assert unquoted.returncode == 2 and 'hybrid-pageindex search "where are spits"' in unquoted.stderr
    assert "Did you mean" not in cli("remove", "nope.pdf").stderr
    assert "Did you mean 'report.pdf'" in cli("remove", "reprot.pdf").stderr
    shown = cli("info", "a.pdf").stdout
    assert re.search(r"mtime +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]", shown) and "is missing" not in shown
    path.unlink()
    for arguments in (("info", "a.pdf"), ("list",), ("index", other.parent)):
        said = cli(*arguments).stdout
        assert "is missing" in said and "prun" in said
    assert "gone" not in cli("index", folder, "--prune").stdout


def test_time_left_follows_the_pages_that_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("hybrid_pageindex.cli.progress.time.monotonic", lambda: now)
    pace = Pace()
    assert pace.left(0, 0) == "" == pace.left(4, 40), "what came from the cache took no time"
    now += 12
    assert pace.left(16, 40) == "0:00:24" and pace.left(40, 40) == ""
    assert pace.left(16, 5000) == "", "of a hundredth of the work or less nothing follows"


def test_without_a_terminal_a_line_comes_now_and_then_and_only_if_new(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr("hybrid_pageindex.cli.progress.time.monotonic", lambda: now)
    with embed_progress(quiet=False) as told:
        for second in range(40):
            now = float(second)
            told(EmbedProgress(1, 0, 100, min(second, 25)))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == ["10 of 100 texts", "20 of 100 texts", "25 of 100 texts"]
    assert lines[0] == "10 of 100 texts, 1.0 a second, 0:01:30 left"


def test_libraries_are_named_and_searched_together(cli: Cli, tmp_path: Path) -> None:
    for name, words in (("one", "the tide in Dover"), ("two", "the tide in Calais")):
        (tmp_path / f"{name}.md").write_text(f"# Tables\n\nHere is {words}, hour by hour.\n")
        cli("index", tmp_path / f"{name}.md", "-L", name)
    assert "also called 潮汐" in cli("libraries", "alias", "one", "潮汐").stdout
    made = json.loads(cli("libraries", "create", "three", "--json").stdout)
    assert made == {"id": "three", "name": "three", "alias": ""}
    assert json.loads(cli("libraries", "rename", "TWO", "zwei", "--json").stdout)["id"] == "two"
    found = json.loads(cli("libraries", "--find", "潮", "--json").stdout)["libraries"]
    assert [(one["name"], one["alias"]) for one in found] == [("one", "潮汐")]
    for scope in (("--all-libraries",), ("-L", "潮汐", "-L", "zwei")):
        shape = json.loads(cli("search", "tide", *scope, "--json").stdout)
        assert {page["library"] for page in shape["results"]} == {"one", "zwei"}
    assert "one: one.md" in cli("search", "tide in Dover", "--all-libraries").stdout
    both = cli("search", "tide", "-L", "one", "--all-libraries")
    assert both.returncode == 2 and "Name libraries, or ask for all libraries, but not both" in both.stderr
    taken = cli("libraries", "rename", "one", "ＺＷＥＩ")
    assert taken.returncode == 2 and "A library named 'zwei' already exists" in taken.stderr
