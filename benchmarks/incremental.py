"""Count the work after a file changes: pages parsed, shown to models and embedded, calls and vectors.

    python -m benchmarks incremental [--pages 1000] [--json]

The file is a PDF with bookmarks, chapters of 20 pages and sections of 4. It is indexed with an embedder and two
scripted models behind HTTP: one reads every page as a picture, the other summarises sections. The replies of the models
change only if their input changes. Then the file is changed in one of these ways, and indexed and embedded again:

- one page gets another text;
- a page is inserted before the first;
- a chapter is added at the end;
- the file is renamed;
- only its modification time changes.

Each change starts from the original file. "shown" counts the pages sent to the model that reads pictures. "embedded"
counts the pages with at least one new vector, and "vectors" all new vectors. A page has one vector for its summary and
others for its text.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from benchmarks.enriching import reads
from hybrid_core.errors import PageIndexError
from hybrid_core.store.catalog.embeddings import content_texts
from hybrid_core.store.catalog.schema import embeddings
from hybrid_pageindex import Engine, Settings, run
from tests.doubles.scripted_server import ScriptedServer, scripted_server
from tests.indexers.outline.outline_pages import filler

CHAPTER, SECTION = 20, 4  # pages
EMBEDDER = "hashed:64"
_LINES = 32


@dataclass(frozen=True, slots=True)
class Written:
    """The contents of a page to write to the PDF.

    ``headings`` are (level, title) of the headings that begin on it. ``seed`` is the random seed of its text.
    """

    headings: tuple[tuple[int, str], ...]
    seed: int


def pages_of(many: int, first: int = 0) -> list[Written]:
    return [Written(tuple(headings(at)), at) for at in range(first, first + many)]


def headings(at: int) -> Iterator[tuple[int, str]]:
    if at % CHAPTER == 0:
        yield 1, f"Chapter of {filler(10_000 + at, 3)}"
    if at % SECTION == 0:
        yield 2, f"Section of {filler(20_000 + at, 4)}"


def write(pages: Sequence[Written], path: Path) -> None:
    """Write the PDF. No page contains its own page number, so that moved pages keep their text."""
    import pymupdf  # here, behind the packages that switch its libraries' telemetry off

    with pymupdf.open() as document:
        contents = []
        for number, written in enumerate(pages, 1):
            page = document.new_page(width=595, height=842)
            y = 72.0
            for level, title in written.headings:
                contents.append([level, title, number])
                page.insert_text((72, y), title, fontsize=20 - 3 * level)
                y += 30
            for line in range(_LINES):
                page.insert_text(
                    (72, y + 20 * line), f"{filler(100 * written.seed + line, 11)}.".capitalize(), fontsize=10
                )
        document.set_toc(contents)
        document.save(path)


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one indexing run.

    ``shown`` counts pages sent to a model; ``sections`` counts calls about sections and the document.
    """

    change: str
    pages: int
    parsed: bool
    shown: int
    sections: int
    calls: int
    embedded: int
    vectors: int
    points: int
    seconds: float


class Counter:
    """An engine with its models, which counts the models' requests since the last reading."""

    def __init__(self, engine: Engine, server: ScriptedServer) -> None:
        self.engine, self.server = engine, server
        self._texts: set[str] = set()

    def _vectors(self) -> int:
        """Return the number of vectors in the catalog, from all embedders."""
        with self.engine._catalog().snapshot() as snapshot:
            return int(snapshot._connection.scalar(select(func.count()).select_from(embeddings)) or 0)

    def work(self, change: str, path: Path) -> Work:
        self.server.requests.clear()
        began = time.perf_counter()
        vectors_before = self._vectors()
        file = run(self.engine.index(path)).files[0]
        if file.status == "failed":
            raise SystemExit(f"{path}: {file.error}")
        run(self.engine.models.embed(EMBEDDER))
        seconds = time.perf_counter() - began
        titles = [request.title for request in self.server.requests]
        shown = titles.count("PageSaid")
        about = sum(title in ("SectionSummaries", "Description") for title in titles)
        calls = len(titles) - titles.count("Word")
        before, self._texts = self._texts, set()
        pages: set[int] = set()
        with self.engine._catalog().snapshot() as snapshot:
            [content_id] = snapshot.published("default").values()
            texts = content_texts(snapshot, content_id, chunks=True)
        for text in texts:
            self._texts.add(text.key)
            if text.key not in before:
                pages.add(text.page)
        vectors = self._vectors() - vectors_before
        return Work(
            change, file.pages, file.status == "indexed", shown, about, calls, len(pages), vectors,
            len(self._texts) if file.status == "indexed" else 0, round(seconds, 1),
        )  # fmt: skip


def measured(many: int, folder: Path) -> Iterator[Work]:
    """Yield the work of the first run, and of one run after each change to the original file."""
    pages, path = pages_of(many), folder / "file.pdf"
    middle = many // 2 + 3  # of a chapter, not where it begins
    changes: dict[str, Callable[[], Sequence[Written]]] = {
        "a page changed": lambda: [
            replace(p, seed=p.seed + 50_000) if at == middle else p for at, p in enumerate(pages)
        ],
        "a page put first": lambda: [Written((), 60_000), *pages],
        "a chapter added": lambda: [*pages, *pages_of(CHAPTER, many)],
    }
    with scripted_server(reads) as server:
        models: dict[str, Any] = {"llm_model": "m", "llm_base_url": server.url, "vlm_model": "v", "vision": "always"}
        for change, changed in changes.items():
            home = folder / change.replace(" ", "-")
            with closing(Engine(settings=Settings(storage_path=home, **models))) as engine:
                counter = Counter(engine, server)
                write(pages, path)
                first = counter.work("new", path)
                if change == "a page changed":
                    yield first
                write(changed(), path)
                yield counter.work(change, path)
                if change == "a chapter added":
                    path = path.rename(folder / "renamed.pdf")
                    yield counter.work("renamed", path)
                    path.touch()
                    yield counter.work("touched", path)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for work in measured(options.pages, Path(folder)):
            row = {name: getattr(work, name) for name in Work.__slots__}
            print(json.dumps(row) if options.json else "  ".join(f"{k} {v}" for k, v in row.items()), flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PageIndexError as error:
        sys.exit(str(error))
