"""Check that no user data is lost and no process crashes, after many kills, flipped bits and restored backups.

    python -m benchmarks endurance kills [--times 1000] [--seed N]
    python -m benchmarks endurance flips [--times 200] [--seed N] [--file NAME]
    python -m benchmarks endurance restores [--times 20] [--seed N]

- ``kills`` ends workers and commands with SIGKILL while they index a changing folder.
- ``flips`` flips one bit of a stored file, ``--times`` times for each file. It then searches, reads and checks a copy
  of the home. Set TMPDIR to a disk in memory.
- ``restores`` makes random changes and then restores a backup, both in place and into a second home.

Rows that people created, such as notes, are compared as a whole. SQLite keeps no checksums, so a flip can turn a row
into another valid row; such a row counts as "altered". The benchmark prints one line of JSON for each part. It exits
with 1 if data was lost, a process crashed, or a damaged index returned other results. It also does if an operation took
more than a minute of processor time.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import json
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

from hybrid_core.errors import PageIndexError
from hybrid_core.store.home import CATALOG
from hybrid_core.store.index.edge.folders import copy_shard
from hybrid_core.store.recovery.recovery import recover_catalog
from hybrid_pageindex import Engine, run
from tests import pdfs
from tests.doubles.scripted_server import scripted_server
from tests.hybrid_pageindex.recovery.damaged_homes import MADE_ONCE, fill
from tests.interfaces.killing import AT_ONCE, Killing, answer, mixed_folder

_MOST_SECONDS = 60
_LIBRARIES = ("default", "second")
BLOCK = 64  # bytes
UNIQUE = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")  # the name of a segment
_BAD = ("lost", "died", "hung", "error")
_QUESTIONS = ("harbour 1 page 3", "curlew 2", "Which heron is grey?")

Found = list[list[list[str | int | float]]]
Rows = dict[str, Counter[tuple[object, ...]]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("kills", "flips", "restores"))
    parser.add_argument("--times", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--file", help="of flips: only files whose path below the home holds this")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if args.part == "kills":
            figures = kills(Path(folder), args.times or 1000, args.seed)
        elif args.part == "flips":
            figures = flips(Path(folder), args.times or 200, args.seed, args.file or "")
        else:
            figures = restores(Path(folder), args.times or 20, args.seed)
    print(json.dumps(figures))
    return 0 if figures["ok"] else 1


def kills(folder: Path, times: int, seed: int) -> dict[str, Any]:
    """Kill workers and commands while they index. Raise AssertionError if a published page is lost or a job never
    ends.
    """
    with scripted_server(answer) as model:
        killing = Killing(folder / "home", mixed_folder(folder / "files"), model, seed)
        killing.run(times)
        killing.finish()
        killed, repeated = killing.killed.total(), killing.repeated()
    return {"part": "kills", "killed": killed, "calls_repeated": repeated, "ok": repeated <= AT_ONCE * killed}


def flips(folder: Path, times: int, seed: int, only: str) -> dict[str, Any]:
    """Flip one bit in each of many copies of a home, check the copies, and count the outcomes.

    Copies that report damage are recovered. Half of the copies come from a home whose last process was killed after a
    write. This process opens no home itself: a forked child would inherit the locks of threads that it does not have.
    """
    homes, expected = fill_homes(folder)
    copy = folder / "copy"
    before = [_made_once(home) for home in homes]
    outcomes: dict[str, Counter[str]] = {}
    bad = 0
    for path in sorted(path for path in homes[0].rglob("*") if path.is_file() and path.stat().st_size):
        name = path.relative_to(homes[0])
        if only not in str(name):
            continue
        count = outcomes[str(name)] = Counter[str]()
        choose = random.Random(f"{seed} {UNIQUE.sub('', str(name))}")
        blocks = [blocks_of(home / name) for home in homes]
        for number in range(times):
            home = number % 2 if blocks[1] else 0
            restore(homes[home], copy)
            place, bit = choose.choice(blocks[home]) + choose.randrange(BLOCK), choose.randrange(8)
            place = flip(copy / name, place, bit)
            outcome = in_child(partial(_looked_at, copy, expected[home], before[home], name))
            kind = outcome.partition(":")[0]
            count[kind] += 1
            if kind in _BAD or (kind == "another result" and name.name != CATALOG):
                bad += 1
                where = f"{homes[home].name}/{name} byte {place} bit {bit}"
                print(f"{where}: {outcome}", file=sys.stderr, flush=True)
        print(f"{name}: {dict(count)}", file=sys.stderr, flush=True)
    total = sum(outcomes.values(), Counter())
    return {"part": "flips", "files": len(outcomes), "flips": total.total(), "outcomes": dict(total), "bad": bad,
            "ok": not bad}  # fmt: skip


def fill_homes(folder: Path) -> tuple[list[Path], list[Found]]:
    """Create two homes with equal documents, and return each question's results in each home.

    The first home is closed properly; the last process of the second is killed.
    """
    homes = [folder / "closed", folder / "killed"]
    expected, modules = json.loads(in_child(partial(_filled, homes[0], folder / "files")))
    for module in modules:  # once, and not in each child
        with suppress(ImportError):
            importlib.import_module(module)
    restore(homes[0], homes[1])
    in_child(partial(_killed, homes[1], folder / "killed.json"))
    return homes, [expected, json.loads((folder / "killed.json").read_text())]


def restore(source: Path, target: Path) -> None:
    """Replace ``target`` with a copy of the folder ``source``, keeping sparse files and modification times."""
    shutil.rmtree(target, ignore_errors=True)
    copy_shard(source, target)
    for path in source.rglob("*"):
        shutil.copystat(path, target / path.relative_to(source))


def restores(folder: Path, times: int, seed: int) -> dict[str, Any]:
    """Restore backups, alternately in place and into a second home, and check the results.

    A restored home must return the results of the time of the backup. Restoring a second home must not change the
    first.
    """
    choose, wrong = random.Random(seed), 0
    home, backup, files = folder / "home", folder / "backup", folder / "files"
    files.mkdir()
    for number in range(times):
        _change(home, files, choose, number)
        with closing(Engine(home)) as engine:
            expected = _search(engine)
        _back_up(home, backup)
        for more in range(choose.randint(0, 3)):
            _change(home, files, choose, 1000 * number + more)
        if number % 2:
            trial_home = folder / f"beside-{number}"
            shutil.copytree(backup, trial_home)
            with closing(Engine(home)) as going_on, closing(Engine(trial_home)) as trial:
                goes_on = _search(going_on)
                wrong += _search(trial) != expected or not run(trial.admin.doctor(deep=True)).ok
                wrong += _search(going_on) != goes_on or not run(going_on.admin.doctor(deep=True)).ok
            shutil.rmtree(trial_home)
        else:
            for name in (CATALOG, f"{CATALOG}-wal", f"{CATALOG}-shm"):
                (home / name).unlink(missing_ok=True)
            shutil.copytree(backup, home, dirs_exist_ok=True)
            with closing(Engine(home)) as engine:
                wrong += _search(engine) != expected or not run(engine.admin.doctor(deep=True)).ok
    return {"part": "restores", "restored": times, "wrong": wrong, "ok": not wrong}


def in_child(work: Callable[[], str]) -> str:
    """Run ``work`` in a child process and return its result, "died" with the signal, or "hung" with the stack.

    ``work`` may take a minute of processor time and ten minutes of wall time, since other programs may slow it down.
    """
    with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as stacks:
        child = os.fork()
        if not child:
            os.dup2(stacks.fileno(), 2)
            faulthandler.enable(stacks, all_threads=True)
            faulthandler.dump_traceback_later(10 * _MOST_SECONDS - 5, file=stacks)
            faulthandler.register(signal.SIGXCPU, stacks, chain=True)
            resource.setrlimit(resource.RLIMIT_CPU, (_MOST_SECONDS, _MOST_SECONDS + 5))
            try:
                outcome = work()
            except BaseException as error:  # noqa: BLE001 - whatever ends it is the outcome
                outcome = f"error: {error!r} {traceback.format_exc()[-600:]}"
            os.pwrite(answer.fileno(), outcome.encode(), 0)
            os._exit(0)
        until = time.monotonic() + 10 * _MOST_SECONDS
        while not (status := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < until:
            time.sleep(0.002)
        if not status[0]:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        outcome = os.pread(answer.fileno(), 1 << 20, 0).decode()
        where = os.pread(stacks.fileno(), 4000, 0).decode(errors="replace")
    if not status[0]:
        return f"hung: {where}"
    return outcome or f"died: {os.waitstatus_to_exitcode(status[1])} {where}"


def _filled(home: Path, files: Path) -> str:
    """Fill a home. Return the results of each question, and the names of the modules that were imported for this."""
    fill(home, files)
    with closing(Engine(home)) as engine:
        run(engine.admin.doctor())
        return json.dumps([_search(engine, _LIBRARIES), [name for name in sys.modules if "__" not in name]])


def _killed(home: Path, file: Path) -> str:
    """Write to a home's index, record the results of each question, and kill this process while the index is open."""
    engine = Engine(home)
    for library in _LIBRARIES:
        run(engine.index(pdfs.numbered(file.with_suffix(".pdf"), 3, "harbour 4 curlew"), library=library))
        engine._indexes().ready(library)
    file.write_text(json.dumps(_search(engine, _LIBRARIES)))
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


def _looked_at(home: Path, expected: Found, before: Rows, name: Path) -> str:
    """Search, read and check a home that has one flipped bit. Return the outcome.

    If the home reports damage, recover it.
    """
    report, same, thorough = "", False, name.name == CATALOG
    try:
        with closing(Engine(home)) as engine:
            same = _search(engine, _LIBRARIES) == expected
            if (not same or thorough) and not run(engine.admin.doctor(deep=thorough)).ok:
                report = "doctor"
            same = same or _search(engine, _LIBRARIES) == expected
    except PageIndexError as error:
        report = str(error)
    if report:
        recover_catalog(home)
        with closing(Engine(home)) as engine:  # raises where it is still damaged
            _search(engine, _LIBRARIES)
    after = _made_once(home)
    lost = [name for name in MADE_ONCE if after[name].total() < before[name].total()]
    if lost and not report:
        return f"lost: rows of {', '.join(lost)} without a word"
    altered = [name for name in MADE_ONCE if before[name] - after[name]]
    if altered and not report:
        return f"altered: a value of {', '.join(altered)}"  # SQLite keeps no checksums: a text with another letter
    if report:
        return "told, recovered in part" if lost else "told, recovered"
    return "as before" if same else "another result"


def _made_once(home: Path) -> Rows:
    """Return all rows of data that people created, such as notes, by table.

    A table that cannot be read has no rows.
    """
    rows: Rows = {name: Counter() for name in MADE_ONCE}
    with closing(sqlite3.connect(home / CATALOG)) as catalog:
        catalog.text_factory = bytes
        for name in MADE_ONCE:
            with suppress(sqlite3.DatabaseError):
                rows[name] = Counter(catalog.execute(f"SELECT * FROM {name}").fetchall())
    return rows


def blocks_of(path: Path) -> list[int]:
    """Return the offsets of the blocks of a file that are not all zeros. Most of an index file is zeros."""
    if not path.exists():
        return []
    with path.open("rb") as stream:
        blocks = iter(partial(stream.read, BLOCK), b"")
        return [number * BLOCK for number, block in enumerate(blocks) if block.strip(b"\0")] or [0]


def flip(path: Path, place: int, bit: int) -> int:
    """Flip one bit of a file without changing its modification time, and return the offset of the changed byte."""
    status = path.stat()
    place = min(place, status.st_size - 1)
    with path.open("r+b") as stream:
        stream.seek(place)
        byte = stream.read(1)[0]
        stream.seek(place)
        stream.write(bytes([byte ^ (1 << bit)]))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    return place


def _search(engine: Engine, libraries: Sequence[str] = ("default",)) -> Found:
    """Search for each question in each library, and return the result pages with their scores."""
    pages = [
        engine.search_now(question, library=library, effort="fast", expert="none").results
        for library in libraries
        for question in _QUESTIONS
    ]
    return [[[page.doc_name, page.page, page.score] for page in results] for results in pages]


def _change(home: Path, files: Path, choose: random.Random, number: int) -> None:
    """Index a file. At random, also remove a document, edit one, or write a note."""
    with closing(Engine(home)) as engine:
        path = pdfs.numbered(files / f"{choose.randrange(12):02}.pdf", choose.randint(1, 5), f"harbour {number}")
        run(engine.index(path))
        documents = run(engine.documents.list())
        document = choose.choice(documents)
        if choose.random() < 0.3 and len(documents) > 2:
            run(engine.documents.remove([document.name]))
        elif choose.random() < 0.5:
            run(engine.documents.edit(document.name, set={"title": f"Curlew {number}"}))
        else:
            engine.notes.add("default", "ann", f"Note {number}", "text", document.doc_id, 1)


def _back_up(home: Path, backup: Path) -> None:
    shutil.rmtree(backup, ignore_errors=True)
    backup.mkdir()
    with closing(sqlite3.connect(home / CATALOG)) as catalog:
        catalog.execute("VACUUM INTO ?", (str(backup / CATALOG),))
    if (home / "originals").exists():
        shutil.copytree(home / "originals", backup / "originals")


if __name__ == "__main__":
    sys.exit(main())
