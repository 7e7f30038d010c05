"""Messages of Outlook: their texts in each form, and the messages attached to them."""

from __future__ import annotations

from pathlib import Path

import compressed_rtf
import pytest

from tests.indexers.formats.packages import Streams, ole_file, read, text_of

_HTML_IN_RTF = (
    rb"{\rtf1\ansi\ansicpg1252\fromhtml1 \deff0{\fonttbl{\f0 Arial;}}{\*\htmltag64 <p>}Hello \htmlrtf {\b\htmlrtf0 "
    rb"{\*\htmltag84 <b>}caf\'e9 {\*\htmltag84 &amp;}\htmlrtf &\htmlrtf0  bar{\*\htmltag92 </b>}\htmlrtf }\htmlrtf0 "
    rb"{\*\htmltag72 </p>}{\*\htmltag64 <table><tr><td>}c1{\*\htmltag72 </td>}{\*\htmltag64 <td>}c2"
    rb"{\*\htmltag72 </td></tr></table>}\htmlrtf hidden\htmlrtf0 }"
)


def message(subject: str, **streams: str | bytes | Streams) -> Streams:
    """A message. ``streams`` are its properties by tag ("t1000001F") and folders by name."""
    packed: dict[str, bytes | Streams] = {"__properties_version1.0": bytes(32)}
    for name, content in {"t0037001F": subject, **streams}.items():
        data = content.encode("utf-16-le") if isinstance(content, str) else content
        packed[f"__substg1.0_{name[1:]}" if name[0] == "t" else f"__attach_version1.0_#0000000{name[-1]}"] = data
    return packed


def msg(path: Path, content: Streams) -> Path:
    path.write_bytes(ole_file(content))
    return path


@pytest.mark.parametrize(
    ("rtf", "shown"),
    [
        (rb"{\rtf1\ansi\ansicpg1251{\fonttbl{\f0\fcharset204 Arial;}}\f0 \'d6\'e5\'ed\'e0 10{\super 6}\par}",
         "Цена 10^6"),
        (rb"{\rtf1\ansi \trowd\cellx1\cellx2\intbl a\cell b\cell\row}", "| a | b |"),
        (_HTML_IN_RTF, "Hello café & bar\n\n| c1 | c2 |"),
    ],
)  # fmt: skip
def test_a_message_whose_text_is_rtf_reads_as_it_shows(tmp_path: Path, rtf: bytes, shown: str) -> None:
    path = msg(tmp_path / "a.msg", message("S", t10090102=compressed_rtf.compress(rtf)))
    assert text_of(path) == f"# S\n\n{shown}"


@pytest.mark.parametrize(
    ("plain", "html", "shown", "hidden"),
    [
        ("short", "<p>short</p><table><tr><td>Full price</td><td>500 EUR</td></tr></table>", "500 EUR", "none"),
        ("the whole text", "<p>the whole text</p>", "the whole text", "<p>"),
        (" ", "<p>only here</p>", "only here", "none"),
        ("only here", "", "only here", "none"),
    ],
)
def test_the_fuller_text_of_a_message_is_read(tmp_path: Path, plain: str, html: str, shown: str, hidden: str) -> None:
    text = text_of(msg(tmp_path / "a.msg", message("S", t1000001F=plain, t10130102=html.encode())))
    assert text.count(shown) == 1 and hidden not in text


def test_messages_attached_to_a_message_are_read_below_it(tmp_path: Path) -> None:
    deepest = message("Third", t10130102=b"<p>third words</p>")
    second = message("Second", t1000001F="second words", t0C1A001F="Ann", a0={"__substg1.0_3701000D": deepest},
                     a1={"__substg1.0_3707001F": "terms.txt".encode("utf-16-le")})  # fmt: skip
    inner = {"__substg1.0_3701000D": second, "__substg1.0_3001001F": "Forwarded".encode("utf-16-le")}
    info, pages = read(msg(tmp_path / "a.msg", message("First", t1000001F="first words", a0=inner)))
    text, at = "\n".join(page.text for page in pages), 0
    for part in ("# First", "first words", "Attached: Forwarded", "## Second", "From: Ann", "second words",
                 "Attached: terms.txt", "### Third", "third words"):  # fmt: skip
        assert part in text[at:], text
        at = text.index(part, at)
    assert [heading.level for heading in info.headings or ()] == [1, 2, 3]


@pytest.mark.parametrize(
    ("properties", "lines"),
    [
        ({"t0042001F": "Ann", "t0065001F": "ann@e.x", "t0E02001F": "Bea"}, ["From: Ann ann@e.x", "Bcc: Bea"]),
        ({"t0C1A001F": "Ann", "t0C1F001F": "/O=X/CN=ANN", "t0E04001F": "Kim"}, ["From: Ann", "To: Kim"]),
        ({"t001A001F": "IPM.Contact", "t3A16001F": "Harbour Ltd", "t3A08001F": "+44 1631"},
         ["Company: Harbour Ltd", "Business phone: +44 1631"]),
        ({"t001A001F": "IPM.Note", "t3A16001F": "Harbour Ltd", "t0E03001F": "Kim"}, ["Cc: Kim"]),
    ],
)  # fmt: skip
def test_the_head_names_people_and_contacts(tmp_path: Path, properties: dict[str, str], lines: list[str]) -> None:
    text = text_of(msg(tmp_path / "a.msg", message("S", t1000001F="words", **properties)))
    assert text.split("\n")[2:-2] == lines


@pytest.mark.parametrize(("tags", "shown"), [(("3001", "39FE"), "Kim; Lee"), (("39FE",), "k@e.x; l@e.x"), ((), "")])
def test_recipients_without_a_summary_are_listed(tmp_path: Path, tags: tuple[str, ...], shown: str) -> None:
    people = [{"3001": "Kim", "39FE": "k@e.x"}, {"3001": "Lee", "39FE": "l@e.x"}]
    folders = {
        f"__recip_version1.0_#0000000{at}": {
            "__properties_version1.0": bytes(8),
            **{f"__substg1.0_{tag}001F": person[tag].encode("utf-16-le") for tag in tags},
        }
        for at, person in enumerate(people)
    }
    text = text_of(msg(tmp_path / "a.msg", {**message("S", t1000001F="words"), **folders}))
    assert (f"To: {shown}" in text) == bool(shown) and "words" in text
