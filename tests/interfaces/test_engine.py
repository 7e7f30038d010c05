"""The Python interface: from scripts, from running loops, from several threads."""

from __future__ import annotations

import asyncio
import re
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import hybrid_pageindex
from hybrid_core.errors import UsageError
from hybrid_pageindex import Engine, Settings, run
from tests import pdfs

QUESTION = "What were the net sales of Corvane Optics in fiscal 2023?"


def test_one_line_answers(library: Engine) -> None:
    engine = Engine(library.home)
    assert run(engine.search(QUESTION)).results[0].page == 3
    engine.close()


async def test_run_works_inside_a_running_loop_as_in_a_notebook(library: Engine) -> None:
    assert run(library.search(QUESTION)).results[0].page == 3
    with pytest.raises(UsageError, match="question is empty"):
        run(library.search(" "))


async def test_awaited_searches_run_side_by_side(library: Engine) -> None:
    found = await asyncio.gather(*(library.search(QUESTION) for _ in range(8)))
    assert {result.results[0].page for result in found} == {3}


def test_several_threads_share_an_engine(library: Engine) -> None:
    pages: list[int] = []
    threads = [
        threading.Thread(target=lambda: pages.extend(library.search_now(QUESTION).results[0].page for _ in range(5)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert pages == [3] * 20


async def test_an_engine_can_be_closed_and_used_again(tmp_path: Path) -> None:
    async with Engine(tmp_path / "home") as engine:
        await engine.index(pdfs.numbered(tmp_path / "a.pdf", 2, "bogs"))
        await engine.search("bogs")
    engine.close()
    assert (await engine.search(pdfs.landmark("bogs", 2))).results[0].page == 2
    engine.close()


def test_a_home_in_settings_may_be_a_string(tmp_path: Path) -> None:
    settings = Settings(storage_path=str(tmp_path / "home"))  # type: ignore[arg-type]
    with closing(Engine(settings=settings)) as engine:
        assert engine.home == tmp_path / "home"


def test_settings_in_code_and_secrets_out_of_sight(tmp_path: Path) -> None:
    settings = Settings(storage_path=tmp_path / "home", top_k=2, embedding_api_key="s3cret", qdrant_api_key="s3cret")
    engine = Engine(settings=settings)
    run(engine.index(pdfs.numbered(tmp_path / "a.pdf", 6, "bogs")))
    assert len(run(engine.search("the word for this page is about bogs")).results) == 2
    assert "s3cret" not in repr(engine.settings)
    engine.close()


async def test_one_string_is_one_name(tmp_path: Path) -> None:
    async with Engine(tmp_path / "home") as engine:
        await engine.index([pdfs.numbered(tmp_path / f"{name}.pdf", 2, f"bogs {name}") for name in "abc"])
        found = await engine.search("the word for this page", documents="b.pdf", where="name=b")
        assert {page.doc_name for page in found.results} == {"b.pdf"}
        assert [d.name for d in await engine.documents.list(where="name=c")] == ["c.pdf"]
        assert [page.page for page in await engine.pages("a", 2)] == [2]
        assert [d.name for d in await engine.documents.remove("a.pdf")] == ["a.pdf"]
        assert (await engine.index(str(tmp_path / "b.pdf"), on_progress=None)).files[0].status == "unchanged"


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"question": None}, "The question is None, but it must be a text"),
    ({"documents": []}, "documents is an empty list"),
    ({"effort": "hard"}, "Choose fast, auto or deep"),
    ({"effort": ["fast"]}, "Choose fast, auto or deep"),
    ({"top_k": "5"}, "top_k is '5'"),
    ({"fusion": "borda"}, "Choose weighted or rrf"),
    ({"mmr": "all"}, "mmr is 'all'"),
    ({"mmr": float("nan")}, "mmr is nan"),
    ({"library": ""}, "name of the library is empty"),
]


@pytest.mark.parametrize(("arguments", "said"), WRONG)
def test_wrong_arguments_are_usage_errors(library: Engine, arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        run(library.search(**{"question": QUESTION, **arguments}))


def test_wrong_pages_queries_and_homes_are_usage_errors(library: Engine) -> None:
    with pytest.raises(UsageError, match="'1' is not a page number"):
        run(library.pages("book.pdf", ["1"]))  # type: ignore[list-item]
    with pytest.raises(UsageError, match="question is empty"):
        run(library.outline("book.pdf", query=""))
    with pytest.raises(UsageError, match="The path of the home folder is empty"):
        Engine("")


def test_taking_up_an_embedder_is_nothing_to_worry_about(engine: Engine, tmp_path: Path) -> None:
    run(engine.index(pdfs.numbered(tmp_path / "a.pdf", 2, "bogs")))
    run(engine.search("bogs"))
    run(engine.models.embed("hashed:64"))
    found = run(engine.search("bogs"))
    assert found.embedded_share == 1 and not [note for note in found.notes if "rebuilt" in note]


def test_the_root_names_what_it_offers() -> None:
    for name in hybrid_pageindex.__all__:
        assert getattr(hybrid_pageindex, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = hybrid_pageindex.nothing
