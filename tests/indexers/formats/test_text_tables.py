"""Tables of text: which sign cuts them, quotes that do not close, signs that end no line."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexers.formats.office.text_tables import find_delimiter, table_rows
from tests.indexers.formats.packages import text_of


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("Id;Preis, netto\n1;2,50\n2;3,75\n", ";"),
        ("a\tb, c\n1\t2,5\n", "\t"),
        ("a|b|c\n1|x, y|2\n2|z, w|3\n", "|"),
        ("id^name^n\n1^Ann^3\n2^Bob^4\n", "^"),
        ("a,b,c\n\n1,2\n3,4,5,6\n", ","),
        ("Report\nStand: 1.2.2024\n\nRegion;Umsatz\nNord;1.234,50\nSüd;2,00\nWest;3,5\n", ";"),
        ("sep=\t\na\tb\n", "\t"),
        ("a,b\n1,2,3\n4\n,,\n5,6\n", ","),
        ("Sales\n\nName;Age\nKim;5\n\nCosts\n\nItem;Price;Unit\nPump;12,5;EUR\n", ";"),
        ("log\nx\t1\ny\t2\t3\nz\t4\t5\t6\nend, of, it\n", "\t"),
        ("Comment\nThis is fine, really\nWell, thanks, yes\nNo, thanks\n", "\x1e"),
        ('id,size\n1,"5 inch\n2,6\n3,7\n', ","),
    ],
)
def test_the_sign_between_cells(text: str, sign: str) -> None:
    assert find_delimiter(text) == sign


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            "id,text\n1,alpha\u2028beta\n2,ga\x0bm\n3,x\x85y\n",
            ["id·text", "1·alpha\u2028beta", "2·ga\x0bm", "3·x\x85y"],
        ),
        (
            'name, city, n\nAnn, "Paris, TX", 3\nBob, "Rome, NY", 4\n',
            ["name·city·n", "Ann·Paris, TX·3", "Bob·Rome, NY·4"],
        ),
        ('id,t,n\n1,"He said \\"hi, you\\" loud",5\n2,"x",6\n', ["id·t·n", '1·He said "hi, you" loud·5', "2·x·6"]),
        ('id,t,n\n1,"C:\\dir\\",5\n2,"x",6\n', ["id·t·n", "1·C:\\dir\\·5", "2·x·6"]),
        ('id,size,n\n1,"5 inch,10\n2,6,20\n3,7,30\n', ["id·size·n", '1·"5 inch·10', "2·6·20", "3·7·30"]),
        ('id\tsize\tn\n1\t"5 in\t10\n2\t6"\t20\n3\t7\t30\n', ["id·size·n", '1·"5 in·10', '2·6"·20', "3·7·30"]),
        ('id,t,n\n1,"first\nsecond, line",5\n2,x,6\n', ["id·t·n", "1·first\nsecond, line·5", "2·x·6"]),
        ('id;t\n1;"first\nsecond; cell"\n2;x\n', ["id·t", "1·first\nsecond; cell", "2·x"]),
        ('id,t\n1,"a,\nb, c"\n2,"d\ne, f"\n', ["id·t", "1·a,\nb, c", "2·d\ne, f"]),
        ('id,t\n1,"5 inch\n2,6" long\n3,x\n', ["id·t", '1·"5 inch', '2·6" long', "3·x"]),
        ('id,n,t\n1,5,"first\nlast line"\n2,6,x\n', ["id·n·t", "1·5·first\nlast line", "2·6·x"]),
        ('id,zip\n1,="00421"\n2,"=""01234"""\n', ["id·zip", "1·00421", "2·01234"]),
        ('id,t\n1,"3"" nail"\n2,"a ""b"" c"\n', ["id·t", '1·3" nail', '2·a "b" c']),
        ("Comment\nThis is fine, really\nYes\nNo, thanks\n", ["Comment", "This is fine, really", "Yes", "No, thanks"]),
        ("a,b\r1,x\r2,y\r", ["a·b", "1·x", "2·y"]),
        ("sep=;\r\na;b\r\n1;2,5\r\n", ["", "a·b", "1·2,5"]),
    ],
)
def test_rows_of_tables_of_text(text: str, rows: list[str]) -> None:
    assert ["·".join(row) for row in table_rows(text)] == rows


def test_a_quote_at_the_end_of_many_lines_costs_only_its_row(tmp_path: Path) -> None:
    lines = ["id,text,n", '7,"open,1', *(f"{at},word{at},2" for at in range(3_000))]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines))
    text = text_of(path)
    assert '| 7 | "open | 1 |' in text and "| 2999 | word2999 | 2 |" in text
