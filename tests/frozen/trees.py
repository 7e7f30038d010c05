"""The section trees of all documents of a folder."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hybrid_pageindex import Engine, run
from tests.frozen.records import condensed, wordless

FOLDERS = {
    "trees-books": "hips",
    "trees-filings": "financebench/pdfs",
    "trees-reports": "mmlongbench/pdfs",
    "trees-contracts": "cuad/pdfs",
    "trees-statutes": "statutes_zh/laws",
}


def freeze(name: str, data: Path, work: Path) -> dict[str, Any]:
    """Index a folder anew; every document's description, card and sections, by path."""
    folder, trees = data / FOLDERS[name], {}
    with closing(Engine(work / "homes" / name)) as engine:
        run(engine.libraries.clear())
        run(engine.index(folder))
        for document in run(engine.documents.list()):
            place = Path(document.path).relative_to(folder).as_posix()
            tree = run(engine.outline(document.doc_id)).to_dict() if document.published else {}
            kept = {"pages": document.pages, "title": document.title, "card": asdict(document.card)}
            kept |= {"error": document.error, "tree": _rows(tree.get("nodes", []))}
            trees[place] = wordless(condensed(kept, {str(data): "data", document.doc_id: "id"}))
    return trees


def _rows(nodes: list[dict[str, Any]], level: int = 1) -> list[list[Any]]:
    rows: list[list[Any]] = []
    for node in nodes:
        rows.append([level, node["title"], node["start_page"], node["end_page"], node.get("summary", "")])
        rows += _rows(node.get("nodes", []), level + 1)
    return rows
