"""What is salvaged of a catalog that is damaged in one way or another: all that lies outside the damaged pages."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from hybrid_core.errors import SchemaError, StoreError
from hybrid_core.store.access import TokenStore
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.schema import SCHEMA_VERSION
from hybrid_core.store.conversations.conversations import ConversationReader
from hybrid_core.store.home import CATALOG
from hybrid_core.store.jobs.reader import JobReader
from hybrid_core.store.notes import FeedbackStore, NoteStore
from hybrid_core.store.recovery.pages import INDEX_LEAF, PAGE_SIZE, PageFile
from hybrid_core.store.recovery.recovery import Recovery, recover_catalog
from hybrid_core.text.terms import HEADER
from tests.hybrid_core.store import test_upgrades_on_both as upgrades
from tests.hybrid_pageindex.recovery.damaged_homes import MADE_ONCE, Rows, all_rows, places, zero

Copied = Callable[[], Path]


def leaves(file: Path, name: str) -> list[int]:
    return [page for page, kind in places(file)[name] if kind == "leaf"]


def checked(home: Path, before: Rows) -> tuple[Recovery, Rows]:
    """Recover, and see that the new catalog is valid and that no loss is left out of the report."""
    done = recover_catalog(home)
    with closing(sqlite3.connect(home / CATALOG)) as direct:
        assert direct.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert direct.execute("PRAGMA foreign_key_check").fetchall() == []
    catalog = Catalog(home / CATALOG)
    with catalog.snapshot() as snapshot:
        for library in snapshot.libraries():
            for document in snapshot.documents(library):
                assert not document.content_id or snapshot.content(document.content_id) is not None
            assert len(NoteStore(catalog).all(library)) <= len(before.get("notes", ()))
            assert len(FeedbackStore(catalog).all(library)) <= len(before.get("feedback", ()))
    conversations = ConversationReader(catalog)
    assert all(conversations.path(talk.id) for talk in conversations.listed() if talk.leaf)
    assert len(TokenStore(catalog).all()) <= len(before.get("tokens", ()))
    JobReader(catalog).counts()
    catalog.close()
    for name, saved in done.tables.items():
        if name in before:
            assert saved.rows + saved.gone >= len(before[name]) or not saved.whole, name
    assert list((home / "tmp").iterdir()) == []
    return done, all_rows(home / CATALOG)


def test_a_whole_catalog_stays_as_it_is(copied: Copied, before: Rows) -> None:
    home = copied()
    bytes_before = (home / CATALOG).read_bytes()
    done, after = checked(home, before)
    assert done.whole and done.damaged is None and after == before
    assert (home / CATALOG).read_bytes() == bytes_before


@pytest.mark.parametrize("kind", ["header", "first page", "free pages", "page size", "reserved bytes"])
def test_without_its_header_a_catalog_loses_nothing(kind: str, copied: Copied, before: Rows) -> None:
    home = copied()
    file = home / CATALOG
    damaged = file.read_bytes()
    if kind == "header":
        damaged = b"\xff" * 100 + damaged[100:]
    elif kind == "first page":
        damaged = random.Random(1).randbytes(PAGE_SIZE) + damaged[PAGE_SIZE:]
    elif kind == "page size":
        damaged = damaged[:16] + b"\x20\0" + damaged[18:]
    elif kind == "reserved bytes":
        damaged = damaged[:20] + b"\x40" + damaged[21:]
    else:
        damaged = damaged[:32] + b"\0\0\0\x63\0\0\0\x05" + damaged[40:]  # a page of a table
    file.write_bytes(damaged)
    done, after = checked(home, before)
    assert after == before and not done.whole
    assert done.damaged is not None and done.damaged.read_bytes() == damaged


@pytest.mark.parametrize("table", ["notes", "feedback", "messages", "tokens"])
def test_a_leaf_full_of_zeros_costs_the_rows_on_it(table: str, copied: Copied, before: Rows) -> None:
    """The index still names them: how many are gone is known."""
    home = copied()
    middle = leaves(home / CATALOG, table)[1]
    zero(home / CATALOG, middle)
    done, after = checked(home, before)
    gone = {row[0] for row in before[table]} - {row[0] for row in after[table]}
    assert 0 < len(gone) == done.tables[table].gone and done.tables[table].whole
    if table != "tokens":  # rights of a token go with it, what was cited in an answer too
        assert {name: after[name] for name in MADE_ONCE if name not in (table, "citations", "conversations")} == {
            name: before[name] for name in MADE_ONCE if name not in (table, "citations", "conversations")
        }


@pytest.mark.parametrize("table", ["notes", "feedback", "messages", "tokens", "terms", "trees", "jobs"])
def test_a_root_full_of_zeros_costs_nothing(table: str, copied: Copied, before: Rows) -> None:
    """It holds no rows, and the pages below it are found without it."""
    home = copied()
    [root] = [page for page, kind in places(home / CATALOG)[table] if kind == "root"]
    zero(home / CATALOG, root)
    done, after = checked(home, before)
    assert after == before
    assert done.tables[table].gone == 0


def test_all_pages_of_an_index_may_be_lost(copied: Copied, before: Rows) -> None:
    home = copied()
    pages_by_name = places(home / CATALOG)
    indexes = [name for name in pages_by_name if name.startswith(("sqlite_autoindex", "ix_", "notes_by"))]
    zero(home / CATALOG, *(page for name in indexes for page, _ in pages_by_name[name]))
    done, after = checked(home, before)
    assert after == before
    assert all(saved.gone == 0 for saved in done.tables.values())


def test_the_schemas_own_pages_may_be_lost(copied: Copied, before: Rows) -> None:
    """Tell by the rows themselves what lies where."""
    home = copied()
    owned = {page for pages in places(home / CATALOG).values() for page, _ in pages}
    count = PageFile((home / CATALOG).read_bytes()).count
    schema = [page for page in range(1, count + 1) if page not in owned]
    zero(home / CATALOG, schema[1])
    _, after = checked(home, before)
    assert {name: after[name] for name in MADE_ONCE} == {name: before[name] for name in MADE_ONCE}


def test_half_of_a_document_is_not_kept(copied: Copied, before: Rows) -> None:
    """The document stays with its corrections, to be indexed again."""
    home = copied()
    zero(home / CATALOG, next(page for page, kind in places(home / CATALOG)["pages"] if kind == "overflow"))
    done, after = checked(home, before)
    assert done.rebuild > 0
    assert len(after["contents"]) == len(before["contents"]) - 1
    content_ids = {row[0] for row in after["contents"]}
    assert {row[0] for row in after["pages"]} == {row[0] for row in after["trees"]} == content_ids
    with closing(sqlite3.connect(home / CATALOG)) as direct:
        marked = direct.execute("SELECT error FROM documents WHERE content_id IS NULL").fetchall()
        assert len(marked) == done.rebuild and all("index the file again" in error for (error,) in marked)
        corrected = "SELECT corrections FROM documents WHERE corrections <> '{}'"
        assert len(direct.execute(corrected).fetchall()) == 3
    assert after["notes"] == before["notes"]


def test_lost_rows_of_documents_are_made_of_their_indexes(copied: Copied, before: Rows) -> None:
    home = copied()
    zero(home / CATALOG, *(page for page, _ in places(home / CATALOG)["documents"]))
    done, after = checked(home, before)
    assert [row[:4] for row in after["documents"]] == [row[:4] for row in before["documents"]]
    assert done.tables["documents"].partly == len(before["documents"])


def test_libraries_come_back_by_what_is_in_them(copied: Copied, before: Rows) -> None:
    home = copied()
    zero(home / CATALOG, *(page for page, _ in places(home / CATALOG)["libraries"]))
    done, after = checked(home, before)
    assert [row[:2] for row in after["libraries"]] == [row[:2] for row in before["libraries"]]
    assert set(done.libraries) == {"default", "second"}
    assert after["notes"] == before["notes"]


@pytest.mark.parametrize("part", [0.25, 0.6, 0.9])
def test_of_a_truncated_catalog_the_beginning_is_kept(part: float, copied: Copied, before: Rows) -> None:
    home = copied()
    pages_by_name = places(home / CATALOG)
    pages = int(PageFile((home / CATALOG).read_bytes()).count * part)
    with (home / CATALOG).open("r+b") as stream:
        stream.truncate(pages * PAGE_SIZE + 1000)
    _, after = checked(home, before)
    intact = [name for name in ("notes", "feedback", "jobs", "sources") if pages_by_name[name][-1][0] <= pages]
    assert intact or part < 0.6
    assert {name: after[name] for name in intact} == {name: before[name] for name in intact}
    assert set(after["notes"]) <= set(before["notes"])


def test_what_is_only_in_the_log_is_kept(copied: Copied, before: Rows, tmp_path: Path) -> None:
    home = copied()
    leaf = leaves(home / CATALOG, "feedback")[0]
    with closing(sqlite3.connect(home / CATALOG, isolation_level=None)) as direct:
        direct.execute("PRAGMA journal_mode=WAL")
        direct.execute("UPDATE notes SET text = 'new' WHERE id = 'note 0100'")
        for name in ("", "-wal"):  # as a process leaves them that is killed
            shutil.copy(home / f"{CATALOG}{name}", tmp_path / f"left{name}")
    for name in ("", "-wal"):
        shutil.copy(tmp_path / f"left{name}", home / f"{CATALOG}{name}")
    logged = (tmp_path / "left-wal").read_bytes()
    zero(home / CATALOG, leaf)
    done, after = checked(home, before)
    assert done.newest
    assert "new" in {row[4] for row in after["notes"]} and len(after["notes"]) == len(before["notes"])
    assert done.damaged is not None
    assert done.damaged.with_name(f"{done.damaged.name}-wal").read_bytes() == logged


def test_a_damaged_log_is_told(copied: Copied, before: Rows, tmp_path: Path) -> None:
    home = copied()
    with closing(sqlite3.connect(home / CATALOG, isolation_level=None)) as direct:
        direct.execute("PRAGMA journal_mode=WAL")
        for text in ("first", "second"):
            direct.execute(f"UPDATE notes SET text = '{text}' WHERE id = 'note 0100'")
        log = bytearray((home / f"{CATALOG}-wal").read_bytes())
        shutil.copy(home / CATALOG, tmp_path / "left")
    shutil.copy(tmp_path / "left", home / CATALOG)
    log[-100] ^= 1  # in the second commit's page
    (home / f"{CATALOG}-wal").write_bytes(log)
    done, after = checked(home, before)
    assert not done.newest and not done.whole
    assert "first" in {row[4] for row in after["notes"]}


def test_deleted_rows_do_not_come_back(copied: Copied) -> None:
    """Their pages are free, and still hold them."""
    home = copied()
    with closing(sqlite3.connect(home / CATALOG)) as direct:
        direct.execute("PRAGMA secure_delete=OFF")
        direct.execute("DELETE FROM notes WHERE id < 'note 0200'")
        direct.execute("DELETE FROM tokens WHERE name < 'program 3'")
        direct.commit()
        direct.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    left = all_rows(home / CATALOG)
    damaged = (home / CATALOG).read_bytes()
    pages_by_name = places(home / CATALOG)
    (home / CATALOG).write_bytes(bytes(100) + damaged[100:])  # nothing says which pages are free
    zero(home / CATALOG, *(page for page, kind in pages_by_name["notes"] if kind == "root"))
    _, after = checked(home, left)
    assert after["tokens"] == left["tokens"] and after["notes"] == left["notes"]


@pytest.mark.parametrize("lost", [1, 5, -2])
def test_an_index_that_names_a_row_twice_is_not_certain(lost: int, copied: Copied, before: Rows) -> None:
    """Another row has no entry then, and its loss cannot be known."""
    home = copied()
    file = home / CATALOG
    data = bytearray(file.read_bytes())
    pages = places(file)
    middle = leaves(file, "feedback")[1]
    rows = bytes(data[(middle - 1) * PAGE_SIZE : middle * PAGE_SIZE])
    with closing(sqlite3.connect(file)) as direct:
        ids = [id.encode() for (id,) in direct.execute("SELECT id FROM feedback")]
    gone = [id for id in ids if id in rows]
    for number, _ in pages["sqlite_autoindex_feedback_1"]:
        start = (number - 1) * PAGE_SIZE
        count = int.from_bytes(data[start + 3 : start + 5], "big")
        cells = [(at, int.from_bytes(data[at : at + 2], "big")) for at in range(start + 8, start + 8 + 2 * count, 2)]
        pointers = [at for at, cell in cells if any(name in data[start + cell : start + cell + 24] for name in gone)]
        if data[start] == INDEX_LEAF and len(pointers) > 6:
            data[pointers[lost] : pointers[lost] + 2] = data[pointers[lost] + 2 : pointers[lost] + 4]
            break
    else:
        raise AssertionError("no leaf of the index names the rows")
    file.write_bytes(data)
    zero(file, middle, *(number for number, _ in pages["feedback_by_library"]))
    done, _ = checked(home, before)
    assert not done.tables["feedback"].whole


@pytest.mark.parametrize("seed", range(15))
def test_whatever_is_flipped_no_loss_is_left_out(seed: int, copied: Copied, before: Rows) -> None:
    """Bits anywhere, and in the heads of pages, where one of them costs most."""
    home, chance = copied(), random.Random(seed)
    damaged = bytearray((home / CATALOG).read_bytes())
    for _ in range(chance.choice([1, 1, 3, 30, 300])):
        anywhere = chance.randrange(len(damaged))
        head = anywhere // PAGE_SIZE * PAGE_SIZE + chance.randrange(12)
        damaged[chance.choice([anywhere, head])] ^= 1 << chance.randrange(8)
    (home / CATALOG).write_bytes(damaged)
    checked(home, before)


def test_values_that_no_program_wrote_are_mended(copied: Copied, before: Rows) -> None:
    """The file is as SQLite wrote it, and each value would make a command fail, or give a right."""
    home = copied()
    with closing(sqlite3.connect(home / CATALOG)) as direct:
        for statement in (
            "UPDATE messages SET result = '{\"unsqpported\": []}', status = 'complftf' WHERE id = 2",
            "UPDATE messages SET parent = 9 WHERE id = 4",
            "UPDATE conversations SET leaf = 2 WHERE title = 'Talk 7'",
            "UPDATE jobs SET status = 'dnne' WHERE id = 1",
            "UPDATE grants SET role = 'atmin' WHERE token IN (SELECT id FROM tokens WHERE name = 'program 3')",
            "UPDATE documents SET corrections = '{\"title' WHERE name = 'report-1.pdf'",
            "UPDATE documents SET card = '[' WHERE name = 'report-2.pdf'",
            "UPDATE contents SET metadata = '}' WHERE rowid = (SELECT min(rowid) FROM contents)",
        ):
            assert direct.execute(statement).rowcount == 1 + (statement.count("report-1") > 0), statement
        [(content_id, body)] = direct.execute("SELECT content_id, body FROM terms LIMIT 1 OFFSET 3").fetchall()
        twice = body[:HEADER] + body[HEADER : HEADER + 4] * 2 + body[HEADER + 8 :]
        direct.execute("UPDATE terms SET body = ? WHERE content_id = ?", [twice, content_id])
        direct.commit()
    done, after = checked(home, before)
    assert not done.whole and done.lost["grants"] == 1 and done.emptied["corrections"] == 2
    assert content_id not in {row[0] for row in after["contents"]}
    assert len(after["messages"]) == len(before["messages"]) and after["notes"] == before["notes"]


@pytest.mark.parametrize("content", [b"", b"x", bytes(PAGE_SIZE * 3), b"something else entirely " * 900])
def test_of_a_file_that_holds_nothing_comes_an_empty_catalog(content: bytes, copied: Copied) -> None:
    home = copied()
    (home / CATALOG).write_bytes(content)
    done = recover_catalog(home)
    assert not done.whole and done.unnamed == 3
    assert all_rows(home / CATALOG)["documents"] == []


def test_a_catalog_of_an_older_version_is_upgraded(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    script = Path(upgrades.__file__).with_name("schema_22.sqlite.sql").read_text()
    with closing(sqlite3.connect(home / CATALOG)) as old:
        old.executescript(script + upgrades.ROWS)
        rows = {name: old.execute(f"SELECT * FROM {name}").fetchall() for name in ("libraries", "documents")}
        [root] = old.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_libraries_1'"
        ).fetchone()
    zero(home / CATALOG, 1, root)
    done = recover_catalog(home)
    assert not done.whole and done.tables["sections"].rows > 0
    with closing(sqlite3.connect(home / CATALOG)) as new:
        assert new.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone() == (str(SCHEMA_VERSION),)
        assert new.execute("SELECT * FROM libraries").fetchall() == rows["libraries"]
        query = "SELECT doc_id, library, path FROM documents"
        assert new.execute(query).fetchall() == [row[:3] for row in rows["documents"]]
        assert new.execute("SELECT path, machine FROM sources").fetchall() == [("/a", "")]


def test_a_catalog_of_a_newer_version_stays(copied: Copied) -> None:
    home = copied()
    with closing(sqlite3.connect(home / CATALOG)) as direct:
        direct.execute("UPDATE meta SET value = '999' WHERE key = 'schema'")
        direct.commit()
    content = (home / CATALOG).read_bytes()
    with pytest.raises(SchemaError, match="newer version"):
        recover_catalog(home)
    assert (home / CATALOG).read_bytes() == content


def test_where_there_is_nothing_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="neither a catalog nor uploaded files"):
        recover_catalog(tmp_path / "home")
    assert not (tmp_path / "home").exists()


def test_a_damaged_version_number_makes_no_old_catalog(copied: Copied, before: Rows) -> None:
    home = copied()
    with closing(sqlite3.connect(home / CATALOG)) as direct:
        direct.execute("UPDATE meta SET value = '4' WHERE key = 'schema'")
        direct.commit()
    zero(home / CATALOG, 1)
    _, after = checked(home, before)
    assert after == before


def test_a_damaged_statement_of_a_table_is_replaced(copied: Copied, before: Rows) -> None:
    """SQLite finds nothing wrong with the name of a column, and every command that asks for it fails."""
    home = copied()
    content = (home / CATALOG).read_bytes()
    assert content.count(b"\tattempts INTEGER") == 1
    (home / CATALOG).write_bytes(content.replace(b"\tattempts INTEGER", b"\tattemptr INTEGER"))
    done, after = checked(home, before)
    assert not done.whole and after == before
