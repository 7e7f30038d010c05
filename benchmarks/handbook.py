"""Measure searches of generated handbooks with headings, tables, commands and configuration, in three formats.

    python -m benchmarks handbook [--documents 462] [--json]

The library resembles that of an operations team and is the same in every run. The handbooks are Markdown, HTML and DOCX
in turn; LibreOffice converts the HTML to DOCX. The benchmark prints the number of chunks, the milliseconds per search,
and how often the right document comes first. It also prints how many sections have the right flags (has_command,
has_config, has_code, has_table).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from hybrid_pageindex import Engine

FORMATS = ("md", "html", "docx")
SYSTEMS = ("Redis Sentinel", "Nginx", "PostgreSQL", "Kafka", "Harbor", "Vault", "Elasticsearch", "MinIO", "Consul",
           "Prometheus", "Grafana", "RabbitMQ", "Ceph", "Keepalived")  # fmt: skip
TASKS = ("failover", "backup", "upgrade", "certificate renewal", "monitoring", "capacity", "restore drill", "tuning",
         "log rotation", "access control", "node replacement")  # fmt: skip
FLAGS = ("has_table", "has_code", "has_command", "has_config")


@dataclass(frozen=True, slots=True)
class Part:
    title: str
    level: int
    prose: str
    kind: str = ""  # command, config, code, table
    content: str = ""


@dataclass(frozen=True, slots=True)
class Handbook:
    name: str
    title: str
    parts: tuple[Part, ...]
    question: str


def handbooks(count: int) -> list[Handbook]:
    books = []
    for number in range(count):
        draw = random.Random(number)
        system, task = SYSTEMS[number % len(SYSTEMS)], TASKS[number // len(SYSTEMS) % len(TASKS)]
        site = f"site {chr(65 + number % 26)}{number // 26 + 1}"
        port, limit, word = 1_024 + 7 * number, 64 + number, f"{system.split()[0].lower()}-{number:03d}"
        parts = (
            Part("Purpose", 2, _prose(draw, system, task, site, 4)),
            Part("Procedure", 2, _prose(draw, system, task, site, 2)),
            Part("Restart by hand", 3, _prose(draw, system, task, site, 2), "command",
                 f"systemctl stop {word}\nrsync -a /srv/{word}/ /backup/{word}/\nsystemctl start {word}"),
            Part("Settings", 2, _prose(draw, system, task, site, 2), "config",
                 f"port: {port}\nmax_connections: {limit}\ntimeout: {draw.randint(5, 90)}s\ndata_dir: /srv/{word}"),
            Part("Thresholds", 2, _prose(draw, system, task, site, 2), "table",
                 f"Measure|Warning|Alarm\nconnections|{limit - 20}|{limit - 5}\nlag in ms|{draw.randint(9, 90)}|900"),
            Part("Check", 2, _prose(draw, system, task, site, 2), "code",
                 f"def healthy(node):\n    if node.port != {port}:\n        return False\n    return node.lag() < 900"),
            Part("Contacts", 2, _prose(draw, system, task, site, 3)),
        )  # fmt: skip
        short = number % 11 == 0 or number == 1  # 2,267 chunks, with the title's, in 462 documents
        others = draw.sample([part for part in parts if part.title != "Settings"], 2 if short else 3)
        parts = tuple(part for part in parts if part.title == "Settings" or part in others)
        title = f"{system}: {task} at {site}"
        books.append(Handbook(word, title, parts, f"Which port does {system} use for {task} at {site}?"))
    return books


def _prose(draw: random.Random, system: str, task: str, site: str, sentences: int) -> str:
    who = ("the shift lead", "the platform team", "whoever is on call", "the owner of the service")
    what = ("writes down what was found", "tells the users before", "compares the counters with yesterday's",
            "keeps the old state for two weeks", "asks a second person to look", "stops when a step fails")  # fmt: skip
    return " ".join(
        f"During {task} of {system} at {site}, {draw.choice(who)} {draw.choice(what)} and {draw.choice(what)}."
        for _ in range(sentences)
    )


def markdown(book: Handbook) -> str:
    lines = [f"# {book.title}", ""]
    for part in book.parts:
        lines += [f"{'#' * part.level} {part.title}", "", part.prose, ""]
        if part.kind == "table":
            head, *rows = (f"| {' | '.join(row.split('|'))} |" for row in part.content.split("\n"))
            lines += [head, "|---|---|---|", *rows, ""]
        elif part.kind:
            language = {"command": "bash", "config": "yaml", "code": "python"}[part.kind]
            lines += [f"```{language}", *part.content.split("\n"), "```", ""]
    return "\n".join(lines)


def html(book: Handbook) -> str:
    body = [f"<h1>{book.title}</h1>"]
    for part in book.parts:
        body += [f"<h{part.level}>{part.title}</h{part.level}>", f"<p>{part.prose}</p>"]
        if part.kind == "table":
            rows = ("".join(f"<td>{cell}</td>" for cell in row.split("|")) for row in part.content.split("\n"))
            body.append("<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>")
        elif part.kind:
            language = {"command": "bash", "config": "yaml", "code": "python"}[part.kind]
            body.append(f'<pre><code class="language-{language}">{part.content.replace("<", "&lt;")}</code></pre>')
    return f"<html><head><title>{book.title}</title></head><body>{''.join(body)}</body></html>"


def write(folder: Path, books: list[Handbook]) -> None:
    pages = folder / "pages"
    pages.mkdir(parents=True)
    for at, book in enumerate(books):
        format = FORMATS[at % 3]
        text = markdown(book) if format == "md" else html(book)
        (pages / f"{book.name}.{'html' if format == 'docx' else format}").write_text(text, encoding="utf-8")
    words = [str(pages / f"{book.name}.html") for at, book in enumerate(books) if FORMATS[at % 3] == "docx"]
    if words:
        convert(words, "docx:MS Word 2007 XML", pages)
    for name in words:
        Path(name).unlink()


def convert(files: list[str], to: str, folder: Path) -> None:
    """Convert text files to the format ``to`` with LibreOffice, a hundred files per start."""
    program = shutil.which("soffice") or shutil.which("libreoffice")
    if program is None:
        raise SystemExit("LibreOffice, which makes the files, is not installed.")
    with tempfile.TemporaryDirectory() as profile:
        for at in range(0, len(files), 100):
            command = [program, "--headless", f"-env:UserInstallation=file://{profile}",
                       "--infilter=HTML (StarWriter)", "--convert-to", to, "--outdir", str(folder)]  # fmt: skip
            subprocess.run([*command, *files[at : at + 100]], check=True, capture_output=True)


async def measure(folder: Path, books: list[Handbook]) -> dict[str, object]:
    engine = Engine(folder / "home")
    report = await engine.index(folder / "pages")
    failed = [file.path for file in report.files if file.status == "failed"]
    right: Counter[str] = Counter()
    wrong: list[str] = []
    for at, book in enumerate(books):
        name = f"{book.name}.{FORMATS[at % 3]}"
        nodes = {node.section.title: node.section for node in (await engine.outline(name)).nodes}
        for part in book.parts:
            section = nodes.get(part.title)
            expected = {f"has_{part.kind}"} if part.kind else set()
            if part.kind in ("command", "config"):
                expected.add("has_code")
            flags = set() if section is None else set(section.flags) & set(FLAGS)
            right[FORMATS[at % 3]] += section is not None and flags == expected
            if flags != expected and len(wrong) < 12:
                wrong.append(f"{name}, {part.title}: {sorted(flags)}, not {sorted(expected)}")
    first = 0
    seconds = []
    await engine.search(books[0].question)
    for book in books:
        began = time.perf_counter()
        results = (await engine.search(book.question)).results
        seconds.append(time.perf_counter() - began)
        first += bool(results) and results[0].doc_name.startswith(book.name)
    documents = await engine.documents.list()
    parts = {format: sum(len(book.parts) for book in books[at::3]) for at, format in enumerate(FORMATS)}
    engine.close()
    return {
        "documents": len(documents), "failed": failed, "chunks": _chunks(folder / "home"),
        "search ms": {"p50": round(1000 * statistics.median(seconds), 1),
                      "p95": round(1000 * sorted(seconds)[int(0.95 * len(seconds))], 1)},
        "document first": round(first / len(books), 3),
        "flags right": {format: round(right[format] / parts[format], 3) for format in FORMATS}, "wrong": wrong,
    }  # fmt: skip


def _chunks(home: Path) -> int:
    import sqlite3

    with sqlite3.connect(home / "catalog.sqlite") as catalog:
        return int(catalog.execute("SELECT COUNT(*) FROM chunks").fetchone()[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--documents", type=int, default=462)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    books = handbooks(options.documents)
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), books)
        figures = asyncio.run(measure(Path(folder), books))
    print(json.dumps(figures, ensure_ascii=False, indent=None if options.json else 2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
