"""The numbers that move a ranking, by the stage that reads them, and the features that weights are learned from.

The defaults were chosen with ``eval run`` (docs/benchmarks.md) unless a group says otherwise. The gain of single ones
is in docs/lab/retrieval.md (benchmarks/ablation.py). The weight of a field of knowledge stands in its pack.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from hybrid_core.errors import UsageError

if TYPE_CHECKING:  # the command line reads this module at each start, and needs no numpy
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class FirstStageScoring:
    """The pages of the whole library. Ratio of term weights to vectors: Chen et al. 2024 (BGE-M3); k of Reciprocal
    Rank Fusion: Cormack, Clarke and Büttcher 2009."""

    hits: int = 200
    vectors: float = 0.5  # beside BM25, both divided by their best
    term_weights: float = 0.3  # learned ones, beside vectors, within what those two add
    rrf_k: float = 60.0


@dataclass(frozen=True, slots=True)
class DocumentScoring:
    """Documents that are searched wholly, besides those of the hits. Source: docs/lab/ranking.md."""

    most: int = 8  # named most surely; or all, where no more are asked about
    best: int = 3  # of the best DocScores
    pages: int = 40  # of each, those that its own statistics favour
    cards: float = 3.0  # what a card score of 1 weighs beside DocScore / best DocScore
    close: float = 0.3  # documents whose scores differ by less are close: a model may be asked which is meant
    lead: float = 0.5  # by which one that it picks then leads


@dataclass(frozen=True, slots=True)
class PageScoring:
    """BM25 within a document. What features weigh is learned: retrievers/ranking/weights.json."""

    k1: float = 2.0  # of BM25 within the document
    b: float = 1.0
    headings: float = 0.5  # the BM25 of headings that begin on the page, where a receipt says what terms add
    titles: float = 0.1  # a title that the question covers, there too
    title_power: float = 3.0  # of the share covered: a half-covered title counts an eighth


@dataclass(frozen=True, slots=True)
class ExpansionScoring:
    """Additions of expert knowledge to a question. Source: benchmarks/packs.py."""

    named: float = 0.4  # a card score from which a document counts as named
    full_terms: int = 16  # an entry of more words weighs as much as one of so many, or it would drown the question
    full_weight: float = 0.5  # of an entry, from which its phrases count in full


@dataclass(frozen=True, slots=True)
class RerankScoring:
    """A closer look at the best pages."""

    multi_vector_pages: int = 20  # compared token by token where that is asked for
    multi_vector: float = 0.15  # what that adds to the score of the best of them
    model_pages: int = 3  # that a model's verdict moves: two of the first five stay those that the walk found


@dataclass(frozen=True, slots=True)
class SelectionScoring:
    """Selection of the pages to return. Source: seen on filings that hold the same page twice, not tuned."""

    reached: int = 100  # pages at least, also where few results are asked for: copies are then found all the same
    same: float = 0.995  # cosine from which two pages are one and the same text
    same_length: float = 0.02  # share by which their numbers of words, and of different words, may differ
    varied: int = 4  # times as many pages as results are looked through for variety
    first: int = 5  # results among which each of several named documents has its share, however many are asked for


@dataclass(frozen=True, slots=True)
class EntityLinking:
    """Certainty that a key means the organisations that share it. Source: benchmarks/routing_templates.py."""

    whole: float = 1.0
    shortened: float = 0.9
    party: float = 0.9
    symbol: float = 0.85
    first_word: float = 0.7
    initials: float = 0.7
    one_word: float = 0.6
    clipped: float = 0.6
    two_letters: float = 0.45  # "GM", but also "IT": never sure by itself
    sure: float = 0.5  # a weaker match of an organisation does not silence the rest of the library
    lower_case: float = 0.4  # left of it without a capital: it may be a common word ("cost", "security")
    caseless: float = 0.55  # where the whole question is in one case, so that capitals say nothing
    lower_organisation: float = 0.85  # a whole name of what is surely an organisation
    clear: float = 0.85  # a match as clear as this silences …
    weak: float = 0.75  # … those below this
    shared: int = 3  # a short form of more organisations than this names none of them
    few: float = 0.1  # of a library's documents: a recurring name of more than these tells none of them
    one_of_two: float = 0.8  # for a document of one of the parties where another is of both


@dataclass(frozen=True, slots=True)
class CardScoring:
    """Scores of a document's card for a question.

    Source: benchmarks/routing.py; organisation, period and type sum to 1.
    """

    organisation: float = 0.4
    period: float = 0.5
    type: float = 0.1
    wrong_type: float = 0.4  # taken from documents of another type, where the question names no time
    unsaid: float = 0.5  # period and type fit of every document where the question says none
    newest: float = 0.1  # added to the newest of its kind where the question names no time
    newest_asked: float = 0.3  # the same where it asks for the latest
    newest_beside: float = 0.1  # the share of that for the newest of a kind that replaces nothing
    title_beside: float = 0.08  # beside an organisation
    period_alone: float = 0.3  # where the question names no organisation that we hold
    type_alone: float = 0.15
    title_alone: float = 0.6
    telling: float = 0.5  # a type that more than this share of the library is of tells nothing by itself
    same: float = 0.005  # scores this close tie


@dataclass(frozen=True, slots=True)
class PeriodFit:
    """Fit of a document's time to the question's, 1 for the same.

    Source: benchmarks/routing_templates.py; the order of the cases is tested there, their distances are set by hand.
    """

    undated: float = 0.3  # a document that says no time
    other_reading: float = 0.85  # the year is the document's second reading (calendar for fiscal)
    compared: float = 0.4  # the year is only compared with: a later year is what the question is about
    compared_quarter: float = 0.7
    other_date: float = 0.9  # not the document's own date, but one that it tells of (an earlier version, an event)
    later: tuple[float, ...] = (0.45, 0.3, 0.15)  # reports of later years repeat the year's figures
    earlier: tuple[float, ...] = (0.2, 0.1)  # reports of earlier years hold the outlook
    wrong_quarter: float = 0.35
    whole_year: float = 0.6  # the annual report, where a quarter is asked for
    year_for_last_quarter: float = 0.85  # the same, where it is the fourth
    any_year: float = 0.8  # a quarter is asked for without its year
    event_in_quarter: float = 0.8  # a document of one day in that quarter
    calendar_quarter: float = 0.7  # the quarter is the document's by the calendar, not by its fiscal year
    last_quarter: float = 0.9  # its report, where the year is asked for: it reports on the year too
    part_of_year: float = 0.7  # another quarter's report, where the year is asked for
    event: float = 0.75  # a document of one day in the year
    year_of_date: float = 0.5  # where a day is asked for, and only the year fits
    days: int = 45  # a document dated up to so long after or before the day asked for may be of it
    after: float = 0.9  # one dated later, less a hundredth for each day
    before: float = 0.6  # one dated earlier, less a 150th for each day


@dataclass(frozen=True, slots=True)
class TitleMatching:
    """Words that a question shares with documents' names and titles. Source: benchmarks/titles.py."""

    common: float = 0.25  # a term in more than this share of the titles tells nothing (in libraries of eight and more)
    one_word: float = 0.5  # a title of one word may be a common word
    least_share: float = 0.5  # of a title, that a single word must be
    longest: int = 24  # terms of a title that count


@dataclass(frozen=True, slots=True)
class ScoringConfig:
    """All of them. Raises UsageError for one that is negative, not finite, or a count of none."""

    first_stage: FirstStageScoring = FirstStageScoring()
    documents: DocumentScoring = DocumentScoring()
    pages: PageScoring = PageScoring()
    expansion: ExpansionScoring = ExpansionScoring()
    rerank: RerankScoring = RerankScoring()
    selection: SelectionScoring = SelectionScoring()
    linking: EntityLinking = EntityLinking()
    cards: CardScoring = CardScoring()
    periods: PeriodFit = PeriodFit()
    titles: TitleMatching = TitleMatching()

    @classmethod
    def of(cls, values: Mapping[str, Any], where: str = "scoring") -> ScoringConfig:
        """The usual numbers but for those given, by group and name: {"pages": {"k1": 1.2}} or
        {"pages.k1": 1.2}. Raises UsageError for an unknown name (with the nearest one) and a value out of range;
        ``where`` is what errors call the mapping.
        """
        config = cls()
        names = {
            f"{group.name}.{member.name}" for group in fields(cls) for member in fields(getattr(config, group.name))
        }
        for name, value in _flat(values, where):
            if name not in names:
                near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
                advice = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(sorted(names))}."
                raise UsageError(f"{where}: there is no '{name}'.", advice)
            part, _, member = name.partition(".")
            group = getattr(config, part)
            number = _coerce_number(f"{where}: {name}", value, getattr(group, member))
            config = replace(config, **{part: replace(group, **{member: number})})
        return config


def _flat(values: Mapping[str, Any], where: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(values, Mapping):
        raise UsageError(f"{where} is {values!r}.", "Give numbers by name, such as pages.k1: 1.2.")
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", number) for inner, number in value.items())
        else:
            yield str(name), value


def _coerce_number(name: str, value: Any, usual: Any) -> Any:
    """The value in the type of the usual one."""
    if isinstance(usual, tuple):
        if not isinstance(value, list | tuple) or len(value) != len(usual):
            raise UsageError(f"{name} is {value!r}.", f"Give {len(usual)} numbers.")
        return tuple(_coerce_number(name, item, default) for item, default in zip(value, usual, strict=True))
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise UsageError(f"{name} is {value!r}.", "Give a number, 0 or more.")
    if isinstance(usual, int):
        if value != int(value) or value < 1:
            raise UsageError(f"{name} is {value!r}.", "Give a whole number, 1 or more.")
        return int(value)
    return float(value)


TIMES_NAMED = "*named"
"""The end of a weight's name that is of a feature's product with the feature "named"."""


def weight_names(names: Iterable[str], pairs: Iterable[str]) -> tuple[str, ...]:
    """Return the names of weights: every feature, then the product of each of ``pairs`` with "named"."""
    return (*names, *(name + TIMES_NAMED for name in pairs))


@dataclass(frozen=True, slots=True, eq=False)
class CandidateFeatures:
    """The candidate pages of one question as the ranking model sees them.

    names: the features in order. values: float64 (n, features), most of them 0 to 1. pages: (doc_id, 1-based page) of
    each row. scores: float64 (n,), what the model in use makes of them, higher is better. pairs: the features whose
    product with the feature "named" the model weighs, too. signals: what evidence is computed from, by name; first: the
    first five pages of the search, (doc_id, page).
    """

    names: tuple[str, ...]
    values: npt.NDArray[np.float64]
    pages: tuple[tuple[str, int], ...]
    scores: npt.NDArray[np.float64]
    pairs: tuple[str, ...] = ()
    signals: Mapping[str, float] = field(default_factory=dict)
    first: tuple[tuple[str, int], ...] = ()
