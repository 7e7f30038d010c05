"""The first outline of made trees: within its tokens whatever the tree, with the places that roles ask for."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_core.llm.budget import estimate
from hybrid_core.text.terms import TermCounts
from hybrid_core.types.documents import Section
from retrievers.candidates.documents import CandidateDocument
from retrievers.query.expert import Role, pattern
from retrievers.ranking.walk import DocumentScores
from retrievers.reason.board import Board
from retrievers.reason.outline import _Lines, opened, outline
from retrievers.trees.content import Content, children_of
from tests.retrievers.made_documents import document

Node = tuple[int, str, int, int]  # level, title, first and last page
MOST = 1500
STATEMENTS = ("balance sheet", "statement of income", "statement of cash flows", "statement of equity")
ROLES = [Role(name, pattern(name, "a test")) for name in STATEMENTS]


def tree(*nodes: Node) -> tuple[Section, ...]:
    """Sections in preorder."""
    path: list[tuple[int, str]] = []
    made = []
    for number, (level, title, first, last) in enumerate(nodes, 1):
        path = [one for one in path if one[0] < level]
        name = f"{number:04d}"
        made.append(Section(name, path[-1][1] if path else None, level, title, first, last))
        path.append((level, name))
    return tuple(made)


def board(*documents: tuple[tuple[Section, ...], list[float]]) -> Board:
    """``documents`` are their sections and the values of their pages."""
    scores = []
    for number, (sections, values) in enumerate(documents):
        empty = TermCounts.build([{} for _ in values], [0] * len(values))
        content = Content(f"c{number}", empty, empty, sections, children_of(sections))
        made = replace(document(f"d{number}"), pages=len(values), sections=len(sections))
        candidate = CandidateDocument(made, content, 1.0 - number / 100, 1.0, 0.0, "")
        scores.append(DocumentScores(candidate, np.array(values), np.zeros(len(sections)), {}))
    found = [(value, doc, at) for doc, (_, values) in enumerate(documents) for at, value in enumerate(values, 1)]
    return Board(scores, [(doc, at) for value, doc, at in sorted(found, key=lambda one: -one[0]) if value > 0])


@st.composite
def documents(draw: st.DrawFn) -> tuple[tuple[Section, ...], list[float]]:
    pages = draw(st.integers(1, 60))
    nodes: list[Node] = []

    def part(first: int, last: int, level: int) -> None:
        at = first
        while at <= last and len(nodes) < 300:
            end = draw(st.integers(at, last))
            title = draw(st.sampled_from(["Note", "A heading " * 12, "综合资产负债表" * 9, "Balance sheet"]))
            nodes.append((level, title, at, end))
            if level < 5 and draw(st.booleans()):
                part(at, end, level + 1)
            at = end if end > at else end + draw(st.integers(0, 1))

    part(1, pages, 1)
    values = draw(st.lists(st.floats(0, 1), min_size=pages, max_size=pages))
    return tree(*nodes), values


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(documents(), min_size=1, max_size=6), st.integers(250, MOST))
def test_an_outline_keeps_within_its_tokens_whatever_the_tree(
    made: list[tuple[tuple[Section, ...], list[float]]], tokens: int
) -> None:
    marks = {(doc, page): "[Figure 3: " + "标" * 60 + "]" for doc in range(6) for page in range(1, 30)}
    shown = outline(board(*made), dict.fromkeys(range(6), ROLES), marks, tokens)
    assert estimate(shown.text) <= tokens


def report(first: int, notes: int) -> tuple[tuple[Section, ...], list[float]]:
    """Notes with long titles, each of a page and a good match, and behind them statements that match nothing."""
    nodes: list[Node] = [(1, f"Notes of report {first} that go on and on", 1, notes)]
    nodes += [(2, f"Note {at} of the report {first} on pumps and their upkeep", at, at) for at in range(1, notes + 1)]
    nodes.append((1, "Financial statements", notes + 1, notes + 9))
    for at, name in enumerate(STATEMENTS):
        page = notes + 1 + 2 * at
        nodes += [(2, title, page, page + 1) for title in ("Report", "Terms", "Opinion", f"Consolidated {name}")]
    return tree(*nodes), [1 - at / 1000 for at in range(notes)] + [0.0] * 9


def test_the_places_of_roles_have_a_line_where_the_best_pages_alone_would_fill_the_outline() -> None:
    made = [report(number, 12) for number in range(3)]
    roles = dict.fromkeys(range(3), ROLES)
    for tokens in (650, 800, 1020):
        shown = outline(board(*made), roles, {}, tokens)
        assert estimate(shown.text) <= tokens
        for under in re.split(r"^(?=D\d+ )", shown.text, flags=re.MULTILINE):
            if "page " in under:
                assert all(f"Consolidated {name}" in under for name in STATEMENTS), (tokens, under)


def test_the_pages_of_roles_are_left_out_again_where_the_tokens_do_not_suffice() -> None:
    sections, values = report(1, 12)
    lines = _Lines(board((sections, values)), {})
    lines.room = 400
    lines.add(0, 1)
    for at, section in enumerate(sections):
        if section.title.startswith("Consolidated"):
            lines.add_role(0, at, reserve=10_000)  # so that there is no room for the sections above it
    assert len(lines.within(400).pages) > 1
    assert len(lines.within(40).pages) == 1


def test_all_headings_of_the_best_pages_are_listed() -> None:
    titles = [f"Heading {number}" for number in range(9)]
    nodes: list[Node] = [(1, "All", 1, 9), *((2, title, 5, 5) for title in titles), *((2, t, 7, 7) for t in titles)]
    shown = outline(board((tree(*nodes), [0.1] * 4 + [1.0] + [0.1] * 4)), {}, {}, MOST).text
    assert f"page 5 · {' | '.join(titles)}" in shown
    few = outline(board((tree(*nodes), [1.0] * 9)), {}, {}, MOST).text
    assert f"page 5 · {titles[0]} | {titles[1]} | 7 more" in few, "the fifth of the best pages"


def test_siblings_that_only_repeat_their_parents_pages_are_one_line() -> None:
    nodes = [
        (1, "Report", 1, 20), (2, "Notes", 3, 9), (3, "Pumps", 3, 9), (3, "Weirs", 3, 9), (3, "Locks", 3, 9),
        (2, "Costs", 10, 19), (3, "Oil", 10, 10), (3, "Coal", 10, 10), (3, "Wages", 11, 19), (2, "End", 20, 20),
    ]  # fmt: skip
    made = board((tree(*nodes), [0.5] * 20))
    assert opened(made, 0, 1, MOST).splitlines()[1:] == [
        " D1.0003 Pumps | D1.0004 Weirs | D1.0005 Locks · pages 3-9 · best 3, 4, 5"
    ]
    assert opened(made, 0, 5, MOST).splitlines()[1:] == [
        " page 10 · Oil | Coal", " D1.0009 Wages · pages 11-19 · best 11, 12, 13"
    ]  # fmt: skip
    alone = tree((1, "Report", 1, 30), (2, "Annex", 4, 12), (3, "Annex of maps", 4, 12), (4, "Map", 6, 6))
    shown = outline(board((alone, [0.0] * 5 + [1.0] + [0.0] * 24)), {}, {}, MOST).text
    assert "Annex of maps · pages 4-12" in shown and "Annex · pages" not in shown, "one of two on the same pages"


def test_parts_without_promise_are_counted_and_not_named_and_two_levels_stand_above_a_page() -> None:
    nodes = [
        (1, "Part I", 1, 29), (2, "Markets", 1, 29), (1, "Part II", 30, 59), (2, "Accounts", 30, 58),
        (3, "Statements", 36, 49), (4, "Cash", 40, 46), (1, "Part III", 60, 79), (1, "Part IV", 80, 90),
    ]  # fmt: skip
    values = [0.2] * 29 + [0.1] * 11 + [0.9, 1.0] + [0.9] * 4 + [0.1] * 13 + [0.4] * 20 + [0.1] * 11
    shown = outline(board((tree(*nodes), values)), {}, {}, MOST).text
    assert "Part III (60-79)" in shown and "2 more: expand D1" in shown, "what may hold it is named"
    assert not re.search(r"Part I\b|Part IV", shown) and "Markets" not in shown
    above = shown[: shown.index("page 42")]
    assert "Cash · pages 40-46" in above and "Statements · pages 36-49" in above
    assert "Accounts" not in above
