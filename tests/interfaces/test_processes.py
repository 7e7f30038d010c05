"""Several processes on one home, and processes that die: nothing lost, nothing half visible."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from hybrid_pageindex import Engine, run
from tests import pdfs
from tests.conftest import Cli

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("default_outlines")]

DOCUMENTS, PAGES = 16, 4


def topic(document: int, version: int) -> str:
    return f"harbour {document} edition {version}"


def write(folder: Path, document: int, version: int) -> None:
    """Replace a file in one step, as an editor saves."""
    made = pdfs.numbered(folder / f".{document}.new", PAGES, topic(document, version))
    made.rename(folder / f"{document:02}.pdf")


def start_indexing(home: Path, folder: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "hybrid_pageindex", "--home", str(home), "index", str(folder), *more],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def reported(lines: str) -> set[int]:
    """Which documents the run said are done."""
    return {int(number) for number in re.findall(r"\] (?:indexed|unchanged)\s+(\d\d)\.pdf:", lines)}


def found_version(engine: Engine, document: int, versions: int) -> int:
    """The version of which every page is found and no page of any other; fails for a mixture."""
    name = f"{document:02}.pdf"
    texts = [page.text for page in run(engine.pages(name, f"1-{PAGES}"))]
    complete = [
        v
        for v in range(versions + 1)
        if all(pdfs.landmark(topic(document, v), n + 1) in t for n, t in enumerate(texts))
    ]
    assert len(complete) == 1, f"{name} is a mixture"
    for number in (1, PAGES):
        word = pdfs.landmark(topic(document, complete[0]), number)
        results = run(engine.search(word, documents=[name], top_k=1, effort="fast")).results
        assert results and results[0].page == number and word in texts[number - 1], f"{name} page {number} is not found"
    return complete[0]


@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=pytest.mark.endurance)])
def test_kill_9_at_random_moments(tmp_path: Path, kills: int) -> None:
    home, folder = tmp_path / "home", tmp_path / "files"
    folder.mkdir()
    choose = random.Random(9)
    newest = dict.fromkeys(range(DOCUMENTS), 0)
    for document in newest:
        write(folder, document, 0)
    promised: dict[int, int] = {}  # document -> oldest version that must be found
    engine = Engine(home)
    began = time.monotonic()
    whole = start_indexing(home, folder, "--workers", "1")
    _, said = whole.communicate(timeout=600)
    usual = time.monotonic() - began
    assert reported(said) == set(newest)
    promised = dict(newest)
    for kill in range(1, kills + 1):
        for document in choose.sample(range(DOCUMENTS), DOCUMENTS // 2):
            newest[document] = kill
            write(folder, document, kill)
        process = start_indexing(home, folder, "--workers", "1")
        time.sleep(choose.uniform(0.2, 0.7) * usual)
        workers = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        process.send_signal(signal.SIGKILL)
        _, said = process.communicate(timeout=600)
        for document in reported(said):
            promised[document] = newest[document]
        for document, least in promised.items():
            if document in reported(said) or kill % 4 == 0:
                assert found_version(engine, document, kill) >= least
        _, alive = psutil.wait_procs(workers, timeout=600)
        assert not alive, "worker processes must end with the process that started them"
    fresh = Engine(home)
    with fresh._catalog().snapshot() as snapshot:
        assert len(snapshot.published("default")) == DOCUMENTS
    fresh.close()
    report = run(engine.index(folder))
    assert {file.status for file in report.files} <= {"indexed", "unchanged"}
    assert {document: found_version(engine, document, kills) for document in newest} == newest
    assert run(engine.admin.doctor()).ok
    assert not list((home / "tmp").iterdir()), "working files of killed runs must be removed"
    engine.close()


def test_one_process_indexes_while_another_searches(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "files"
    folder.mkdir()
    for document in range(12):
        write(folder, document, 0)
    engine = Engine(home)
    run(engine.index(folder / "00.pdf"))
    process = start_indexing(home, folder)
    seen: set[int] = set()
    searches = 0
    while process.poll() is None:
        document = searches % 12
        word = pdfs.landmark(topic(document, 0), 2)
        found = run(engine.search(f"word for this page: {word}", top_k=1, effort="fast"))
        results = found.results
        assert results, "the first document holds most of these words from the beginning"
        if results[0].doc_name == f"{document:02}.pdf":
            assert results[0].page == 2, found
            seen.add(document)
        else:
            assert document not in seen, "what was found once stays found"
        searches += 1
    assert process.stderr and reported(process.stderr.read()) == set(range(12))
    process.stderr.close()
    assert process.returncode == 0 and searches > 5
    for document in range(12):
        assert run(engine.search(pdfs.landmark(topic(document, 0), 3), top_k=1)).results[0].page == 3
    engine.close()


def test_a_second_process_searches_and_writes_while_the_first_holds_the_index(tmp_path: Path, program: Cli) -> None:
    first = pdfs.numbered(tmp_path / "first.pdf", 3, "dunes")
    engine = Engine(tmp_path / "home")
    run(engine.index(first))
    assert run(engine.search(pdfs.landmark("dunes", 2))).results[0].page == 2  # this process now owns the shard
    found = json.loads(program("search", pdfs.landmark("dunes", 3), "--json").stdout)
    assert found["results"][0]["page"] == 3
    assert program("index", pdfs.numbered(tmp_path / "second.pdf", 3, "cliffs")).returncode == 0
    assert run(engine.search(pdfs.landmark("cliffs", 1))).results[0].doc_name == "second.pdf"
    assert program("remove", "first.pdf").returncode == 0
    assert all(r.doc_name == "second.pdf" for r in run(engine.search(pdfs.landmark("dunes", 2))).results)
    assert program("clear", "--yes").returncode == 0
    assert run(engine.libraries.list()) == []
    engine.close()


def test_ctrl_c_stops_soon_says_so_and_leaves_nothing_behind(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "files"
    folder.mkdir()
    for document in range(20):
        pdfs.numbered(folder / f"{document:02}.pdf", 60, f"ridge {document}")
    process = start_indexing(home, folder, "--workers", "1")
    assert process.stderr
    first = process.stderr.readline()
    assert "indexed" in first
    process.send_signal(signal.SIGINT)
    rest = process.stderr.read()
    assert process.wait(timeout=600) == 1
    process.stderr.close()
    assert "stopped. Files that were reported as indexed stay" in rest and "Traceback" not in rest
    assert not list((home / "tmp").iterdir())
    engine = Engine(home)
    assert 1 <= len(run(engine.documents.list())) < 20
    engine.close()


def test_a_script_without_a_main_guard_can_index(tmp_path: Path) -> None:
    """Worker processes are our own module: they do not import the caller's script."""
    pdfs.numbered(tmp_path / "a.pdf", 2, "fens")
    script = tmp_path / "script.py"
    script.write_text(
        "from hybrid_pageindex import Engine, run\n"
        f"engine = Engine({str(tmp_path / 'home')!r})\n"
        f"print(run(engine.index({str(tmp_path / 'a.pdf')!r})).files[0].status)\n"
    )
    (tmp_path / "indexers.py").write_text("raise RuntimeError('the working directory must not matter')\n")
    done = subprocess.run(
        [sys.executable, "-P", str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    assert (done.stdout, done.returncode) == ("indexed\n", 0), done.stderr
