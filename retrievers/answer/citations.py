"""An answer taken apart into claims, and each claim compared with the pages it cites.

What is compared can be checked without judgement: was the source given; do the numbers, the quotations and enough of
the words stand on a cited page. A claim that passes may still say something else than the page does.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from hybrid_core.text import sentences
from hybrid_core.text import tokens as words
from hybrid_core.types.answers import Claim

_CITED = re.compile(r"\[\[\s*sources?\s*:\s*([^\]]*)\]\]|\[\s*sources?\s*:\s*(\d[\d,;\s]*)\](?!\])", re.IGNORECASE)
_TO_TIDY = re.compile(rf"(\s*)(?:{_CITED.pattern})", re.IGNORECASE)
_CITATIONS = re.compile(rf"(?:\s*(?:{_CITED.pattern}))+[.!?。！？]?", re.IGNORECASE)
_LIST_MARK = re.compile(r"^\s*(?:[-*•–]|\d{1,2}[.)])\s+|^\s*#+\s+")
_NUMBER = re.compile(
    r"(?<![^\W\u3040-\uffff])(?<!\d[.,])\d+(?:,\d{3})*(?:\.\d+)?(?![^\W\u3040-\uffff])"
)  # not «3M», «Q2»
_WRAPPED = re.compile(r"(?<=[^\s.!?:。！？：\]])\n(?=[a-z])")
_QUOTED = re.compile(r"[“\"«「『]([^“”\"«»「」『』]{8,}|[^\x00-\x7f]{4,}?)[”\"»」』]")
_SHIFTS = (0, 3, -3, 6, -6, 9, -9, 2, -2)  # thousands, millions, billions; percent
_TELLING_DIGITS = 3  # a number with fewer must stand there as it is
_LEAST_WORDS, _LEAST_SHARE = 4, 0.3


def check(
    answer: str, pages: Mapping[int, str], question: str, pictured: Collection[int] = ()
) -> tuple[str, tuple[Claim, ...], tuple[str, ...]]:
    """The answer with its citations in one form, its claims, and the citations that were taken out.

    ``pages`` are the texts that were given, by the sources' numbers. Numbers that the question holds need not stand
    there. What a claim has from a source that was ``pictured`` too cannot be compared, which it says.
    """
    dropped: list[str] = []

    def tidy(match: re.Match[str]) -> str:
        said = [part for part in re.split(r"[,;\s]+", match[2] or match[3] or "") if part]
        numbers = [part.lower().removeprefix("source:") for part in said]
        good = [int(n) for n in numbers if n.isdecimal() and int(n) in pages]
        dropped.extend(n for n in numbers if not (n.isdecimal() and int(n) in pages))
        return match[1] + "".join(f"[[source:{n}]]" for n in dict.fromkeys(good)) if good else ""

    tidied = _TO_TIDY.sub(tidy, answer).strip()
    allowed = set(_numbers(question))
    claims = tuple(
        _claim(part, pages, allowed, pictured) for part in split(tidied) if re.search(r"\w", _CITED.sub("", part))
    )
    return tidied, claims, tuple(dict.fromkeys(dropped))


def split(answer: str) -> list[str]:
    """Sentences with the citations that follow them; lines that only announce what comes («… are:») are no claims."""
    parts = []
    for line in _WRAPPED.sub(" ", answer).split("\n"):
        line = _LIST_MARK.sub("", line).strip()
        begin, at = 0, 0
        while (end := sentences.END.search(line, at)) is not None:
            at = end.end()
            if sentences.abbreviated(line[begin:at]) and not line[at:].lstrip().startswith("[["):
                continue
            cited = _CITATIONS.match(line, at)
            at = cited.end() if cited else at
            parts.append(line[begin:at].strip())
            begin = at
        if (rest := line[begin:].strip()) and not rest.endswith((":", "：")):
            parts.append(rest)
    return [part for part in parts if part]


def _claim(sentence: str, pages: Mapping[int, str], allowed: set[str], pictured: Collection[int]) -> Claim:
    cited = tuple(dict.fromkeys(int(match[1]) for match in re.finditer(r"\[\[source:(\d+)\]\]", sentence)))
    said = re.sub(r"\s+(?=[.,;:!?]|$)", "", _CITED.sub("", sentence))
    if not cited:
        return Claim(said, (), supported=False, why="it cites no source")
    why = _missing(said, "\n".join(pages[number] for number in cited), allowed)
    if why and any(number in pictured for number in cited):
        why = f"{why}; its picture, which was sent, is not compared"
    return Claim(said, cited, supported=not why, why=why)


def _missing(said: str, page: str, allowed: set[str]) -> str:
    there = _numbers(page)
    if lost := [n for n in _numbers(said) if n not in allowed and not _stands(n, there)]:
        return f"{', '.join(lost)} {'is' if len(lost) == 1 else 'are'} not on the cited page"
    plain = _plain(page)
    for quoted in _QUOTED.findall(said):
        if _plain(quoted) not in plain:
            return f"«{quoted}» is not on the cited page"
    terms = {term for term in words.tokenise(said) if not term[0].isdigit()}
    if len(terms) >= _LEAST_WORDS and not _other_script(said, page):
        held = len(terms & set(words.tokenise(page))) / len(terms)
        if held < _LEAST_SHARE:
            return "few of its words are on the cited page"
    return ""


def _numbers(text: str) -> dict[str, None]:
    """The numbers in a text in plain form («4,210.0» -> «4210»), in order."""
    return dict.fromkeys(words.number_term(match.group()) for match in _NUMBER.finditer(text))


def _stands(number: str, there: Mapping[str, None]) -> bool:
    """Whether a number stands on a page as it is, or rounded and in thousands, millions, billions or percent."""
    if number in there:
        return True
    if len(number.replace(".", "").strip("0")) < _TELLING_DIGITS or number.count(".") > 1 or words.is_year(number):
        return False
    decimals = len(number.partition(".")[2])
    value = float(number)
    for other in there:
        if other.count(".") <= 1 and len(other) < 20:
            held = float(other)
            if any(round(held * 10.0**shift, decimals) == value for shift in _SHIFTS):
                return True
    return False


def _plain(text: str) -> str:
    """Letters and digits alone, folded: quotations may differ in spaces, line ends and signs."""
    return re.sub(r"[\W_]+", "", words.fold(text))


def _other_script(said: str, page: str) -> bool:
    """Whether a claim and a page are written in different scripts, so that they cannot share words."""
    return (_latin(said) < 0.5) != (_latin(page) < 0.5)


def _latin(text: str) -> float:
    letters = [c for c in text if c.isalpha()]
    return sum(c < "\u0250" for c in letters) / len(letters) if letters else 1.0
