"""What is removed can be brought back for 30 days, and shows nowhere meanwhile; deletion for good leaves nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import select, update

from hybrid_core.errors import NotFoundError, UsageError
from hybrid_core.store.catalog import bin as catalog_bin
from hybrid_core.store.catalog import schema
from hybrid_core.store.catalog.frequencies import frequencies
from hybrid_core.store.catalog.libraries import BINNED
from hybrid_core.store.catalog.maintenance import HOME
from hybrid_core.store.notes import NoteStore
from hybrid_pageindex import Engine, run
from tests import pdfs
from tests.conftest import Cli
from tests.indexers.formats.test_archives import mail
from tests.indexers.jobs.test_members import zipped
from tests.postgres import catalog_of

_WORD = "quetzalcoatlus"


def a_file(engine: Engine, folder: Path) -> str:
    run(engine.index(pdfs.numbered(folder / f"{_WORD}.pdf", 3, _WORD)))
    return f"{_WORD}.pdf"


def an_upload(engine: Engine, folder: Path) -> str:
    run(engine.index(f"# Note\n\nThe {_WORD} flew.\n".encode(), name="note.md"))
    return "note.md"


def a_message_with_a_file(engine: Engine, folder: Path) -> str:
    attached = mail(("report.md", "text/markdown", f"# Report\n\nThe {_WORD} again.\n".encode()))
    run(engine.index(bytes(attached), name="odd/offer.eml"))
    return "offer.eml"


def a_folder_of_files(engine: Engine, folder: Path) -> str:
    (folder / "many").mkdir()
    for number in range(3):
        (folder / "many" / f"{number}.md").write_text(f"# {number}\n\nThe {_WORD} of {number}.\n")
    run(engine.index(folder / "many"))
    return "1.md"


KINDS = pytest.mark.parametrize("fill", [a_file, an_upload, a_message_with_a_file, a_folder_of_files])
Fill = Callable[[Engine, Path], str]


def shown(engine: Engine) -> tuple[list[tuple[str, str, int]], list[tuple[str, int]], int, int]:
    """Return what a person sees of a library: documents, hits, counted words, pages."""
    documents = [(document.doc_id, document.path, document.pages) for document in run(engine.documents.list())]
    result = run(engine.search(_WORD))
    counted = run(engine.grep(_WORD))
    [size] = run(engine.libraries.list())
    return documents, [(hit.doc_id, hit.page) for hit in result.results], counted.total_matches, size.pages


def word_counts(engine: Engine, library: str) -> dict[int, int]:
    catalog = catalog_of(engine.home)
    with catalog.reading() as connection:
        query = select(frequencies.c.term, frequencies.c.pages).where(frequencies.c.library == library)
        counts = {row.term: row.pages for row in connection.execute(query)}
    catalog.close()
    return counts


@KINDS
def test_a_removed_document_shows_nowhere_and_comes_back_as_it_was(engine: Engine, tmp_path: Path, fill: Fill) -> None:
    run(engine.index(b"# Other\n\nNothing of the kind.\n", name="other.md"))
    name = fill(engine, tmp_path)
    before, counts = shown(engine), word_counts(engine, "default")
    removal = run(engine.documents.discard([name]))
    documents, hits, _, _ = shown(engine)
    gone = {document.doc_id for document in removal.documents}
    assert gone and not gone & {doc_id for doc_id, _, _ in documents} and not gone & {doc_id for doc_id, _ in hits}
    [entry] = run(engine.bin.list())
    assert (entry.id, entry.kind, entry.library) == (removal.entry, "documents", "default")
    assert entry.documents == len(gone) and name in "".join(entry.names)
    assert [library.name for library in run(engine.libraries.list())] == ["default"]
    run(engine.bin.restore(entry.id))
    assert shown(engine) == before and word_counts(engine, "default") == counts
    assert run(engine.bin.list()) == [] and word_counts(engine, entry.id) == {}
    assert all(check.ok for check in run(engine.admin.doctor(deep=True)).checks)


@KINDS
def test_a_removed_library_comes_back_with_its_notes_and_conversations(
    engine: Engine, tmp_path: Path, fill: Fill
) -> None:
    fill(engine, tmp_path)
    before = shown(engine)
    catalog = catalog_of(engine.home)
    NoteStore(catalog).add("default", "me", "A thought", "worth keeping")
    conversation = run(engine.conversations.create(libraries="default"))
    assert run(engine.libraries.clear(library="default")) == ["default"]
    assert run(engine.libraries.list()) == [] and run(engine.sources.list()) == []
    with pytest.raises(NotFoundError):
        run(engine.search(_WORD, library="default"))
    [entry] = run(engine.bin.list())
    assert (entry.kind, entry.library, entry.documents, entry.notes) == ("library", "default", len(before[0]), 1)
    run(engine.bin.restore(entry.id))
    assert shown(engine) == before
    assert [note.title for note in NoteStore(catalog).all("default")] == ["A thought"]
    assert run(engine.conversations.get(conversation.id)).scope.libraries == ("default",)
    catalog.close()


@KINDS
def test_deletion_for_good_leaves_no_byte(engine: Engine, tmp_path: Path, fill: Fill) -> None:
    name = fill(engine, tmp_path)
    run(engine.documents.remove([name]))
    run(engine.libraries.clear(library="default"))
    assert run(engine.bin.empty()) == 2 and run(engine.bin.list()) == []
    assert word_counts(engine, "default") == {}
    engine.close()
    leftovers = [file for file in (engine.home / "originals").rglob("*") if file.is_file()]
    assert leftovers == []
    if (file := engine.home / "catalog.sqlite").exists():
        assert _WORD not in file.read_bytes().decode("latin-1").casefold()


def test_what_has_expired_is_deleted_by_the_next_run(engine: Engine, tmp_path: Path) -> None:
    an_upload(engine, tmp_path)
    [first] = [run(engine.documents.discard(["note.md"])).entry]
    catalog = catalog_of(engine.home)
    with catalog.writing() as connection:
        old = json.dumps({"at": "2001-02-03T04:05:06+00:00", "from": "default"})
        connection.execute(update(schema.meta).where(schema.meta.c.key == BINNED + first).values(value=old))
    catalog.close()
    assert len([*(engine.home / "originals").rglob("*.md")]) == 1
    run(engine.index(b"# New\n\nAnother file.\n", name="new.md"))
    assert [file.name for file in (engine.home / "originals").rglob("*.md")] == [
        file.name for file in [run(engine.documents.original("new.md"))]
    ]
    with pytest.raises(NotFoundError, match="bin has no entry"):
        run(engine.bin.restore(first))


def test_the_same_file_can_be_indexed_while_an_older_copy_is_in_the_bin(engine: Engine, tmp_path: Path) -> None:
    name = a_file(engine, tmp_path)
    [before] = run(engine.documents.list())
    entry = run(engine.documents.discard([name])).entry
    run(engine.index(tmp_path / name))
    assert [document.doc_id for document in run(engine.documents.list())] == [before.doc_id]
    with pytest.raises(UsageError, match="the library again contains"):
        run(engine.bin.restore(entry))
    run(engine.documents.remove([name], for_good=True))
    run(engine.bin.restore(entry))
    assert [document.doc_id for document in run(engine.documents.list())] == [before.doc_id]
    assert run(engine.search(pdfs.landmark(_WORD, 2))).results[0].page == 2


def test_a_name_that_is_taken_meanwhile_gets_a_number(engine: Engine, tmp_path: Path) -> None:
    a_file(engine, tmp_path)
    run(engine.libraries.clear(library="default"))
    run(engine.index(b"# New\n\nAnother file.\n", name="new.md"))
    [entry] = run(engine.bin.list())
    assert run(engine.bin.restore(entry.id)).library == "default 2"
    assert {(size.name, size.documents) for size in run(engine.libraries.list())} == {("default", 1), ("default 2", 1)}
    assert run(engine.search(_WORD, library="default 2")).results


def test_documents_come_back_after_their_library(engine: Engine, tmp_path: Path) -> None:
    name = a_folder_of_files(engine, tmp_path)
    entry = run(engine.documents.discard([name])).entry
    run(engine.libraries.clear(library="default"))
    with pytest.raises(UsageError, match="Restore the library first"):
        run(engine.bin.restore(entry))
    run(engine.bin.restore("default"))
    run(engine.bin.restore(entry))
    assert len(run(engine.documents.list())) == 3


def test_no_source_brings_a_removed_file_back_and_restoring_joins_it_to_its_source(
    engine: Engine, tmp_path: Path
) -> None:
    name = a_folder_of_files(engine, tmp_path)
    entry = run(engine.documents.discard([name])).entry
    run(engine.update())
    assert name not in [document.name for document in run(engine.documents.list())]
    run(engine.bin.restore(entry))
    (tmp_path / "many" / name).write_text(f"# Changed\n\nThe {_WORD} changed.\n")
    run(engine.update())
    assert "changed" in run(engine.pages(name, 1))[0].text


def test_a_part_of_an_archive_comes_back_after_the_archive_was_indexed_again(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    archive = zipped(tmp_path / "docs" / "all.zip", {"one.md": f"# One\n\n{_WORD}\n", "two.md": "# Two\n"})
    run(engine.index(tmp_path / "docs"))
    entry = run(engine.documents.discard(["one.md"])).entry
    zipped(archive, {"one.md": f"# One\n\n{_WORD}\n", "two.md": "# Two\n", "three.md": "# Three\n"})
    run(engine.update())
    assert "all.zip!/one.md" not in [document.name for document in run(engine.documents.list())]
    run(engine.bin.restore(entry))
    assert run(engine.search(_WORD)).results[0].doc_name == "all.zip!/one.md"
    assert run(engine.documents.original("one.md")).read_bytes().startswith(b"# One")


def test_two_libraries_and_a_whole_home(engine: Engine, tmp_path: Path) -> None:
    """Clearing a library for good takes what was removed from it along; clearing the home takes the bin along."""
    an_upload(engine, tmp_path)
    run(engine.documents.remove(["note.md"]))
    run(engine.index(b"# Kept\n\nElsewhere.\n", name="other.md", library="second"))
    run(engine.documents.remove(["other.md"], library="second"))
    run(engine.libraries.clear(library="default", for_good=True))
    assert [entry.library for entry in run(engine.bin.list())] == ["second"]
    run(engine.libraries.clear())
    assert run(engine.bin.list()) == []


def test_vectors_wait_in_the_bin(engine: Engine, tmp_path: Path) -> None:
    name = a_file(engine, tmp_path)
    run(engine.models.embed("hashed:16"))
    entry = run(engine.documents.discard([name])).entry
    run(engine.index(b"# New\n\nAnother file.\n", name="new.md"))
    run(engine.bin.restore(entry))
    [size] = run(engine.libraries.list())
    assert size.embedded == size.documents == 2


def test_the_command_line_says_how_to_undo(cli: Cli, tmp_path: Path) -> None:
    cli("index", pdfs.numbered(tmp_path / "a.pdf", 1, "spits"))
    removed = cli("remove", "a.pdf")
    [command] = [line for line in removed.stdout.splitlines() if "bin restore" in line]
    entry = command.split("'")[1].split()[-1]
    assert entry in cli("bin").stdout and "a.pdf" in cli("bin", "list").stdout
    assert "1 document" in cli("bin", "restore", entry).stdout
    assert "a.pdf" in cli("list").stdout and "empty" in cli("bin").stdout
    cleared = cli("clear", "--library", "default", "--yes")
    assert "bin restore default" in cleared.stdout
    unsure = cli("bin", "empty")
    assert unsure.returncode == 2 and "--yes" in unsure.stderr
    assert json.loads(cli("bin", "--json").stdout)["entries"][0]["kind"] == "library"
    assert "1 entry of the bin was deleted for good" in cli("bin", "empty", "--yes").stdout
    assert cli("bin", "restore", "default").returncode == 1
    cli("index", tmp_path / "a.pdf")
    gone = cli("remove", "a.pdf", "--for-good")
    assert "restore" not in gone.stdout and "empty" in cli("bin").stdout


def test_an_entry_lasts_thirty_days() -> None:
    assert catalog_bin.DAYS == 30


@pytest.mark.parametrize("what", ["a library", "a document"])
def test_a_change_of_the_bin_between_two_looks_shows_in_the_state(engine: Engine, tmp_path: Path, what: str) -> None:
    name = a_file(engine, tmp_path)
    library = engine.settings.library

    def remove() -> None:
        run(engine.libraries.clear(library=library) if what == "a library" else engine.documents.remove([name]))

    remove()
    binned = run(engine.admin.state())
    run(engine.bin.restore(run(engine.bin.list())[0].id))
    remove()
    again = run(engine.admin.state())
    run(engine.bin.empty())
    gone = run(engine.admin.state())

    assert HOME in again.changed(binned)
    assert HOME in gone.changed(again)
    assert run(engine.admin.state()).changed(gone) == []
