"""Characters as a reader would type them, and pages whose characters are not to be believed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hybrid_core.text.tokens import clean, readable
from hybrid_core.types.documents import ParsedPage
from hybrid_pageindex import Engine, run
from indexers.formats.pdf.document import open_pdf
from indexers.formats.pdf.line_text import keep_unknown
from indexers.formats.pdf.read import read_pages
from tests import pdfs
from tests.indexers.formats import raw_pdf


def read(path: Path) -> str:
    with open_pdf(path) as document:
        page = next(iter(read_pages(document, [1])))
    assert isinstance(page, ParsedPage)
    return page.text


@pytest.mark.parametrize(
    ("mapped", "meant"),
    [
        ("o\ufb03ce \ufb01le \ufb05eam", "office file steam"),
        ("sta\u00adtion", "station"),
        ("\u2f00\u2f08\u6c34", "\u4e00\u4eba\u6c34"),  # Kangxi radicals for the characters that look like them
        ("\uff11\uff12 \u216b", "\uff11\uff12 \u216b"),  # full-width figures and number signs stay as printed
    ],
)
def test_ligatures_soft_hyphens_and_radicals(tmp_path: Path, mapped: str, meant: str) -> None:
    assert read(raw_pdf.painted(tmp_path / "a.pdf", [(72, 700, mapped)])) == meant


def test_control_characters_tell_of_a_missing_mapping_unless_they_are_rare() -> None:
    assert keep_unknown("\x01\x02\x03 a\x04") == "\ufffd\ufffd\ufffd a\ufffd"
    stray = "One stray control\x03character in a long line"
    assert keep_unknown(stray) == stray
    assert clean(keep_unknown(stray)) == "One stray controlcharacter in a long line"


ENGLISH = pdfs.prose("an ordinary subject", 1, 8)


@pytest.mark.parametrize(
    ("text", "believed"),
    [
        (ENGLISH, True),
        ("Der Aufsichtsrat prüfte die größten Schäden; für Straßen gab es übliche Zuschüsse. " * 3, True),
        ("Przedsiębiorstwo wszczęło postępowanie, sprzedaż wzrosła, źródła są pewne. " * 3, True),
        (
            "Strč prst skrz krk. Vlk zmrzl, zhltl hrst zrn. Smrk strhl chrt. Škrt plch z mlh. ",
            True,
        ),  # short: no verdict
        ("Công ty đã được thành lập tại thành phố Hồ Chí Minh vào năm một chín chín tám. " * 3, True),
        ("青禾灌溉设备公司采购制度" * 20, True),
        ("تقرير الشركة عن السنة المالية " * 10, True),
        ("1,204  3,455  (788)  12.5%  $ 1,033  —\n" * 30, True),
        ("x = a[i] + b[j]; if (x > 0) { y -= x; }\n" * 20, True),
        ("0f3a 99bc 12de 77aa 4e5f c0ff\n" * 20, True),
        ("".join(chr(ord(c) - 29) if ord(c) > 60 else c for c in ENGLISH), False),  # glyph numbers for characters
        ("!\"#&'+;<>?@[]^`{}~ " * 10, False),
        ("\ufffd\ufffd\ufffd ab \ufffd", False),
        ("\ue001\ue002\U000f0003 ok", False),
        ("  \n ", False),
    ],
)
def test_what_is_taken_for_text(text: str, believed: bool) -> None:
    assert readable(text) is believed


def test_pages_with_a_wrong_mapping_are_marked_and_the_others_not(engine: Engine, tmp_path: Path) -> None:
    lines = [ENGLISH[n : n + 60] for n in range(0, 300, 60)]
    moved = {char: chr(max(1, ord(char) - 29)) for char in set(ENGLISH)}
    unknown = {char: chr(0xE000 + n) for n, char in enumerate(sorted(set(ENGLISH)))}
    runs = [(72.0, 700.0 - 14 * n, line) for n, line in enumerate(lines)]
    for name, mapping in (("right", {}), ("moved", moved), ("unknown", unknown)):
        raw_pdf.painted(tmp_path / f"{name}.pdf", runs, mapping)
    engine.settings = replace(engine.settings, ocr="never")
    report = run(engine.index(tmp_path))
    assert [file.status for file in report.files] == ["indexed"] * 3
    marked = {name: run(engine.pages(f"{name}.pdf", "1"))[0].needs_ocr for name in ("right", "moved", "unknown")}
    assert marked == {"right": False, "moved": True, "unknown": True}
    assert any("1 of 1 page has no readable text" in file.note for file in report.files)
