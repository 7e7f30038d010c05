"""Runs of real libraries: what is written, what a killed run keeps, what is refused."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from eval.records.progress import Progress
from eval.records.runs import QUESTIONS_FILE, RUN_FILE, Run, read_run
from eval.runs.plan import Plan
from eval.runs.run import measure
from hybrid_core.errors import DocumentError, NotFoundError, UsageError
from hybrid_pageindex import __version__
from tests import pdfs
from tests.eval.sets import own_set, plan
from tests.ocr import reads

QUIET = Progress(quiet=True)
BOOK_PAGE, BOOK_SECTION = 5, (5, 5)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """The same questions in every setting, one about a book, and one that nothing answers; one home for all."""
    folder = tmp_path_factory.mktemp("runs")
    place = {"doc": "book", "page": BOOK_PAGE}
    book = {"question": "What did the maintenance crew do?", "evidence": [place], "id": "b"}
    nothing = {"question": "Which zebra won the regatta?", "evidence": [], "id": "no"}
    docs, questions = own_set(folder, more=[book, nothing])
    pdfs.bookmarked(docs / "book.pdf")
    settings = ("library", "given", "oracle-section", "oracle-pages")
    return {setting: measure(plan(folder / setting, docs, questions, setting=setting), QUIET) for setting in settings}


def test_a_run_says_what_was_measured_and_on_what(runs: dict[str, Run]) -> None:
    head = runs["library"].head
    assert (head.dataset, head.setting, head.ranker) == ("custom", "library", "engine")
    assert head.engine["version"] == __version__
    count = len(pdfs.FISCAL_QUESTIONS) + 1
    assert head.counts["questions"] == count + 1
    assert head.counts["answerable"] == head.counts["gold"] == count
    assert head.counts["documents"] == 5
    assert head.machine["cpus"] == os.cpu_count()
    assert head.index["pages"] == head.counts["pages"] == 20 + 8
    assert 0 < head.index["seconds"] <= head.index["first_answer_seconds"]
    assert head.index["bytes_per_page"] > 0
    assert not head.index["reused"]
    assert runs["given"].head.index == {**head.index, "reused": True}
    assert head.started <= head.finished != ""


def test_the_records_hold_what_came(runs: dict[str, Run]) -> None:
    records = {record.id: record for record in runs["library"].questions}
    first = records["0-0"]
    question, name, page = pdfs.FISCAL_QUESTIONS[0]
    assert first.question == question
    assert (first.pages[0].document, first.pages[0].page) == (name, page)
    assert first.stage == "hit"
    assert first.gold[0].section
    assert first.pages[0].section in (first.gold[0].section, *first.gold[0].sections_also)
    assert len(first.receipts) == len(first.pages)
    assert first.receipts[0]["section_path"]
    assert first.timings_ms["total"] >= first.timings_ms["coarse"] > 0
    assert first.documents[0] == name
    assert first.answer is None
    assert not records["no"].answerable
    assert records["no"].stage == ""
    measured = runs["library"].head.measures
    assert measured["kinds"]["k0"]["hit@5"] == measured["kinds"]["k0"]["doc@1"] == 1
    assert measured["all"]["evidence.auroc"] == 1
    assert measured["kinds"].keys() == {"", "k0"}


def test_settings_narrow_what_is_found(runs: dict[str, Run]) -> None:
    for setting in ("given", "oracle-section", "oracle-pages"):
        assert len(runs[setting].questions) == len(pdfs.FISCAL_QUESTIONS) + 1  # for one nothing can be given
        assert any("name no document" in said for said in runs[setting].head.problems)
        for record in runs[setting].questions:
            assert record.given == (record.gold[0].document,)
            assert {page.document for page in record.pages} == set(record.given)
    assert all(len(record.pages) == 1 for record in runs["oracle-pages"].questions)
    assert runs["oracle-pages"].head.measures["all"]["hit@1"] == 1
    given = {page.page for page in runs["given"].questions[-1].pages}
    inside = {page.page for page in runs["oracle-section"].questions[-1].pages}
    first, last = BOOK_SECTION
    assert inside == given & set(range(first, last + 1))
    assert inside < given


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    docs, questions = own_set(tmp_path, repeat=60)
    out = tmp_path / "runs" / "one"
    command = [
        sys.executable, "-m", "eval", "run", "custom", "--docs", str(docs), "--questions", str(questions),
        "--out", str(out),
    ]  # fmt: skip
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    written = out / QUESTIONS_FILE
    until = time.monotonic() + 600
    while running.poll() is None and (not written.exists() or written.read_bytes().count(b"\n") < 3):
        assert time.monotonic() < until
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL
    kept = written.read_bytes()
    kept = kept[: kept.rfind(b"\n") + 1]
    total = 60 * len(pdfs.FISCAL_QUESTIONS)
    assert 3 <= kept.count(b"\n") < total
    with written.open("ab") as file:
        file.write(b'{"id": "torn')
    assert not read_run(out).head.finished
    assert len(read_run(out).questions) == kept.count(b"\n")
    run = measure(plan(out, docs, questions), QUIET)
    assert written.read_bytes().startswith(kept)
    ids = [record.id for record in run.questions]
    assert len(ids) == len(set(ids)) == total
    assert run.head.finished
    assert run.head.index["reused"]
    assert run.head.measures["all"]["hit@5"] == 1


def test_other_options_are_not_mixed_into_a_run(tmp_path: Path) -> None:
    docs, questions = own_set(tmp_path)
    out = tmp_path / "runs" / "one"
    first = measure(plan(out, docs, questions, ranker="page-bm25"), QUIET)
    with pytest.raises(UsageError, match=r"different options \(depth was 20, not 5; seed was 0, not 3\)"):
        measure(plan(out, docs, questions, ranker="page-bm25", depth=5, seed=3), QUIET)
    assert measure(plan(out, docs, questions, ranker="page-bm25"), QUIET) == first
    head = json.loads((out / RUN_FILE).read_text(encoding="utf-8")) | {"finished": ""}
    (out / RUN_FILE).write_text(json.dumps(head | {"engine": {"version": "0.1.0", "code": "other"}}), encoding="utf-8")
    with pytest.raises(UsageError, match="another version of the engine"):
        measure(plan(out, docs, questions, ranker="page-bm25"), QUIET)
    with pytest.raises(UsageError, match="not the folder of a run"):
        measure(plan(docs, docs, questions), QUIET)


def test_a_question_that_fails_is_kept_as_a_zero(tmp_path: Path) -> None:
    bad = {"question": "What does the broken one say?", "evidence": [{"doc": "broken.pdf", "page": 1}], "id": "bad"}
    docs, questions = own_set(tmp_path, more=[bad])
    pdfs.not_a_pdf(docs / "broken.pdf")
    run = measure(plan(tmp_path / "out", docs, questions, setting="given"), QUIET)
    record = run.questions[-1]
    assert (record.id, record.stage, record.pages) == ("bad", "failed", ())
    assert "names no document that was indexed (broken.pdf)" in record.error
    assert any("broken.pdf could not be indexed" in said for said in run.head.problems)
    assert run.head.counts["unplaced"] == 1
    count = len(pdfs.FISCAL_QUESTIONS)
    assert run.head.measures["all"]["document.hit@1"] == pytest.approx(count / (count + 1))


def test_the_library_can_be_made_larger(tmp_path: Path) -> None:
    docs, questions = own_set(tmp_path)
    others = tmp_path / "others"
    others.mkdir()
    pdfs.bookmarked(others / "book.pdf")
    run = measure(plan(tmp_path / "runs" / "a", docs, questions, distractors=others), QUIET)
    assert run.head.counts["pages"] == 20 + 8
    (home,) = (tmp_path / "runs" / "homes").iterdir()
    with pytest.raises(UsageError, match=r"contains 1 documents that do not belong to this run, for example book\.pdf"):
        measure(plan(tmp_path / "runs" / "b", docs, questions, home=home), QUIET)
    shutil.copy(next(docs.glob("*.pdf")), others)
    with pytest.raises(UsageError, match="custom already has a document of that name"):
        measure(plan(tmp_path / "runs" / "c", docs, questions, distractors=others), QUIET)


def test_samples_kinds_and_sizes_choose_questions(tmp_path: Path) -> None:
    docs, questions = own_set(tmp_path, repeat=2)
    runs = tmp_path / "runs"
    count = len(pdfs.FISCAL_QUESTIONS)
    some = measure(plan(runs / "a", docs, questions, ranker="page-bm25", sample=4, seed=1), QUIET)
    assert sorted(record.kind for record in some.questions) == ["k0", "k0", "k1", "k1"]
    kind = measure(plan(runs / "b", docs, questions, ranker="page-bm25", kinds=("k1",)), QUIET)
    assert {record.kind for record in kind.questions} == {"k1"}
    assert len(kind.questions) == count
    with pytest.raises(UsageError, match="no questions of the kind 'k7'"):
        measure(plan(runs / "c", docs, questions, kinds=("k7",)), QUIET)
    with pytest.raises(UsageError, match="The options leave no question of custom to ask"):
        measure(plan(runs / "d", docs, questions, min_pages=6), QUIET)
    assert (
        len(measure(plan(runs / "e", docs, questions, ranker="page-bm25", min_pages=5), QUIET).questions) == 2 * count
    )


def test_a_home_that_other_code_made_is_made_again(tmp_path: Path) -> None:
    docs, questions = own_set(tmp_path)
    runs = tmp_path / "runs"
    assert not measure(plan(runs / "a", docs, questions, ranker="page-bm25"), QUIET).head.index["reused"]
    assert measure(plan(runs / "b", docs, questions, ranker="page-bm25"), QUIET).head.index["reused"]
    (marker,) = (runs / "homes").glob("*/made-by-eval.json")
    marker.write_text(json.dumps(json.loads(marker.read_text(encoding="utf-8")) | {"code": "older"}), encoding="utf-8")
    assert not measure(plan(runs / "c", docs, questions, ranker="page-bm25"), QUIET).head.index["reused"]


def test_trees_are_scored_with_and_without_bookmarks(tmp_path: Path) -> None:
    books = tmp_path / "data" / "hips"
    books.mkdir(parents=True)
    pdfs.bookmarked(books / "book.pdf")
    rows = [f"{level},{title},{page}" for level, title, page in pdfs.BOOKMARKED]
    (books / "book.toc").write_text("\n".join(rows), encoding="utf-8")
    run = measure(Plan("hips", data=tmp_path / "data", out=tmp_path / "runs" / "trees"), QUIET)
    assert [(record.document, record.bookmarks) for record in run.trees] == [
        ("book.pdf", "kept"), ("book.pdf", "stripped"),
    ]  # fmt: skip
    kept, stripped = run.trees
    assert (kept.headings, kept.precision, kept.recall, kept.parent) == (10, 0.9, 1, 1)  # the cover's title is one more
    assert kept.f1 == pytest.approx(2 * 0.9 / 1.9)
    assert 0.5 < stripped.f1 <= kept.f1
    assert run.head.measures["kinds"]["bookmarks kept"]["tree.recall"] == 1
    assert measure(Plan("hips", data=tmp_path / "data", out=tmp_path / "runs" / "trees"), QUIET) == run


def test_a_folder_that_is_no_run_or_is_damaged_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="is not the folder of a run"):
        read_run(tmp_path)
    (tmp_path / RUN_FILE).write_text("{", encoding="utf-8")
    with pytest.raises(DocumentError, match=r"run\.json: the file cannot be read"):
        read_run(tmp_path)
    docs, questions = own_set(tmp_path / "set")
    out = tmp_path / "out"
    measure(plan(out, docs, questions, ranker="page-bm25"), QUIET)
    with (out / QUESTIONS_FILE).open("a", encoding="utf-8") as file:
        file.write("nonsense\n")
    with pytest.raises(DocumentError, match=rf"line {len(pdfs.FISCAL_QUESTIONS) + 1}: this line is not valid JSON"):
        read_run(out)


class _Bars(Progress):
    """What bars were shown: their names, sizes and steps."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.shown: list[list[Any]] = []

    @contextmanager
    def bar(self, what: str, total: int, done: int = 0) -> Iterator[Callable[[], None]]:
        shown = [what, total, done]
        self.shown.append(shown)

        def step() -> None:
            shown[2] += 1

        yield step


@reads
def test_progress_counts_the_scanned_pages_that_are_read_after_all_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGEINDEX_OCR_SECONDS", "1")
    docs, questions = own_set(tmp_path)
    pdfs.scanned(docs / "scan.pdf", 8, dpi=200)
    bars = _Bars()
    measure(plan(tmp_path / "run", docs, questions), bars)
    assert bars.shown[:2] == [["indexing", 5, 5], ["reading scanned pages", 8, 8]]
