"""Texts with little markup: TXT, RTF, notebooks, subtitles, mail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hybrid_core.errors import DocumentError
from tests.indexers.formats.packages import read, text_of, titles


def test_a_text_keeps_its_lines_and_its_numbered_clauses_are_headings(tmp_path: Path) -> None:
    clauses = "\n\n".join(f"Article {n}\n\nThe keeper of port {n} counts\nthe ships." for n in range(1, 4))
    (tmp_path / "a.txt").write_text(f"Statute\n\n{clauses}\f\nSecond page")
    pages = read(tmp_path / "a.txt")[1]
    assert [title for _, title in titles(tmp_path / "a.txt")] == ["Article 1", "Article 2", "Article 3"]
    assert "counts\nthe ships." in pages[0].text and pages[1].text == "Second page"
    assert pages[0].label == "lines 1-15"


@pytest.mark.parametrize("sentence", ["Статья {} о причале.", "Artykuł {} żąda opłaty.", "Άρθρο {} ορίζει τέλη."])
def test_sentences_about_clauses_are_no_clauses(tmp_path: Path, sentence: str) -> None:
    (tmp_path / "a.txt").write_text("\n\n".join(sentence.format(n) for n in range(1, 5)))
    assert titles(tmp_path / "a.txt") == []


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_told_by_its_zeros(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.txt").write_bytes("The keeper counts ships at Zürich.\n".encode(encoding))
    info, (page,) = read(tmp_path / "a.txt")
    assert page.text == "The keeper counts ships at Zürich." and encoding.upper() in info.warnings[0]


def test_rtf(tmp_path: Path) -> None:
    source = r"{\rtf1\ansi\ansicpg1252{\info{\title Ports}}Gr\'fc\'dfe\par Second\par\trowd Oban\cell 44\cell\row}"
    (tmp_path / "a.rtf").write_text(source)
    info, _ = read(tmp_path / "a.rtf")
    text = text_of(tmp_path / "a.rtf")
    assert info.metadata == {"title": "Ports"} and "Grüße" in text and "| Oban | 44 |" in text


def test_half_a_character_costs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a.rtf").write_text(r"{\rtf1 kelp \u-10240? and gull}")
    assert "kelp" in text_of(tmp_path / "a.rtf").encode().decode()


def test_cells_of_a_notebook_are_blocks(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Tides\n", "They *turn*.\n", "```\n", "# no heading\n", "```"]},
        {"cell_type": "code", "source": "print(44)", "outputs": [{"text": ["44\n"]}]},
    ]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}}))
    assert titles(tmp_path / "a.ipynb") == [(1, "Tides")]
    text = text_of(tmp_path / "a.ipynb")
    assert "```python\nprint(44)\n```" in text and "They *turn*." in text and "```\n44\n```" in text


@pytest.mark.parametrize("name", ["a.vtt", "a.srt"])
def test_subtitles_are_sentences_with_their_times(tmp_path: Path, name: str) -> None:
    vtt = name.endswith("vtt")
    stop = "." if vtt else ","
    cues = ["The tide", "turns.", "<v Ann>Yes.</v>" if vtt else "Yes."]
    body = "\n\n".join(f"{n}\n00:0{n}:00{stop}000 --> 00:0{n}:09{stop}000\n{cue}" for n, cue in enumerate(cues, 1))
    (tmp_path / name).write_text(("WEBVTT\n\n" if vtt else "") + body)
    (page,) = read(tmp_path / name)[1]
    assert "[00:01:00] The tide turns." in page.text and page.label == "00:01:00–00:03:00"
    assert ("Ann: Yes." if vtt else "[00:03:00] Yes.") in page.text


MAIL = """From: Ann <ann@example.org>
To: bob@example.org
Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=
Date: Tue, 06 Mar 2018 10:00:00 +0000
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=x

--x
Content-Type: text/html; charset=utf-8

<h1>Dues</h1><p>They are paid.</p>
--x
Content-Type: application/pdf
Content-Disposition: attachment; filename="dues.pdf"

JVBERi0=
--x--
"""


def test_a_mail_is_its_head_its_text_and_the_names_of_what_is_attached(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_text(MAIL)
    info, (page,) = read(tmp_path / "a.eml")
    assert titles(tmp_path / "a.eml") == [(1, "Grüße"), (2, "Dues")] and page.label == "2018-03-06"
    assert "From: Ann <ann@example.org>" in page.text and "They are paid." in page.text
    assert "Attached: dues.pdf" in page.text and info.metadata["title"] == "Grüße"


def test_a_mailbox_is_its_messages(tmp_path: Path) -> None:
    box = "".join(f"From ann Tue Mar 6 2018\nFrom: ann@example.org\nSubject: Note {n}\n\nPort {n}.\n\n" for n in (1, 2))
    (tmp_path / "a.mbox").write_text(box)
    assert [(page.label, page.text.split("\n")[0]) for page in read(tmp_path / "a.mbox")[1]] == [
        ("message 1", "# Note 1"), ("message 2", "# Note 2"),
    ]  # fmt: skip


def test_what_is_no_mail_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_text("nothing of the kind")
    with pytest.raises(DocumentError, match="not a mail"):
        read(tmp_path / "a.eml")


_STYLED = r"{\rtf1\ansi{\stylesheet{\s1\outlinelevel0 heading 1;}{\s2\sbasedon1 \outlinelevel1 heading 2;}}"


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        (r"10{\super 6} t of CO{\sub 2}, mc{\up6 2}", "10^6 t of CO₂, mc^2"),
        (r"due {\strike\b May 4} June \striked1 7\striked0  8", "due ~~May 4~~ June ~~7~~ 8"),
        (r"{\deleted gone }kelp {\b\deleted gone\b0 }reef", "kelp reef"),
        (r"{\shp{\*\shpinst{\sp{\sn a}{\sv 1}}{\shptxt kelp\par}}}The gull{\header top\par}.\par end",
         "The gull.\nkelp\nend\ntop"),
        (r"\pard\s1 Ports\par\pard\s2 Dues\par\pard plain\par", "# Ports\n## Dues\nplain"),
        (r"\trowd\pard\intbl\s1 Port\cell Dues\cell\row\pard\intbl Oban\cell 10{\super 6}\cell\row\pard end",
         "| Port | Dues |\n|---|---|\n| Oban | 10^6 |\nend"),
        (r"\s99999\sub0{\super\strike}{\bin3 }{}}kelp", "kelp"),
    ],
)  # fmt: skip
def test_forms_and_headings_of_rtf(tmp_path: Path, inside: str, text: str) -> None:
    (tmp_path / "a.rtf").write_text(_STYLED + inside + "}")
    assert [line for line in text_of(tmp_path / "a.rtf").split("\n") if line] == text.split("\n")


def test_sections_of_a_standard_in_plain_text(tmp_path: Path) -> None:
    titles_of = ["10 Status Codes", "10.1 Informational 1xx", "10.1.1 100 Continue", "10.1.2 101 Switching Protocols",
                 "10.2 http URL", "10.3 Changes to Simplify Multi-homed Servers and Conserve IP\n        Addresses",
                 "11 Access Authentication"]  # fmt: skip
    contents = "\n".join(f"   {title.split(chr(10))[0]} ........{at}" for at, title in enumerate(titles_of))
    text = (
        "   The server answers as section 10.2 says. Its header\n   has 10.1 parts.\n\n   10.5 is the rate\n   of it."
    )
    body = "\n\n".join(f"{title}\n\n{text}" for title in titles_of)
    (tmp_path / "a.txt").write_text(f"Request for Comments: 1\n\nTable of Contents\n\n{contents}\n\n{body}\n")
    expected = [" ".join(title.split()) for title in titles_of]
    assert titles(tmp_path / "a.txt") == [
        (1, expected[0]), (2, expected[1]), (3, expected[2]), (3, expected[3]), (2, expected[4]), (2, expected[5]),
        (1, expected[6]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "cues",
    [
        ["welcome to the", "welcome to the\nbudget talk", "budget talk\nof this year"],
        ["<c>Tom &amp; Jerry</c>", "Tom &amp; Jerry\nrun"],
        ["we come", "we come to the", "we come to the port"],
    ],
)
def test_captions_that_roll_or_grow_are_said_once(tmp_path: Path, cues: list[str]) -> None:
    body = "\n\n".join(f"00:00:0{at}.000 --> 00:00:0{at + 1}.000\n{cue}" for at, cue in enumerate(cues))
    (tmp_path / "a.vtt").write_text(f"WEBVTT\n\n{body}\n")
    words = text_of(tmp_path / "a.vtt").split()
    assert len(words) == len(set(words)) and not any("<" in word for word in words)


_EVENTS = "[Script Info]\nTitle: x\n\n[V4+ Styles]\nStyle: Default,Arial\n\n[Events]\nFormat: Start, End, Name, Text\n"


@pytest.mark.parametrize(
    ("name", "source", "text"),
    [
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\nThe tide\n\nturns.\n\n2\n00:00:03,000 --> 00:00:04,000\nOn.\n",
         "[00:00:01] The tide turns.\n\n[00:00:03] On."),
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\n\nThe tide\n\n\nturns.\n", "[00:00:01] The tide turns."),
        ("a.sbv", "0:00:01.000,0:00:02.000\nThe tide\n\nturns.\n\n0:00:03.000,0:00:04.000\nOn.\n",
         "[00:00:01] The tide turns.\n\n[00:00:03] On."),
        ("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\nThe tide.\n\nNOTE remark\n\nSTYLE\nx\n", "[00:00:01] The tide."),
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\nThe tide\n2\n00:00:03,000 --> 00:00:04,000\nturns.\n",
         "[00:00:01] The tide turns."),
        ("a.srt", "00:00:01 --> 00:00:02\n1999\n\n00:00:03 --> 00:00:04\n\n00:00:05 --> 00:00:06\nwas dry.",
         "[00:00:01] 1999 was dry."),
        ("a.sbv", "0:00:01.000,0:00:02.000\nThe tide\n\n0:00:03.000,0:00:04.000\nturns.", "[00:00:01] The tide turns."),
        ("a.ass", _EVENTS + "Dialogue: 0:00:01.00,0:00:02.00,Ann,{\\\\i1}Yes{\\\\i0},\\\\Nthe tide.\n"
         "Comment: 0:00:01.00,0:00:02.00,,not shown\nDialogue: 0:00:03.00,0:00:04.00,,{\\\\p1}m 0 0 l 9 9{\\\\p0}\n",
         "[00:00:01] Ann: Yes, the tide."),
    ],
)  # fmt: skip
def test_cues_of_each_kind_of_subtitles(tmp_path: Path, name: str, source: str, text: str) -> None:
    (tmp_path / name).write_text(source.replace("\\\\", "\\"))
    assert text_of(tmp_path / name) == text


@pytest.mark.parametrize(
    "data",
    [
        {"text/plain": "<IPython.core.display.HTML object>", "text/html": "<p>the tide turns</p>"},
        {"text/plain": "<IPython.core.display.Markdown object>", "text/markdown": ["the tide ", "turns"]},
        {"text/latex": "the tide turns"}, {"application/json": {"note": "the tide turns"}},
        {"image/svg+xml": "<svg><text>the tide turns</text></svg>"},
    ],
)  # fmt: skip
def test_outputs_without_a_text_are_read_in_another_form(tmp_path: Path, data: dict[str, object]) -> None:
    output = {"output_type": "display_data", "data": data}
    cell = {"cell_type": "code", "source": "show()", "outputs": [output]}
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4}))
    assert "the tide turns" in text_of(tmp_path / "a.ipynb") and "object>" not in text_of(tmp_path / "a.ipynb")


_PROSE = "It was a bright cold day in April, and the clocks were striking thirteen."


@pytest.mark.parametrize(
    "heads",
    [
        ["SECTION 1. SHORT TITLE", "SEC. 2. FINDINGS", "SEC. 3. DEFINITIONS"], ["I", "II", "III"],
        ["I. THE STORM", "II. THE MORNING", "III. THE WAY HOME", "IV. THE END"],
        ["BOOK ONE: 1805", "CHAPTER I", "CHAPTER II", "BOOK TWO: 1806", "CHAPTER I", "CHAPTER II"],
        ["Art. 1 Purpose", "Article 2 Duration", "Art. 3 Fees"],
    ],
)  # fmt: skip
def test_chapters_of_books_and_laws_are_sections(tmp_path: Path, heads: list[str]) -> None:
    dot = "." if heads[0].startswith("SECTION") else ""
    (tmp_path / "a.txt").write_text("".join(f"{head}{dot}\n\n{_PROSE}\n\n" for head in heads))
    assert [title for _, title in titles(tmp_path / "a.txt")] == heads


@pytest.mark.parametrize("lines", [["I", "Dear Ann,"], ["C. Smith", "D. Jones", "L. Brown"], ["I. One", "I. Two"]])
def test_names_and_single_letters_are_no_sections(tmp_path: Path, lines: list[str]) -> None:
    (tmp_path / "a.txt").write_text("".join(f"{line}\n\n{_PROSE}\n\n" for line in lines))
    assert titles(tmp_path / "a.txt") == []


@pytest.mark.parametrize(
    ("name", "source", "headings", "words"),
    [
        ("a.adoc", "= Tides\nKim\n\n== Ports\n\ntext\n\n----\n== no\n----\n\n==== Deep\n", [(1, "Tides"), (2, "Ports"),
         (3, "Deep")], ["Kim", "text", "== no"]),
        ("b.asciidoc", "only text ==\n\n=== Part\n", [(1, "Part")], ["only text =="]),
        ("a.rst", "=====\nTides\n=====\n\nPorts\n-----\n\n.. note:: Mind\n\n=====  ====\nA      B\n=====  ====\n\n"
         "Sub\n~~~\n\nReefs\n-----\n", [(1, "Tides"), (2, "Ports"), (3, "Sub"), (2, "Reefs")],
         [".. note:: Mind", "A B"]),
        ("b.rst", "A paragraph\nof lines\n--\n\n::\n\n    code\n    ----\n", [], ["of lines", "    ----"]),
        ("a.org", "#+TITLE: T\n* One\ntext\n** TODO Sub :tag:\n#+BEGIN_SRC\n* no\n#+END_SRC\n- item\n* Two\n",
         [(1, "One"), (2, "Sub"), (1, "Two")], ["text", "* no", "- item"]),
        ("b.org", "* One :a:b:\n-----\n* Two\n* Three  %s:c\n" % (" " * 20_000), [(1, "One"), (1, "Two"),
         (1, "Three :c")], ["-----"]),
        ("a.tex", "\\section{Intro}\\label{s}\nKelp\n% \\section{no}\n\\begin{verbatim}\n\\section{no}\n"
         "\\end{verbatim}\n\\subsection*{Aim}\n", [(1, "Intro"), (2, "Aim")], ["Kelp", "\\section{no}"]),
        ("b.tex", "\\chapter[Short]{Long title}\n\\subsection{Aim}\n", [(1, "Long title"), (2, "Aim")], []),
        ("a.mdx", "# Tides\n\n<Note>\n\nMind\n\n</Note>\n", [(1, "Tides")], ["Mind"]),
    ],
)  # fmt: skip
def test_titles_of_marked_up_texts_are_headings(
    tmp_path: Path, name: str, source: str, headings: list[tuple[int, str]], words: list[str]
) -> None:
    (tmp_path / name).write_text(source)
    assert titles(tmp_path / name) == headings
    lines = text_of(tmp_path / name).split("\n")
    assert all(word.strip() in map(str.strip, lines) for word in words)
