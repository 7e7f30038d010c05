"""An answer taken apart into claims, and each claim compared with the pages it cites.

What is compared can be checked without judgement: was the source given; do the numbers, the quotations and enough of
the words stand on a cited page. A claim that passes may still say something else than the page does.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from hybrid_core.text import sentences
from hybrid_core.text import tokens as words
from hybrid_core.types.answers import Calculation, Claim
from retrievers.answer.numbers import numbers, stands
from retrievers.answer.workings import calculations, definition, is_working

_CITED = re.compile(r"\[\[\s*sources?\s*:\s*([^\]]*)\]\]|\[\s*sources?\s*:\s*(\d[\d,;\s]*)\](?!\])", re.IGNORECASE)
_TO_TIDY = re.compile(rf"(\s*)(?:{_CITED.pattern})", re.IGNORECASE)
_CITATIONS = re.compile(rf"(?:\s*(?:{_CITED.pattern}))+[.!?。！？]?", re.IGNORECASE)
_LIST_MARK = re.compile(r"^\s*(?:[-*•–]|\d{1,2}[.)])\s+|^\s*#+\s+")
_WRAPPED = re.compile(r"(?<=[^\s.!?:。！？：\]])\n(?=[a-z])")
_QUOTED = re.compile(r"[“\"«「『]([^“”\"«»「」『』]{8,}|[^\x00-\x7f]{4,}?)[”\"»」』]")
_PICTURE = re.compile(r"!\[([^\]\n]*)\]\([^)\n]*\)")  # of an answer, which would be fetched where it is shown
_ADDRESS = re.compile(r"(?:https?|ftp|file)://[^\s<>\"'\])}]+|\bwww\.[^\s<>\"'\])}]+|\bjavascript:\S+", re.IGNORECASE)
_LEAST_WORDS, _LEAST_SHARE = 4, 0.3


class Checked(NamedTuple):
    """An answer with its citations in one form, its claims, the citations that were taken out, and what it says of how
    it was worked out.
    """

    text: str
    claims: tuple[Claim, ...]
    dropped: tuple[str, ...]
    definition: str
    calculations: tuple[Calculation, ...]


def check(answer: str, pages: Mapping[int, str], question: str, pictured: Collection[int] = ()) -> Checked:
    """Take an answer apart. ``pages`` are the texts that were given, by the sources' numbers.

    Numbers that the question holds need not stand there, nor the results of calculations that come out. What a claim
    has from a source that was ``pictured`` too cannot be compared, which it says. Pictures of an answer are left out,
    and an address must stand on a cited page.
    """
    dropped: list[str] = []

    def tidy(match: re.Match[str]) -> str:
        said = [part for part in re.split(r"[,;\s]+", match[2] or match[3] or "") if part]
        numbers = [part.lower().removeprefix("source:") for part in said]
        good = [int(n) for n in numbers if n.isdecimal() and int(n) in pages]
        dropped.extend(n for n in numbers if not (n.isdecimal() and int(n) in pages))
        return match[1] + "".join(f"[[source:{n}]]" for n in dict.fromkeys(good)) if good else ""

    tidied = _PICTURE.sub(r"\1", _TO_TIDY.sub(tidy, answer)).strip()
    worked = calculations(tidied, pages, question, pictured)
    allowed = {*numbers(question), *(number for one in worked if one.right for number in numbers(one.result))}
    said = "\n".join(line for line in tidied.split("\n") if not is_working(line))
    claims = tuple(
        _claim(part, pages, allowed, pictured) for part in split(said) if re.search(r"\w", _CITED.sub("", part))
    )
    return Checked(tidied, claims, tuple(dict.fromkeys(dropped)), definition(tidied), worked)


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
    seen = bool(why) and any(number in pictured for number in cited)
    if seen:
        why = f"{why}; its picture, which was sent and counts, is not compared"
    return Claim(said, cited, supported=not why, why=why, pictured=seen)


def _missing(said: str, page: str, allowed: set[str]) -> str:
    there = numbers(page)
    if lost := [n for n in numbers(said) if n not in allowed and not stands(n, there)]:
        return f"{', '.join(lost)} {'is' if len(lost) == 1 else 'are'} not on the cited page"
    for address in _ADDRESS.findall(said):
        if address.rstrip(".,;:!?") not in page:
            return f"the address {address} is not on the cited page"
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


def _plain(text: str) -> str:
    """Letters and digits alone, folded: quotations may differ in spaces, line ends and signs."""
    return re.sub(r"[\W_]+", "", words.fold(text))


def _other_script(said: str, page: str) -> bool:
    """Whether a claim and a page are written in different scripts, so that they cannot share words."""
    return (_latin(said) < 0.5) != (_latin(page) < 0.5)


def _latin(text: str) -> float:
    letters = [c for c in text if c.isalpha()]
    return sum(c < "\u0250" for c in letters) / len(letters) if letters else 1.0
