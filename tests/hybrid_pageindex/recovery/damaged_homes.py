"""A home with something of everything, and what can happen to its catalog."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from hybrid_core.store.catalog.schema import whole
from hybrid_core.store.conversations.conversations import ConversationWriter
from hybrid_core.store.conversations.turns import Turns
from hybrid_core.store.home import CATALOG
from hybrid_core.store.recovery.layouts import read_schema, statements_of
from hybrid_core.store.recovery.pages import PAGE_SIZE, PageFile
from hybrid_core.store.recovery.salvage import LEFT_OUT
from hybrid_core.types.conversations import Citation, ConversationScope
from hybrid_pageindex import Engine, run
from tests import pdfs
from tests.postgres import catalog_of

COUNTED_AGAIN = LEFT_OUT | {"changes", "counters", "meta"}
"""Tables that are not the same in a new catalog."""

MADE_ONCE = (
    "notes",
    "feedback",
    "conversations",
    "messages",
    "citations",
    "tokens",
    "grants",
    "documents",
    "libraries",
)
"""Tables of what cannot be made again."""

Rows = dict[str, list[tuple[object, ...]]]


def fill(home: Path, folder: Path) -> None:
    """Make a home with files of the user's, uploads, notes, corrections, ratings, conversations and tokens."""
    folder.mkdir()
    files = [pdfs.numbered(folder / f"report-{number}.pdf", 12, f"harbour {number}") for number in range(4)]
    (folder / "notes.md").write_text("# Notes\n\n" + "The heron of the bay is grey. " * 400)
    with closing(Engine(home)) as engine:
        run(engine.index(folder))
        uploads = [pdfs.numbered(folder.parent / f"up-{number}.pdf", 5, f"curlew {number}") for number in range(3)]
        run(engine.index(uploads, upload=True))
        run(engine.index(files[:2], library="second"))
        run(engine.models.embed("hashed:16"))
        for number in range(3):
            run(engine.documents.edit(f"report-{number}.pdf", set={"title": f"Title {number}", "tags": "blue; old"}))
        documents = {document.name: document.doc_id for document in run(engine.documents.list())}
        first = engine.notes.add("default", "ann", "A title", "text", documents["report-1.pdf"], 2)
        engine.notes.restore([replace(first, id=f"note {n:04}", text=f"What {n} says. " * 12) for n in range(250)])
        rated = engine.feedback.add("default", "ann", "What?", files[0].as_posix(), 3, right=True)
        engine.feedback.restore([replace(rated, id=f"rating {n:04}", question=f"What {n}?" * 9) for n in range(200)])
        for number in range(40):
            engine.tokens.create(f"program {number}", "read", ["second"] if number % 2 else [])
    catalog = catalog_of(home)
    writer, turns = ConversationWriter(catalog), Turns(catalog)
    for number in range(30):
        conversation = writer.create(ConversationScope(("default",)), title=f"Talk {number}")
        fence = turns.begin(conversation.id, f"What of the harbour {number}? " * 8, "w")
        place = Citation(
            1, "default", documents["report-0.pdf"], "report-0.pdf", "c", "s", 1, "", ("A",), "q", cited=True
        )
        turns.end(fence, "complete", f"It is grey, number {number}. " * 20, sources=[place])
    catalog.close()
    with closing(sqlite3.connect(home / CATALOG)) as direct:
        direct.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def all_rows(file: Path) -> Rows:
    """The rows of every table whose content a recovery keeps, in order."""
    with closing(sqlite3.connect(file)) as direct:
        return {
            table: sorted(direct.execute(f"SELECT {', '.join(columns)} FROM {table}"), key=repr)
            for table, columns in (
                (definition.name, [f'"{column.name}"' for column in definition.columns])
                for definition in whole().sorted_tables
            )
            if table not in COUNTED_AGAIN
        }


def places(file: Path) -> dict[str, list[tuple[int, str]]]:
    """By table or index: its pages, each with what it is (root, interior, leaf or overflow)."""
    pages = PageFile(file.read_bytes())
    with closing(sqlite3.connect(file)) as direct:
        roots = direct.execute("SELECT name, rootpage, type FROM sqlite_schema WHERE rootpage > 0").fetchall()
        flat = {name for (name,) in direct.execute("SELECT name FROM pragma_table_list WHERE wr")}
        expected = statements_of(direct)
    read_schema(pages, expected)
    pages_by_name: dict[str, list[tuple[int, str]]] = {}
    for name, root, kind in roots:
        before = set(pages.unclaimed())
        list(pages.records(pages.new_tree(table=kind == "table" and name not in flat), root))
        mine = sorted(before - set(pages.unclaimed()))
        data = file.read_bytes()
        kinds = {2: "interior", 5: "interior", 10: "leaf", 13: "leaf"}
        pages_by_name[name] = [
            (page, "root" if page == root else kinds.get(data[(page - 1) * PAGE_SIZE], "overflow")) for page in mine
        ]
    return pages_by_name


def zero(file: Path, *pages: int) -> None:
    """Write nothing but zeros to these pages."""
    with file.open("r+b") as stream:
        for page in pages:
            stream.seek((page - 1) * PAGE_SIZE)
            stream.write(bytes(PAGE_SIZE))
