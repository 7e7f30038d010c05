"""How an answer was worked out, in lines of their own as the prompt asks for them: the definition that it goes by, and
calculations, which are done again.

    Definition: the quick ratio is current assets less inventories, by current liabilities.
    Calculation: (418.2 - 390.1) / 390.1 = 7.2% [[source:1]]
"""

from __future__ import annotations

import ast
import math
import operator
import re
import statistics
from collections.abc import Callable, Collection, Mapping

from hybrid_core.types.answers import Calculation
from retrievers.answer.numbers import numbers, stands

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
_PLAIN = 1000  # whole numbers up to it that divide, count or raise («/ 2», «365») need not stand anywhere
_SCALES = (0, 3, -3, 6, -6, 9, -9)  # a result in thousands, millions or billions


def is_working(line: str) -> bool:
    """Whether a line says how an answer was worked out, rather than the answer."""
    return _LINE.match(line) is not None


def definition(answer: str) -> str:
    """The definition that an answer says it goes by, "" where it says none."""
    return "; ".join(_SOURCE.sub("", said).strip(" .") for said in _said(answer, "definition"))


def calculations(
    answer: str, pages: Mapping[int, str], question: str, pictured: Collection[int]
) -> tuple[Calculation, ...]:
    """Those of an answer whose citations are in one form, done again, with their figures looked for on the ``pages``
    that they cite and in the question. Figures may stand in the pictures of sources that were ``pictured``.
    """
    made = []
    for said in _said(answer, "calculation"):
        cited = tuple(dict.fromkeys(int(number) for number in _SOURCE.findall(said)))
        written = " ".join(_SOURCE.sub("", said).rstrip(" .").split())
        left, _, result = re.sub("[≈≅]", "=", written).rpartition("=")
        given = {**numbers(question), **numbers("\n".join(pages[number] for number in cited))}
        why = _wrong(left.rpartition("=")[2], result) or _missing(left.rpartition("=")[2], given, cited, pictured)
        made.append(Calculation(written, result.strip(), cited, not why, why))
    return tuple(made)


def _said(answer: str, what: str) -> list[str]:
    found = (_LINE.match(line) for line in answer.split("\n"))
    return [match["said"].strip(" *_") for match in found if match and match[1].lower() == what]


def _wrong(left: str, result: str) -> str:
    """Why a calculation does not come out, "" where it does."""
    value = _value(left)
    stated = _RESULT.search(result)
    if value is None or stated is None:
        return "it is not written in numbers and signs alone, so it was not done again"
    digits = stated[2].replace(",", "")
    said = -float(digits) if stated[1] else float(digits)
    unit = 10.0 ** -len(digits.partition(".")[2])
    percent = "%" in result or "percent" in result.lower()
    scales = (2,) if percent else (0,) if not _UNIT.search(result) else _SCALES
    if any(math.isclose(value * 10.0**scale, said, rel_tol=1e-9, abs_tol=unit) for scale in scales):
        return ""
    return f"it comes to {value * 100:.6g}%" if percent else f"it comes to {value:.6g}"


def _value(expression: str) -> float | None:
    """What an expression comes to; None where it is none, or divides by zero."""
    text = _UNIT.sub("", _TIMES.sub("*", expression[:_LONGEST])).translate(_SIGNS)
    text = re.sub(r"(?<=\d),(?=\d{3})", "", _PERCENT.sub(r"(\1/100)", text)).strip()
    try:
        value = _evaluated(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, RecursionError):
        return None
    return value if math.isfinite(value) else None


def _evaluated(node: ast.expr) -> float:
    """Raises ValueError for anything but numbers, signs and the functions above."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _evaluated(node.operand)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args and not node.keywords:
        work = _FUNCTIONS.get(node.func.id.lower())
        if work is not None:
            return work([_evaluated(one) for one in node.args])
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_evaluated(node.left), _evaluated(node.right))
    raise ValueError


def _missing(left: str, given: Mapping[str, None], cited: Collection[int], pictured: Collection[int]) -> str:
    """Why its figures are not known to be the sources'."""
    if not cited:
        return "it cites no source"
    lost = [number for number in numbers(left) if not stands(number, given) and not _plain(number)]
    if not lost:
        return ""
    why = f"{', '.join(lost)} {'is' if len(lost) == 1 else 'are'} not on the cited page"
    seen = any(number in pictured for number in cited)
    return f"{why}; its picture, which was sent and counts, is not compared" if seen else why


def _plain(number: str) -> bool:
    return number.isdecimal() and int(number) <= _PLAIN
