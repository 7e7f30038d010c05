"""Nothing leaves the machine, and nothing is written but where the user said: the product, watched from outside."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from hybrid_pageindex import sample
from tests import pdfs
from tests.cluster import PARTS
from tests.doubles.scripted_server import scripted_server

ROOT = Path(__file__).parents[2]
ROOMS = ("hybrid_core", "indexers", "retrievers", "hybrid_pageindex", "eval")
_CALLS = "connect,sendto,sendmsg,sendmmsg"
_PRODUCT = """
import asyncio, os, sys
from hybrid_pageindex.cli import main
for arguments in (
    ["index", "documents"],
    ["search", "What was the capital expenditure in fiscal 2025?"],
    ["outline", "report.pdf"],
    ["page", "report.pdf", "13", "--image", "page.png"],
    ["eval", "run", "custom", "--docs", "documents", "--questions", "questions.jsonl", "--out", "runs/engine"],
    ["eval", "run", "custom", "--docs", "documents", "--questions", "questions.jsonl", "--out", "runs/bm25",
     "--ranker", "page-bm25"],
    ["eval", "report", "runs/engine", "runs/bm25", "--html", "report.html"],
    ["doctor"],
):
    assert main(arguments) == 0, arguments
sys.stdout.flush()
sys.exit(main(["mcp"]))
"""


_EXTRAS = """
import os, subprocess, sys, time
from hybrid_pageindex.cli import main

def call(*arguments, **variables):
    os.environ.update(variables)
    assert main([*arguments]) == 0, arguments

call("index", "scan.pdf", PATH="")  # without Tesseract, RapidOCR reads it
call("page", "scan.pdf", "1")
call("ask", "When was the mill sold?", PAGEINDEX_LLM_PROVIDER="openai")
call("ask", "Who bought the mill?", PAGEINDEX_LLM_PROVIDER="anthropic", PAGEINDEX_LLM_BASE_URL=os.environ["BARE_URL"])
servers = dict(line.split("=", 1) for line in open("servers").read().splitlines())
call("index", "--upload", "mill.md", PAGEINDEX_STORAGE_PATH="shared", PAGEINDEX_LLM_MODEL="", **servers)
call("index", "--upload", "--detach", "more.md")
dispatcher = [sys.executable, "-P", "-m", "celery", "-A", "hybrid_pageindex.dispatcher"]
running = [subprocess.Popen([*dispatcher, *rest]) for rest in (["worker", "--concurrency", "1"], ["beat"])]
until = time.monotonic() + 120
while main(["page", "more.md", "1"]) and time.monotonic() < until:
    time.sleep(0.5)
for process in running:
    process.terminate()
    process.wait(60)
call("page", "more.md", "1")
call("search", "Who bought the ferry?")
call("doctor")
sys.stdout.flush()
sys.exit(main(["mcp"]))
"""


def _can(*command: str) -> bool:
    if not shutil.which(command[0]):
        return False
    return subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_switches_telemetry_off_first(room: str) -> None:
    bare = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    says = [sys.executable, "-c", f"import {room}, os; print(os.environ.get('ORT_DISABLE_TELEMETRY'))"]
    assert subprocess.run(says, env=bare, capture_output=True, text=True, check=True).stdout == "1\n"


def test_what_the_user_set_stays() -> None:
    says = [sys.executable, "-c", "import hybrid_core, os; print(os.environ['ORT_DISABLE_TELEMETRY'])"]
    environment = os.environ | {"ORT_DISABLE_TELEMETRY": "0"}
    assert subprocess.run(says, env=environment, capture_output=True, text=True, check=True).stdout == "0\n"


def test_nothing_imports_the_pdf_library_before_a_room_of_ours() -> None:
    ahead = []
    for file in (*ROOT.glob("benchmarks/*.py"), *ROOT.glob("scripts/*.py"), ROOT / "tests" / "conftest.py"):
        for statement in ast.parse(file.read_text()).body:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in statement.names]
                modules = names if isinstance(statement, ast.Import) else [statement.module or ""]
                if modules[0].split(".")[0] in ROOMS:
                    break
                ahead += [f"{file.name}: {module}" for module in modules if module.startswith("pymupdf")]
    assert not ahead


def _product(folder: Path, *prefix: str) -> None:
    """Index, search, show, measure and serve, each command in a process or started by one."""
    (folder / "documents").mkdir()
    sample.write_sample_report(folder / "documents" / "report.pdf")
    (folder / "documents" / "条例.md").write_text("# 条例\n\n第一条 资本支出为十亿元。\n", encoding="utf-8")
    questions = [
        {"question": "How much was spent?", "evidence": [{"doc": "report.pdf", "page": 13}]},
        {"question": "资本支出是多少？", "evidence": [{"doc": "条例.md", "page": 1}]},
    ]
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)), encoding="utf-8")
    (folder / "temporary").mkdir()
    environment = {name: value for name, value in os.environ.items() if "TELEMETRY" not in name} | {
        "HOME": str(folder / "user"), "TMPDIR": str(folder / "temporary"), "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(ROOT), "PAGEINDEX_STORAGE_PATH": str(folder / "home"),
    }  # fmt: skip
    done = subprocess.run(
        [*prefix, sys.executable, "-P", "-c", _PRODUCT],
        cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_product_calls_nobody_and_leaves_no_files_elsewhere(tmp_path: Path) -> None:
    watch = ("strace", "-f", "-qq", "-e", f"trace={_CALLS}", "-o", str(tmp_path / "calls"))
    if not _can("strace", "-o", os.devnull):
        pytest.skip("strace is not installed, or may not trace here")
    _product(tmp_path, *watch)
    calls = (tmp_path / "calls").read_text()
    addressed = re.findall(r".*sa_family=AF_INET.*", calls)
    assert not [call for call in addressed if "127." not in call and '"::1"' not in call]
    made = {path.name for path in tmp_path.iterdir()}
    assert made - {"documents", "questions.jsonl", "calls", "temporary", "user"} == {
        "home", "page.png", "report.html", "runs",
    }  # fmt: skip
    left = [str(path.relative_to(tmp_path)) for path in tmp_path.glob("user/**/*") if path.is_file()]
    left += [str(path.relative_to(tmp_path)) for path in tmp_path.glob("temporary/**/*")]
    assert not left


@pytest.mark.endurance
def test_no_extra_calls_anybody_but_the_servers_of_the_settings(tmp_path: Path) -> None:
    """Every extra that is installed here: models, OCR, Celery, a database, a vector server, a bucket, tasks, traces."""
    if not _can("strace", "-o", os.devnull):
        pytest.skip("strace is not installed, or may not trace here")
    pdfs.scanned(tmp_path / "scan.pdf", 1, 100)
    for name, thing in (("mill", "mill"), ("more", "ferry")):
        (tmp_path / f"{name}.md").write_text(f"# The {thing}\n\nThe {thing} was sold to the town in 1987.\n")
    with ExitStack() as stack:
        model = stack.enter_context(scripted_server(lambda _: "The mill was sold in 1987 [[source:1]]."))
        servers = [stack.enter_context(start(1)) for start in PARTS.values()]
        variables = [f"{name}={value}" for server in servers for name, value in server.items()]
        (tmp_path / "servers").write_text("\n".join(variables))
        environment = {name: value for name, value in os.environ.items() if "TELEMETRY" not in name} | {
            "HOME": str(tmp_path / "user"), "PYTHONPATH": str(ROOT), "PAGEINDEX_STORAGE_PATH": "home",
            "PAGEINDEX_LLM_MODEL": "m", "PAGEINDEX_LLM_BASE_URL": model.url, "PAGEINDEX_LLM_API_KEY": "k",
            "PAGEINDEX_TRACES_URL": "http://127.0.0.1:9", "BARE_URL": model.url.removesuffix("/v1"),
        }  # fmt: skip
        watch = ["strace", "-f", "-qq", "-e", f"trace={_CALLS}", "-o", str(tmp_path / "calls")]
        done = subprocess.run(
            [*watch, sys.executable, "-P", "-c", _EXTRAS],
            cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert len(model.requests) >= 2 and "read by OCR" in done.stderr
    calls = (tmp_path / "calls").read_text()
    called = {int(port) for port in re.findall(r"sin_port=htons\((\d+)\)", calls)}
    ports = {int(port) for server in variables for port in re.findall(r"127\.0\.0\.1:(\d+)", server)}
    assert ports <= called, "each server was used"
    addressed = re.findall(r".*sa_family=AF_INET.*", calls)
    assert not [call for call in addressed if "127." not in call and '"::1"' not in call]


def test_the_product_works_without_any_network(tmp_path: Path) -> None:
    if not _can("unshare", "-rn"):
        pytest.skip("unshare is not installed, or may not make a network namespace here")
    _product(tmp_path, "unshare", "-rn")
