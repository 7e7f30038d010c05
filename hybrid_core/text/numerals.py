"""Numbers of parts and pages as they are written (``VIII``, ``一百三十三``, ``1A``), and one spelling for each."""

from __future__ import annotations

import re

_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_IS_ROMAN = re.compile(r"(?=[IVXLCDM])M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_SMALL_ROMAN = re.compile(r"[ivxlc]+")
_SMALL = ((100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))
_COUNTED = re.compile(r"(?P<before>.*?)(?P<last>\d+)")
_DIGITS = {digit: value for value, digits in enumerate(("零〇", "一", "二两", "三", "四", "五", "六", "七", "八", "九"))
           for digit in digits}  # fmt: skip
_POWERS = {"十": 10, "百": 100, "千": 1000}
CHINESE = "零〇一二两三四五六七八九十百千"


def part_number(written: str) -> str:
    """One spelling of a part's number: Roman and Chinese numerals as digits, letters as capitals, no zeros in front.

    ``viii`` and ``VIII`` are 8, ``3.02`` is 3.2, ``A.4`` and ``1a`` are A.4 and 1A. Letters that are Roman numerals are
    read as such, wherever they stand, so that the same number always has the same spelling.
    """
    return ".".join(_piece(piece) for piece in written.strip(". ").split("."))


def page_number(written: str) -> str:
    """One spelling of a page's number; small Roman numerals, which number what stands in front, stay as they are."""
    return written if _SMALL_ROMAN.fullmatch(written) else part_number(written)


def beside(number: str) -> tuple[str, str]:
    """The page numbers before and after one: of ``iii`` ii and iv, of ``A-4`` A-3 and A-5; "" where there are none."""
    if _SMALL_ROMAN.fullmatch(number):
        at = roman(number)
        return _small_roman(at - 1), _small_roman(at + 1)
    match = _COUNTED.fullmatch(number)
    if match is None:
        return "", ""
    at = int(match["last"])
    return f"{match['before']}{at - 1}", f"{match['before']}{at + 1}"


def roman(written: str) -> int:
    """The value of a Roman numeral, 0 where it is none."""
    letters = written.upper()
    if not _IS_ROMAN.fullmatch(letters):
        return 0
    values = [_ROMAN[letter] for letter in letters]
    return sum(-value if value < max(values[at:]) else value for at, value in enumerate(values))


def _small_roman(number: int) -> str:
    said = ""
    for value, letters in _SMALL:
        said += letters * (number // value)
        number %= value
    return said


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
