"""What a question asks: its content terms, the time and document types it names, and whether it wants a number."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from hybrid_core.cards.document_types import TypeFinder, finder
from hybrid_core.text.periods import find_periods
from hybrid_core.text.tokens import fold, identifier_pieces, stem, tokenise
from hybrid_core.types.documents import Period
from retrievers.query.instructions import strip_instructions


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
    identifiers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # those among the terms, with their pieces

    @property
    def timed(self) -> bool:
        """Whether the question names a year, quarter or date."""
        return bool(self.years or self.quarters or self.dates)

    def worth(self, known: Collection[str]) -> dict[str, float]:
        """Return what each term counts, 0 to 1, where pages of the library hold the terms ``known``.

        Pieces of known identifiers count ``_PIECE``. An identifier that no page holds counts nothing, its pieces
        count fully.
        """
        pieces = {term for whole, parts in self.identifiers.items() if whole in known for term in parts}
        unknown = {whole for whole, parts in self.identifiers.items() if parts and whole not in known}
        return {term: 0.0 if term in unknown else _PIECE if term in pieces else 1.0 for term in self.terms}


_PIECE = 0.2  # of an identifier, beside the whole
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


def _years(found: list[tuple[int, bool]]) -> tuple[int, ...]:
    """The year asked about first: the latest that is called fiscal, else the latest; then the others, latest first."""
    fiscal = {year for year, is_fiscal in found if is_fiscal}
    return tuple(sorted({year for year, _ in found}, key=lambda year: (year in fiscal, year), reverse=True))


def _lead(text: str, start: int) -> int:
    """Where the words that lead up to a period begin: «at the end of 2024», «as of year-end 2023»."""
    before = _LEADING.search(text, max(0, start - 60), start)
    return before.start() if before else start


def _any_term(word: str) -> str:
    return stem(word) or word


@lru_cache(maxsize=8)
def _own_finder(aliases: tuple[tuple[str, tuple[str, ...]], ...]) -> TypeFinder:
    return TypeFinder(dict(aliases))
