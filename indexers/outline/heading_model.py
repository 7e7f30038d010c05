"""The learned model of headings: features of each possible heading, and boosted trees over them.

The features are the line's look, position, words, numbering and neighbours, and the verdict of the rules. Further
features are means over lines of the same style and numbering. ``headings.json`` beside this file contains the trees.
``eval fit-headings`` learned them from authors' outlines.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import log1p
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from indexers.outline.candidates import PossibleHeading
from indexers.outline.heading import Heading
from indexers.outline.layout import Settled, in_sequence
from indexers.outline.numbering import Numbering, compact, numbering
from indexers.outline.toc import opens_contents
from indexers.outline.view import DocumentView, PageView, spacing

_OWN = (
    "ratio rise bold above below indent off_centre width y lines page_top position "
    "characters words full_stop capitalised digits signs numbered in_sequence "
    "prominence kept look_share title repeats repeat_share listed listed_level contents larger_looks size_to_listed "
    "text next_size next_length"
).split()
_MEANS = (
    "listed in_sequence kept full_stop characters text repeats above numbered capitalised prominence digits".split()
)
_GROUPS = ("style", "look", "numbering")
_GROUP_SIZES = ("count", "per_page", "pages")
_DOCUMENT = (
    "pages",
    "candidates",
    "entries",
    "located",
    "listed_share",
    "numbered_share",
    "cjk",
    "kept_share",
    "decimals_listed",
)
FEATURES = (
    *_OWN,
    *(f"{group}_{name}" for group in _GROUPS for name in (*_MEANS, *_GROUP_SIZES)),
    *(f"document_{name}" for name in _DOCUMENT),
)
"""The columns of ``evidence``, in order."""
_AT = {name: at for at, name in enumerate(_OWN)}
_MEAN_COLUMNS = [_AT[name] for name in _MEANS]
_FAR, _MUCH = 4.0, 1500.0  # maximum of the features for white space (lines) and text (characters)
_PAGE = 600.0  # characters of a page whose text was not counted
_TOP = 0.35  # share of a page that counts as its upper part
_SIGNS = frozenset(",;()[]{}=<>/\\|+*_@")


@dataclass(frozen=True, slots=True)
class Possible:
    """A possible heading, from printed contents, bookmarks or layout.

    ``look`` is None if no line of its page looks like this heading. ``entry`` is True if contents or bookmarks list it,
    ``likely`` if the rules accept it, and ``title`` if it is the document's title.
    """

    heading: Heading
    look: PossibleHeading | None
    entry: bool = False
    likely: bool = False
    title: bool = False

    @property
    def last(self) -> int:
        """Return the index of the last line (unit) of the possible heading."""
        c, first = self.look, self.heading.unit
        return c.last if c is not None and c.unit <= first <= c.last else first

    @property
    def number(self) -> Numbering | None:
        return self.look.number if self.look else numbering(self.heading.title)


def evidence(items: Sequence[Possible], rules: Settled, doc: DocumentView, located: float) -> Floats:
    """Return the features of each possible heading, in reading order: float64 (items, features).

    ``located`` is the share of the entries of printed contents whose title was found on a page.
    """
    own = _Rows(items, rules, doc).values()
    pages = len(doc.pages)
    keys: tuple[list[Hashable], ...] = (
        [(item.look.look, _scheme(item)) if item.look else None for item in items],
        [item.look.look if item.look else None for item in items],
        [_scheme(item) for item in items],
    )
    page = np.array([item.heading.page for item in items])
    parts = [own, *(_grouped(own, key, page, pages) for key in keys)]
    listed, likely = own[:, _AT["listed"]], own[:, _AT["kept"]]
    whole = (
        pages, len(items) / pages, listed.sum() / pages, located, listed.sum() / max(1.0, likely.sum()),
        own[:, _AT["numbered"]].mean(), float(_is_cjk(doc)), likely.mean(), _decimals_listed(items),
    )  # fmt: skip
    return np.hstack([*parts, np.tile(whole, (len(items), 1))])


def _decimals_listed(items: Sequence[Possible]) -> float:
    """Return the share of headings numbered like 1.2 that contents or bookmarks list; -1 without such headings."""
    listed = [item.entry for item in items if item.number and item.number.kind.startswith("decimal")]
    return sum(listed) / len(listed) if listed else -1.0


def style_numbers(items: Sequence[Possible]) -> npt.NDArray[np.int64]:
    """Return an integer for each possible heading that identifies its style.

    A style is the look and kind of numbering or, without a look, the level in bookmarks or contents.
    """
    numbers: dict[Hashable, int] = {}
    keys = ((item.look.look, _scheme(item)) if item.look else item.heading.level for item in items)
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)


def _scheme(item: Possible) -> tuple[str, int]:
    number = item.number
    return (number.kind, len(number.value)) if number else ("", 0)


def _is_cjk(doc: DocumentView) -> bool:
    texts = (unit.text[:40] for page in doc.pages[:10] for unit in page.units[:30])
    return sum(character > "⺀" for text in texts if not text.isascii() for character in text) > 200


def _grouped(own: Floats, keys: Sequence[Hashable], page: npt.NDArray[np.int64], pages: int) -> Floats:
    """Return for each row of features the means over all rows with the same key, and the size of this group.

    A row with the key None gets zeros.
    """
    numbers: dict[Hashable, int] = {}
    group = np.array([numbers.setdefault(key, len(numbers)) for key in keys])
    counts = np.bincount(group).astype(np.float64)
    sums = np.zeros((len(numbers), len(_MEAN_COLUMNS)))
    np.add.at(sums, group, own[:, _MEAN_COLUMNS])
    spread = np.bincount(np.unique(np.stack([group, page]), axis=1)[0], minlength=len(numbers))
    sizes = np.stack([np.log1p(counts), counts / pages, spread / counts], axis=1)
    means = np.hstack([sums / counts[:, None], sizes])
    if None in numbers:
        means[numbers[None]] = 0.0
    return np.asarray(means[group])


class _Rows:
    """The features of single possible headings, one row for each."""

    def __init__(self, items: Sequence[Possible], rules: Settled, doc: DocumentView) -> None:
        self._items, self._looks, self._doc = items, rules.looks, doc
        looks = [item.look for item in items if item.look]
        self._in_sequence = {id(c) for c, follows in zip(looks, in_sequence(looks), strict=True) if follows}
        self._sizes = sorted({c.size for c in rules.headings})
        self._smallest = min((item.look.size for item in items if item.entry and item.look), default=0.0)
        self._texts = [compact(item.heading.title) for item in items]
        self._repeats = Counter(self._texts)
        lefts = Counter(round(unit.x0 / 4) for page in doc.pages for unit in page.units if len(unit.text) > 30)
        self._left = 4.0 * (lefts.most_common(1)[0][0] if lefts else 0)
        self._spaces: dict[int, tuple[list[float], list[float]]] = {}

    def values(self) -> Floats:
        return np.array([self._row(at) for at in range(len(self._items))], np.float64)

    def _row(self, at: int) -> tuple[float, ...]:
        item = self._items[at]
        page = self._doc[item.heading.page]
        return (
            *self._look_and_place(item, page),
            *self._words(item),
            *self._rules(item),
            *self._whole(at, item),
            *self._neighbours(at, item, page),
        )

    def _look_and_place(self, item: Possible, page: PageView) -> tuple[float, ...]:
        first, last, position = item.heading.unit, item.last, item.heading.page / len(self._doc.pages)
        body = self._doc.body
        if first < 0 or body is None:
            return (1, 0, 0, _FAR, _FAR, 0, 0, 1, 0, 1, 0, position)
        above, below = (item.look.above, item.look.below) if item.look else self._space(page, first)
        run = page.units[first : last + 1]
        unit, size = run[0], body.size or 1.0
        x0, x1 = min(line.x0 for line in run), max(line.x1 for line in run)
        width, y = page.page.width or 1.0, run[0].y0 / (page.page.height or 1.0)
        return (
            unit.size / size, item.look.rise if item.look else 0, unit.bold and not body.bold,
            min(_FAR, above / size), min(_FAR, below / size),
            (x0 - self._left) / width, abs((x0 + x1) / 2 - width / 2) / width, (x1 - x0) / width, y, len(run),
            first <= 1 and y < _TOP, position,
        )  # fmt: skip

    def _space(self, page: PageView, unit: int) -> tuple[float, float]:
        """Return the white space above and below a line that has not been measured as a candidate, in points."""
        number = page.page.number
        if number not in self._spaces:
            self._spaces[number] = spacing(page.units)
        above, below = self._spaces[number]
        return above[unit], below[unit]

    def _words(self, item: Possible) -> tuple[float, ...]:
        title, number = item.heading.title, item.number
        words = title[number.end if number else 0 :].split()
        named = [word[0].isupper() for word in words if word[0].isalpha()]
        length = max(1, len(title))
        return (
            len(title), len(words), title[-1:] in ".。", sum(named) / len(named) if named else 0.5,
            sum(map(str.isdigit, title)) / length, sum(map(_SIGNS.__contains__, title)) / length,
            number is not None, id(item.look) in self._in_sequence,
        )  # fmt: skip

    def _rules(self, item: Possible) -> tuple[float, ...]:
        c = item.look
        if c is None:
            return (0.5, item.likely, 0.5, item.title)
        return (c.prominence, item.likely, self._looks.share(c), item.title)

    def _whole(self, at: int, item: Possible) -> tuple[float, ...]:
        times = self._repeats[self._texts[at]]
        larger = sum(size > item.look.size + 0.2 for size in self._sizes) if item.look else 0
        return (
            log1p(times), times / len(self._doc.pages), item.entry, item.heading.level if item.entry else 0,
            opens_contents(item.heading.title), larger,
            item.look.size / self._smallest if item.look and self._smallest else 1,
        )  # fmt: skip

    def _neighbours(self, at: int, item: Possible, page: PageView) -> tuple[float, ...]:
        first, last, units = item.heading.unit, item.last, page.units
        after = self._items[at + 1].heading if at + 1 < len(self._items) else None
        same_page = after is not None and after.page == item.heading.page
        if first < 0:
            return (log1p(_PAGE / 2 if same_page else _PAGE), 1, 0)
        if after is None or after.page > item.heading.page + 1:
            text = _PAGE
        elif same_page:
            text = sum(len(unit.text) for unit in units[last + 1 : max(0, after.unit)])
        else:
            text = _PAGE / 3 + sum(len(unit.text) for unit in units[last + 1 :])
        below = units[last + 1] if last + 1 < len(units) else None
        size = units[first].size or 1.0
        return (log1p(min(_MUCH, text)), below.size / size if below else 1, len(below.text) if below else 0)


Floats = npt.NDArray[np.float64]
SHIPPED = Path(__file__).with_name("headings.json")
PRIOR = 1.5
"""The log odds of a heading that the rules accept, to which the trees add. For a rejected one they are negative."""
_TOGETHER = 0.5  # weight of the other lines of a style in the score of a line
_BOLD = 0.8  # factor on the best threshold for F1, since for readers a missing heading is worse than a wrong one


@dataclass(frozen=True, slots=True, eq=False)
class BoostedTrees:
    """Boosted decision trees of equal depth.

    ``columns`` and ``bounds`` (trees, depth) are the tests: a row goes right if its value in the column is above the
    bound. ``leaves`` (trees, 2 ** depth) are the values that a tree adds. The result of the first test is the lowest
    bit of the leaf's index.
    """

    columns: npt.NDArray[np.int64]
    bounds: Floats
    leaves: Floats

    def scores(self, values: Floats) -> Floats:
        """Return the log odds that the trees add for each row of ``values``, float64 (rows, features)."""
        trees, depth = self.columns.shape
        right = values[:, self.columns.ravel()] > self.bounds.ravel()
        leaf = right.reshape(len(values), trees, depth) @ (1 << np.arange(depth))
        return np.asarray(self.leaves[np.arange(trees), leaf].sum(axis=1))


def likelihoods(
    trees: BoostedTrees, values: Floats, likely: npt.NDArray[np.bool_], styles: npt.NDArray[np.int64]
) -> Floats:
    """Return the probability that each row is a heading, float64 (rows,).

    likely: bool (rows,), whether the rules make it a heading. styles: int64 (rows,), the number of its style. Lines of
    one style influence each other: the log odds are halfway between a line's own and the mean of its style.
    """
    odds = trees.scores(values) + np.where(likely, PRIOR, -PRIOR)
    means = np.bincount(styles, odds) / np.maximum(1, np.bincount(styles))
    return np.asarray(1 / (1 + np.exp(-(1 - _TOGETHER) * odds - _TOGETHER * means[styles])))


def choose(chances: Floats) -> npt.NDArray[np.bool_]:
    """Return for each row whether it is a heading.

    Its probability must be above the threshold with the best expected F1, which is half of that F1 (Lipton, Elkan and
    Narayanaswamy 2014).
    """
    falling = np.sort(chances)[::-1]
    best = (2 * falling.cumsum() / (np.arange(1, len(falling) + 1) + falling.sum())).max(initial=0.0)
    return np.asarray(chances >= _BOLD * best / 2)


@cache
def heading_model() -> BoostedTrees:
    """Return the trees of the heading model that the package contains."""
    return read_trees(json.loads(SHIPPED.read_text(encoding="utf-8")))


def read_trees(written: Mapping[str, Any]) -> BoostedTrees:
    """Return trees from the content of ``headings.json``, which refers to features by name."""
    at = {name: column for column, name in enumerate(FEATURES)}
    columns = np.array([[at[name] for name in tree["features"]] for tree in written["trees"]], np.int64)
    bounds, leaves = (np.array([tree[key] for tree in written["trees"]], np.float64) for key in ("bounds", "leaves"))
    return BoostedTrees(columns, bounds, leaves)
