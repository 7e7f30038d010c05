"""What a document says on most of its pages: the names it is about, and the year its running heads bear."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from hybrid_core.cards.document_types import name_finder
from hybrid_core.text.names import GENERIC
from hybrid_core.text.periods import find_periods
from hybrid_core.text.tokens import STOP_WORDS, fold

_CAPITALISED = re.compile(r"(?<![\w'’.&-])[A-Z][\w'’&-]+(?: [A-Z][\w'’&-]+){0,2}")
_OWNERS = re.compile(r"['’]s\b")
_SAMPLED = 40  # pages, evenly spread: what stands on most pages stands on most of these
_LEAST_PAGES = 3
_SHARE = 0.5  # of the pages with text
_COMMON = 0.2  # a word that stands in lower case on this share of the pages that hold its capital is no name
_WITHIN = 0.3  # of the pages that hold a name have it within a sentence, as no label («Source:», «Figure 3») is
_TOGETHER = 0.8  # words that stand together so often, where one of them stands, are one name
_MOST_NAMES = 3
_WATCHED = 12  # words, the most frequent, that are looked at closely


def recurring_names(pages: Sequence[str]) -> list[str]:
    """Names that at least half of the pages with text hold (and at least three), the most frequent first.

    A name is a word that is written with a capital and hardly ever without one, or some that stand together.
    """
    texts = _sample([page for page in pages if page.strip()])
    if len(texts) < _LEAST_PAGES:
        return []
    least = max(_LEAST_PAGES, _SHARE * len(texts))
    words: Counter[str] = Counter()
    runs: Counter[str] = Counter()
    spelt: dict[str, Counter[str]] = {}
    for text in texts:
        found = dict.fromkeys(_OWNERS.sub("", name) for name in _CAPITALISED.findall(text))  # in order: ties stay so
        keys = {fold(word): word for name in found for word in name.split(" ")}
        words.update(keys.keys())
        for key, word in keys.items():
            spelt.setdefault(key, Counter())[word] += 1
        runs.update(name for name in found if " " in name)
    names: list[str] = []
    often = [(key, count) for key, count in words.most_common(4 * _WATCHED) if count >= least and _may_name(key)]
    for key, count in often[:_WATCHED]:
        lower, within = (
            re.compile(rf"(?<!\w){re.escape(key)}(?!\w)"),
            re.compile(rf"[a-z,;] {re.escape(key)}(?!\w|\s*[\d(])", re.IGNORECASE),
        )
        if sum(lower.search(text) is not None for text in texts) > _COMMON * count:
            continue
        if sum(within.search(text) is not None for text in texts) < _WITHIN * count:
            continue
        word = spelt[key].most_common(1)[0][0]
        longer = [run for run, held in runs.items() if held >= _TOGETHER * count and key in fold(run).split()]
        name = max(longer, key=len, default=word)
        if not any(fold(word) in fold(one).split() for one in names):
            names.append(name)
    return names[:_MOST_NAMES]


def running_years(pages: Sequence[str]) -> list[int]:
    """Years that the first or last two lines of at least half of the pages bear, the most frequent first."""
    seen: Counter[int] = Counter()
    pages = _sample(pages)
    for page in pages:
        lines = [line for line in page.split("\n") if line.strip()]
        seen.update(_years(dict.fromkeys([*lines[:2], *lines[-2:]])))
    return [year for year, count in seen.most_common() if count >= max(_LEAST_PAGES, _SHARE * len(pages))]


def _sample(pages: Sequence[str]) -> Sequence[str]:
    step = max(1, len(pages) / _SAMPLED)
    return [pages[int(at * step)] for at in range(min(len(pages), _SAMPLED))]


def _years(lines: Iterable[str]) -> set[int]:
    return {m.period.year for line in lines if any(c.isdigit() for c in line) for m in find_periods(line[:200])} - {0}


def _may_name(key: str) -> bool:
    return len(key) > 2 and key not in STOP_WORDS and key not in GENERIC and not any(name_finder().find(key))
