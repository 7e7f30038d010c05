"""Numbers in sheets, shown by their number formats: percent, leading zeros, thousands, durations.

Dates are in ISO form. A format of a day, a month or a year shows the whole date, so that "Feb-24" does not lose its
year.
"""

from __future__ import annotations

import datetime
import re
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

BUILT_IN = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 5: '"$"#,##0_);("$"#,##0)', 6: '"$"#,##0_);("$"#,##0)',
    7: '"$"#,##0.00_);("$"#,##0.00)', 8: '"$"#,##0.00_);("$"#,##0.00)', 9: "0%", 10: "0.00%", 11: "0.00E+00",
    12: "# ?/?", 13: "# ??/??", 14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM",
    19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 22: "yyyy-mm-dd h:mm", 37: "#,##0_);(#,##0)", 38: "#,##0_);(#,##0)",
    39: "#,##0.00_);(#,##0.00)", 40: "#,##0.00_);(#,##0.00)", 41: '_(* #,##0_);_(* (#,##0);_(* "-"_);_(@_)',
    42: '_("$"* #,##0_);_("$"* (#,##0);_("$"* "-"_);_(@_)', 43: '_(* #,##0.00_);_(* (#,##0.00);_(* "-"??_);_(@_)',
    44: '_("$"* #,##0.00_);_("$"* (#,##0.00);_("$"* "-"??_);_(@_)', 45: "mm:ss",
    46: "[h]:mm:ss", 47: "mm:ss.0", 48: "##0.0E+0", **dict.fromkeys((*range(27, 32), 36, 50, 57), "yyyy-mm-dd"),
    **dict.fromkeys(range(32, 36), "h:mm:ss"),
}  # fmt: skip
"""Number formats to which files refer only by number. Those that depend on a locale are dates and times."""

_TOKEN = re.compile(
    r'"([^"]*)"|\\(.)|_.|\*.|\[([^\]]*)\]|(AM/PM|A/P|上午/下午)|(General|G/通用格式|Standard)'
    r"|(E[+-])|([ymdhsegb]+|a{3,4})|([0#?]+)|(.)",
    re.I | re.S,
)
_ELAPSED = re.compile(r"(h+|m+|s+)", re.I)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?[\d.]+)")
_LONGEST_FORMAT = 255
_TEXT_SECTION = 3  # index of the section for texts in a format with four sections
_LAST_DAY = 2_958_466  # the first day of the year 10000
_HIGHEST = 1e21  # numbers from here on are shown with exponents


class _Token(NamedTuple):
    kind: str  # text, elapsed, half, general, exponent, date, digits, sign
    text: str


class _Section(NamedTuple):
    tokens: tuple[_Token, ...]
    condition: tuple[str, float] | None
    kind: str  # general, date, time, number, text


def show(number: float, code: str, since_1904: bool = False, written: str = "") -> str:
    """Return a number as its format code shows it.

    ``written`` is its text in the file, which may have more digits than a float. If the format shows nothing, or is not
    supported, return the number in general form.
    """
    sections = _sections(code)
    section, value = _chosen(sections, number)
    try:
        if section is None or section.kind == "general":
            return _general_among(value, number, section, written)
        if section.kind in ("date", "time"):
            return _moment(number, section, since_1904) or general(number, written)
        text = _fraction(value, section) if ("sign", "/") in section.tokens else _figure(value, section, written)
        return text or general(number, written)
    except (ArithmeticError, InvalidOperation, ValueError, OverflowError):
        return general(number, written)


def show_text(text: str, code: str) -> str:
    """Return a text as the section for texts in a format code shows it, with the words before and after it (``@``)."""
    if code in ("", "@", "General") or ("@" not in code and code.count(";") < _TEXT_SECTION):
        return text
    sections = _sections(code)
    section = sections[_TEXT_SECTION] if len(sections) > _TEXT_SECTION else sections[-1]
    if len(sections) <= _TEXT_SECTION and ("general", "@") not in section.tokens:
        return text
    shown = (text if kind == "general" else words for kind, words in section.tokens
             if kind in ("general", "text", "sign"))  # fmt: skip
    return "".join(shown).strip() or text


def _general_among(value: float, number: float, section: _Section | None, written: str) -> str:
    """Return a number in general form, with the literal words that its format has before and after it."""
    tokens = () if section is None else section.tokens
    if not any(token.kind == "general" for token in tokens):
        return general(number, written)
    whole = written if value == number else written.lstrip("-")
    return "".join(general(value, whole) if kind == "general" else text for kind, text in tokens
                   if kind in ("general", "text", "sign")).strip()  # fmt: skip


def general(number: float, written: str = "") -> str:
    """Return a number without a format: 15 digits, integers in full, exponents only for very large or small numbers."""
    if written.lstrip("-").isascii() and written.lstrip("-").isdigit():
        return written.lstrip("0") or "0" if not written.startswith("-") else str(int(written[:400]))
    if number != number or abs(number) == float("inf"):
        return str(number)
    if abs(number) >= _HIGHEST or 0 < abs(number) < 1e-9:
        return f"{number:.15g}".upper()
    if number == int(number):
        return str(int(number))
    text = f"{Decimal(f'{number:.15g}'):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@lru_cache(maxsize=2_000)
def _sections(code: str) -> tuple[_Section, ...]:
    sections: list[_Section] = []
    tokens: list[_Token] = []
    condition: tuple[str, float] | None = None
    for match in (*_TOKEN.finditer(code[:_LONGEST_FORMAT]), None):
        if match is None or match[9] == ";":
            sections.append(_Section(tuple(tokens), condition, _section_kind(tokens)))
            tokens, condition = [], None
            continue
        quoted, escaped, bracket, half, plain, exponent, letters, digits, sign = match.groups()
        if quoted is not None or escaped is not None:
            tokens.append(_Token("text", quoted if quoted is not None else escaped))
        elif bracket is not None:
            if _ELAPSED.fullmatch(bracket):
                tokens.append(_Token("elapsed", bracket.lower()))
            elif bracket.startswith("$"):
                tokens.append(_Token("text", bracket[1:].split("-")[0]))
            elif compared := _CONDITION.fullmatch(bracket):
                condition = compared[1], float(compared[2])
        else:
            if sign == "@":
                tokens.append(_Token("general", sign))
                continue
            for kind, text in (("half", half), ("general", plain), ("exponent", exponent), ("date", letters),
                               ("digits", digits), ("sign", sign)):  # fmt: skip
                if text is not None:
                    tokens.append(_Token(kind, text))
    return tuple(sections)


def _section_kind(tokens: list[_Token]) -> str:
    kinds = {token.kind for token in tokens}
    letters = "".join(token.text.lower() for token in tokens if token.kind == "date")
    if "general" in kinds:
        return "general"
    if "digits" in kinds and not (kinds & {"elapsed", "half"} or set(letters) & set("hsyda")):
        return "number"
    if kinds & {"elapsed", "half"} or set(letters) & set("hs"):
        return "date" if set(letters) & set("ydea") else "time"
    if letters:
        return "date"
    return "text" if tokens else "general"


def _chosen(sections: tuple[_Section, ...], number: float) -> tuple[_Section | None, float]:
    """Return the section of a number format that applies to a number, and the number to show.

    The number is made positive if the section is for negative numbers, since such a section has a sign of its own.
    """
    if any(section.condition for section in sections):
        for at, section in enumerate(sections):
            if section.condition is None:
                return section, abs(number) if number < 0 and at else number
            sign, limit = section.condition
            if {"<": number < limit, ">": number > limit, "=": number == limit, "<=": number <= limit,
                ">=": number >= limit, "<>": number != limit}[sign]:  # fmt: skip
                return section, abs(number) if number < 0 and sign.startswith("<") and limit <= 0 else number
        return None, number
    if number < 0 and len(sections) > 1:
        return sections[1], abs(number)
    return sections[2] if number == 0 and len(sections) > 2 else sections[0], number


def _moment(number: float, section: _Section, since_1904: bool) -> str:
    """Return a number as a date, a time of day or a duration, as its format requires. A date may include a time."""
    if any(token.kind == "elapsed" for token in section.tokens):
        return _duration(number, section)
    if not 0 <= number < _LAST_DAY:
        return ""
    places = _places_of_seconds(section)
    exact = round((number % 1) * 86_400, places)
    seconds = int(exact) if places else round(exact)
    fraction = f"{exact % 1:.{places}f}"[1:] if places else ""
    if section.kind == "time":
        hours, minutes = divmod(seconds // 60, 60)
        shows_seconds = any(token.kind == "date" and "s" in token.text.lower() for token in section.tokens)
        half = any(token.kind == "half" for token in section.tokens)
        if not any(token.kind == "date" and "h" in token.text.lower() for token in section.tokens):
            return f"{hours * 60 + minutes:02}:{seconds % 60:02}{fraction}"
        end = f":{seconds % 60:02}{fraction}" if shows_seconds else ""
        hours %= 24
        return f"{hours % 12 or 12}:{minutes:02}{end} {'PM' if hours > 11 else 'AM'}" if half else (
            f"{hours:02}:{minutes:02}{end}")  # fmt: skip
    day = int(number) + (1462 if since_1904 else 0)
    if day < 1:
        return ""
    # 1900 was not a leap year, although Lotus treated it as one
    first = datetime.datetime(1899, 12, 30 if day > 59 else 31)
    moment = first + datetime.timedelta(days=day, seconds=seconds)
    timed = any(token.kind == "date" and set(token.text.lower()) & set("hs") for token in section.tokens)
    return moment.isoformat(" ") if timed or seconds else moment.date().isoformat()


def _places_of_seconds(section: _Section) -> int:
    """Return the number of decimal places of a format's seconds."""
    for before, point, digits in zip(section.tokens, section.tokens[1:], section.tokens[2:], strict=False):
        if before.kind in ("date", "elapsed") and "s" in before.text.lower() and point == ("sign", "."):
            return min(6, len(digits.text)) if digits.kind == "digits" else 0
    return 0


def _duration(number: float, section: _Section) -> str:
    total = round(abs(number) * 86_400)
    text = ""
    seen_hours = False
    for kind, shown in section.tokens:
        unit = shown[0].lower() if shown else ""
        if kind == "elapsed":
            text += f"{total // {'h': 3600, 'm': 60, 's': 1}[unit]:0{len(shown)}}"
            seen_hours = seen_hours or unit == "h"
        elif kind == "date" and unit == "h":
            text += f"{total // 3600 % 24:0{len(shown)}}"
        elif kind == "date" and unit in "ms":
            text += f"{(total // 60 if unit == 'm' else total) % 60:0{len(shown)}}"
        elif kind in ("text", "sign"):
            text += shown
    return f"-{text}" if number < 0 else text


def _fraction(number: float, section: _Section) -> str:
    at = section.tokens.index(_Token("sign", "/"))
    parts = takewhile(lambda token: token.kind == "digits" or token.text.isdecimal(), section.tokens[at + 1 :])
    below = "".join(token.text for token in parts) or "?"
    whole = sum(token.kind == "digits" for token in section.tokens[:at]) > 1
    sign = "-" if number < 0 else ""
    if below.isdecimal() and (parts_of_one := int(below)):  # a fixed denominator
        full, rest = divmod(round(abs(number) * parts_of_one), parts_of_one)
        if not whole:
            full, rest = 0, full * parts_of_one + rest
        return f"{sign}{full}" if whole and not rest else f"{sign}{f'{full} ' if full else ''}{rest}/{parts_of_one}"
    value = Fraction(abs(number)).limit_denominator(10 ** min(4, len(below)) - 1)
    if value.denominator == 1:
        return f"{sign}{value.numerator}"
    full, rest = divmod(value.numerator, value.denominator) if whole else (0, value.numerator)
    return f"{sign}{f'{full} ' if full else ''}{rest}/{value.denominator}"


def _figure(number: float, section: _Section, written: str) -> str:
    """Return a number with the digits, decimals and literals of a section."""
    tokens = section.tokens
    places = [at for at, token in enumerate(tokens) if token.kind == "digits"]
    percent = sum(token == ("sign", "%") for token in tokens)
    if not places:
        return ("-" if number < 0 and percent else "") + "".join(token.text for token in tokens).strip()
    exponent = next((at for at, token in enumerate(tokens) if token.kind == "exponent"), len(tokens))
    point = next((at for at in range(places[0], exponent) if tokens[at] == ("sign", ".")), None)
    if point is None and tokens[places[0] - 1 : places[0]] == (("sign", "."),):
        point = places[0] - 1
    end = max(at for at in places if at < exponent) if any(at < exponent for at in places) else places[-1]
    before = "".join(tokens[at].text for at in places if at < exponent and (point is None or at < point))
    after = "".join(tokens[at].text for at in places if point is not None and point < at < exponent)
    whole = written.lstrip("-").isascii() and written.lstrip("-").isdigit() and len(written) < 40
    value = Decimal(written if whole else repr(float(number))) * (100**percent)
    if whole and number >= 0:
        value = abs(value)
    last = end
    while last + 1 < len(tokens) and tokens[last + 1] == ("sign", ","):
        value, last = value / 1000, last + 1
    grouped = any(tokens[at] == ("sign", ",") for at in range(places[0], end) if point is None or at < point)
    if exponent < len(tokens):
        shown = f"{float(value):.{len(after)}E}"
        mantissa, _, power = shown.partition("E")
        size = sum(len(token.text) for token in tokens[exponent + 1 :] if token.kind == "digits")
        sign = "-" if int(power) < 0 else "+" if tokens[exponent].text.endswith("+") else ""
        figure = f"{mantissa}E{sign}{abs(int(power)):0{size}}"
        end = max(end, places[-1])
    else:
        rounded = value.quantize(Decimal(1).scaleb(-len(after)), ROUND_HALF_UP)
        figure = _placed(abs(rounded), before, after, grouped)
        if rounded < 0:
            figure = f"-{figure}"
    first = min(places[0], point if point is not None else places[0])
    lead = "".join(token.text for token in tokens[:first])
    inner = any(token.kind in ("text", "sign") and token.text != "," for token in tokens[first : end + 1])
    tail = "".join(token.text for token in tokens[max(end, last) + 1 :])
    if figure.startswith("-") and lead.strip():
        lead, figure = f"-{lead}", figure[1:]
    if inner and point is None and exponent == len(tokens) and len(places) > 1:
        return f"{lead}{_threaded(figure, tokens[first : end + 1])}{tail}".strip()
    return f"{lead}{figure}{tail}".strip()


def _placed(value: Decimal, before: str, after: str, grouped: bool) -> str:
    text = f"{value:f}"
    whole, _, rest = text.partition(".")
    whole = whole.lstrip("0").rjust(before.count("0"), "0")
    minimum = len(after.rstrip("#?"))
    rest = rest[:minimum] + rest[minimum:].rstrip("0")
    if grouped:
        whole = re.sub(r"(?<=\d)(?=(?:\d{3})+$)", ",", whole)
    return whole + (f".{rest}" if rest else "")


def _threaded(figure: str, tokens: tuple[_Token, ...]) -> str:
    """Return digits with the literals of a format between them, as in telephone numbers: "000-000"."""
    digits = figure.lstrip("-")
    shown: list[str] = []
    for token in reversed(tokens):
        if token.kind == "digits":
            size = len(token.text)
            shown.append(digits[-size:].rjust(token.text.count("0"), "0"))
            digits = digits[:-size]
        else:
            shown.append(token.text)
    return ("-" if figure.startswith("-") else "") + digits + "".join(reversed(shown))
