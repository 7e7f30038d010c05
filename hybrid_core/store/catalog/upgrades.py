"""What makes a catalog of one version into one of the next, without indexing anything again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

from sqlalchemy import Connection

from hybrid_core.store.cache.cache import Cache
from hybrid_core.store.home import CACHE

_AT_ONCE = 16 * 2**20  # bytes of the cache that are moved in one transaction


def upgrade(connection: Connection, path: Path, version: int) -> None:
    """In one transaction, so that a kill leaves the catalog as it was; another process may have done it meanwhile."""
    with connection.begin():
        found = int(connection.exec_driver_sql("SELECT value FROM meta WHERE key = 'schema'").scalar() or 0)
        for step in range(found, version):
            for change in _STEPS[step]:
                if isinstance(change, str):
                    connection.exec_driver_sql(change)
                else:
                    change(connection, path)
        connection.exec_driver_sql("UPDATE meta SET value = ? WHERE key = 'schema'", (str(version),))


def _move_cache(connection: Connection, path: Path) -> None:
    """Replies were paid for: they go along, into the file beside the catalog, before they leave it."""
    cache = Cache(path.with_name(CACHE), limit=2**63 - 1)  # what is too much goes when it is written to next
    together: dict[str, bytes] = {}
    size = 0
    for key, value in connection.exec_driver_sql("SELECT key, value FROM cache ORDER BY used_at"):
        together[key] = value
        size += len(value)
        if size >= _AT_ONCE:
            cache.put(together)
            together, size = {}, 0
    if together:
        cache.put(together)
    cache.close()
    connection.exec_driver_sql("DROP TABLE cache")


def _read_versions(connection: Connection, _: Path) -> None:
    """Ids told what a content is: CONTENT, CONTENT-OCR or CONTENT-OCR-PAGES, then ``-mLLM.VLM`` and ``.PARTLY`` where
    models improved it. CONTENT is a hash of the bytes and the rules; those of other rules are only told apart.
    """
    select = "SELECT content_id, sha256, format FROM contents"
    for content_id, sha256, format in connection.exec_driver_sql(select).all():
        made, _, models = content_id.partition("-m")
        content, ocr, ocr_pages = (*made.split("-"), "", "")[:3]
        llm, vlm, partly = (*models.split("."), "", "")[:3]
        parser, chunks = _PARSERS.get(format, ""), "chunks-1"
        rules = f"{sha256}|{parser}+{_BUILD[0]}+{chunks}+{_BUILD[1]}"
        known = hashlib.sha256(rules.encode()).hexdigest()[:24] == content
        by = (parser, chunks, "+".join(_BUILD)) if known else ("", "", f"earlier {content}")
        connection.exec_driver_sql(
            "UPDATE contents SET parser = ?, chunks = ?, build = ?, ocr = ?, ocr_pages = ?, llm = ?, vlm = ?, "
            "models_partly = ? WHERE content_id = ?",
            (*by, ocr, ocr_pages, *("" if model == "0" else model for model in (llm, vlm)), partly, content_id),
        )


_PARSERS = {"pdf": "pdf-1", "markdown": "markdown-1"}
_BUILD = "tree-1", "summaries-1+cards-3+titles-1+flags-1+snowball-en+bigrams-1"  # chunks stood between them

_VERSION = ("parser", "chunks", "build", "ocr", "ocr_pages", "llm", "vlm", "models_partly")

_STEPS: dict[int, Sequence[str | Callable[[Connection, Path], None]]] = {
    1: (
        "ALTER TABLE embedders ADD COLUMN sparse BOOLEAN NOT NULL DEFAULT '0'",
        "ALTER TABLE embeddings ADD COLUMN weights BLOB",
    ),
    2: ("ALTER TABLE pages ADD COLUMN ocr BOOLEAN NOT NULL DEFAULT '0'",),
    3: (
        "ALTER TABLE contents ADD COLUMN models TEXT NOT NULL DEFAULT '{}'",
        "ALTER TABLE pages ADD COLUMN described TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE sections ADD COLUMN gaps TEXT NOT NULL DEFAULT '[]'",
    ),
    4: (_move_cache,),
    5: (
        "ALTER TABLE documents ADD COLUMN ctime FLOAT NOT NULL DEFAULT '0'",
        "ALTER TABLE documents ADD COLUMN inode VARCHAR NOT NULL DEFAULT ''",
        "ALTER TABLE documents ADD COLUMN read_at FLOAT NOT NULL DEFAULT '0'",
    ),
    6: (
        *(f"ALTER TABLE contents ADD COLUMN {name} VARCHAR NOT NULL DEFAULT ''" for name in _VERSION),
        _read_versions,
        f"CREATE UNIQUE INDEX contents_by_version ON contents (sha256, format, {', '.join(_VERSION)})",
    ),
    7: (
        "ALTER TABLE libraries RENAME COLUMN name TO id",
        "ALTER TABLE libraries ADD COLUMN name VARCHAR NOT NULL DEFAULT ''",
        "ALTER TABLE libraries ADD COLUMN alias VARCHAR NOT NULL DEFAULT ''",
        "UPDATE libraries SET name = id",
    ),
    8: ("ALTER TABLE pages ADD COLUMN places TEXT NOT NULL DEFAULT '[]'",),
}
