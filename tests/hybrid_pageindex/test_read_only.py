"""A home that cannot be written is read: on a read-only file system, without rights, and on a full disk."""

from __future__ import annotations

import json
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hybrid_core.store.home import CATALOG
from hybrid_pageindex import Engine, run
from tests.mounts import called, contents, full_disk, mounted, read_only, without_rights

pytestmark = pytest.mark.usefixtures("in_a_file")
QUESTION = "What did the mill cost?"
READS = [
    ["search", QUESTION, "--json"],
    ["list", "--json"],
    ["page", "mill.md", "1", "--json"],
    ["outline", "mill.md", "--json"],
    ["ask", QUESTION, "--json"],
]
NOT_WRITTEN = "open for reading only"


@pytest.fixture(scope="module")
def indexed_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home with two documents."""
    folder = tmp_path_factory.mktemp("indexed")
    (folder / "mill.md").write_text("# The mill\n\nIt was sold in 1987.\n\n## Price\n\nThe mill cost 4,200 crowns.\n")
    (folder / "weir.md").write_text("# The weir\n\nThe weir was built in 1871.\n")

    async def index() -> None:
        async with Engine(folder / "home") as engine:
            await engine.index([folder / "mill.md", folder / "weir.md"], workers=1)
            await engine.search(QUESTION)

    run(index())
    return folder / "home"


@pytest.fixture
def home(indexed_home: Path, tmp_path: Path) -> Iterator[Path]:
    """Yield a copy of it."""
    subprocess.run(["cp", "-a", str(indexed_home), str(tmp_path / "home")], check=True)  # with holes as they are
    yield tmp_path / "home"
    subprocess.run(["chmod", "-R", "u+w", str(tmp_path / "home")], check=True)


@pytest.mark.parametrize("kept_from", [read_only, without_rights])
def test_it_is_searched_listed_outlined_and_paged(kept_from: object, home: Path, tmp_path: Path) -> None:
    assert callable(kept_from)
    before, had = kept_from(home), contents(home)
    picture = tmp_path / "page.png"
    drawn = ["page", "mill.md", "1", "--image", str(picture)]
    *read, image, doctor, refused, again = called(
        before, home, *READS, drawn, ["doctor"], ["index", str(home.parent)], READS[0]
    )
    search, listed, page, outline, answer = read
    assert [call.code for call in read] == [0] * 5, read
    assert search.json["results"][0]["doc_name"] == "mill.md" and "4,200" in search.json["results"][0]["snippet"]
    assert any("cannot be written" in note for note in search.json["notes"])
    assert not any("the search index lacks" in note for note in search.json["notes"]), "the copy of the index is whole"
    assert len(listed.json["documents"]) == 2 and "Price" in outline.out
    assert "4,200" in page.out and "4,200" in answer.out
    for call in (*read, image, doctor):
        assert call.err.count("\n") == 1 and NOT_WRITTEN in call.err, "one line says that nothing is recorded"
    assert picture.stat().st_size > 1000 and doctor.code == 0 and "nothing can be indexed" in doctor.out
    assert refused.code == 1 and "cannot be written" in refused.err.splitlines()[-1]
    assert again.json["results"] == search.json["results"]
    assert contents(home) == had, "nothing in it was changed"


@pytest.mark.parametrize("kind", ["read-only", "full"])
def test_it_is_backed_up_to_another_disk(kind: str, home: Path, tmp_path: Path) -> None:
    backup = str(tmp_path / "backup.zip")
    disk = tmp_path / "disk"
    before, where = (read_only(home), home) if kind == "read-only" else (full_disk(home, disk), disk / "home")
    written, checked = called(before, where, ["backup", backup], ["restore", backup, "--check"])
    assert written.code == 0 and "2 documents" in written.out, written
    assert checked.code == 0 and "can be restored" in checked.out, checked


def test_the_engine_reads_it_and_refuses_to_change_it(home: Path) -> None:
    script = """
import json, sys
from hybrid_core.errors import ReadOnlyError
from hybrid_pageindex import Engine, run
async def work():
    async with Engine(sys.argv[1]) as engine:
        found = await engine.search("What did the mill cost?")
        told = [engine.read_only, found.results[0].doc_name, (await engine.admin.missing())]
        edit = engine.documents.edit("mill.md", set={"year": "1871"})
        for change in (engine.libraries.create("new"), engine.documents.remove(["mill.md"]), edit):
            try:
                await change
            except ReadOnlyError as error:
                told.append(str(error))
        print(json.dumps(told))
run(work())
"""
    done = subprocess.run(
        [*read_only(home), sys.executable, "-c", script, str(home)], capture_output=True, text=True, check=True
    )
    reason, first, missing, *refused = json.loads(done.stdout)
    assert (reason, first, missing) == ("read-only file system", "mill.md", {})
    assert len(refused) == 3 and all(f"{home}: this home folder cannot be written" in message for message in refused)


def left_in_the_log(home: Path) -> None:
    """Rename a document in the write-ahead log alone, as a process that is killed leaves it."""
    script = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1]); "
        "c.execute(\"UPDATE libraries SET alias = 'harbour'\"); c.commit(); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", script, str(home / CATALOG)], check=True)
    (home / f"{CATALOG}-shm").unlink()
    assert (home / f"{CATALOG}-wal").stat().st_size


def test_what_only_the_log_holds_is_read_from_a_copy(home: Path, tmp_path: Path) -> None:
    left_in_the_log(home)
    had = contents(home)
    (tmp_path / "tmp").mkdir()
    result, listed = called(
        read_only(home), home, ["search", QUESTION, "--json", "--library", "harbour"], ["libraries", "--json"],
        env={"TMPDIR": str(tmp_path / "tmp")},
    )  # fmt: skip
    assert result.code == 0 and result.json["results"][0]["doc_name"] == "mill.md"
    assert "harbour" in listed.out and contents(home) == had
    [left] = (tmp_path / "tmp").iterdir()
    assert list(left.iterdir()) == [], "no copy is left"


def test_a_home_of_an_older_version_says_what_to_do(home: Path) -> None:
    with closing(sqlite3.connect(home / CATALOG)) as connection, connection:
        connection.execute("UPDATE meta SET value = '25' WHERE key = 'schema'")
    had = contents(home)
    [refused] = called(read_only(home), home, ["list"])
    assert refused.code == 1 and "must be upgraded to this version" in refused.err and "Copy the home" in refused.err
    assert contents(home) == had


def crammed(home: Path, fill: bool) -> list[str]:
    """A command that runs the one after it with a read-only home at /mnt/home, where no temporary folder has room."""
    full = "dd if=/dev/zero of=/tmp/fill bs=4k 2>/dev/null || true; cp /tmp/fill /var/tmp/fill 2>/dev/null || true"
    return mounted(
        f"mount -t tmpfs none /mnt; mkdir /mnt/home; mount --bind {shlex.quote(str(home))} /mnt/home\n"
        "mount -o remount,ro,bind /mnt/home; mount -t tmpfs -o size=256k none /tmp\n"
        f"mount -t tmpfs -o size=256k none /var/tmp; {full if fill else ''}"
    )


def test_without_room_for_a_copy_of_the_log_it_says_what_to_do(home: Path) -> None:
    left_in_the_log(home)
    [refused] = called(crammed(home, fill=False), "/mnt/home", ["list"])
    assert refused.code == 1 and "catalog.sqlite-wal" in refused.err, refused
    assert (
        "Set the environment variable TMPDIR to a folder with 2 MB of free space." in refused.err
        and "/tmp (0 MB free)" in refused.err
    )


def test_without_room_for_a_copy_of_the_index_words_find_the_pages_and_the_result_says_so(home: Path) -> None:
    result, listed, doctor = called(crammed(home, fill=True), "/mnt/home", *READS[:2], ["doctor"])
    assert result.code == listed.code == 0 and result.json["results"][0]["doc_name"] == "mill.md"
    [note] = [note for note in result.json["notes"] if "the search index lacks" in note]
    assert "lacks 2 pages" in note and "needs" in note and "MB in a temporary folder" in note
    assert "Set the environment variable TMPDIR" in result.err
    assert doctor.code == 1 and "MB in a temporary folder" in doctor.out


READER = """
import sys
from hybrid_pageindex import Engine, run
async def work():
    async with Engine(sys.argv[1]) as engine:
        for question in sys.stdin:
            found = await engine.search(question)
            names = {page.doc_name for page in found.results}
            print(sorted(names), flush=True)
run(work())
"""


@pytest.mark.parametrize("open_before", [False, True])
def test_what_another_process_publishes_meanwhile_is_found(open_before: bool, home: Path, tmp_path: Path) -> None:
    """A container often has a home mounted read-only that its host writes."""
    (tmp_path / "lock.md").write_text("# The lock\n\nThe lock of Alster was opened by the duke.\n")
    engine = Engine(home)
    if open_before:
        run(engine.libraries.list())
    reader = subprocess.Popen(
        [*read_only(home), sys.executable, "-c", READER, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert reader.stdin and reader.stdout
    with reader:
        for question, expected in (("duke of Alster", False), ("duke of Alster", True)):
            reader.stdin.write(f"{question}\n")
            reader.stdin.flush()
            assert ("lock.md" in reader.stdout.readline()) is expected
            if not expected:
                run(engine.index([tmp_path / "lock.md"], workers=1))
                engine.close()
        reader.stdin.close()


def test_the_first_write_goes_through_once_a_full_disk_has_room(home: Path, tmp_path: Path) -> None:
    script = """
import json, os, sys
from hybrid_core.errors import DiskFullError
from hybrid_pageindex import Engine, run
async def work():
    async with Engine(sys.argv[1] + "/home") as engine:
        told = [engine.read_only]
        try:
            await engine.libraries.create("new")
        except DiskFullError as error:
            told.append(str(error))
        os.unlink(sys.argv[1] + "/fill")
        await engine.libraries.create("new")
        told += [engine.read_only, len(await engine.libraries.named())]
        print(json.dumps(told))
run(work())
"""
    disk = tmp_path / "disk"
    done = subprocess.run(
        [*full_disk(home, disk), sys.executable, "-c", script, str(disk)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    reason, refused, *after = json.loads(done.stdout)
    assert "disk is full" in reason and "Free some space" in refused and after == ["", 2]


def test_a_disk_that_fills_while_a_home_is_open_ends_no_read(home: Path, tmp_path: Path) -> None:
    script = """
import json, subprocess, sys
from pathlib import Path
from hybrid_pageindex import Engine, run
disk = Path(sys.argv[1])
fill = f"fallocate -l 150m {disk}/fill; cat /dev/zero >> {disk}/fill"
async def first(engine, question):
    found = await engine.search(question)
    return found.results[0].doc_name
async def work():
    async with Engine(disk / "home") as engine:
        told = [await first(engine, "the price of the mill")]
        (disk / "lock.md").write_text("# The lock\\n\\nThe lock of Alster was opened by the duke.\\n")
        await engine.index([disk / "lock.md"], workers=1)
        subprocess.run(fill, shell=True, stderr=subprocess.DEVNULL)
        told += [await first(engine, "duke of Alster"), await first(engine, "the price of the mill")]
        pictures = [await engine.pictures.page("mill.md", 1), await engine.pictures.page("weir.md", 1)]
        told += [min(map(len, pictures)) > 1000, len(await engine.documents.list())]
        other = [sys.executable, "-m", "hybrid_pageindex", "search", "duke of Alster", "--home", str(disk / "home")]
        told.append("lock.md" in subprocess.run(other, capture_output=True, text=True).stdout)
        print(json.dumps(told))
run(work())
"""
    disk = tmp_path / "disk"
    done = subprocess.run(
        [*full_disk(home, disk, fill=False), sys.executable, "-c", script, str(disk)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["mill.md", "lock.md", "mill.md", True, 3, True]
    assert done.stderr.count("cannot store") == 1, done.stderr


def test_a_full_disk_ends_no_read_and_harms_nothing(home: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    (tmp_path / "lock.md").write_text("# The lock\n\nThe lock of Alster was opened by the duke.\n")
    before = full_disk(home, disk)
    *read, image, doctor, refused, emptied, indexed, again, sound = called(
        before, disk / "home", *READS, ["page", "mill.md", "1", "--image", str(tmp_path / "page.png")], ["doctor"],
        ["index", str(tmp_path / "lock.md")], ["!rm", str(disk / "fill")], ["index", str(tmp_path / "lock.md")],
        ["search", "duke of Alster", "--json"], ["doctor"],
    )  # fmt: skip
    assert [call.code for call in (*read, image)] == [0] * 6, (*read, image)
    result = read[0].json
    assert result["results"][0]["doc_name"] == "mill.md" and any("disk is full" in note for note in result["notes"])
    assert "disk is full" in read[0].err and read[0].err.count("\n") == 1
    assert doctor.code == 1 and "Free some space" in doctor.out
    assert refused.code == 1 and "Free " in refused.err
    assert emptied.code == indexed.code == 0, (indexed, sound)
    assert "3 documents, 3 pages; vector index complete" in sound.out
    assert again.json["results"][0]["doc_name"] == "lock.md" and not again.json["notes"] and not again.err
