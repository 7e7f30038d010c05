"""Check that published documents survive random files, random calls, kills and system faults.

    python -m benchmarks fuzz [--seconds 60 | --rounds N] [--seed N] [--part NAME …]

Each round runs one part with its own seed, which is printed if the round fails:

- ``files``: index mutated files of any format, and archives of such files.
- ``calls``: change libraries at random (index, remove, restore, edit, note, back up) and compare with expected results.
- ``requests``: send a server sequences of requests that schemathesis makes, with a token for another library.
- ``stored``: flip, cut, empty or delete a stored file in a copy of the home, then search, check and recover.
- ``kills``: pause, continue and kill a command that indexes.
- ``faults``: index while writes fail with ENOSPC or EIO, or opens fail with EMFILE.
- ``clock``: index while the clock jumps by up to 30 years, kill half of these commands, and index again.

A small library, compiled with ``cc``, injects the errors and the jumps. Without a compiler, these two parts are left
out.

After each round, a search must find every published document, with unchanged text. A message counts as unclear if it
shows a Python error. The benchmark prints one line of JSON and exits with 1 if anything was lost, unclear or hung.
"""

from __future__ import annotations

import argparse
import errno
import hashlib
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from benchmarks.endurance import in_child, restore
from hybrid_core.errors import PageIndexError
from hybrid_core.store.home import CATALOG
from hybrid_core.store.recovery.recovery import recover_catalog
from hybrid_pageindex import Engine, run
from indexers.formats.registry import format_of, formats
from tests import pdfs
from tests.endurance.described import SEQUENCES, describe_seeded, send_described
from tests.indexers.formats import packages
from tests.indexers.formats.test_entities import one_of_each
from tests.interfaces.http.conftest import serving, upload

FAULTS = Path(__file__).parent / "data" / "faults.c"
_BIRDS = ("albatross", "curlew", "dunlin", "heron")
_UNCLEAR = re.compile(r"Traceback|\b[A-Za-z]+(?:Error|Exception)\b(?!\w)|<class |object at 0x")
_PRELOADED = ("faults", "clock")
_SECONDS = 300.0  # by the clock, for one command
_PROGRESS = 10.0  # seconds between two lines of progress

Published = dict[str, tuple[str, str]]
"""By name of a document: its first words, and the hash of all its text."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument("--seconds", type=float, default=60.0)
    limit.add_argument("--rounds", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", action="append", choices=PARTS, default=[])
    options = parser.parse_args()
    counts, bad = Counter[str](), 0
    started = shown = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        fuzz = Fuzz(Path(folder))
        parts = [name for name in options.part or PARTS if name not in _PRELOADED or fuzz.library is not None]
        number = 0
        while number < options.rounds if options.rounds else time.monotonic() - started < options.seconds:
            part, seed = parts[number % len(parts)], f"{options.seed}/{number}"
            outcome = fuzz.round(part, random.Random(f"{seed} {part}"))
            counts[f"{part}: {outcome.partition(':')[0]}"] += 1
            if outcome.partition(":")[0] in ("lost", "unclear", "hung", "died", "error"):
                bad += 1
                print(f"{part} of seed {seed}: {outcome}", file=sys.stderr, flush=True)
            number += 1
            if time.monotonic() - shown >= _PROGRESS:
                shown = time.monotonic()
                of = f" of {options.rounds}" if options.rounds else ""
                print(f"{number}{of} rounds, {bad} bad, {shown - started:.0f} s", file=sys.stderr, flush=True)
    seconds = round(time.monotonic() - started, 1)
    print(json.dumps({"rounds": number, "seconds": seconds, "outcomes": dict(sorted(counts.items())), "bad": bad}))
    return 1 if bad else 0


class Fuzz:
    """The rounds of the benchmark, over a home with published documents.

    Each round copies the home and damages or changes the copy.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.base, self.home = folder, folder / "base", folder / "home"
        self.samples = write_samples(folder / "samples")
        self.sources = [*self.samples, *write_sources(folder / "sources")]
        self.library = build_faults(folder)
        self.published: Published = json.loads(in_child(partial(_fill, self.base, self.samples)))

    def round(self, part: str, choose: random.Random) -> str:
        """Run one round in its own process, and return its outcome.

        The outcome names what the part did, or what was lost, unclear or hung.
        """
        restore(self.base, self.home)
        outcome = in_child(partial(PARTS[part], self, choose))
        if outcome.partition(":")[0] not in ("done", "told"):
            return outcome
        checked = in_child(partial(check, self.home, self.published))
        return outcome if checked == "same" else checked

    def files(self, choose: random.Random) -> str:
        place = self.folder / "mutated"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        for number in range(3):
            source = choose.choice(self.sources)
            mutate_file(source, place / f"{number}-{source.name}", choose)
        if choose.random() < 0.4:
            (place / "archive.bin").write_bytes(mutate(pack(choose.sample(self.sources, 3), choose), choose))
        with closing(Engine(self.home)) as engine:
            report = run(engine.index(place))
            for file in report.files:
                if file.error and _UNCLEAR.search(file.error):
                    return f"unclear: {file.path}: {file.error}"
        return "done"

    def calls(self, choose: random.Random) -> str:
        with closing(Engine(self.home)) as engine:
            return Calls(engine, self, choose).run()

    def requests(self, choose: random.Random) -> str:
        folder = self.folder / "requests"
        folder.mkdir(exist_ok=True)
        with serving(self.home, PAGEINDEX_HTTP_REQUESTS_PER_MINUTE="0") as served:
            with served.client() as owner:
                owner.post("/libraries", json={"name": "other"}).raise_for_status()
                upload(owner, "other", mill="# The mill\n\nThe mill was sold.\n")
                token = owner.post("/tokens", json={"name": "fuzz", "role": "admin", "libraries": ["other"]}).json()
                described = owner.get("/openapi.json").json()
            schema = describe_seeded(described, dict.fromkeys(("library", "model", "vector_store"), "other"))
            done = send_described(
                served.url, token["secret"], folder, schema, SEQUENCES,
                phases="stateful", examples=8, seed=choose.randrange(2**31),
            )  # fmt: skip
            with served.client() as owner:
                alive = owner.get("/health").status_code == 200
        if done.returncode or not alive or any("Traceback" in line for line in served.said):
            return f"unclear: {done.stdout[-3000:]} {''.join(served.said)[-1500:]}"
        return "done"

    def stored(self, choose: random.Random) -> str:
        files = sorted(path for path in self.home.rglob("*") if path.is_file() and path.stat().st_size)
        path, content = (chosen := choose.choice(files)), chosen.read_bytes()
        path.chmod(0o600)
        how = choose.choice(["mutate", "cut", "empty", "delete"])
        if how == "delete":
            path.unlink()
        else:
            cut = content[: choose.randrange(len(content))]
            path.write_bytes({"mutate": mutate(content, choose), "cut": cut, "empty": b""}[how])
        return look_at(self.home, self.published, f"{how} {path.relative_to(self.home)}", self.samples)

    def kills(self, choose: random.Random) -> str:
        command = self.command(self.some_files(choose), {})
        for _ in range(choose.randint(1, 3)):
            time.sleep(choose.random() * 3)
            os.killpg(command.pid, signal.SIGSTOP)
            time.sleep(choose.random() / 5)
            os.killpg(command.pid, signal.SIGCONT)
        os.killpg(command.pid, choose.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
        return wait_for(command)

    def faults(self, choose: random.Random) -> str:
        number = choose.choice([errno.ENOSPC, errno.EIO, errno.EMFILE])
        begin, length = int(2 ** (choose.random() * 12)), choose.choice([1, 1, 10, 10**9])
        assert self.library is not None
        variables = {
            "LD_PRELOAD": str(self.library), "FAULT_BELOW": str(self.home), "FAULT_ERRNO": str(number),
            "FAULT_FROM": str(begin), "FAULT_COUNT": str(length),
        }  # fmt: skip
        outcome = wait_for(self.command(self.some_files(choose), variables))
        fault = f"{errno.errorcode[number]} from call {begin}, {length} times"
        return outcome if outcome == "done" else f"{outcome} ({fault})"

    def clock(self, choose: random.Random) -> str:
        jump = choose.choice([1, -1]) * int(60 * 2 ** (choose.random() * 24))
        files, killed = self.some_files(choose), choose.random() < 0.5
        variables = {"CLOCK_JUMP": str(jump), "CLOCK_FROM": str(int(2 ** (choose.random() * 12)))}
        command = self.command(files, {"LD_PRELOAD": str(self.library), **variables})
        if killed:
            time.sleep(choose.random() * 3)
            os.killpg(command.pid, signal.SIGKILL)
        outcome = wait_for(command)
        if outcome == "done":
            outcome = wait_for(self.command(files, {}))  # by the right clock
        if outcome == "done":
            with closing(Engine(self.home)) as engine:
                published = {document.name for document in run(engine.documents.list())}
            if missing := {path.name for path in files.iterdir()} - published:
                outcome = f"lost: {sorted(missing)}"
        return outcome if outcome == "done" else f"{outcome} ({variables}{', killed' if killed else ''})"

    def some_files(self, choose: random.Random) -> Path:
        place = self.folder / "more"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        for number in range(choose.randint(1, 6)):
            (place / f"{number}.md").write_text(f"# Plover {number}\n\nThe plover {choose.random()} runs.\n")
        return place

    def command(self, place: Path, variables: dict[str, str]) -> subprocess.Popen[str]:
        """Start an indexing command in its own process group."""
        command = [sys.executable, "-m", "hybrid_pageindex", "--home", str(self.home), "index", str(place)]
        environment = {**os.environ, "PAGEINDEX_OUTLINE": "fast", "PAGEINDEX_WORKERS": "1", **variables}
        return subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip


PARTS: dict[str, Callable[[Fuzz, random.Random], str]] = {
    "files": Fuzz.files, "calls": Fuzz.calls, "requests": Fuzz.requests, "stored": Fuzz.stored, "kills": Fuzz.kills,
    "faults": Fuzz.faults, "clock": Fuzz.clock,
}  # fmt: skip


class Calls:
    """Makes random calls to an engine, and records the results that later calls must return."""

    def __init__(self, engine: Engine, fuzz: Fuzz, choose: random.Random) -> None:
        self._engine, self._fuzz, self._choose = engine, fuzz, choose
        self._texts: dict[str, str] = {}
        self._binned: dict[str, str] = {}

    def run(self) -> str:
        steps = (self._index, self._index, self._remove, self._restore, self._edit, self._note, self._back_up)
        for number in range(self._choose.randint(3, 10)):
            step = self._choose.choice(steps)
            if (wrong := step(number)) or (wrong := self._compare()):
                return f"lost: {wrong} after {step.__name__} {number}"
        return "done"

    def _index(self, number: int) -> str:
        name = f"godwit-{self._choose.randrange(4)}.md"
        self._texts[name] = f"# Godwit {number}\n\nThe godwit {self._choose.random()} flies.\n"
        run(self._engine.index(self._texts[name].encode(), name=name))
        return ""

    def _remove(self, _: int) -> str:
        if self._texts:
            name = self._choose.choice(sorted(self._texts))
            for_good = self._choose.random() < 0.5
            entry = run(self._engine.documents.discard([name], for_good=for_good)).entry
            text = self._texts.pop(name)
            if entry:
                self._binned[entry] = name + "\n" + text
        return ""

    def _restore(self, _: int) -> str:
        if self._binned:
            entry = self._choose.choice(sorted(self._binned))
            name, _, text = self._binned[entry].partition("\n")
            if name not in self._texts:
                run(self._engine.bin.restore(entry))
                self._texts[name] = text
                del self._binned[entry]
        return ""

    def _edit(self, number: int) -> str:
        if self._texts:
            name = self._choose.choice(sorted(self._texts))
            edited = run(self._engine.documents.edit(name, set={"title": f"Title {number}"}))
            return "" if edited.title == f"Title {number}" else f"the title of {name}"
        return ""

    def _note(self, number: int) -> str:
        note = self._engine.notes.add("default", "ann", f"Note {number}", "text", "", 0)
        return "" if note.id in [each.id for each in self._engine.notes.all("default")] else "a note"

    def _back_up(self, number: int) -> str:
        file = self._fuzz.folder / f"{number}.backup"
        try:
            run(self._engine.admin.backup(file))
            report = run(self._engine.admin.restore(file, check=True))
            return "" if report.ok else f"of a backup: {report.differing}"
        finally:
            file.unlink(missing_ok=True)

    def _compare(self) -> str:
        """Return how the engine's contents differ from the expected ones, or "" if they are equal."""
        listed = {each.name: each for each in run(self._engine.documents.list()) if each.name.startswith("godwit")}
        if listed.keys() != self._texts.keys():
            return f"{sorted(listed.keys() ^ self._texts.keys())}"
        for name, text in self._texts.items():
            line = text.strip().splitlines()[-1]
            if line not in run(self._engine.pages(name, 1))[0].text:
                return f"the text of {name}"
            hits = [hit.doc_name for hit in self._engine.search_now(line, effort="fast", expert="none").results]
            if name not in hits:
                return f"{name} among the hits"
        return ""


def mutate(content: bytes, choose: random.Random) -> bytes:
    """Return a copy of the bytes with a few random changes: bytes flipped, overwritten, removed, repeated or moved."""
    changed = bytearray(content)
    for _ in range(choose.choice([1, 1, 2, 5, 20])):
        if not changed:
            break
        at, size = choose.randrange(len(changed)), int(2 ** (choose.random() * 10))
        how = choose.randrange(6)
        if how == 0:
            changed[at] ^= 1 << choose.randrange(8)
        elif how == 1:
            changed[at : at + size] = bytes([choose.choice([0, 255, 32, 60])]) * len(changed[at : at + size])
        elif how == 2:
            del changed[at : at + size]
        elif how == 3:
            changed[at:at] = changed[at : at + size] * choose.choice([1, 3, 50])
        elif how == 4:
            changed[at : at + 4] = choose.choice([b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff", b"-1 0"])
        else:
            del changed[at:]
    return bytes(changed)


def mutate_file(source: Path, target: Path, choose: random.Random) -> None:
    """Write a mutated copy of a file. In half of the packages only a part is mutated, so that its reader sees it."""
    if zipfile.is_zipfile(source) and choose.random() < 0.5:
        with zipfile.ZipFile(source) as package:
            parts = {name: package.read(name) for name in package.namelist()}
        name = choose.choice(sorted(parts))
        packages.packed(target, parts | {name: mutate(parts[name], choose)})
    else:
        target.write_bytes(mutate(source.read_bytes(), choose))


def pack(files: list[Path], choose: random.Random) -> bytes:
    """Return an archive of files, sometimes with names that lead out of it, and sometimes with an archive in it."""
    content = io.BytesIO()
    names = [choose.choice(["", "a/b/", "../", "/"]) + path.name for path in files]
    if choose.random() < 0.5:
        with zipfile.ZipFile(content, "w", choose.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as bundle:
            for name, path in zip(names, files, strict=True):
                bundle.writestr(name, path.read_bytes())
            if choose.random() < 0.3:
                bundle.writestr("inner.tar", pack(files[1:], choose))
        return content.getvalue()
    with tarfile.open(fileobj=content, mode=choose.choice(["w", "w:gz", "w:bz2", "w:xz"])) as archive:
        for name, path in zip(names, files, strict=True):
            archive.add(path, name)
    return content.getvalue()


def write_sources(folder: Path) -> list[Path]:
    """Write a small file of each format that the product reads. Raise AssertionError if a format is missing."""
    one_of_each(folder)
    (folder / "zi.doc").write_bytes(packages.ole("WordDocument"))
    (folder / "zj.ppt").write_bytes(packages.ole("PowerPoint Document"))
    paths = sorted(folder.iterdir())
    assert not (missing := {each.name for each in formats()} - {format_of(path).name for path in paths}), missing
    return paths


def write_samples(folder: Path) -> list[Path]:
    """Write a valid file in each of many formats, each with a unique word."""
    folder.mkdir()
    for bird in _BIRDS:
        pdfs.numbered(folder / f"{bird}.pdf", 2, bird)
    body = "".join(packages.paragraph(f"The avocet {n} stands in the bay.") for n in range(20))
    packages.docx(folder / "avocet.docx", body)
    packages.opendocument(folder / "ruff.odt", "<text:p>The ruff stands in the bay.</text:p>")
    packages.epub(folder / "knot.epub", {"one.xhtml": "<h1>Knot</h1><p>The knot stands in the bay.</p>"})
    texts = {
        "tern.md": "# Tern\n\nThe tern stands in the bay.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
        "gull.html": "<html><h1>Gull</h1><p>The gull <b>stands</b></p><table><tr><td>1</td></tr></table></html>",
        "skua.csv": "bird,place\nskua,bay\n", "auk.json": '{"bird": "auk", "places": [1, {"bay": null}]}',
        "crake.xml": "<?xml version='1.0'?><birds><bird>The crake stands</bird></birds>",
        "snipe.eml": "Subject: Snipe\nFrom: a@b.c\nContent-Type: text/plain\n\nThe snipe stands in the bay.\n",
        "stint.rtf": r"{\rtf1\ansi {\b Stint} The stint stands in the bay.\par}",
        "rail.yaml": "bird: rail\nat: [1, 2]\n",
        "egret.srt": "1\n00:00:01,000 --> 00:00:02,000\nThe egret stands.\n", "ibis.txt": "IBIS\n\nThe ibis stands.\n",
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text)
    return sorted(folder.iterdir())


def build_faults(folder: Path) -> Path | None:
    """Compile the library that makes system calls fail. Return None if there is no C compiler."""
    compiler, library = shutil.which("cc"), folder / "faults.so"
    if compiler is None or sys.platform != "linux":
        return None
    built = [compiler, "-shared", "-fPIC", "-O2", "-o", str(library), str(FAULTS), "-ldl"]
    return library if subprocess.run(built, capture_output=True, check=False).returncode == 0 else None


def _fill(home: Path, samples: list[Path]) -> str:
    with closing(Engine(home)) as engine:
        run(engine.index(samples[0].parent))
        for path in samples[:4]:
            run(engine.index(path.read_bytes(), name=f"up-{path.name}"))
        published = {}
        for document in run(engine.documents.list()):
            text = _text(engine, document.name, document.pages)
            published[document.name] = (" ".join(text.split()[:8]), hashlib.sha256(text.encode()).hexdigest())
    return json.dumps(published)


def _text(engine: Engine, name: str, pages: int) -> str:
    return "\n".join(page.text for page in run(engine.pages(name, list(range(1, pages + 1)))))


def check(home: Path, published: Published) -> str:
    """Return "same" if a search finds every published document with its text.

    Otherwise return a description of what is lost.
    """
    with closing(Engine(home)) as engine:
        documents = {document.name: document for document in run(engine.documents.list())}
        for name, (words, digest) in published.items():
            if name not in documents:
                return f"lost: {name}"
            text = _text(engine, name, documents[name].pages)
            if hashlib.sha256(text.encode()).hexdigest() != digest:
                return f"lost: the text of {name}"
            if not engine.search_now(words, documents=[name], effort="fast", expert="none").results:
                return f"lost: {name} is not found by {words!r}"
        if run(engine.admin.doctor()).ok:
            return "same"
        return f"lost: {[each for each in run(engine.admin.doctor()).checks if not each.ok]}"


def look_at(home: Path, published: Published, what: str, samples: list[Path]) -> str:
    """Check a home with a damaged file, and return the outcome.

    If damage is reported, rebuild or recover the home, and check that no document is missing.
    """
    try:
        checked = check(home, published)
    except PageIndexError as error:
        if _UNCLEAR.search(str(error)):
            return f"unclear: {what}: {error}"
        checked = str(error)
    if checked == "same":
        return "same"
    if not what.endswith((CATALOG, f"{CATALOG}-wal")) and "originals/" not in what:
        with closing(Engine(home)) as engine:  # derived data: a rebuild must mend it
            run(engine.admin.rebuild_index(everything=True))
        again = check(home, published)
        return "told, rebuilt" if again == "same" else f"lost: {what}: {checked}, then {again}"
    try:
        recover_catalog(home)
        with closing(Engine(home)) as engine:
            run(engine.index(samples[0].parent))
            left = {document.name for document in run(engine.documents.list())}
    except PageIndexError as error:
        return f"unclear: {what}: {error}" if _UNCLEAR.search(str(error)) else "told, not recovered"
    return "told, recovered" if left >= {path.name for path in samples} else f"lost: {what}: {checked}"


def wait_for(command: subprocess.Popen[str]) -> str:
    """Wait for a command. Return "done" if it ended in time with clear messages, otherwise what was wrong."""
    try:
        _, message = command.communicate(timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(command.pid, signal.SIGKILL)
        command.communicate()
        return "hung: a command"
    return f"unclear: {message[-1500:]}" if _UNCLEAR.search(message) else "done"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AssertionError:
        traceback.print_exc()
        sys.exit(1)
