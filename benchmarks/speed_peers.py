"""Index page texts with one other search library, then ask it questions. ``speed`` starts this file as a program.

    PYTHON benchmarks/speed_peers.py NAME < request.json

This file imports nothing of this project, so any Python with the library can run it. The request has ``files`` (paths
of PDFs), ``texts`` (one per page) and ``questions``. The reply is one JSON object: ``index_seconds`` (processor time),
``search_ms`` (processor time per question, after one unmeasured round) or null, and ``version``.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

LIMIT = 10  # results per question
_WORD = re.compile(r"\w+")

Search = Callable[[str], object]
Index = Callable[[dict[str, Any], Path], Search | None]


def words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def pymupdf_text(request: dict[str, Any], _: Path) -> None:
    import pymupdf

    for file in request["files"]:
        with pymupdf.open(file) as document:
            for page in document:
                page.get_text()


def pymupdf_dict(request: dict[str, Any], _: Path) -> None:
    import pymupdf

    for file in request["files"]:
        with pymupdf.open(file) as document:
            for page in document:
                page.get_text("dict")


def pageindex_flash(request: dict[str, Any], _: Path) -> None:
    from pageindex import page_index_flash

    for file in request["files"]:
        with contextlib.redirect_stdout(io.StringIO()):
            page_index_flash(file, summary=False, optimize=False)


def bm25s(request: dict[str, Any], _: Path) -> Search:
    import bm25s

    retriever = bm25s.BM25()
    retriever.index([words(text) for text in request["texts"]], show_progress=False)
    many = min(LIMIT, len(request["texts"]))
    return lambda question: retriever.retrieve([words(question)], k=many, show_progress=False)


def tantivy(request: dict[str, Any], folder: Path) -> Search:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", stored=False, tokenizer_name="en_stem")
    builder.add_unsigned_field("page", stored=True)
    index = tantivy.Index(builder.build(), path=str(folder))
    writer = index.writer()
    for number, text in enumerate(request["texts"]):
        writer.add_document(tantivy.Document(text=[text], page=number))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def search(question: str) -> list[Any]:
        query = index.parse_query(" ".join(words(question)), ["text"])
        return [searcher.doc(address)["page"] for _, address in searcher.search(query, LIMIT).hits]

    return search


def sqlite_fts5(request: dict[str, Any], folder: Path) -> Search:
    database = sqlite3.connect(folder / "fts.sqlite")
    database.execute("CREATE VIRTUAL TABLE pages USING fts5(text, tokenize = 'porter unicode61')")
    database.executemany("INSERT INTO pages (text) VALUES (?)", ((text,) for text in request["texts"]))
    database.commit()
    statement = f"SELECT rowid FROM pages WHERE pages MATCH ? ORDER BY rank LIMIT {LIMIT}"

    def search(question: str) -> list[Any]:
        query = " OR ".join(f'"{word}"' for word in dict.fromkeys(words(question)))
        return database.execute(statement, (query,)).fetchall()

    return search


def qdrant_edge(request: dict[str, Any], folder: Path) -> Search:
    import qdrant_edge as edge

    ids: dict[str, int] = {}
    shard = edge.EdgeShard.create(
        str(folder),
        edge.EdgeConfig(sparse_vectors={"words": edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)}),
    )

    def vector(counts: Counter[str], length: float) -> Any:
        weights = {ids.setdefault(word, len(ids)): n * 2.2 / (n + 0.3 + 0.9 * length) for word, n in counts.items()}
        return edge.SparseVector([*weights], [*weights.values()])

    counted = [Counter(words(text)) for text in request["texts"]]
    mean = max(sum(counts.total() for counts in counted) / len(counted), 1)
    for start in range(0, len(counted), 500):
        points = [
            edge.Point(start + at, {"words": vector(counts, counts.total() / mean)}, {})
            for at, counts in enumerate(counted[start : start + 500])
        ]
        shard.update(edge.UpdateOperation.upsert_points(points))
    shard.flush()

    def search(question: str) -> Any:
        counts = Counter(word for word in words(question) if word in ids)
        query = edge.Query.Nearest(vector(counts, 1.0), using="words")
        return shard.query(edge.QueryRequest(query=query, limit=LIMIT))

    return search


def lancedb(request: dict[str, Any], folder: Path) -> Search:
    import lancedb

    rows = [{"page": number, "text": text} for number, text in enumerate(request["texts"])]
    table = lancedb.connect(str(folder)).create_table("pages", rows)
    table.create_fts_index("text", use_tantivy=False)
    return lambda question: table.search(question, query_type="fts").limit(LIMIT).select(["page"]).to_list()


PEERS: dict[str, tuple[str, Index, str]] = {
    "PyMuPDF get_text()": ("pymupdf", pymupdf_text, "text only"),
    'PyMuPDF get_text("dict")': ("pymupdf", pymupdf_dict, "text and places only"),
    "PageIndex Flash": ("pageindex", pageindex_flash, "trees only"),
    "bm25s": ("bm25s", bm25s, "words of given texts, in memory"),
    "Tantivy": ("tantivy", tantivy, "words of given texts"),
    "SQLite FTS5": ("", sqlite_fts5, "words of given texts"),
    "Qdrant Edge": ("qdrant-edge-py", qdrant_edge, "words of given texts"),
    "LanceDB": ("lancedb", lancedb, "words of given texts"),
}
"""By name: the distribution that it needs, the function that indexes, and what the index holds."""


def installed(distribution: str) -> str | None:
    """Return the version of an installed distribution, or None. A library of Python itself has the name ""."""
    try:
        return version(distribution) if distribution else sqlite3.sqlite_version
    except PackageNotFoundError:
        return None


def main() -> None:
    distribution, index, _ = PEERS[sys.argv[1]]
    release = installed(distribution)
    reply: dict[str, Any] = {"version": release, "index_seconds": None, "search_ms": None}
    if release is not None:
        request = json.load(sys.stdin)
        with tempfile.TemporaryDirectory() as folder:
            began = time.process_time()
            search = index(request, Path(folder))
            reply["index_seconds"] = time.process_time() - began
            if search is not None:
                for question in request["questions"]:
                    search(question)
                reply["search_ms"] = [_milliseconds(search, question) for question in request["questions"]]
    print(json.dumps(reply), flush=True)
    os._exit(0)  # libraries with threads of their own may otherwise hang at the end


def _milliseconds(search: Search, question: str) -> float:
    began = time.process_time()
    search(question)
    return (time.process_time() - began) * 1000


if __name__ == "__main__":
    main()
