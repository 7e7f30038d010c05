"""A watch keeps a library up to date: real processes, files and folders."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hybrid_pageindex import Engine, run
from tests import pdfs


@contextmanager
def watching(home: Path, *options: str) -> Iterator[Iterator[dict[str, Any]]]:
    """The events of ``watch``; it must end well."""
    process = subprocess.Popen(
        [sys.executable, "-m", "hybrid_pageindex", "--home", str(home), "watch", "--json", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout and process.stderr
    try:
        yield (json.loads(line) for line in process.stdout)
    finally:
        process.send_signal(signal.SIGTERM)
        ended, said = process.wait(600), process.stderr.read()
        process.stdout.close()
        process.stderr.close()
        assert (ended, said) == (0, "")


def until(events: Iterator[dict[str, Any]], event: str, path: Path) -> dict[str, Any]:
    return next(one for one in events if (one["event"], one["path"]) == (event, str(path)))


def test_what_is_saved_is_found_and_what_moves_stays_the_same_document(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    first = pdfs.numbered(folder / "first.pdf", 2, "dunes")
    run(engine.index(folder))
    run(engine.sources.watch_folder(folder))
    other = tmp_path / "other"
    other.mkdir()
    with watching(engine.home) as events:
        new = pdfs.numbered(folder / "new.pdf", 3, "spits")
        until(events, "indexed", new)
        assert run(engine.search(pdfs.landmark("spits", 2), top_k=1)).results[0].doc_name == "new.pdf"
        document = run(engine.documents.get("first.pdf")).doc_id
        (folder / "deep").mkdir()
        moved = first.rename(folder / "deep" / "moved.pdf")
        until(events, "unchanged", moved)
        assert run(engine.documents.get("moved.pdf")).doc_id == document, "it is the document of before"
        run(engine.sources.watch_folder(other, library="second"))
        late = pdfs.numbered(other / "late.pdf", 1, "cliffs")
        assert until(events, "indexed", late)["library"] == "second", "a folder that was added meanwhile"
        run(engine.sources.unwatch_folder(other, library="second"))
        third = tmp_path / "third"
        third.mkdir()
        run(engine.sources.watch_folder(third))
        until(events, "indexed", pdfs.numbered(third / "gull.pdf", 1, "gulls"))  # it heard of both
        pdfs.numbered(other / "unwatched.pdf", 1, "rocks")
        until(events, "indexed", pdfs.numbered(folder / "last.pdf", 1, "sands"))
    assert [one.name for one in run(engine.documents.list(library="second"))] == ["late.pdf"]


def test_a_network_drive_is_polled(engine: Engine, tmp_path: Path) -> None:
    """By the option: no event is asked for."""
    (tmp_path / "files").mkdir()
    run(engine.sources.watch_folder(tmp_path / "files", poll=True))
    new = pdfs.numbered(tmp_path / "files" / "new.pdf", 1, "spits")
    with watching(engine.home) as events:
        until(events, "found", new)
        until(events, "indexed", new)


def test_a_worker_watches_too(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    gone = pdfs.numbered(tmp_path / "files" / "gone.pdf", 1, "dunes")
    run(engine.index(tmp_path / "files"))
    run(engine.sources.watch_folder(tmp_path / "files"))
    process = subprocess.Popen(
        [sys.executable, "-m", "hybrid_pageindex", "--home", str(engine.home), "worker", "--watch", "--json"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr
    gone.rename(tmp_path / "files" / "new.pdf")
    other = pdfs.numbered(tmp_path / "files" / "other.pdf", 1, "cliffs")
    until_told = (json.loads(line) for line in process.stderr)
    assert next(one for one in until_told if one["path"] == str(other))["status"] == "indexed"
    process.send_signal(signal.SIGTERM)
    assert process.wait(600) == 0
    process.stderr.close()
    assert {one.name for one in run(engine.documents.list())} == {"new.pdf", "other.pdf"}
