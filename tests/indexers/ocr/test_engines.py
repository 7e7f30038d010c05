"""Which engine reads a page, the second opinion, and RapidOCR itself where it is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pymupdf
import pytest

from hybrid_core.errors import DocumentError, LimitError
from hybrid_core.system import install_command
from hybrid_core.types.documents import Line
from hybrid_pageindex import Engine, run
from indexers.formats.limits import ParseLimits
from indexers.formats.pdf.reading_order import Piece
from indexers.ocr import engines
from indexers.ocr.engines import EngineName, NoOcr, Ocr, Tesseract, find_ocr
from indexers.ocr.pages import doubtful, in_reading_order, language_of
from indexers.workers.pool import WorkerLimits, WorkerPool
from indexers.workers.protocol import EngineAnswer, ScanTask
from indexers.workers.threads import PageReading
from tests import pdfs
from tests.ocr import rapid

_STATUTE = "供货方应当自订单书面确认之日起十四个工作日内将货物免费运送至订单所列的工地"


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Callable[[tuple[str, ...] | None, bool], None]:
    """Says which languages Tesseract has (None: it is not there), and whether RapidOCR is there."""

    def set_up(known: tuple[str, ...] | None, rapid: bool) -> None:
        def found(languages: str) -> tuple[Tesseract, tuple[str, ...]] | str:
            if known is None:
                return "install Tesseract"
            asked = languages.split("+")
            has = Tesseract("tesseract", "+".join(n for n in asked if n in known), known, True, "/data")
            return has, tuple(n for n in asked if n not in known)

        monkeypatch.setattr(engines, "find_tesseract", found)
        monkeypatch.setattr(engines, "find_spec", lambda _: object() if rapid else None)

    return set_up


@pytest.mark.parametrize(
    ("known", "models", "languages", "order"),
    [
        (("eng",), True, "eng", ("Tesseract", "RapidOCR")),
        (("eng",), False, "eng", ("Tesseract", None)),
        (None, True, "eng", ("RapidOCR", None)),
        (("eng", "chi_sim"), True, "eng+chi_sim", ("RapidOCR", None)),
        (("eng", "chi_sim"), False, "eng+chi_sim", ("Tesseract", None)),
        (("eng",), True, "eng+deu", ("Tesseract", "RapidOCR")),
        (("eng",), True, "deu", ("RapidOCR", None)),
    ],
)
def test_which_engine_reads_first_and_which_one_in_doubt(
    here: Callable[..., None],
    known: tuple[str, ...] | None,
    models: bool,
    languages: str,
    order: tuple[EngineName, EngineName | None],
) -> None:
    here(known, models)
    found = find_ocr("auto", languages)
    assert isinstance(found, Ocr) and (found.first, found.second) == order


def test_another_engine_or_language_is_another_reading_of_the_same_page(here: Callable[..., None]) -> None:
    tags = []
    for known, models, languages in [(("eng",), True, "eng"), (("eng",), False, "eng"), (("eng",), True, "eng+deu")]:
        here(known, models)
        found = find_ocr("auto", languages)
        assert isinstance(found, Ocr)
        tags.append(found.tag)
    assert len(set(tags)) == 3


def test_without_engines_or_their_languages_it_is_said_what_to_install(here: Callable[..., None]) -> None:
    here(None, False)
    assert find_ocr("auto", "eng") == NoOcr(
        f"install Tesseract, or {install_command('ocr')}, and index again to read these pages by OCR"
    )
    here(("eng",), False)
    with pytest.raises(
        DocumentError, match=r"'deu', but only for these languages: eng.*tesseract-ocr-deu.*or pip install"
    ):
        find_ocr("auto", "eng+deu")
    here(("eng",), True)
    with pytest.raises(DocumentError, match="no data for the language 'rus'") as raised:
        find_ocr("auto", "eng+rus")
    assert "pip" not in str(raised.value)
    here(None, True)
    with pytest.raises(DocumentError, match="RapidOCR does not read the language 'rus'"):
        find_ocr("auto", "rus")


def test_doubt_is_of_low_confidence_or_of_a_language_that_was_not_asked_for() -> None:
    english = "The weight of the goods is that which is shown on the ticket of the scale at the gate of the yard."
    german = "Die Ware wird an der Waage gewogen und ist mit dem Schein von der Fuhre zu nehmen, die das Tor hat."
    assert (language_of(english), language_of(german), language_of("1,200 34.5 7")) == ("eng", "deu", "")
    assert not doubtful(english, 92, "eng") and doubtful(english, 71, "eng")
    assert doubtful(german, 92, "eng") and not doubtful(german, 92, "eng+deu")


class _Engines:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.asked: list[tuple[EngineName | None, Future[object]]] = []

    def __call__(self, task: ScanTask) -> Future[object]:
        self.asked.append((task.engine, Future()))
        return self.asked[-1][1]


def _task(ocr: Ocr) -> ScanTask:
    return ScanTask(Path("a.pdf"), None, 1, ParseLimits(), ocr)


_BOTH = Ocr("eng", Tesseract("tesseract", "eng", ("eng",), True), True)


def test_a_second_engine_is_asked_in_doubt_and_taken_where_it_is_sure() -> None:
    engines = _Engines()
    reading = PageReading(_task(_BOTH), engines)
    engines.asked[0][1].set_result(EngineAnswer(b"first", "S22 th", 56, doubtful=True))
    assert [engine for engine, _ in engines.asked] == ["Tesseract", "RapidOCR"] and not reading.done()
    engines.asked[1][1].set_result(EngineAnswer(b"second", "Sand 22 t", 97, doubtful=False))
    assert reading.result() == b"second"


@pytest.mark.parametrize(
    ("second", "taken"),
    [
        (EngineAnswer(b"second", "Xyz", 70, True), b"first"),
        (EngineAnswer(b"second", "", 0, True), b"first"),
        (LimitError("the page needs more memory"), b"first"),
    ],
)
def test_the_first_reading_stays_where_the_second_is_no_better(second: EngineAnswer | LimitError, taken: bytes) -> None:
    engines = _Engines()
    reading = PageReading(_task(_BOTH), engines)
    engines.asked[0][1].set_result(EngineAnswer(b"first", "S22 th", 56, doubtful=True))
    if isinstance(second, EngineAnswer):
        engines.asked[1][1].set_result(second)
    else:
        engines.asked[1][1].set_exception(second)
    assert reading.result() == taken


def test_a_sure_reading_a_failure_and_a_cancelled_one_end_it_at_once() -> None:
    for end, ask in (("sure", _BOTH), ("failed", _BOTH), ("cancelled", _BOTH), ("alone", Ocr("eng", None, True))):
        engines = _Engines()
        reading = PageReading(_task(ask), engines)
        over: list[object] = []
        reading.add_done_callback(over.append)
        first = engines.asked[0][1]
        if end == "failed":
            first.set_exception(DocumentError("no"))
            assert isinstance(reading.exception(), DocumentError)
        elif end == "cancelled":
            assert reading.cancel() and reading.cancelled()
        else:
            first.set_result(EngineAnswer(b"first", "Sand", 50 if end == "alone" else 95, doubtful=end == "alone"))
            assert reading.result() == b"first"
        assert len(engines.asked) == 1 and over == [reading]


def _piece(text: str, x: float, y: float) -> Piece:
    return Piece(Line(text, x, y, x + 5 * len(text), y + 8, 8.0), True)


def test_a_table_that_comes_column_by_column_is_put_into_rows() -> None:
    rows = [("Sand", "1,200", "1,400"), ("Gravel", "300", "250"), ("Lime", "75", "80")]
    pieces = [_piece("Prices of goods in the yard at the end of the year", 60, 60)]
    pieces += [
        _piece(row[column], 60 + 90 * column, 80 + 12 * at) for column in range(3) for at, row in enumerate(rows)
    ]
    assert [line.text for line in in_reading_order(pieces)][1:] == ["  ".join(row) for row in rows]


def test_columns_of_text_stay_columns_however_an_engine_gives_them() -> None:
    left = [f"and the {word} of the harbour were counted" for word in "boats nets ropes masts sails crews oars".split()]
    right = [line.replace("harbour", "estuary") for line in left]
    by_column = [_piece(text, 60, 80 + 10 * at) for at, text in enumerate(left)]
    by_column += [_piece(text, 320, 80 + 10 * at) for at, text in enumerate(right)]
    by_row = [by_column[at + offset] for at in range(len(left)) for offset in (0, len(left))]
    for pieces in (by_column, by_row):
        assert [line.text for line in in_reading_order(pieces)] == left + right


def _scan(path: Path, words: str, font: str = "china-s", turn: int = 0) -> Path:
    source, document = pymupdf.open(), pymupdf.open()
    source.new_page(width=595, height=842).insert_textbox((60, 80, 535, 400), words, fontsize=14, fontname=font)
    picture = source[0].get_pixmap(dpi=150, colorspace=pymupdf.csGRAY)
    document.new_page(width=595, height=842).insert_image((0, 0, 595, 842), pixmap=picture, rotate=turn)
    document.save(path)
    return path


@rapid
def test_a_chinese_scan_is_read_without_naming_its_language(engine: Engine, tmp_path: Path) -> None:
    file = run(engine.index(_scan(tmp_path / "scan.pdf", _STATUTE))).files[0]
    assert file.note == "1 of 1 page was read by OCR: 1"
    page = run(engine.pages("scan.pdf", 1))[0]
    assert _STATUTE in page.text.replace("\n", "") and page.read_by.startswith("OCR (RapidOCR, ")
    assert run(engine.search("十四个工作日")).results[0].page == 1
    check = next(check for check in run(engine.admin.doctor()).checks if check.name == "ocr")
    assert check.ok and "RapidOCR, reading" in check.detail


@rapid
def test_rapidocr_alone_reads_a_page_on_its_head_and_its_models_leave_with_it(tmp_path: Path) -> None:
    words = pdfs.prose("a delivery of sand", 1, 8)
    pool = WorkerPool(
        1,
        WorkerLimits(),
    )
    try:
        readings = [
            pool.submit(_task_of(_scan(tmp_path / f"{turn}.pdf", words, "helv", turn)), pool.allowance())
            for turn in (0, 180)
        ]
        from indexers.ocr.pages import unpack

        for reading in readings:
            packed = reading.result()
            assert isinstance(packed, bytes)
            read = unpack(packed)
            assert len(set(words.split()) & set(read.text.split())) > 0.9 * len(set(words.split()))
            assert read.engine == "RapidOCR" and read.sure > 90
    finally:
        pool.close()


def _task_of(path: Path) -> ScanTask:
    return ScanTask(path, None, 1, ParseLimits(), Ocr("eng", None, True))


@rapid
def test_too_little_memory_for_the_models_costs_the_page_and_says_which_setting(tmp_path: Path) -> None:
    pool = WorkerPool(1, WorkerLimits(max_ocr_memory=300 * 10**6))
    try:
        with pytest.raises(DocumentError, match="memory"):
            pool.submit(_task_of(_scan(tmp_path / "a.pdf", _STATUTE)), pool.allowance()).result()
    finally:
        pool.close()


def test_nothing_of_rapidocr_is_loaded_to_find_it() -> None:
    find_ocr("auto", "eng")
    assert "cv2" not in sys.modules and "rapidocr" not in sys.modules
