"""Identifiers (part numbers, sections, standards, names in code) and numerals (``VIII``, ``一百三十三``, ``1A``).

An identifier has a digit next to a letter, or a sign inside ("E-1047/B", "9001:2015", "user_id", "np.float32",
"CVE-2021-44228"), or ends in "++" or "#". The following are not identifiers: plain hyphenated words, dates, times,
decimal numbers, ranges of short numbers, years and quarters ("FY2023", "Q3", "2019/20"), ordinals, decades, and numbers
with a unit of two or more letters ("10km"). A number with one letter is an identifier: "312g" is a section more often
than a weight.
"""

from __future__ import annotations

import re

LONGEST = 64  # maximum characters of an identifier; longer runs are data

_SIGNS = re.compile(r"[,']")
_COARSE, _FINE = re.compile(r"/|(?<!:):(?!:)"), re.compile(r"[-./]|::?")
_LETTER, _DIGIT = re.compile(r"[^\W\d_]"), re.compile(r"\d")
_ADDRESS = re.compile(r"[^\W_][\w-]*(?:\.[\w-]+)*\.[^\W\d_]{2,}/.+")
_DOTTED_NAME = re.compile(r"[^\W\d_]{2,}(?:\.[^\W\d_]{2,})+")
_LIKELY = re.compile(r"[\d_#]|\.[^\W\d_]{2}|::|\+\+")
_GROUPS = re.compile(r"[-/:]")
_DATE = re.compile(r"\d{1,2}([-/.])\d{1,2}\1(?:\d{4}|\d{2})|\d{4}([-/.])\d{1,2}\2\d{1,2}")
_YEAR = re.compile(r"(?:19|20)\d\d")
_UNITS = (
    "km|cm|mm|nm|um|µm|μm|kg|mg|µg|μg|ml|cl|dl|kb|mb|gb|tb|pb|kib|mib|gib|kbps|mbps|gbps|hz|khz|mhz|ghz|kw|mw|gw|kwh"
    "|mwh|gwh|kv|mv|ma|mah|bn|mn|mm|mio|min|mins|hr|hrs|ms|ns|sec|secs|am|pm|pt|px|ft|in|lb|lbs|oz|bps|mph|kph|rpm|psi"
    "|bar|kpa|mpa|dpi|ppm|usd|eur|gbp"
)
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_PLAIN = re.compile(
    r"\d+(?:st|nd|rd|th)"
    rf"|[\d.]+(?:-[\d.]+)?-?(?:{_UNITS})(?:/[^\W\d_]{{1,3}})?"
    r"|\d+(?:-[^\W\d_]{3,})+"  # 10-year-old
    r"|(?:\d\d|\d{4})s"  # the 1990s
    r"|(?:[1-4][qh]|[qh][1-4])(?:[-/]?(?:fy)?-?(?:\d{4}|\d{2}))?|.*fy[-\s]?\d{2,4}.*"
    rf"|\d{{1,2}}-(?:{_MONTHS})[^\W\d_]*-\d{{2,4}}|(?:{_MONTHS})[^\W\d_]*-\d{{2,4}}"
    r"|(?:mid|pre|post|late|early|year|non|since|until)-\d{4}"
    r"|\d{4}-\d\d-\d\dt[\d:.]+z?|\d{1,2}(?:[:.]\d\d)+(?:am|pm)"
    r"|[^\W\d_]{2,}[.:]\d{1,3}|\d+\.[^\W\d_]{2,}"  # the end of a sentence and a number without a space
)
_BESIDE = re.compile(r"(?<=[^\W\d_])-(?=\d)|(?<=\d)-(?=[^\W\d_])")


def identifiers(run: str) -> list[str]:
    """Return the identifiers in a folded run of letters, digits and signs: the whole run first, then its parts.

    "v34z0q/v34z0r" contains three identifiers, so a page that lists several of them matches each.
    """
    if not _LIKELY.search(run):
        return []
    written: dict[str, None] = {}
    for part in _SIGNS.split(run):
        if is_identifier(part):
            written[part] = None
        if _FINE.search(part) and len(part) <= LONGEST:
            parts = {*_COARSE.split(part), *_FINE.split(part)} - written.keys()
            written.update(dict.fromkeys(sorted(filter(is_identifier, parts), key=part.find)))
    return list(written)


def identifier_term(written: str) -> str:
    """Return the search term of an identifier. A hyphen between a letter and a digit is dropped (gpt-4 -> gpt4)."""
    return _BESIDE.sub("", written)


def is_identifier(written: str) -> bool:
    """Return whether a folded run is an identifier by the rule at the top of this file."""
    if not 2 <= len(written) <= LONGEST or written.isalpha() or written.isdecimal():
        return False
    if written.endswith(("++", "#")) or "_" in written or "::" in written or _ADDRESS.fullmatch(written):
        return True
    if not _DIGIT.search(written):
        return _DOTTED_NAME.fullmatch(written) is not None
    if not _LETTER.search(written):
        return _numbered(written)
    return _PLAIN.fullmatch(written) is None


def _numbered(written: str) -> bool:
    """Return whether a run of digits and signs is an identifier, such as "9001:2015" or "978-3-16-148410-0"."""
    groups = _GROUPS.split(written)
    if len(groups) < 2 or not all(group.isdecimal() for group in groups) or _DATE.fullmatch(written):
        return False
    sizes = [len(group) for group in groups]
    if ":" in written:
        return max(sizes) > 2
    if len(groups) > 2 or max(sizes) > 4:
        return True
    return min(sizes) > 2 and not all(_YEAR.fullmatch(group) for group in groups)


_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_IS_ROMAN = re.compile(r"(?=[IVXLCDM])M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_SMALL_ROMAN = re.compile(r"[ivxlc]+")
_NUMERALS = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
             (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip
_LAST_NUMBER = re.compile(r"(?P<before>.*?)(?P<last>\d+)")
_DIGITS = {digit: value for value, digits in enumerate(("零〇", "一", "二两", "三", "四", "五", "六", "七", "八", "九"))
           for digit in digits}  # fmt: skip
_POWERS = {"十": 10, "百": 100, "千": 1000}
CHINESE = "零〇一二两三四五六七八九十百千"


def part_number(written: str) -> str:
    """Normalise a section number: Roman and Chinese numerals become digits, letters capitals, without leading zeros.

    ``viii`` and ``VIII`` become 8, ``3.02`` becomes 3.2, ``1a`` becomes 1A, and ``A.4`` stays. Letters that form a
    Roman numeral are always read as a numeral, so that equal numbers have one spelling.
    """
    return ".".join(_piece(piece) for piece in written.strip(". ").split("."))


def page_number(written: str) -> str:
    """Normalise a page number. Lower-case Roman numerals, which number the front matter, stay unchanged."""
    return written if _SMALL_ROMAN.fullmatch(written) else part_number(written)


def adjacent_numbers(number: str) -> tuple[str, str]:
    """Return the previous and next page number, "" if there is none: ii and iv for ``iii``, A-3 and A-5 for ``A-4``."""
    if _SMALL_ROMAN.fullmatch(number):
        at = roman(number)
        return small_roman(at - 1), small_roman(at + 1)
    match = _LAST_NUMBER.fullmatch(number)
    if match is None:
        return "", ""
    at = int(match["last"])
    return f"{match['before']}{at - 1}", f"{match['before']}{at + 1}"


def roman(written: str) -> int:
    """Return the value of a Roman numeral, 0 if it is not one."""
    letters = written.upper()
    if not _IS_ROMAN.fullmatch(letters):
        return 0
    values = [_ROMAN[letter] for letter in letters]
    return sum(-value if value < max(values[at:]) else value for at, value in enumerate(values))


def small_roman(number: int) -> str:
    """Return a number as a lower-case Roman numeral, "" for 0."""
    numeral = ""
    for value, letters in _NUMERALS:
        numeral += letters * (number // value)
        number %= value
    return numeral


def _piece(piece: str) -> str:
    capital = piece.strip().upper()
    if capital.isdecimal():
        return str(int(capital))
    if value := roman(capital):
        return str(value)
    if capital and all(character in CHINESE for character in capital):
        return str(_of_chinese(capital))
    return capital.lstrip("0")


def _of_chinese(written: str) -> int:
    whole, digit = 0, 0
    for character in written:
        if character in _POWERS:
            whole += (digit or 1) * _POWERS[character]
            digit = 0
        else:
            digit = 10 * digit + _DIGITS[character]
    return whole + digit
