"""The engine where POSIX is missing: modules import, files are locked, a document is indexed, found and recovered.

``tests/windows/sitecustomize.py`` takes from Python what Windows lacks, also in the processes that a test starts. What
it cannot imitate is named in docs/lab/platforms.md.
"""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hybrid_core import system
from hybrid_core.store import home as homes
from hybrid_core.store.home import library_folder, safe_name
from hybrid_core.store.index.edge.folders import allocated_bytes
from hybrid_pageindex.sample import main as write_sample

WINDOWS = Path(__file__).parent.parent / "windows"
ROOT = WINDOWS.parent.parent
ROOMS = ("hybrid_core", "indexers", "retrievers", "hybrid_pageindex", "eval")


def windows(home: Path) -> dict[str, str]:
    return os.environ | {
        "PYTHONPATH": f"{WINDOWS}{os.pathsep}{ROOT}", "LOOK_LIKE_WINDOWS": "1", "PAGEINDEX_STORAGE_PATH": str(home),
        "USERNAME": "Jo Doe",
    }  # fmt: skip


def on_windows(*command: str, home: Path) -> subprocess.CompletedProcess[str]:
    whole = [sys.executable, "-P", *command]
    return subprocess.run(whole, capture_output=True, text=True, timeout=600, env=windows(home))


def test_every_module_imports(tmp_path: Path) -> None:
    names = [
        module.name
        for room in ROOMS
        for module in pkgutil.walk_packages([str(ROOT / room)], f"{room}.")
        if not module.name.endswith("__main__") and module.name != "hybrid_pageindex.dispatcher"
    ]
    assert len(names) > 300
    script = (
        f"import importlib, sys\nfor name in {names!r}:\n    importlib.import_module(name)\nprint(len(sys.modules))"
    )
    done = on_windows("-c", script, home=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_document_is_indexed_found_and_recovered(tmp_path: Path) -> None:
    home, documents = tmp_path / "home", tmp_path / "documents"
    documents.mkdir()
    assert write_sample([str(documents / "sample.pdf")]) == 0
    (documents / "note.txt").write_text("The deposit is 400 euros.\n")
    command = ("-m", "hybrid_pageindex")
    for _ in range(2):  # the second writes the index that the first made
        done = on_windows(*command, "index", str(documents), home=home)
        assert done.returncode == 0, done.stderr
        (documents / "more.md").write_text("# Fees\n\nThe fee is 12 euros.\n")
    question = "What was the capital expenditure in fiscal 2025?"
    done = on_windows(*command, "search", question, "--json", home=home)
    assert done.returncode == 0, done.stderr
    assert 13 in [hit["page"] for hit in json.loads(done.stdout)["results"]]
    done = on_windows(*command, "grep", "euros", "--json", home=home)
    assert done.returncode == 0 and len(json.loads(done.stdout)["pages"]) == 2, done.stderr
    with (home / "catalog.sqlite").open("r+b") as catalog:
        catalog.write(b"no catalog")
    done = on_windows(*command, "recover", "--json", home=home)
    assert done.returncode in (0, 1) and "damaged" in done.stdout, done.stderr
    done = on_windows(*command, "search", question, "--json", home=home)
    assert done.returncode == 0 and json.loads(done.stdout)["results"], done.stderr
    done = on_windows(*command, "doctor", home=home)
    assert done.returncode == 0, done.stdout


def test_an_agent_is_served_and_ended(tmp_path: Path) -> None:
    requests = [
        {"id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "0"},
        }},
        {"id": 2, "method": "tools/list", "params": {}},
    ]  # fmt: skip
    lines = "".join(json.dumps({"jsonrpc": "2.0", **request}) + "\n" for request in requests)
    command = [sys.executable, "-P", "-m", "hybrid_pageindex", "mcp", "--root", str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=windows(tmp_path / "home")
    ) as server:
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(lines)
        server.stdin.flush()
        replies = {json.loads(server.stdout.readline())["id"] for _ in requests}
        server.stdin.close()
        assert replies == {1, 2} and server.wait(60) == 0


_SLOW = """
import sys, time
from indexers.workers.protocol import end_after, ended
end_after(0.2)
end_after(0)      # called off
time.sleep(0.4)
end_after(0.2)
time.sleep(30)
"""


def test_a_slow_page_ends_its_process_by_the_clock(tmp_path: Path) -> None:
    done = on_windows("-c", _SLOW, home=tmp_path)
    check = on_windows(
        "-c", f"from indexers.workers.protocol import ended; print(ended({done.returncode}))", home=tmp_path
    )
    assert check.stdout == "True\n", (done, check.stderr)


_LOCKS = """
import os, sys
from pathlib import Path
from hybrid_core.store.home import check_not_recovering, lock_for_recovery
from hybrid_core.store.index.edge.folders import FolderLock
from hybrid_core.errors import BusyError
home, other = Path(sys.argv[1]), sys.argv[2:]
if other:
    lock = FolderLock(home / "owner.lock")
    print(lock.acquire())
    try:
        check_not_recovering(home)
        print(True)
    except BusyError:
        print(False)
else:
    import subprocess
    with lock_for_recovery(home) as alone:
        lock = FolderLock(home / "owner.lock")
        assert alone and lock.acquire()
        print(subprocess.run([sys.executable, "-P", "-c", Path(home, "script").read_text(), str(home), "other"],
                             capture_output=True, text=True).stdout.split())
        lock.release()
    print(subprocess.run([sys.executable, "-P", "-c", Path(home, "script").read_text(), str(home), "other"],
                         capture_output=True, text=True).stdout.split())
"""


def test_locks_hold_between_processes(tmp_path: Path) -> None:
    (tmp_path / "script").write_text(_LOCKS)
    done = on_windows("-c", _LOCKS, str(tmp_path), home=tmp_path)
    assert done.stdout.splitlines() == ["['False', 'False']", "['True', 'True']"], done.stderr


def test_a_file_that_somebody_reads_is_replaced_a_moment_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fresh").write_text("new")
    (tmp_path / "target").write_text("old")
    real, refusals = Path.replace, [PermissionError(13, "in use")] * 3

    def replace(self: Path, target: Path) -> Path:
        if refusals:
            raise refusals.pop()
        return real(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(PermissionError):
        system.replace_file(tmp_path / "fresh", tmp_path / "target")
    monkeypatch.setattr(system, "POSIX", False)
    system.replace_file(tmp_path / "fresh", tmp_path / "target")
    assert (tmp_path / "target").read_text() == "new" and not refusals
    refusals.extend([PermissionError(13, "in use")] * 10_000)
    (tmp_path / "fresh").write_text("newer")
    monkeypatch.setattr(system, "_OPEN_ELSEWHERE", 0.1)
    began = time.monotonic()
    with pytest.raises(PermissionError):
        system.replace_file(tmp_path / "fresh", tmp_path / "target")
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(
    "name", ["CON", "con", "nul.txt", "Com1", "lpt9 ", "aux .md", "ends.", "ends ", "a:b", "Ü", "A/b"]
)
def test_names_of_libraries_are_names_of_folders_elsewhere(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(homes.sys, "platform", "win32")
    folder = library_folder(Path("home"), name).name
    assert not set(folder) & set('<>:"/\\|?*') and folder[-1] not in ". "
    assert folder.partition(".")[0].strip().upper() not in {"CON", "NUL", "COM1", "LPT9", "AUX", "PRN"}
    assert folder.upper() != library_folder(Path("home"), name.swapcase()).name.upper() or name == name.swapcase()
    monkeypatch.setattr(homes.sys, "platform", "linux")
    assert library_folder(Path("home"), "Reports").name == "Reports", "homes on Linux stay as they are"


def test_no_two_names_become_one() -> None:
    from urllib.parse import quote

    names = ["con", "CON", "Con", "%63on", "a", "A", "%41", "a.", "a%2E", "a ", "é", "É", "com1.txt", "COM1.txt"]
    folders = {safe_name(quote(name, safe=" ")).upper() for name in names}
    assert len(folders) == len(names)


def test_a_file_to_be_read_only_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "original"
    file.write_text("x")
    file.chmod(0o400)
    real = Path.unlink

    def unlink(self: Path, missing_ok: bool = False) -> None:
        if self.exists() and not self.stat().st_mode & 0o200:
            raise PermissionError(13, "read-only")
        real(self, missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink)
    monkeypatch.setattr(system, "POSIX", False)
    system.remove_file(file)
    system.remove_file(file)
    assert not file.exists()


def test_sizes_count_where_no_blocks_are_counted(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 5000)
    assert 5000 <= allocated_bytes(tmp_path) <= 5000 + (1 << 16)
