"""Catalogs as earlier versions wrote them, from one of this version."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from hybrid_core.store.catalog.trees import StoredSections
from hybrid_core.types.files import ContentVersion

_SCHEMA_4 = Path(__file__).with_name("schema_4.sql")
LATER_COLUMNS = (
    ("sources", "machine"), ("changes", "mark"), ("notes", "quote"), ("notes", "occurrence"), ("notes", "content_id"),
    ("jobs", "request_id"),
)  # fmt: skip
"""Columns that older catalogs lack."""

_ADDED = {
    2: (("embedders", "sparse"), ("embeddings", "weights")),
    3: (("pages", "ocr"),),
    4: (("contents", "models"), ("pages", "described"), ("sections", "gaps")),
}


def old_id(version: ContentVersion) -> str:
    """The id of what the rules alone made of a file, as versions up to 6 wrote it."""
    tree, _, rest = version.build.partition("+")
    rules = f"{version.sha256}|{version.parser}+{tree}+{version.chunks}+{rest}"
    return hashlib.sha256(rules.encode()).hexdigest()[:24]


def unpack_trees(old: sqlite3.Connection, trees: str = "trees", ids: Mapping[str, str] = {}) -> None:
    """A row for each section, as versions up to 23 had them."""
    old.execute(
        "CREATE TABLE IF NOT EXISTS main.sections (content_id, position, parent, level, title, start_page, end_page, "
        "anchor, end_anchor, anchor_y, source, synthetic, summary, flags, gaps)"
    )
    for content_id, tree, titles in old.execute(f"SELECT content_id, sections, titles FROM {trees}").fetchall():
        for one in StoredSections(tree, titles):
            values = {
                "content_id": ids.get(content_id, content_id), "position": int(one.node_id),
                "parent": int(one.parent_id or 0), "level": one.level, "title": one.title,
                "start_page": one.start_page, "end_page": one.end_page, "anchor": one.anchor,
                "end_anchor": one.end_anchor, "anchor_y": one.anchor_y, "source": one.source,
                "synthetic": one.synthetic, "summary": one.summary, "flags": " ".join(one.flags),
                "gaps": json.dumps(one.gaps),
            }  # fmt: skip
            names, marks = ", ".join(values), ", ".join("?" * len(values))
            old.execute(f"INSERT INTO main.sections ({names}) VALUES ({marks})", tuple(values.values()))
    old.execute(f"DROP TABLE {trees}")


def older(path: Path, version: int, ids: Mapping[str, str] = {}) -> None:
    """Make a catalog of this version one of version 1 to 4; ``ids`` are the contents' old ids by the new ones."""
    new = path.with_suffix(".new")
    path.rename(new)
    with sqlite3.connect(path) as old:
        old.executescript(_SCHEMA_4.read_text())
        old.execute("ATTACH ? AS new", (str(new),))
        known = {row[0] for row in old.execute("SELECT name FROM new.sqlite_master WHERE type = 'table'")}
        for (table,) in old.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'").fetchall():
            if table in known and not table.startswith("sqlite_"):
                names = [row[1] for row in old.execute(f"PRAGMA main.table_info({table})")]
                if table == "changes":
                    names.remove("seq")  # one sequence numbered those of all libraries
                columns = ", ".join(f'"{name}"' for name in names)
                old.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM new.{table}")
                if "content_id" in columns:
                    values = [(before, now) for now, before in ids.items()]
                    old.executemany(f"UPDATE {table} SET content_id = ? WHERE content_id = ?", values)
        unpack_trees(old, "new.trees", ids)
        for step, added in _ADDED.items():
            for table, column in added if step > version else ():
                old.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        old.execute("UPDATE meta SET value = ? WHERE key = 'schema'", (str(version),))
    old.close()
    new.unlink()
