"""Numbers of lists and notes in the numbering formats of Office files.

Numbers in words are written in English only. In documents of other languages they are digits.
"""

from __future__ import annotations

from hybrid_core.text.identifiers import small_roman

_HAN = "〇一二三四五六七八九"
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}
_WIDE = "０１２３４５６７８９"
_RUSSIAN = "абвгдежзиклмнопрстуфхцчшщэюя"
_CIRCLED = "".join(map(chr, (*range(0x2460, 0x2474), *range(0x3251, 0x3260))))
_KANA = "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン"
_IROHA = "イロハニホヘトチリヌルヲワカヨタレソツネナラムウヰノオクヤマケフコエテアサキユメミシヱヒモセスン"
_SIGNS = {"decimalEnclosedCircle": _CIRCLED, "decimalEnclosedCircleChinese": _CIRCLED,
          "ideographEnclosedCircle": "㊀㊁㊂㊃㊄㊅㊆㊇㊈㊉",
          "decimalEnclosedParen": "⑴⑵⑶⑷⑸⑹⑺⑻⑼⑽⑾⑿⒀⒁⒂⒃⒄⒅⒆⒇",
          "decimalEnclosedFullstop": "".join(map(chr, range(0x2488, 0x249C))),
          "ideographTraditional": "甲乙丙丁戊己庚辛壬癸", "ideographZodiac": "子丑寅卯辰巳午未申酉戌亥",
          "ganada": "가나다라마바사아자차카타파하", "chosung": "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ",
          "aiueo": _KANA, "aiueoFullWidth": _KANA, "iroha": _IROHA, "irohaFullWidth": _IROHA,
          "koreanLegal": ("하나", "둘", "셋", "넷", "다섯", "여섯", "일곱", "여덟", "아홉", "열"),
          "arabicAlpha": "أبتثجحخدذرزسشصضطظعغفقكلمنهوي", "arabicAbjad": "أبجدهوزحطيكلمنسعفصقرشتثخذضغظ",
          "thaiLetters": "กขคงจฉชซฌญฎฏฐฑฒณดตถทธนบปผฝพฟภมยรลวศษสหฬอฮ"}  # fmt: skip
_ALPHABETS = {"lowerLetter": "abcdefghijklmnopqrstuvwxyz", "russianLower": _RUSSIAN,
              "hebrew2": "אבגדהוזחטיכלמנסעפצקרשת", "greekLower": "αβγδεζηθικλμνξοπρστυφχψω"}  # fmt: skip
_UPPER = {"upperLetter": "lowerLetter", "russianUpper": "russianLower", "greekUpper": "greekLower",
          "upperRoman": "lowerRoman"}  # fmt: skip
_DIGITS = {"decimalFullWidth": _WIDE, "decimalFullWidth2": _WIDE, "thaiNumbers": "๐๑๒๓๔๕๖๗๘๙",
           "hindiNumbers": "०१२३४५६७८९", "arabicNumbers": "٠١٢٣٤٥٦٧٨٩", "koreanDigital": "영일이삼사오육칠팔구",
           "koreanDigital2": "零一二三四五六七八九"}  # fmt: skip
_COUNTED = {  # digits, and the units of a thousand, a hundred and ten
    "koreanCounting": ("영일이삼사오육칠팔구", "천백십"),
    "chineseLegalSimplified": ("零壹贰叁肆伍陆柒捌玖", "仟佰拾"),
    "ideographLegalTraditional": ("零壹貳參肆伍陸柒捌玖", "仟佰拾"),
    "japaneseLegal": ("零壱弐参四伍六七八九", "阡百拾"),
}
_HEBREW = ((400, "ת"), (300, "ש"), (200, "ר"), (100, "ק"), (90, "צ"), (80, "פ"), (70, "ע"), (60, "ס"), (50, "נ"),
           (40, "מ"), (30, "ל"), (20, "כ"), (16, "טז"), (15, "טו"), (10, "י"),
           *((value, chr(0x05CF + value)) for value in range(9, 0, -1)))  # fmt: skip
_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
             "twelve": "twelfth"}  # fmt: skip
_BULLETS = frozenset(("bullet", "none"))
_MOST = 30  # letters of a number that repeats a letter


def written(number: int, kind: str, language: str = "en") -> str:
    """Return a number in the Word numbering format ``kind``.

    ``kind`` can also be an example of digits: "001" pads numbers with zeros to three digits. Numbers in words and with
    endings ("2nd") are in English; in other languages they are digits.
    """
    if kind in _UPPER:
        return written(number, _UPPER[kind]).upper()
    if (letters := _ALPHABETS.get(kind)) is not None:
        return letters[(number - 1) % len(letters)] * min((number - 1) // len(letters) + 1, _MOST) if number > 0 else ""
    if kind == "lowerRoman":
        return small_roman(number) if 0 < number < 4000 else str(number)
    if kind == "decimalZero" or (kind.isascii() and kind.isdecimal()):
        return str(number).zfill(2 if kind == "decimalZero" else len(kind))
    if kind == "hex":
        return f"{number:X}"
    if kind == "numberInDash":
        return f"- {number} -"
    if (digits := _DIGITS.get(kind)) is not None:
        return str(number).translate(str.maketrans("0123456789", digits))
    if kind == "chicago" and number > 0:
        return "*†‡§"[(number - 1) % 4] * min((number - 1) // 4 + 1, _MOST)
    if (signs := _SIGNS.get(kind)) is not None and 0 < number <= len(signs):
        return signs[number - 1]
    if kind == "hebrew1" and 0 < number < 1000:
        return _hebrew(number)
    if kind in _COUNTED and 0 < number < 10_000:
        return _counted(number, *_COUNTED[kind])
    if kind.startswith(("chinese", "ideograph", "japanese", "taiwanese")) and 0 < number < 10_000:
        return _counted(number, _HAN, "千百十")
    if kind in ("ordinal", "ordinalText", "cardinalText") and language.lower().startswith("en"):
        return _english(number, kind)
    return "" if kind in _BULLETS else str(number)


def _counted(number: int, digits: str, units: str) -> str:
    """Return a number below 10,000 as digits with their units, as in Chinese: 二百零三."""
    text = ""
    for value, unit in zip((1000, 100, 10, 1), (*units, ""), strict=True):
        digit, number = divmod(number, value)
        if digit:
            text += f"{digits[digit]}{unit}"
        elif text and number and digits[0] != "영" and not text.endswith("零"):
            text += "零"
    ten = f"{digits[1]}{units[2]}"
    return text.removeprefix(digits[1]) if text.startswith(ten) and digits[1] in "一일" else text


def _hebrew(number: int) -> str:
    text = ""
    for value, letter in _HEBREW:
        while number >= value and (value not in (15, 16) or number == value):
            text, number = text + letter, number - value
    return text


def _english(number: int, kind: str) -> str:
    """Return "2nd", "Second" or "Two"."""
    if kind == "ordinal":
        return f"{number}{'th' if number % 100 in (11, 12, 13) else _ENDINGS.get(number % 10, 'th')}"
    if not 0 <= number < 1_000_000:
        return str(number)
    before, dash, last = _cardinal(number).replace(" ", "- ").rpartition("-")
    if kind == "ordinalText":
        stem = last.strip()
        ordinal = _ORDINALS.get(stem) or (f"{stem[:-1]}ieth" if stem.endswith("y") else f"{stem}th")
        last = last.replace(stem, ordinal)
    return f"{before}{dash}{last}".replace("- ", " ").capitalize()


def _cardinal(number: int) -> str:
    if number < 20:
        return _ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens - 2] + (f"-{_ONES[ones]}" if ones else "")
    value, name = (100, "hundred") if number < 1000 else (1000, "thousand")
    count, rest = divmod(number, value)
    return f"{_cardinal(count)} {name}" + (f" {_cardinal(rest)}" if rest else "")
