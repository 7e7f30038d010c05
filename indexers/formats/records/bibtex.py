"""Parsing of BibTeX into entries with plain-text fields.

Existing libraries drop text that they do not understand.
"""

from __future__ import annotations

import re
import unicodedata

_ENTRY = re.compile(r"@\s*([A-Za-z]{1,40})\s*([{(])")
_NAME = re.compile(r"\s*,?\s*([^\s=,{}\"#%]{1,80})\s*=\s*")
_KEY = re.compile(r"\s*([^\s=,{}\"]{0,200})\s*(?=,|[})]|$|\s)")
_BARE = re.compile(r"[^\s,#{}\"]{1,200}")
_PIECE = re.compile(r"\s*#\s*")
_STEP = re.compile(r"[{}\"\\]")
_MONTHS = {name: number for number, names in enumerate(
    "jan january|feb february|mar march|apr april|may|jun june|jul july|aug august|sep september|oct october|"
    "nov november|dec december".split("|"), 1) for name in names.split()}  # fmt: skip


def read_bibtex(text: str) -> tuple[list[dict[str, str]], list[str], bool]:
    """Return the entries as fields, the lines outside of them, and whether the last entry is complete."""
    entries: list[dict[str, str]] = []
    strings: dict[str, str] = {name: name.capitalize() for name in _MONTHS}
    outside: list[str] = []
    at, whole = 0, True
    while (match := _ENTRY.search(text, at)) is not None:
        outside += _outside(text[at : match.start()])
        kind, at = match[1].lower(), match.end()
        if kind in ("comment", "preamble"):
            _, at, _ = _braced(text, at, match[2])
            continue
        if kind == "string":
            fields, at, _ = _read_fields(text, at, match[2], strings)
            strings |= {name.lower(): value for name, value in fields.items()}
            continue
        key = _KEY.match(text, at)
        start = key.end() if key is not None and "=" not in text[key.end() : key.end() + 2] else at
        fields, at, whole = _read_fields(text, start, match[2], strings)
        named = (
            {"key": key[1]} if key is not None and start > at - len(text) and key[1] and start != match.end() else {}
        )
        entry = {**named, "type": kind, **{name: plain(value) for name, value in fields.items()}}
        for name in ("author", "editor"):
            if entry.get(name):
                entry[name] = " ".join(entry[name].split())
        if entry.get("pages"):
            entry["pages"] = re.sub(r"-{1,3}", "–", entry["pages"])
        entries.append(entry)
    outside += _outside(text[at:])
    return entries, outside, whole


def _outside(text: str) -> list[str]:
    """Return the lines between entries, without comments."""
    lines = (line.strip() for line in text.split("\n"))
    return [line for line in lines if line.strip("}), @") and not line.startswith("%")]


def _read_fields(text: str, at: int, opened: str, strings: dict[str, str]) -> tuple[dict[str, str], int, bool]:
    """Return the fields of an entry, the offset of its end, and whether the entry is complete."""
    fields: dict[str, str] = {}
    end = "}" if opened == "{" else ")"
    while at < len(text):
        match = _NAME.match(text, at)
        if match is not None:
            value, at, whole = _value(text, match.end(), strings)
            name = match[1].lower()
            fields[name] = f"{fields[name]}; {value}" if name in fields else value
            if not whole:
                return fields, at, False
            continue
        if text[at] == end:
            return fields, at + 1, True
        if text[at] == "@" and _ENTRY.match(text, at) is not None:
            return fields, at, False
        at += 1
    return fields, at, False


def _value(text: str, at: int, strings: dict[str, str]) -> tuple[str, int, bool]:
    """Return a field's value, the offset of its end, and whether its brackets are closed.

    The value may consist of pieces joined by "#".
    """
    parts: list[str] = []
    while True:
        sign = text[at : at + 1]
        if sign in ("{", '"') and sign:
            part, at, whole = _braced(text, at + 1, sign)
            parts.append(part)
            if not whole:
                return "".join(parts), at, False
        elif (bare := _BARE.match(text, at)) is not None:
            parts.append(strings.get(bare[0].lower(), bare[0]))
            at = bare.end()
        if (piece := _PIECE.match(text, at)) is None:
            return "".join(parts), at, True
        at = piece.end()


_SIGNS = re.compile(r"[{}()\"\\]")


def _braced(text: str, at: int, opened: str) -> tuple[str, int, bool]:
    """Return (text up to the closing bracket or quotation mark, offset after it, whether it is closed)."""
    depth, start, end = 0, at, {"{": "}", "(": ")"}.get(opened, '"')
    while (step := _SIGNS.search(text, at)) is not None:
        sign, at = step[0], step.end()
        if sign == "\\":
            at += 1
        elif sign == end and depth == 0:
            if sign != '"' or re.match(r"\s*(?:[,#})]|$)", text[at : at + 200]) is not None:
                return text[start : at - 1], at, True
        elif sign == "{":
            depth += 1
        elif sign == "}":
            depth = max(0, depth - 1)
    return text[start:], len(text), False


_ACCENTS = {"`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", "=": "\u0304", "u": "\u0306", ".": "\u0307",
            '"': "\u0308", "r": "\u030a", "H": "\u030b", "v": "\u030c", "d": "\u0323", "c": "\u0327", "k": "\u0328",
            "b": "\u0331"}  # fmt: skip
_LETTERS = {"ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "o": "ø", "O": "Ø", "aa": "å", "AA": "Å", "l": "ł",
            "L": "Ł", "i": "i", "j": "j", "textendash": "–", "textemdash": "—", "ldots": "…", "dots": "…",
            "copyright": "©",
            "S": "§", "P": "¶", "dag": "†", "pounds": "£", "euro": "€", "textquoteright": "’", "textbackslash": "\\",
            "slash": "/", "LaTeX": "LaTeX", "TeX": "TeX", "th": "þ", "TH": "Þ", "dh": "ð", "DH": "Ð"}  # fmt: skip
_ACCENT = re.compile(
    r"\\([`'^~=.\"]|[urHvdckb](?![A-Za-z]))\s*(?:\{\s*(\\[ij]|[A-Za-z])\s*\}|(\\[ij](?![A-Za-z])|[A-Za-z]))"
)
_LETTER = re.compile(r"\\([A-Za-z]{1,20})(?:\{\}|\s+(?=\S)|(?![A-Za-z]))")
_SIGN = re.compile(r"\\([&%$#_{}\s,;/-])")
_MATHS = re.compile(r"(\$[^$]{1,500}\$)")


def plain(text: str) -> str:
    """Return a LaTeX text as plain text. Formulas stay unchanged."""
    parts = _MATHS.split(text)
    parts[::2] = map(_plain, parts[::2])
    return "\n".join(" ".join(part.split()) for part in re.split(r"\n\s*\n", "".join(parts)) if part.strip())


def _plain(text: str) -> str:
    if "\\" in text:
        text = _ACCENT.sub(_accented, text)
        text = _LETTER.sub(lambda name: _LETTERS.get(name[1], "" if name[1] in _FORMS else name[0]), text)
        text = _SIGN.sub(lambda sign: "\u0001" if sign[1] == "{" else "\u0002" if sign[1] == "}" else sign[1], text)
    text = text.replace("{", "").replace("}", "").replace("~", " ").replace("---", "—").replace("--", "–")
    text = text.replace("``", "“").replace("''", "”")
    return text.replace("\u0001", "{").replace("\u0002", "}")


_FORMS = frozenset("emph textit textbf textsc textrm textsf texttt textsuperscript textsubscript mbox url href em it "
                   "bf sc rm tt enquote uppercase lowercase ensuremath mathrm noopsort newblock".split())  # fmt: skip


def _accented(match: re.Match[str]) -> str:
    letter = (match[2] or match[3]).lstrip("\\")
    return unicodedata.normalize("NFC", letter + _ACCENTS[match[1]])
