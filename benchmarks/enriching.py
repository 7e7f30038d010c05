"""Count the model calls and tokens for indexing filings: per step, after a page changed, and per second.

    python -m benchmarks enriching [--filings NAME…] [--first 24] [--limits 1 4 16 32] [--server-ms 200]

A scripted model server in its own process replies by fixed rules. It confirms a heading if the heading's line is in the
passage. Its summaries are first sentences, and they change if the input changes. Calls and input tokens are therefore
those of a real model, but output tokens and quality are not.

After the first run, the benchmark replaces the longest line of one page and indexes the filing again. It does so for a
page in the middle, a page on which a section begins, and a page of the table of contents. At the end it prints the
means and the maximum over all filings.

To measure throughput, every page of one filing is described by the model, for each limit of simultaneous calls. The
server waits --server-ms for each call. "pages drawn" leaves out this wait and shows how fast the machine renders pages.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from eval.datasets import data_folder
from hybrid_core.llm.chat import Request
from hybrid_pageindex import Engine, Settings, run
from tests.doubles.replies import FakeReply, fake_reply
from tests.doubles.scripted_server import scripted_server

FILINGS = ("NIKE_2018_10K", "ADOBE_2016_10K", "MICROSOFT_2016_10K")
NEW = "new"
SENTENCE = "Ballast was sold for 417 crowns, and nobody in the harbour asked who had bought it or why."
_DATA = r":\n<<<data (\w+)>>>\n(.*?)\n<<<end \1>>>"


def reads(request: Request) -> dict[str, Any]:
    """Return the scripted reply of the model, which depends only on the request."""
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
        summaries = [{"section": int(n), "summary": f"{_mark(body)} {_first(body)}", "gaps": []} for n, body in pairs]
        return {"summaries": summaries}
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
        headings = [(number, line) for number, line in lines if re.match(r"(PART|ITEM|Item|NOTE|Note) [\dIV]+", line)]
        return {
            "headings": [{"page": number, "level": 1, "title": line} for number, line in headings if len(line) < 90]
        }
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
    match = re.search(name + _DATA, text, re.DOTALL)
    return match[2] if match else ""


def _mark(text: str) -> str:
    return hashlib.sha256(text.strip().encode()).hexdigest()[:8]


def _first(text: str) -> str:
    return " ".join(text.split())[:200] or "An empty page."


def _heads(title: str, passage: str) -> bool:
    plain = re.sub(r"\W+", "", title.lower())
    return any(re.sub(r"\W+", "", line.lower()).startswith(plain) for line in passage.split("\n"))


@contextmanager
def server(milliseconds: float) -> Iterator[str]:
    """Start a scripted model in another process and yield its URL."""
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
    """Yield the cost of each indexing step: of the filing, then of copies with one changed page."""
    copy = folder / path.name
    copy.write_bytes(path.read_bytes())
    with_models = engine(folder / path.stem, url)
    pages: dict[str, int] = {NEW: 0}
    while pages:
        change = next(iter(pages))
        if number := pages.pop(change):
            alter(path, number, copy)
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
            "file": path.stem, "pages": file.pages, "run": change, "step": "all", "page": number,
            "calls": file.usage.calls, "tokens in": file.usage.input_tokens, "searchable after": file.seconds,
            "models": file.model_seconds, "note": file.note,
        }  # fmt: skip
        if change == NEW:
            tree = run(with_models.outline(path.name, depth=9)).to_dict()
            pages = chosen(path, set(headings(tree["nodes"])))
    with_models.close()


def headings(nodes: Sequence[dict[str, Any]]) -> Iterator[int]:
    """Yield the numbers of the pages on which sections begin."""
    for node in nodes:
        if not node["synthetic"]:
            yield node["start_page"]
        yield from headings(node.get("nodes", ()))


def chosen(path: Path, starts: Collection[int]) -> dict[str, int]:
    """Return the pages to change, by name: a middle page, a page where a section begins and, if present, a contents
    page.
    """
    import pymupdf  # here, behind the packages that switch its libraries' telemetry off

    with pymupdf.open(path) as document:
        middle = document.page_count // 2 + 1
        texts = {number: document[number - 1].get_text() for number in range(1, min(12, document.page_count) + 1)}
    pages = {"a page in the middle": middle}
    if others := set(starts) - {middle}:
        pages["a page with a heading"] = min(others, key=lambda page: abs(page - middle * 2 // 3))
    headed = [n for n, text in texts.items() if re.search(r"(?im)^(table of )?contents|^index$", text)]
    rows = {number: len(re.findall(r"(?m)\d+\s*$", texts[number])) for number in headed}
    if rows and max(rows.values()) > 5:
        pages["the contents"] = max(rows, key=rows.__getitem__)
    return pages


def alter(path: Path, number: int, copy: Path) -> None:
    """Write a copy of the filing in which the longest line of one page is replaced by another sentence."""
    import pymupdf

    with pymupdf.open(path) as document:
        page = document[number - 1]
        blocks = page.get_text("dict")["blocks"]
        lines = [line for block in blocks for line in block.get("lines", ())]
        texts = ["".join(span["text"] for span in line["spans"]).strip() for line in lines]
        at = max(range(len(lines)), key=lambda i: len(texts[i]), default=None)
        place, sentence = pymupdf.Point(72, page.rect.height / 2), SENTENCE
        if at is not None:
            box, sentence = pymupdf.Rect(lines[at]["bbox"]), SENTENCE[: max(30, len(texts[at]))]
            page.add_redact_annot(box)
            page.apply_redactions(images=pymupdf.PDF_REDACT_IMAGE_NONE, graphics=pymupdf.PDF_REDACT_LINE_ART_NONE)
            place = pymupdf.Point(box.x0, box.y1 - 2)
        page.insert_text(place, sentence, fontsize=8)
        document.save(copy)


def summed(rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield summaries of the costs of all filings.

    The first has the mean calls per 100 pages for each step. The others have the mean and maximum calls after each
    change.
    """
    steps = dict.fromkeys(row["step"] for row in rows)
    new = [row for row in rows if row["run"] == NEW]
    files = len({row["file"] for row in rows})
    yield {"filings": files, "calls for 100 pages": {
        step: round(sum(100 * row["calls"] / row["pages"] for row in new if row["step"] == step) / files, 1)
        for step in steps
    }}  # fmt: skip
    for change in dict.fromkeys(row["run"] for row in rows if row["run"] != NEW):
        totals = [row for row in rows if (row["run"], row["step"]) == (change, "all")]
        worst = max(totals, key=lambda row: row["calls"])
        spread = {calls: sum(row["calls"] == calls for row in totals) for calls in sorted({r["calls"] for r in totals})}
        yield {
            "after a change of": change, "filings": len(totals), "filings by calls": spread,
            "calls": round(sum(row["calls"] for row in totals) / len(totals), 2), "most": worst["calls"],
            "there": f"{worst['file']}, page {worst['page']}",
            "steps": {r["step"]: r["calls"] for r in rows if (r["file"], r["run"]) == (worst["file"], change)},
        }  # fmt: skip


def throughput(path: Path, url: str, folder: Path, limit: int, seconds: float) -> dict[str, Any]:
    """Index one filing with every page described by the model, and return calls and times.

    At most ``limit`` calls are simultaneous.
    """
    home = folder / f"limit{limit}-{seconds}"
    improved = engine(home, url, vision="always", max_concurrent_calls=limit, max_concurrent_pages=limit, llm_model="")
    file = run(improved.index(path)).files[0]
    improved.close()
    (step,) = file.steps
    ideal = -(-step.usage.calls // limit) * seconds
    return {
        "at once": limit, "server ms": seconds * 1000, "calls": step.usage.calls, "seconds": step.seconds,
        "calls per second": round(step.usage.calls / step.seconds, 1), "the server alone": round(ideal, 1),
    }  # fmt: skip


def main(typed: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--filings", nargs="*", default=FILINGS)
    parser.add_argument("--first", type=int, default=24, help="filings of the set beside the named ones")
    parser.add_argument("--limits", type=int, nargs="*", default=(1, 4, 16, 32))
    parser.add_argument("--server-ms", type=float, default=200)
    parser.add_argument("--serve", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args(typed)
    if options.serve is not None:

        def answer(request: Request) -> FakeReply:
            return FakeReply(fake_reply(reads(request)).text, wait=0 if request.title == "Word" else options.serve)

        with scripted_server(answer) as served:
            print(served.url, flush=True)
            sys.stdin.read()
        return
    pdfs = data_folder() / "financebench" / "pdfs"
    named = [pdfs / f"{name}.pdf" for name in options.filings]
    paths = list(dict.fromkeys([*named, *sorted(pdfs.glob("*.pdf"))[: options.first]]))
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with server(0) as url:
            for path in paths:
                for row in costs(path, url, folder):
                    rows.append(row)
                    print(json.dumps(row), flush=True)
            for row in summed(rows):
                print(json.dumps(row), flush=True)
            began = time.perf_counter()
            drawn = throughput(paths[0], url, folder, 32, 0)
            print(json.dumps(drawn | {"pages drawn per second": round(drawn["calls"] / drawn["seconds"], 1)}))
            print(f"{time.perf_counter() - began:.1f} s with reading the file", flush=True)
        with server(options.server_ms) as url:
            for limit in options.limits:
                print(json.dumps(throughput(paths[0], url, folder, limit, options.server_ms / 1000)), flush=True)


if __name__ == "__main__":
    main()
