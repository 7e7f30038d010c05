"""Compare two documents, or a section of each: match sections, then compare their words. No model is used."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any, Literal
from urllib.parse import quote

from hybrid_core.errors import NotFoundError, UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.text.tokens import fold
from hybrid_core.types.documents import Document, Section
from hybrid_core.types.exhaustive import CompareRequest
from hybrid_pageindex.engine.documents import reading

Kind = Literal["added", "removed", "changed", "moved"]
_ALIKE = 0.5  # share of common words from which two sections with different titles match
_SAME_TITLE = 0.15  # share of common words from which sections with equal titles but different parents match
_PAIRS = 200_000  # maximum pairs of sections whose words are compared
_FEWEST = 8  # minimum words of a section that is matched by its text alone
_LONGEST = 3_000  # maximum words of a passage that is compared word by word
_PASSAGE = 80  # maximum words of one unit of text
_MAX_WORDS_SHOWN = 60  # maximum words shown on each side of a difference
_LABEL = 8  # words before a figure that label it
_NUMBER = re.compile(r"[(\[]?[-\u2212+]?[$\u20ac\u00a3\u00a5]?\(?\d[\d,.]*\)?%?[)\],;:.]*")
_NUMBERING = re.compile(
    r"^(?:(?:(?:item|section|article|clause|part|chapter|note|§|art\.?)\s*)?[\divxlc]+(?:[.)]\d+)*[a-z]?[.):]?(?:\s+|$)"
    r"|第[\d\u96f6\u3007一二三四五六七八九十百千]+[编編章节節条條款](?:之[一二三四五六七八九十]+)?\s*)", re.I
)  # fmt: skip
_UNSPACED = "\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uff9f"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+")
"""A word. In Chinese and Japanese, which have no spaces, each character is a word."""
_SENTENCE_END = (".", ";", "!", "?", "\u3002", "\uff1b", ":")


@dataclass(frozen=True, slots=True)
class TextChange:
    """Words of the left side and the words that replace them on the right side.

    A side without words is "". ``…`` marks omitted words.
    """

    before: str
    after: str
    left_page: int
    right_page: int


@dataclass(frozen=True, slots=True)
class FigureChange:
    """A number that another one replaced. ``label`` is the text before it, which is equal on both sides."""

    label: str
    before: str
    after: str
    left_page: int
    right_page: int


@dataclass(frozen=True, slots=True)
class SectionSide:
    """A section of one of the two documents. ``link`` points to the page on which it begins."""

    node_id: str
    title: str
    path: tuple[str, ...]
    start_page: int
    end_page: int
    link: str


@dataclass(frozen=True, slots=True)
class SectionChange:
    """A changed section. ``left`` is None if it was added, ``right`` is None if it was removed.

    ``similarity`` is the share of common words, 0 to 1. ``differences`` and ``figures`` count all changes, including
    those that ``changes`` and ``figure_changes`` omit. ``moved`` is True if its order or its parent differs.
    """

    kind: Kind
    left: SectionSide | None
    right: SectionSide | None
    similarity: float
    moved: bool
    differences: int = 0
    figures: int = 0
    changes: tuple[TextChange, ...] = ()
    figure_changes: tuple[FigureChange, ...] = ()


@dataclass(frozen=True, slots=True)
class ComparedDocument:
    doc_id: str
    document: str
    library: str
    title: str
    pages: int
    sections: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """A batch of changed sections, in the order of the right document, with counts of all sections.

    ``cursor`` requests the next batch; it is "" after the last one.
    """

    left: ComparedDocument
    right: ComparedDocument
    added: int
    removed: int
    changed: int
    moved: int
    unchanged: int
    sections: tuple[SectionChange, ...]
    cursor: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _OwnText:
    """A section with its own words, without those of its subsections, and the page of each word."""

    section: Section
    path: tuple[str, ...]
    words: tuple[str, ...]
    pages: tuple[int, ...]
    units: tuple[int, ...]  # indexes of the words at which passages begin
    bag: Counter[str]

    @property
    def title(self) -> str:
        return _plain_title(self.section.title)

    @property
    def named(self) -> bool:
        """Return whether the title is more than a number."""
        return bool(_name(self.section.title))


def compare(catalog: Catalog, request: CompareRequest) -> Comparison:
    """Compare the left with the right side of a request, which must name the library of both sides.

    Raise NotFoundError for an unknown document or section, UsageError for an invalid cursor.
    """
    limit, each, start = request.limit, request.each, _position(request.cursor)
    left, right = ((side.library, side.document, side.node) for side in (request.left, request.right))
    with catalog.snapshot() as snapshot:
        old, before = _read_sections(snapshot, *left)
        new, after = _read_sections(snapshot, *right)
    pairs = _align(before, after)
    changes = list(_changes(before, after, pairs, old, new))
    kinds = Counter(change.kind for change, _, _ in changes)
    moved = sum(change.moved for change, _, _ in changes)
    shown = [
        change if a is None or b is None else _detailed(change, a, b, each)
        for change, a, b in changes[start : start + limit]
    ]
    more = str(start + limit) if start + limit < len(changes) else ""
    unchanged = len(pairs) - sum(change.left is not None and change.right is not None for change, _, _ in changes)
    return Comparison(
        _compared(old), _compared(new), kinds["added"], kinds["removed"], kinds["changed"], moved, unchanged,
        tuple(shown), more,
    )  # fmt: skip


def _position(cursor: str) -> int:
    if cursor and not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 9):
        raise UsageError(
            "The cursor comes from a call with other arguments.",
            "Repeat that call with the same arguments, and add only the cursor.",
        )
    return int(cursor or 0)


def _compared(document: Document) -> ComparedDocument:
    return ComparedDocument(
        document.doc_id, document.name, document.library, document.title, document.pages, document.sections
    )


def _read_sections(snapshot: Snapshot, library: str, name: str, node: str) -> tuple[Document, list[_OwnText]]:
    document = reading.find_document(snapshot, library, name)
    sections = snapshot.sections(document.content_id)
    by_id = {section.node_id: section for section in sections}
    if node and node not in by_id:
        raise NotFoundError(
            f"{document.name} has no section {node}.", "Take a section from the outline of the document."
        )
    texts = dict(snapshot.texts(document.content_id))
    chosen = [part for part in sections if not node or _below(part, node, by_id)]
    children = {section.parent_id for section in sections}
    following = {part.node_id: after for part, after in zip(sections, (*sections[1:], None), strict=True)}
    owned = []
    for part in chosen:
        child = following[part.node_id] if part.node_id in children else None
        end = (child.start_page, child.anchor) if child else (part.end_page, part.end_anchor)
        owned.append(_own(part, reading.section_path(part, by_id), texts, end))
    return document, owned


def _below(section: Section, node: str, by_id: dict[str, Section]) -> bool:
    while section.node_id != node and section.parent_id is not None:
        section = by_id[section.parent_id]
    return section.node_id == node


def _own(section: Section, path: tuple[str, ...], texts: dict[int, str], end: tuple[int, int | None]) -> _OwnText:
    words: list[str] = []
    pages: list[int] = []
    units: list[int] = []
    ended = True
    for number in range(section.start_page, end[0] + 1):
        text = texts.get(number, "")
        first = section.anchor if number == section.start_page else 0
        for line in text[first : end[1] if number == end[0] else None].split("\n"):
            line_words = _WORD.findall(line)
            figures = sum(_NUMBER.fullmatch(word) is not None for word in line_words)
            if line_words and (ended or figures > 1):
                units.append(len(words))
            for word in line_words:
                if len(words) and (words[-1].endswith(_SENTENCE_END) or len(words) - (units or [0])[-1] >= _PASSAGE):
                    units.append(len(words))
                words.append(word)
                pages.append(number)
            ended = figures > 1 or not line_words
    marks = 1 if words and not words[0].strip("#=") else 0  # Markdown heading marks
    if _same_words(words[marks:], section.title):
        count = marks + len(_WORD.findall(section.title))  # skip the heading, because titles are compared separately
        words, pages = words[count:], pages[count:]
        units = [unit - count for unit in units if unit > count]
    units = sorted({0, *units}) if words else []
    return _OwnText(section, path, tuple(words), tuple(pages), tuple(units), _bag(words))


def _bag(words: Sequence[str]) -> Counter[str]:
    """Return the words, without case, with their numbers. Characters of scripts without spaces are counted in pairs."""
    bag = Counter(word.casefold() for word in words if not _unspaced(word))
    bag.update(a + b for a, b in pairwise(words) if _unspaced(a) and _unspaced(b))
    return bag


def _unspaced(word: str) -> bool:
    return len(word) == 1 and not word.isascii() and re.match(f"[{_UNSPACED}]", word) is not None


def _join_words(words: Sequence[str]) -> str:
    """Return words as text, with a space between words of scripts with spaces."""
    text = " ".join(words)
    return re.sub(rf"(?<=[{_UNSPACED}]) | (?=[{_UNSPACED}])", "", text) if not text.isascii() else text


def _same_words(words: Sequence[str], title: str) -> bool:
    title_words = _WORD.findall(fold(title))
    return [fold(word) for word in words[: len(title_words)]] == title_words


def _plain_title(title: str) -> str:
    """Return a title without its number, case and punctuation. Section numbers may differ between versions."""
    return _name(title) or fold(title)


def _name(title: str) -> str:
    """Return a title without its number, case and punctuation, "" for a title that is only a number."""
    return " ".join(re.findall(r"\w+", fold(_NUMBERING.sub("", title))))


def _align(before: Sequence[_OwnText], after: Sequence[_OwnText]) -> list[tuple[int, int]]:
    """Return pairs (left index, right index) of sections that correspond to each other.

    Sections are matched by path, then by title and words, then by words alone. Each section is in one pair at most. A
    title that is only a number counts for little, because one more section renumbers all sections after it.
    """
    left, right = dict.fromkeys(range(len(before))), dict.fromkeys(range(len(after)))
    pairs: list[tuple[int, int]] = []

    def take(a: int, b: int) -> None:
        pairs.append((a, b))
        del left[a], right[b]

    for key in (
        lambda section: (
            tuple(map(fold, section.path[1:] if len(section.path) > 1 else section.path)),
            section.section.title,
        ),
        lambda section: tuple(map(_plain_title, section.path[-2:])),
    ):
        for a, b in _unambiguous(before, after, left, right, key):
            if before[a].named or _similarity(before[a], after[b]) >= _ALIKE:
                take(a, b)
    for a, b, score in _scored(before, after, list(left), list(right)):
        same = before[a].named and before[a].title == after[b].title
        if a in left and b in right and score >= (_SAME_TITLE if same else _ALIKE):
            take(a, b)
    for a, b, score in _scored(before, after, [a for a in left if not before[a].named], list(right)):
        if a in left and b in right and score >= _SAME_TITLE and before[a].path == after[b].path:
            take(a, b)
    titles: dict[str, list[int]] = defaultdict(list)
    for b in right:
        titles[after[b].title].append(b)
    for a in list(left):  # one of both has no words: take the first free section with this title
        free = [b for b in titles.get(before[a].title, ()) if b in right]
        if free and not (before[a].words and after[free[0]].words):
            take(a, free[0])
    return sorted(pairs)


def _unambiguous(
    before: Sequence[_OwnText], after: Sequence[_OwnText], left: dict[int, None], right: dict[int, None], key: Any
) -> Iterator[tuple[int, int]]:
    """Yield pairs (left index, right index) of unmatched sections with equal keys that occur once on each side.

    ``left`` and ``right`` contain the indexes of the unmatched sections.
    """
    sides: list[dict[Any, list[int]]] = [defaultdict(list), defaultdict(list)]
    for owned, free, side in ((before, left, sides[0]), (after, right, sides[1])):
        for at in free:
            side[key(owned[at])].append(at)
    for name, own in sides[0].items():
        other = sides[1].get(name, [])
        if len(own) == len(other) == 1:
            yield own[0], other[0]


def _scored(
    before: Sequence[_OwnText], after: Sequence[_OwnText], left: Sequence[int], right: Sequence[int]
) -> list[tuple[int, int, float]]:
    """Return pairs of sections (left index, right index, similarity from 0 to 1), most similar first.

    If there are too many pairs, those with equal titles are compared first.
    """
    titled = [(a, b) for a in left for b in right if before[a].title == after[b].title]
    others = [
        (a, b) for a in left for b in right if before[a].title != after[b].title and _comparable(before[a], after[b])
    ]
    scored = [(a, b, _similarity(before[a], after[b])) for a, b in [*titled, *others][:_PAIRS]]
    size_a, size_b = max(1, len(before)), max(1, len(after))
    return sorted(
        scored,
        key=lambda change: (
            -change[2] - (before[change[0]].named and before[change[0]].title == after[change[1]].title),
            abs(change[0] / size_a - change[1] / size_b),
        ),
    )


def _comparable(a: _OwnText, b: _OwnText) -> bool:
    smaller, larger = sorted((len(a.words), len(b.words)))
    return smaller >= _FEWEST and smaller >= _ALIKE * larger / 2


def _similarity(a: _OwnText, b: _OwnText) -> float:
    total = a.bag.total() + b.bag.total()
    return 2 * (a.bag & b.bag).total() / total if total else float(a.title == b.title)


def _changes(
    before: Sequence[_OwnText],
    after: Sequence[_OwnText],
    pairs: Sequence[tuple[int, int]],
    old: Document,
    new: Document,
) -> Iterator[tuple[SectionChange, _OwnText | None, _OwnText | None]]:
    """Yield the changed sections with their texts, in the order of the right side.

    A removed section comes where it stood before.
    """
    still = _longest_ascending_run([b for _, b in pairs])
    parents = {after[b].section.node_id: before[a].section.node_id for a, b in pairs}
    of_right = {b: a for a, b in pairs}
    paired = dict(pairs)
    removed = [a for a in range(len(before)) if a not in paired]
    placed: list[tuple[tuple[float, int], SectionChange, _OwnText | None, _OwnText | None]] = []
    for b, section in enumerate(after):
        if b not in of_right:
            placed.append(((b, 1), SectionChange("added", None, _side(section, new), 0.0, False), None, section))
            continue
        other = before[of_right[b]]
        parent = section.section.parent_id
        moved = b not in still or (parent in parents and parents[parent] != other.section.parent_id)
        same = other.words == section.words
        if same and not moved and other.section.title == section.section.title:
            continue
        kind: Kind = "moved" if same and moved else "changed"
        similarity = round(_similarity(other, section), 3)
        placed.append(
            ((b, 1), SectionChange(kind, _side(other, old), _side(section, new), similarity, moved), other, section)
        )
    for a in removed:
        behind = max((paired[x] for x in range(a) if x in paired), default=-1)
        change = SectionChange("removed", _side(before[a], old), None, 0.0, False)
        placed.append(((behind + 0.5, a), change, before[a], None))
    for _, change, left, right in sorted(placed, key=lambda section: section[0]):
        yield change, left, right


def _longest_ascending_run(places: Sequence[int]) -> frozenset[int]:
    """Return the longest ascending subsequence of section positions. All other sections were moved."""
    tails: list[int] = []
    ends: list[int] = []
    before: dict[int, int | None] = {}
    for place in places:
        at = bisect_left(tails, place)
        before[place] = ends[at - 1] if at else None
        tails[at:] = [place, *tails[at + 1 :]]
        ends[at:] = [place, *ends[at + 1 :]]
    longest: set[int] = set()
    last = ends[-1] if ends else None
    while last is not None:
        longest.add(last)
        last = before[last]
    return frozenset(longest)


def _side(own: _OwnText, document: Document) -> SectionSide:
    section = own.section
    link = f"pageindex://{quote(document.library, safe='')}/{document.doc_id}/page/{section.start_page}"
    return SectionSide(section.node_id, section.title, own.path, section.start_page, section.end_page, link)


def _detailed(change: SectionChange, a: _OwnText, b: _OwnText, each: int) -> SectionChange:
    if change.kind != "changed":
        return change
    changes: list[TextChange] = []
    figures: list[FigureChange] = []
    for stretch in _differing_stretches(a, b):
        changes.append(_text_change(a, b, stretch))
        figures += _figure_changes(a, b, stretch)
    return replace(
        change, differences=len(changes), figures=len(figures), changes=tuple(changes[:each]),
        figure_changes=tuple(figures[:each]),
    )  # fmt: skip


def _differing_stretches(a: _OwnText, b: _OwnText) -> Iterator[tuple[int, int, int, int]]:
    """Yield the differing word ranges (left start, left end, right start, right end).

    Passages are compared first, then the words within them.
    """
    left, right = (_passages(section) for section in (a, b))
    ends = [(*section.units, len(section.words)) for section in (a, b)]
    for tag, i, j, k, m in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        first, last, start, end = ends[0][i], ends[0][j], ends[1][k], ends[1][m]
        if tag != "replace" or max(last - first, end - start) > _LONGEST:
            yield first, last, start, end
            continue
        words = SequenceMatcher(None, a.words[first:last], b.words[start:end], autojunk=False)
        for inner, p, q, r, s in words.get_opcodes():
            if inner != "equal":
                yield first + p, first + q, start + r, start + s


def _passages(section: _OwnText) -> list[tuple[str, ...]]:
    ends = (*section.units[1:], len(section.words))
    return [section.words[first:end] for first, end in zip(section.units, ends, strict=True)] if section.words else []


def _text_change(a: _OwnText, b: _OwnText, stretch: tuple[int, int, int, int]) -> TextChange:
    first, last, start, end = stretch
    return TextChange(
        _shorten_words(a.words[first:last]), _shorten_words(b.words[start:end]), _page_at(a, first), _page_at(b, start)
    )


def _shorten_words(words: Sequence[str]) -> str:
    if len(words) <= _MAX_WORDS_SHOWN:
        return _join_words(words)
    return f"{_join_words(words[: _MAX_WORDS_SHOWN // 2])} … {_join_words(words[-_MAX_WORDS_SHOWN // 2 :])}"


def _page_at(section: _OwnText, at: int) -> int:
    if not section.pages:
        return section.section.start_page
    return section.pages[min(at, len(section.pages) - 1)]


def _figure_changes(a: _OwnText, b: _OwnText, stretch: tuple[int, int, int, int]) -> Iterator[FigureChange]:
    """Yield the numbers that changed in a passage, paired in order.

    Yield none if the two sides have different counts of numbers.
    """
    first, last, start, end = stretch
    numbers = [
        [at for at in range(*part) if _NUMBER.fullmatch(section.words[at])]
        for section, part in ((a, (first, last)), (b, (start, end)))
    ]
    if len(numbers[0]) != len(numbers[1]):
        return
    for at, to in zip(*numbers, strict=True):
        before, after = (section.words[where].strip("()[],;:") for section, where in ((a, at), (b, to)))
        if before.rstrip(".") != after.rstrip("."):
            yield FigureChange(_label(b, to), before.rstrip("."), after.rstrip("."), _page_at(a, at), _page_at(b, to))


def _label(section: _OwnText, at: int) -> str:
    """Return the words in front of a number as its label. Leave out other numbers and currency signs."""
    words = [
        word
        for word in section.words[max(0, at - 3 * _LABEL) : at]
        if not _NUMBER.fullmatch(word) and word not in "$€£"
    ]
    return _join_words(words[-_LABEL:])
