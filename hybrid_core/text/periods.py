"""Years, quarters and dates in texts, file names and questions.

``FY2018`` ``fiscal year ended June 30, 2018`` ``2018Q2`` ``Q2 of FY'18`` ``second quarter of 2023`` ``1H23`` ``1st July
2022`` ``2022-07-01`` ``2022年第二季度``. A half year counts as the quarter that it ends with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date as _date
from datetime import timedelta

from hybrid_core.text.tokens import full_year
from hybrid_core.types.documents import Period

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_NUMBER = {name: number for number, name in enumerate(_MONTHS, 1)}
_ORDINALS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "last": 4}
_CHINESE_DIGITS = str.maketrans("〇零○一二三四五六七八九", "000123456789")

_YEAR = r"(?:19|20)\d\d"
_FISCAL = r"(?:fye?|cy|fiscal(?:\s{1,3}years?)?|calendar(?:\s{1,3}year)?|financial\s{1,3}years?)"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(?:3[01]|[12]\d|0?[1-9])"
_NTH = r"(?:first|second|third|fourth|last|1st|2nd|3rd|4th)"


def _of_year(long: str, short: str) -> str:
    """Return the regular expression for the year after a quarter.

    It has four digits, or two digits after FY or an apostrophe. ``long`` and ``short`` are the names of the groups.
    """
    return (
        r"(?:[\s,]{0,3}(?:(?:of|in|for)\s{1,3})?(?:the\s{1,3})?"
        rf"(?:(?:{_FISCAL}\s{{0,3}})?['’]?(?P<{long}>{_YEAR})(?!\d)|(?:fy\s?['’]?|['’])(?P<{short}>\d\d)(?!\d)))?"
    )


_CN_YEAR = r"(?:(?:19|20)\d\d|[一二][〇零○一二三四五六七八九]{3})"

# Every form begins at the start of a word or number, so one look-behind rejects most characters at once.
_WORD_FORMS = (
    rf"(?P<mdy>(?P<mm>{_MONTH})\s{{0,3}}(?P<md>{_DAY})(?:st|nd|rd|th)?\s{{0,3}},?\s{{0,3}}(?P<my>{_YEAR})(?!\d))",
    rf"(?P<yqf>{_FISCAL}\s?(?P<yfy>{_YEAR})[\s'’_-]{{0,3}}(?:q(?P<yfq>[1-4])|h(?P<yfh>[12]))(?!\d))",
    rf"(?P<qy>(?:q(?P<qyq>[1-4])|h(?P<qyh>[12]))(?:['’]?(?P<qyt>{_YEAR}))?(?!\d){_of_year('qyy', 'qys')})",
    rf"(?P<word>(?P<wn>{_NTH})[\s-]{{1,3}}(?:fiscal\s{{1,3}})?(?P<wk>quarter|half)\b{_of_year('wy', 'ws')})",
    rf"(?P<fy>{_FISCAL}\s{{0,3}}['’]?(?P<fyy>{_YEAR}|\d\d)(?!\d|[.,]\d))",
)
_NUMBER_FORMS = (
    rf"(?P<iso>(?P<iy>{_YEAR})[-/._](?P<im>1[0-2]|0?[1-9])[-/._](?P<id>{_DAY})(?!\d))",
    rf"(?P<compact>(?P<cy>{_YEAR})(?P<cm>1[0-2]|0[1-9])(?P<cd>3[01]|[12]\d|0[1-9])(?!\d))",
    rf"(?P<numeric>(?<!\.)(?P<n1>\d\d?)(?P<sep>[-/._ ])(?P<n2>\d\d?)(?P=sep)(?P<ny>{_YEAR})(?!\d))",
    rf"(?P<dmy>(?P<dd>{_DAY})(?:st|nd|rd|th)?\s{{1,3}}(?:day\s{{1,3}}of\s{{1,3}}|of\s{{1,3}})?(?P<dm>{_MONTH}),?\s{{1,3}}(?P<dy>{_YEAR})(?!\d))",
    rf"(?P<yq>(?P<yqy>{_YEAR})[\s'’_-]{{0,3}}(?:q(?P<yqq>[1-4])|h(?P<yqh>[12]))(?!\d))",
    rf"(?P<nq>(?P<nqq>[1-4])(?P<nqk>[qh])\s?(?:fy)?['’]?(?P<nqy>{_YEAR}|\d\d)(?!\d))",
    rf"(?P<year>(?<![.,$€£¥#])(?P<yy>{_YEAR})(?![\d%]|[.,]\d))",
)
_CHINESE = (
    rf"(?P<cn>(?P<cny>{_CN_YEAR})\s?年(?:度|版)?(?:\s?(?P<cnm>1[0-2]|0?[1-9])\s?月(?:\s?(?P<cnd>{_DAY})\s?日)?"
    r"|\s?第?\s?(?P<cnq>[一二三四1-4])\s?季度?|\s?(?P<cnh>[上下])半年)?)"
)
_PERIOD = re.compile(
    rf"(?=[12一二]){_CHINESE}|(?<!\d)(?=\d)(?:{'|'.join(_NUMBER_FORMS)})|(?<![^\W_])(?=[a-z1-4])(?:{'|'.join(_WORD_FORMS)})",
    re.IGNORECASE,
)
_SPAN = re.compile(
    r"\b(three|six|nine|twelve|thirteen|twenty[-\s]six|thirty[-\s]nine|fifty[-\s](?:two|three)|\d\d?)[-\s]{1,3}(month|week)s?"
    r"(?:\s{1,3}periods?)?\s{1,3}(?:then\s{1,3})?ended",
    re.IGNORECASE,
)
_NUMBERS = {"three": 3, "six": 6, "nine": 9, "twelve": 12, "thirteen": 13, "twenty six": 26, "thirty nine": 39}
_NUMBERS |= {"fifty two": 52, "fifty three": 53}
_WEEKS_A_MONTH = 52 / 12
_OVERRUN = 10  # days by which a quarter of whole weeks may end after its last month
_PERIOD_END = re.compile(
    r"(?:year|quarter|quarterly\s{1,3}period|period|months|weeks|half)\s{1,3}(?:then\s{1,3})?end(?:ed|ing)[:\s]{1,3}|截至\s?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A period that a text names at characters ``start`` to ``end``.

    ``period.year`` is 0 if the text names only the quarter. ``fiscal`` is True if the text names a quarter or a fiscal
    year (``FY2018``).
    """

    period: Period
    start: int
    end: int
    fiscal: bool = False


def find_periods(text: str) -> Iterator[Mention]:
    """Yield the periods in a text in order. The time is proportional to the length of the text."""
    for match in _PERIOD.finditer(text):
        period = _parse_period(match)
        if period is not None:
            fiscal = match.lastgroup is not None and bool(re.match(r"(?i)fy|fisc|fin", match.group()))
            quarterly = period.quarter is not None
            yield Mention(period, match.start(), match.end(), fiscal or quarterly)


def period_end(text: str) -> str | None:
    """Return the date after the first "year ended", "quarterly period ended" or the like in a text, in ISO form.

    Return None if there is none.
    """
    for match in _PERIOD_END.finditer(text):
        following = next(find_periods(text[match.end() : match.end() + 40]), None)
        if following is not None and following.start <= 3 and following.period.date:
            return following.period.date
    return None


def quarters_reported(text: str) -> list[int]:
    """Return the lengths of the time spans in a report's text, in quarters of a year, in the order of the text.

    "six months ended" is 2, "36 weeks ended" is 3. The greatest length tells which quarter of the fiscal year has
    ended, in whichever month that year begins.
    """
    quarters = []
    for match in _SPAN.finditer(text):
        number = re.sub(r"[-\s]", " ", match[1].lower())
        length = _NUMBERS.get(number) or (int(number) if number.isdigit() else 0)
        months = length if match[2].lower() == "month" else length / _WEEKS_A_MONTH
        if 2.5 < months < 12.5:  # includes a quarter of twelve weeks and a year of 53 weeks
            quarters.append(max(1, round(months / 3)))
    return quarters


def quarter_of(date: str) -> int:
    """Return the calendar quarter of an ISO date."""
    return (int(date[5:7]) + 2) // 3


def quarter_ended(end: str) -> int:
    """Return the calendar quarter that ends on an ISO date, or up to ten days before it.

    Fiscal quarters that consist of whole weeks may end some days after the calendar quarter.
    """
    return quarter_of(_before_overrun(end).isoformat())


def fiscal_year(end: str, quarter: int) -> int:
    """Return the calendar year in which a fiscal year ends, of which one quarter is known.

    ``quarter`` is its number from 1 to 4, and ``end`` the ISO date on which it ended.
    """
    settled = _before_overrun(end)
    return settled.year + (settled.month + 3 * (4 - quarter) > 12)


def _before_overrun(end: str) -> _date:
    return _date.fromisoformat(end) - timedelta(days=_OVERRUN)


def days_between(earlier: str, later: str) -> int:
    """Return the days from one ISO date to another, negative if the second is earlier."""
    return (_date.fromisoformat(later) - _date.fromisoformat(earlier)).days


def _parse_period(match: re.Match[str]) -> Period | None:
    groups = match.groupdict()
    kind = next(name for name in _READERS if groups[name])
    return _READERS[kind](groups)


_Groups = dict[str, str | None]


def _read_numeric(groups: _Groups) -> Period | None:
    first, second = int(groups["n1"] or 0), int(groups["n2"] or 0)
    month, day = (second, first) if first > 12 else (first, second)
    return _dated(groups["ny"], month, day)


def _read_word(groups: _Groups) -> Period | None:
    number, half = _ORDINALS[(groups["wn"] or "").lower()], (groups["wk"] or "").lower() == "half"
    return _make_period(groups["wy"] or groups["ws"], 2 * min(number, 2) if half else number)


def _read_number_first(groups: _Groups) -> Period | None:
    number, half = int(groups["nqq"] or 0), (groups["nqk"] or "").lower() == "h"
    return None if half and number > 2 else _make_period(groups["nqy"], 2 * number if half else number)


def _read_chinese(groups: _Groups) -> Period | None:
    year = (groups["cny"] or "").translate(_CHINESE_DIGITS)
    if groups["cnm"] and groups["cnd"]:
        return _dated(year, groups["cnm"], groups["cnd"])
    if groups["cnq"]:
        return _make_period(year, int(groups["cnq"].translate(_CHINESE_DIGITS)))
    return _make_period(year, {"上": 2, "下": 4}.get(groups["cnh"] or ""))


def _month(name: str | None) -> int:
    return _MONTH_NUMBER[(name or "")[:3].lower()]


_READERS: dict[str, Callable[[_Groups], Period | None]] = {
    "cn": _read_chinese,
    "iso": lambda f: _dated(f["iy"], f["im"], f["id"]),
    "compact": lambda f: _dated(f["cy"], f["cm"], f["cd"]),
    "numeric": _read_numeric,
    "mdy": lambda f: _dated(f["my"], _month(f["mm"]), f["md"]),
    "dmy": lambda f: _dated(f["dy"], _month(f["dm"]), f["dd"]),
    "yq": lambda f: _make_period(f["yqy"], _quarter(f["yqq"], f["yqh"])),
    "yqf": lambda f: _make_period(f["yfy"], _quarter(f["yfq"], f["yfh"])),
    "qy": lambda f: _make_period(f["qyt"] or f["qyy"] or f["qys"], _quarter(f["qyq"], f["qyh"])),
    "nq": _read_number_first,
    "word": _read_word,
    "fy": lambda f: _make_period(f["fyy"]),
    "year": lambda f: _make_period(f["yy"]),
}


def _make_period(year: str | None, quarter: int | None = None) -> Period:
    return Period(int(full_year(year)) if year else 0, quarter)


def _quarter(quarter: str | None, half: str | None) -> int:
    return int(quarter) if quarter else 2 * int(half or 1)


def _dated(year: str | int | None, month: str | int | None, day: str | int | None) -> Period | None:
    try:
        period = _date(int(year or 0), int(month or 0), int(day or 0))
    except ValueError:
        return None
    return Period(period.year, None, period.isoformat())
