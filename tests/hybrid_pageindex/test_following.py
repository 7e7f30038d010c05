"""Searches while the index is behind its log, and who brings it up to date. Other processes are real ones."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hybrid_core.errors import PageIndexError, StoreError
from hybrid_core.store.index.edge import shard
from hybrid_core.store.index.edge.folders import read_state
from hybrid_core.store.index.index import VectorIndex
from hybrid_core.types.results import SearchResult
from hybrid_pageindex import Engine, run
from hybrid_pageindex.engine.index import indexing
from hybrid_pageindex.engine.search import handles
from hybrid_pageindex.engine.search.handles import index_folder
from hybrid_pageindex.engine.search.indexes import Indexes
from hybrid_pageindex.engine.search.views import LibraryViews
from tests.conftest import Cli
from tests.homes import settings_of
from tests.postgres import catalog_of

MANY = 60  # documents of a page: more than a search applies itself
QUESTION = "Which port ships amber lanterns?"
BEHIND = "the search index lacks"


@pytest.fixture(autouse=True)
def _nothing_follows_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handles, "_POLL_SECONDS", 3600.0)


@pytest.fixture
def reading(tmp_path: Path) -> Iterator[Engine]:
    """An engine that has searched: it owns the index, and does not hear of what others publish."""
    with closing(Engine(tmp_path / "home")) as engine:
        run(engine.index(written(tmp_path / "first", 2)))
        assert not said(search(engine))
        yield engine


def written(folder: Path, many: int, said: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    for number in range(many):
        text = f"# Port {folder.name}-{number}\n\n{said}\n\nCalm harbour number {number} ships rope and tar.\n"
        (folder / f"{folder.name}{number:03}.md").write_text(text)
    return folder


def search(engine: Engine, question: str = QUESTION) -> SearchResult:
    return engine.search_now(question, top_k=10)


def said(found: SearchResult) -> list[str]:
    """What it says of the index and its vectors."""
    return [note for note in found.notes if "index" in note or "embedded" in note]


def names(found: SearchResult) -> list[str]:
    return [page.doc_name for page in found.results]


def amber(folder: Path) -> Path:
    """Many new files, one of which answers."""
    written(folder, MANY)
    (folder / "amber.md").write_text("# Port Amber\n\nThe port of Vesna ships amber lanterns.\n")
    return folder


def positions(home: Path) -> tuple[int, int]:
    """Where the index is recorded to stand, and where its log stands."""
    with closing(catalog_of(home)) as catalog, catalog.snapshot() as snapshot:
        newest = snapshot.position("default")
    state = read_state(index_folder(home, "default") / "state.json")
    return (state.position if state else 0), newest


def test_what_index_has_reported_is_in_the_index_that_the_next_process_opens(tmp_path: Path, program: Cli) -> None:
    assert program("index", amber(tmp_path / "new")).returncode == 0
    assert positions(tmp_path / "home") == (MANY + 1, MANY + 1)
    found = program("search", QUESTION)
    assert "amber.md" in found.stdout and BEHIND not in found.stdout + found.stderr


def test_a_process_that_searches_finds_what_another_one_has_indexed_and_says_that_it_is_behind(
    tmp_path: Path, program: Cli, reading: Engine
) -> None:
    assert program("index", amber(tmp_path / "new")).returncode == 0
    assert positions(tmp_path / "home")[0] == 2, "it left the index to the one that has it open"
    found = search(reading)
    assert names(found)[0] == "amber.md"
    [note] = said(found)
    assert (
        note == f"{BEHIND} {MANY + 1} pages: searches find them by their words only, "
        "and the index is updated in the background"
    )
    assert positions(tmp_path / "home")[0] == 2, "the search did not wait for it"
    reading._indexes().follow_all()
    after = search(reading)
    assert not said(after)
    assert names(after)[0] == "amber.md"
    assert [page.score for page in after.results] == pytest.approx([page.score for page in found.results], rel=1e-4)


def test_a_few_new_pages_are_taken_up_by_the_search(tmp_path: Path, program: Cli, reading: Engine) -> None:
    assert program("index", written(tmp_path / "new", 3, "Amber lanterns.")).returncode == 0
    found = search(reading)
    assert names(found)[0].startswith("new") and not said(found)
    assert positions(tmp_path / "home") == (5, 5)


def test_what_was_removed_or_replaced_never_shows_while_the_index_is_behind(
    tmp_path: Path, program: Cli, reading: Engine
) -> None:
    new = amber(tmp_path / "new")
    run(reading.index(new))
    assert names(search(reading))[0] == "amber.md"
    written(new, MANY, "Changed.")
    (new / "amber.md").write_text("# Port Amber\n\nNothing is shipped from here.\n")
    assert program("index", new).returncode == 0
    found = search(reading)
    assert said(found)[0].startswith(BEHIND)
    assert all("lanterns" not in page.snippet for page in found.results)
    assert program("remove", "amber.md").returncode == 0
    assert "amber.md" not in names(search(reading, "Port Amber"))


def test_processes_that_search_and_end_take_the_index_further_each(
    tmp_path: Path, program: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    with closing(Engine(home)) as engine, monkeypatch.context() as killed:
        run(engine.index(written(tmp_path / "first", 1)))
        killed.setattr(
            "hybrid_pageindex.engine.index.indexing.follow", lambda *_: ()
        )  # as if it were killed right before
        run(engine.index(amber(tmp_path / "new")))
    reached = [positions(home)[0]]
    for _ in range(MANY):
        found = program("search", QUESTION)
        assert "amber.md" in found.stdout
        reached.append(positions(home)[0])
        assert reached[-1] > reached[-2]
        if reached[-1] == MANY + 2:
            break
    assert reached[-1] == MANY + 2 == positions(home)[1]


def test_a_thread_follows_while_somebody_searches(
    tmp_path: Path, program: Cli, reading: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed, follow_all = threading.Event(), Indexes.follow_all

    def tell(self: Indexes) -> None:
        follow_all(self)
        followed.set()

    monkeypatch.setattr(Indexes, "follow_all", tell)
    monkeypatch.setattr(handles, "_POLL_SECONDS", 0.01)
    reading.close()
    assert not said(search(reading))
    assert program("index", amber(tmp_path / "new")).returncode == 0
    for _ in range(2):
        followed.clear()
        assert followed.wait(600)
    assert positions(tmp_path / "home") == (MANY + 3, MANY + 3)
    assert names(search(reading))[0] == "amber.md"


def test_following_gives_way_to_searches(
    tmp_path: Path, program: Cli, reading: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handles, "_GIVES_WAY", 60.0)
    assert program("index", amber(tmp_path / "new")).returncode == 0
    thread = threading.Thread(target=reading._indexes().follow_all)
    with reading._indexes().follower.searching():
        thread.start()
        thread.join(0.5)
        assert thread.is_alive() and positions(tmp_path / "home")[0] == 2
    thread.join(600)
    assert not said(search(reading))


def test_an_index_that_cannot_be_written_is_told_and_its_pages_are_found_by_their_words(
    tmp_path: Path, reading: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StoreError("The disk is full.", "Free some space.")

    monkeypatch.setattr(shard, "require_space", full)
    report = run(reading.index(amber(tmp_path / "new")))
    assert any("could not be updated" in note and "disk is full" in note for note in report.notes)
    reading._indexes().follow_all()
    found = search(reading)
    assert names(found)[0] == "amber.md"
    assert "cannot be updated: The disk is full." in said(found)[0]
    monkeypatch.undo()
    reading._indexes().follow_all()
    assert not said(search(reading))


def test_new_vectors_count_once_the_index_has_them(tmp_path: Path, program: Cli) -> None:
    with closing(Engine(settings=settings_of(tmp_path / "home"))) as engine:
        run(engine.index(written(tmp_path / "first", 2)))
        run(engine.models.embed("hashed:32"))
        assert search(engine).embedded_share == 1.0
        assert program("index", amber(tmp_path / "new")).returncode == 0
        assert program("embed").returncode == 0
        found = search(engine)
        assert names(found)[0] == "amber.md" and found.embedded_share < 1.0
        assert any(
            f"the vectors of {MANY + 1} documents are not in the search index yet" in note for note in said(found)
        )
        engine._indexes().follow_all()
        found = search(engine)
        assert found.embedded_share == 1.0 and not said(found)


def test_a_cancelled_index_command_leaves_the_rest_to_searches(tmp_path: Path, engine: Engine) -> None:
    stopped = threading.Event()
    stopped.set()
    run(engine.index(written(tmp_path / "first", 1)))
    assert indexing.follow(engine._parts(), "default", stopped.is_set) == ()
    assert indexing.follow(engine._parts(), "unknown", stopped.is_set) == ()


def test_what_a_worker_publishes_is_in_the_index_when_it_ends(tmp_path: Path, program: Cli, engine: Engine) -> None:
    run(engine.index(written(tmp_path / "first", 3), detach=True))
    assert positions(tmp_path / "home")[0] == 0
    run(engine.jobs.work(concurrency=1, enough=lambda: True))
    assert positions(tmp_path / "home") == (3, 3)
    assert "first000.md" in program("search", "Calm harbour 0").stdout


def test_a_script_that_forgets_to_close_ends_and_leaves_a_whole_index(tmp_path: Path, program: Cli) -> None:
    home = tmp_path / "home"
    with closing(Engine(home)) as engine:
        run(engine.index(written(tmp_path / "first", 1)))
        assert search(engine).results
        assert program("index", amber(tmp_path / "new")).returncode == 0
    script = (
        "import time; from hybrid_pageindex import Engine; from hybrid_pageindex.engine.search import handles\n"
        f"handles._POLL_SECONDS = 0.01; engine = Engine({str(home)!r})\n"
        f"engine.search_now({QUESTION!r}); time.sleep(0.1)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600, check=True)
    state = read_state(index_folder(home, "default") / "state.json")
    assert ended.stderr == "" and state is not None and not state.writing and state.position > 1


@pytest.mark.parametrize("followed", [False, True], ids=["index-behind", "index-ahead"])
@pytest.mark.parametrize("moment", ["after the index was opened", "after the documents were read"])
def test_a_document_that_is_replaced_while_a_search_opens_is_found(
    reading: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str, followed: bool
) -> None:
    """Whichever version it is: its pages are neither missing nor without their scores."""
    path = tmp_path / "lamps.md"
    path.write_text("# Lamps\n\nCalm harbours.\n\n## Lanterns\n\nThe port of Vesna ships amber lanterns.\n")
    run(reading.index(path))
    before = search(reading)
    assert names(before)[0] == "lamps.md" and before.results[0].score > 0.5
    replaced = []

    def replace_once() -> None:
        if not replaced:
            replaced.append(True)
            path.write_text(f"{path.read_text()}\n\n## Oil\n\nThe oil is from Karst.\n")
            with closing(Engine(tmp_path / "home")) as other:
                run(other.index(path))
            if followed:
                reading._indexes().ready("default")

    owner, name = (Indexes, "searchable") if moment == "after the index was opened" else (LibraryViews, "published")
    original = getattr(owner, name)

    def replaced_after(*arguments: object) -> object:
        opened = original(*arguments)
        replace_once()
        return opened

    monkeypatch.setattr(owner, name, replaced_after)
    result = search(reading)
    assert replaced and names(result)[0] == "lamps.md"
    assert result.results[0].score > 0.5, result
    assert not [note for note in result.notes if note.code == "search.gone"]


def test_publications_that_update_the_index_at_once_do_not_disturb_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one begins while the first one ends, which optimises and closes the index."""
    began, failures = threading.Event(), []
    settle, catch_up = VectorIndex.settle, VectorIndex.catch_up

    def settled(index: VectorIndex) -> None:
        began.wait(1)  # at the latest then: the second one waits where it must not disturb
        settle(index)

    def caught_up(index: VectorIndex, *arguments: Any, **options: Any) -> None:
        if threading.current_thread() is second:
            began.set()
            time.sleep(0.2)
        catch_up(index, *arguments, **options)

    def follow() -> None:
        try:
            engine._indexes().follow("default")
        except PageIndexError as error:
            failures.append(error.message)

    with closing(Engine(tmp_path / "home")) as engine:
        run(engine.index(written(tmp_path / "first", 2)))
        with closing(Engine(tmp_path / "home")) as other:
            monkeypatch.setattr(indexing, "follow", lambda *_: ())
            run(other.index(written(tmp_path / "next", 3)))
        monkeypatch.setattr(VectorIndex, "settle", settled)
        monkeypatch.setattr(VectorIndex, "catch_up", caught_up)
        second = threading.Thread(target=follow)
        first = threading.Thread(target=follow)
        first.start()
        second.start()
        first.join()
        second.join()
        assert not failures
        assert len(names(search(engine))) == 5
