"""RTF as it shows: character sets, signs, strokes in cells, running heads, hidden words, embedded objects."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from indexers.formats.office.rtf import rtf_html
from tests.indexers.formats.packages import read, text_of

_HEAD = (
    rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}{\f1\fcharset2 Symbol;}{\f2\fcharset2{\*\panose 05}Wingdings;}"
    rb"{\f3\fcharset128 Mincho;}}"
)


def rtf(path: Path, inside: bytes, head: bytes = _HEAD) -> Path:
    path.write_bytes(head + inside + b"}")
    return path


@pytest.mark.parametrize(
    ("inside", "shown"),
    [
        (rb"\uc1 a\u8364?b {\uc0 c\u8364 d} {\uc2 e\u8364\'3f\'3fg}\par", "a€b c€d e€g"),
        (rb"go \u-10179?\u-8576? now\par", "go 🚀 now"),
        (rb"x {\f1 a\'b0} y {\f2 \'fe} z\par", "x α° y ☒ z"),
        (rb"\u-3913?\tab item\par", "• item"),
        (rb"a\column b\par", "a b"),
        (rb"before {\object\objemb{\*\objclass W}{\*\objdata 0105}{\result{shown}}} after\par", "before shown after"),
        (rb"plain|line|\par", "plain|line|"),
        (rb"{\f3 \'96\'7c\'96\'f3}\par", "翻訳"),
        (rb"{\f3 \'83e\'83X\'83g} caf\'e9s\par", "テスト cafés"),  # second bytes as Word writes them
        (rb"{\f3 \'95\\\'8e\'a6 \'83|\'83C}\par", "表示 ポイ"),
        (b"{\\f3 \x93\xfa\x97j\x93\xfa} x\\par", "日曜日 x"),
        (rb"{\upr{Ueber}{\*\ud{\u220?ber}}} Stock\par", "Über Stock"),
        (rb"a {\upr{x {\b y}}{\*\ud {x {\b \u955?}}}}\par", "a x λ"),
        (rb"{\upr{only}} b\par", "b"),
        (rb"{\pntext\f0 2)\tab}Fees\par {\pntext 3)\tab}Dues\par", "2) Fees 3) Dues"),
        (rb"{\pntext\f1\'B7\tab}{\*\pn\pnlvlblt{\pntxtb\'B7}}Fees\par", "• Fees"),
    ],
)
def test_words_of_rtf(tmp_path: Path, inside: bytes, shown: str) -> None:
    assert " ".join(text_of(rtf(tmp_path / "a.rtf", inside)).split()) == shown


@pytest.mark.parametrize("fonts", [b"", b";", rb"{\fswiss Helvetica;}"])
def test_a_table_without_numbered_fonts(tmp_path: Path, fonts: bytes) -> None:
    head = rb"{\rtf1\ansi{\fonttbl" + fonts + b"}"
    assert text_of(rtf(tmp_path / "a.rtf", rb"kelp caf\'e9\par", head)) == "kelp café"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (rb"{\rtf1\mac\deff0{\fonttbl{\f0 Geneva;}}caf\'8e \'d2q\'d3\par}", "café “q”"),
        (rb"{\rtf1\pc\deff0{\fonttbl{\f0 Terminal;}}caf\'82 \'81ber\par}", "café über"),
        (b"{\\rtf1\\ansi\\ansicpg1251{\\fonttbl{\\f0\\fcharset204 Arial;}}\\f0 \\'d6\\'e5\\'ed\\'e0 "
         + "прямой".encode("cp1251") + b"\\par}", "Цена прямой"),
        (rb"{\rtf1\ansi\ansicpg1251{\fonttbl{\f0 Times;}}\f0 \'d6\'e5\'ed\'e0\par}", "Цена"),
        (rb"{\rtf1\ansi\ansicpg1253{\fonttbl{\f0\fcharset1 Times;}}\f0 \'d4\'e9\'ec\'de\par}", "Τιμή"),
        (rb"{\rtf1\ansi\ansicpg936{\fonttbl{\f0 Song;}{\f1\fcharset0 Arial;}}\f0 \'8cZ\f1  caf\'e9s\par}", "孼 cafés"),
    ],
)  # fmt: skip
def test_character_sets_of_rtf(tmp_path: Path, source: bytes, shown: str) -> None:
    (tmp_path / "a.rtf").write_bytes(source)
    assert text_of(tmp_path / "a.rtf") == shown


def test_strokes_in_cells_end_none(tmp_path: Path) -> None:
    row = rb"\trowd\cellx1\cellx2\intbl %s\cell %s\cell\row "
    text = text_of(rtf(tmp_path / "a.rtf", row % (b"a|b", rb"c\'7cd") + row % (b"1", b"2") + rb"\pard end\par"))
    assert r"| a\|b | c\|d |" in text and "| 1 | 2 |" in text


def test_running_heads_are_said_once_and_hidden_words_counted(tmp_path: Path) -> None:
    inside = rb"{\header\pard Ref 77\par}{\footerl Page\par}{\headerf\pard Ref 77\par}body {\v not for all} end\par"
    info, pages = read(rtf(tmp_path / "a.rtf", inside))
    assert " ".join(" ".join(page.text for page in pages).split()) == "body end Ref 77 Page"
    assert "3 words of hidden text, which is not printed, were left out" in info.warnings


@pytest.mark.parametrize(
    ("equation", "shown"),
    [
        (rb"{\mmath{\*\moMath{\mf{\mfPr{\mctrlPr\f34}}{\mnum{\mr\f34 x+1}}{\mden{\mr\f34 2}}}{\mr +y}}}", "(x+1)/2+y"),
        (rb"{\mmathPara{\*\moMathPara{\moMath{\mr E=m}{\msSup{\me{\mr c}}{\msup{\mr 2}}}}}}", "E=mc^2"),
        (
            rb"{\*\moMath{\mnary{\mnaryPr{\mchr \u8721?}}{\msub{\mr i=1}}{\msup{\mr n}}{\me{\mr \u955?i}}}}",
            "∑_(i=1)^n λi",
        ),
        (rb"{\mmath{\*\moMath{\mr a=b}}{\mmathPict{\pict\wmetafile8 0100}}}", "a=b"),
    ],
)
def test_equations_of_rtf(tmp_path: Path, equation: bytes, shown: str) -> None:
    path = rtf(tmp_path / "a.rtf", rb"Let " + equation + rb" hold\par")
    assert " ".join(text_of(path).split()) == f"Let {shown} hold"


def _form(kind: int, inside: bytes) -> bytes:
    return rb"{\field{\*\fldinst{ FORM }{\*\formfield{\fftype%d%s}}}{\fldrslt }}" % (kind, inside)


@pytest.mark.parametrize(
    ("field", "shown"),
    [
        (_form(1, rb"\ffres1\ffdefres0"), "☒"),
        (_form(1, rb"\ffres25\ffdefres1"), "☒"),
        (_form(1, rb"\ffres25\fftypetxt0\ffdefres0"), "☐"),
        (_form(2, rb"\ffres1{\*\ffl red}{\*\ffl blue}"), "blue"),
        (_form(2, rb"\ffres25\ffdefres0{\*\ffl red}{\*\ffl blue}"), "red"),
        (_form(2, rb"\ffres7{\*\ffl red}"), ""),
        (rb"{\field{\*\fldinst FORMTEXT {\*\formfield{\fftype0}}}{\fldrslt typed}}", "typed"),
    ],
)
def test_fields_of_forms_are_read_as_they_show(tmp_path: Path, field: bytes, shown: str) -> None:
    path = rtf(tmp_path / "a.rtf", rb"\pard a {\field{\*\fldinst PAGE}{\fldrslt 7}} " + field + rb" b\par")
    assert text_of(path).split() == ["a", "7", *shown.split(), "b"]


@pytest.mark.parametrize(
    ("second", "rows"),
    [
        (rb"\trowd\clvmrg\cellx100\cellx200\pard\intbl \cell 2\cell\row", "| Alpha | 2 |"),
        (rb"\trowd\clvmrg\cellx100\cellx200\pard\intbl own\cell 2\cell\row", "| own | 2 |"),
        (rb"\trowd\cellx100\cellx200\pard\intbl \cell 2\cell\row", "|  | 2 |"),
        (rb"\trowd\clvmrg\cellx100\cellx200\pard\intbl \cell 2\cell\row" * 2, "| Alpha | 2 |\n| Alpha | 2 |"),
    ],
)
def test_merged_cells_repeat_their_words(tmp_path: Path, second: bytes, rows: str) -> None:
    first = rb"\trowd\clvmgf\cellx100\cellx200\pard\intbl Alpha\cell 1\cell\row"
    assert rows in text_of(rtf(tmp_path / "a.rtf", first + second + rb"\pard x\par"))


def test_deleted_words_are_counted(tmp_path: Path) -> None:
    info, pages = read(rtf(tmp_path / "a.rtf", rb"\pard seen {\deleted two words}{\v one}\par"))
    assert pages[0].text == "seen"
    assert info.warnings == (
        "1 word of hidden text, which is not printed, was left out",
        "2 words that a tracked change deletes were left out",
    )


def _linked(address: str, words: bytes) -> bytes:
    return b"{\\field{\\*\\fldinst{HYPERLINK %s}}{\\fldrslt {%s}}}" % (address.encode(), words)


@pytest.mark.parametrize(
    ("inside", "shown"),
    [
        (b"see " + _linked('"https://e.x/a b|c"', rb"\ul the \b terms") + rb" now\par",
         "see [the terms](https://e.x/a%20b%7Cc) now"),
        (_linked('"mailto:kim@e.x" \\\\o "tip"', b"Kim") + rb" and " + _linked('\\\\l "b1"', b"inner") + rb"\par",
         "[Kim](mailto:kim@e.x) and inner"),
        (_linked('"https://e.x"', b"e.x") + rb"\par", "e.x"),
        (rb"\trowd\cellx1\cellx2\intbl " + _linked('"https://e.x/c"', b"cell") + rb"\cell b\cell\row",
         "| [cell](https://e.x/c) | b |"),
        (rb"\pard\outlinelevel0 Head " + _linked('"https://e.x/h"', b"linked") + rb"\par", "# Head linked"),
        (_linked('"https://e.x/2"', rb"one\line two") + rb"\par", "[one](https://e.x/2)\n\ntwo"),
    ],
)  # fmt: skip
def test_links_of_rtf_keep_their_addresses(tmp_path: Path, inside: bytes, shown: str) -> None:
    assert text_of(rtf(tmp_path / "a.rtf", inside)) == shown


@pytest.mark.parametrize(
    ("instruction", "shown"),
    [(rb"SYMBOL 176 \\f Symbol \\s 12", "x ° y"), (rb'{SYMBOL 254 \\f "Wingdings"}', "x ☒ y"),
     (rb"EQ \\f(1,2)", "x 1/2 y"),
     (rb"MACROBUTTON Go {\b [your name]}", "x [your name] y"), (rb"PAGE", "x y")],
)  # fmt: skip
def test_fields_without_a_result_show_what_they_say(tmp_path: Path, instruction: bytes, shown: str) -> None:
    inside = rb"x {\field{\*\fldinst " + instruction + rb"}{\fldrslt\f1\fs24}} y\par"
    assert " ".join(text_of(rtf(tmp_path / "a.rtf", inside)).split()) == shown
    inside = rb"x {\field{\*\fldinst " + instruction + rb"}{\fldrslt {\b stored}}} y\par"
    assert " ".join(text_of(rtf(tmp_path / "a.rtf", inside)).split()) == "x stored y"


@pytest.mark.parametrize(
    "inside",
    [rb"a {\mvf\mvfauth1 old place }b {\mvt new}\par", rb"a {\*\mvfmkstart m}\mvf old {\b place }\mvf0 b new\par",
     rb"a \mvf old\plain  b new\par"],
)  # fmt: skip
def test_words_that_were_moved_away_are_left_out(tmp_path: Path, inside: bytes) -> None:
    info, pages = read(rtf(tmp_path / "a.rtf", inside))
    assert " ".join(pages[0].text.split()) == "a b new" and not info.warnings


@pytest.mark.parametrize(
    ("page", "text", "shown"),
    [(1251, rb"\'d6\'e5\'ed\'e0", "Цена"), (1253, rb"\'d4\'e9\'ec\'de", "Τιμή"), (932, rb"\'96\'7c\'96\'f3", "翻訳")],
)
def test_fonts_may_name_their_code_page(tmp_path: Path, page: int, text: bytes, shown: str) -> None:
    head = rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fnil\cpg%d Arial;}}" % page
    assert text_of(rtf(tmp_path / "a.rtf", rb"\f0 " + text + rb"\par", head)) == shown


@pytest.mark.parametrize(
    ("inside", "shown"),
    [
        (rb"body {\shp{\*\shpinst{\sp{\sn gtextUNICODE}{\sv DRAFT}}{\sp{\sn wzDescription}{\sv A quay}}}}end\par",
         ["body end", "DRAFT", "![A quay]"]),
        (rb"x {\shp{\*\shpinst{\sp{\sn wzDescription}{\sv C:\\pictures\\quay.JPG}}}}y\par", ["x y"]),
        (rb"see {\*\shppict{\pict{\*\picprop{\sp{\sn wzDescription}{\sv Caf\'e9}}}\pngblip 8950}}"
         rb"{\nonshppict{\pict 01}}end\par",
         ["see end", "![Café]"]),
        (rb"x{\shp{\*\shpinst{\sp{\sn wzDescription}{\sv Plan}}{\shptxt \pard boxed\par}}} y\par",
         ["x y", "![Plan]", "boxed"]),
    ],
)  # fmt: skip
def test_drawn_letters_and_alternative_texts_follow_their_paragraph(
    tmp_path: Path, inside: bytes, shown: list[str]
) -> None:
    assert [" ".join(line.split()) for line in text_of(rtf(tmp_path / "a.rtf", inside)).split("\n\n")] == shown


_NESTED = (
    rb"\trowd\cellx1\cellx2\pard\intbl outer\cell\pard\intbl\itap2 in1\nestcell in2\nestcell{\*\nesttableprops\trowd"
    rb"\cellx1\cellx2\nestrow}{\nonesttables\par}%s\pard\intbl after\cell\row\pard end\par"
)


@pytest.mark.parametrize(
    ("inside", "shown"),
    [
        (_NESTED % b"", "| outer | in1 · in2; after |"),
        (_NESTED % rb"\pard\intbl\itap2 3\nestcell 4\nestcell{\*\nesttableprops\nestrow}{\nonesttables\par}",
         "| outer | in1 · in2; 3 · 4; after |"),
        (_NESTED.replace(b"after", b"") % b"", "| outer | in1 · in2 |"),
        (rb"\trowd\cellx1\cellx2\intbl a\cell b\cell\row\trowd\cellx1\intbl c\cell\row end\par",
         "| a | b |\n|---|---|\n| c |  |"),
        (rb"\trowd\cellx1\intbl alone\cell\row end\par", "alone"),
    ],
)  # fmt: skip
def test_nested_tables_and_single_cells_of_rtf(tmp_path: Path, inside: bytes, shown: str) -> None:
    assert text_of(rtf(tmp_path / "a.rtf", inside)) == f"{shown}\n\nend"


@pytest.mark.parametrize(
    ("title", "shown"),
    [(rb"R\'e9sum\'e9 \u8212- One", "Résumé — One"), (rb"{\b Two} {\i words}", "Two words"), (rb"a \{b\}", "a {b}")],
)
def test_titles_of_files_are_decoded(tmp_path: Path, title: bytes, shown: str) -> None:
    inside = rb"{\info{\title " + title + rb"}{\author J\u246?rg}}body\par"
    assert read(rtf(tmp_path / "a.rtf", inside))[0].metadata == {"title": shown, "author": "Jörg"}


@pytest.mark.parametrize(
    ("inside", "shown", "words"),
    [
        (rb"{\stylesheet{\s1 Normal;}{\*\cs15 \v z-Top of Form;}}body\par", "body", 0),
        (rb"{\stylesheet{\*\cs15 \v Hidden;}}a {\cs15\v two words }b\par", "a b", 2),
        (rb"{\v one }b\par", "b", 1),
    ],
)
def test_names_of_styles_are_no_hidden_words(tmp_path: Path, inside: bytes, shown: str, words: int) -> None:
    info, pages = read(rtf(tmp_path / "a.rtf", inside))
    assert " ".join(pages[0].text.split()) == shown and len(info.warnings) == bool(words)
    assert all(str(warning).startswith(f"{words} word") for warning in info.warnings)


@pytest.mark.parametrize("drawing", [rb"\dobxpage", rb"\dobymargin\dodhgt1", b""])
def test_boxes_of_older_files_follow_their_paragraph(tmp_path: Path, drawing: bytes) -> None:
    inside = rb"before {\*\do" + drawing + rb"{\dptxbx{\dptxbxtext\pard boxed\par}}} after\par"
    assert [" ".join(line.split()) for line in text_of(rtf(tmp_path / "a.rtf", inside)).split("\n\n")] == [
        "before after", "boxed"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "inside",
    [rb"{\fldinst ", rb"{\field{\fldinst x}{\fldrslt ", rb"{\field{\*\fldinst SYMBOL 65}{\fldrslt ",
     rb"{\*\shppict ", rb"{\shp{\sp{\sn wzDescription}{\sv a"],
)  # fmt: skip
def test_groups_without_an_end_are_read_in_seconds(tmp_path: Path, inside: bytes) -> None:
    begin = time.process_time()
    assert text_of(rtf(tmp_path / "a.rtf", rb"before\par " + inside * 4_000)).startswith("before")
    assert time.process_time() - begin < 5


def test_marks_of_a_wrapped_page_without_an_end_are_read_in_seconds() -> None:
    begin = time.process_time()
    page = rtf_html(_HEAD + rb"\fromhtml1 {\*\htmltag <p>}shown" + rb"\htmlrtf x" * 40_000 + b"}")
    assert page.strip() == "<p>shown" and time.process_time() - begin < 5
