"""The numbering of headings (``Chapter IV``, ``2.1``, ``B.``, ``第三章``), and comparison of titles without it."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from hybrid_core.text.identifiers import roman
from hybrid_core.text.tokens import fold

_WORDS = (
    "part|book|volume|chapter|section|sec\\.|article|art\\.|item|note|appendix|annex|schedule|exhibit|attachment|addendum|"
    "title|division|subpart|subsection|module|unit|lesson|step|"
    "teil|kapitel|abschnitt|artikel|anhang|partie|chapitre|annexe|parte|capítulo|capitulo|sección|artículo|anexo|capitolo|"
    "часть|глава|раздел|статья|приложение|الفصل|الباب|القسم|المادة|פרק|חלק"
)
_ORDINALS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|"
    "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth"
)
_ORDINAL_VALUES = {word: i % 12 + 1 for i, word in enumerate(_ORDINALS.split("|"))}
_HAN = "零〇一二三四五六七八九十百千两0-9０-９"
_NUMBERING = re.compile(
    rf"(?P<word>{_WORDS})(?:\s*(?=\d|no\b)|\s+)(?:no\.?\s*)?(?P<of>\d+(?:\.\d+)*[a-z]?|[ivxlc]+|[a-z]|{_ORDINALS})(?![^\W_])(?:\s?\([a-z0-9]{{1,3}}\))?[.:)]?"
    rf"|第\s*(?P<han>[{_HAN}]+)\s*(?P<hanword>[编編章节節条條款部篇回卷])(?:分)?"
    r"|§+\s*(?P<par>\d+(?:\.\d+)*[a-z]?)\.?"
    r"|(?P<decimal>\d{1,3}(?:\.\d{1,3})+)(?:[.:)](?=\s|$)|(?=\s|$))"
    r"|(?P<integer>\d{1,3}(?:[a-z](?=\.\s))?)(?:[.:)](?![\d])|(?=\s|$))"
    r"|\((?P<bracket>[ivx]{1,5}|[a-z]{1,2}|\d{1,2})\)"
    r"|(?P<roman>[ivxlc]{1,7})[.)](?=\s|$)"
    r"|(?P<letter>[a-z]{1,2})[.)](?=\s|$)"
    r"|(?P<letterdec>[a-z]\.\d{1,2}(?:\.\d{1,2})*)(?:[.:)]?(?=\s|$))"
    rf"|[（(](?P<hanbracket>[{_HAN}]+)[)）]|(?P<hanlist>[一二三四五六七八九十]+)[、．.]",
    re.IGNORECASE,
)
_JUNK = re.compile(r"[\W_]+")
_DROPPED = dict.fromkeys(
    [*(code for code in range(128) if not chr(code).isalnum()), *map(ord, "‘’“”„«»–—…•·−‐‑®©™§¶†‡°′″\u00a0\u00ad")]
)
_DROPPED_BYTES = bytes(code for code in _DROPPED if code < 128)
_GAP = re.compile(r"[\s|:.–—-]*")


STRONG = frozenset(
    "part book volume chapter article item note appendix annex schedule exhibit section "
    "teil kapitel partie chapitre capítulo часть глава раздел статья الفصل الباب القسم المادة פרק חלק "
    "han-编 han-編 han-章 han-節 han-节 han-条 han-條 han-部 han-篇 han-卷".split()
)  # words that make a numbered line a heading in any style
# numbered units that contain chapters
PARTS = frozenset(["part", "book", "volume", "teil", "partie", "parte", "часть"])
RANKS = {
    "han-编": 0,
    "han-編": 0,
    "han-部": 0,
    "han-篇": 0,
    "han-卷": 0,
    "han-章": 1,
    "han-节": 2,
    "han-節": 2,
    "han-条": 3,
    "han-條": 3,
}
_HAN_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}


@dataclass(frozen=True, slots=True)
class Numbering:
    """A heading's number. ``kind`` names the numbering scheme ("chapter", "decimal2", "roman-upper" …).

    ``value`` is the number itself: (2, 1) for "2.1". ``end`` is the offset in the text at which the title begins.
    """

    kind: str
    value: tuple[int, ...]
    end: int


def han_value(text: str) -> int:
    """Return the value of a Chinese numeral up to 9,999 (``二百三十一`` gives 231), or of digits."""
    text = unicodedata.normalize("NFKC", text)
    if text.isdecimal():
        return int(text)
    total = digit = 0
    for character in text:
        if unit := {"十": 10, "百": 100, "千": 1000}.get(character):
            total += (digit or 1) * unit
            digit = 0
        else:
            digit = _HAN_DIGITS.get(character, 0)
    return total + digit


def _number_value(text: str) -> tuple[int, ...]:
    if text.lower() in _ORDINAL_VALUES:
        return (_ORDINAL_VALUES[text.lower()],)
    if text[0].isdigit():
        return tuple(int(part) for part in re.findall(r"\d+", text))
    if value := roman(text):
        return (value,)
    return (ord(text[0].lower()) - 96,) if text[0].isascii() else (0,)


@lru_cache(maxsize=50_000)
def numbering(title: str) -> Numbering | None:
    """Return the numbering of a title, None if there is none."""
    match = _NUMBERING.match(title)
    if match is None:
        return None
    end = match.end()
    gap = _GAP.match(title, end)
    end = gap.end() if gap else end
    kind = match.lastgroup or ""
    if match["word"]:
        return Numbering(match["word"].lower(), _number_value(match["of"]), end)
    if kind == "hanword":
        return Numbering("han-" + match["hanword"], (han_value(match["han"]),), end)
    text = match[kind]
    if kind == "decimal":
        value = _number_value(text)
        return Numbering(f"decimal{len(value)}", value, end)
    if kind == "letterdec":
        return Numbering(f"letter{text.count('.') + 1}", (ord(text[0].lower()) - 96, *_number_value(text[2:])), end)
    if kind in ("roman", "letter", "bracket"):
        case = "digit" if text.isdigit() else "upper" if text.isupper() else "lower"
        if kind == "roman" and len(text) == 1 and text.lower() in "clm":
            kind = "letter"
        if kind == "letter" and len(text) == 2:
            if text[0] != text[1] or case == "upper":
                return None
            case = "double"
        value = (ord(text[0].lower()) - 96,) if kind == "letter" else _number_value(text)
        return Numbering(f"{kind}-{case}", value, end)
    if kind == "integer":
        mark = title[match.end() - 1 : match.end() + 2].lstrip("0123456789 ")[:1]
        return Numbering("integer" + (mark if mark and mark in ".):|" else ""), _number_value(text), end)
    return Numbering(kind, _number_value(text) if kind == "par" else (han_value(text),), end)


def as_letter(text: str) -> Numbering | None:
    """Return the numbering of a title that begins with ``I.``, ``V.`` or ``X.``, read as a letter.

    It is an alternative to the reading as a Roman numeral. Return None for other titles.
    """
    if len(text) > 1 and text[0].lower() in "ivx" and text[1] in ".)":
        case = "upper" if text[0].isupper() else "lower"
        number = numbering(text)
        return Numbering(f"letter-{case}", (ord(text[0].lower()) - 96,), number.end if number else 2)
    return None


def compact(text: str) -> str:
    """Return only the letters and digits, case-folded, for comparing titles."""
    if text.isascii():
        return text.encode().translate(None, _DROPPED_BYTES).decode().lower()
    plain = text.translate(_DROPPED)
    return plain.lower() if plain.isascii() else _JUNK.sub("", fold(plain))


def bare(title: str) -> str:
    """Return a title's letters and digits without its numbering, case-folded.

    If nothing is left, the numbering is kept.
    """
    number = numbering(title)
    return (compact(title[number.end :]) if number else "") or compact(title)
