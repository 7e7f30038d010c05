"""What happens at the edges of a process: full and narrow outputs, readers that leave, Ctrl-C at any time."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from hybrid_pageindex import Engine
from tests import pdfs
from tests.conftest import Cli

PROGRAM = [sys.executable, "-m", "hybrid_pageindex"]


@pytest.mark.parametrize("arguments", [["outline", "book.pdf"], ["list", "--json"], ["search", "net sales"]])
def test_a_full_output_is_one_sentence(library: Engine, arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [*PROGRAM, "--home", library.home, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr == "hybrid-pageindex: standard output: No space left on device.\n"


def test_a_closed_output_is_no_error(library: Engine) -> None:
    command = 'exec "$0" "$@" >&- 2>&-'
    assert subprocess.run(["sh", "-c", command, *PROGRAM, "--home", library.home, "list"], check=False).returncode == 0


def test_what_the_outputs_encoding_lacks_is_escaped(
    program: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    program("index", pdfs.numbered(tmp_path / "größe 😀.pdf", 1, "spits"))
    for arguments in (("list",), ("info", "größe 😀"), ("search", "spits"), ("page", "größe 😀", "1")):
        human, machine = program(*arguments), program(*arguments, "--json")
        assert (human.returncode, human.stderr, machine.returncode, machine.stderr) == (0, "", 0, "")
        assert "gr\\xf6\\xdfe \\U0001f600.pdf" in human.stdout
        assert "größe 😀.pdf" in json.dumps(json.loads(machine.stdout), ensure_ascii=False)


@pytest.mark.parametrize("arguments", ["outline book.pdf", "outline book.pdf --json", "libraries"])
def test_a_reader_that_goes_away_is_no_error(library: Engine, arguments: str) -> None:
    program = f"{shlex.join([*PROGRAM, '--home', str(library.home)])} {arguments} | true"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_indexing_goes_on_when_nobody_reads_its_progress(tmp_path: Path) -> None:
    paths = [pdfs.numbered(tmp_path / f"{number}.pdf", 1, "spits") for number in range(3)]
    process = subprocess.Popen(
        [*PROGRAM, "--home", tmp_path / "home", "index", *paths], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout and process.stderr
    process.stderr.close()
    said = process.stdout.read()
    process.stdout.close()
    assert process.wait() == 0 and said.startswith(b"3 indexed")


def test_ctrl_c_while_the_engine_is_being_imported(library: Engine) -> None:
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", *PROGRAM[1:], "--home", str(library.home), "search", "net sales"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        pipesize=4096,  # it cannot be far ahead of what is read here
    )  # fmt: skip
    assert process.stderr
    for name in ("hybrid_pageindex.cli.parser", "numpy"):  # then the engine's imports have begun
        while name not in (line := process.stderr.readline()):
            assert line, "it ended before it was interrupted"
    process.send_signal(signal.SIGINT)
    rest = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=600) == 1
    assert "hybrid-pageindex: stopped." in rest and "Traceback" not in rest


def test_ctrl_c_on_the_terminal_does_not_reach_the_workers(tmp_path: Path) -> None:
    """A terminal sends it to the whole process group; a worker that is just starting would show a stack trace."""
    for number in range(4):
        pdfs.numbered(tmp_path / f"{number}.pdf", 60, f"spit {number}")
    process = subprocess.Popen(
        [*PROGRAM, "--home", tmp_path / "home", "index", tmp_path, "--workers", "3"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    parent = psutil.Process(process.pid)
    while len(workers := parent.children()) < 3:
        assert process.poll() is None, "it ended before it was interrupted"
        time.sleep(0.005)
    until = time.monotonic() + 600
    while process.pid in {os.getpgid(worker.pid) for worker in workers}:  # between fork and exec a child is in it
        assert time.monotonic() < until
    time.sleep(0.02)  # they are importing
    os.killpg(process.pid, signal.SIGINT)
    assert process.stderr
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=600) == 1 and "stopped." in said and "Traceback" not in said
    assert not psutil.wait_procs(workers, timeout=600)[1]


def test_control_characters_in_names_stay_in_their_line(program: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    pdfs.numbered(folder / "two\nlines\x1b[31m.pdf", 1, "spits")
    shown = "two\\nlines\\x1b[31m.pdf"
    indexed = program("index", folder)
    assert indexed.stderr.startswith(f"[1/1] indexed    {shown}: 1 page,") and indexed.stderr.count("\n") == 1
    assert shown in program("list").stdout and shown in program("search", "spits").stdout
    assert f"{shown} has no page 9" in program("page", "two\nlines\x1b[31m", "9").stderr
    failed = program("index", "--json", tmp_path / "no\nfile.pdf")
    assert json.loads(failed.stdout)["files"][0]["path"] == str(tmp_path / "no\nfile.pdf"), "programs get it as it is"
