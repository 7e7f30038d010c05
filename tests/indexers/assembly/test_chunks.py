"""Chunks and summaries of sections, fragment by fragment."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hybrid_core.text import tokens
from hybrid_core.types.documents import Page, Section
from indexers.assembly.chunks import ChunkSize, cut, own_ranges
from indexers.assembly.summaries import find_furniture, furniture_key, summarise


def page(number: int, words: str) -> Page:
    return Page(number, "", 600, 800, words, "")


def section(
    number: int, parent: int, level: int, title: str, start: tuple[int, int], end: tuple[int, int | None]
) -> Section:
    return Section(
        f"{number:04d}", f"{parent:04d}" if parent else None, level, title, start[0], end[0], start[1], end[1]
    )


@st.composite
def cut_documents(draw: st.DrawFn) -> tuple[list[Page], list[Section]]:
    """Pages of arbitrary text, flat sections beginning anywhere in it, some with one child."""
    texts = draw(st.lists(st.text(alphabet="ab. \n", max_size=60), min_size=1, max_size=4))
    pages = [page(n, t) for n, t in enumerate(texts, 1)]
    places = {(1, 0)}
    for _ in range(draw(st.integers(0, 4))):
        number = draw(st.integers(1, len(pages)))
        places.add((number, draw(st.integers(0, len(pages[number - 1].text)))))
    starts = sorted(places)
    sections = []
    for at, start in enumerate(starts):
        end: tuple[int, int | None] = starts[at + 1] if at + 1 < len(starts) else (len(pages), None)
        sections.append(section(at + 1, 0, 1, f"S{at + 1}", start, end))
    return pages, sections


@given(cut_documents())
def test_every_character_is_in_exactly_one_own_range(made: tuple[list[Page], list[Section]]) -> None:
    pages, sections = made
    covered = {n: [0] * len(p.text) for n, p in enumerate(pages, 1)}
    for _, (first, start), (last, end) in own_ranges(sections):
        for number in range(first, last + 1):
            stop = len(pages[number - 1].text) if number != last or end is None else end
            for at in range(start if number == first else 0, stop):
                covered[number][at] += 1
    assert all(count == 1 for counts in covered.values() for count in counts)


@given(cut_documents(), st.integers(5, 20))
def test_chunks_hold_all_text_and_stay_within_their_size(made: tuple[list[Page], list[Section]], most: int) -> None:
    pages, sections = made
    size = ChunkSize(chunk_least=most // 2, chunk_most=most, chunk_overlap=most // 4)
    chunks = cut(sections, pages, size)
    assert [c.number for c in chunks] == list(range(1, len(chunks) + 1))
    for number, shown in enumerate(pages, 1):
        held = set()
        for chunk in (c for c in chunks if c.page == number):
            assert 0 < chunk.end - chunk.start <= most
            held |= set(range(chunk.start, chunk.end))
        missing = [c for at, c in enumerate(shown.text) if at not in held]
        assert not "".join(missing).strip(), "only white space may be left out"


def test_own_text_of_a_parent_ends_where_its_first_child_begins() -> None:
    parent, child = section(1, 0, 1, "P", (1, 0), (2, None)), section(2, 1, 2, "C", (1, 9), (2, None))
    assert [(s.title, a, b) for s, a, b in own_ranges([parent, child])] == [
        ("P", (1, 0), (1, 9)),
        ("C", (1, 9), (2, None)),
    ]


def summaries(texts: list[str], sections: list[Section]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    made = summarise(texts, sections, [tokens.counts(tokens.tokenise(t)) for t in texts], find_furniture(texts))
    return made.pages, made.sections


def test_sections_that_share_a_page_have_their_own_summaries() -> None:
    glaciers = "Glaciers of the northern range lost a third of their ice between the two surveys."
    orchards = "Orchards below the dam were replanted with hardier pears after the late frost."
    words = f"1 Ice\n{glaciers}\n2 Fruit\n{orchards}"
    at = words.index("2 Fruit")
    pages, sections = summaries(
        [words], [section(1, 0, 1, "1 Ice", (1, 0), (1, at)), section(2, 0, 1, "2 Fruit", (1, at), (1, None))]
    )
    assert sections == (glaciers, orchards)
    assert glaciers in pages[0] and orchards in pages[0]


def test_summaries_are_composed_upwards_and_leave_running_heads_out() -> None:
    topics = [
        "Wind turbines supplied most of the island's power.",
        "The ferry was rebuilt with a battery drive last year.",
        "School enrolment fell because young families moved away.",
        "A new well ended the shortage of drinking water.",
    ]
    texts = [f"Island Council Report\n{t}\nPage {n} of 4" for n, t in enumerate(topics, 1)]
    parts = [section(1, 0, 1, "All", (1, 0), (4, None))]
    parts += [section(n + 1, 1, 2, f"Part {n}", (n, 0), (n, None)) for n in range(1, 5)]
    pages, sections = summaries(texts, parts)
    assert pages == tuple(topics) and sections[1:] == tuple(topics)
    assert sum(t in sections[0] for t in topics) >= 2
    assert "Council" not in " ".join(sections) and furniture_key("Page 3 of 4") == "page # of #"


def test_a_page_of_figures_is_summarised_by_its_rows() -> None:
    (said,), _ = summaries(["Balance sheet\nCash  12  14\nInventories  7  9\nTotal assets  19  23"],
                           [section(1, 0, 1, "x", (1, 0), (1, None))])  # fmt: skip
    assert said == "Balance sheet; Cash; Inventories; Total assets"


def test_empty_pages_have_empty_summaries() -> None:
    assert summaries(["", "\n\n"], [section(1, 0, 1, "x", (1, 0), (2, None))]) == (("", ""), ("",))
