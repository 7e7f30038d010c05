"""Tables in a mapped file."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from hybrid_core.errors import IndexDamagedError, StoreError
from hybrid_core.store import mapped
from hybrid_core.store.mapped import MappedFile, write_tables

ENTRIES = {
    "": 0,
    "a": [1, 2],
    'q"uote': {"x": None},
    "湖": "法",
    "lone \udc80": 1.5,
    **{f"k{n}": n for n in range(500)},
}


def test_what_was_written_is_found(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "tables"
    write_tables(path, {"position": 7}, [("some", ENTRIES.items()), ("none", ())])
    file = MappedFile(path)
    table = file.tables["some"]
    assert file.head == {"position": 7}
    assert {key: table[key] for key in ENTRIES} == ENTRIES == dict(table.entries())
    assert len(table) == len(ENTRIES) and set(table) == ENTRIES.keys()
    assert "k" not in table and "k500" not in table and 7 not in table and not file.tables["none"]
    with pytest.raises(KeyError):
        table["b"]
    assert path.stat().st_mode & 0o077 == 0 and list(path.parent.iterdir()) == [path]


def test_keys_of_one_hash_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped, "_digest", lambda key: len(key).to_bytes(8, "little"))
    write_tables(tmp_path / "t", {}, [("some", {"aa": 1, "bb": 2, "c": 3}.items())])
    table = MappedFile(tmp_path / "t").tables["some"]
    assert (table["aa"], table["bb"], table["c"], "cc" in table) == (1, 2, 3, False)


def test_a_file_that_is_not_whole_is_refused_and_a_damaged_one_goes(tmp_path: Path) -> None:
    path = tmp_path / "t"
    write_tables(path, {}, [("some", {"key": "value"}.items())])
    whole = path.read_bytes()
    for cut in (0, 5, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(ValueError):
            MappedFile(path)
    path.write_bytes(whole.replace(b'"value"', b'"val\xffe"'))
    table = MappedFile(path).tables["some"]
    with pytest.raises(IndexDamagedError):
        table["key"]
    assert not path.exists()


def test_a_damaged_file_that_cannot_be_deleted_is_not_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "read-only")

    path = tmp_path / "t"
    write_tables(path, {}, [("some", {"key": "value"}.items())])
    path.write_bytes(path.read_bytes().replace(b'"value"', b'"val\xffe"'))
    monkeypatch.setattr(Path, "unlink", refused)
    with pytest.raises(IndexDamagedError):
        MappedFile(path).tables["some"]["key"]
    with pytest.raises(ValueError, match="damaged"):
        MappedFile(path)
    monkeypatch.undo()
    write_tables(path, {}, [("some", {"key": "value"}.items())])
    assert MappedFile(path).tables["some"]["key"] == "value"


def test_where_nothing_can_be_written_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="cannot be written"):
        write_tables(tmp_path / "file" / "t", {}, [])
