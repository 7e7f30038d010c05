"""Parameters of the ranking, by the stage that uses them, and the features of the learned ranking model.

The defaults were chosen with ``eval run`` (docs/benchmarks.md) unless a group says otherwise. The gain of single
parameters is in docs/lab/retrieval.md (benchmarks/ablation.py). The weight of expert knowledge is set in its pack.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from hybrid_core.errors import UsageError

if TYPE_CHECKING:  # the command line imports this module at each start, and must not load numpy
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class CoarseScoring:
    """Parameters of the coarse pass, over all pages of the library. Settings call them ``first_stage``.

    Sources: Chen et al. 2024 (BGE-M3) for the ratio of term weights to vectors; Cormack, Clarke and Büttcher 2009 for k
    of Reciprocal Rank Fusion.
    """

    hits: int = 200
    vectors: float = 0.5  # weight of vectors in proportion to BM25; both scores are divided by their maximum
    term_weights: float = 0.3  # share of learned term weights in the weight of vectors
    rrf_k: float = 60.0


@dataclass(frozen=True, slots=True)
class DocumentScoring:
    """Parameters for selecting documents that are searched completely, in addition to those with hits.

    Source: docs/lab/ranking.md.
    """

    # maximum number of documents that the question names; the limit does not apply if the question asks for more
    limit: int = 8
    best: int = 3  # number of documents with the best DocScores
    pages: int = 40  # pages per document, chosen by the statistics of this document
    cards: float = 3.0  # weight of a card score of 1 in proportion to DocScore / best DocScore
    close: float = 0.3  # score difference below which the question may mean any of the documents
    lead: float = 1.0  # lead of a document that the model chooses


@dataclass(frozen=True, slots=True)
class PageScoring:
    """Parameters of the BM25 score of pages within a document.

    The weights of the ranking model's features are not set here; they are learned (retrievers/ranking/weights.json).
    """

    k1: float = 2.0  # k1 of BM25 within the document
    b: float = 1.0
    # weights where pages are chosen without the learned model (candidates, remaining pages) and in receipts
    headings: float = 0.5  # of the BM25 of headings that begin on the page
    titles: float = 0.1  # of a section title that the question covers
    title_power: float = 3.0  # exponent of the covered share: a half-covered title counts an eighth


@dataclass(frozen=True, slots=True)
class ExpansionScoring:
    """Parameters for the terms that expert knowledge adds to a question. Source: benchmarks/packs.py."""

    named: float = 0.4  # card score from which a document counts as named
    # longer entries are weighted down to this number of words, or they would outweigh the question
    full_terms: int = 16
    full_weight: float = 0.5  # weight of an entry from which its phrases count fully


@dataclass(frozen=True, slots=True)
class RerankScoring:
    """Parameters for reranking the best pages."""

    multi_vector_pages: int = 20  # number of pages that the embedder or the reranking server compares, if enabled
    multi_vector: float = 0.15  # bonus of the page with the best score
    # number of pages that a model's verdict can move up: two of the first five stay those of the ranking
    model_pages: int = 3


@dataclass(frozen=True, slots=True)
class SelectionScoring:
    """Parameters for selecting the pages to return.

    The values were not tuned; they fit filings that contain the same page twice.
    """

    reached: int = 100  # minimum number of candidates, even for few results, so that copies are detected
    same: float = 0.995  # cosine from which two pages count as copies
    same_length: float = 0.02  # maximum relative difference of copies in their number of words and of distinct words
    varied: int = 4  # candidates for variety, as a multiple of the number of results
    first: int = 5  # number of first results in which each of several named documents gets its share


@dataclass(frozen=True, slots=True)
class EntityLinking:
    """Parameters for the certainty, 0 to 1, that a name in a question means an organisation with this name.

    Source: benchmarks/routing_templates.py.
    """

    whole: float = 1.0
    shortened: float = 0.9
    party: float = 0.9
    symbol: float = 0.85
    first_word: float = 0.7
    initials: float = 0.7
    one_word: float = 0.6
    clipped: float = 0.6
    two_letters: float = 0.45  # "GM", but also "IT": never certain by itself
    # certainty from which a match counts; weaker matches leave other documents of the library in the ranking
    sure: float = 0.5
    lower_case: float = 0.4  # factor without a capital letter: it may be a common word ("cost", "security")
    caseless: float = 0.55  # factor if the whole question is in one case, so that capitals say nothing
    lower_organisation: float = 0.85  # factor for a complete name that certainly belongs to an organisation
    clear: float = 0.85  # a match with this certainty suppresses …
    weak: float = 0.75  # … matches below this certainty
    shared: int = 3  # a short form that more organisations share than this is ignored
    few: float = 0.1  # a recurring name in more than this share of a library's documents is ignored
    one_of_two: float = 0.8  # factor for a document of only one of two named parties, if another document has both


@dataclass(frozen=True, slots=True)
class CardScoring:
    """Parameters for scoring how well a document's card matches a question.

    ``organisation``, ``period`` and ``type`` sum to 1. Source: benchmarks/routing.py.
    """

    organisation: float = 0.4
    period: float = 0.5
    type: float = 0.1
    wrong_type: float = 0.4  # penalty for documents of another type, if the question names no time
    unsaid: float = 0.5  # period and type fit of every document if the question states none
    newest: float = 0.1  # bonus for the newest document of its kind, if the question names no time
    newest_asked: float = 0.3  # bonus of the newest document if the question asks for the latest
    # share of that bonus for the newest document of a kind whose documents do not replace each other
    newest_beside: float = 0.1
    title_beside: float = 0.08  # weight of a title match if the question names an organisation too
    period_alone: float = 0.3  # weight of the period if the question names no organisation of the library
    type_alone: float = 0.15
    title_alone: float = 0.6
    telling: float = 0.5  # ignore a document type that covers more than this share of the library


@dataclass(frozen=True, slots=True)
class PeriodFit:
    """Parameters for how well a document's time matches the time in a question, 1 for the same time.

    Source: benchmarks/routing_templates.py. The order of the cases is tested there; the distances are set by hand.
    """

    undated: float = 0.3  # the document has no time
    other_reading: float = 0.85  # the year is the document's second interpretation (calendar for fiscal)
    compared: float = 0.4  # the question compares with this year and asks about a later one
    compared_quarter: float = 0.7
    other_date: float = 0.9  # the date is mentioned in the document, but is not its own (an earlier version, an event)
    later: tuple[float, ...] = (0.45, 0.3, 0.15)  # reports of later years, which repeat the figures of the year
    earlier: tuple[float, ...] = (0.2, 0.1)  # reports of earlier years, which contain the outlook
    wrong_quarter: float = 0.35
    whole_year: float = 0.6  # the annual report, if the question asks for a quarter
    year_for_last_quarter: float = 0.85  # the annual report, if the question asks for the fourth quarter
    any_year: float = 0.8  # the question asks for a quarter without a year
    event_in_quarter: float = 0.8  # a document about one day in that quarter
    calendar_quarter: float = 0.7  # the quarter fits by the calendar, not by the document's fiscal year
    # the report of the fourth quarter, if the question asks for the year: it covers the year too
    last_quarter: float = 0.9
    part_of_year: float = 0.7  # the report of another quarter, if the question asks for the year
    event: float = 0.75  # a document about one day in the year
    year_of_date: float = 0.5  # the question asks for a day, and only the year fits
    days: int = 45  # maximum distance in days of a document's date from the requested day
    after: float = 0.9  # a document with a later date; 0.01 is subtracted per day
    before: float = 0.6  # a document with an earlier date; 1/150 is subtracted per day


@dataclass(frozen=True, slots=True)
class TitleMatching:
    """Parameters for matching the words of a question with names and titles of documents.

    Source: benchmarks/titles.py.
    """

    # ignore a term in more than this share of the titles (in libraries of at least eight documents)
    common: float = 0.25
    one_word: float = 0.5  # factor for a title of one word, which may be a common word
    least_share: float = 0.5  # minimum share of the title's terms that a match of a single word must cover
    longest: int = 24  # maximum number of title terms that count


@dataclass(frozen=True, slots=True)
class ScoringConfig:
    """All parameters of the ranking. Raises UsageError if one is negative, not finite, or a count of 0."""

    first_stage: CoarseScoring = CoarseScoring()
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
        """Return the default parameters with some replaced.

        ``values`` maps groups and names to numbers: {"pages": {"k1": 1.2}} or {"pages.k1": 1.2}. ``where`` is the name
        of the mapping in errors. Raise UsageError for an unknown name, with the most similar one, and for a value out
        of range.
        """
        config = cls()
        names = {
            f"{group.name}.{member.name}" for group in fields(cls) for member in fields(getattr(config, group.name))
        }
        for name, value in _flat(values, where):
            if name not in names:
                near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
                advice = (
                    f"Did you mean {near[0]}?" if near else f"The ranking parameters are: {', '.join(sorted(names))}."
                )
                raise UsageError(f"{where}: '{name}' is not a ranking parameter.", advice)
            part, _, member = name.partition(".")
            group = getattr(config, part)
            number = _coerce_number(f"{where}: the ranking parameter {name}", value, getattr(group, member))
            config = replace(config, **{part: replace(group, **{member: number})})
        return config


def _flat(values: Mapping[str, Any], where: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(values, Mapping):
        raise UsageError(
            f"{where} is {values!r}, but it must be a mapping.",
            "Write ranking parameters with their numbers, such as pages.k1: 1.2.",
        )
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", number) for inner, number in value.items())
        else:
            yield str(name), value


def _coerce_number(name: str, value: Any, usual: Any) -> Any:
    """Return a parameter's value in the type of its default, ``usual``. Raise UsageError for an invalid value."""
    if isinstance(usual, tuple):
        if not isinstance(value, list | tuple) or len(value) != len(usual):
            raise UsageError(f"{name} is {value!r}.", f"Set the parameter to a list of {len(usual)} numbers.")
        return tuple(_coerce_number(name, item, default) for item, default in zip(value, usual, strict=True))
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise UsageError(f"{name} is {value!r}.", "Set the parameter to a number of 0 or more.")
    if isinstance(usual, int):
        if value != int(value) or value < 1:
            raise UsageError(f"{name} is {value!r}.", "Set the parameter to a whole number of 1 or more.")
        return int(value)
    return float(value)


TIMES_NAMED = "*named"
"""The suffix of a weight's name for the product of a feature with the feature "named"."""


def weight_names(names: Iterable[str], pairs: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the ranking model's weights.

    They are all features, then each feature in ``pairs`` with a suffix, for its product with the feature "named".
    """
    return (*names, *(name + TIMES_NAMED for name in pairs))


@dataclass(frozen=True, slots=True, eq=False)
class CandidateFeatures:
    """The candidate pages of one question with the features that the ranking model reads.

    There are n candidate pages. names: the features in order. values: float64 (n, features), usually 0 to 1. pages:
    (doc_id, 1-based page) of each row. scores: float64 (n,), the scores of the current model, higher is better. pairs:
    the features that also have a weight for their product with the feature "named". signals: the inputs of the evidence
    score, by name. first: the first five pages of the search as (doc_id, page).
    """

    names: tuple[str, ...]
    values: npt.NDArray[np.float64]
    pages: tuple[tuple[str, int], ...]
    scores: npt.NDArray[np.float64]
    pairs: tuple[str, ...] = ()
    signals: Mapping[str, float] = field(default_factory=dict)
    first: tuple[tuple[str, int], ...] = ()
