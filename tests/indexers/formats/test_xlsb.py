"""Binary workbooks: their records are written here by hand, so that tests say what stands in them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.indexers.formats.packages import packed, read, text_of

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def record(kind: int, body: bytes = b"") -> bytes:
    head = bytes([kind]) if kind < 128 else bytes([kind & 0x7F | 0x80, kind >> 7])
    size, left = b"", len(body)
    while not size or left:
        size += bytes([left & 0x7F | (0x80 if left > 0x7F else 0)])
        left >>= 7
    return head + size + body


def wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def row(number: int, hidden: bool = False) -> bytes:
    return record(0, struct.pack("<IIHBBB", number, 0, 300, 0, 0x10 if hidden else 0, 0))


def cell(kind: int, column: int, style: int, body: bytes = b"") -> bytes:
    return record(kind, struct.pack("<II", column, style) + body)


def text(column: int, words: str) -> bytes:
    return cell(6, column, 0, wide(words))


def whole(column: int, number: int, style: int, hundredths: bool = False) -> bytes:
    return cell(2, column, style, struct.pack("<i", number << 2 | 2 | hundredths))


def real(column: int, number: float, style: int) -> bytes:
    return cell(5, column, style, struct.pack("<d", number))


def workbook(
    path: Path,
    rows: bytes,
    formats: Sequence[str] = (),
    before: bytes = b"",
    after: bytes = b"",
    since_1904: bool = False,
) -> Path:
    styles = b"".join(record(44, struct.pack("<H", 200 + at) + wide(code)) for at, code in enumerate(formats))
    numbers = [0, *(200 + at for at in range(len(formats)))]
    looks = b"".join(record(47, struct.pack("<HH12x", 0, number)) for number in numbers)
    listed = "".join(
        f'<Relationship Id="r{at}" Type="{_OFFICE}/{kind}" Target="{target}.bin"/>'
        for at, (kind, target) in enumerate((("worksheet", "worksheets/sheet1"), ("styles", "styles"),
                                             ("sharedStrings", "sharedStrings")))
    )  # fmt: skip
    kind = "application/vnd.ms-excel.sheet.binary.macroEnabled.main"
    types = f'<Types><Default Extension="bin" ContentType="{kind}"/></Types>'
    sheet = struct.pack("<II", 0, 1) + wide("r0") + wide("Data")
    return packed(path, {
        "[Content_Types].xml": types,
        "_rels/.rels": f'<Relationships><Relationship Id="r" Type="{_OFFICE}/officeDocument" Target="xl/workbook.bin"/>'
        "</Relationships>",
        "xl/workbook.bin": record(131) + record(153, struct.pack("<III", since_1904, 0, 0)) + record(156, sheet),
        "xl/_rels/workbook.bin.rels": f"<Relationships>{listed}</Relationships>",
        "xl/worksheets/sheet1.bin": record(129) + before + record(145) + rows + record(146) + after + record(130),
        "xl/styles.bin": record(278) + styles + record(617) + looks + record(618),
        "xl/sharedStrings.bin": b"".join(record(19, b"\0" + wide(words)) for words in ("Key", "Value")),
    })  # fmt: skip


@pytest.mark.parametrize(
    ("formats", "value", "shown"),
    [
        (("0.0%",), real(1, 0.1526, 1), "15.3%"),
        (("yyyy-mm-dd",), whole(1, 45337, 1), "2024-02-15"),
        (("0", "00000"), whole(1, 421, 2), "00421"),
        (("[h]:mm",), real(1, 1.520833333, 1), "36:30"),
        (("#,##0.00",), whole(1, 123456789, 1, hundredths=True), "1,234,567.89"),
        ((), cell(2, 1, 0, struct.pack("<I", struct.unpack("<II", struct.pack("<d", -2.5))[1])), "-2.5"),
        ((), cell(3, 1, 0, b"\x07"), "#DIV/0!"),
        ((), cell(4, 1, 0, b"\x01"), "TRUE"),
        ((), cell(8, 1, 0, wide("from a formula") + b"\0\0"), "from a formula"),
        (("0%",), cell(9, 1, 1, struct.pack("<d", 0.5) + b"\0\0"), "50%"),
        ((), cell(62, 1, 0, b"\0" + wide("rich words")), "rich words"),
    ],
)
def test_cells_of_binary_workbooks_as_they_show(
    tmp_path: Path, formats: tuple[str, ...], value: bytes, shown: str
) -> None:
    heads = row(0) + cell(7, 0, 0, struct.pack("<I", 0)) + cell(7, 1, 0, struct.pack("<I", 1))
    path = workbook(tmp_path / "a.xlsb", heads + row(1) + text(0, "x") + value + row(2) + text(0, "y"), formats)
    assert "| Key | Value |" in text_of(path) and f"| x | {shown} |" in text_of(path)


def test_merged_blocks_dates_since_1904_and_what_is_hidden(tmp_path: Path) -> None:
    rows = (
        row(0) + text(0, "Group") + text(1, "Day") + row(1) + text(0, "Alpha") + whole(1, 43875, 1)
        + row(2, hidden=True) + cell(1, 0, 0) + whole(1, 43876, 1)
    )  # fmt: skip
    merged = record(176, struct.pack("<IIII", 1, 2, 0, 0))
    columns = record(60, struct.pack("<IIIIH", 1, 1, 0, 0, 1))
    path = workbook(tmp_path / "a.xlsb", rows, ("yyyy-mm-dd",), columns, merged, since_1904=True)
    assert "| Alpha | 2024-02-15 |\n| Alpha | 2024-02-16 |" in text_of(path)
    notes = " ".join(read(path)[0].warnings)
    assert "1 row is hidden" in notes and "1 column is hidden" in notes


@pytest.mark.parametrize("damage", [b"\x06\x80\x80\x80\x80", record(5, b"\0" * 9), b"\x06\x04\0\0"])
def test_damaged_records_cost_only_what_follows(tmp_path: Path, damage: bytes) -> None:
    rows = row(0) + text(0, "kept") + text(1, "words") + row(1) + damage
    info, pages = read(workbook(tmp_path / "a.xlsb", rows))
    assert "| kept | words |" in pages[0].text and "'Data'" in " ".join(info.warnings)
