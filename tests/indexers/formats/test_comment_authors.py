"""Comments of documents name their authors, in every format that keeps them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pptx
import pytest
import xlsxwriter

from indexers.formats.flow.blocks import Paragraph, Remark
from indexers.formats.limits import ParseLimits
from indexers.formats.office import office97
from tests.indexers.formats import test_xlsb
from tests.indexers.formats.packages import opendocument, repacked, text_of
from tests.indexers.formats.test_xlsb import record, row, text, wide
from tests.indexers.formats.test_xlsx_forms import relation, word, workbook
from tests.indexers.formats.test_xlsx_forms import row as sheet_row

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MODERN = "http://schemas.microsoft.com/office/2018/10/relationships"
_SHOWN = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
_THREADS = 'xmlns:p188="http://schemas.microsoft.com/office/powerpoint/2018/8/main"'
_TEXT = "<a:bodyPr/><a:p><a:r><a:t>%s</a:t></a:r></a:p>"
_DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
_SHEET = "urn:schemas-microsoft-com:office:spreadsheet"

Author = pytest.mark.parametrize(
    ("author", "mark"),
    [("Kim Lee", " by Kim Lee"), ("", ""), (" Ören\n  Ås ", " by Ören Ås"), ("n" * 500, " by " + "n" * 100)],
)


def deck(path: Path, slide: str, authors: tuple[str, str, str] | None, kind: str = f"{_OFFICE}/comments") -> Path:
    """A deck with a comment part. ``authors`` are the kind, the name and the content of the part with the authors."""
    presentation = pptx.Presentation()
    presentation.slides.add_slide(presentation.slide_layouts[6])
    presentation.save(str(path))
    added = {"ppt/comments/c.xml": slide.encode()}
    links = [("ppt/slides/_rels/slide1.xml.rels", kind, "../comments/c.xml")]
    if authors is not None:
        links.append(("ppt/_rels/presentation.xml.rels", authors[0], authors[1]))
        added[f"ppt/{authors[1]}"] = authors[2].encode()

    def add(files: dict[str, bytes]) -> dict[str, bytes]:
        for name, relation_kind, target in links:
            link = f'<Relationship Id="rId77" Type="{relation_kind}" Target="{target}"/></Relationships>'
            files[name] = files[name].replace(b"</Relationships>", link.encode())
        return files | added

    return repacked(path, add)


def old_comment(number: str = "3") -> str:
    return f'<p:cmLst {_SHOWN}><p:cm authorId="{number}" idx="1"><p:text>why so</p:text></p:cm></p:cmLst>'


@Author
def test_comments_of_slides(tmp_path: Path, author: str, mark: str) -> None:
    listed = f'<p:cmAuthorLst {_SHOWN}><p:cmAuthor id="3" name="{author}" initials="K"/></p:cmAuthorLst>'
    path = deck(tmp_path / "a.pptx", old_comment(), (f"{_OFFICE}/commentAuthors", "commentAuthors.xml", listed))
    assert f"[comment{mark}] why so" in text_of(path)


def test_comments_and_replies_of_slides_in_the_modern_form(tmp_path: Path) -> None:
    names = '<p188:author id="{A}" name="Kim"/><p188:author id="{B}" name="Lou"/>'
    listed = f"<p188:authorLst {_THREADS}>{names}</p188:authorLst>"
    drawn = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    body = f"<p188:txBody>{_TEXT}</p188:txBody>"
    thread = (
        f'<p188:cmLst {_THREADS} {drawn}><p188:cm authorId="{{A}}"><p188:replyLst><p188:reply authorId="{{B}}">'
        f"{body % 'because'}</p188:reply></p188:replyLst>{body % 'why so'}</p188:cm></p188:cmLst>"
    )
    path = deck(tmp_path / "a.pptx", thread, (f"{_MODERN}/authors", "authors.xml", listed), f"{_MODERN}/comments")
    assert "[comment by Kim] why so" in text_of(path) and "[comment by Lou] because" in text_of(path)


@pytest.mark.parametrize(
    "listed", [None, "<broken", f'<p:cmAuthorLst {_SHOWN}><p:cmAuthor id="4" name="Lou"/></p:cmAuthorLst>']
)
def test_comments_of_slides_without_their_authors(tmp_path: Path, listed: str | None) -> None:
    authors = None if listed is None else (f"{_OFFICE}/commentAuthors", "commentAuthors.xml", listed)
    assert "[comment] why so" in text_of(deck(tmp_path / "a.pptx", old_comment(), authors))


@Author
@pytest.mark.parametrize("headed", [False, True])
def test_comments_of_workbooks(tmp_path: Path, author: str, mark: str, headed: bool) -> None:
    path = tmp_path / "a.xlsx"
    book = xlsxwriter.Workbook(str(path))
    sheet = book.add_worksheet()
    sheet.write("A2", "x")
    name = "".join(author.splitlines())[:52]  # Excel keeps 52 characters
    sheet.write_comment("A2", f"{name.strip()}:\nwhy so" if headed and name else "why so", {"author": name})
    book.close()
    assert f"[comment A2{(' by ' + ' '.join(name.split())) if name else ''}] why so" in text_of(path)


@pytest.mark.parametrize(
    "persons", ['<personList><person displayName="Kim Lee" id="{P}"/></personList>', "<broken", None]
)
def test_threaded_comments_of_workbooks(tmp_path: Path, persons: str | None) -> None:
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    copy = '<authors><author>tc={P}</author></authors><commentList><comment ref="A1" authorId="0"><text><t>'
    parts: dict[str, str | None] = {
        "xl/t.xml": '<T><threadedComment ref="A1" personId="{P}"><text>[sic] so: why</text></threadedComment></T>',
        "xl/c.xml": f"<comments {main}>{copy}other words</t></text></comment></commentList></comments>",
        "xl/persons/person.xml": persons,
        "xl/_rels/workbook.xml.rels": f"<R>{relation('r1', 'worksheet', 'worksheets/sheet1.xml')}"
        f"{relation('r9', 'person', 'persons/person.xml')}</R>",
    }
    links = relation("c1", "comments", "../c.xml") + relation("c2", "threadedComment", "../t.xml")
    shown = text_of(workbook(tmp_path / "a.xlsx", sheet_row(1, word("A1", "x")), links=links, parts=parts))
    by = " by Kim Lee" if persons and "Kim" in persons else ""
    assert f"[comment A1{by}] [sic] so: why" in shown and "[comment A1] other words" in shown and "tc=" not in shown


@pytest.mark.parametrize(("number", "mark"), [(1, " by Kim Lee"), (0, " by Lou"), (7, "")])
def test_comments_of_binary_workbooks(tmp_path: Path, number: int, mark: str) -> None:
    authors = record(630) + record(632, wide("Lou")) + record(632, wide("Kim Lee")) + record(631)
    place = struct.pack("<IIIII", number, 0, 0, 0, 0) + b"\0" * 16
    comments = (
        record(628) + authors + record(633) + record(635, place) + record(637, b"\0" + wide("why so")) + record(636)
    )
    path = binary_workbook(tmp_path / "a.xlsb", row(0) + text(0, "x"), comments)
    assert f"[comment{mark}] why so" in text_of(path)


def binary_workbook(path: Path, rows: bytes, comments: bytes) -> Path:
    link = relation("c", "comments", "../comments.bin")
    added = {
        "xl/comments.bin": comments,
        "xl/worksheets/_rels/sheet1.bin.rels": f"<Relationships>{link}</Relationships>".encode(),
    }
    return repacked(test_xlsb.workbook(path, rows), lambda files: files | added)


def noted(creator: str | None) -> str:
    named = "" if creator is None else f"<dc:creator>{creator}</dc:creator>"
    return f"<office:annotation {_DC}>{named}<dc:date>2026-01-02</dc:date><text:p>why so</text:p></office:annotation>"


def text_file(path: Path, note: str) -> Path:
    return opendocument(path, f"<text:p>ten{note}</text:p>")


def sheet_file(path: Path, note: str) -> Path:
    cell = f"<table:table-cell>{note}<text:p>ten</text:p></table:table-cell>"
    return opendocument(path, f"<table:table><table:table-row>{cell}</table:table-row></table:table>", "spreadsheet")


def slide_file(path: Path, note: str) -> Path:
    return opendocument(path, f"<draw:page>{note}</draw:page>", "presentation")


@pytest.mark.parametrize(("make", "suffix"), [(text_file, "odt"), (sheet_file, "ods"), (slide_file, "odp")])
@pytest.mark.parametrize(("creator", "mark"), [("Kim Lee", " by Kim Lee"), ("", ""), (None, "")])
def test_comments_of_open_documents(
    tmp_path: Path, make: Callable[[Path, str], Path], suffix: str, creator: str | None, mark: str
) -> None:
    shown = text_of(make(tmp_path / f"a.{suffix}", noted(creator)))
    assert f"[comment{mark}] why so" in shown and "2026" not in shown


@pytest.mark.parametrize(("author", "mark"), [('ss:Author="Kim Lee"', " by Kim Lee"), ('ss:Author=""', ""), ("", "")])
def test_comments_of_sheets_in_xml(tmp_path: Path, author: str, mark: str) -> None:
    path = tmp_path / "a.xls"
    path.write_text(
        f'<?xml version="1.0"?><Workbook xmlns="{_SHEET}" xmlns:ss="{_SHEET}"><Worksheet ss:Name="S"><Table><Row><Cell>'
        f'<Data ss:Type="String">ten</Data><Comment {author}><Data>why so</Data></Comment></Cell></Row></Table>'
        "</Worksheet></Workbook>"
    )
    assert f"[comment{mark}] why so" in text_of(path)


@pytest.mark.parametrize(
    ("before", "mark"),
    [
        (r"{\*\atnid KL}{\*\atnauthor Kim Lee}\chatn", " by Kim Lee"),
        (r"{\*\atnid KL}{\*\atnauthor Ren\'e9}{\cs16 \chatn}", " by René"),
        (r"{\*\atnid KL}\chatn", ""),
        (r"{\*\atnauthor Kim}\chatn{\*\annotation\pard first\par}{\*\atnauthor Lou}\chatn", " by Lou"),
    ],
)
def test_comments_of_rich_text(tmp_path: Path, before: str, mark: str) -> None:
    path = tmp_path / "a.rtf"
    path.write_bytes(
        (r"{\rtf1\ansi ten " + before + r"{\*\annotation{\*\atndate 1}\pard why so\par} more\par}").encode()
    )
    shown = " ".join(text_of(path).split())
    assert f"[annotation{mark}: why so" in shown and "KL" not in shown


def _word97(
    body: str, comments: list[str], owners: list[int], names: list[str], damage: str = ""
) -> Callable[..., dict[str, bytes]]:
    """A stand-in for the streams of a Word 97 file with a body and comments."""
    texts = "".join(f"\x05{text}\r" for text in comments)
    stored = (body + texts).encode("cp1252")
    data, table = bytearray(0x400), bytearray()
    struct.pack_into("<H8xH", data, 0, 0xA5EC, 0x0200)
    struct.pack_into("<I", data, 0x4C, len(body))
    struct.pack_into("<I", data, 0x5C, len(texts))

    def place(at: int, content: bytes) -> None:
        struct.pack_into("<II", data, at, len(table), len(content))
        table.extend(content)

    pieces = struct.pack("<II", 0, len(stored)) + struct.pack("<HIH", 0, 0x4000_0000 | 2 * len(data), 0)
    place(0x01A2, b"\x02" + struct.pack("<I", len(pieces)) + pieces)
    place(0x0102, struct.pack("<I", 0))
    places = struct.pack(f"<{len(comments) + 1}I", *range(len(comments) + 1))
    place(0x00BA, places + b"".join(bytes(20) + struct.pack("<hHHi", owner, 0, 0, -1) for owner in owners))
    bounds = [sum(len(text) + 2 for text in comments[:at]) for at in range(len(comments) + 1)]
    place(0x00C2, struct.pack(f"<{len(bounds) + 1}I", *bounds, len(texts)))
    listed = b"".join(struct.pack("<H", len(name)) + name.encode("utf-16-le") for name in names)
    place(0x01BA, listed)
    if damage == "names":
        struct.pack_into("<II", data, 0x01BA, 90_000, 50)
    elif damage == "texts":
        struct.pack_into("<II", data, 0x00C2, 90_000, 50)
    return lambda *_: {"WordDocument": bytes(data) + stored, "1Table": bytes(table)}


@pytest.mark.parametrize(
    ("comments", "owners", "names", "damage", "lines"),
    [
        (["why so"], [0], ["Kim Lee"], "", ["[comment by Kim Lee] why so"]),
        (["why so", "because"], [1, 0], ["Lou", "Ören"], "", ["[comment by Ören] why so", "[comment by Lou] because"]),
        (["first\rsecond"], [0], ["Kim"], "", ["[comment by Kim] first second"]),
        (["why so"], [7], ["Kim"], "", ["[comment] why so"]),
        (["why so"], [0], ["Kim"], "names", ["[comment] why so"]),
        (["why so"], [0], ["Kim"], "texts", ["[comment] why so"]),
        (["why so"], [-1], [], "", ["[comment] why so"]),
    ],
)
def test_comments_of_word_97(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, comments: list[str], owners: list[int], names: list[str],
    damage: str, lines: list[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(office97, "streams", _word97("The body.\r", comments, owners, names, damage))
    parts = list(office97.read_word97(tmp_path / "a.doc", ParseLimits()).parts)
    shown = [f"[{block.mark}] {block.text}" for part in parts for block in part.blocks if isinstance(block, Remark)]
    assert shown == lines
    assert [block.text for block in parts[0].blocks if isinstance(block, Paragraph)] == ["The body."]
