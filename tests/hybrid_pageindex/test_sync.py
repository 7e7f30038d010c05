"""The engine in ordinary code: no ``run``, names to complete, results to look at, a forgotten ``await`` in words."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import hybrid_pageindex
from hybrid_core.errors import NotFoundError, UsageError
from hybrid_core.types.requests import OPTIONS
from hybrid_pageindex import Engine, SyncEngine, run
from hybrid_pageindex.engine.concurrency import NotAwaitedError

SOLD = "When was the mill sold?"


@pytest.fixture(scope="module")
def mills(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SyncEngine]:
    folder = tmp_path_factory.mktemp("mills")
    (folder / "mill.md").write_text("# The mill\n\nThe mill was sold to the town in 1987 for <b>4,200</b> crowns.\n")
    with SyncEngine(folder / "home") as engine:
        assert [file.status for file in engine.index(folder / "mill.md").files] == ["indexed"]
        yield engine


def test_each_call_waits_for_its_result(mills: SyncEngine) -> None:
    found = mills.search(SOLD, top_k=3)
    assert found.results[0].doc_name == "mill.md"
    assert mills.ask(SOLD).sources[0].page == 1 and mills.documents.get("mill.md").published
    assert mills.grep("crowns").total_pages == 1 and [one.name for one in mills.libraries.list()] == ["default"]
    steps: list[str] = []
    mills.search(SOLD, on_step=lambda step: steps.append(step.kind))
    talk = mills.conversations.create()
    begun = mills.conversations.ask(talk.id, SOLD)
    assert "1987" in mills.conversations.wait(begun.id).text
    events = list(mills.conversations.stream(begun.id))
    assert events[-1].kind == "ended"
    with pytest.raises(NotFoundError, match="nothing"):
        mills.documents.get("nothing.md")


async def test_it_works_where_a_loop_is_running_and_from_threads(mills: SyncEngine) -> None:
    """As in a notebook, where each cell runs in a loop."""
    assert mills.search(SOLD)[0].page == 1
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(mills.search(SOLD)[0].doc_name)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    assert found == ["mill.md"] * 8


def test_a_call_from_a_callback_is_told(mills: SyncEngine) -> None:
    """It would wait for itself."""
    told: list[str] = []

    async def inside() -> None:
        try:
            mills.search(SOLD)
        except UsageError as error:
            told.append(error.message)

    mills._loop.wait(inside())
    assert told and "closed" in told[0]


def test_a_closed_engine_says_so(tmp_path: Path) -> None:
    engine = SyncEngine(tmp_path)
    engine.close()
    engine.close()
    with pytest.raises(UsageError, match="closed"):
        engine.libraries.list()
    assert not [thread for thread in threading.enumerate() if thread.name == "pageindex-sync" and not thread.daemon]


def test_notebooks_complete_names_and_show_arguments(mills: SyncEngine) -> None:
    assert {"Engine", "SyncEngine", "run", "SearchResult"} <= set(dir(hybrid_pageindex))
    assert {"search", "ask", "index", "conversations"} <= set(dir(mills))
    assert not {"hand_back", "interrupt_turns", "offers", "waits"} & set(dir(mills))
    for kind in (Engine, SyncEngine):
        for method in (kind.search, kind.ask):
            named = inspect.signature(method).parameters
            assert {*OPTIONS, "library", "top_k"} <= {*named, *OPTIONS} and "effort" in named and "fields" not in named
            assert all(one.kind is not one.VAR_KEYWORD for one in named.values())
    assert str(mills.home) in repr(mills) and repr(mills).startswith("SyncEngine(")


def test_a_result_is_looked_at_and_gone_through(mills: SyncEngine) -> None:
    found = mills.search(SOLD)
    assert list(found) == list(found.results) and len(found) == 1 and found[0] is found.results[0] and found[:1]
    assert "mill.md p. 1" in repr(found) and len(repr(found)) < 300
    html = found._repr_html_()
    assert "mill.md" in html and "1987" in html and "<b>4,200" not in html, "what documents say is no HTML"
    nothing = mills.search("zeppelin")
    assert len(nothing) == 0 and nothing and "no page" in repr(nothing) and nothing._repr_html_()


@pytest.mark.parametrize("use", [
    lambda call: call.results, lambda call: list(call), lambda call: call[0], lambda call: len(call),
    lambda call: [page.page for page in call], lambda call: call.evidence.level,
])  # fmt: skip
def test_a_forgotten_await_is_told_in_words(tmp_path: Path, use: object) -> None:
    engine = Engine(tmp_path)
    with pytest.raises(NotAwaitedError, match=r"Engine.search\(…\), which was not awaited.*run\(engine.search\(…\)\)"):
        use(engine.search(SOLD))  # type: ignore[operator]
    engine.close()


async def test_a_call_is_a_coroutine_all_the_same(mills: SyncEngine) -> None:
    engine = Engine(settings=mills._inner.settings)
    call = engine.search(SOLD)
    assert inspect.isawaitable(call) and asyncio.iscoroutine(call) and not hasattr(call, "_repr_html_")
    assert "search" in repr(call)
    assert (await call)[0].doc_name == "mill.md"
    task = asyncio.create_task(engine.search(SOLD))
    both = await asyncio.gather(engine.search(SOLD), asyncio.wait_for(engine.libraries.list(), 30), task)
    assert both[0].results == both[2].results
    slow = asyncio.create_task(engine.search(SOLD))
    slow.cancel()
    with pytest.raises(asyncio.CancelledError):
        await slow
    assert (await asyncio.to_thread(lambda: run(engine.search(SOLD))))[0].page == 1
    engine.close()
