"""Libraries have an id, so that their names can change, and several are searched as one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection

from hybrid_core.errors import NotFoundError, UsageError
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.types.jobs import JobRequest
from hybrid_core.types.libraries import Library, library_called
from hybrid_core.types.results import PageFound
from hybrid_pageindex import Engine, run
from tests import pdfs
from tests.postgres import catalog_of

QUESTIONS = ("net sales of Amcor in 2023", "capital expenditure", "What was the dividend per share?", "risk factors")


@pytest.fixture(scope="module")
def homes(filings: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, Engine]]:
    """The same files in one library, and split over three."""
    folder = tmp_path_factory.mktemp("libraries")
    with closing(Engine(folder / "one")) as one, closing(Engine(folder / "three")) as three:
        run(one.index(filings, workers=2))
        for at, name in enumerate(("a", "b", "c")):
            run(three.index(filings[at::3], library=name, workers=2))
        yield one, three


def pages(found: tuple[PageFound, ...]) -> list[tuple[str, int]]:
    return [(page.doc_name, page.page) for page in found]


@pytest.mark.parametrize("question", QUESTIONS)
def test_several_libraries_rank_as_one(homes: tuple[Engine, Engine], question: str) -> None:
    one, three = homes
    expected = run(one.search(question, top_k=30, effort="fast"))
    for scope in ({"all_libraries": True}, {"library": ["c", "a", "b"]}):
        found = run(three.search(question, top_k=30, effort="fast", **scope))  # type: ignore[arg-type]
        assert pages(found.results) == pages(expected.results)
        assert [p.score for p in found.results] == pytest.approx([p.score for p in expected.results], rel=1e-5)
        assert found.evidence.score == pytest.approx(expected.evidence.score)
    assert {page.library for page in found.results} <= {"a", "b", "c"}
    shape = found.to_dict()
    assert shape["library"] == "c, a, b" and {page["library"] for page in shape["results"]} <= {"a", "b", "c"}
    assert not any("library" in page for page in expected.to_dict()["results"])


def test_no_library_is_called_by_an_empty_name() -> None:
    known = [Library("1", "reports"), Library("2", "letters", "post")]
    for some in (known, known[:1], []):
        assert library_called("", some) is None
    assert library_called("POST", known) == known[1]


def test_a_page_is_read_where_its_result_says(homes: tuple[Engine, Engine]) -> None:
    _, three = homes
    (page,) = run(three.search("net sales", top_k=1, all_libraries=True, effort="fast")).results
    (read,) = run(three.pages(page.doc_id, page.page, library=page.library))
    assert read.doc_name == page.doc_name
    answer = run(three.ask("net sales", all_libraries=True, top_k=2))
    assert answer.sources[0].library == page.library and answer.sources[0].text


def test_scopes_that_cannot_be(homes: tuple[Engine, Engine]) -> None:
    _, three = homes
    with pytest.raises(UsageError, match="Name libraries, or ask for all libraries, but not both"):
        run(three.search("q", library="a", all_libraries=True))
    with pytest.raises(NotFoundError, match=r"library 'd' does not exist.*a, b, c"):
        run(three.search("q", library=["a", "d"]))


def test_names_change_and_documents_stay(tmp_path: Path, filings: list[Path]) -> None:
    with closing(Engine(tmp_path / "home")) as engine:
        run(engine.index(filings[:1], library="reports", workers=1))
        before = run(engine.search("net sales", library="reports", effort="fast")).results
        named = run(engine.libraries.name("REPORTS", name="年报", alias="Ｒéports"))
        assert (named.id, named.name, named.alias) == ("reports", "年报", "Ｒéports")
        for name in ("年报", "réports", "RÉPORTS"):  # whatever the case and width
            found = run(engine.search("net sales", library=name, effort="fast"))
            assert found.results == before and found.library == "年报"
        assert run(engine.documents.list(library="年报"))[0].library == "年报"
        assert {f.status for f in run(engine.index(filings[:1], library="réports", workers=1)).files} == {"unchanged"}
        with pytest.raises(NotFoundError, match=r"library 'reports' does not exist.*年报"):
            run(engine.search("net sales", library="reports"))
        run(engine.index(filings[1:2], library="reports", workers=1))  # the name is free again
        assert {size.name: size.id for size in run(engine.libraries.list())} == {
            "年报": "reports",
            "reports": "reports~2",
        }
        assert (
            len(run(engine.documents.list(library="reports"))) == len(run(engine.documents.list(library="年报"))) == 1
        )
        with pytest.raises(UsageError, match="A library named '年报'"):
            run(engine.libraries.name("reports", alias="rÉports"))
        with pytest.raises(UsageError, match="A library named 'reports' already exists"):
            run(engine.libraries.create("Ｒeports"))
        assert run(engine.libraries.clear(library="年报")) == ["年报"]
        assert [size.name for size in run(engine.libraries.list())] == ["reports"]


def test_libraries_are_listed_by_last_use_and_found_by_name(tmp_path: Path) -> None:
    with closing(Engine(tmp_path / "home")) as engine:
        for name in ("one", "two", "three"):
            run(engine.libraries.create(name, alias=f"Ｎｏ {name}" if name == "two" else ""))
            for file in (tmp_path / "home").glob("libraries/*~used"):
                os.utime(file, (1, 1))
            run(engine.search("anything", library=name, effort="fast"))
        assert [size.name for size in run(engine.libraries.list())] == ["three", "one", "two"]
        assert [size.name for size in run(engine.libraries.list("T"))] == ["three", "two"]
        assert [size.name for size in run(engine.libraries.list("no t"))] == ["two"]
        shutil.rmtree(tmp_path / "home" / "libraries")
        assert [size.used_at for size in run(engine.libraries.list())] == [""] * 3


def test_a_library_tells_when_a_document_of_it_last_changed(tmp_path: Path) -> None:
    with closing(Engine(tmp_path / "home")) as engine:
        for name in ("one.txt", "two.txt"):
            (tmp_path / name).write_text(f"The tide of {name}.")
            run(engine.index(tmp_path / name))
        run(engine.libraries.create("empty"))
        newest = max(document.indexed_at for document in run(engine.documents.list()))
        assert {size.name: size.changed_at for size in run(engine.libraries.list())} == {"default": newest, "empty": ""}


def test_vectors_count_where_all_libraries_have_those_of_one_model(tmp_path: Path) -> None:
    texts = {"a": "The tide in Dover is high.", "b": "Tides in Calais are low.", "c": "Ferries wait for the tide."}
    files = [tmp_path / f"{name}.md" for name in texts]
    for file in files:
        file.write_text(f"# {file.stem}\n\n{texts[file.stem]}\n")
    with closing(Engine(tmp_path / "home")) as engine:
        for name, some in (("all", files), ("x", files[:1]), ("y", files[1:])):
            run(engine.index(some, library=name, workers=1))
            run(engine.models.embed("hashed:16", library=name))
        one = run(engine.search("tide in Calais", library="all", effort="fast"))
        two = run(engine.search("tide in Calais", library=["x", "y"], effort="fast"))
        assert pages(two.results) == pages(one.results) and two.embedded_share == 1.0
        assert [p.score for p in two.results] == pytest.approx([p.score for p in one.results], rel=1e-5)
        run(engine.models.embed("hashed:32", library="y"))
        other = run(engine.search("tide in Calais", library=["x", "y"], effort="fast"))
        assert any("vectors of different models" in note for note in other.notes) and other.results


def test_libraries_count_what_waits_and_failed_and_say_what_to_do(engine: Engine, tmp_path: Path) -> None:
    good = pdfs.numbered(tmp_path / "good.pdf", 2, "spits")
    (tmp_path / "first.pdf").write_bytes(b"")
    run(engine.index([good, tmp_path / "first.pdf"]))
    with closing(catalog_of(engine.home)) as catalog:
        JobQueue(catalog).enqueue([JobRequest("default", "index", str(good), "parse")])
    [size] = run(engine.libraries.list())
    assert (size.documents, size.pages, size.waiting, size.failed) == (1, 2, 1, 1)
    assert size.last_error.startswith("first.pdf: the file is empty.") and size.last_error.endswith(
        "or remove the document."
    )
    home = run(engine.libraries.overview())
    assert home.libraries == (size,) and home.catalog_bytes > 0 and home.original_bytes == 0
    good.write_bytes(b"")
    run(engine.index(good))
    [size] = run(engine.libraries.list())
    assert (size.documents, size.failed) == (1, 2), "the version of before can still be searched"


def test_a_job_that_ends_between_two_looks_is_counted(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits, or its document is there: whichever of the two is read first."""
    run(engine.index(pdfs.numbered(tmp_path / "a.pdf", 2, "reeds"), detach=True))
    database = engine._catalog()._database
    reading, looks = database.reading, list[str]()

    @contextmanager
    def look() -> Iterator[Connection]:
        with reading() as connection:
            yield connection
        looks.append("look")
        if len(looks) == 1:
            run(engine.jobs.work(concurrency=1, enough=lambda: True))

    monkeypatch.setattr(database, "reading", look)
    [size] = run(engine.libraries.list())
    assert len(looks) > 2 and size.documents + size.waiting > 0
    [size] = run(engine.libraries.list())
    assert (size.documents, size.waiting) == (1, 0)
