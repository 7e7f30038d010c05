"""Numbered clauses in plain lines (``第五十四条 …``, ``Article 12``, ``§ 5``), which become sections of a document.

A line with such a number is a clause if the numbers are consecutive: its number follows the previous clause, or the
next clause follows it. So references at the start of a line and lists of contents are not clauses.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hybrid_core.text.identifiers import roman as roman_value
from indexers.outline.candidates import run_in
from indexers.outline.numbering import PARTS, RANKS, han_value, numbering

_KINDS = frozenset(
    "part book title volume chapter section article item note appendix annex schedule division subpart subsection "
    "par".split()
)
_MARKS = re.compile(r"[\s*_\u3000]*")
_BOLD = re.compile(r"[\s\u3000]*(\*\*|__)(?P<words>.+?)\1")
_BRANCH = re.compile(r"[条條](?:之|の)([一二三四五六七八九十\d]+)")  # 第一百二十条之一
_GOES_ON = re.compile(r"[*_]*(?:$|[\s\u3000:：.、，,)）【\[（(|–—-])")
_WORD_START = re.compile(r"\W*([^\W\d_])")
_NAME_IN_BRACKETS = re.compile(r"[\s\u3000]*【[^】]{1,60}】")
_ENDED = re.compile(r"[.;:!?。；：！？）)”\"」]\W*$")
_STOPS = ".;:,。；：，、"
_SECTION = re.compile(  # below the first level a title may begin like "404 Not Found", and a short one like "http URL"
    r"(?:(?P<deep>\d{1,3}(?:\.\d{1,3}){1,5}\.?)[ \t]{1,6}(?:[^\W_a-z]|[a-z](?=\S*(?:\s\S+){0,3}$))"
    r"|(?P<top>\d{1,3}\.?)[ \t]{1,6}[^\W\d_a-z]).{0,76}"
)
_ROMAN = re.compile(r"[ \t]{0,40}([IVXLC]{1,7})\.?(?:[ \t]{1,6}((?:[“\"'(]?[A-ZÀ-Þ]).{0,76})|[ \t]*)")  # "IV. The Pool"
_WRAPPED = 45  # minimum characters of a title that may continue on a second line
_LEADER = re.compile(r"\.{3,}|(?: \.){3,}|\s{2,}\d{1,4}$")
_DECIMAL = "decimal"
_LONGEST_TITLE, _BEGINNING = 80, 30
_LEAST = 3  # minimum clauses of a kind; two if the kind has a word of its own
_CONTENTS = 4  # this many consecutive numbered lines without text are a list of contents


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause. ``kind`` is a numbering scheme of outline.numbering; ``line`` is the line's index in the document."""

    line: int
    kind: str
    value: tuple[int, ...]
    title: str


def looks_like_clause(text: str) -> bool:
    """Return whether a line begins like a clause, so that a page may end before it."""
    return _read_clause(0, text) is not None


def find_clauses(lines: Iterable[tuple[int, str]], breaks: Sequence[int], text: Sequence[str]) -> list[Clause]:
    """Return the clauses of a document, in order.

    ``text`` has all lines of the document. ``lines`` are the (index, line) that may begin a clause: no headings, lists,
    tables or code. ``breaks`` are the indexes of the document's headings.
    """
    candidates = [clause for at, line in lines if (clause := _read_clause(at, line) or _section(at, line, text))]
    candidates = _without_contents(candidates, breaks, text)
    clauses: list[Clause] = []
    for kind in {clause.kind for clause in candidates}:
        run = _consecutive_clauses([clause for clause in candidates if clause.kind == kind])
        if len(run) >= (2 if kind in RANKS or kind in PARTS or kind == "chapter" else _LEAST):
            clauses += (
                run if kind != _DECIMAL else [replace(clause, kind=f"{kind}{len(clause.value)}") for clause in run]
            )
    return sorted(clauses, key=lambda clause: clause.line)


def clause_levels(clauses: Sequence[Clause]) -> list[int]:
    """Return the levels, from 1, of clauses under one heading.

    A clause with a numbering scheme that is new under this heading is one level below the clause before it.
    """
    open_kinds: list[str] = []
    levels = []
    for clause in clauses:
        if clause.kind in open_kinds:
            del open_kinds[open_kinds.index(clause.kind) :]
        while open_kinds and clause.kind in RANKS and RANKS.get(open_kinds[-1], -1) >= RANKS[clause.kind]:
            open_kinds.pop()
        open_kinds.append(clause.kind)
        levels.append(len(open_kinds))
    return levels


def _read_clause(at: int, line: str) -> Clause | None:
    text = line[_MARKS.match(line).end() :] if _MARKS.match(line) else line  # type: ignore[union-attr]
    number = numbering(text[:40])
    if number is None or number.kind not in _KINDS | RANKS.keys() | {"hanlist"}:
        return None
    written = text[: number.end].rstrip(" \t|:.–—-*")
    value = number.value
    if branch := _BRANCH.search(text[: number.end + 5]):
        written = text[: branch.end()]
        value = (*value, han_value(branch[1]))
    after = text[len(written) :]
    if number.kind == "hanlist":
        after = text[number.end :]
    elif not _GOES_ON.match(after) or (
        number.kind not in RANKS and _continues_sentence(after) and not _NAME_IN_BRACKETS.match(after)
    ):
        return None
    return Clause(at, number.kind, value, _clause_title(line, text, written, number.kind))


def _continues_sentence(after: str) -> bool:
    """Return whether the text after a number begins in lower case, as in "Section 3 describes"."""
    word = _WORD_START.match(after)
    return word is not None and word[1].islower()


def _section(at: int, line: str, text: Sequence[str]) -> Clause | None:
    """Return the clause of a numbered title that is alone at the margin, as in RFCs: "3.1 Title". Return None for any
    other line.
    """
    if at and text[at - 1].strip():
        return None
    if (roman := _ROMAN.fullmatch(line.rstrip())) is not None and not (at + 1 < len(text) and text[at + 1].strip()):
        number = numbering(f"{roman[1]}.")
        title = (roman[2] or "").strip()
        if number is None or number.kind not in ("roman-upper", "letter-upper") or _ENDED.search(title):
            return None
        return Clause(at, "roman", (roman_value(roman[1]),), " ".join(line.split()))
    titled = _SECTION.fullmatch(line.rstrip())
    if titled is None:
        return None
    below, after = (text[at + more].strip() if at + more < len(text) else "" for more in (1, 2))
    if below and not after and titled["deep"] and len(line) >= _WRAPPED and _is_title(below):
        line = f"{line.rstrip()} {below}"
    elif below:
        return None
    if _ENDED.search(line) or _LEADER.search(line):
        return None
    value = tuple(int(part) for part in (titled["deep"] or titled["top"]).rstrip(".").split("."))
    return Clause(at, _DECIMAL, value, " ".join(line.split()))


def _is_title(text: str) -> bool:
    """Return whether the words of a line are capitalised like an English title."""
    words = [word for word in text.split() if len(word) > 3]
    return bool(words) and len(text) < _WRAPPED and all(word[:1].isupper() for word in words)


def _clause_title(line: str, text: str, written: str, kind: str) -> str:
    bold = _BOLD.match(line)
    if bold and len(bold["words"]) <= _LONGEST_TITLE:
        return bold["words"].strip(_STOPS + " ")
    plain = text.replace("**", "").replace("__", "").strip()
    if len(plain) <= _LONGEST_TITLE and plain.isupper() and plain.endswith("."):  # "SEC. 2. FINDINGS."
        return plain[:-1]
    if len(plain) <= _LONGEST_TITLE and not _ENDED.search(plain) and kind not in ("han-条", "han-條"):
        return plain
    if kind in ("han-条", "han-條"):
        named = _NAME_IN_BRACKETS.match(text, len(written))
        return " ".join((written + (named.group() if named else "")).split())
    if kind == "hanlist":
        beginning = re.split("[，。；：,;:]", plain)[0]
        return beginning if len(beginning) <= _BEGINNING else beginning[: _BEGINNING - 1] + "…"
    return run_in(plain) or " ".join(written.split())


def _without_contents(clauses: Sequence[Clause], breaks: Sequence[int], text: Sequence[str]) -> list[Clause]:
    """Remove runs of short numbered lines without text, which are a list of contents."""
    body: list[Clause] = []
    stretch: list[Clause] = []
    for clause in clauses:
        if stretch and not _next_to(stretch[-1].line, clause.line, breaks, text):
            body += stretch if len(stretch) < _CONTENTS else []
            stretch = []
        if len(text[clause.line]) > _LONGEST_TITLE or _ENDED.search(text[clause.line]):
            body += (stretch if len(stretch) < _CONTENTS else []) + [clause]
            stretch = []
        else:
            stretch.append(clause)
    return body + (stretch if len(stretch) < _CONTENTS else [])


def _next_to(line: int, other: int, breaks: Sequence[int], text: Sequence[str]) -> bool:
    at = bisect_left(breaks, line)
    return not (at < len(breaks) and breaks[at] < other) and not any(text[i].strip() for i in range(line + 1, other))


def _consecutive_clauses(candidates: Sequence[Clause]) -> list[Clause]:
    """Return the clauses whose numbers continue the previous clause or begin a sequence."""
    places: dict[tuple[int, ...], list[int]] = {}
    for i, clause in enumerate(candidates):
        places.setdefault(clause.value, []).append(i)
    clauses: list[Clause] = []
    last: tuple[int, ...] | None = None
    for i, clause in enumerate(candidates):
        goes_on = last is not None and _follows(last, clause.value)
        begins = i + 1 < len(candidates) and _follows(clause.value, candidates[i + 1].value)
        if begins and last is not None and clause.value[-1] != 1:
            begins = clause.value > last and not any(places.get(after, [-1])[-1] > i for after in _next_values(last))
        if goes_on or begins:
            clauses.append(clause)
            last = clause.value
    return clauses


def _next_values(value: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the numbers that may follow a number: after 3.2 come 3.2.1, 3.3, 4 or 4.1."""
    after = [(*value, 1)]
    for depth in range(len(value)):
        up = (*value[:depth], value[depth] + 1)
        after += [up, (*up, 1)]
    return after


def _follows(value: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return other in _next_values(value)
