"""Many questions at once with a slow model: none fails, few connections are used, and none is held while it thinks."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from hybrid_core.llm.chat import Request
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.limiter import Limiter
from hybrid_core.store.sqlite import CONNECTIONS
from hybrid_pageindex import Engine, run
from hybrid_pageindex.engine.concurrency import THINKING
from hybrid_pageindex.engine.documents.page_views import Pictures
from tests import pdfs
from tests.doubles.replies import Answer, FakeEndpoint
from tests.homes import OwnHome, settings_of
from tests.models_over_http import engine_with
from tests.tiny_models import EmbeddingServer, Reply, embedding_server, embeddings

pytestmark = pytest.mark.slow

QUESTION = "What were the net sales of Corvane Optics in fiscal 2023?"
MANY = 200
PATIENCE = 300  # seconds after which a test has failed, however busy the machine


def turn(**said: Any) -> dict[str, Any]:
    return {"reasoning": "There.", "expand": [], "read": [], "pages": [], "sections": []} | said


NAMED = turn(pages=[{"document": "D1", "page": 5}])


def thinking(home: Path, answer: Answer, at_once: int = MANY, **settings: Any) -> Engine:
    chat = ChatModel(FakeEndpoint(answer), limiter=Limiter(at_once))
    return Engine(settings=settings_of(home, **settings), chat=chat)


def in_use(engine: Engine) -> int:
    return int(engine._catalog()._database.engine.pool.checkedout())  # type: ignore[attr-defined]


@contextmanager
def counted(engine: Engine) -> Iterator[list[int]]:
    """How many connections were in use at each time that one was taken."""
    seen: list[int] = []
    connections = engine._catalog()._database.engine

    def taken(*_: object) -> None:
        seen.append(in_use(engine))

    event.listen(connections, "checkout", taken)
    yield seen
    event.remove(connections, "checkout", taken)


async def ask_many(engine: Engine, number: int) -> list[Any]:
    return await asyncio.gather(*(engine.search(f"{QUESTION} {n}", effort="deep") for n in range(number)))


@pytest.mark.usefixtures("in_a_file")
def test_two_hundred_deep_searches_wait_for_the_model_side_by_side(tmp_path: Path, filings: list[Path]) -> None:
    folded: list[tuple[int, ...]] = []
    all_in = threading.Barrier(MANY, action=lambda: folded.append(look()))

    def answer(_: Request) -> dict[str, Any]:
        all_in.wait(PATIENCE)
        return NAMED

    def look() -> tuple[int, ...]:
        """What is in use while all of them think, and what comes of folding back the write-ahead log."""
        engine._catalog().ensure_library("written while they think")
        with sqlite3.connect(engine._catalog().path, timeout=0) as other:
            found = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        other.close()
        return in_use(engine), *found

    assert MANY <= THINKING
    engine = thinking(tmp_path / "home", answer)
    run(engine.index(filings, enrich="never"))
    with counted(engine) as seen:
        results = run(ask_many(engine, MANY))
    engine.close()
    assert [result.effort.used for result in results] == ["deep"] * MANY
    assert {result.results[0].page for result in results} == {5}
    assert 0 < max(seen) <= CONNECTIONS
    assert folded == [(0, 0, 0, 0)], "connections in use; busy, pages in the log, pages folded back"


def test_waiting_for_a_place_is_no_part_of_a_question_s_seconds(library: Engine) -> None:
    """The second one begins when its seconds would have been over."""
    go = threading.Event()

    def answer(request: Request) -> dict[str, Any]:
        if len(endpoint.requests) == 1:
            assert go.wait(PATIENCE)
        return NAMED

    endpoint = FakeEndpoint(answer)
    settings = replace(library.settings, reason_seconds=4)
    engine = Engine(settings=settings, chat=ChatModel(endpoint, limiter=Limiter(1)))

    async def both() -> list[Any]:
        asked = asyncio.ensure_future(ask_many(engine, 2))
        while not endpoint.requests:
            await asyncio.sleep(0.01)
        await asyncio.sleep(4.5)  # the scripted endpoint knows no timeout, so that only the other one's seconds pass
        go.set()
        return await asked

    results = run(both())
    engine.close()
    assert [result.effort.used for result in results] == ["deep", "deep"]


WAYS: dict[str, Callable[[Engine], Any]] = {
    "fast": lambda engine: engine.search(QUESTION, effort="fast"),
    "deep": lambda engine: engine.search(QUESTION, effort="deep"),
    "tree search": lambda engine: engine.search(QUESTION, effort="deep", strategy="mcts"),
    "choosing by fields": lambda engine: engine.search(QUESTION, effort="deep", route="metadata"),
    "choosing by descriptions": lambda engine: engine.search(QUESTION, effort="deep", route="description"),
    "an answer": lambda engine: engine.ask(QUESTION, effort="fast"),
    "an answer from pictures": lambda engine: engine.ask(QUESTION, effort="fast", vision=True),
    "a scored outline": lambda engine: engine.outline("corvane-optics-2023-10k", query=QUESTION),
}


@pytest.fixture(scope="module")
def embedded(
    tmp_path_factory: pytest.TempPathFactory, filings: list[Path], databases: Callable[[], str]
) -> Iterator[tuple[OwnHome, EmbeddingServer]]:
    home = OwnHome(tmp_path_factory.mktemp("embedded") / "home", databases())
    with embedding_server() as server:
        engine = Engine(settings=home.settings(embedding_base_url=server.url))
        run(engine.index(filings))
        run(engine.models.embed("openai:m"))
        engine.close()
        yield home, server


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_held_while_a_model_or_an_embedder_works(
    embedded: tuple[OwnHome, EmbeddingServer], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai", reason="the extra openai is not installed")
    shared, server = embedded
    home = shared.chosen(monkeypatch)
    held: dict[str, list[int]] = {"model": [], "embedder": [], "picture": []}
    draw = Pictures._drawn

    def answer(request: Request) -> Any:
        held["model"].append(_lasting(engine))
        if request.schema is None:
            return "Net sales were $418.2 million [[source:1]]."
        found = re.findall(r"D1\.\d{4}", request.messages[-1].text)[:1]
        return {"reasoning": "There.", "pages": [], "sections": found, "ratings": [], "documents": [], "conditions": []}

    def embed(body: dict[str, Any]) -> Reply:
        held["embedder"].append(_lasting(engine))
        return Reply(body=embeddings(body["input"]))

    def drawn(*given: Any) -> bytes:
        held["picture"].append(_lasting(engine))
        return draw(*given)

    monkeypatch.setattr(Pictures, "_drawn", drawn)
    server.answer = embed
    engine = thinking(home, answer, embedding_base_url=server.url, vlm_model="sees")
    engine._cache().clear()
    run(WAYS[way](engine))
    engine.close()
    assert set(held["embedder"]) == {0}
    assert set(held["model"]) == (set() if way in ("fast", "a scored outline") else {0})
    assert set(held["picture"]) == ({0} if way == "an answer from pictures" else set())


def _lasting(engine: Engine) -> int:
    """Connections in use all the while: a lease is renewed, and what was asked is written, in a moment."""
    least = in_use(engine)
    until = time.monotonic() + 600
    while least and time.monotonic() < until:
        time.sleep(0.01)
        least = min(least, in_use(engine))
    return least


def test_nothing_is_held_while_models_improve_a_document(tmp_path: Path) -> None:
    pytest.importorskip("openai", reason="the extra openai is not installed")
    from tests.indexers.enrich.test_stage import reading

    held: list[int] = []

    def answer(request: Request) -> Any:
        if request.title != "Word":  # the trial, which may come while the file is read
            held.append(_lasting(engine))
        return reading(request)

    with engine_with(tmp_path / "home", answer, ocr="never") as (engine, _):
        report = run(engine.index(pdfs.bookmarked(tmp_path / "book.pdf")))
    assert report.files[0].steps and set(held) == {0}


def test_what_is_removed_meanwhile_is_left_out_and_told(tmp_path: Path) -> None:
    """The first pages were read before the model was asked: the search goes by what was published when it began."""
    book = pdfs.numbered(tmp_path / "lagoon.pdf", 40, "lagoon")

    def answer(_: Request) -> dict[str, Any]:
        run(engine.documents.remove(["lagoon"], for_good=True))
        return turn(pages=[{"document": "D1", "page": page} for page in (first, last)])

    engine = thinking(tmp_path / "home", answer)
    run(engine.index(book, enrich="never"))
    reached = [found.page for found in run(engine.search("lagoon word", effort="fast", top_k=40)).results]
    first, last = reached[0], reached[-1]
    result = run(engine.search("lagoon word", effort="deep", top_k=2))
    assert [found.page for found in result.results] == [first] and "lagoon" in result.results[0].snippet
    assert any("lagoon.pdf" in note and "removed or indexed again" in note for note in result.notes)
    engine.close()


def test_an_answer_from_a_page_that_was_removed_since_has_its_passage_and_says_so(
    tmp_path: Path, filings: list[Path]
) -> None:
    engine = thinking(tmp_path / "home", lambda _: "Net sales were $418.2 million [[source:1]].")
    run(engine.index(filings, enrich="never"))
    found = run(engine.search(QUESTION, effort="fast", top_k=1))
    run(engine.documents.remove(["corvane-optics-2023-10k"]))
    answer = run(engine.answer(found))
    engine.close()
    assert answer.status == "answered" and answer.sources[0].text == found.results[0].snippet
    said = "this page was removed after it was found, so only its passage was used: corvane-optics-2023-10k.pdf, page 3"
    assert said in answer.notes
