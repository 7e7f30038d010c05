"""Numbers of lists and notes in the numbering formats of Office files."""

from __future__ import annotations

from hybrid_core.text.identifiers import small_roman

_HAN = "〇一二三四五六七八九"
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}
_WIDE = str.maketrans("0123456789", "０１２３４５６７８９")
_RUSSIAN = "абвгдежзиклмнопрстуфхцчшщэюя"
_CIRCLED = "".join(map(chr, (*range(0x2460, 0x2474), *range(0x3251, 0x3260))))
_SIGNS = {"decimalEnclosedCircle": _CIRCLED, "decimalEnclosedCircleChinese": _CIRCLED,
          "ideographEnclosedCircle": "㊀㊁㊂㊃㊄㊅㊆㊇㊈㊉",
          "decimalEnclosedParen": "⑴⑵⑶⑷⑸⑹⑺⑻⑼⑽⑾⑿⒀⒁⒂⒃⒄⒅⒆⒇", "ideographTraditional": "甲乙丙丁戊己庚辛壬癸",
          "ideographZodiac": "子丑寅卯辰巳午未申酉戌亥", "ganada": "가나다라마바사아자차카타파하",
          "aiueoFullWidth": "アイウエオカキクケコサシスセソタチツテト"
                            "ナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン"}  # fmt: skip
_BULLETS = frozenset(("bullet", "none"))


def written(number: int, kind: str) -> str:
    """Return a number in the Word numbering format ``kind``."""
    if kind in ("lowerLetter", "upperLetter"):
        letter = chr(ord("a") + (number - 1) % 26) * min(((number - 1) // 26 + 1), 30) if number > 0 else ""
        return letter.upper() if kind == "upperLetter" else letter
    if kind in ("lowerRoman", "upperRoman"):
        text = small_roman(number) if 0 < number < 4000 else str(number)
        return text.upper() if kind == "upperRoman" else text
    if kind == "decimalZero":
        return f"{number:02}"
    if kind == "ordinal":
        return f"{number}{'th' if number % 100 in (11, 12, 13) else _ENDINGS.get(number % 10, 'th')}"
    if kind == "decimalFullWidth":
        return str(number).translate(_WIDE)
    if kind == "chicago" and number > 0:
        return "*†‡§"[(number - 1) % 4] * min((number - 1) // 4 + 1, 30)
    if (signs := _SIGNS.get(kind)) is not None and 0 < number <= len(signs):
        return signs[number - 1]
    if kind.startswith("russian") and number > 0:
        letter = _RUSSIAN[(number - 1) % len(_RUSSIAN)] * min((number - 1) // len(_RUSSIAN) + 1, 30)
        return letter.upper() if kind == "russianUpper" else letter
    if kind.startswith(("chinese", "ideograph", "japanese", "taiwanese")) and 0 < number < 10_000:
        return _han(number)
    return "" if kind in _BULLETS else str(number)


def _han(number: int) -> str:
    """Return a number below 10,000 in Chinese numerals."""
    text = ""
    for value, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, number = divmod(number, value)
        if digit:
            text += f"{_HAN[digit]}{name}"
        elif text and number and not text.endswith("零"):
            text += "零"
    return text.removeprefix("一") if text.startswith("一十") else text
