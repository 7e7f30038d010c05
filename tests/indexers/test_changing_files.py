"""Files that change while they are read: what is stored under a file's hash is what that file holds."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hybrid_core.errors import DocumentError
from hybrid_core.system import Reach
from hybrid_core.types.files import FileStamp
from hybrid_pageindex import Engine, run
from hybrid_pageindex.engine.documents.originals import PageWork
from indexers.files import private_copy
from indexers.jobs import file_stages, improver, reader
from tests import pdfs
from tests.conftest import Cli
from tests.homes import settings_of
from tests.indexers.enrich.test_pages import describing
from tests.models_over_http import engine_with

Put = Callable[[Path, Path], object]


def copied(source: Path, target: Path) -> None:
    """In place: the file stays the same one."""
    target.write_bytes(source.read_bytes())


def replaced(source: Path, target: Path) -> None:
    beside = target.with_suffix(".new")
    shutil.copyfile(source, beside)
    beside.replace(target)


@pytest.fixture
def three(tmp_path: Path) -> tuple[Path, Path, Path]:
    """The file that is indexed, and what it holds by turns."""
    (tmp_path / "of").mkdir()
    a = pdfs.numbered(tmp_path / "of" / "a.pdf", 3, "heron")
    b = pdfs.numbered(tmp_path / "of" / "b.pdf", 4, "quagga")
    file = tmp_path / "in" / "file.pdf"
    file.parent.mkdir()
    shutil.copyfile(a, file)
    return file, a, b


def while_it_is_made(
    monkeypatch: pytest.MonkeyPatch, before: Callable[[], object], after: Callable[[], object]
) -> None:
    """Something else happens to a file after it was hashed, and again when its pages are made."""
    make = reader.Maker.make

    def made(*given: Any) -> Any:
        before()
        try:
            return make(*given)
        finally:
            after()

    monkeypatch.setattr(reader.Maker, "make", made)


def text(engine: Engine) -> str:
    (document,) = run(engine.documents.list())
    return "\n".join(page.text for page in run(engine.pages(document.doc_id, f"1-{document.pages}")))


def left_behind(engine: Engine) -> list[Path]:
    return list((engine.home / "tmp").glob("*"))


@pytest.mark.parametrize("put", [copied, replaced])
def test_another_file_there_and_back_leaves_the_first_one_s_pages(
    engine: Engine, three: tuple[Path, Path, Path], put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, a, b = three
    while_it_is_made(monkeypatch, lambda: put(b, file), lambda: put(a, file))
    assert run(engine.index(file)).files[0].pages == 3
    assert "heron" in text(engine) and "quagga" not in text(engine)
    assert left_behind(engine) == []


def test_a_file_that_is_another_one_afterwards_is_stored_as_it_was_and_it_is_said(
    engine: Engine, three: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, _, b = three
    with monkeypatch.context() as patched:
        while_it_is_made(patched, lambda: copied(b, file), lambda: None)
        result = run(engine.index(file)).files[0]
    assert result.status == "indexed" and "the file has changed since it was read: index it again" in result.note
    assert "heron" in text(engine)
    assert run(engine.index(file)).files[0].status == "indexed" and "quagga" in text(engine)


def test_a_file_that_holds_still_at_last_is_tried_again(
    engine: Engine, three: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file, _, b = three
    hashed = iter([lambda: copied(b, file), lambda: None])
    monkeypatch.setattr(file_stages, "_PAUSES", (0.0, 0.0))
    changing(monkeypatch, lambda: next(hashed, lambda: None)())
    result = run(engine.index(file)).files[0]
    assert result.status == "indexed" and "quagga" in text(engine) and left_behind(engine) == []
    elsewhere = Engine(tmp_path / "elsewhere")
    assert run(elsewhere.index(file)).files[0].doc_id == result.doc_id, "as where it held still at once"
    elsewhere.close()


def test_a_file_that_never_holds_still_is_refused_with_the_reason(
    engine: Engine, three: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, _, _ = three
    monkeypatch.setattr(file_stages, "_PAUSES", (0.0, 0.0))

    def grow() -> None:
        with file.open("ab") as stream:
            stream.write(b"more")

    tries = changing(monkeypatch, grow)
    result = run(engine.index(file)).files[0]
    assert result.status == "failed" and len(tries) == 3
    assert (
        result.error
        == "the file changed while it was read. Index the file again when no other program is writing to it."
    )
    assert left_behind(engine) == []


def changing(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> list[Path]:
    """Between its hash and its copy a file is changed. The files that were hashed."""
    hashed: list[Path] = []
    fingerprint = private_copy.fingerprint

    def then(file: Path, at: Path, reach: Reach | None) -> tuple[FileStamp, str]:
        found = fingerprint(file, at, reach)
        hashed.append(file)
        change()
        return found

    monkeypatch.setattr(file_stages, "fingerprint", then)
    return hashed


def test_what_is_written_to_while_it_is_hashed_does_not_hold_still(tmp_path: Path) -> None:
    file = tmp_path / "large.bin"
    file.write_bytes(bytes(3 * 2**20))
    seen: list[int] = []

    def write(data: memoryview) -> None:
        seen.append(len(data))
        with file.open("r+b") as stream:
            stream.write(b"another beginning")
        os.utime(file, (1, 1))  # a clock too coarse to tell must not decide this test

    with pytest.raises(DocumentError, match="changed while it was read"):
        private_copy._read_file(file, file, write)
    assert sum(seen) == 3 * 2**20


def test_messages_name_the_file_and_not_its_copy(engine: Engine, tmp_path: Path) -> None:
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7\n" + b"\x00" * 2_000)
    (result,) = run(engine.index(broken)).files
    assert result.error and str(engine.home) not in result.error and "broken.pdf" in f"{result.path}{result.error}"


def test_a_page_is_drawn_from_the_file_that_was_indexed(
    engine: Engine, three: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, a, b = three
    run(engine.index(file))
    first = run(engine.pictures.page("file.pdf", 2))
    engine._cache().clear()
    drawn = PageWork.run

    def swapped(*given: Any) -> object:
        copied(b, file)
        return drawn(*given)

    monkeypatch.setattr(PageWork, "run", swapped)
    assert run(engine.pictures.page("file.pdf", 2)) == first
    engine._cache().clear()
    with pytest.raises(
        DocumentError, match=r"file\.pdf: the file has changed since it was indexed\. Index the file again"
    ):
        run(engine.pictures.page("file.pdf", 2))
    copied(a, file)
    monkeypatch.setattr(PageWork, "run", drawn)
    assert run(engine.pictures.page("file.pdf", 2)) == first
    engine.close()  # until then the copy may serve another page
    assert left_behind(engine) == []


def test_models_see_the_file_that_was_indexed(
    tmp_path: Path, three: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai", reason="the extra openai is not installed")
    file, a, b = three

    def shown(home: Path) -> list[bytes]:
        copied(a, file)
        with engine_with(home, describing, "vlm", vision="always", ocr="never") as (engine, server):
            run(engine.index(file))
        return sorted(
            image
            for request in server.requests
            if request.title != "Word"
            for m in request.messages
            for image in m.images
        )

    still = shown(tmp_path / "still")
    drawn = improver.WorkerSight.drawn

    def swapped(*given: Any) -> Any:
        copied(b, file)
        return drawn(*given)

    monkeypatch.setattr(improver.WorkerSight, "drawn", swapped)
    assert len(still) == 3 and shown(tmp_path / "swapped") == still


def stored_wrongly(engine: Engine, three: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """As a former version could store it: the other file's pages under the hash of the one that is there."""
    file, _, b = three
    copy = private_copy.PrivateCopy

    class Wrong(copy):
        def __init__(self, path: Path, *given: Any) -> None:
            copied(b, path)
            super().__init__(path, *given)

    with monkeypatch.context() as patched:
        patched.setattr(private_copy, "PrivateCopy", Wrong)
        assert run(engine.index(file)).files[0].pages == 4
    assert "quagga" in text(engine) and run(engine.index(file)).files[0].status == "unchanged"


def test_contents_of_another_file_are_found_and_made_again(
    engine: Engine, three: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stored_wrongly(engine, three, monkeypatch)
    run(engine.index(pdfs.numbered(tmp_path / "in" / "right.pdf", 2, "plover"), library="other"))
    assert run(engine.search("quagga")).results, "a searcher that holds the content"
    told: list[tuple[int, int]] = []
    found = run(engine.admin.doctor(deep=True, on_progress=lambda *done: told.append(done)))
    checks = {check.name: check for check in found.checks}
    assert told == [(0, 2), (1, 2), (2, 2)]
    assert checks["contents"].detail == "1 of 2 match their files"
    wrong = checks["content of file.pdf"]
    assert not wrong.ok and not found.ok
    assert wrong.detail == "pages 1-4 differ from its file; repair it with doctor --deep --mend"
    mended = {check.name: check for check in run(engine.admin.doctor(mend=True)).checks}["content of file.pdf"]
    assert mended.ok and mended.detail == "pages 1-4 differed from its file; the document was indexed again"
    assert "heron" in text(engine)
    assert run(engine.search("heron")).results and not run(engine.search("quagga")).results
    assert {c.name: c.ok for c in run(engine.admin.doctor(deep=True)).checks}["contents"]


def test_what_cannot_be_made_again_is_taken_out_and_said(
    engine: Engine, three: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    stored_wrongly(engine, three, monkeypatch)

    def refused(*_: object) -> Any:
        raise DocumentError("it is refused.")

    monkeypatch.setattr(reader.Maker, "make", refused)
    check = {check.name: check for check in run(engine.admin.doctor(mend=True)).checks}["content of file.pdf"]
    assert not check.ok and "were removed" in check.detail and "it is refused." in check.detail
    assert not run(engine.search("quagga")).results
    (document,) = run(engine.documents.list())
    assert not document.published


def test_doctor_compares_from_the_command_line(program: Cli, three: tuple[Path, Path, Path]) -> None:
    file, _, b = three
    assert program("index", file).returncode == 0
    deep = program("doctor", "--deep")
    assert "compared 1 of 1 documents" in deep.stderr and "contents: 1 of 1 match their files" in deep.stdout
    copied(b, file)
    found = json.loads(program("doctor", "--deep", "--json").stdout)
    (contents,) = (check for check in found["checks"] if check["name"] == "contents")
    assert contents["ok"] and "1 not compared: their files have changed; index reads them again" in contents["detail"]


def test_pages_read_by_ocr_or_improved_are_no_damage(tmp_path: Path) -> None:
    engine = Engine(settings=settings_of(tmp_path / "home", ocr="never"))
    run(engine.index([pdfs.scanned(tmp_path / "scan.pdf"), pdfs.bookmarked(tmp_path / "book.pdf")]))
    found = {check.name: check for check in run(engine.admin.doctor(deep=True)).checks}
    assert found["contents"].detail == "2 of 2 match their files"
    engine.close()
