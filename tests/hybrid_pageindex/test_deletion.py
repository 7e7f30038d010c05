"""What is deleted for good is gone: no word of it stands in any file of the home, in the database or in the bucket."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import pytest

from hybrid_core.logs import PlainFormatter, set_up
from hybrid_core.store import words as words_module
from hybrid_core.store.catalog import bin as catalog_bin
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_pageindex import Engine, run
from hybrid_pageindex.cli.index_progress import worker_progress
from tests import buckets, pdfs, postgres, qdrant_real
from tests.conftest import Cli

WORD = "quetzalcoatlus"  # stands in the text of the document that is deleted, and nowhere else
TEXT = f"# The {WORD}\n\n" + "".join(
    f"The {WORD} {n} flew to {WORD}{n} bay.\n\n## Part {n} {WORD}\n\n" for n in range(40)
)
PAGE = Path(__file__).parents[2] / "docs" / "operating.md"
DOCUMENTED = re.compile(r"^(ALTER SYSTEM .*|SELECT pg_.*|VACUUM .*|CHECKPOINT);$", re.MULTILINE)
WAYS = ("for good", "through the bin", "with its library", "changed")


def holders(folder: Path) -> list[str]:
    """Return the files below a folder that hold the word in any common form, compressed parts included.

    Look again if a file is renamed meanwhile, since the engine may write its search index at that moment.
    """
    while True:
        with suppress(FileNotFoundError):
            return _holders(folder)


def _holders(folder: Path) -> list[str]:
    forms = [WORD.encode(code) for code in ("utf-8", "utf-16-le", "utf-16-be")]
    holding = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes().replace(b"\0" * 4096, b"")  # most of an index's files are holes
        lowered = content.lower()
        if any(form in lowered for form in forms) or _in_compressed(content):
            holding.append(str(path.relative_to(folder)))
    return holding


def _in_compressed(content: bytes) -> bool:
    """Return whether a zlib stream anywhere in the bytes holds the word."""
    for header in (b"\x78\x9c", b"\x78\xda", b"\x78\x01", b"\x78\x5e"):
        at = content.find(header)
        while at >= 0:
            with suppress(zlib.error):
                if WORD.encode() in zlib.decompressobj().decompress(content[at : at + 50_000]).lower():
                    return True
            at = content.find(header, at + 1)
    return False


def fill(engine: Engine, folder: Path, *, scanned: bool = True) -> None:
    """Index the document among others, search and read it, and cache what a model said and OCR read of it."""
    folder.mkdir()
    for number in range(5):
        pdfs.numbered(folder / f"{number}.pdf", 4, f"harbour {number}")
    run(engine.index(folder))
    run(engine.index(TEXT.encode(), name="flight.md"))
    run(engine.models.embed("hashed:16"))
    assert run(engine.search(WORD)).results and run(engine.grep(WORD)).total_pages
    run(engine.documents.briefing("flight.md"))
    run(engine.pictures.page("flight.md", 1))
    [document] = [each for each in run(engine.documents.list()) if each.name == "flight.md"]
    keys = ["reply/a", "part/summary/b", *([f"ocr/{document.sha256}/engine/1"] if scanned else [])]
    engine._context.parts.cache.put({key: f"The {WORD} flew.".encode() for key in keys} | {"layout/other": b"stays"})


def delete(engine: Engine, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "for good":
        run(engine.documents.remove(["flight.md"], for_good=True))
    elif how == "through the bin":
        run(engine.documents.remove(["flight.md"]))
        with monkeypatch.context() as patch:
            patch.setattr(catalog_bin, "DAYS", -1)  # its time is over
            assert run(engine.bin.list()) == []
    elif how == "with its library":
        run(engine.libraries.clear(library="default", for_good=True))
    else:  # replaced by another text, and then removed
        run(engine.index(b"# Another\n\nA heron stands in the bay.\n", name="flight.md"))
        run(engine.documents.remove(["flight.md"], for_good=True))


@pytest.mark.usefixtures("in_a_file")
@pytest.mark.parametrize("how", WAYS)
def test_no_word_is_left_in_any_file_of_the_home(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words_module, "_MIN_PAGES", 1)  # so that words of pages are written to files
    home = tmp_path / "home"
    with closing(Engine(home)) as engine:
        fill(engine, tmp_path / "files", scanned=how != "changed")  # OCR texts of former bytes go when room is needed
        before = holders(home)
        assert {name.partition("/")[0] for name in before} >= {"originals", "words", "cache.sqlite-wal"}
        delete(engine, how, monkeypatch)
        assert holders(home) == [], "at once, while the engine runs"
        assert engine._context.parts.cache.get("layout/other") == b"stays"
        if how != "with its library":
            assert run(engine.search("harbour 3 page 2")).results and run(engine.admin.doctor()).ok
            assert not [hit for hit in run(engine.search(WORD)).results if hit.doc_name == "flight.md"]
    assert holders(home) == []


@pytest.fixture
def usual_logs() -> Iterator[None]:
    yield
    set_up(PlainFormatter(), "warning")


@pytest.mark.usefixtures("usual_logs")
@pytest.mark.parametrize("form", ["text", "json"])
def test_no_word_stands_in_a_log(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PAGEINDEX_LOG_LEVEL", "debug")
    monkeypatch.setenv("PAGEINDEX_LOG_FORMAT", form)
    (tmp_path / "flight.md").write_text(TEXT)
    lines = cli("index", "--detach", tmp_path / "flight.md").stderr  # which sets up the logs, too
    with closing(Engine(tmp_path / "home")) as engine, worker_progress(json=False) as show:
        run(engine.jobs.work(enough=lambda: True, on_progress=show))
        [document] = run(engine.documents.list())
        assert any(WORD in warning for warning in document.warnings), "a heading without text is quoted"
    lines += cli("remove", "flight.md", "--for-good").stderr + capsys.readouterr().err
    assert "flight.md: 2 pages" in lines and "the stage parse ended" in lines and WORD not in lines.lower()
    assert form == "text" or all(line.startswith("{") for line in lines.splitlines())


def test_words_that_another_document_shares_stay(tmp_path: Path) -> None:
    """The same bytes in another library are another document: deleting one takes nothing from the other."""
    with closing(Engine(tmp_path / "home")) as engine:
        for library in ("default", "second"):
            run(engine.index(TEXT.encode(), name="flight.md", library=library))
        document = run(engine.documents.list())[0]
        engine._context.parts.cache.put({f"ocr/{document.sha256}/engine/1": b"read"})
        run(engine.documents.remove(["flight.md"], for_good=True))
        assert run(engine.search(WORD, library="second")).results
        assert engine._context.parts.cache.get(f"ocr/{document.sha256}/engine/1") == b"read"
        assert run(engine.documents.original("flight.md", library="second")).read_bytes() == TEXT.encode()


@contextmanager
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Engine, postgres.Server, list[Path]]]:
    """An engine over a PostgreSQL server, a bucket and, where there is one, a Qdrant node, whose folder comes last."""
    with ExitStack() as stack:
        server, bucket = stack.enter_context(postgres.server()), stack.enter_context(buckets.bucket())
        nodes = stack.enter_context(qdrant_real.cluster()) if qdrant_real.program() else []
        for name, value in buckets.variables(bucket).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("PAGEINDEX_POSTGRES_URL", postgres.plain(postgres.new_database(server.url)))
        monkeypatch.setenv("PAGEINDEX_QDRANT_URL", ",".join(node.url for node in nodes))
        with closing(Engine(tmp_path / "home")) as engine:
            yield engine, server, [node.folder for node in nodes]


def in_bucket(catalog: Catalog) -> list[str]:
    """Return the objects of the bucket that hold the word."""
    store = catalog.objects._store  # type: ignore[attr-defined]
    obstore = catalog.objects._obstore  # type: ignore[attr-defined]
    paths = [entry["path"] for part in obstore.list(store) for entry in part]
    return [path for path in paths if WORD.encode() in bytes(obstore.get(store, path).bytes()).lower()]


@pytest.mark.slow
@pytest.mark.parametrize("how", WAYS[:2])
def test_no_word_is_left_in_a_database_server_and_a_bucket(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows are gone at once. The server's files follow with the statements that the documentation names.

    A Qdrant server never has the words, only numbers that stand for them.
    """
    with cluster(tmp_path, monkeypatch) as (engine, server, nodes):
        fill(engine, tmp_path / "files")
        [document] = [each for each in run(engine.documents.list()) if each.name == "flight.md"]
        catalog = engine._context.parts.catalog
        catalog.objects.keep_derived("readings", f"ocr/{document.sha256}/engine/1", WORD.encode())
        assert len(in_bucket(catalog)) == 2
        assert not [name for folder in nodes for name in holders(folder)]
        url = engine.settings.postgres_url.replace("postgresql:", "postgresql+psycopg:")
        delete(engine, how, monkeypatch)
        assert in_bucket(catalog) == [] and holders(engine.home) == []
        data = server.folder / "data"
        for statement in DOCUMENTED.findall(PAGE.read_text(encoding="utf-8")):
            postgres.ordered(url, statement)
        assert holders(data) == []
        assert run(engine.search("harbour 3 page 2")).results
