"""The typed client gives what the engine gives: the same tests, of the same documents, by both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hybrid_core.errors import NotFoundError, PageIndexError, UnreachableError, UsageError
from hybrid_core.types.results import ReasoningStep
from hybrid_pageindex import Engine, SearchRequest
from hybrid_pageindex.client import Client, RefusedError
from hybrid_pageindex.http.api import FILE, describe_api
from tests import pdfs
from tests.interfaces.http.conftest import START, Serving, serving

WHERE = pdfs.landmark("dunes", 2)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("client")


@pytest.fixture(scope="module")
def both(home: Path) -> AsyncIterator[Serving]:
    with serving(home, "--root", str(home)) as served:
        yield served


@pytest.fixture(params=["engine", "client"])
async def used(request: pytest.FixtureRequest, both: Serving) -> AsyncIterator[Any]:
    """An engine, or a client of a server, of the same home with one document."""
    async with Client(both.url, START) as client:
        if not [one for one in await client.libraries.list() if one.documents]:
            await client.libraries.create("default")
            file = pdfs.numbered(both.home / "dunes.pdf", 3, "dunes")
            [done] = await client.jobs.wait(await client.upload(file))
            assert done["status"] == "done"
        if request.param == "client":
            yield client
            return
    async with Engine(both.home) as engine:
        yield engine


async def test_a_question_finds_its_page(used: Any) -> None:
    found = await used.search(WHERE, top_k=2)
    assert (found.results[0].doc_name, found.results[0].page) == ("dunes.pdf", 2)
    assert found.results[0].receipt.terms and found.results[0].why and found.evidence.level == "strong"
    asked = SearchRequest(WHERE, documents=("dunes.pdf",), trace=True)
    assert (await used.search(asked)).trace.coarse
    steps: list[ReasoningStep] = []
    assert (await used.search(WHERE, on_step=steps.append)).results == found.results[:5] or not steps


async def test_a_question_without_a_model_has_its_sources(used: Any) -> None:
    answer = await used.ask(WHERE)
    assert answer.status == "no_model" and answer.sources[0].page == 2
    told: list[str] = []
    assert (await used.ask(WHERE, on_text=told.append)).sources == answer.sources and not told


async def test_words_are_counted_and_documents_compared(used: Any) -> None:
    counted = await used.grep("dunes", limit=2, context=1)
    assert (counted.total_pages, counted.total_documents, counted.complete) == (3, 1, True) and counted.cursor
    rest = await used.grep("dunes", limit=2, context=1, cursor=counted.cursor)
    assert [page.page for page in (*counted.pages, *rest.pages)] == [1, 2, 3]
    listed = await used.grep("dun.s", regex=True, documents="dunes.pdf", listed="documents", seconds=20)
    assert listed.documents[0].pages == 3
    assert (await used.compare("dunes.pdf", "dunes.pdf")).changed == 0
    with pytest.raises(NotFoundError):
        await used.compare("dunes.pdf", "nothing.pdf")


async def test_a_document_is_read(used: Any) -> None:
    [document] = await used.documents.list()
    assert document == await used.documents.get(document.doc_id) and document.pages == 3
    listed = await used.documents.browse(sort="-name", limit=1)
    assert listed.documents == (document,) and listed.total == 1
    [row] = await used.documents.rows()
    assert (row.doc_id, row.pages, row.title) == (document.doc_id, 3, document.title)
    for briefing in (await used.documents.briefing(document.doc_id), await used.documents.briefing()):
        assert (briefing.documents, briefing.pages) == (1, 3) and briefing.parts[0].doc_id == document.doc_id
    [second, third] = await used.pages(document.doc_id, "2-3")
    assert WHERE in second.text and third.page == 3
    tree = await used.outline(document.doc_id, query=WHERE)
    assert tree.document == document and tree.nodes[0].node_score is not None
    layout = await used.pictures.layout(document.doc_id, 2)
    assert layout.words == await used.pictures.words(document.doc_id, 2) and layout.width > 100
    assert len(await used.pictures.boxes(document.doc_id, 2, WHERE)) == 1
    assert (await used.documents.find_words(document.doc_id, WHERE)).matches[0].page == 2
    assert (await used.pictures.page(document.doc_id, 2))[:4] == b"\x89PNG"


async def test_a_document_is_corrected_and_says_what_it_was(used: Any) -> None:
    corrected = await used.documents.edit("dunes.pdf", set={"year": "2019", "tags": "sand; wind"})
    assert corrected.corrections == {"year": "2019", "tags": "sand; wind"} and corrected.card.years == (2019,)
    back = await used.documents.edit("dunes.pdf", unset=["year", "tags"])
    assert back.corrections == {}
    [version] = await used.documents.versions("dunes.pdf")
    assert version.current and version.content_id == back.content_id and version.made.sha256 == back.sha256


async def test_a_conversation_goes_on_and_branches(used: Any) -> None:
    made = await used.conversations.create(libraries="default", title="Dunes")
    answer = await used.conversations.wait((await used.conversations.ask(made.id, WHERE, top_k=2)).id)
    assert answer.status == "complete" and answer.citations[0].page == 2
    events = [event async for event in used.conversations.stream(answer.id)]
    assert events[-1].kind == "ended" and events[-1].detail["text"] == answer.text
    second = await used.conversations.wait((await used.conversations.edit(answer.parent, "dunes on page 3")).id)
    assert [one.id for one in await used.conversations.messages(made.id)] == [second.parent, second.id]
    turned = await used.conversations.turn_to(made.id, answer.id)
    assert turned[-1] == await used.conversations.message(answer.id)
    again = await used.conversations.wait((await used.conversations.again(answer.id)).id)
    assert again.siblings == (answer.id, again.id) and not await used.conversations.cancel(again.id)
    assert (await used.conversations.rename(made.id, "Sand")).title == "Sand"
    assert (await used.conversations.export(made.id)).startswith("# Sand")
    place = await used.conversations.place(answer.id, 1)
    assert place.citation.doc_name == "dunes.pdf" and place.library == "default"
    [listed] = [one for one in await used.conversations.listed() if one.id == made.id]
    assert listed == await used.conversations.get(made.id) == await used.conversations.remove(made.id)
    with pytest.raises(NotFoundError):
        await used.conversations.message(answer.id)


def test_a_client_serves_one_event_loop_after_the_other(both: Serving) -> None:
    client = Client(both.url, START)

    async def asked() -> int:
        found = len(await client.libraries.list())
        await client.close()
        return found

    assert asyncio.run(asked()) == asyncio.run(asked())


async def test_libraries_are_made_and_named(used: Any) -> None:
    made = await used.libraries.create("short-lived", alias="kurz")
    assert (await used.libraries.name("kurz", name="renamed")).id == made.id
    assert [one.name for one in await used.libraries.list("renam")] == ["renamed"]
    assert await used.libraries.clear(library="renamed") == ["renamed"]


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda one: one.search(""), UsageError),
        (lambda one: one.search("x", library="none"), NotFoundError),
        (lambda one: one.search("x", documents=["none"]), NotFoundError),
        (lambda one: one.documents.get("none"), NotFoundError),
        (lambda one: one.pages("dunes.pdf", "9"), UsageError),
        (lambda one: one.pages("dunes.pdf", "nonsense"), UsageError),
        (lambda one: one.outline("dunes.pdf", node="9999"), NotFoundError),
        (lambda one: one.pictures.boxes("dunes.pdf", 2, "words that are not there"), NotFoundError),
        (lambda one: one.libraries.create(".."), UsageError),
        (lambda one: one.documents.get("x", library=""), UsageError),
        (lambda one: one.jobs.get(10**9), NotFoundError),
    ],
)
async def test_what_is_wrong_is_told_alike(used: Any, call: Any, kind: type[PageIndexError]) -> None:
    with pytest.raises(kind) as raised:
        await call(used)
    assert raised.value.message


async def test_what_only_a_client_meets(both: Serving, tmp_path: Path) -> None:
    async with Client(both.url, "wrong") as client:
        with pytest.raises(RefusedError) as raised:
            await client.libraries.list()
        assert raised.value.code == "token_refused"
    async with Client("http://127.0.0.1:9", START) as client:
        with pytest.raises(UnreachableError):
            await client.libraries.list()
    async with Client(both.url, START) as client:
        await client.search(WHERE)
        kept = await client.documents.original("dunes.pdf", tmp_path / "kept.pdf")
        assert kept.read_bytes() == (both.home / "dunes.pdf").read_bytes()


def test_the_description_is_the_one_that_is_checked_in() -> None:
    """Made anew by ``python -m hybrid_pageindex.http.api`` where the API was meant to change."""
    assert FILE.read_text(encoding="utf-8") == describe_api()
