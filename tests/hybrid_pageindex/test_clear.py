"""``clear`` forgets everything that a home was ever told."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sqlite3
from email.message import EmailMessage
from pathlib import Path

import pytest
from sqlalchemy import insert

from hybrid_core.store.access import AuditLog, TokenStore, replies
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.documents import Original
from hybrid_core.store.catalog.schema import whole
from hybrid_core.store.conversations.conversations import ConversationReader, ConversationWriter
from hybrid_core.store.conversations.turns import Turns
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.store.jobs.workers import Workers
from hybrid_core.store.notes import feedback, notes
from hybrid_core.store.usage import model_usage
from hybrid_core.types.access import EVERYWHERE
from hybrid_core.types.conversations import Citation, ConversationScope, Summary
from hybrid_core.types.jobs import JobRequest, Worker
from hybrid_pageindex import Engine, run
from tests import pdfs
from tests.postgres import catalog_of

SECRET = "quetzalcoatlus"  # a word that stands in every file, and in every name


def letter(path: Path) -> Path:
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = f"About the {SECRET}", "a@example.org", "b@example.org"
    message.set_content(f"See what is attached on the {SECRET}.")
    message.add_attachment(
        f"# {SECRET}\n\nIt flew.\n".encode(), maintype="text", subtype="markdown", filename=f"{SECRET}.md"
    )
    path.write_bytes(message.as_bytes())
    return path


def fill(engine: Engine, folder: Path) -> None:
    folder.mkdir()
    document = pdfs.numbered(folder / f"{SECRET}.pdf", 3, SECRET)
    (folder / "notes.md").write_text(f"# Notes\n\nThe {SECRET} again.\n")
    (folder / "broken.pdf").write_bytes(b"")
    letter(folder / "letter.eml")
    run(engine.index(folder))
    run(engine.index(folder, library=SECRET))
    run(engine.sources.watch_folder(folder))
    run(engine.documents.remove("notes.md"))
    run(engine.models.embed("hashed:16"))
    assert run(engine.search(SECRET)).results and run(engine.search(SECRET, library=SECRET)).results
    run(engine.pictures.page(f"{SECRET}.pdf", 1))  # goes into the cache
    catalog = catalog_of(engine.home)
    worker = Workers(catalog).register(Worker("1-a", SECRET, os.getpid(), "worker"))
    JobQueue(catalog).enqueue([JobRequest("default", "index", str(document), "parse")], waiter=worker.id)
    said(catalog)
    kept(catalog)
    upload = engine.home / "tmp" / "upload"
    upload.write_text(SECRET)
    catalog.keep("default", "", [Original(f"upload:/{SECRET}.md", "", upload, hashlib.sha256(b"x").hexdigest())])
    catalog.close()


def said(catalog: Catalog) -> None:
    conversation = ConversationWriter(catalog).create(ConversationScope(("default",)), title=SECRET)
    turns = Turns(catalog)
    fence = turns.begin(conversation.id, f"What of the {SECRET}?", "w")
    cited = Citation(1, "default", "d", f"{SECRET}.pdf", "c", "s", 1, "", (SECRET,), f"The {SECRET}.", cited=True)
    turns.end(fence, "complete", f"It flew, the {SECRET}.", sources=[cited])
    ConversationWriter(catalog).summarise(Summary(fence.message, SECRET, "v"))


def kept(catalog: Catalog) -> None:
    TokenStore(catalog).create("a program", {"default": "read", EVERYWHERE: "read"})
    TokenStore(catalog).create("an administrator", {EVERYWHERE: "admin"}, kind="user")
    day = {"day": "2026-01-01", "model": "m", "input_tokens": 1, "output_tokens": 1, "unpriced": 0, "seconds": 1}
    with catalog.writing() as connection:
        connection.execute(insert(model_usage).values(library=SECRET, who="a program", calls=2, cost=1.0, **day))
        connection.execute(insert(model_usage).values(library="default", who="", calls=1, cost=0.5, **day))
    AuditLog(catalog).add("a program", "search", SECRET, SECRET, 200)
    with catalog.writing() as connection:
        note = {"library": SECRET, "author": "a", "created_at": 1, "changed_at": 1, "doc_id": "", "page": 0}
        connection.execute(insert(notes).values(id="n", title=SECRET, text=SECRET, **note))
        said = {"library": SECRET, "author": "a", "at": 1, "document": SECRET, "page": 1, "right": 1}
        connection.execute(insert(feedback).values(id="f", question=SECRET, answer=SECRET, **said))
        reply = {"caller": "c", "key": "k", "asked": "h", "at": 1, "status": 200, "headers": "{}"}
        connection.execute(insert(replies).values(body=SECRET.encode(), **reply))


def rows(file: Path) -> dict[str, int]:
    with sqlite3.connect(file) as direct:
        tables = [name for (name,) in direct.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: direct.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in tables}


@pytest.mark.usefixtures("in_a_file")
def test_what_is_left_after_clear_is_nothing(engine: Engine, tmp_path: Path) -> None:
    fill(engine, tmp_path / "files")
    (engine.home / "config.yaml").write_text("top_k: 3\n")
    filled = rows(engine.home / "catalog.sqlite")
    assert {table for table, number in filled.items() if not number} <= {"pauses", "model_usage", "job_turns"}
    assert run(engine.libraries.clear()) == ["default", SECRET]
    engine.close()
    left = {path.relative_to(engine.home).as_posix() for path in engine.home.rglob("*")}
    assert left == {"catalog.sqlite", "cache.sqlite", "config.yaml"}
    now = rows(engine.home / "catalog.sqlite")
    assert now.keys() == filled.keys()
    assert {table for table, number in now.items() if number} <= {
        "meta",
        "counters",
        "sqlite_sequence",
        "model_usage",
    }, "no token, user, session or right is left"
    with sqlite3.connect(engine.home / "catalog.sqlite") as direct:
        [used] = direct.execute("SELECT library, who, calls, cost FROM model_usage")
        assert used == ("", "", 3, 1.5), "a month's limit holds on, without a name"
    with sqlite3.connect(engine.home / "catalog.sqlite") as direct:
        counters = {name for (name,) in direct.execute("SELECT name FROM counters")}
    assert counters <= {"enqueue", "job events", "job turns"}
    assert sum(rows(engine.home / "cache.sqlite").values()) == 0
    for file in engine.home.iterdir():
        assert SECRET not in file.read_bytes().decode("latin-1").casefold(), "nor are deleted rows left in a file"


@pytest.mark.usefixtures("in_a_file")
def test_no_table_is_forgotten(tmp_path: Path) -> None:
    """One that is not among those that ``clear`` empties would stay."""
    Catalog(tmp_path / "catalog.sqlite").close()
    assert rows(tmp_path / "catalog.sqlite").keys() - {"sqlite_sequence"} == set(whole().tables)


def test_another_process_sees_that_everything_is_gone(engine: Engine, tmp_path: Path) -> None:
    """Its log begins anew, and soon stands where it stood before."""
    old, new = tmp_path / "old", tmp_path / "new"
    for folder, topic in ((old, "dunes"), (new, "cliffs")):
        folder.mkdir()
        for number in range(3):
            pdfs.numbered(folder / f"{topic}-{number}.pdf", 2, f"{topic} {number}")
    run(engine.index(old))
    assert run(engine.search(pdfs.landmark("dunes 1", 2))).results[0].doc_name == "dunes-1.pdf"
    other = Engine(engine.home)
    run(other.libraries.clear())
    run(other.index(new))
    other.close()
    found = run(engine.search(pdfs.landmark("cliffs 1", 2))).results
    assert found[0].doc_name == "cliffs-1.pdf"
    assert not [page for page in run(engine.search(pdfs.landmark("dunes 1", 2))).results if "dunes" in page.doc_name]


@pytest.mark.usefixtures("in_a_file")
def test_one_library_goes_alone(engine: Engine, tmp_path: Path) -> None:
    fill(engine, tmp_path / "files")
    assert run(engine.libraries.clear(library=SECRET)) == [SECRET]
    assert [one.name for one in run(engine.libraries.list())] == ["default"]
    assert {one.library for one in run(engine.sources.list())} == {"default"}
    assert run(engine.search(SECRET)).results
    catalog = catalog_of(engine.home)
    assert [one.title for one in ConversationReader(catalog).listed()] == [SECRET]
    catalog.close()
    assert run(engine.conversations.about("default")) == 1
    run(engine.libraries.clear(library="default"))
    [conversation] = run(engine.conversations.listed())
    assert conversation.title == SECRET and conversation.scope.libraries == ("default",)
    answer = run(engine.conversations.messages(conversation.id))[-1]
    assert answer.text == f"It flew, the {SECRET}."
    assert [(one.state, one.quote) for one in answer.citations] == [("gone", f"The {SECRET}.")]
    assert run(engine.conversations.place(answer.id, 1)).note.startswith("the document was removed")


def test_a_watch_goes_on_after_a_clear(engine: Engine, tmp_path: Path) -> None:
    """It works and hears of what became of files, although everything that it knew is gone."""
    folder = tmp_path / "files"
    folder.mkdir()
    heard: list[tuple[str, str]] = []

    async def clear_and_add(watching: asyncio.Task[None]) -> None:
        async def until(event: str, name: str) -> None:
            while (event, name) not in heard:
                assert not watching.done()
                await asyncio.sleep(0.05)

        pdfs.numbered(folder / "first.pdf", 1, "dunes")
        await until("indexed", "first.pdf")
        await engine.libraries.clear()
        heard.clear()
        await engine.sources.watch_folder(folder)
        await until("indexed", "first.pdf")

    async def main() -> None:
        await engine.sources.watch_folder(folder)
        watching = asyncio.ensure_future(
            engine.sources.watch(on_event=lambda e: heard.append((e.event, Path(e.path).name)))
        )
        await clear_and_add(watching)
        watching.cancel()
        await asyncio.wait({watching})

    run(main())
    assert run(engine.search(pdfs.landmark("dunes", 1))).results
