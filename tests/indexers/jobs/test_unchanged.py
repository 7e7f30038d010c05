"""Files that are told unchanged by what the system says of them are not read; every other one is."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from hybrid_core.store.home import scratch_folder
from hybrid_core.system import Reach
from hybrid_core.types.files import FileStamp
from hybrid_pageindex import Engine, run
from indexers.assembly import versions
from indexers.formats import registry
from indexers.jobs import file_stages

LONG_AGO = 1_000_000_000


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files whose bytes are read, as they are."""
    names: list[str] = []
    fingerprint = file_stages.fingerprint

    def noted(file: Path, at: Path, reach: Reach | None) -> object:
        names.append(file.name)
        return fingerprint(file, at, reach)

    monkeypatch.setattr(file_stages, "fingerprint", noted)
    return names


def note(path: Path, word: str, when: float = LONG_AGO) -> Path:
    path.write_text(f"# {word.title()}\n\nThe {word} stands by the harbour.\n")
    os.utime(path, (when, when))
    return path


def indexed(engine: Engine, read: list[str], path: Path, **more: bool) -> tuple[dict[str, str], list[str]]:
    """Statuses by name, and which files were read."""
    read.clear()
    report = run(engine.index(path, workers=1, **more))
    return {Path(file.path).name: file.status for file in report.files}, sorted(read)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "notes"
    made.mkdir()
    return made


def test_unchanged_files_are_not_read(engine: Engine, folder: Path, read: list[str]) -> None:
    names = [note(folder / f"{word}.md", word).name for word in ("crane", "lamp", "mole")]
    assert indexed(engine, read, folder) == (dict.fromkeys(names, "indexed"), names)
    unchanged = dict.fromkeys(names, "unchanged")
    assert indexed(engine, read, folder) == (unchanged, [])
    assert indexed(engine, read, folder, check_hashes=True) == (unchanged, names)


def test_unchanged_files_are_not_opened(engine: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = note(folder / "crane.md", "crane")
    assert run(engine.index(file, workers=1)).files[0].status == "indexed"
    opened: list[Path] = []
    monkeypatch.setattr(registry, "detect", lambda path, _: opened.append(path) or "")
    assert run(engine.index(file, workers=1)).files[0].status == "unchanged"
    assert opened == []


@pytest.mark.parametrize("contents", [[], ["1.part"], ["1.part", "below/2.part"]])
def test_a_run_without_work_removes_working_files_of_killed_runs(
    engine: Engine, folder: Path, contents: list[str]
) -> None:
    file = note(folder / "crane.md", "crane")
    run(engine.index(file, workers=1))
    left = engine.home / "tmp" / "4194305-0badcafe"
    with scratch_folder(engine.home / "tmp") as alive:
        left.with_name(f"{left.name}.alive").touch()
        for name in contents:
            (left / name).parent.mkdir(parents=True, exist_ok=True)
            (left / name).touch()
        assert run(engine.index(file, workers=1)).files[0].status == "unchanged"
        assert sorted(path.name for path in (engine.home / "tmp").iterdir()) == [alive.name, f"{alive.name}.alive"]


def test_a_file_of_the_same_size_and_time_is_read(engine: Engine, folder: Path, read: list[str]) -> None:
    file = note(folder / "a.md", "crane")
    indexed(engine, read, folder)
    note(folder / "new", "crate").replace(file)
    assert indexed(engine, read, folder) == ({"a.md": "indexed"}, ["a.md"])
    assert run(engine.search("crate")).results and indexed(engine, read, folder)[1] == []
    note(file, "crone")  # in place: the same inode
    assert indexed(engine, read, folder) == ({"a.md": "indexed"}, ["a.md"])


def test_a_file_that_changed_when_it_was_read_is_read_again(engine: Engine, folder: Path, read: list[str]) -> None:
    note(folder / "a.md", "crane", when=4_000_000_000)
    for status in ("indexed", "unchanged", "unchanged"):
        assert indexed(engine, read, folder) == ({"a.md": status}, ["a.md"])


def test_two_seconds_between_change_and_reading_are_not_enough(folder: Path) -> None:
    stat = note(folder / "a.md", "crane").stat()
    stamp = FileStamp.of(stat, LONG_AGO + 2.0)
    assert not stamp.proves(stat) and replace(stamp, read_at=LONG_AGO + 2.1).proves(stat)
    assert not replace(stamp, read_at=LONG_AGO + 9, inode="7").proves(stat)


def test_a_moved_file_and_a_second_name_of_one(engine: Engine, folder: Path, read: list[str]) -> None:
    file = note(folder / "a.md", "crane")
    indexed(engine, read, folder)
    file = file.rename(folder / "b.md")
    assert indexed(engine, read, folder) == ({"b.md": "unchanged"}, ["b.md"])
    assert indexed(engine, read, folder)[1] == []
    (folder / "c.md").hardlink_to(file)
    assert indexed(engine, read, folder) == ({"b.md": "unchanged", "c.md": "indexed"}, ["b.md", "c.md"])
    assert indexed(engine, read, folder) == ({"b.md": "unchanged", "c.md": "unchanged"}, [])
    note(folder / "new", "crate").replace(file)
    assert indexed(engine, read, folder) == ({"b.md": "indexed", "c.md": "unchanged"}, ["b.md", "c.md"])


def test_what_another_version_made_is_made_again(
    engine: Engine, folder: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    note(folder / "a.md", "crane")
    indexed(engine, read, folder)
    monkeypatch.setattr(versions, "_BUILD", versions._BUILD + "+another")
    assert indexed(engine, read, folder) == ({"a.md": "indexed"}, ["a.md"])
    assert indexed(engine, read, folder) == ({"a.md": "unchanged"}, [])


def test_a_file_that_failed_is_tried_again(engine: Engine, folder: Path, read: list[str]) -> None:
    file = note(folder / "a.md", "crane")
    indexed(engine, read, folder)
    file.write_bytes(b"\0" * 10)
    os.utime(file, (LONG_AGO, LONG_AGO))
    for _ in range(2):
        assert indexed(engine, read, folder) == ({"a.md": "failed"}, ["a.md"])
    note(file, "crane")
    assert indexed(engine, read, folder) == ({"a.md": "unchanged"}, ["a.md"])
    assert run(engine.documents.get("a.md")).error == "" and indexed(engine, read, folder)[1] == []


def test_files_of_an_older_home_are_read_once(engine: Engine, folder: Path, read: list[str]) -> None:
    note(folder / "a.md", "crane")
    indexed(engine, read, folder)
    with engine._catalog().writing() as direct:
        direct.exec_driver_sql("UPDATE documents SET ctime = 0, inode = '', read_at = 0")
    assert indexed(engine, read, folder) == ({"a.md": "unchanged"}, ["a.md"])
    assert indexed(engine, read, folder) == ({"a.md": "unchanged"}, [])
