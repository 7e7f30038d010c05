"""Calendars, visiting cards, bibliographies and translations: a section for each record, in words."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from hybrid_core.errors import DocumentError
from indexers.formats.registry import format_of
from tests.indexers.formats.packages import read, text_of
from tests.indexers.formats.written import Case, check_case


def event(*lines: str) -> str:
    return "\r\n".join(("BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:x", "X-WR-CALNAME:Port", "BEGIN:VEVENT", *lines,
                        "END:VEVENT", "END:VCALENDAR", ""))  # fmt: skip


CALENDARS = (
    Case(
        "meeting.ics",
        event("UID:1@x", "DTSTAMP:20260101T000000Z", "SUMMARY:Crew meeting", "DTSTART;TZID=Europe/Oslo:20260303T090000",
              "DTEND;TZID=Europe/Oslo:20260303T103000", "LOCATION:Harbour office\\, room 2",
              "DESCRIPTION:Bring the log.\\nTea is ser", " ved.", 'ORGANIZER;CN="Kelp, Ada":mailto:ada@x.example',
              "ATTENDEE;CN=Kim;PARTSTAT=ACCEPTED:mailto:kim@x.example", "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,TH;CO"
              "UNT=10",
              "EXDATE;TZID=Europe/Oslo:20260317T090000", "CATEGORIES:work,crew", "STATUS:CONFIRMED", "BEGIN:VALARM",
              "ACTION:DISPLAY", "TRIGGER:-PT15M", "DESCRIPTION:Reminder", "END:VALARM"),
        shows=("# Port", "## Crew meeting", "2026-03-03 09:00", "10:30", "Europe/Oslo",
               "every 2 weeks on Tuesday and Thursday, 10 times", "2026-03-17 09:00", "Harbour office, room 2",
               "work, crew",
               "Kelp, Ada", "ada@x.example", "Kim", "Bring the log.\nTea is served."),
        hides=("1@x", "DTSTAMP"),
        tree=("# Port", "## Crew meeting"),
    ),
    Case(
        "holiday.ics", event("SUMMARY:Sea day", "DTSTART;VALUE=DATE:20260501", "RRULE:FREQ=YEARLY"),
        ("## Sea day", "2026-05-01", "every year"), hides=("00:00",),
    ),
    Case(
        "monthly.ics",
        event("SUMMARY:Drill", "DTSTART:20260109T140000Z", "DURATION:PT1H30M",
              "RRULE:FREQ=MONTHLY;BYDAY=2FR,-1MO;UNTIL=20261231T000000Z"),
        ("2026-01-09 14:00 UTC", "1 hour 30 minutes",
         "every month on the second Friday and the last Monday, until 2026-12-31"),
    ),
    Case(
        "todo.ics",
        "BEGIN:VCALENDAR\nBEGIN:VTODO\nSUMMARY:Paint the pier\nDUE:20260601\nPERCENT-COMPLETE:40\nEND:VTODO\nBEGIN:V"
        "JOURNAL\n"
        "SUMMARY:Log\nDTSTART:20260101\nDESCRIPTION:Calm.\nEND:VJOURNAL\nEND:VCALENDAR\n",
        ("# Paint the pier", "2026-06-01", "40", "# Log", "2026-01-01", "Calm."),
    ),
    Case(
        "zones.ics",
        "BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:Own\nBEGIN:STANDARD\nTZNAME:OWNZ\nDTSTART:19701025T030000\nEND:STAND"
        "ARD\n"
        "END:VTIMEZONE\nBEGIN:VEVENT\nSUMMARY:One\nDTSTART:20260101T100000\nX-ALT-DESC;FMTTYPE=text/html:<p>In <b>HT"
        "ML</b></p>\n"
        "END:VEVENT\nBEGIN:VEVENT\nDTSTART:20260102T100000\nDESCRIPTION:Untitled one\nEND:VEVENT\nEND:VCALENDAR\n",
        ("# One", "2026-01-01 10:00", "In HTML", "2026-01-02 10:00", "Untitled one"), hides=("OWNZ", "1970"),
    ),
    Case(
        "cut.ics", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Whole\nEND:VEVENT\nBEGIN:VEVENT\nSUMMARY:Ha\nDTSTART:2026"
        "010",
        ("# Whole", "# Ha", "2026010"), notes=("ends in the middle",),
    ),
    Case("odd.ics", "BEGIN:VCALENDAR\nno line of a calendar\nBEGIN:VEVENT\nSUMMARY:A\nDTSTART:soon\nRRULE:often\nEND"
    ":VEVENT\n"
         "END:VCALENDAR\n", ("no line of a calendar", "# A", "soon", "often")),
)  # fmt: skip

CARDS = (
    Case(
        "ada.vcf",
        "BEGIN:VCARD\r\nVERSION:3.0\r\nN:Kelp;Ada;Maria;Dr.;\r\nFN:Dr. Ada Kelp\r\nORG:Tide Lab;Pumps\r\nTITLE:Pilot"
        "\r\n"
        "TEL;TYPE=WORK,VOICE:+47 123\r\nEMAIL;TYPE=INTERNET:ada@x.example\r\nADR;TYPE=HOME:;;Pier 3;Oslo;;0150;Norwa"
        "y\r\n"
        "BDAY:1980-02-01\r\nNOTE:Likes tea\\, no milk.\r\nPHOTO;ENCODING=b:/9j/4AAQSkZJRg\r\n ABAQ\r\nUID:7\r\nEND:V"
        "CARD\r\n",
        ("# Dr. Ada Kelp", "Tide Lab", "Pumps", "Pilot", "(work,voice)", "+47 123", "ada@x.example", "Pier 3, Oslo, "
        "0150, Norway",
         "1980-02-01", "Likes tea, no milk."),
        hides=("/9j/", ";;"), tree=("# Dr. Ada Kelp",),
    ),
    Case(
        "two.vcf", "BEGIN:VCARD\nVERSION:4.0\nFN:Kim\nTEL;VALUE=uri;TYPE=\"voice,home\":tel:+47-9\nEND:VCARD\nBEGIN:"
        "VCARD\n"
        "VERSION:4.0\nFN:Bo\nEMAIL:bo@x.example\nEND:VCARD\n",
        ("# Kim", "+47-9", "# Bo", "bo@x.example"), tree=("# Kim", "# Bo"),
    ),
    Case(
        "old.vcf",
        "BEGIN:VCARD\nVERSION:2.1\nN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=B6we;J=C3=BCrgen\nTEL;CELL:123\nLA"
        "BEL;ENCODING="
        "QUOTED-PRINTABLE:Pier 3=0D=0A=\nOslo\nEND:VCARD\n",
        ("# Jürgen Möwe", "123", "Pier 3", "Oslo"), hides=("=C3", "=0D"),
    ),
    Case("grouped.vcf", "BEGIN:VCARD\nFN:Al\nitem1.URL:https\\://a.example\nitem1.X-ABLabel:Home page\nEND:VCARD\n",
         ("# Al", "Home page: https://a.example")),
    Case("no-name.vcf", "BEGIN:VCARD\nVERSION:3.0\nORG:Port Authority\nEND:VCARD\n", ("# Port Authority",)),
    Case("cut.vcf", "BEGIN:VCARD\nFN:Half\nTEL:12", ("# Half", "12"), notes=("ends in the middle",)),
    Case("latin.vcf", "BEGIN:VCARD\nVERSION:2.1\nFN:Jürgen Möwe Größe\nEND:VCARD\n".encode("latin-1"),
         ("# Jürgen Möwe",),
         notes=("not UTF-8",)),
)  # fmt: skip

BIBTEX = (
    Case(
        "refs.bib",
        '@string{jk = "Journal of Kelp"}\n% a remark\n@article{kelp2001,\n  author = {Kelp, Ada and Gull, Bo},\n  ti'
        'tle = {The '
        '{DNA} of {\\"O}stersj{\\o}n kelp},\n  journal = jk # " B",\n  year = 2001, pages = "4--9",\n  doi = {10.100'
        '0/7},\n}\n'
        "@book(tern99, title = {Waves \\& shores}, editor = {Tern, C.}, publisher = {Sea}, year = {1999})\n@comment{"
        "x}\n",
        ("# Kelp, Ada and Gull, Bo (2001): The DNA of Östersjøn kelp", "Journal of Kelp B", "2001", "4–9", "10.1000/7",
         "# Tern, C. (1999): Waves & shores", "Sea"),
        hides=("{", "\\&", "jk"),
    ),
    Case("accents.bib", "@misc{a, title={Caf\\'e, na\\\"{\\i}ve, \\v{C}apek, \\c{c}a, \\ss, \\AA, $x^2$, \\emph{kelp"
    "}}, "
         "author={{The Port of {\\O}stby}}}\n", ("The Port of Østby", "Café, naïve, Čapek, ça, ß, Å, $x^2$, kelp")),
    Case("abstract.bib", "@inproceedings{k, title={A}, abstract={Long words {here} and\n  there.}, keywords={sea, ti"
    "de},"
         "note={}, file={:/home/x.pdf:PDF}}\n", ("# A", "sea, tide", "Long words here and there.")),
    Case("cut.bib", "@article{a, title={Whole}}\n@article{b, title={Half of", ("# Whole", "# Half of"),
         notes=("ends in the middle",)),
    Case("odd.bib", "Words before.\n@article{, title = 5}\n@misc{b author={X}}\n@unknown{c, title=\"A \"quoted\" b\""
    "}\n"
         "@misc{d, title={Last}}\n", ("Words before.", "5", "X", "# Last")),
    Case("key.bib", "@misc{only_key}\n@preamble{\"\\newcommand\"}\n", ("# only_key",)),
)  # fmt: skip

RIS = (
    Case(
        "refs.ris",
        "TY  - JOUR\r\nAU  - Kelp, Ada\r\nAU  - Gull, Bo\r\nTI  - Deep kelp\r\nT2  - Journal of Kelp\r\nPY  - 2001/0"
        "3/02\r\n"
        "VL  - 12\r\nIS  - 3\r\nSP  - 4\r\nEP  - 9\r\nAB  - It grows.\r\nKW  - kelp\r\nKW  - sea\r\nDO  - 10.1000/7\r"
        "\n"
        "ER  - \r\n\r\nTY  - BOOK\r\nA1  - Tern, C.\r\nT1  - Waves\r\nER  - \r\n",
        ("# Kelp, Ada; Gull, Bo (2001): Deep kelp", "Journal of Kelp", "12", "kelp, sea", "10.1000/7", "4–9",
         "It grows.",
         "# Tern, C.: Waves"),
    ),
    Case("long.ris", "TY  - RPRT\nTI  - A title that\n goes on\nAB  - One.\nTwo.\nER  -\n",
         ("A title that goes on", "One.", "Two.")),
    Case("mark.ris", "\ufeffTY  - GEN\nTI  - Mark\nXX  - odd field\nER  - \n", ("# Mark", "odd field")),
    Case("cut.ris", "TY  - JOUR\nTI  - Half", ("# Half",), notes=("ends in the middle",)),
    Case("empty-fields.ris", "TY  - JOUR\nAU  - \nTI  - T\nN1  - A note\nER  - \n", ("# T", "A note")),
)  # fmt: skip

_CSL = [{"id": "k", "type": "article-journal", "title": "Deep <i>kelp</i>", "author": [
         {"family": "Kelp", "given": "Ada"},
         {"literal": "Port Group"}], "issued": {"date-parts": [[2001, 3]]}, "container-title": "Journal", "volume": 12,
         "page": "4-9", "DOI": "10.1000/7", "abstract": "It grows."}]  # fmt: skip
CSL = (
    Case("refs.json", json.dumps(_CSL), ("# Kelp, Ada; Port Group (2001): Deep kelp", "Journal", "12", "4–9",
                                         "10.1000/7", "It grows.")),
    Case("single.json", json.dumps(_CSL[0]), ("# Kelp, Ada; Port Group (2001): Deep kelp",)),
    Case("items.json", json.dumps({"items": _CSL}), ("Deep <i>kelp</i>", "Ada")),
    Case("loose.json", json.dumps([{"id": 1, "type": "book", "title": "T", "author": [{"family": "X"}], "issued":
                                    {"raw": "spring 1999"}, "note": {"a": 1}}]), ("# X (1999): T", "spring 1999")),
    Case("bad.json", json.dumps([{"id": "a", "type": "book", "title": ["T"], "author": "Kim", "issued": 7}]),
         ("# Kim: T", "7")),
)  # fmt: skip

PO = (
    Case(
        "de.po",
        'msgid ""\nmsgstr ""\n"Project-Id-Version: Tidewatch 2\\n"\n"Language: de\\n"\n"Content-Type: text/plain; ch'
        'arset=UTF-8\\n"'
        '\n\n# by Kim\n#. On the menu\n#: src/a.c:7\n#, fuzzy, c-format\nmsgid "Open the %s"\nmsgstr "Öffne %s"\n\nm'
        'sgctxt "door"\n'
        'msgid ""\n"Close "\n"it"\nmsgstr "Schließen"\n\nmsgid "one boat"\nmsgid_plural "%d boats"\nmsgstr[0] "ein B'
        'oot"\n'
        'msgstr[1] "%d Boote"\n\n#~ msgid "old"\n#~ msgstr "alt"\n',
        ("Tidewatch 2", "Open the %s", "Öffne %s", "On the menu", "Close it", "Schließen", "door", "one boat",
         "%d boats",
         "ein Boot", "%d Boote"),
        hides=("msgid", "src/a.c", "charset"),
    ),
    Case("latin.po", 'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-1\\n"\n\nmsgid "size"\nmsgstr "Gr'
    'öße"\n'
         .encode("latin-1"), ("size", "Größe")),
    Case("empty.pot", 'msgid ""\nmsgstr ""\n\nmsgid "Save \\"all\\"\\n"\nmsgstr ""\n', ('Save "all"',)),
    Case("no-head.po", 'msgid "a1"\nmsgstr "b1"\nmsgid "a2"\nmsgstr "b2"\n', ("| a1 | b1 |", "| a2 | b2 |")),
    Case("cut.po", 'msgid "a1"\nmsgstr "b1"\n\nmsgid "half', ("a1", "b1", "half"), notes=("ends in the middle",)),
    Case("odd.po", 'msgid "a1"\nwords between\nmsgstr "b1" junk\n', ("a1", "b1", "words between", "junk")),
)  # fmt: skip

CASES = (*CALENDARS, *CARDS, *BIBTEX, *RIS, *CSL, *PO)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_records_show_what_a_reader_must_see(tmp_path: Path, case: Case) -> None:
    check_case(tmp_path, case)


def test_the_content_tells_what_a_record_file_is(tmp_path: Path) -> None:
    (tmp_path / "invite").write_text(event("SUMMARY:Sea day"))
    assert "Sea day" in text_of(tmp_path / "invite")
    (tmp_path / "card.ics").write_text("BEGIN:VCARD\nFN:Ada\nEND:VCARD\n")
    assert text_of(tmp_path / "card.ics").startswith("# Ada")
    (tmp_path / "notes.txt").write_text(event("SUMMARY:Sea day"))
    assert format_of(tmp_path / "notes.txt").name == "txt"


def test_records_without_a_record_give_a_reason(tmp_path: Path) -> None:
    for name in ("a.ics", "a.vcf", "a.ris", "a.po"):
        (tmp_path / name).write_text("kelp and gull\n")
        with pytest.raises(DocumentError, match=name) as caught:
            read(tmp_path / name)
        assert "Error" not in str(caught.value)


@pytest.mark.parametrize("seed", range(3))
def test_broken_records_are_read_or_refused(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for case in CASES:
        data = case.content if isinstance(case.content, bytes) else case.content.encode()
        at = chance.randrange(1, len(data))
        (tmp_path / case.name).write_bytes(
            data[:at] + chance.choice((b"", b"}", b"{", b'"', b"\xff\0", b"\n")) + data[at + 3 :]
        )
        try:
            read(tmp_path / case.name)
        except DocumentError as error:
            assert case.name in str(error) and "Error" not in str(error)


@pytest.mark.timeout(300)  # quadratic work would take hours
def test_long_records_are_read_or_refused(tmp_path: Path) -> None:
    for name, content in (
        ("a.bib", "@misc{a, title={" + "{" * 200_000), ("b.bib", "@a{b,c={x}}\n" * 20_000), ("c.bib", "@" * 200_000),
        ("a.ics", "BEGIN:VEVENT\n" * 100_000), ("a.vcf", "BEGIN:VCARD\nFN:A\nEND:VCARD\n" * 5_000),
        ("a.po", 'msgid "a"\nmsgstr "b"\n' * 20_000), ("b.po", 'msgid "' + "\\" * 200_001),
        ("a.ris", "TY  - JOUR\nTI  - A\nER  - \n" * 5_000),
        ("b.ics", "BEGIN:VEVENT\nSUMMARY" + ";A=\"" * 100_000 + ":x\n"),
        ("c.ics", "BEGIN:VEVENT\nSUMMARY:" + "a\n " * 200_000),
    ):  # fmt: skip
        (tmp_path / name).write_text(content)
        try:
            read(tmp_path / name)
        except DocumentError as error:
            assert name in str(error)
