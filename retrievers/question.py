"""What a question asks: its content terms, the time and document types it names, and whether it wants a number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from hybrid_core.document_types import TypeFinder, finder
from hybrid_core.periods import find_periods
from hybrid_core.text import STOP_WORDS, fold, stem, tokenise
from hybrid_core.types import Period


@dataclass(frozen=True, slots=True)
class Question:
    """``terms`` keep order and duplicates; instruction wording («round to two decimals») is not among them."""

    text: str
    terms: tuple[str, ...] = ()
    years: tuple[int, ...] = ()  # the year the question is about first, then those it compares with
    quarters: tuple[Period, ...] = ()  # year 0 where only the quarter is said
    dates: tuple[str, ...] = ()  # ISO
    types: tuple[str, ...] = ()  # canonical document types asked for
    numeric: bool = False  # asks for a quantity
    latest: bool = False  # asks for the newest document («most recent», «latest»)
    period_terms: frozenset[str] = frozenset()  # terms that name its periods
    type_terms: Mapping[str, frozenset[str]] = field(default_factory=dict)  # those that name each of its types

    @property
    def timed(self) -> bool:
        """Whether the question names a year, quarter or date."""
        return bool(self.years or self.quarters or self.dates)


# Whole phrases that speak to the answerer. All repeats are bounded, so that time stays linear.
_PHRASES = re.compile(
    "|".join(
        (
            r"\b(?:assume|imagine|pretend|suppose|act\s+as\s+if|as\s+if|assuming)\s+(?:that\s+)?you(?:'re|’re|\s+are|\s+were)\b[^.?!:;\n]{0,250}",
            r"(?:^|(?<=[.?!:;\n])\s{0,3})you\s+(?:are|were|have)\b[^.?!:;\n]{0,250}",
            r"\bassum(?:e|ing)\s+the\s+(?:perspective|role|position)\s+of\s+an?\s+(?:\w+\s+){1,4}?who\b",
            r"\b(?:answer|respond)?\s*\(?in\s+(?:units\s+of\s+)?(?:(?:usd|us\$|us\s+dollars?|dollars?|eur|euros?|gbp|rmb|cny|\$)\s*)?"
            r"(?:thousands?|millions?|billions?|percents?|percentages?(?:\s+points?)?|basis\s+points)\b\)?",
            r"\b(?:(?:and\s+)?round(?:ed)?\s+(?:your\s+|the\s+)?(?:final\s+)?(?:answer\s+)?)?(?:to|with)\s+(?:the\s+nearest\s+(?:\w+)|(?:\w+)\s+(?:decimals?(?:\s+places?|\s+points?)?|significant\s+(?:figures?|digits?)))",
            r"\bif\s+(?:[\w&,'’-]+\s+){1,8}(?:is|are)\s+not\s+(?:an?\s+)?(?:\w+\s+){0,3}(?:metrics?|measures?|figures?|something)\b[^.?!\n]{0,200}",
            r"\bhere(?:'s|’s|\s+is|\s+are)\s+the\s+questions?\b|\bwe\s+(?:need|want|would\s+like)\s+to\s+(?:calculate|compute|know|find)\s+an?\s+(?:[\w()]+\s+){0,12}?(?:metric|ratio|number|figure)\b(?=\s*[.:]|\s+by)",
            r"\bin\s+(?:agreement|accordance|line)\s+with\s+the\s+(?:information|details|data)\b",
            r"请(?:问|您)?(?:根据|回答|简要|详细|说明|解释|列出|给出|告诉我)*|(?:保留|精确到|四舍五入)[^，。？！,.?!]{0,12}|以[^，。？！,.?!]{1,8}为单位",
        )
    ),
    re.IGNORECASE,
)
_TRIGGERS = frozenset(
    (
        "answer answers answering respond responding response reply question questions round rounded rounding assume "
        "assuming base basing based judgment judgments judgement judgements relying rely utilizing utilize utilise "
        "utilising using use please state stated explain give giving provide provided providing calculate compute "
        "computing calculating extract extracting solution solve conclusions conclusion drawing address addressing "
        "referencing referring refer taking account tell write show according help"
    ).split()
)
_FILLERS = frozenset(
    (
        "us information info details detail data outlined shown showing presented stated primarily clearly plainly "
        "given following line lines item items asked what's within context document documents text solely exclusively "
        "decimal decimals place places"
    ).split()
)
_IMPERATIVES = frozenset(
    [
        "explain",
        "describe",
        "list",
        "summarize",
        "summarise",
        "tell",
        "please",
        "identify",
        "outline",
        "give",
        "calculate",
        "compute",
        "find",
    ]
)
_WORDS = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_BREAK = re.compile(r"[.?!:;\n]")
_NUMERIC = re.compile(
    r"\b(?:how\s+(?:much|many|large|big|high|low|long|old|far)|amounts?|ratio|percent(?:age)?s?|average|total|number\s+of|rate|margin|"
    r"sum|value|growth|cagr|price|cost|turnover|millions?|billions?)\b|%|[$€£¥]|多少|几[个年月天次人条]|金额|比例|比率|率|总额|数量",
    re.IGNORECASE,
)
_LATEST = re.compile(
    r"\b(?:most\s+recent|latest|newest|current(?=\s+(?:year|quarter|version|edition)))\b|最新|最近一[期年季]",
    re.IGNORECASE,
)


def read_question(text: str, type_aliases: Mapping[str, Sequence[str]] | None = None) -> Question:
    """Read a question. ``type_aliases`` (canonical type -> what people call it) replaces the built-in list."""
    types_in = finder() if type_aliases is None else _own_finder(tuple((k, tuple(v)) for k, v in type_aliases.items()))
    periods = list(find_periods(text))
    types = list(types_in.find(text))
    content = strip_instructions(text)
    terms = tokenise(content) or tokenise(text) or [t for t in map(_any_term, _WORDS.findall(fold(text))) if t]
    type_terms: dict[str, frozenset[str]] = {}
    for mention in types:
        said = frozenset(tokenise(text[mention.start : mention.end]))
        type_terms[mention.type] = type_terms.get(mention.type, frozenset()) | said
    quarters = tuple(dict.fromkeys(m.period for m in periods if m.period.quarter))
    return Question(
        text=text,
        terms=tuple(terms),
        years=_years([(m.period.year, m.fiscal) for m in periods if m.period.year]),
        quarters=quarters,
        dates=tuple(dict.fromkeys(m.period.date for m in periods if m.period.date)),
        types=tuple(type_terms),
        numeric=_NUMERIC.search(text) is not None,
        latest=_LATEST.search(text) is not None,
        period_terms=frozenset(tokenise(" . ".join([text[m.start : m.end] for m in periods]))),
        type_terms=type_terms,
    )


def strip_instructions(text: str) -> str:
    """The text without what it tells the answerer to do; what that points to («the balance sheet») stays."""
    text = _PHRASES.sub(" . ", text)
    kept, position = [], 0
    for start, end in _instruction_runs(text):
        kept.append(text[position:start])
        position = end
    kept.append(text[position:])
    return " . ".join(kept) if position else text


def _instruction_runs(text: str) -> Iterator[tuple[int, int]]:
    """Maximal runs of instruction and stop words with two instruction words or more, one of them a verb of
    answering; and a single imperative that begins a sentence."""
    run: list[tuple[int, int, bool, bool]] = []  # start, end, is a trigger, is a filler
    last_end, first = 0, True
    for match in _WORDS.finditer(text):
        word = match.group().lower().replace("’", "'")
        trigger, filler = word in _TRIGGERS, word in _FILLERS
        broken = _BREAK.search(text, last_end, match.start()) is not None
        if run and (broken or not (trigger or filler or word in STOP_WORDS)):
            yield from _cut(run)
            run = []
        first = first or broken
        if first and word in _IMPERATIVES and not run:
            run = [(match.start(), match.end(), True, True)]
        elif trigger or filler or (run and word in STOP_WORDS) or (word in STOP_WORDS and not run):
            run.append((match.start(), match.end(), trigger, filler))
        first, last_end = False, match.end()
    yield from _cut(run)


def _cut(run: list[tuple[int, int, bool, bool]]) -> Iterator[tuple[int, int]]:
    weight = sum(trigger or filler for _, _, trigger, filler in run)
    verbs = sum(trigger for _, _, trigger, _ in run)
    both = any(trigger and filler for _, _, trigger, filler in run)
    if verbs and (weight >= 2 or both):
        yield run[0][0], run[-1][1]


def _years(found: list[tuple[int, bool]]) -> tuple[int, ...]:
    """The year asked about first: the latest that is called fiscal, else the latest; then the others, latest first."""
    fiscal = {year for year, is_fiscal in found if is_fiscal}
    return tuple(sorted({year for year, _ in found}, key=lambda year: (year in fiscal, year), reverse=True))


def _any_term(word: str) -> str:
    return stem(word) or word


@lru_cache(maxsize=8)
def _own_finder(aliases: tuple[tuple[str, tuple[str, ...]], ...]) -> TypeFinder:
    return TypeFinder(dict(aliases))
