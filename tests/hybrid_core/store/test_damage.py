"""Rows of a catalog that cannot be what was written: told as damage, whatever is asked."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from hybrid_core.errors import StoreError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.home import CATALOG
from hybrid_core.store.recovery.recovery import recover_catalog
from hybrid_pageindex import Engine, run
from tests import pdfs

Asks = Callable[[Engine], object]
WORD = (1 << 30).to_bytes(4, "little")


def searched(engine: Engine) -> object:
    return engine.search_now("harbour page 2")


def replaced(blob: bytes, at: int, more: bytes) -> bytes:
    return blob[:at] + more + blob[at + len(more) :]


DAMAGES: list[tuple[str, Callable[[bytes], object], Asks]] = [
    ("terms.body", lambda held: replaced(held, 16 + 4 * int.from_bytes(held[8:12], "little"), WORD), searched),
    ("terms.body", lambda held: replaced(held, 16, held[20:24] + held[16:20]), searched),
    ("terms.headings", lambda held: held[:-1], searched),
    ("trees.sections", lambda held: replaced(held, 16, WORD), searched),
    ("orders.terms", lambda held: held[:-1], searched),
    ("contents.metadata", lambda held: b"{", lambda engine: run(engine.documents.list())),
    ("jobs.result", lambda held: b"\xff{", lambda engine: run(engine.jobs.list())),
]


@pytest.mark.parametrize(("column", "damaged", "asks"), DAMAGES, ids=[f"{row[0]}-{n}" for n, row in enumerate(DAMAGES)])
def test_what_cannot_have_been_written_is_told(
    tmp_path: Path, column: str, damaged: Callable[[bytes], object], asks: Asks
) -> None:
    home, (table, name) = tmp_path / "home", column.split(".")
    with closing(Engine(home)) as engine:
        run(engine.index(pdfs.numbered(tmp_path / "a.pdf", 3, "harbour")))
        asks(engine)
    with closing(sqlite3.connect(home / CATALOG)) as direct, direct:
        [(stored,)] = direct.execute(f"SELECT CAST({name} AS BLOB) FROM {table} LIMIT 1")
        direct.execute(
            f"UPDATE {table} SET {name} = CAST(? AS {'TEXT' if stored[:1] in b'{[' else 'BLOB'})", (damaged(stored),)
        )
    with closing(Engine(home)) as engine:
        with pytest.raises(StoreError) as raised:
            asks(engine)
        assert "damaged" in str(raised.value) and "recover" in str(raised.value.advice)


def test_a_note_that_cannot_be_read_is_found_by_the_doctor(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with closing(Engine(home)) as engine:
        run(engine.index(pdfs.numbered(tmp_path / "a.pdf", 3, "harbour")))
        [document] = run(engine.documents.list())
        engine.notes.add("default", "ann", "A title", "text", document.doc_id, 2)
        assert run(engine.admin.doctor()).ok
    with closing(sqlite3.connect(home / CATALOG)) as direct, direct:
        direct.execute("UPDATE notes SET text = CAST(x'ff41' AS TEXT)")
    with closing(Engine(home)) as engine:
        assert not run(engine.admin.doctor()).ok


def test_what_recover_makes_anew_is_searched_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with closing(Engine(home)) as engine:
        run(engine.index(pdfs.numbered(tmp_path / "a.pdf", 3, "harbour")))
        places = [(page.doc_name, page.page) for page in engine.search_now("harbour page 2").results]
    with closing(sqlite3.connect(home / CATALOG)) as direct, direct:
        direct.execute("UPDATE orders SET terms = substr(terms, 2)")
    assert not recover_catalog(home).whole
    with closing(Engine(home)) as engine:
        assert [(page.doc_name, page.page) for page in engine.search_now("harbour page 2").results] == places


STRANGE: list[tuple[str, str, Asks]] = [
    ("documents.name", "NULL", searched),
    ("documents.path", "NULL", searched),
    ("documents.indexed_at", "NULL", lambda engine: run(engine.libraries.list())),
    ("documents.mtime", "NULL", lambda engine: run(engine.update())),
    ("contents.pages", "'7'", lambda engine: run(engine.libraries.list())),
    ("contents.title", "X'ff01'", searched),
    ("pages.text", "X'ff01'", searched),
    ("pages.label", "NULL", searched),
    ("notes.text", "X'41'", lambda engine: engine.notes.all("default")),
    ("libraries.embedder", "'7'", searched),
]
"""What one wrong bit in the head of a row makes of a value."""


@pytest.mark.parametrize(("column", "value", "asks"), STRANGE, ids=[f"{row[0]} {row[1]}" for row in STRANGE])
def test_a_value_that_its_column_cannot_hold_is_told(tmp_path: Path, column: str, value: str, asks: Asks) -> None:
    home, (table, name) = tmp_path / "home", column.split(".")
    with closing(Engine(home)) as engine:
        run(engine.index(pdfs.numbered(tmp_path / "a.pdf", 3, "harbour")))
        engine.notes.add("default", "ann", "A title", "text", run(engine.documents.list())[0].doc_id, 2)
    set_value(home / CATALOG, table, name, value)
    with closing(Engine(home)) as engine:
        with pytest.raises(StoreError) as raised:
            asks(engine)
        assert "damaged" in str(raised.value) and "recover" in str(raised.value.advice)


def set_value(catalog: Path, table: str, column: str, value: str) -> None:
    """Set a column to what its table refuses: the table forgets its types meanwhile."""
    schema = "UPDATE sqlite_schema SET sql = ? WHERE name = ?"
    with closing(sqlite3.connect(catalog)) as direct:
        [(sql,)] = direct.execute("SELECT sql FROM sqlite_schema WHERE name = ?", [table])
        free = re.sub(rf"(?m)^(\s*{column})\s+[A-Z]+", r"\1", sql.replace("NOT NULL", ""))
        direct.execute("PRAGMA writable_schema=ON")
        direct.execute(schema, [free, table])
        direct.commit()
    with closing(sqlite3.connect(catalog)) as direct:
        direct.execute(f"UPDATE {table} SET {column} = {value}")
        direct.execute("PRAGMA writable_schema=ON")
        direct.execute(schema, [sql, table])
        direct.commit()


HALFWAY: list[tuple[str, str, Asks]] = [
    ("contents.metadata", "{", lambda engine: run(engine.documents.list())),
    ("contents.metadata", "[1", lambda engine: run(engine.admin.doctor(deep=True))),
    ("documents.corrections", "{", lambda engine: run(engine.documents.list())),
    ("documents.corrections", "[", lambda engine: run(engine.outline("0.pdf"))),
]


@pytest.mark.parametrize(("column", "damaged", "asks"), HALFWAY, ids=[f"{row[0]}-{n}" for n, row in enumerate(HALFWAY)])
def test_a_read_that_failed_halfway_keeps_no_file_open(tmp_path: Path, column: str, damaged: str, asks: Asks) -> None:
    """Whoever caught the error has it still, as a notebook does, and with it the frames of the read."""
    home, (table, name) = tmp_path / "home", column.split(".")
    with closing(Engine(home)) as engine:
        run(engine.index([pdfs.numbered(tmp_path / f"{n}.pdf", 2, f"harbour {n}") for n in range(3)]))
    with closing(sqlite3.connect(home / CATALOG)) as direct, direct:
        direct.execute(f"UPDATE {table} SET {name} = ?", [damaged])
    with closing(Engine(home)) as engine, pytest.raises(StoreError) as raised:
        asks(engine)
    assert not open_files(home)
    assert not recover_catalog(home).whole
    assert raised.value.__traceback__ is not None


def test_a_connection_that_is_given_back_late_keeps_no_file_open(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / CATALOG)
    with catalog.reading() as connection:
        connection.exec_driver_sql("SELECT 1 FROM meta")
        catalog.close()
        assert open_files(tmp_path)
    assert not open_files(tmp_path)


@pytest.mark.parametrize("part", ["searcher", "pages", "indexes", "cache"])
def test_a_part_that_cannot_be_closed_keeps_no_file_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    def close(_part: object) -> None:
        raise StoreError("The disk does not answer.")

    engine = Engine(tmp_path / "home")
    run(engine.jobs.list())
    monkeypatch.setattr(type(getattr(engine._parts(), part)), "close", close)
    with pytest.raises(StoreError, match="disk"):
        engine.close()
    assert not open_files(tmp_path)


def open_files(folder: Path) -> list[str]:
    """Return the files below a folder that this process has open."""
    targets = []
    for handle in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            targets.append(str(handle.readlink()))
    return [target for target in targets if target.startswith(f"{folder}/")]
