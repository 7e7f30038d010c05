"""Compare retrieval from PDFs with retrieval from the same content as DOCX, EPUB, HTML and PPTX.

    python -m benchmarks mixed_library DATA [--questions 40] [--json]

DATA is a data folder like that of PAGEINDEX_EVAL_DATA. It contains financebench/questions.jsonl, with the pages that
answer each question, and the PDFs. The benchmark takes the PDFs of the first questions, and of each PDF up to 15 pages
before and after an answering page. Their text becomes HTML with headings from the section tree, tables and paragraphs.
LibreOffice converts the HTML to DOCX and EPUB. In PPTX each slide holds one page. Each format has its own library.

A question is a hit if one of the first five result pages matches the answering page. Pages match if the result page
contains at least 0.3 of the answering page's lines. They also match if at least 0.3 of the result page's lines come
from the answering page. The second rule exists because pages of formats without fixed pages are shorter.
"""

from __future__ import annotations

import argparse
import asyncio
import html
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.handbook import convert
from hybrid_core.errors import DocumentError
from hybrid_pageindex import Engine
from indexers.formats.pdf.read import PdfFile

FORMATS = ("pdf", "html", "docx", "epub", "pptx")
_AROUND = 15
_SHARED = 0.3
_TITLE_LINES = 4  # over which a title may go on
_LEAST_LINE = 12  # letters and digits of a line that tells a page


@dataclass(slots=True)
class Source:
    name: str
    pages: set[int] = field(default_factory=set)
    texts: dict[int, list[str]] = field(default_factory=dict)  # lines by page of the original
    titles: dict[int, dict[str, int]] = field(default_factory=dict)  # levels of headings by page


@dataclass(frozen=True, slots=True)
class Question:
    words: str
    document: str
    pages: tuple[int, ...]


def questions(data: Path, limit: int) -> list[Question]:

    chosen = []
    for line in (data / "financebench" / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        document = row["evidence"][0]["doc"]
        pages = tuple(gold["page"] for gold in row["evidence"] if gold["doc"] == document)
        chosen.append(Question(row["question"], document, pages))
    return chosen[:limit]


async def excerpts(data: Path, questions: Sequence[Question], folder: Path) -> list[Source]:
    """Write shortened PDFs to ``folder``.

    Return each PDF with its lines and the headings that the engine detects.
    """
    sources: dict[str, Source] = {}
    for question in questions:
        source = sources.setdefault(question.document, Source(question.document))
        for page in question.pages:
            source.pages.update(range(max(1, page - _AROUND), page + _AROUND + 1))
    import pymupdf  # here, behind the packages that switch its libraries' telemetry off

    for source in sources.values():
        original = data / "financebench" / "pdfs" / f"{source.name}.pdf"
        with pymupdf.open(original) as document:
            source.pages = {page for page in source.pages if page <= document.page_count} | {1}
            document.select([page - 1 for page in sorted(source.pages)])
            document.save(folder / f"{source.name}.pdf", garbage=3)
        file = PdfFile(folder / f"{source.name}.pdf")
        numbers = dict(enumerate(sorted(source.pages), 1))
        for page in file.read(range(1, file.pages + 1), lambda _: None):
            if not isinstance(page, DocumentError):
                source.texts[numbers[page.number]] = [line.text for line in page.lines]
        file.close()
    return list(sources.values())


async def titled(engine: Engine, sources: Sequence[Source]) -> None:
    for source in sources:
        numbers = dict(enumerate(sorted(source.pages), 1))
        for node in (await engine.outline(f"{source.name}.pdf")).nodes:
            section = node.section
            if not section.synthetic:
                page = source.titles.setdefault(numbers[section.start_page], {})
                page.setdefault(_key(section.title), section.level)


def _key(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _blocks(source: Source, page: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the blocks of a page as (HTML tag, lines). Tags are h1 to h6, table and p."""
    waiting: list[str] = []
    rows: list[str] = []
    for line, level in [*_headed(source.texts.get(page, []), source.titles.get(page, {})), ("", 0)]:
        if "  " in line and not level:
            rows.append(line)
            continue
        if len(rows) > 1:
            yield from ([("p", waiting)] if waiting else [])
            waiting = []
            yield "table", rows
        else:
            waiting += rows
        rows = []
        if level or not line:
            yield from ([("p", waiting)] if waiting else [])
            waiting = []
            yield from ([(f"h{min(6, level)}", [line])] if level else [])
        else:
            waiting.append(line)
            if line.endswith((".", ":", ";")):
                yield "p", waiting
                waiting = []


def _headed(lines: Sequence[str], titles: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Yield (line, heading level) of each line, with level 0 for text.

    The lines of a title that spans several lines are joined.
    """
    at = 0
    while at < len(lines):
        for count in range(_TITLE_LINES, 0, -1):
            title = " ".join(lines[at : at + count])
            if level := titles.get(_key(title)):
                yield title, level
                at += count
                break
        else:
            yield lines[at], 0
            at += 1


def write_html(source: Source, path: Path) -> None:
    body = []
    for page in sorted(source.pages):
        for tag, lines in _blocks(source, page):
            if tag == "table":
                cells = ([html.escape(cell) for cell in re.split(" {2,}", row)] for row in lines)
                body.append(
                    "<table>" + "".join(f"<tr><td>{'</td><td>'.join(row)}</td></tr>" for row in cells) + "</table>"
                )
            else:
                body.append(f"<{tag}>{html.escape(' '.join(lines))}</{tag}>")
    path.write_text(f"<html><meta charset='utf-8'><body>{chr(10).join(body)}</body></html>", encoding="utf-8")


def write_slides(source: Source, path: Path) -> None:
    import pptx
    from pptx.util import Inches

    deck = pptx.Presentation()
    for page in sorted(source.pages):
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        blocks = list(_blocks(source, page))
        heading = next((lines[0] for tag, lines in blocks if tag[0] == "h"), "")
        slide.shapes.title.text = heading
        top = 1
        for tag, lines in blocks:
            if tag == "table":
                rows = [re.split(" {2,}", row) for row in lines]
                width = max(map(len, rows))
                table = slide.shapes.add_table(len(rows), width, Inches(0.5), Inches(top), Inches(9), Inches(1)).table
                for at, row in enumerate(rows):
                    for column, cell in enumerate(row):
                        table.cell(at, column).text = cell
            elif lines != [heading]:
                box = slide.shapes.add_textbox(Inches(0.5), Inches(top), Inches(9), Inches(1))
                box.text_frame.text = " ".join(lines)
            top += 1
    deck.save(str(path))


async def hits(engine: Engine, questions: Sequence[Question], sources: dict[str, Source]) -> list[bool]:
    outcomes = []
    for question in questions:
        source = sources[question.document]
        gold_lines = {_key(line) for page in question.pages for line in source.texts.get(page, ())}
        gold_lines = {line for line in gold_lines if len(line) >= _LEAST_LINE}
        hit = False
        for result in (await engine.search(question.words, top_k=5)).results[:5]:
            if result.doc_name.startswith(source.name):
                (page,) = await engine.pages(result.doc_name, result.page)
                page_key = _key(page.text)
                lines = {_key(line) for other in source.texts.values() for line in other}
                own = {line for line in lines if len(line) >= _LEAST_LINE and line in page_key}
                shared = gold_lines & own
                hit |= bool(shared) and len(shared) >= _SHARED * min(len(gold_lines), len(own))
        outcomes.append(hit)
    return outcomes


async def measure(data: Path, limit: int, folder: Path) -> dict[str, object]:
    chosen = questions(data, limit)
    (folder / "pdf").mkdir()
    sources = await excerpts(data, chosen, folder / "pdf")
    by_name = {source.name: source for source in sources}
    figures: dict[str, list[bool]] = {}
    for format in FORMATS:
        place = folder / format
        place.mkdir(exist_ok=True)
        if format == "html":
            for source in sources:
                write_html(source, place / f"{source.name}.html")
        elif format == "pptx":
            for source in sources:
                write_slides(source, place / f"{source.name}.pptx")
        elif format != "pdf":
            filters = {"docx": "docx:MS Word 2007 XML", "epub": "epub:EPUB"}
            convert([str(path) for path in sorted((folder / "html").glob("*.html"))], filters[format], place)
        engine = Engine(folder / f"home-{format}")
        await engine.index(place)
        if format == "pdf":
            await titled(engine, sources)
        figures[format] = await hits(engine, chosen, by_name)
        engine.close()
    return {
        "documents": len(sources), "pages": sum(len(source.pages) for source in sources), "questions": len(chosen),
        "hit@5": {format: sum(outcomes) for format, outcomes in figures.items()},
        "found in PDF only": {format: [q.words[:90] for q, a, b in zip(chosen, figures["pdf"], outcomes, strict=True)
                                       if a and not b] for format, outcomes in figures.items()},
        "found in PDF not": {format: [q.words[:90] for q, a, b in zip(chosen, figures["pdf"], outcomes, strict=True)
                                      if b and not a] for format, outcomes in figures.items()},
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--work", type=Path, help="an empty folder that stays, to look at what was made")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(measure(options.data, options.questions, options.work or Path(folder)))
    print(json.dumps(figures, ensure_ascii=False, indent=None if options.json else 2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
