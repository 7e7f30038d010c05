"""A library of very many documents, written as rows: what a list shows of them, and nothing to read."""

from __future__ import annotations

import json
from pathlib import Path

from sqlalchemy import insert

from hybrid_core.store.catalog import schema
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.home import CATALOG

TYPES = ("annual report", "10-k", "manual")


def write_rows(home: Path, library: str, count: int) -> None:
    catalog = Catalog(home / CATALOG)
    catalog.ensure_library(library)
    with catalog.snapshot() as snapshot:
        id = snapshot.library(library).id
    contents = [
        {"content_id": f"{library}-{n}", "sha256": f"{library}-{n}", "format": "pdf" if n % 4 else "docx",
         "pages": n % 300 + 1, "sections": 1, "title": f"Report {n:05}", "description": "", "metadata": "{}",
         "warnings": '["Page 2 shows what could not be read."]' if n % 500 == 1 else "[]"}
        for n in range(count)
    ]  # fmt: skip
    documents = [
        {"doc_id": f"{n:016x}", "library": id, "path": f"upload:/shelf {n % 40:02}/report-{n:05}.pdf",
         "name": f"report-{n:05}.pdf", "content_id": f"{library}-{n}",
         "card": json.dumps({"names": [f"Company {n % 50}"], "years": [2000 + n % 30], "type": TYPES[n % 3]}),
         "size": 100_000 + n, "mtime": 0.0, "indexed_at": "2026-01-01T10:00:00+00:00", "error": ""}
        for n in range(count)
    ]  # fmt: skip
    with catalog.writing() as connection:
        connection.execute(insert(schema.contents), contents)
        connection.execute(insert(schema.documents), documents)
    catalog.close()
