"""Check an answer: compare its claims with the cited pages, and repeat its calculations.

No model takes part. A citation must name one of the sources. The cited page must contain the claim's numbers and
quotations, and enough of its words. A claim that passes may still differ in meaning from its page.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import statistics
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from hybrid_core.text import prose
from hybrid_core.text import tokens as words
from hybrid_core.types.answers import Calculation, Claim
from hybrid_core.types.notes import NONE, Note

_NUMBER = re.compile(
    r"(?<![^\W\u3040-\uffff])(?<!\d[.,])\d+(?:,\d{3})*(?:\.\d+)?(?![^\W\u3040-\uffff])"
)  # not "3M", "Q2"
_SHIFTS = (0, 3, -3, 6, -6, 9, -9, 2, -2)  # thousands, millions, billions; percent
_TELLING_DIGITS = 3  # a number with fewer must stand there as it is


def numbers(text: str) -> dict[str, None]:
    """Return the distinct numbers in a text in plain form ("4,210.0" becomes "4210"), in order."""
    return dict.fromkeys(words.number_term(match.group()) for match in _NUMBER.finditer(text))


def stands(number: str, page_numbers: Mapping[str, None]) -> bool:
    """Return whether a page contains a number, exactly or in another form.

    The page may have more decimals, or give the number in percent, thousands, millions or billions.
    """
    if number in page_numbers:
        return True
    if len(number.replace(".", "").strip("0")) < _TELLING_DIGITS or number.count(".") > 1 or words.is_year(number):
        return False
    decimals = len(number.partition(".")[2])
    value = float(number)
    for other in page_numbers:
        if other.count(".") <= 1 and len(other) < 20:
            page_value = float(other)
            if any(round(page_value * 10.0**shift, decimals) == value for shift in _SHIFTS):
                return True
    return False


_LINE = re.compile(r"^[\W_]{0,4}(definition|calculation)[*_]{0,3}:[*_\s]*(?P<said>\S.*)$", re.IGNORECASE)
_SOURCE = re.compile(r"\s*\[\[source:(\d+)\]\]")
_SIGNS = str.maketrans({"−": "-", "–": "-", "×": "*", "·": "*", "÷": "/", "^": "**", "[": "(", "]": ")"})
_TIMES = re.compile(r"(?<=[\d)%])\s*x\s*(?=[\d($€£¥])")
_UNIT = re.compile(
    r"[$€£¥]|\b(?:usd|eur|gbp|hundred|thousand|million|billion|trillion|mn|bn|days?|years?|x)\b", re.IGNORECASE
)
_PERCENT = re.compile(r"(\d(?:[\d,]*\d)?(?:\.\d+)?)\s*%")
_RESULT = re.compile(r"([-−–(]?)\s*(\d[\d,]*(?:\.\d+)?)")
_OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.Pow: math.pow,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[[list[float]], float]] = {
    "sum": math.fsum, "average": statistics.fmean, "avg": statistics.fmean, "mean": statistics.fmean,
    "median": statistics.median, "min": min, "max": max,
}  # fmt: skip
_LONGEST = 400  # characters
_PLAIN = 1000  # whole numbers up to it that divide, count or raise ("/ 2", "365") need not stand anywhere
_SCALES = (0, 3, -3, 6, -6, 9, -9)  # a result in thousands, millions or billions


def is_working(line: str) -> bool:
    """Return whether a line of an answer begins with "Definition:" or "Calculation:".

    Such a line explains the answer and is not a claim.
    """
    return _LINE.match(line) is not None


def definition(answer: str) -> str:
    """Return what an answer states in its lines "Definition: …", "" if it has none."""
    return "; ".join(_SOURCE.sub("", text).strip(" .") for text in _workings(answer, "definition"))


def calculations(
    answer: str, pages: Mapping[int, str], question: str, pictured: Collection[int]
) -> tuple[Calculation, ...]:
    """Check the calculations in an answer, and return each with its result.

    The citations in the answer must have the form ``[[source:N]]``. Each calculation is repeated, and its figures are
    searched in the question and on the cited ``pages``. Figures that are not found may be in the images of ``pictured``
    sources, which are not compared.
    """
    checked = []
    for working in _workings(answer, "calculation"):
        cited = tuple(dict.fromkeys(int(number) for number in _SOURCE.findall(working)))
        written = " ".join(_SOURCE.sub("", working).rstrip(" .").split())
        left, _, result = re.sub("[≈≅]", "=", written).rpartition("=")
        source_numbers = {**numbers(question), **numbers("\n".join(pages[number] for number in cited))}
        why = _wrong(left.rpartition("=")[2], result) or _unknown_figures(
            left.rpartition("=")[2], source_numbers, cited, pictured
        )
        checked.append(Calculation(written, result.strip(), cited, not why, why))
    return tuple(checked)


def _workings(answer: str, what: str) -> list[str]:
    matches = (_LINE.match(line) for line in answer.split("\n"))
    return [match["said"].strip(" *_") for match in matches if match and match[1].lower() == what]


def _wrong(left: str, result: str) -> Note:
    """Return a note if the ``result`` of a calculation is wrong, ``NONE`` if it is correct."""
    value = _evaluate(left)
    stated = _RESULT.search(result)
    if value is None or stated is None:
        return Note("claim.no-calculation")
    digits = stated[2].replace(",", "")
    stated_value = -float(digits) if stated[1] else float(digits)
    unit = 10.0 ** -len(digits.partition(".")[2])
    percent = "%" in result or "percent" in result.lower()
    scales = (2,) if percent else (0,) if not _UNIT.search(result) else _SCALES
    if any(math.isclose(value * 10.0**scale, stated_value, rel_tol=1e-9, abs_tol=unit) for scale in scales):
        return NONE
    comes_to = f"{value * 100:.6g}%" if percent else f"{value:.6g}"
    return Note("claim.comes-to", result=comes_to)


def _evaluate(expression: str) -> float | None:
    """Return the value of an arithmetic expression, None if it is invalid or divides by zero."""
    text = _UNIT.sub("", _TIMES.sub("*", expression[:_LONGEST])).translate(_SIGNS)
    text = re.sub(r"(?<=\d),(?=\d{3})", "", _PERCENT.sub(r"(\1/100)", text)).strip()
    try:
        value = _evaluated(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, RecursionError):
        return None
    return value if math.isfinite(value) else None


def _evaluated(node: ast.expr) -> float:
    """Return the value of the syntax tree of an arithmetic expression.

    Raise ValueError for anything but numbers, the four operations, powers and the functions in ``_FUNCTIONS``.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _evaluated(node.operand)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args and not node.keywords:
        work = _FUNCTIONS.get(node.func.id.lower())
        if work is not None:
            return work([_evaluated(values) for values in node.args])
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_evaluated(node.left), _evaluated(node.right))
    raise ValueError


def _unknown_figures(
    left: str, source_numbers: Mapping[str, None], cited: Collection[int], pictured: Collection[int]
) -> Note:
    """Return a note on the numbers of a calculation that its sources lack, ``NONE`` for no such number."""
    if not cited:
        return Note("claim.no-source")
    lost = [number for number in numbers(left) if not stands(number, source_numbers) and not _is_small_number(number)]
    if not lost:
        return NONE
    why = Note("claim.not-on-page", numbers=lost, count=len(lost))
    seen = any(number in pictured for number in cited)
    return Note("claim.pictured", reason=why) if seen else why


def _is_small_number(number: str) -> bool:
    return number.isdecimal() and int(number) <= _PLAIN


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
    """A checked answer: text with standard citations, claims, removed citations, definition and calculations."""

    text: str
    claims: tuple[Claim, ...]
    dropped: tuple[str, ...]
    definition: str
    calculations: tuple[Calculation, ...]


def check(answer: str, pages: Mapping[int, str], question: str, pictured: Collection[int] = ()) -> Checked:
    """Split an answer into claims and check each of them.

    ``pages`` maps source numbers to the texts that the model was given. Numbers in the question and results of correct
    calculations need not be on a page. Claims that fail are marked if they cite ``pictured`` sources, because images
    are not compared. Images in the answer are removed, and web addresses must be on a cited page.
    """
    dropped: list[str] = []

    def tidy(match: re.Match[str]) -> str:
        references = [part for part in re.split(r"[,;\s]+", match[2] or match[3] or "") if part]
        numbers = [part.lower().removeprefix("source:") for part in references]
        good = [int(n) for n in numbers if n.isdecimal() and int(n) in pages]
        dropped.extend(n for n in numbers if not (n.isdecimal() and int(n) in pages))
        return match[1] + "".join(f"[[source:{n}]]" for n in dict.fromkeys(good)) if good else ""

    tidied = _PICTURE.sub(r"\1", _TO_TIDY.sub(tidy, answer)).strip()
    worked = calculations(tidied, pages, question, pictured)
    allowed = {
        *numbers(question),
        *(number for calculation in worked if calculation.right for number in numbers(calculation.result)),
    }
    claim_text = "\n".join(line for line in tidied.split("\n") if not is_working(line))
    claims = tuple(
        _claim(part, pages, allowed, pictured) for part in split(claim_text) if re.search(r"\w", _CITED.sub("", part))
    )
    return Checked(tidied, claims, tuple(dict.fromkeys(dropped)), definition(tidied), worked)


def split(answer: str) -> list[str]:
    """Return the sentences of an answer, each with the citations that follow it.

    Lines that only introduce a list ("… are:") are left out.
    """
    parts = []
    for line in _WRAPPED.sub(" ", answer).split("\n"):
        line = _LIST_MARK.sub("", line).strip()
        begin, at = 0, 0
        while (end := prose.END.search(line, at)) is not None:
            at = end.end()
            if prose.abbreviated(line[begin:at]) and not line[at:].lstrip().startswith("[["):
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
    text = re.sub(r"\s+(?=[.,;:!?]|$)", "", _CITED.sub("", sentence))
    if not cited:
        return Claim(text, (), supported=False, why=Note("claim.no-source"))
    why = _missing_numbers(text, "\n".join(pages[number] for number in cited), allowed)
    seen = bool(why) and any(number in pictured for number in cited)
    if seen:
        why = Note("claim.pictured", reason=why)
    return Claim(text, cited, supported=not why, why=why, pictured=seen)


def _missing_numbers(claim: str, page: str, allowed: set[str]) -> Note:
    page_numbers = numbers(page)
    if lost := [n for n in numbers(claim) if n not in allowed and not stands(n, page_numbers)]:
        return Note("claim.not-on-page", numbers=lost, count=len(lost))
    for address in _ADDRESS.findall(claim):
        if address.rstrip(".,;:!?") not in page:
            return Note("claim.address-not-on-page", address=address)
    plain = _plain_text(page)
    for quoted in _QUOTED.findall(claim):
        if _plain_text(quoted) not in plain:
            return Note("claim.quote-not-on-page", quote=quoted)
    terms = {term for term in words.tokenise(claim) if not term[0].isdigit()}
    if len(terms) >= _LEAST_WORDS and not _other_script(claim, page):
        share = len(terms & set(words.tokenise(page))) / len(terms)
        if share < _LEAST_SHARE:
            return Note("claim.few-words")
    return NONE


def _plain_text(text: str) -> str:
    """Return the letters and digits of a text, with case and accents folded.

    Quotations are compared in this form, so they may differ in spaces, line breaks and punctuation.
    """
    return re.sub(r"[\W_]+", "", words.fold(text))


def _other_script(claim: str, page: str) -> bool:
    """Return whether a claim and a page are written in different scripts, so that they cannot share words."""
    return (_latin(claim) < 0.5) != (_latin(page) < 0.5)


def _latin(text: str) -> float:
    letters = [c for c in text if c.isalpha()]
    return sum(c < "\u0250" for c in letters) / len(letters) if letters else 1.0
