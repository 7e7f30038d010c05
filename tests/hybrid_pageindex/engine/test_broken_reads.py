"""A PostgreSQL server that goes in the middle of a search: it is asked again, and the search gives what it gave."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import event

from eval.runs.scripted import guess
from hybrid_core.llm.chat import Request
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.store.postgres import PostgresDatabase
from hybrid_core.types.results import PageFound
from hybrid_pageindex import Engine, run
from hybrid_pageindex.config.settings import Settings
from tests import postgres
from tests.doubles.replies import FakeEndpoint

pytestmark = pytest.mark.slow

_SEARCHERS = 4
_SEARCHES = 10
_FEW = 5  # statements


@pytest.fixture
def made(own_postgres: postgres.Server, tmp_path: Path) -> Iterator[Engine]:
    for name in ("apples", "pears"):
        (tmp_path / f"{name}.md").write_text(f"# Of {name}\n\nIn this year {name} cost 12 pence.\n\n# More\n\nNone.\n")
    settings = Settings(storage_path=tmp_path / "home", postgres_url=postgres.new_database(own_postgres.url))
    with closing(Engine(settings=settings)) as engine:
        heard(engine)
        run(engine.index([tmp_path / "apples.md", tmp_path / "pears.md"]))
        asked(engine)
        yield engine


@pytest.fixture
def requests() -> list[Request]:
    """What a model was asked."""
    return []


@pytest.fixture
def thinking(made: Engine, requests: list[Request]) -> Iterator[Engine]:
    """With a model that says the same of the same."""

    def answer(request: Request) -> dict[str, Any] | str:
        requests.append(request)
        return guess(request)

    with closing(Engine(settings=made.settings, chat=ChatModel(FakeEndpoint(answer)))) as engine:
        heard(engine)
        asked(engine, effort="deep")
        yield engine


def asked(engine: Engine, **options: Any) -> Sequence[PageFound]:
    return run(engine.search("What do apples cost?", **options)).results


_acts: dict[Engine, Callable[[int], None]] = {}


def heard(engine: Engine) -> None:
    """Before it has threads: SQLAlchemy's listeners are no others' to change while statements run."""
    database = engine._catalog()._database
    assert isinstance(database, PostgresDatabase)

    def hear(_: Any, cursor: psycopg.Cursor[Any], *__: Any) -> None:
        if act := _acts.get(engine):
            act(cursor.connection.info.backend_pid)

    event.listen(database.engine, "before_cursor_execute", hear)


@contextmanager
def before_each_statement(engine: Engine, act: Callable[[int, int], None]) -> Iterator[None]:
    """``act`` is told the number of each statement, from 0, and the process of the server that will carry it out."""
    count = iter(range(10**9))
    _acts[engine] = lambda backend: act(next(count), backend)
    try:
        yield
    finally:
        del _acts[engine]


@contextmanager
def broken_before(engine: Engine, url: str, statement: int) -> Iterator[None]:
    with psycopg.connect(postgres.plain(url), autocommit=True) as admin:

        def act(number: int, backend: int) -> None:
            if number == statement:
                admin.execute("SELECT pg_terminate_backend(%s, 5000)", [backend])

        with before_each_statement(engine, act):
            yield


@pytest.mark.parametrize("effort", ["fast", "deep"])
def test_a_search_whose_connection_breaks_at_any_statement_is_the_same_and_asks_models_once(
    own_postgres: postgres.Server, thinking: Engine, requests: list[Request], effort: str
) -> None:
    numbers = list[int]()
    with before_each_statement(thinking, lambda number, _: numbers.append(number)):
        expected = asked(thinking, effort=effort)
    assert expected and len(numbers) > _FEW
    for number in numbers:
        requests.clear()
        with broken_before(thinking, own_postgres.url, number):
            assert asked(thinking, effort=effort) == expected, number
        once = {repr(request.messages) for request in requests}
        assert len(once) == len(requests) and bool(once) == (effort == "deep"), number


async def happened(engine: Engine, job: int) -> object:
    return (await engine.jobs.get(job)).events  # the job itself says when it was read


READS: dict[str, Callable[[Engine], Coroutine[Any, Any, Any]]] = {
    "documents": lambda engine: engine.documents.list(),
    "list": lambda engine: engine.documents.browse(find="apple"),
    "pages": lambda engine: engine.pages("apples.md", 1),
    "outline": lambda engine: engine.outline("apples.md", query="What do apples cost?", text=True),
    "outlines": lambda engine: engine.outlines("What do apples cost?"),
    "briefing": lambda engine: engine.documents.briefing("apples.md"),
    "words": lambda engine: engine.documents.find_words("apples.md", "pence"),
    "picture": lambda engine: engine.pictures.page("apples.md", 1),
    "versions": lambda engine: engine.documents.versions("apples.md"),
    "libraries": lambda engine: engine.libraries.list(),
    "job": lambda engine: happened(engine, 1),
    "events": lambda engine: engine.jobs.events(),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
def test_whatever_is_read_when_the_connection_breaks_is_read_again(
    own_postgres: postgres.Server, made: Engine, read: Callable[[Engine], Coroutine[Any, Any, Any]]
) -> None:
    expected, numbers = run(read(made)), list[int]()
    with before_each_statement(made, lambda number, _: numbers.append(number)):
        run(read(made))
    assert numbers
    for number in numbers:
        with broken_before(made, own_postgres.url, number):
            assert run(read(made)) == expected, number


def test_a_server_that_restarts_under_searches_fails_none(own_postgres: postgres.Server, made: Engine) -> None:
    expected, answers, failures = asked(made), list[object](), list[BaseException]()

    def search() -> None:
        for _ in range(_SEARCHES):
            try:
                answers.append(asked(made))
            except BaseException as error:  # noqa: BLE001 - told to the test
                failures.append(error)

    searchers = [threading.Thread(target=search) for _ in range(_SEARCHERS)]
    for searcher in searchers:
        searcher.start()
    while len(answers) < _SEARCHERS:
        time.sleep(0.01)
    own_postgres.stop()
    time.sleep(0.5)
    own_postgres.start()
    for searcher in searchers:
        searcher.join()
    assert not failures, failures
    assert answers == [expected] * (_SEARCHERS * _SEARCHES)
