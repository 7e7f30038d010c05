"""Vectors: they follow the text, can be resumed, count where documents have them, and are switched over as a whole."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from hybrid_core.embed import load as embedders
from hybrid_core.embed.embedder import Embedder, EmbedderId, Kind, Vectors
from hybrid_core.embed.texts import beginning, chunk_texts, page_texts
from hybrid_core.errors import ModelError, NotFoundError, UsageError
from hybrid_core.store.catalog.embeddings import content_texts
from hybrid_core.types.documents import Chunk, Page, Section
from hybrid_pageindex import Engine, run
from indexers.jobs.embedding import EmbedProgress
from tests import pdfs
from tests.conftest import Cli
from tests.homes import settings_of

pytestmark = pytest.mark.slow

QUESTION = "The word for this page"


@contextmanager
def embedder_away(engine: Engine) -> Iterator[None]:
    """As long as no embedder can be had."""

    def away(_: str) -> NoReturn:
        raise ModelError("it is away.")

    embedders = engine._parts().embedders
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(embedders, "load", away)
        yield


def written(tmp_path: Path, count: int, pages: int = 3) -> list[Path]:
    return [pdfs.numbered(tmp_path / f"{n}.pdf", pages, f"lagoon {n}") for n in range(count)]


class Counting:
    """An embedder that remembers what it was asked for and fails after a number of texts."""

    def __init__(self, inner: Embedder, fail_after: int = 10**9) -> None:
        self._inner, self._fail_after = inner, fail_after
        self.asked: list[str] = []

    @property
    def id(self) -> EmbedderId:
        return self._inner.id

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        if kind == "document":
            if len(self.asked) + len(texts) > self._fail_after:
                raise ModelError("the model went away", retryable=True)
            self.asked += texts
        return self._inner.embed(texts, kind)

    def close(self) -> None:
        self._inner.close()


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> list[Counting]:
    """Every embedder that is loaded, wrapped; ``counting.append`` an int to make the next one fail."""
    made: list[Counting] = []
    real = embedders.load_embedder

    def load(spec: str, **options: object) -> Embedder:
        made.append(Counting(real(spec, **options)))  # type: ignore[arg-type]
        return made[-1]

    monkeypatch.setattr(embedders, "load_embedder", load)
    return made


def test_what_is_embedded() -> None:
    pages = [Page(1, "", 9, 9, "alpha beta", "said of one"), Page(2, "", 9, 9, "  \n", "")]
    sections = [
        Section("0001", None, 1, "Title", 1, 2, summary="about"),
        Section("0002", None, 1, "Group", 2, 2, synthetic=True),
    ]
    chunks = [Chunk(1, "0001", 1, 0, 5), Chunk(2, "0002", 1, 6, 10), Chunk(3, "0001", 2, 0, 3)]
    assert [(t.page, t.chunk, t.text) for t in page_texts(pages)] == [(1, 0, "alpha beta")]
    made = [(t.page, t.chunk, t.text) for t in chunk_texts(pages, sections, chunks)]
    assert made == [(1, 1, "Title\nabout\nalpha"), (1, 2, "beta")]


def test_a_page_is_known_by_what_it_begins_with() -> None:
    assert beginning("Net  revenue\n\n2018\n", 64) == "Net revenue 2018"
    assert beginning("debt " * 100, 64) == " ".join(["debt"] * 64)
    assert beginning("12345678 of it", 4) == "12345678" and beginning("1,5", 2) == "1,"
    assert beginning("数" * 200, 64) == "数" * 64 and beginning("Grundstück", 4) == "Grundstück"


def test_a_chunk_keeps_its_vector_while_only_its_section_s_summary_changes() -> None:
    pages, chunks = [Page(1, "", 9, 9, "alpha beta", "said of one")], [Chunk(1, "0001", 1, 0, 5)]

    def key(title: str, summary: str, by: str = "") -> str:
        sections = [Section("0001", None, 1, title, 1, 2, summary=summary)]
        [text] = chunk_texts(pages, sections, chunks, by)
        assert text.text == f"{title}\n{summary}\nalpha"
        return text.key

    assert key("Title", "about") == key("Title", "about other pages")
    assert len({key("Title", "about"), key("Another", "about"), key("Title", "about", "a model")}) == 3


def test_dense_counts_for_the_documents_that_are_embedded(engine: Engine, tmp_path: Path) -> None:
    first, second = written(tmp_path, 2)
    run(engine.index(first))
    before = run(engine.search(QUESTION))
    assert before.embedded_share == 0 and before.results[0].receipt.dense is None and before.notes == ()
    report = run(engine.models.embed("hashed:64"))
    assert report is not None and report.serving and report.vectors > 3
    after = run(engine.search(QUESTION))
    assert after.embedded_share == 1 and all(r.receipt.dense is not None for r in after.results)
    assert 0 < max(r.receipt.dense or 0 for r in after.results) <= 1.0001
    with embedder_away(engine):
        run(engine.index(second))
    partly = run(engine.search(QUESTION))
    assert partly.embedded_share == 0.5 and {r.doc_name for r in partly.results} == {"0.pdf", "1.pdf"}
    assert {r.doc_name: r.receipt.dense is not None for r in partly.results} == {"0.pdf": True, "1.pdf": False}
    note = "1 of 2 documents have no vectors, so documents and pages are ranked by their words only; run embed"
    assert note in partly.notes
    other = run(engine.search(QUESTION, documents=["1.pdf"]))
    assert other.embedded_share == 0 and other.results[0].receipt.dense is None
    assert "1 of 1 documents have no vectors, so pages are ranked by their words only; run embed" in other.notes
    given = run(engine.search(QUESTION, documents=["0.pdf"]))
    assert given.embedded_share == 1 and given.results[0].receipt.dense is not None
    assert run(engine.models.embed()) is not None
    assert run(engine.search(QUESTION)).embedded_share == 1
    assert run(engine.admin.doctor()).ok
    (size,) = run(engine.libraries.list())
    assert (size.embedder, size.embedded, size.next_embedder) == ("hashed:64", 2, "")


def test_pages_serve_before_any_chunk_is_embedded(engine: Engine, tmp_path: Path) -> None:
    run(engine.index(written(tmp_path, 2)))
    pages = 6
    failing = Counting(embedders.load_embedder("hashed:64"), fail_after=pages)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(engine._parts().embedders, "load", lambda _: failing)
        with pytest.raises(ModelError, match="went away"):
            run(engine.models.embed("hashed:64"))
    assert len(failing.asked) == pages
    found = run(engine.search(QUESTION))
    assert found.embedded_share == 1 and all(r.receipt.dense is not None for r in found.results)
    assert run(engine.admin.doctor()).ok, "the index holds what the catalog says"
    report = run(engine.models.embed())
    assert report is not None and report.vectors > 0 and report.documents == 0, "only chunks were left"
    assert run(engine.admin.doctor()).ok
    again = run(engine.models.embed())
    assert again is not None and again.vectors == 0


def test_chunks_are_left_out_where_that_is_set(tmp_path: Path) -> None:
    engine = Engine(settings=settings_of(tmp_path / "home", embedding_chunks="never"))
    run(engine.index(written(tmp_path, 1)))
    report = run(engine.models.embed("hashed:64"))
    assert report is not None and report.vectors == 3 and report.serving
    assert run(engine.admin.doctor()).ok
    engine.close()


def test_a_page_without_the_words_is_found_by_its_meaning(engine: Engine, tmp_path: Path) -> None:
    """The hashed embedder shares terms with the question through summaries and section titles only."""
    run(engine.index(pdfs.numbered(tmp_path / "a.pdf", 12, "estuaries")))
    run(engine.models.embed("hashed:256"))
    result = run(engine.search("Part 2 of estuaries", top_k=3))
    assert result.results[0].receipt.dense is not None
    assert any(r.page in (11, 12) for r in result.results)


def test_a_failed_run_is_resumed_without_paying_twice(
    engine: Engine, tmp_path: Path, counting: list[Counting], monkeypatch: pytest.MonkeyPatch
) -> None:
    from indexers.jobs import embedding

    monkeypatch.setattr(embedding, "_TEXTS_AT_ONCE", 4)
    run(engine.index(written(tmp_path, 4)))
    engine._parts().embedders.load("hashed:64")
    counting[0]._fail_after = 10
    with pytest.raises(ModelError, match="the model went away"):
        run(engine.models.embed("hashed:64"))
    paid = list(counting[0].asked)
    assert 0 < len(paid) <= 10
    counting[0]._fail_after = 10**9
    report = run(engine.models.embed())
    assert report is not None and report.serving
    assert len(counting[0].asked) == len(set(counting[0].asked)), "no text is embedded twice"
    assert report.vectors == len(counting[0].asked) - len(paid)


def test_unchanged_text_keeps_its_vectors_in_a_new_version(
    engine: Engine, tmp_path: Path, counting: list[Counting]
) -> None:
    path = pdfs.numbered(tmp_path / "a.pdf", 6, "deltas")
    run(engine.index(path))
    run(engine.models.embed("hashed:64"))
    paid = len(counting[0].asked)
    pdfs.numbered(path, 7, "deltas")  # one page more
    with embedder_away(engine):
        report = run(engine.index(path))
    assert "1 of 1 documents are new or have changed and have no vectors yet: run embed (it is away.)" in report.notes
    again = run(engine.models.embed())
    assert again is not None and 0 < again.vectors < paid / 2 and again.reused > paid / 2


def test_what_is_new_in_an_embedded_library_is_embedded_with_it(engine: Engine, tmp_path: Path) -> None:
    first, second = written(tmp_path, 2)
    run(engine.index(first))
    run(engine.models.embed("hashed:64"))
    run(engine.index(second))
    assert run(engine.search(QUESTION)).embedded_share == 1


def test_the_old_embedder_serves_until_the_new_one_is_complete(
    engine: Engine, tmp_path: Path, counting: list[Counting]
) -> None:
    run(engine.index(written(tmp_path, 3)))
    run(engine.models.embed("hashed:64"))
    engine._parts().embedders.load("hashed:32")
    counting[1]._fail_after = 8
    with pytest.raises(ModelError):
        run(engine.models.embed("hashed:32"))
    (size,) = run(engine.libraries.list())
    assert (size.embedder, size.next_embedder) == ("hashed:64", "hashed:32")
    assert run(engine.search(QUESTION)).embedded_share == 1
    counting[1]._fail_after = 10**9
    report = run(engine.models.embed())  # goes on with the new one
    assert report is not None and (report.embedder, report.serving) == ("hashed:32", True)
    found = run(engine.search(QUESTION))
    assert found.embedded_share == 1 and found.results[0].receipt.dense is not None
    (size,) = run(engine.libraries.list())
    assert (size.embedder, size.next_embedder) == ("hashed:32", "")
    with engine._catalog().snapshot() as snapshot:
        old = embedders.load_embedder("hashed:64").id.fingerprint
        assert not snapshot.embedded(old), "the old vectors are gone"


def test_vectors_can_be_taken_away_and_go_with_their_documents(engine: Engine, tmp_path: Path) -> None:
    run(engine.index(written(tmp_path, 2)))
    run(engine.models.embed("hashed:64"))
    run(engine.documents.remove(["0.pdf"]))
    found = run(engine.search(QUESTION))
    assert found.embedded_share == 1 and {r.doc_name for r in found.results} == {"1.pdf"}
    assert run(engine.admin.doctor()).ok
    assert run(engine.models.embed("none")) is None
    found = run(engine.search(QUESTION))
    assert found.embedded_share == 0 and found.results[0].receipt.dense is None and run(engine.admin.doctor()).ok


def test_an_embedder_that_fails_at_search_time_is_said(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(engine.index(written(tmp_path, 1)))
    run(engine.models.embed("hashed:64"))
    engine.close()

    def gone(spec: str, **_: object) -> Embedder:
        raise ModelError(f"'{spec}' cannot be loaded")

    monkeypatch.setattr(embedders, "load_embedder", gone)
    found = run(engine.search(QUESTION))
    assert found.results and found.results[0].receipt.dense is None
    assert any(
        "the embedder failed, so pages are ranked by their words only: 'hashed:64' cannot be loaded" in n
        for n in found.notes
    )


def test_usage(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="Nothing is indexed yet"):
        run(engine.models.embed("hashed:64"))
    run(engine.index(written(tmp_path, 1)))
    with pytest.raises(UsageError, match="No embedder is configured"):
        run(engine.models.embed())
    with pytest.raises(UsageError, match="hashed"):
        run(engine.models.embed("hasht:64"))


def test_vectors_in_the_catalog_are_those_of_the_embedder(engine: Engine, tmp_path: Path) -> None:
    run(engine.index(written(tmp_path, 1)))
    run(engine.models.embed("hashed:64"))
    model = embedders.load_embedder("hashed:64")
    with engine._catalog().snapshot() as snapshot:
        (content,) = snapshot.published("default").values()
        texts = content_texts(snapshot, content, chunks=True)
        held = snapshot.vectors(model.id.fingerprint, [t.key for t in texts])
    expected = model.embed([t.text for t in texts], "document")
    for text, vector in zip(texts, expected, strict=True):
        np.testing.assert_allclose(held[text.key], vector, atol=1e-3)


async def test_cancelling_keeps_what_was_made(engine: Engine, tmp_path: Path) -> None:
    await engine.index(written(tmp_path, 30))
    seen, told = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def on_progress(progress: EmbedProgress) -> None:
        if progress.texts_done > 20:
            loop.call_soon_threadsafe(seen.set)
            told.wait(600)  # else it may be done before it is cancelled

    task = asyncio.create_task(engine.models.embed("hashed:64", on_progress=on_progress))
    await seen.wait()
    task.cancel()
    loop.call_later(0.1, told.set)
    with pytest.raises(asyncio.CancelledError):
        await task
    report = await engine.models.embed()
    assert report is not None and report.serving and report.documents < 30


def test_kill_9_while_embedding(tmp_path: Path, cli: Cli) -> None:
    home = tmp_path / "home"
    for path in written(tmp_path, 24, pages=12):
        assert path.exists()
    assert cli("index", tmp_path).returncode == 0
    program = [sys.executable, "-m", "hybrid_pageindex", "--home", str(home), "embed", "--embedder", "hashed:512"]

    def done() -> int:
        """How many documents are embedded; -1 before it has begun."""
        with engine._catalog().snapshot() as snapshot:
            _, coming = snapshot.embedder("default")
            return len(snapshot.embedded(coming.fingerprint)) if coming else -1

    for least in (0, 4, 12):
        engine = Engine(home)
        process = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and done() < least:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        found = run(engine.search(QUESTION, top_k=3))
        assert found.results and run(engine.admin.doctor()).ok
        engine.close()
    done = cli("embed", "--resume")
    assert done.returncode == 0 and re.search(r"\d+ documents embedded by hashed:512", done.stdout)
    engine = Engine(home)
    assert run(engine.search(QUESTION)).embedded_share == 1 and run(engine.admin.doctor()).ok
    engine.close()
    both = cli("embed", "--resume", "--embedder", "hashed:8")
    assert both.returncode == 2
