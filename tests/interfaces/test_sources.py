"""``index`` without paths brings libraries up to date, and says what changed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from fastmcp import Client

from hybrid_core.errors import ConflictError, UsageError
from hybrid_pageindex import Engine, run
from hybrid_pageindex.mcp.access import Access
from hybrid_pageindex.mcp.server import build_server
from tests.conftest import Cli


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"# Notes\n\n{text}\n")
    return path


def test_an_update_says_what_is_new_changed_moved_and_gone(engine: Engine, tmp_path: Path) -> None:
    folder, loose = tmp_path / "files", write(tmp_path / "loose.md", "loose ends")
    for name in ("kept", "changed", "moved", "gone"):
        write(folder / f"{name}.md", f"about {name}")
    run(engine.index([folder, loose, str(tmp_path / "*.pdf")]))
    assert [(one.kind, Path(one.path).name) for one in run(engine.sources.list())] == [
        ("folder", "files"),
        ("file", "loose.md"),
    ]
    [same] = run(engine.update())
    assert (same.new, same.changed, same.moved, same.gone) == ((), (), (), ())
    assert {file.status for file in same.report.files} == {"unchanged"} and len(same.report.files) == 5
    write(folder / "deep" / "new.md", "a new thing")
    write(folder / "changed.md", "other words")
    (folder / "moved.md").rename(folder / "renamed.md")
    (folder / "gone.md").unlink()
    loose.unlink()
    [update] = run(engine.update())
    assert update.library == "default"
    assert update.new == (str(folder / "deep" / "new.md"),) and update.changed == (str(folder / "changed.md"),)
    assert update.moved == ((str(folder / "moved.md"), str(folder / "renamed.md")),)
    assert sorted(update.gone) == [str(folder / "gone.md"), str(loose)] and update.report.removed == ()
    assert len(run(engine.documents.list())) == 6, "what is gone stays until it is pruned"
    [pruned] = run(engine.update(prune=True))
    assert sorted(pruned.report.removed) == sorted(update.gone) == sorted(pruned.gone)
    assert len(run(engine.documents.list())) == 4 and [one.kind for one in run(engine.sources.list())] == ["folder"]
    [again] = run(engine.update(prune=True))
    assert (again.new, again.changed, again.moved, again.gone) == ((), (), (), ())


def test_a_folder_that_is_missing_is_reported_and_loses_nothing(engine: Engine, tmp_path: Path) -> None:
    write(tmp_path / "files" / "a.md", "about tides")
    run(engine.index(tmp_path / "files"))
    shutil.move(tmp_path / "files", tmp_path / "elsewhere")
    [update] = run(engine.update(prune=True))
    assert update.gone == () and [file.status for file in update.report.files] == ["failed"]
    assert "1 document unreachable" in " ".join(update.report.notes) and len(run(engine.documents.list())) == 1


def test_every_library_is_brought_up_to_date_with_the_options_of_its_sources(engine: Engine, tmp_path: Path) -> None:
    first, second = write(tmp_path / "one" / "a.md", "one"), write(tmp_path / "two" / "b.md", "two")
    run(engine.index(first.parent, library="one", enrich="never"))
    run(engine.index(second.parent, library="two", prune=True))
    assert {one.library: dict(one.options) for one in run(engine.sources.list())} == {
        "one": {"enrich": "never"}, "two": {"prune": True},
    }  # fmt: skip
    first.unlink()
    second.unlink()
    updates = {one.library: one for one in run(engine.update())}
    assert updates["one"].report.removed == () and updates["two"].report.removed == (str(second),)
    [alone] = run(engine.update(library="one", prune=True))
    assert alone.report.removed == (str(first),)


def test_what_was_removed_by_hand_stays_away(engine: Engine, tmp_path: Path) -> None:
    write(tmp_path / "files" / "a.md", "about tides")
    write(tmp_path / "files" / "b.md", "about spits")
    run(engine.index(tmp_path / "files"))
    run(engine.documents.remove("b.md"))
    run(engine.update())
    assert [one.name for one in run(engine.documents.list())] == ["a.md"]
    run(engine.index(tmp_path / "files"))
    assert [one.name for one in run(engine.documents.list())] == ["a.md", "b.md"], "it was named again"


def test_the_engines_own_files_are_no_source(engine: Engine, tmp_path: Path) -> None:
    write(tmp_path / "a.md", "about tides")
    run(engine.index(tmp_path))
    write(engine.home / "originals" / "b.md", "kept by the engine")
    [update] = run(engine.update())
    assert update.new == () and len(run(engine.documents.list())) == 1


def test_a_home_without_sources_says_what_to_do(engine: Engine) -> None:
    with pytest.raises(ConflictError, match="is not updated from any file or folder yet"):
        run(engine.update())


def test_folders_are_watched_listed_and_let_go(cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path / "files" / "a.md", "about tides")
    nothing = cli("index")
    assert nothing.returncode == 2 and "Index a file or folder first: index PATH." in nothing.stderr
    refused = cli("watch", "add", file)
    assert refused.returncode == 2 and "is not a folder" in refused.stderr
    added = cli("watch", "add", file.parent, "-L", "notes", "--poll", "--enrich", "never")
    assert added.stdout == f"notes: {file.parent} (folder, enrich never), watched: yes, by polling\n"
    updated = cli("index")
    assert updated.returncode == 0 and updated.stdout.startswith(f"notes: 1 new\n  new      {file}\n1 indexed")
    listed = json.loads(cli("watch", "list", "--json").stdout)["sources"]
    assert [(one["library"], one["path"], one["watch"]) for one in listed] == [("notes", str(file.parent), "poll")]
    assert "watched: no" in cli("watch", "remove", file.parent, "-L", "notes").stdout
    forgotten = cli("watch", "remove", file.parent, "-L", "notes", "--forget").stdout
    assert forgotten == f"notes: {file.parent} is no longer a source; its documents stay\n"
    assert "No library is updated from" in cli("watch", "list").stdout
    assert cli("watch", "remove", file.parent, "-L", "notes").returncode == 1
    assert len(json.loads(cli("list", "-L", "notes", "--json").stdout)["documents"]) == 1, "documents stay"


def test_update_in_json(cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path / "files" / "a.md", "about tides")
    cli("index", file.parent)
    file.rename(file.with_name("b.md"))
    said = json.loads(cli("index", "--json").stdout)["libraries"][0]
    assert said["moved"] == [{"from": str(file), "to": str(file.with_name("b.md"))}]
    assert said["report"]["files"][0]["status"] == "unchanged"


def test_agents_folders_are_remembered_as_folders(engine: Engine, tmp_path: Path) -> None:
    """What lies in them is named file by file, for only that may be read."""
    file = write(tmp_path / "files" / "a.md", "about tides")

    async def add() -> object:
        async with Client(build_server(engine, Access.of([str(tmp_path)], read_only=False))) as client:
            return await client.call_tool("add_documents", {"paths": [str(file.parent)]})

    run(add())
    assert [(one.kind, one.path) for one in run(engine.sources.list())] == [("folder", str(file.parent.resolve()))]


def test_only_a_folder_can_be_watched(engine: Engine, tmp_path: Path) -> None:
    for path in (tmp_path / "nothing", write(tmp_path / "a.md", "x")):
        with pytest.raises(UsageError, match="is not a folder"):
            run(engine.sources.watch_folder(path))
