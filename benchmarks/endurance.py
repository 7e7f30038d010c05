"""Nothing a person made is lost, and no process ends: kills, flipped bytes and restored backups, many times.

    python -m benchmarks endurance kills [--times 1000] [--seed N]
    python -m benchmarks endurance flips [--times 200] [--seed N] [--file NAME]
    python -m benchmarks endurance restores [--times 20] [--seed N]

``kills`` ends workers and commands with kill -9 while they index a folder that changes. ``flips`` changes one byte of
each stored file, ``--times`` times a file, and then searches, reads and checks a copy of the home. ``restores`` puts a
backup back in place, and beside a home that goes on, after random changes. Rows that people made are compared whole:
one that a flip turned into another sound one counts as "altered", since SQLite keeps no checksums. Prints one line of
JSON for each part; exit code 1 where something was lost, ended a process, or took more than a minute.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

from hybrid_core.errors import PageIndexError
from hybrid_core.store.home import CATALOG
from hybrid_core.store.recovery.recover import recover_catalog
from hybrid_pageindex import Engine, run
from tests import pdfs
from tests.doors.killing import AT_ONCE, Killing, answer, mixed_folder
from tests.doubles.scripted_server import scripted_server
from tests.hybrid_pageindex.recovery.damaged_homes import MADE_ONCE, fill

_MOST_SECONDS = 60.0
_QUESTIONS = ("harbour 1 page 3", "curlew 2", "Which heron is grey?")

Found = list[list[tuple[str, int, float]]]
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
    """Flip one byte of a copy, look at everything, and recover what was damaged; count what became of it."""
    home = folder / "home"
    fill(home, folder / "files")
    with closing(Engine(home)) as engine:
        expected = _search(engine)
    before = _made_once(home)
    names = sorted(path.relative_to(home) for path in home.rglob("*") if path.is_file() and path.stat().st_size)
    outcomes: dict[str, Counter[str]] = {}
    choose, bad = random.Random(seed), 0
    for name in [name for name in names if only in str(name)]:
        outcomes[str(name)] = Counter()
        for _ in range(times):
            copy = folder / "copy"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(home, copy)
            place = _flip(copy / name, choose)
            outcome = in_child(partial(_looked_at, copy, expected, before, thorough=name.name == CATALOG))
            outcomes[str(name)][outcome.partition(":")[0]] += 1
            if outcome.partition(":")[0] in ("lost", "died", "hung", "error"):
                bad += 1
                print(f"{name} at {place}: {outcome}", file=sys.stderr, flush=True)
        print(f"{name}: {dict(outcomes[str(name)])}", file=sys.stderr, flush=True)
    total = sum(outcomes.values(), Counter())
    return {"part": "flips", "files": len(outcomes), "outcomes": dict(total), "ok": not bad}


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
                wrong += _search(trial) != expected or not run(trial.doctor(deep=True)).ok
                wrong += _search(going_on) != goes_on or not run(going_on.doctor(deep=True)).ok
            shutil.rmtree(trial_home)
        else:
            for name in (CATALOG, f"{CATALOG}-wal", f"{CATALOG}-shm"):
                (home / name).unlink(missing_ok=True)
            shutil.copytree(backup, home, dirs_exist_ok=True)
            with closing(Engine(home)) as engine:
                wrong += _search(engine) != expected or not run(engine.doctor(deep=True)).ok
    return {"part": "restores", "restored": times, "wrong": wrong, "ok": not wrong}


def in_child(work: Callable[[], str]) -> str:
    """Return what ``work`` returned in a process of its own: «died» with the signal, or «hung» after a minute."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            outcome = work()
        except BaseException as error:  # noqa: BLE001 - whatever ends it is the outcome
            outcome = f"error: {error!r} {traceback.format_exc()[-600:]}"
        os.write(writing, outcome.encode()[:4000])
        os._exit(0)
    os.close(writing)
    until = time.monotonic() + _MOST_SECONDS
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reading)
            return "hung"
        time.sleep(0.005)
    with os.fdopen(reading, "rb") as stream:
        outcome = stream.read().decode()
    return outcome or f"died: {os.waitstatus_to_exitcode(ended[1])}"


def _looked_at(home: Path, expected: Found, before: Rows, *, thorough: bool) -> str:
    """Search, read and check a home of which one byte is another; recover it where it says that it is damaged."""
    report = ""
    try:
        with closing(Engine(home)) as engine:
            same = _search(engine) == expected
            if (not same or thorough) and not run(engine.doctor(deep=True)).ok:
                report = "doctor"
            same = same or _search(engine) == expected
    except PageIndexError as error:
        report, same = str(error), False
    if report:
        recover_catalog(home)
        with closing(Engine(home)) as engine:  # raises where it is still damaged
            _search(engine)
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


def _flip(path: Path, choose: random.Random) -> int:
    place = choose.randrange(path.stat().st_size)
    with path.open("r+b") as stream:
        stream.seek(place)
        byte = stream.read(1)[0]
        stream.seek(place)
        stream.write(bytes([byte ^ (1 << choose.randrange(8))]))
    return place


def _search(engine: Engine) -> Found:
    """Return the places and scores that each question finds."""
    pages = [engine.search_now(question, effort="fast").results for question in _QUESTIONS]
    return [[(page.doc_name, page.page, page.score) for page in results] for results in pages]


def _change(home: Path, files: Path, choose: random.Random, number: int) -> None:
    """Index a file, and now and then remove one, edit one, or write a note."""
    with closing(Engine(home)) as engine:
        path = pdfs.numbered(files / f"{choose.randrange(12):02}.pdf", choose.randint(1, 5), f"harbour {number}")
        run(engine.index(path))
        documents = run(engine.documents())
        document = choose.choice(documents)
        if choose.random() < 0.3 and len(documents) > 2:
            run(engine.remove([document.name]))
        elif choose.random() < 0.5:
            run(engine.edit(document.name, set={"title": f"Curlew {number}"}))
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
