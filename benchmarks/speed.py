"""Compare the speed of indexing and searching with that of other libraries, on the same files in one run.

    python -m benchmarks speed [--data DIR] [--files 5] [--runs 5] [--peers PYTHON] [--json]
    python -m benchmarks speed --calls [--record]

``--peers`` names a Python that has the libraries which this project does not need: ``pip install pageindex tantivy
lancedb``. A library that is nowhere installed is listed as such. All programs run in turn, ``--runs`` times, so that
each run meets the same load. Indexing is measured in pages per second of processor time, searching by the processor
time of one question, all threads included. A ratio above 1 means that this engine is faster. Each ratio is a median,
with the least and the greatest of the runs.

The rows do not do the same work: this engine reads PDFs, builds trees and an index, and a search returns scored pages
with sections, snippets and receipts. Libraries of words get the texts that this engine read, and return page numbers.

``--calls`` counts the function calls of reading the sample report and of a warm search, which do not depend on the
machine. It fails if a count is more than 1.5 times the recorded one. ``--record`` records the counts.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks import speed_peers
from benchmarks.indexing import children_seconds
from eval.datasets import load
from hybrid_core.errors import PageIndexError
from hybrid_core.types.documents import ParsedPage
from hybrid_pageindex import Engine, run
from hybrid_pageindex.sample import SAMPLE_QUESTIONS, write_sample_report
from indexers.assembly.chunks import ChunkSize
from indexers.assembly.content import build_content
from indexers.assembly.spool import PageTerms, Spool
from indexers.formats.limits import ParseLimits
from indexers.formats.registry import open_file
from tests.work import calls

RECORDED = Path(__file__).parent / "data" / "calls.json"
MOST = 1.5  # times the recorded count of calls
"""A change may need more calls; a count this far above the recorded one is a mistake, or must be recorded with it."""


def main() -> int:
    """Print the table or check the counts of calls."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of the data sets (default: PAGEINDEX_EVAL_DATA)")
    parser.add_argument("--files", type=int, default=5, help="number of filings")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON", help="a Python with the other libraries")
    parser.add_argument("--calls", action="store_true", help="count function calls instead")
    parser.add_argument("--record", action="store_true", help="record the counts of --calls")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.calls:
        return report_calls(options.record)
    runs = compare(options)
    print(json.dumps(runs) if options.json else table(runs))
    return 0


def compare(options: argparse.Namespace) -> dict[str, Any]:
    """Index and search the same filings with this engine and all others, in turn, ``runs`` times."""
    dataset = load("financebench", options.data)
    files = [Path(file) for file in dataset.files][: options.files]
    questions = [question.text for question in dataset.questions[: options.questions]]
    own: list[dict[str, Any]] = []
    others: dict[str, list[dict[str, Any]]] = {name: [] for name in speed_peers.PEERS}
    with tempfile.TemporaryDirectory() as temporary:
        for number in range(options.runs):
            print(f"run {number + 1} of {options.runs}", file=sys.stderr, flush=True)
            measured, texts = measure_engine(Path(temporary, f"home{number}"), files, questions)
            own.append(measured)
            request = json.dumps({"files": [str(file) for file in files], "texts": texts, "questions": questions})
            for name, (distribution, _, _) in speed_peers.PEERS.items():
                python = sys.executable if speed_peers.installed(distribution) else options.peers
                others[name].append(ask_peer(python, name, request))
    return {"files": len(files), "pages": own[0]["pages"], "engine": own, "peers": others}


def measure_engine(home: Path, files: list[Path], questions: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Index files with the ``index`` command, then search warm. Return the measurements and the texts of all pages."""
    before = children_seconds()
    program = [sys.executable, "-m", "hybrid_pageindex", "--home", str(home), "index", *map(str, files)]
    subprocess.run(program, check=True, capture_output=True)
    seconds = children_seconds() - before
    with closing(Engine(home)) as engine:
        documents = run(engine.documents.list())
        texts = [
            page.text for document in documents for page in run(engine.pages(document.doc_id, f"1-{document.pages}"))
        ]
        for question in questions:
            engine.search_now(question, effort="fast")
        times = []
        for question in questions:
            began = time.process_time()
            engine.search_now(question, effort="fast")
            times.append((time.process_time() - began) * 1000)
    return {"pages": len(texts), "index_seconds": seconds, "search_ms": times}, texts


def ask_peer(python: str, name: str, request: str) -> dict[str, Any]:
    """Run one other library in its own process and return its reply. Exit with its message if it fails."""
    program = [python, str(Path(speed_peers.__file__)), name]
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as peer:
        output, errors = peer.communicate(request)
    if peer.returncode:
        sys.exit(f"{name} failed: {errors.strip()[-500:]}")
    reply: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
    return reply


def table(runs: dict[str, Any]) -> str:
    """Return the runs as a Markdown table."""
    pages, own = runs["pages"], runs["engine"]
    rows = [
        f"{runs['files']} files, {pages} pages, {len(own)} runs",
        "",
        "| program | what it does | pages per CPU second | ratio | search p50, CPU ms | p95 | ratio |",
        "|---|---|---|---|---|---|---|",
        f"| this engine | everything | {pages / _median(own, 'index_seconds'):.0f} | | {_search(own)} | |",
    ]
    for name, replies in runs["peers"].items():
        what = speed_peers.PEERS[name][2]
        if replies[0]["index_seconds"] is None:
            rows.append(f"| {name} | {what} | not installed | | | | |")
            continue
        speed = pages / max(_median(replies, "index_seconds"), 1e-9)
        indexing = _ratio([b["index_seconds"] / a["index_seconds"] for a, b in zip(own, replies, strict=True)])
        if replies[0]["search_ms"] is None:
            search = " | | "
        else:
            pairs = zip(own, replies, strict=True)
            ratios = [statistics.median(b["search_ms"]) / statistics.median(a["search_ms"]) for a, b in pairs]
            search = f"{_search(replies)} | {_ratio(ratios)}"
        rows.append(f"| {name} {replies[0]['version']} | {what} | {speed:.0f} | {indexing} | {search} |")
    return "\n".join(rows)


def _median(replies: list[dict[str, Any]], name: str) -> float:
    return statistics.median(reply[name] for reply in replies)


def _search(replies: list[dict[str, Any]]) -> str:
    times = [time for reply in replies for time in reply["search_ms"]]
    return f"{statistics.median(times):.2f} | {statistics.quantiles(times, n=20)[-1]:.2f}"


def _ratio(ratios: list[float]) -> str:
    return f"{statistics.median(ratios):.3g} ({min(ratios):.3g} to {max(ratios):.3g})"


def count_calls() -> dict[str, int]:
    """Count the calls of Python and C functions that reading the sample report and a warm search of it make."""
    with tempfile.TemporaryDirectory() as temporary:
        report = write_sample_report(Path(temporary, "report.pdf"))
        read_report(report)  # the first time also imports and fills caches
        question, *others = [sample.question for sample in SAMPLE_QUESTIONS]
        with closing(Engine(Path(temporary, "home"))) as engine:
            run(engine.index(report))
            for other in others:
                engine.search_now(other, effort="fast")
            return {
                "reading the sample report": calls(lambda: read_report(report)),
                "a warm search": calls(lambda: engine.search_now(question, effort="fast")),
            }


def read_report(path: Path) -> None:
    """Read all pages of a file and build its tree, chunks and terms, as a worker does."""
    with closing(open_file(path, None, ParseLimits())) as file:
        pages = [page for page in file.read(range(1, file.pages + 1), lambda _: None) if isinstance(page, ParsedPage)]
        spool = Spool(pages, [PageTerms.of_text(page.text) for page in pages], file.info(), [])
    build_content(path.name, "", "pdf", [spool], ChunkSize())


def report_calls(record: bool) -> int:
    """Print the counts beside the recorded ones. Return 1 if one is more than ``MOST`` times as high."""
    counted = count_calls()
    if record:
        RECORDED.write_text(json.dumps(counted, indent=2) + "\n", encoding="utf-8")
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    for name, count in counted.items():
        print(f"{name}: {count} calls, {count / recorded[name]:.2f} times the recorded {recorded[name]}")
    return int(any(count > MOST * recorded[name] for name, count in counted.items()))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PageIndexError as error:
        sys.exit(str(error))
