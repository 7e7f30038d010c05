"""The numbering of headings (``Chapter IV``, ``2.1``, ``B.``, ``第三章``), and comparison of titles without it."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from hybrid_core.text.identifiers import roman
from hybrid_core.text.tokens import fold

_KINDS = {
    "part": "part teil partie parte deel część část часть частина μέρος μερος الباب חלק",
    "book": "book buch livre libro книга",
    "volume": "volume tome том",
    "title": "title titre título titulo titolo",
    "chapter": "chapter kapitel kapittel chapitre capítulo capitulo capitolo hoofdstuk rozdział kapitola luku bölüm "
    "bab глава розділ κεφάλαιο κεφαλαιο الفصل פרק chương अध्याय",
    "section": "section sec. abschnitt sección seccion seção secção sezione avsnitt oddíl раздел ενότητα "
    "ενοτητα القسم mục",
    "article": "article art. artikel artikkel artikla artículo articulo articolo artigo artykuł článek madde pasal "
    "статья стаття άρθρο αρθρο المادة סעיף điều",
    "appendix": "appendix anhang anlage apéndice apendice appendice apêndice bijlage bilaga bilag vedlegg liite ek "
    "załącznik dodatek příloha lampiran приложение додаток παράρτημα παραρτημα ملحق الملحق נספח",
    "annex": "annex annexe anexo allegato",
}
_KIND = {word: kind for kind, words in _KINDS.items() for word in words.split()}
"""``{word before a number: kind of heading}``. Capitals may lack accents. Words not in it are kinds themselves."""
_OTHER = "item note schedule exhibit attachment addendum division subpart subsection module unit lesson step"
_WORDS = "|".join(map(re.escape, sorted([*_KIND, *_OTHER.split()], key=len, reverse=True)))
_CARDINALS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINALS = {  # the same ordinal in several languages, and the genders of each
    1: "first primero primera primer premier première primo prima primeiro primeira único única unico unica unique "
    "первая первый",
    2: "second segundo segunda secondo seconda deuxième вторая второй",
    3: "third tercero tercera tercer troisième terzo terza terceiro terceira третья третий",
    4: "fourth cuarto cuarta quatrième quarto quarta четвёртая четвертая",
    5: "fifth quinto quinta cinquième пятая",
    6: "sixth sexto sexta sixième sesto sesta шестая",
    7: "seventh séptimo séptima septième settimo settima sétimo sétima седьмая",
    8: "eighth octavo octava huitième ottavo ottava oitavo oitava восьмая",
    9: "ninth noveno novena neuvième nono nona девятая",
    10: "tenth décimo décima dixième decimo decima десятая",
    11: "eleventh",
    12: "twelfth",
}
_VALUES = {word: value for value, words in _ORDINALS.items() for word in words.split()}
_VALUES |= {word: value for value, word in enumerate(_CARDINALS, 1)}
_VALUES |= {word: 10 * value for value, word in enumerate(_TENS, 2)}
_SPELLED = re.compile(rf"({'|'.join(_TENS)})[- ]?({'|'.join(_CARDINALS[:9])})", re.IGNORECASE)
_NUMBERS = f"{_SPELLED.pattern.replace('(', '(?:')}|{'|'.join(sorted(_VALUES, key=len, reverse=True))}"
_HAN = "零〇一二三四五六七八九十百千两0-9０-９"
_NUMBERING = re.compile(
    rf"(?P<word>{_WORDS})(?:\s*(?=\d|no\b)|\s+)(?:no\.?\s*)?(?P<of>\d+(?:\.\d+)*[a-z]?|[ivxlc]+|[a-zа-яα-ω]|{_NUMBERS})(?![^\W_])(?:\s?\([a-z0-9]{{1,3}}\))?[.:)]?"
    rf"|(?P<added>부록|付録|附録|附录|附錄|附件|別紙|別表)\s*(?P<addedof>\d+(?:[-.]\d+)*|[a-z]|[{_HAN}]+)(?![^\W_])[.:)：]?"
    r"|제\s*(?P<korean>\d+)\s*(?P<koreanword>[편장절조부관])(?![가-힣])"
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
    "part book volume title chapter article item note appendix annex schedule exhibit section "
    "han-编 han-編 han-章 han-節 han-节 han-条 han-條 han-部 han-篇 han-卷".split()
)  # kinds whose number makes a line a heading in any style
# numbered units that contain chapters
PARTS = frozenset(["part", "book", "volume", "title"])
CHAPTERS = frozenset(["chapter", "han-章"])
ATTACHED = frozenset(["appendix", "annex"])  # they stand beside chapters, and begin a numbering of their own
_HANGUL = {"편": "編", "장": "章", "절": "節", "조": "条", "부": "部", "관": "款"}
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


_BEFORE_LETTERS = (ord("a") - 1, ord("а") - 1, ord("α") - 1)  # Latin, Cyrillic, Greek


def _number_value(text: str) -> tuple[int, ...]:
    if (lowered := text.lower()) in _VALUES:
        return (_VALUES[lowered],)
    if spelled := _SPELLED.fullmatch(lowered):
        return (_VALUES[spelled[1]] + _VALUES[spelled[2]],)
    if text[0].isdigit():
        return tuple(int(part) for part in re.findall(r"\d+", text))
    if value := roman(text):
        return (value,)
    return _letter_value(lowered)


def _letter_value(text: str) -> tuple[int, ...]:
    code = ord(text[0].lower())
    return (next((code - before for before in _BEFORE_LETTERS if 0 < code - before < 33), 0),)


def _label_value(of: str, kind: str) -> tuple[int, ...]:
    """Return the value of the number after a word. C, D, L and M are letters, but "Chapter L" is the fiftieth."""
    return _letter_value(of) if of.lower() in "cdlm" and kind not in CHAPTERS else _number_value(of)


def _is_ordinary_word(of: str, after: str) -> bool:
    """Return whether letters after a word such as "part" are no number, as in "Parte il treno" and "Статья о погоде".

    A letter in lower case is a number only if no other word follows it, a Roman numeral only if that word is a title.
    """
    if not of.isalpha() or of.lower() in _VALUES or _SPELLED.fullmatch(of):
        return False
    if len(of) > 1 and not roman(of):
        return True
    if after[:1] in ("'", "’"):
        return True
    following = after.lstrip()[:1]
    return of.islower() and following.isalpha() and (len(of) == 1 or following.islower())


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
        word, of = match["word"].lower(), match["of"]
        kind = _KIND.get(word, word)
        return None if _is_ordinary_word(of, title[match.end("of") :]) else Numbering(kind, _label_value(of, kind), end)
    if kind == "addedof":
        of = match[kind]
        return Numbering("appendix", _label_value(of, "appendix") if of[0].isascii() else (han_value(of),), end)
    if kind == "koreanword":
        return Numbering("han-" + _HANGUL[match[kind]], (int(match["korean"]),), end)
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


def split_number(word: str, of: str) -> Numbering | None:
    """Return the number that two lines such as "CHAPTER" and "THREE" make, None if they make none."""
    if " " in word or " " in of or not word.isalpha() or len(word) > 20:
        return None
    return bare_number(f"{word} {of}")


def bare_number(text: str) -> Numbering | None:
    """Return the number of a text that is only a strong number, such as "Chapter 2", None for any other text."""
    number = numbering(text)
    return number if number is not None and number.kind in STRONG and number.end >= len(text.rstrip()) else None


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
