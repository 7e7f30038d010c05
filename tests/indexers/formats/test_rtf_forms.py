"""RTF as it shows: character sets, signs, strokes in cells, running heads, hidden words, embedded objects."""

from __future__ import annotations

from pathlib import Path

import pytest

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
    ],
)
def test_words_of_rtf(tmp_path: Path, inside: bytes, shown: str) -> None:
    assert " ".join(text_of(rtf(tmp_path / "a.rtf", inside)).split()) == shown


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (rb"{\rtf1\mac\deff0{\fonttbl{\f0 Geneva;}}caf\'8e \'d2q\'d3\par}", "café “q”"),
        (rb"{\rtf1\pc\deff0{\fonttbl{\f0 Terminal;}}caf\'82 \'81ber\par}", "café über"),
        (b"{\\rtf1\\ansi\\ansicpg1251{\\fonttbl{\\f0\\fcharset204 Arial;}}\\f0 \\'d6\\'e5\\'ed\\'e0 "
         + "прямой".encode("cp1251") + b"\\par}", "Цена прямой"),
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
