"""Mails as people send them: labels, damaged heads, boxes cut by their borders, and what Outlook packs."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from indexers.formats.limits import ParseLimits
from indexers.formats.mail.message import eml_members, mbox_members
from tests.indexers.formats.packages import read, text_of

HEAD = b"From: Ann <ann@example.org>\nSubject: Port\nMIME-Version: 1.0\n"


@pytest.mark.parametrize(
    ("label", "encoding", "text", "notes"),
    [
        ("windows-31j", "cp932", "価格は千二百円", 0), ("gb2312", "gb18030", "朱镕基总理", 0),
        ("us-ascii", "utf-8", "Grüße aus Köln", 0), ("us-ascii", "cp1251", "Цена двести рублей", 1),
        ("gb2312", "cp1252", "Die Größe der Fläche für Bürger", 1), ("nonsense", "utf-8", "Grüße", 0),
    ],
)  # fmt: skip
def test_the_text_of_a_mail_never_loses_letters(
    tmp_path: Path, label: str, encoding: str, text: str, notes: int
) -> None:
    kind = f"Content-Type: text/plain; charset={label}\nContent-Transfer-Encoding: 8bit\n\n".encode()
    (tmp_path / "a.eml").write_bytes(HEAD + kind + text.encode(encoding))
    info, (page,) = read(tmp_path / "a.eml")
    assert text in page.text and "\ufffd" not in page.text and len(info.warnings) == notes


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + HEAD + b"\nBODY", b"\r\n\n" + HEAD + b"\nBODY",
        HEAD.replace(b"Subject:", b"Subject :") + b"\nBODY",
        b"quite a stray line\n" + HEAD + b"\nBODY", HEAD.replace(b"MIME", b"Delivered To nobody\nMIME") + b"\nBODY",
    ],
)  # fmt: skip
def test_one_bad_line_does_not_cost_a_mail(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.eml").write_bytes(data)
    info, (page,) = read(tmp_path / "a.eml")
    assert info.metadata["title"] == "Port" and page.text.endswith("BODY")
    for stray in ("quite a stray line", "Delivered To nobody"):
        assert (stray in page.text) == (stray.encode() in data)


def test_html_without_a_type_is_no_source_text(tmp_path: Path) -> None:
    body = base64.encodebytes(b"<html><body><p>The pump &amp; motor</p></body></html>")
    (tmp_path / "a.eml").write_bytes(HEAD + b"Content-Transfer-Encoding: base64\n\n" + body)
    assert "The pump & motor" in text_of(tmp_path / "a.eml") and "<p>" not in text_of(tmp_path / "a.eml")


@pytest.mark.parametrize(
    "sentence",
    ["From here on the price is 5.", "From Monday on the office opens at 9.", ">From the start, at 10:30, we met.",
     "From May 2019 on\nall is new: as agreed."],
)  # fmt: skip
def test_a_sentence_that_begins_with_from_cuts_no_message(tmp_path: Path, sentence: str) -> None:
    border = "From ann@example.org Tue Mar  6 09:05:00 2018\nSubject: {}\nFrom: ann@example.org\n\n"
    box = border.format("One") + f"Dear all,\n\n{sentence}\n\nRegards\n\n" + border.format("Two") + "END\n"
    (tmp_path / "a.mbox").write_text(box)
    pages = read(tmp_path / "a.mbox")[1]
    assert len(pages) == 2 and "END" in pages[1].text
    assert sentence.removeprefix(">") in pages[0].text and "Regards" in pages[0].text


def test_a_box_with_a_mark_and_borders_of_other_programs(tmp_path: Path) -> None:
    borders = (
        "From - Tue Mar 06 09:05:00 2018",
        "From MAILER-DAEMON Fri Jul  8 12:08:34 2011",
        "From bo 2018-03-07 10:00",
    )
    box = "\ufeff" + "\n\n".join(
        f"{border}\nX-Number: {at}\nFrom: a@b\n\nBODY {at}" for at, border in enumerate(borders)
    )
    (tmp_path / "a.mbox").write_text(box)
    assert [page.text.rsplit("\n")[-1] for page in read(tmp_path / "a.mbox")[1]] == ["BODY 0", "BODY 1", "BODY 2"]
    assert list(mbox_members(tmp_path / "a.mbox", ParseLimits())) == []


def test_a_damaged_winmail_is_said(tmp_path: Path) -> None:
    packed = b"Content-Type: application/ms-tnef; name=winmail.dat\nContent-Transfer-Encoding: base64\n\neJ8+IgEC"
    (tmp_path / "a.eml").write_bytes(HEAD + packed)
    info, _ = read(tmp_path / "a.eml")
    assert "winmail.dat" in info.warnings[0] and list(eml_members(tmp_path / "a.eml", ParseLimits())) == []
