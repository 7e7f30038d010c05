"""What models cost when filings are indexed: calls and tokens of each step, of a changed page, and throughput.

    python benchmarks/enriching.py [--filings NAME…] [--limits 1 4 16 32] [--server-ms 200]

A scripted server in a process of its own answers by plain rules from what it is shown: a heading is right where its
line stands in the passage, summaries are first sentences. So calls and input tokens are what a real model would get;
output tokens and quality are not. Then one page of each filing gets another sentence and the filing is indexed again.
Throughput: one filing with every page described, for each limit of calls (and pages) at once, with a server that takes
--server-ms; "pages drawn" is without the server's time, which is what the machine can draw.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymupdf

from eval.datasets import data_folder
from hybrid_core.models.endpoint import Request
from hybrid_core.models.fakes import Said, said
from hybrid_core.models.scripted_server import scripted_server
from hybrid_pageindex import Engine, Settings, run

FILINGS = ("NIKE_2018_10K", "ADOBE_2016_10K", "MICROSOFT_2016_10K")
_DATA = r":\n<<<data (\w+)>>>\n(.*?)\n<<<end \1>>>"


def reads(request: Request) -> dict[str, Any]:
    """What somebody says who reads what is shown and adds nothing."""
    text = request.messages[-1].text
    if request.title == "Word":
        return {"word": "red" if "colour" in text else "ready"}
    if request.title == "PageSaid":
        page = _shown(text, "Text of the page in its file")
        figures = ["A chart of the page."] if len(page) < 3000 else []
        return {"summary": _first(page), "key_terms": page.split()[:5], "figures": figures, "tables": [], "text": page}
    if request.title == "SectionSummaries":
        numbered = re.split(r"^\[section (\d+)\].*$", _shown(text, "Sections"), flags=re.MULTILINE)
        pairs = zip(numbered[1::2], numbered[2::2], strict=True)
        return {"summaries": [{"section": int(n), "summary": _first(body), "gaps": []} for n, body in pairs]}
    if request.title == "Description":
        return {"description": _first(text)}
    if request.title == "Checks":
        parts = re.split(r"^(\d+)\. Title: (.*)$", _shown(text, "Entries"), flags=re.MULTILINE)
        entries = zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
        return {"checks": [{"entry": int(n), "begins": _heads(title, passage)} for n, title, passage in entries]}
    pages = re.split(r"^\[page (\d+)\].*$", _shown(text, "Pages"), flags=re.MULTILINE)
    shown = [(int(n), body) for n, body in zip(pages[1::2], pages[2::2], strict=True)]
    if request.title == "FoundHeadings":
        lines = [(number, line.strip()) for number, body in shown for line in body.split("\n")]
        found = [(number, line) for number, line in lines if re.match(r"(PART|ITEM|Item|NOTE|Note) [\dIV]+", line)]
        return {"headings": [{"page": number, "level": 1, "title": line} for number, line in found if len(line) < 90]}
    if request.title == "Places":
        titles = re.findall(r"^(\d+)\. (.*)$", _shown(text, "Titles"), re.MULTILINE)
        return {
            "places": [
                {"entry": int(n), "page": next((p for p, body in shown if _heads(title, body)), 0)}
                for n, title in titles
            ]
        }
    return {"is_contents": False, "entries": []}


def _shown(text: str, name: str) -> str:
    found = re.search(name + _DATA, text, re.DOTALL)
    return found[2] if found else ""


def _first(text: str) -> str:
    return " ".join(text.split())[:200] or "An empty page."


def _heads(title: str, passage: str) -> bool:
    plain = re.sub(r"\W+", "", title.lower())
    return any(re.sub(r"\W+", "", line.lower()).startswith(plain) for line in passage.split("\n"))


@contextmanager
def server(milliseconds: float) -> Iterator[str]:
    """The URL of a scripted model in another process."""
    command = [sys.executable, __file__, "--serve", str(milliseconds / 1000)]
    served = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert served.stdout is not None and served.stdin is not None
    try:
        yield served.stdout.readline().strip()
    finally:
        served.stdin.close()
        served.wait()


def engine(home: Path, url: str, **settings: Any) -> Engine:
    models = {"llm_model": "m", "llm_base_url": url, "vlm_model": "v"}
    return Engine(settings=Settings(storage_path=home, **models | settings))


def costs(path: Path, url: str, folder: Path) -> Iterator[dict[str, Any]]:
    """Each step of a filing, and of the same filing with another sentence on a page in its middle."""
    copy = folder / path.name
    copy.write_bytes(path.read_bytes())
    with_models = engine(folder / path.stem, url)
    for change in ("new", "one page changed"):
        if change != "new":
            document = pymupdf.open(path)
            page = document[document.page_count // 2]
            page.insert_text((72, page.rect.height - 30), "Ballast was sold for 417 crowns.", fontsize=9)
            document.save(copy)
        report = run(with_models.index(copy))
        file = report.files[0]
        for step in file.steps:
            took = step.usage
            yield {
                "file": path.stem, "pages": file.pages, "sections": file.sections, "run": change, "step": step.step,
                "done": step.done, "failed": step.failed, "calls": took.calls, "kept": took.cached,
                "tokens in": took.input_tokens, "out": took.output_tokens, "seconds": step.seconds,
            }  # fmt: skip
        yield {
            "file": path.stem, "run": change, "step": "all", "calls": file.usage.calls,
            "tokens in": file.usage.input_tokens, "searchable after": file.seconds, "models": file.model_seconds,
            "note": file.note,
        }  # fmt: skip
    with_models.close()


def throughput(path: Path, url: str, folder: Path, limit: int, seconds: float) -> dict[str, Any]:
    """One filing, every page described, so many calls at once."""
    home = folder / f"limit{limit}-{seconds}"
    made = engine(home, url, vision="always", max_concurrent_calls=limit, max_concurrent_pages=limit, llm_model="")
    file = run(made.index(path)).files[0]
    made.close()
    (step,) = file.steps
    ideal = -(-step.usage.calls // limit) * seconds
    return {
        "at once": limit, "server ms": seconds * 1000, "calls": step.usage.calls, "seconds": step.seconds,
        "calls per second": round(step.usage.calls / step.seconds, 1), "the server alone": round(ideal, 1),
    }  # fmt: skip


def main(typed: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--filings", nargs="*", default=FILINGS)
    parser.add_argument("--limits", type=int, nargs="*", default=(1, 4, 16, 32))
    parser.add_argument("--server-ms", type=float, default=200)
    parser.add_argument("--serve", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args(typed)
    if given.serve is not None:

        def answer(request: Request) -> Said:
            return Said(said(reads(request)).text, wait=0 if request.title == "Word" else given.serve)

        with scripted_server(answer) as served:
            print(served.url, flush=True)
            sys.stdin.read()
        return
    pdfs = data_folder() / "financebench" / "pdfs"
    paths = [pdfs / f"{name}.pdf" for name in given.filings]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with server(0) as url:
            for path in paths:
                for row in costs(path, url, folder):
                    print(json.dumps(row), flush=True)
            began = time.perf_counter()
            drawn = throughput(paths[0], url, folder, 32, 0)
            print(json.dumps(drawn | {"pages drawn per second": round(drawn["calls"] / drawn["seconds"], 1)}))
            print(f"{time.perf_counter() - began:.1f} s with reading the file", flush=True)
        with server(given.server_ms) as url:
            for limit in given.limits:
                print(json.dumps(throughput(paths[0], url, folder, limit, given.server_ms / 1000)), flush=True)


if __name__ == "__main__":
    main()
