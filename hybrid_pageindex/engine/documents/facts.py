"""List what a document states: its dates, sentences with amounts, and its tables and figures. No model is used."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from typing import Literal

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.text.markup import table_rows
from hybrid_core.types.documents import Page, Section
from hybrid_pageindex.engine.documents import reading
from hybrid_pageindex.engine.documents.briefing import Figure, figures

_MAX_DATES, _MAX_AMOUNTS, _MAX_EXHIBITS = 300, 100, 1_000
_PAGES_AT_ONCE = 200
_MAX_PAGES = 5_000  # pages that are read for facts

ExhibitKind = Literal["table", "figure"]


@dataclass(frozen=True, slots=True)
class DatedFact:
    """A date that a document names, as "2024-03-01", or "2024-03" without a day.

    ``text`` is the first sentence with the date, on ``page``. ``mentions`` counts how often the document names it.
    """

    date: str
    text: str
    page: int
    mentions: int


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A table or figure. ``title`` is its caption, or the section and the line above a table
    without one."""

    kind: ExhibitKind
    title: str
    page: int


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """Facts of a document: dates in chronological order, and sentences with amounts, tables and figures in page order.

    ``pages_read`` is smaller than the number of pages for very long documents.
    """

    dates: tuple[DatedFact, ...] = ()
    amounts: tuple[Figure, ...] = ()
    exhibits: tuple[Exhibit, ...] = ()
    pages_read: int = 0


def document_facts(catalog: Catalog, library: str, document: str) -> DocumentFacts:
    """Return the facts of a document. Raise NotFoundError for an unknown document."""
    with catalog.snapshot() as snapshot:
        row = reading.find_document(snapshot, library, document)
        sections = snapshot.sections(row.content_id)
    last = min(row.pages, _MAX_PAGES)
    dates, exhibits, amounts = _Dates(), _Exhibits(), list[Figure]()
    for begin in range(1, last + 1, _PAGES_AT_ONCE):
        with catalog.snapshot() as snapshot:
            pages = snapshot.pages(row.content_id, range(begin, min(begin + _PAGES_AT_ONCE, last + 1)))
        for page in pages:
            dates.read(page)
            exhibits.read(page)
        amounts += figures(pages, max(4, _MAX_AMOUNTS * len(pages) // last))
    return DocumentFacts(dates.facts(), tuple(amounts[:_MAX_AMOUNTS]), exhibits.listed(sections), last)


_MONTHS = (
    "january jan januar janvier enero gennaio janeiro", "february feb februar février febrero febbraio fevereiro",
    "march mar märz mars marzo março", "april apr avril abril aprile", "may mai mayo maggio maio",
    "june jun juni juin junio giugno junho", "july jul juli juillet julio luglio julho",
    "august aug août agosto", "september sep sept septembre septiembre settembre setembro",
    "october oct oktober okt octobre octubre ottobre outubro", "november nov novembre noviembre novembro",
    "december dec dezember dez décembre diciembre dicembre dezembro",
)  # fmt: skip
_MONTH_NUMBERS = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTH_NUMBERS, key=len, reverse=True))})\b\.?"
_DAY, _YEAR = r"(?P<day>\d{1,2})(?:st|nd|rd|th|er)?", r"(?P<year>(?:1[5-9]|20|21)\d\d)"
_CJK_DATE = r"\s?[年년]\s?(?P<month>\d{1,2})\s?[月월](?:\s?(?P<day>\d{1,2})\s?[日일])?"
_DATES = (
    re.compile(_YEAR + _CJK_DATE),
    *(
        re.compile(rf"(?<![\w.,/-]){pattern}(?![\w/-]|[.,]\d)", re.IGNORECASE)
        for pattern in (
            rf"{_DAY}\.?\s+(?:(?:day\s+)?of\s+|de\s+)?{_MONTH},?\s+(?:de\s+)?{_YEAR}",
            rf"{_MONTH}\s+{_DAY},?\s+{_YEAR}",
            rf"{_MONTH},?\s+(?:de\s+)?{_YEAR}",
            rf"{_YEAR}-(?P<month>\d{{2}})-(?P<day>\d{{2}})",
            rf"(?P<day>\d{{1,2}})\.\s?(?P<month>\d{{1,2}})\.\s?{_YEAR}",
        )
    ),
)
_VERBS = frozenset(("may", "march", "mar"))
_ANY_YEAR = re.compile(r"1[5-9]\d\d|2[01]\d\d")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-ZÄÖÜÀ-Þ“\"(])|(?<=[。！？；])|\n\s*\n")
_NO_END = re.compile(r"(?:\b(?:Inc|Corp|Co|Ltd|No|Nos|Mr|Ms|Dr|St|U\.S|e\.g|i\.e|etc|Sec|Art|\d)|\b[A-Z])\.$")
_LONGEST = 300  # characters of a sentence that is shown
_DATES_OF_PROSE = 4  # dates in one sentence; the head of a table has more


def dates_of(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield (date, start, end) for each date in a text, in order. ``start`` and ``end`` are character positions.

    A date is written "2024-03-01" or "2024-03". "03/04/2024" is left out, since countries read it in different ways.
    """
    if not _ANY_YEAR.search(text):
        return
    spans: dict[int, tuple[str, int, int]] = {}
    ends: list[tuple[int, int]] = []
    for pattern in _DATES:
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(start < other_end and other_start < end for other_start, other_end in ends):
                continue
            ends.append((start, end))
            if value := _value(match):
                spans[start] = (value, start, end)
    yield from (spans[start] for start in sorted(spans))


def _value(match: re.Match[str]) -> str:
    """Return the date of a match in ISO form.

    Return "" for a date that does not exist, and for words such as the verb "may" before a number.
    """
    parts = match.groupdict()
    month = parts["month"]
    if month in _VERBS and not parts.get("day"):
        return ""
    number = int(month) if month.isdecimal() else _MONTH_NUMBERS[month.lower()]
    try:
        day = date(int(parts["year"]), number, int(parts.get("day") or 1))
    except ValueError:
        return ""
    return day.isoformat() if parts.get("day") else f"{day:%Y-%m}"


@dataclass
class _Dates:
    """A collector of dates from pages that are read one after another."""

    _first: dict[str, tuple[str, int]] = field(default_factory=dict)  # (sentence, page)
    _mentions: Counter[str] = field(default_factory=Counter)

    def read(self, page: Page) -> None:
        for sentence in _sentences(page.visible):
            named = list(dates_of(sentence))
            self._mentions.update(value for value, *_ in named)
            if len(named) <= _DATES_OF_PROSE:
                for value, start, end in named:
                    self._first.setdefault(value, (_shortened(sentence, start, end), page.number))

    def facts(self) -> tuple[DatedFact, ...]:
        """Return the dates that sentences name, in order of time. If there are too many, return the most frequent."""
        frequent = sorted(self._first, key=lambda value: -self._mentions[value])[:_MAX_DATES]
        return tuple(DatedFact(value, *self._first[value], self._mentions[value]) for value in sorted(frequent))


def _sentences(text: str) -> Iterator[str]:
    begin = 0
    for match in _SENTENCE_END.finditer(text):
        if not _NO_END.search(text, max(begin, match.start() - 8), match.start()):
            yield " ".join(text[begin : match.start()].split())
            begin = match.end()
    yield " ".join(text[begin:].split())


def _shortened(sentence: str, start: int, end: int) -> str:
    """Return at most ``_LONGEST`` characters of a sentence around a date, cut between words."""
    if len(sentence) <= _LONGEST:
        return sentence
    first = max(0, min(start - _LONGEST // 3, len(sentence) - _LONGEST))
    part = sentence[first : max(first + _LONGEST, end)]
    if first and " " in part[: start - first]:
        part = part[part.index(" ") + 1 :]
    return part.rsplit(" ", 1)[0] if first + _LONGEST < len(sentence) and " " in part else part


_NAMED: dict[ExhibitKind, str] = {
    "table": r"table|tabelle|tab\.|tableau|tabla|tabela|tabella|таблица|表格?|表",
    "figure": r"figures?|fig\.|chart|graph|diagram|exhibit(?=\s\d{1,2}(?!\d|\.\d))|map|plate|abbildung|abb\."
    r"|schaubild|figura|gráfico|рисунок|рис\.|图表?|圖|図|그림",
}
_CAPTION = re.compile(
    rf"^\W{{0,4}}(?:(?P<table>{_NAMED['table']})|(?P<figure>{_NAMED['figure']}))\s{{0,2}}"
    r"(?P<number>[A-Z]?\.?\d{1,3}(?:[.\-–]\d{1,3}){0,3}[a-z]?|[IVX]{1,5})"
    r"(?:\s?[.:–—|\-]+\s*|\s{2,}|\s*$|(?<=\d)\s+(?=[\u3040-\u9fff]))(?P<title>.*)$",
    re.IGNORECASE,
)
_LEADER = re.compile(r"(?:\.\s?){3,}|\s\d{1,4}\s*$")  # a line of a list of tables leads to its page
_TITLE, _HEADLINE = 160, 60  # characters of a title, and of a line that is one without a colon
_ROWS = 3  # table rows on a page from which a table without a caption is listed
_CONTENTS_ROWS, _CONTENTS_SHARE = 5, 0.8  # rows that lead to pages in order, from which a table is a list of contents
_ABOVE = 12  # lines above a table among which its title is
_RUNNING = 4  # pages on which a line stands that is a running title
_COLUMNS = re.compile(r"\S\s{2,}\S|^\|")
_LAST_NUMBER = re.compile(r"(\d{1,4})\W*$")


@dataclass
class _Exhibits:
    """A collector of tables and figures from pages that are read one after another, by the label of their
    captions.
    """

    _by_label: dict[tuple[ExhibitKind, str], list[tuple[int, Exhibit]]] = field(default_factory=dict)
    _unnamed: list[tuple[int, int, list[str]]] = field(default_factory=list)  # (page, offset, lines above)
    _line_pages: Counter[str] = field(default_factory=Counter)

    def read(self, page: Page) -> None:
        lines = [line.strip() for line in page.visible.split("\n")]
        self._line_pages.update({line for line in lines if len(line) <= _TITLE})
        captions = list(captions_of(lines))
        for label, kind, title in captions:
            places = self._by_label.setdefault((kind, label), [])
            places.append((len(captions), Exhibit(kind, title, page.number)))
        rows = sorted(table_rows(lines, range(len(lines))))
        if len(rows) < _ROWS or any(kind == "table" for _, kind, _ in captions):
            return
        if not _leads_to_pages([lines[row] for row in rows]):
            offset = sum(len(line) + 1 for line in page.text.split("\n")[: rows[0]])
            self._unnamed.append((page.number, offset, lines[max(0, rows[0] - _ABOVE) : rows[0]]))

    def listed(self, sections: Sequence[Section]) -> tuple[Exhibit, ...]:
        """Return the tables and figures in page order, one per caption label such as "Table 3".

        If a label has several captions, take the one on the page with the fewest captions, to avoid lists of figures.
        Name a table without a caption by its section and the line above it.
        """
        named = [min(places, key=lambda place: place[0])[1] for places in self._by_label.values()]
        unnamed = [
            Exhibit("table", _joined(_section_title(sections, page, offset), self._title_above(above)), page)
            for page, offset, above in self._unnamed
        ]
        return tuple(sorted([*named, *unnamed], key=lambda exhibit: exhibit.page)[:_MAX_EXHIBITS])

    def _title_above(self, lines: Sequence[str]) -> str:
        """Return the nearest line above a table that looks like a title: one column of words, and few digits."""
        for line in reversed(lines):
            letters, digits = sum(map(str.isalpha, line)), sum(map(str.isdecimal, line))
            short = line.endswith(":") or (len(line) <= _HEADLINE and line[-1:] not in (".", ",", ";"))
            worded = short and letters >= 4 and digits <= letters // 3 and line[0] not in "([" and not line[0].islower()
            if worded and not _COLUMNS.search(line) and self._line_pages[line] < _RUNNING:
                return line.lstrip("# ")[:_TITLE]
        return ""


def _leads_to_pages(rows: Sequence[str]) -> bool:
    """Return whether the rows of a table are a table of contents.

    This is so if most of them end in a number that is at least as high as the one before.
    """
    numbers = [int(match[1]) for row in rows if (match := _LAST_NUMBER.search(row))]
    rises = sum(before <= after for before, after in pairwise(numbers))
    return len(rows) >= _CONTENTS_ROWS and rises >= _CONTENTS_SHARE * (len(rows) - 1)


def _section_title(sections: Sequence[Section], page: int, offset: int) -> str:
    """Return the title of the innermost section that contains a position (page and character offset)."""
    around = [section for section in sections if (section.start_page, section.anchor) <= (page, offset)]
    reaching = [section.title for section in around if section.end_page >= page]
    return reaching[-1] if reaching else ""


def _joined(section: str, line: str) -> str:
    return section if line in section else f"{section} · {line}"[:_TITLE] if section else line


def captions_of(lines: Sequence[str]) -> Iterator[tuple[str, ExhibitKind, str]]:
    """Yield (number, kind, caption) for each caption of a table or figure among lines.

    Leave out lines of a table of contents.
    """
    for at, line in enumerate(lines):
        match = _CAPTION.match(line[:400])
        if not match or (_LEADER.search(match["title"]) and not match["title"].rstrip().endswith(".")):
            continue
        title = match["title"] or next((each for each in lines[at + 1 : at + 3] if each), "")
        kind: ExhibitKind = "table" if match["table"] else "figure"
        name = " ".join(f"{match[kind]} {match['number']}".split())
        yield match["number"].lower(), kind, f"{name}: {title}"[:_TITLE].rstrip(": ")
