"""Trees are refined after they are published: as another version, page by page, none twice."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing, suppress
from dataclasses import replace
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import pymupdf
import pytest

from hybrid_core.errors import DocumentError, ModelError, NotFoundError, PageIndexError
from hybrid_core.store.cache import Cache
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.store.jobs.reader import JobReader
from hybrid_core.store.shared_cache import SharedCache, page_regions
from hybrid_core.types.files import StoredVersion
from hybrid_core.types.jobs import JobRequest, JobStage
from hybrid_pageindex import Engine, run
from indexers.jobs import refiner
from indexers.jobs.report import IndexProgress
from indexers.outline import quality
from indexers.workers.pool import WorkerPool
from indexers.workers.protocol import RegionTask
from tests import pdfs
from tests.homes import OwnHome, settings_of
from tests.indexers.enrich.test_stage import thinking
from tests.postgres import catalog_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("default_outlines")]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The pages that the layout model was asked for."""
    pages: list[int] = []
    submit = WorkerPool.submit

    def counted(self: WorkerPool, task: object, *rest: object, **options: object) -> object:
        if isinstance(task, RegionTask) and not self._idle:
            pages.append(task.page)
        return submit(self, task, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(WorkerPool, "submit", counted)
    return pages


def published(home: Path) -> StoredVersion:
    with closing(catalog_of(home)) as catalog, catalog.snapshot() as snapshot:
        [document] = snapshot.documents("default")
        stored = snapshot.version(document.content_id)
    assert stored is not None
    return stored


def index(home: Path, path: Path, outline: str) -> tuple[str, list[tuple[str, str, int]]]:
    """What became of the file, and its tree."""
    with closing(Engine(settings=settings_of(home))) as engine:
        [file] = run(engine.index(path, outline=outline, workers=1)).files
        sections = [node.section for node in run(engine.outline(path.name)).nodes]
    return file.status, [(section.node_id, section.title, section.start_page) for section in sections]


def test_a_tree_is_refined_once_and_the_same_bytes_give_the_same(
    tmp_path: Path, read: list[int], databases: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = pdfs.numbered(tmp_path / "book.pdf", 3, "harbour")
    assert index(tmp_path / "home", path, "fast")[0] == "indexed"
    assert not published(tmp_path / "home").version.outline and not read
    status, tree = index(tmp_path / "home", path, "refined")
    first = published(tmp_path / "home")
    assert status == "indexed" and first.version.outline == refiner.layout_model()
    assert sorted(read) == [1, 2, 3] and [row[1] for row in tree]
    read.clear()
    for outline in ("refined", "fast"):  # what is refined serves either way
        assert index(tmp_path / "home", path, outline) == ("unchanged", tree) and not read
    other = OwnHome(tmp_path / "other", databases()).chosen(monkeypatch)
    assert index(other, path, "refined") == ("indexed", tree)
    assert published(other).content_id == first.content_id


def test_a_killed_run_loses_no_page_that_was_read(tmp_path: Path, read: list[int]) -> None:
    path, home = pdfs.numbered(tmp_path / "long.pdf", 30, "harbour"), tmp_path / "home"
    command = [
        sys.executable,
        "-m",
        "hybrid_pageindex",
        "--home",
        str(home),
        "index",
        str(path),
        "--outline",
        "refined",
        "--workers",
        "1",
    ]
    began = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0)
    until = time.monotonic() + 600
    while began.poll() is None and time.monotonic() < until and not kept(home):
        time.sleep(0.02)
    os.killpg(began.pid, signal.SIGKILL)
    began.wait()
    before = kept(home)
    assert 1 <= before < 30 and not published(home).version.outline  # what the rules made is found meanwhile
    index(home, path, "refined")
    assert published(home).version.outline and len(read) <= 30 - before


def kept(home: Path) -> int:
    """Pages whose regions are in the cache."""
    if not (home / "cache.sqlite").exists():
        return 0
    with closing(sqlite3.connect(home / "cache.sqlite")) as cache, suppress(sqlite3.OperationalError):
        return int(cache.execute("SELECT count(*) FROM entries WHERE key LIKE 'regions/%'").fetchone()[0])
    return 0


def test_figures_and_tables_of_a_refined_page_have_their_boxes(tmp_path: Path) -> None:
    path, home = tmp_path / "figure.pdf", tmp_path / "home"
    shown = pymupdf.Pixmap(pymupdf.csRGB, (0, 0, 200, 150))
    for x in range(0, 200, 2):
        shown.set_rect((x, x % 150, x + 2, 150), (x, 90, 200))
    with pymupdf.open() as made:
        page = made.new_page()
        for at in range(12):
            page.insert_text((72, 80 + 14 * at), f"The keeper counts {at} lamps in the yard", fontsize=11)
        page.insert_image((72, 300, 472, 600), pixmap=shown)
        page.insert_text((72, 620), "Figure 1: Lamps in the yard", fontsize=9)
        made.save(path)
    with closing(Engine(settings=settings_of(home))) as engine:
        run(engine.index(path))
        assert run(engine.pictures.layout(path.name, 1)).regions is None  # nobody has looked
        run(engine.index(path, outline="refined", workers=1))
        regions = run(engine.pictures.layout(path.name, 1)).regions or ()
    assert {"text", "caption", "figure"} == {region.kind for region in regions}
    with closing(catalog_of(home)) as catalog, closing(Cache(home / "cache.sqlite", 10**9)) as cache:
        content, readings = published(home).content_id, SharedCache(cache, catalog, "readings")
        [figure] = page_regions(catalog, readings, content, 1, ("picture", "figure", "table")) or ()
        assert figure in regions and figure.box == (72, 300, 472, 600)
        with pytest.raises(NotFoundError):
            page_regions(catalog, readings, content, 2)
        cache.clear("regions/")
        assert page_regions(catalog, readings, content, 1) is None


def test_what_models_improved_is_refined_where_models_can_say_it_again(tmp_path: Path, read: list[int]) -> None:
    path, home = pdfs.numbered(tmp_path / "book.pdf", 2, "harbour"), tmp_path / "home"
    with thinking(home) as (engine, _):
        run(engine.index(path))
        assert run(engine.documents.get(path.name)).description == "A handbook of feldspar."
    enriched = published(home)
    assert enriched.version.llm and not enriched.version.outline
    index(home, path, "refined")
    assert published(home) == enriched and not read  # nobody is there who could say again what would be lost
    with thinking(home) as (engine, _):
        run(engine.index(path, outline="refined", workers=1))
        assert run(engine.documents.get(path.name)).description == "A handbook of feldspar."
    assert published(home).version.llm and published(home).version.outline == refiner.layout_model() and read
    read.clear()
    with thinking(home) as (engine, _):  # another model improves what is refined
        run(engine.index(path))
    assert published(home).version.outline == refiner.layout_model() and not read


def test_pages_that_were_read_by_ocr_are_shown_to_the_model_as_text(tmp_path: Path) -> None:
    from hybrid_core.types.locators import PlacedLine
    from indexers.formats.limits import ParseLimits
    from indexers.workers.pool import WorkerLimits

    path = pdfs.scanned(tmp_path / "scan.pdf")
    lines: tuple[PlacedLine, ...] = (
        ("Ropes and sails", (72, 80, 260, 104)),
        *((f"The keeper counts {n} ropes in the yard and writes them down", (72, y, 420, y + 11.0)) for n, y in
          enumerate(range(140, 400, 14))),
    )  # fmt: skip
    pool = WorkerPool(1, WorkerLimits())
    try:
        found = [
            pool.submit(RegionTask(path, None, 1, shown, ParseLimits()), pool.allowance()).result()
            for shown in ((), lines)
        ]
    finally:
        pool.close()
    covered = [region for region in found[1] if region.box[1] < 150 or region.kind in ("text", "list-item")]
    assert len(found[1]) > len(found[0]) and covered


def test_without_what_runs_the_model_one_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refiner, "find_spec", lambda _: None)
    path = pdfs.bookmarked(tmp_path / "book.pdf")
    with closing(Engine(settings=settings_of(tmp_path / "home"))) as engine:
        report = run(engine.index(path, outline="refined", workers=1))
    assert [note for note in report.notes if "onnxruntime" in note] == [refiner.missing()]
    assert report.files[0].status == "indexed" and not published(tmp_path / "home").version.outline


def test_documents_that_are_asked_about_come_first(tmp_path: Path) -> None:
    paths = [pdfs.numbered(tmp_path / f"{name}.pdf", 2, name) for name in ("anchors", "barrels", "candles")]
    with closing(Engine(settings=settings_of(tmp_path / "home"))) as engine:
        run(engine.index(paths))
        with closing(catalog_of(tmp_path / "home")) as catalog:
            JobQueue(catalog).enqueue([JobRequest("default", "index", str(path), "refine") for path in paths])
        run(engine.search("candles", top_k=1))
        waiting = [view.job for view in run(engine.jobs.list()).jobs if view.job.stage == "refine"]
    assert {Path(job.subject).stem: job.priority for job in waiting} == {"anchors": 10, "barrels": 10, "candles": 20}


@pytest.mark.parametrize("stage", ["enrich", "refine"])
def test_what_a_killed_command_left_waiting_is_done_by_the_next(tmp_path: Path, stage: JobStage) -> None:
    """Nothing is left to improve, for a file of the same bytes was: the job ends all the same."""
    path, home = tmp_path / "note.md", tmp_path / "home"
    path.write_text("# Kiln\n\nThe kiln is hot.\n")
    os.utime(path, (1_000_000_000, 1_000_000_000))  # what changed just now is read again in any case
    with thinking(home) as (engine, _):
        run(engine.index(path, outline="refined", workers=1))
        other = JobRequest("default", "index", str(path), stage, needs=frozenset({"machine:other"}))
        JobQueue(engine._catalog()).enqueue([other])
        run(engine.index(path, outline="refined", workers=1))  # waits for nothing that it cannot do
        assert JobReader(engine._catalog()).counts().waiting == 1
        JobQueue(engine._catalog()).enqueue([JobRequest("default", "index", str(path), stage, options={"any": 1})])
        assert JobReader(engine._catalog()).counts().waiting == 1
        run(engine.index(path, outline="refined", workers=1))
        assert JobReader(engine._catalog()).counts().waiting == 0


def _estimated(monkeypatch: pytest.MonkeyPatch, bound: float) -> None:
    """Have estimates below ``bound`` count as low. Workers leave an estimate with each content."""
    weights, base, _ = quality._learned()
    monkeypatch.setattr(quality, "_learned", lambda: (weights, base, bound))


def test_auto_refines_a_tree_whose_estimate_is_low_once(
    tmp_path: Path, read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    _estimated(monkeypatch, 1.0)
    path, home = pdfs.numbered(tmp_path / "book.pdf", 7, "harbour"), tmp_path / "home"
    assert index(home, path, "auto")[0] == "indexed"
    assert published(home).version.outline == refiner.layout_model() and sorted(read) == [*range(1, 8)]
    read.clear()
    for outline in ("auto", "refined"):
        assert index(home, path, outline)[0] == "unchanged" and not read


@pytest.mark.parametrize(("bound", "pages"), [(0.0, 7), (1.0, 5)])
def test_auto_leaves_a_tree_whose_estimate_is_high_and_short_documents(
    tmp_path: Path, read: list[int], monkeypatch: pytest.MonkeyPatch, bound: float, pages: int
) -> None:
    _estimated(monkeypatch, bound)
    path, home = pdfs.numbered(tmp_path / "book.pdf", pages, "harbour"), tmp_path / "home"
    monkeypatch.setattr(refiner.Refiner, "refined", None)  # nobody takes a turn for what needs none
    for status in ("indexed", "unchanged", "unchanged"):
        assert index(home, path, "auto")[0] == status
        path.touch()
    assert not published(home).version.outline and not read


def test_auto_reads_no_more_pages_than_its_budget_and_says_so(
    tmp_path: Path, read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    _estimated(monkeypatch, 1.0)
    path, home = pdfs.numbered(tmp_path / "book.pdf", 8, "harbour"), tmp_path / "home"
    settings = replace(settings_of(home), outline_pages=3)
    with closing(Engine(settings=settings)) as engine:
        [file] = run(engine.index(path, outline="auto", workers=1)).files
    assert sorted(read) == [1, 2, 3] and not file.note
    assert published(home).version.outline == f"{refiner.layout_model()}/3"
    with closing(catalog_of(home)) as catalog, closing(Cache(home / "cache.sqlite", 10**9)) as cache:
        regions = SharedCache(cache, catalog, "readings")
        two_pages = [page_regions(catalog, regions, published(home).content_id, number) for number in (3, 4)]
    assert two_pages[0] and two_pages[1] is None
    read.clear()
    assert index(home, path, "refined")[0] == "indexed" and sorted(read) == [4, 5, 6, 7, 8]
    assert published(home).version.outline == refiner.layout_model()


def _without_runtime(monkeypatch: pytest.MonkeyPatch, _: list[int]) -> None:
    monkeypatch.setattr(refiner, "find_spec", lambda _: None)


def _without_model(monkeypatch: pytest.MonkeyPatch, _: list[int]) -> None:
    absent = SimpleNamespace(submodule_search_locations=[])
    monkeypatch.setattr(refiner, "find_spec", lambda name: absent if name == "pymupdf" else find_spec(name))


Fault = Callable[[pytest.MonkeyPatch, list[int]], None]


def _failing(error: PageIndexError) -> Fault:
    def patch(monkeypatch: pytest.MonkeyPatch, tries: list[int]) -> None:
        submit = WorkerPool.submit

        def failing(self: WorkerPool, task: object, *rest: object, **options: object) -> object:
            if not isinstance(task, RegionTask):
                return submit(self, task, *rest, **options)  # type: ignore[arg-type]
            tries.append(task.page)
            answer: Future[object] = Future()
            answer.set_exception(error)
            return answer

        monkeypatch.setattr(WorkerPool, "submit", failing)

    return patch


@pytest.mark.parametrize(
    ("fault", "tries_limit"),
    [
        (_without_runtime, 0), (_without_model, 0),
        (_failing(ModelError("the layout model cannot be loaded (no such file).")), 3),  # one file, a few at a time
        (_failing(DocumentError("a worker process ended unexpectedly (exit status -4).")), 2 * 5),
    ],
)  # fmt: skip
def test_by_default_nothing_changes_and_nothing_is_said_where_the_layout_model_cannot_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault, tries_limit: int
) -> None:
    _estimated(monkeypatch, 1.0)
    tries: list[int] = []
    fault(monkeypatch, tries)
    paths = [pdfs.numbered(tmp_path / f"{name}.pdf", 30, name) for name in ("harbour", "lantern")]
    with closing(Engine(settings=settings_of(tmp_path / "home"))) as engine:
        for status in ("indexed", "unchanged"):
            report = run(engine.index(paths, workers=1))
            assert [(file.status, file.note) for file in report.files] == [(status, "")] * 2
            assert not [note for note in report.notes if "layout" in note]
        assert {document.outline for document in run(engine.documents.list())} == {"fast"}
        assert len(tries) <= 2 * tries_limit
        [check] = [check for check in run(engine.admin.doctor()).checks if check.name == "section trees"]
    assert check.ok and ("without the layout model" in check.detail) and "\n" not in check.detail


def test_doctor_loads_the_layout_model_unless_trees_are_fast(tmp_path: Path) -> None:
    details = {}
    for outline in ("auto", "fast"):
        with closing(Engine(settings=settings_of(tmp_path / "home", outline=outline))) as engine:
            [check] = [check for check in run(engine.admin.doctor()).checks if check.name == "section trees"]
        details[outline] = check.detail if check.ok else None
    assert details == {
        "auto": "made by rules, then improved by PyMuPDF's layout model (outline is auto)", "fast": "made by rules"
    }  # fmt: skip


def test_by_default_all_files_are_published_before_the_first_page_is_read_again(
    tmp_path: Path, read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    _estimated(monkeypatch, 1.0)
    paths = [pdfs.numbered(tmp_path / f"{n}.pdf", 8, f"harbour{n}") for n in range(6)]
    began: list[int] = []

    def on_progress(progress: IndexProgress) -> None:
        if read and not began:
            began.append(progress.files_done)

    with closing(Engine(settings=settings_of(tmp_path / "home"))) as engine:
        run(engine.index(paths, workers=1, on_progress=on_progress))
        assert {document.outline for document in run(engine.documents.list())} == {"refined"}
    assert began == [6] and len(read) == 6 * 8


def test_a_document_that_is_refined_gives_way_to_a_new_file_and_goes_on(
    tmp_path: Path, read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker refines a long document while a file comes: that is published first, and no page is read twice."""
    _estimated(monkeypatch, 1.0)
    long = pdfs.numbered(tmp_path / "long.pdf", 60, "harbour")
    late = pdfs.numbered(tmp_path / "late.pdf", 9, "lantern")
    at: dict[str, list[int]] = {"published": [], "refined": []}
    with closing(Engine(settings=settings_of(tmp_path / "home", workers=1))) as engine:
        run(engine.index(long, detach=True))

        def on_progress(progress: IndexProgress) -> None:
            if progress.finished is None:
                return
            name, stage = Path(progress.finished.path).name, progress.stage
            at["refined" if stage == "refine" else "published"] += [len(read)] if name == "late.pdf" else []
            if name == "long.pdf" and stage == "refine":
                at["long"] = [len(read)]

        def bring() -> None:
            while len(read) < 5:
                time.sleep(0.01)
            with closing(Engine(settings=settings_of(tmp_path / "home"))) as other:
                run(other.index(late, detach=True))

        bringing = threading.Thread(target=bring)
        bringing.start()
        run(engine.jobs.work(on_progress=on_progress, enough=lambda: not bringing.is_alive()))
        bringing.join()
        assert {document.outline for document in run(engine.documents.list())} == {"refined"}
    assert at["published"][0] < 60 <= at["long"][0]
    assert len(read) <= 60 + 9 + 5  # those under way when it gave way are read again


def test_a_search_sees_the_old_tree_or_the_new_one(
    tmp_path: Path, read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    _estimated(monkeypatch, 1.0)
    path, home = pdfs.numbered(tmp_path / "book.pdf", 7, "harbour"), tmp_path / "home"
    old = index(home, path, "fast")[1]
    seen: list[list[tuple[str, str, int]]] = []
    notes: list[tuple[str, ...]] = []
    paths: list[tuple[str, tuple[str, ...]]] = []
    with closing(Engine(settings=settings_of(home))) as engine, closing(Engine(settings=settings_of(home))) as reader:
        ended = threading.Event()

        def look() -> None:
            while not ended.wait(0.2):
                outline = run(reader.outline(path.name))
                nodes = [node.section for node in outline.nodes]
                seen.append([(section.node_id, section.title, section.start_page) for section in nodes])
                notes.append(outline.notes)
                paths.extend(
                    (hit.section.node_id, tuple(hit.section.path)) for hit in run(reader.search("harbour")).results
                )

        looking = threading.Thread(target=look)
        looking.start()
        run(engine.index(path, workers=1))
        ended.set()
        looking.join()
        nodes = run(engine.outline(path.name)).nodes
        new = [(node.section.node_id, node.section.title, node.section.start_page) for node in nodes]
    assert read and all(tree in (old, new) for tree in seen)
    titles = {(node, title) for tree in (old, new) for node, title, _ in tree}
    assert paths and {(node, path[-1]) for node, path in paths} <= titles
    assert any("being improved" in note for row in notes for note in row)


def test_a_document_whose_time_is_over_keeps_what_was_read(
    tmp_path: Path, read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    _estimated(monkeypatch, 1.0)
    path, home = pdfs.numbered(tmp_path / "book.pdf", 9, "harbour"), tmp_path / "home"
    read_pages = refiner.Refiner._read
    monkeypatch.setattr(refiner.Refiner, "_read", lambda *options: islice(read_pages(*options), 3))
    with closing(Engine(settings=settings_of(home))) as engine:
        [file] = run(engine.index(path, workers=1)).files
    assert (file.status, file.note) == ("indexed", "") and 3 <= len(read) < 9
    assert published(home).version.outline == f"{refiner.layout_model()}/300"
