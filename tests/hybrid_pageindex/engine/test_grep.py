"""Exhaustive search is complete: it finds what reading every page finds, in every scope, and says where it stopped."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hybrid_core.errors import NotFoundError, UsageError
from hybrid_core.store.words import Segment
from hybrid_core.text.exact_words import WordQuery
from hybrid_pageindex import Engine, run
from hybrid_pageindex.config.settings import Settings

TEXTS = {
    "a/lease.md": "# Lease\n\nThe tenant’s indem-\nnification survives. Change-of-control clause."
    "\n\n## Rent\n\nRent is $1,200.\n",
    "a/sale.md": "# Sale\n\nNo change of\ncontrol. Indemnify the seller; rental value $3,400.\n",
    "b/memo.md": "# Mémo\n\nLe résumé du bail. Wohnstraße 7, 个人信息 保护.\n",
}


def _indexed(engine: Engine, folder: Path) -> Engine:
    for name, text in TEXTS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    run(engine.index(folder / "a", library="a"))
    run(engine.index(folder / "b", library="b"))
    return engine


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory, databases: Callable[[], str]) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("texts")
    with_texts = _indexed(Engine(settings=Settings(storage_path=folder / "home", postgres_url=databases())), folder)
    yield with_texts
    with_texts.close()


@pytest.fixture
def changing(engine: Engine, tmp_path: Path) -> Engine:
    return _indexed(engine, tmp_path)


@pytest.mark.parametrize(
    ("pattern", "regex", "documents"),
    [
        ("indemnification", False, ["lease.md"]),
        ("change of control", False, ["lease.md", "sale.md"]),
        ("indemn*", False, ["lease.md", "sale.md"]),
        ("tenant's", False, ["lease.md"]),
        ("rent", False, ["lease.md"]),
        ("resume", False, ["memo.md"]),
        ("wohnstrasse 7", False, ["memo.md"]),
        ("个人信息", False, ["memo.md"]),
        (r"\$\d,\d00", True, ["lease.md", "sale.md"]),
        (r"(?-i)indemnify", True, []),
        (r"(?:seller|tenant).{0,3}", True, ["lease.md", "sale.md"]),
        ("nowhere", False, []),
    ],
)
def test_every_page_is_found(texts: Engine, pattern: str, regex: bool, documents: list[str]) -> None:
    found = run(texts.grep(pattern, regex=regex, all_libraries=True, listed="documents"))
    assert found.complete and found.pages_searched == found.pages_in_scope == 3
    assert [one.document for one in found.documents] == documents
    assert (found.total_documents, found.total_pages) == (len(documents), sum(one.pages for one in found.documents))
    listed = run(texts.grep(pattern, regex=regex, all_libraries=True, context=1))
    assert [page.document for page in listed.pages] == documents
    assert all(page.places and page.matches >= len(page.places) for page in listed.pages)


LINKED = {
    "web.md": '# Web\n\nThe [mill](https://ferry.example/sluice) of ![weir](ferry.png "A ferry").\n\n'
    "See [the quay][1].\n\n[1]: https://ferry.example/lock\n",
    "web.html": "<h1>Page</h1><p>The <a href='https://ferry.example/sluice'>mill</a> of "
    "<img src='ferry.png' alt='weir'> and the <a href='quay.html'>quay</a>.</p>",
}


@pytest.mark.parametrize("name", LINKED)
def test_words_of_addresses_do_not_count_and_addresses_are_found(engine: Engine, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(LINKED[name], encoding="utf-8")
    run(engine.index(tmp_path / name))
    for word in ("ferry", "sluice", "png", "https", "ferry*", "ferry example"):
        assert run(engine.grep(word)).total_pages == 0, word
    for word in ("mill", "weir", "quay", "mill of"):
        assert run(engine.grep(word)).total_matches == 1, word
    if name == "web.md":
        [page] = run(engine.grep("https://ferry.example/lock")).pages
        assert page.matches == 1 and page.places[0].text == "[1]: https://ferry.example/lock"
        assert run(engine.grep(r"ferry\.example/\w+", regex=True)).total_matches == 2
        assert run(engine.grep("ferry.example/sluice")).total_matches == 1


def test_a_scope_narrows_what_is_counted(texts: Engine) -> None:
    assert run(texts.grep("control", library="a")).total_documents == 2
    assert run(texts.grep("control", library="b")).total_documents == 0
    assert run(texts.grep("control", library="a", documents="sale.md")).total_documents == 1
    outline = run(texts.outline("lease.md", library="a"))
    node = next(one.section.node_id for one in outline.nodes if one.section.title == "Rent")
    assert run(texts.grep("rent", library="a", documents="lease.md", node=node)).total_pages == 1
    with pytest.raises(NotFoundError):
        run(texts.grep("rent", library="a", documents="lease.md", node="9999"))
    with pytest.raises(NotFoundError):
        run(texts.grep("rent", library="a", documents="none.md"))


def test_what_came_and_went_is_counted_at_once(changing: Engine, tmp_path: Path) -> None:
    assert run(changing.grep("bail", library="b")).total_documents == 1
    (tmp_path / "b" / "two.md").write_text("# Bail\n\nbail bail\n", encoding="utf-8")
    run(changing.index(tmp_path / "b" / "two.md", library="b"))
    assert run(changing.grep("bail", library="b")).total_matches == 4
    run(changing.documents.remove(["memo.md"], library="b"))
    assert run(changing.grep("bail", library="b")).total_documents == 1


def test_a_cursor_lists_every_page_once(library: Engine) -> None:
    whole = run(library.grep("the", limit=1000))
    for listed in ("pages", "documents"):
        cursor, rows = "", []
        while True:
            part = run(library.grep("the", limit=3, listed=listed, cursor=cursor))
            assert part.total_pages == whole.total_pages
            rows += [(one.doc_id, getattr(one, "page", 0)) for one in (*part.pages, *part.documents)]
            if not (cursor := part.cursor):
                break
        assert len(rows) == len(set(rows)) == (whole.total_pages if listed == "pages" else whole.total_documents)
    with pytest.raises(UsageError):
        run(library.grep("other", cursor="12345678.x.1"))


def test_a_search_that_stops_says_so_and_goes_on(library: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybrid_pageindex.engine.search.grep._CHUNK", 2)
    whole = run(library.grep(r"\d+\.\d", regex=True, limit=1000))
    for _ in range(1000):
        part = run(library.grep(r"\d+\.\d ?", regex=True, limit=1000, seconds=1e-9))
        if part.complete:
            break
        assert part.note and 0 < part.pages_searched < part.pages_in_scope
    assert part.complete and [page.page for page in part.pages] == [page.page for page in whole.pages]


@pytest.mark.parametrize("pattern", ["(", r"(a)\1", "(?=x)", "x{1001}", "a*", "[", "(?P<n", "\\"])
def test_a_bad_expression_is_refused(texts: Engine, pattern: str) -> None:
    with pytest.raises(UsageError):
        run(texts.grep(pattern, regex=True, library="a"))


def test_an_expression_cannot_take_long(changing: Engine, tmp_path: Path) -> None:
    (tmp_path / "b" / "evil.md").write_text("# Evil\n\n" + "a" * 30_000 + "b\n", encoding="utf-8")
    run(changing.index(tmp_path / "b" / "evil.md", library="b"))
    assert run(changing.grep("(a|aa)+$", regex=True, library="b", seconds=20)).complete


def test_words_are_read_again_from_their_file(tmp_path: Path) -> None:
    made = Segment.build([("x", ["one two two", "two three"]), ("y", ["twofold"])])
    read = made.write(tmp_path / "words" / "a.words")
    for segment in (made, read):
        assert [part.tolist() for part in segment.pages_with("two")] == [[0, 1], [2, 1]]
        assert segment.pages_with("two", prefix=True)[0].tolist() == [0, 1, 2]
        assert segment.pages_with_part("wo")[0:].tolist() == [0, 1, 2]
        assert segment.pages_with("zzz")[0].tolist() == segment.pages_with("aaa", prefix=True)[0].tolist() == []
    (tmp_path / "words" / "a.words").write_bytes((tmp_path / "words" / "a.words").read_bytes()[:-3])
    with pytest.raises(ValueError, match="cut short"):
        Segment.open(tmp_path / "words" / "a.words")


def test_contracts_are_counted_as_reading_them_counts(engine: Engine) -> None:
    data = os.environ.get("PAGEINDEX_EVAL_DATA")
    if not data:
        pytest.skip("needs PAGEINDEX_EVAL_DATA")
    files = sorted((Path(data) / "cuad").rglob("*.pdf"))[:12]
    run(engine.index(files))
    documents = [one for one in run(engine.documents.list()) if one.published]
    pages = {one.doc_id: run(engine.pages(one.doc_id, f"1-{one.pages}")) for one in documents}
    for pattern in ("most favored nation", "indemnif*", "governing law", "the", "exclusive"):
        wanted = WordQuery(pattern)
        held = [(doc, page.page) for doc, read in pages.items() for page in read if any(wanted.spans(page.text))]
        assert run(engine.grep(pattern)).total_pages == len(held)
    regex = r"change\s+(?:of|in)\s+control"
    held = [1 for read in pages.values() for page in read if re.search(regex, page.text, re.IGNORECASE)]
    assert run(engine.grep(regex, regex=True)).total_pages == len(held)
