"""A parsed question: terms, times and document types, without instructions, and its vectors.

Instructions tell the model how to answer and are not searched. Of "Please answer from what the annual accounts state"
only "annual accounts" is searched; of "rounded to the nearest unit" nothing is. Instructions are recognised as whole
phrases and as runs of instruction words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from hybrid_core.cards.document_types import TypeFinder, finder
from hybrid_core.text.periods import find_periods
from hybrid_core.text.tokens import STOP_WORDS, fold, identifier_pieces, stem, tokenise
from hybrid_core.types.documents import Period
from hybrid_core.types.notes import NONE, Note

# All repetitions are bounded, so that the time is linear in the length of the text.
_CURRENCY = r"(?:usd|us\$|us\s+dollars?|dollars?|eur|euros?|gbp|rmb|cny|\$)"
_UNIT = r"(?:thousands?|millions?|billions?|percents?|percentages?(?:\s+points?)?|basis\s+points)"
_PHRASES = {
    "a role to play": r"\b(?:assume|imagine|pretend|suppose|act\s+as\s+if|as\s+if|assuming)\s+(?:that\s+)?"
    r"you(?:['’]re|\s+are|\s+were)\b[^.?!:;\n]{0,250}"
    r"|(?:^|(?<=[.?!:;\n])\s{0,3})you\s+(?:are|were|have)\b[^.?!:;\n]{0,250}"
    r"|\b(?:assum(?:e|ing)|adopt(?:ing)?|tak(?:e|ing)|play(?:ing)?)\s+the\s+"
    r"(?:perspective|role|position|viewpoint|standpoint|point\s+of\s+view)\s+of\s+an?\s+(?:\w+\s+){1,4}?who\b",
    "a unit": rf"\b(?:answer|respond)?\s*\(?in\s+(?:units\s+of\s+)?(?:{_CURRENCY}\s*)?{_UNIT}\b"
    rf"(?:\s+of\s+{_CURRENCY})?\)?"
    rf"|\bhow\s+many\s+{_UNIT}\s+(?:of\s+)?{_CURRENCY}(?!\w)",
    "rounding": r"\b(?:(?:and\s+)?round(?:ed)?\s+(?:your\s+|the\s+)?(?:final\s+)?(?:answer\s+)?)?(?:to|with)\s+"
    r"(?:the\s+nearest\s+\w+|\w+\s+(?:decimals?(?:\s+(?:places?|points?))?|significant\s+(?:figures?|digits?)))"
    r"|(?:^|(?<=[.?!:;\n]))\s{0,3}\w+\s+decimals?(?:\s+(?:places?|points?))?\b(?=\s*(?:,?\s*please\s*)?(?:[.!]|$))",
    "a way out": r"\bif\s[^.?!\n]{1,200}?,\s*(?:then\s+)?(?:please\s+)?(?:explain|say|state|tell\s+me)"
    r"(?:\s+(?:so|that|this|it|and|explain|why)){0,4}\s*(?=[.!?]|$)"
    r"|(?:^|(?<=[.?!:;\n]))\s{0,3}(?:please\s+)?(?:say\s+so(?:\s+and\s+why)?|(?:say|explain|tell\s+me)\s+why)"
    r",?\s+if\b[^.?!\n]{0,200}",
    "an announcement": r"\bhere(?:['’]s|\s+is|\s+are)\s+(?:the|my|our|a)\s+questions?\b"
    r"|\b(?:i|we)(?:['’]d|\s+(?:need|want|would))\s+(?:like\s+)?to\s+"
    r"(?:calculate|compute|know|find(?:\s+out)?|understand|determine)\b",
    "a format": r"\b(?:please\s+)?(?:write|give|return|list|provide|state|answer)(?:\s+[\w,'’-]+){0,12}?"
    r"\s+(?:in|into|with|as)\s+(?:an?\s+|the\s+)?\w+\s+format\b(?:\s+(?:with|in|by)\s+[^.?!;\n]{0,60})?"
    r"|\bas\s+(?:an?\s+)?(?:json|table|bullet\s+points|bullets)\b(?=\s*(?:[.?!]|$))",
    "a quantity": r"\bhow\s+(?:many|much)\b",
    "which documents": r"^\W*(?:which|what|list|show|find|name)\b(?:\s+(?:me|us|all|any|every|of|the|my|our)){0,4}"
    r"\s+(?:documents?|files?|texts?)\s+(?:(?:that|which)\s+)?(?:talks?|speaks?|tells?|mentions?|discuss(?:es)?|contains?"
    r"|deals?\s+with|covers?|concerns?|(?:is|are)\s+(?:about|on)|says?\s+(?:any|some)thing)\b(?:\s+(?:about|of|on))?",
    "the document": r"\b(?:according\s+to|in|based\s+on)\s+(?:the|this)\s+(?:report|paper|slides?|article|document)\b"
    r"(?=\s{0,3}(?:[,.?!:]|$))",
    "Chinese": r"请(?:问|您)?(?:根据|回答|简要|详细|说明|解释|列出|给出|告诉我)*"
    r"|(?:保留|精确到|四舍五入)[^，。？！,.?!]{0,12}|以[^，。？！,.?!]{1,8}为单位",
}
_PHRASE = re.compile("|".join(_PHRASES.values()), re.IGNORECASE)
# "if any", "(where applicable)": the subject of the question may be missing.
_HEDGE = re.compile(
    r"[,(]?\s?\b(?:if|where|as)\s(?:there\s(?:is|are)\s)?"
    r"(?:any|applicable|available|present|possible|needed|necessary|relevant|appropriate)(?:\)|,|(?=[.?!:;\n]|$))",
    re.IGNORECASE,
)
# "Mark the passages of this lease about subletting that we ought to check": only "subletting" is searched for.
_POINTING = re.compile(
    r"\b(?:highlight|mark|underline|flag|quote|list|find|locate|identify|extract|show|pull\s+out|point\s+(?:out|to))"
    r"(?:\s+(?:me|us|all|any|every|each|the|those|of)){0,3}"
    r"\s+(?:parts?|passages?|portions?|sentences?|sections?|paragraphs?|clauses?|provisions?|excerpts?|places?|pages?)"
    r"(?:\s+(?:of|in|from|within)\s+(?:this|the|that|our)\s+(?:\w+\s+){0,2}?\w+)?"
    r"\s+(?:(?:that|which)\s+(?:are\s+|is\s+)?)?"
    r"(?:relat(?:ed?|es|ing)\s+to|about|on|concern(?:s|ing)?|regarding|discuss(?:es|ing)?|mention(?:s|ing)?"
    r"|deal(?:s|ing)?\s+with|cover(?:s|ing)?|address(?:es|ing)?)"
    r"\s+(?P<what>[^.?!:;\n]{1,200}?)"
    # what the reader should do with the passages
    r"(?:\s+(?:and\s+)?(?:(?:that|which)\s+)?(?:(?:\w+\s+){0,3}?(?:should|must|ought\s+to|needs?\s+to|ha(?:s|ve)\s+to)\s+(?:be\s+)?"
    r"(?:review|read|check|examine|look|see|know|note|consider|discuss|approve)|needs?\s+(?:\w+\s+)?attention"
    r"|(?:(?:are|is)\s+)?worth\s+\w+ing\b)[^.?!:;\n]{0,60})?"
    r"\s*(?=[.?!:;\n]|$)",
    re.IGNORECASE,
)
# labels that templates put before their parts
_LABEL = re.compile(
    r"(?:^|(?<=[.?!:;\n]))\s{0,3}"
    r"(?:details?|context|description|questions?|query|task|background|instructions?|request|prompt|input)\s*:",
    re.IGNORECASE,
)

_VERBS = """
answer answers answering respond responding response reply question questions round rounded rounding assume assuming
base basing based judgment judgments judgement judgements relying rely utilizing utilize utilise utilising using use
please state stated explain give giving provide provided providing calculate compute computing calculating extract
extracting solution solve conclusions conclusion drawing address addressing referencing referring refer taking account
tell write show according help
"""
_FILLERS = """
us information info details detail data outlined shown showing presented stated primarily clearly plainly given
following line lines item items asked within context document documents text solely exclusively decimal decimals
place places
"""
# These count alone, but only at the beginning of a sentence.
_OPENINGS = """
explain describe list summarize summarise tell please identify outline give calculate compute find
"""
_KINDS = {
    **dict.fromkeys(STOP_WORDS, "stop"),
    **dict.fromkeys(_FILLERS.split(), "filler"),
    **dict.fromkeys(_VERBS.split(), "verb"),
}
IMPERATIVES = frozenset(_OPENINGS.split())
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_BREAK = re.compile(r"[.?!:;\n]")


@lru_cache(maxsize=256)  # a search calls it with the same few texts
def strip_instructions(text: str) -> str:
    """Return the text without instructions on how to answer.

    Things that an instruction mentions ("the balance sheet") are kept.
    """
    text = _LABEL.sub(" . ", _POINTING.sub(r" . \g<what> . ", _HEDGE.sub(" ", text)))
    text = _PHRASE.sub(" . ", text)
    pieces, position = [], 0
    for run in _runs(text):
        if run.instructs:
            pieces.append(text[position : run.start])
            position = run.end
    return " . ".join([*pieces, text[position:]])


@dataclass(slots=True)
class _Run:
    """A run of consecutive instruction and stop words within a sentence."""

    start: int
    end: int = 0
    verbs: int = 0
    fillers: int = 0
    opens: bool = False  # whether it begins with an imperative at the beginning of a sentence

    @property
    def instructs(self) -> bool:
        """Return whether the run is an instruction.

        A single word such as "response" may be content ("the response time"), while two such words are an instruction.
        """
        return self.opens or (self.verbs > 0 and self.verbs + self.fillers >= 2)


def _runs(text: str) -> Iterator[_Run]:
    run: _Run | None = None
    last_end = 0
    for match in _WORD.finditer(text):
        word = match.group().lower().replace("’", "'")
        begins = last_end == 0 or _BREAK.search(text, last_end, match.start()) is not None
        last_end = match.end()
        kind = _KINDS.get(word, "")
        opens = begins and word in IMPERATIVES
        if run is not None and (begins or not (kind or opens)):
            yield run
            run = None
        if kind or opens:
            run = run or _Run(match.start(), opens=opens)
            run.end = match.end()
            run.verbs += kind == "verb"
            run.fillers += kind == "filler"
    if run is not None:
        yield run


@dataclass(frozen=True, slots=True)
class Question:
    """A parsed question. ``terms`` keep their order and duplicates.

    Terms of instructions such as "round to two decimals" are left out.
    """

    text: str
    terms: tuple[str, ...] = ()
    years: tuple[int, ...] = ()  # the main year first, then those it is compared with
    quarters: tuple[Period, ...] = ()  # year 0 if only the quarter is named
    dates: tuple[str, ...] = ()  # ISO
    types: tuple[str, ...] = ()  # canonical document types asked for
    numeric: bool = False  # asks for a quantity
    latest: bool = False  # asks for the newest document ("most recent", "latest")
    period_terms: frozenset[str] = frozenset()  # terms of its years, quarters and dates
    type_terms: Mapping[str, frozenset[str]] = field(default_factory=dict)  # terms that name each of its types
    identifiers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # those among the terms, with their pieces

    @property
    def timed(self) -> bool:
        """Return whether the question contains a year, quarter or date."""
        return bool(self.years or self.quarters or self.dates)

    def worth(self, held_terms: Collection[str]) -> dict[str, float]:
        """Return the weight of each term, 0 to 1. ``held_terms`` are the terms that the library contains.

        An identifier such as "ISO-9001" has pieces. If the library contains the identifier, each piece has the weight
        ``_PIECE``. If no page contains it, its weight is 0, and its pieces count fully.
        """
        pieces = {term for whole, parts in self.identifiers.items() if whole in held_terms for term in parts}
        unknown = {whole for whole, parts in self.identifiers.items() if parts and whole not in held_terms}
        return {term: 0.0 if term in unknown else _PIECE if term in pieces else 1.0 for term in self.terms}


_PIECE = 0.2  # weight of a piece of an identifier, compared with the whole
_WORDS = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_NUMERIC = re.compile(
    r"\b(?:how\s+(?:much|many|large|big|high|low|long|old|far)|amounts?|ratio|percent(?:age)?s?|average|total"
    r"|number\s+of|rate|margin|sum|value|growth|cagr|price|cost|turnover|millions?|billions?)\b"
    r"|%|[$€£¥]|多少|几[个年月天次人条]|金额|比例|比率|率|总额|数量",
    re.IGNORECASE,
)
_LEADING = re.compile(
    r"\b(?:year[\s-]?end|end|close|beginning|start)(?:\s+of)?(?:\s+(?:the|its|fiscal|financial|calendar|year))*\s*\Z",
    re.IGNORECASE,
)
_LATEST = re.compile(
    r"\b(?:most\s+recent|latest|newest|current(?=\s+(?:year|quarter|version|edition)))\b|最新|最近一[期年季]",
    re.IGNORECASE,
)


def read_question(text: str, type_aliases: Mapping[str, Sequence[str]] | None = None) -> Question:
    """Return a parsed question. ``type_aliases`` (document type -> names for it) replaces the built-in list."""
    types_in = finder() if type_aliases is None else _own_finder(tuple((k, tuple(v)) for k, v in type_aliases.items()))
    periods = list(find_periods(text))
    types = list(types_in.find(text))
    content = strip_instructions(text)
    terms = tokenise(content) or tokenise(text) or [stem(word) or word for word in _WORDS.findall(fold(text))]
    type_terms: dict[str, frozenset[str]] = {}
    for mention in types:
        words = frozenset(tokenise(text[mention.start : mention.end]))
        type_terms[mention.type] = type_terms.get(mention.type, frozenset()) | words
    quarters = tuple(dict.fromkeys(m.period for m in periods if m.period.quarter))
    term_set = frozenset(terms)
    return Question(
        text=text,
        terms=tuple(terms),
        years=_years([(m.period.year, m.fiscal) for m in periods if m.period.year]),
        quarters=quarters,
        dates=tuple(dict.fromkeys(m.period.date for m in periods if m.period.date)),
        types=tuple(type_terms),
        numeric=_NUMERIC.search(text) is not None,
        latest=_LATEST.search(text) is not None,
        period_terms=frozenset(tokenise(" . ".join([text[_lead(text, m.start) : m.end] for m in periods]))),
        type_terms=type_terms,
        identifiers={whole: parts for whole, parts in identifier_pieces(content).items() if whole in term_set},
    )


def _years(years: list[tuple[int, bool]]) -> tuple[int, ...]:
    """Return the distinct years of a question, the main year first.

    ``years`` are (year, whether it is a fiscal year). The main year is the latest fiscal year, or the latest year if
    none is fiscal. Other fiscal years follow, then other years, latest first.
    """
    fiscal = {year for year, is_fiscal in years if is_fiscal}
    return tuple(sorted({year for year, _ in years}, key=lambda year: (year in fiscal, year), reverse=True))


def _lead(text: str, start: int) -> int:
    """Return the offset of words that introduce a period, such as "close of" in "close of 2024".

    ``start`` is the offset of the period, and is returned if no such words precede it.
    """
    before = _LEADING.search(text, max(0, start - 60), start)
    return before.start() if before else start


@lru_cache(maxsize=8)
def _own_finder(aliases: tuple[tuple[str, tuple[str, ...]], ...]) -> TypeFinder:
    return TypeFinder(dict(aliases))


@dataclass(frozen=True, slots=True, eq=False)
class QuestionEmbedding:
    """The vectors of a question. ``vector`` is float32 (dim,) of unit length, None if vectors are not used.

    ``learned`` are term weights by token, if the embedder computes them. ``share`` is the share of searched pages with
    vectors; ``unembedded`` are the searched documents without vectors. ``note`` gives the reason if the library has
    vectors that are not used. ``compare`` scores texts against the question, float32 (n,), higher is better. It
    is None unless requested, and raises the errors of its model.
    """

    share: float = 0.0
    vector: npt.NDArray[np.float32] | None = None
    note: Note = NONE
    learned: Mapping[int, float] = field(default_factory=dict)
    unembedded: Set[str] = frozenset()
    compare: Callable[[Sequence[str]], npt.NDArray[np.float32]] | None = None

    @property
    def over_all(self) -> bool:
        """Return whether all searched documents have vectors, so that vectors can rank them."""
        return self.vector is not None and not self.unembedded
