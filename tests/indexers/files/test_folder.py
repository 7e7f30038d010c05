"""What looks at a watched folder find, with real files and a clock of the test's own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from hybrid_core.store.catalog.libraries import all_sources, exclude, remember
from hybrid_core.types.sources import Source
from hybrid_pageindex import Engine, run
from indexers.files import scan
from indexers.files.watcher import FileSign, Findings, FolderWatch, Stillness, WatchTimes

TIMES = WatchTimes(still=2, grace=60, poll=10, rescan=600)


def note(path: Path, text: str = "tides") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"# Notes\n\nThese are about {text}.\n")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return note(tmp_path / "files" / "a.md").parent


def watched(engine: Engine, folder: Path) -> FolderWatch:
    run(engine.index(folder))
    catalog = engine._catalog()
    remember(catalog, "default", [Source("default", str(folder), "folder")])
    [source] = all_sources(catalog)
    return FolderWatch(source, catalog, engine.home, TIMES)


def names(findings: Findings) -> list[str]:
    return [file.name for file in findings.files]


def test_a_file_is_taken_once_and_only_when_it_holds_still(engine: Engine, folder: Path) -> None:
    watch = watched(engine, folder)
    assert not watch.look(0), "everything is indexed"
    new = note(folder / "deep" / "b.md")
    assert not watch.look(1), "nobody said so, and a scan is not due"
    assert not watch.look(2, hinted=True)
    note(new, "tides and currents")
    assert not watch.look(4.5), "it has changed meanwhile"
    assert not watch.look(6)
    assert names(watch.look(6.5)) == ["b.md"]
    assert not watch.look(700) and not watch.look(800, hinted=True), "it was told of"
    note(new, "a third thing, longer than before")
    assert not watch.look(900, hinted=True)
    assert names(watch.look(902)) == ["b.md"], "it is another state of the file"
    run(engine.index(new))
    assert not watch.look(1000, hinted=True) and not watch.look(1003)


def test_what_is_hidden_the_engines_own_or_removed_by_hand_is_left_alone(engine: Engine, tmp_path: Path) -> None:
    """The home lies in the folder, as with ``--home ./home``."""
    folder = note(tmp_path / "a.md").parent
    watch = watched(engine, folder)
    note(tmp_path / ".hidden" / "b.md")
    note(engine.home / "tmp" / "c.md")
    (tmp_path / "d.bin").write_bytes(b"x")
    out = note(tmp_path / "out.md")
    catalog = engine._catalog()
    exclude(catalog, "default", [str(out)])
    assert not watch.look(0) and not watch.look(3)
    remember(catalog, "default", [Source("default", str(out), "file")])
    assert not watch.look(20) and names(watch.look(23)) == ["out.md"], "it was named again"


def test_a_deletion_counts_after_a_while(engine: Engine, folder: Path) -> None:
    note(folder / "b.md")
    watch = watched(engine, folder)
    assert not watch.look(0)
    (folder / "b.md").rename(folder.parent / "kept.md")
    assert not watch.look(10, hinted=True)
    (folder.parent / "kept.md").rename(folder / "b.md")
    assert not watch.look(40, hinted=True)
    (folder / "b.md").unlink()
    assert not watch.look(50, hinted=True) and not watch.look(109)
    assert list(watch.look(110).gone.values()) == [str(folder / "b.md")], "it is looked at again by itself"


def test_a_folder_that_is_not_there_takes_no_document_along(engine: Engine, folder: Path) -> None:
    watch = watched(engine, folder)
    assert not watch.look(0)
    shutil.move(folder, folder.with_name("elsewhere"))
    away = watch.look(10)
    assert away.gone == {} and "does not exist" in away.notes[0] and watch.away
    assert not watch.look(100) and not watch.look(1000), "it is said once"
    shutil.move(folder.with_name("elsewhere"), folder)
    note(folder / "b.md")
    assert not watch.look(1010) and not watch.away and names(watch.look(1020)) == ["b.md"]


def test_an_empty_mount_point_takes_no_document_along(
    engine: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    share = folder / "share"
    note(share / "b.md")
    here = {str(share): "5"}  # which file system is mounted at which folder, besides /
    monkeypatch.setattr(os.path, "ismount", lambda path: str(path) in {"/", *here})
    monkeypatch.setattr(scan, "file_system", lambda point: here.get(str(point), "1"))
    watch = watched(engine, folder)
    assert not watch.look(0)
    (share / "b.md").unlink()
    here.clear()
    unmounted = watch.look(10)
    assert "1 document unreachable" in unmounted.notes[0] and not watch.look(200) and not watch.look(1000)
    (folder / "a.md").unlink()
    assert not watch.look(1010)
    gone_now = watch.look(1070).gone
    assert list(gone_now.values()) == [str(folder / "a.md")], "its file system is the known one"
    engine._catalog().remove(list(gone_now))
    here[str(share)] = "6"
    assert not watch.look(1100) and not watch.look(1200), "another disk is in its place"
    note(share / "c.md")
    here[str(share)] = "5"
    assert not watch.look(1300) and watch.look(1400).gone, "the disk is back, and the file is deleted"


def test_what_cannot_be_asked_is_not_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert scan.missing(tmp_path / "nothing") and not scan.missing(tmp_path)

    def stale(*_: object, **__: object) -> os.stat_result:
        raise OSError(116, "Stale file handle")

    monkeypatch.setattr(Path, "stat", stale)
    assert not scan.missing(tmp_path / "nothing")


def test_stillness_forgets_what_is_not_seen() -> None:
    still = Stillness(2)
    path, sign = Path("/a"), FileSign(1, 1, 1)
    assert still.look({path: sign}, 0) == [] and still.look({}, 1) == [] and still.waiting == ()
    assert still.look({path: sign}, 3) == [] and still.look({path: FileSign(1, 2, 1)}, 5) == []
    assert still.look({path: FileSign(1, 2, 1)}, 7) == [path] and still.waiting == ()


@pytest.mark.parametrize(("kind", "is_remote"), [("nfs4", True), ("cifs", True), ("ext4", False), ("fuse.sshfs", True)])
def test_network_drives_are_known_by_their_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, is_remote: bool
) -> None:
    table = tmp_path / "mounts"
    table.write_text(f"/dev/vda / ext4 rw 0 0\nserver:/x /mnt/a\\040share {kind} rw 0 0\n")
    monkeypatch.setattr(scan, "_MOUNTS", table)
    assert scan.remote(Path("/mnt/a share/folder")) is is_remote and not scan.remote(Path("/mnt/other"))
