"""What no database, or not every one, holds is replaced on its way in, at one place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import create_engine, insert, select

from hybrid_core.store.catalog import schema
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.rows import ContentRows
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.store.jobs.reader import JobReader
from hybrid_core.store.tables import clean, to_json
from hybrid_core.types.documents import Section
from hybrid_core.types.jobs import JobRequest
from tests.hybrid_core.store.test_catalog import ALPHA, content
from tests.postgres import PostgresStore

BAD, GOOD = "a\0b\ud800c \U0001f600", "a\ufffdb\ufffdc \U0001f600"


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Catalog | PostgresStore]:
    if request.param == "sqlite":
        made: Catalog | PostgresStore = Catalog(tmp_path / "catalog.sqlite")
    else:
        made = PostgresStore(request.getfixturevalue("postgres_url"))
    yield made
    made.close()


def test_a_content_full_of_them_is_the_same_in_both_databases(store: Catalog | PostgresStore) -> None:
    made = content(1, "alpha")
    made = replace(
        made, title=BAD, description=BAD, metadata={BAD: BAD}, warnings=(BAD,), models={"x": [BAD]},
        pages=(replace(made.pages[0], text=BAD, summary=BAD, label=BAD, described=BAD, places=((0, BAD),)),),
        sections=(Section("0001", None, 1, BAD, 1, 1, summary=BAD, gaps=(BAD,)),),
    )  # fmt: skip
    with store.writing() as connection:
        assert ContentRows.of(ALPHA, made).insert(connection, "c")
    with store.reading() as connection:
        read = Snapshot(connection).content("c")
    assert read == replace(
        made, title=GOOD, description=GOOD, metadata={GOOD: GOOD}, warnings=(GOOD,), models={"x": [GOOD]},
        pages=(replace(made.pages[0], text=GOOD, summary=GOOD, label=GOOD, described=GOOD, places=((0, GOOD),)),),
        sections=(Section("0001", None, 1, GOOD, 1, 1, summary=GOOD, gaps=(GOOD,)),),
    )  # fmt: skip
    assert len(GOOD) == len(BAD), "what is told by its place in the text stays there"


def test_jobs_take_what_files_are_called(store: Catalog | PostgresStore) -> None:
    request = JobRequest("default", "index", BAD, "parse", options={"name": BAD})
    queue = JobQueue(store)
    [made] = queue.enqueue([request])
    assert queue.enqueue([request]) == [replace(made, outcome="joined")]
    [job] = queue.claim("w", [])
    assert (job.subject, job.options) == (GOOD, {"name": GOOD})
    queue.fail(job.fence, BAD, final=True)
    assert JobReader(store).job(job.id).cause == GOOD


@given(st.text(alphabet=st.characters(codec=None) | st.sampled_from("\0\\u\ud800\udfff0")))
def test_json_comes_back_clean(said: str) -> None:
    assert json.loads(to_json({"said": said})) == {"said": clean(said)}
    clean(said).encode()


def test_every_column_of_text_is_clean() -> None:
    engine = create_engine("sqlite://")
    schema.metadata.create_all(engine)
    for table in schema.metadata.tables.values():
        for column in table.columns:
            if column.type.python_type is str:
                kind = type(column.type).__name__
                assert kind in ("CleanText", "CleanString"), f"{table.name}.{column.name} is {kind}"
    with engine.begin() as connection:
        connection.execute(insert(schema.meta).values(key=BAD, value=BAD))
        assert connection.execute(select(schema.meta)).one() == (GOOD, GOOD)
    engine.dispose()
