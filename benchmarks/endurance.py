"""Nothing a person made is lost, and no process ends: kills, flipped bytes and restored backups, many times.

    python -m benchmarks endurance kills [--times 1000] [--seed N]
    python -m benchmarks endurance flips [--times 200] [--seed N] [--file NAME]
    python -m benchmarks endurance restores [--times 20] [--seed N]

``kills`` ends workers and commands with kill -9 while they index a folder that changes. ``flips`` changes one byte of
each stored file, ``--times`` times a file, and then searches, reads and checks a copy of the home (set TMPDIR to a
disk in memory). ``restores`` puts a backup back in place, and beside a home that goes on, after random changes. Rows
that people made are compared whole: one that a flip turned into another sound one counts as "altered", since SQLite
keeps no checksums. Prints one line of JSON for each part. The exit code is 1 where something was lost, ended a
process or took more than a minute of the processor, or where an index with a wrong byte found something else.
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
    """Kill workers and commands. Raises AssertionError where a published page is gone or empty, or a job is left."""
    with scripted_server(answer) as model:
        killing = Killing(folder / "home", mixed_folder(folder / "files"), model, seed)
        killing.run(times)
        killing.finish()
        killed, repeated = killing.killed.total(), killing.repeated()
    return {"part": "kills", "killed": killed, "calls_repeated": repeated, "ok": repeated <= AT_ONCE * killed}


def flips(folder: Path, times: int, seed: int, only: str) -> dict[str, Any]:
    """Flip one byte of a copy, look at everything, and recover what was damaged; count what became of it.

    Half of the copies are of a home whose last process was killed after a write. This process opens no home itself: a
    forked child must not inherit the locks of threads that it lacks.
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
    """Fill two homes, of which the last process was closed and killed; return what each question finds in each."""
    homes = [folder / "closed", folder / "killed"]
    expected, modules = json.loads(in_child(partial(_filled, homes[0], folder / "files")))
    for module in modules:  # once, and not in each child
        with suppress(ImportError):
            importlib.import_module(module)
    restore(homes[0], homes[1])
    in_child(partial(_killed, homes[1], folder / "killed.json"))
    return homes, [expected, json.loads((folder / "killed.json").read_text())]


def restore(source: Path, target: Path) -> None:
    """Copy a folder with its holes and the times of its files in the place of another one."""
    shutil.rmtree(target, ignore_errors=True)
    copy_shard(source, target)
    for path in source.rglob("*"):
        shutil.copystat(path, target / path.relative_to(source))


def restores(folder: Path, times: int, seed: int) -> dict[str, Any]:
    """Restore backups in place and beside; each finds what it found when it was made, and the other stays."""
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
    """Return what ``work`` returned in a process of its own: "died" with the signal, or "hung" with where it stood.

    It may take a minute of the processor, and ten by the clock, since other programs may keep it waiting.
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
    """Fill a home. Return what each question finds there, and the modules that this takes."""
    fill(home, files)
    with closing(Engine(home)) as engine:
        run(engine.admin.doctor())
        return json.dumps([_search(engine, _LIBRARIES), [name for name in sys.modules if "__" not in name]])


def _killed(home: Path, file: Path) -> str:
    """Write to the index of a home, note what each question finds, and end this process while it has the index open."""
    engine = Engine(home)
    for library in _LIBRARIES:
        run(engine.index(pdfs.numbered(file.with_suffix(".pdf"), 3, "harbour 4 curlew"), library=library))
        engine._indexes().ready(library)
    file.write_text(json.dumps(_search(engine, _LIBRARIES)))
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


def _looked_at(home: Path, expected: Found, before: Rows, name: Path) -> str:
    """Search, read and check a home of which one byte is another; recover it where it says that it is damaged."""
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
    """Return the rows of what people made, whole; none of a table that cannot be read."""
    rows: Rows = {name: Counter() for name in MADE_ONCE}
    with closing(sqlite3.connect(home / CATALOG)) as catalog:
        catalog.text_factory = bytes
        for name in MADE_ONCE:
            with suppress(sqlite3.DatabaseError):
                rows[name] = Counter(catalog.execute(f"SELECT * FROM {name}").fetchall())
    return rows


def blocks_of(path: Path) -> list[int]:
    """Return where there is more than zeros in a file: few of the bytes of an index are used."""
    if not path.exists():
        return []
    with path.open("rb") as stream:
        blocks = iter(partial(stream.read, BLOCK), b"")
        return [number * BLOCK for number, block in enumerate(blocks) if block.strip(b"\0")] or [0]


def flip(path: Path, place: int, bit: int) -> int:
    """Change one bit as a disk does, which leaves the times of the file; return the place, which is within it."""
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
    """Return the places and scores that each question finds in each library."""
    pages = [
        engine.search_now(question, library=library, effort="fast", expert="none").results
        for library in libraries
        for question in _QUESTIONS
    ]
    return [[[page.doc_name, page.page, page.score] for page in results] for results in pages]


def _change(home: Path, files: Path, choose: random.Random, number: int) -> None:
    """Index a file, and now and then remove one, edit one, or write a note."""
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
