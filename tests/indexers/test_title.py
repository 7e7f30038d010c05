"""Titles as a reader would call them; covers are made by hand."""

from __future__ import annotations

import pytest

from hybrid_core.types.documents import Line, ParsedPage
from indexers.assembly.title import find_title


def cover(*lines: tuple[str, float]) -> ParsedPage:
    made = tuple(
        Line(text, 70.0, 60.0 + 20 * at, 400.0, 72.0 + 20 * at, size, False, False, "Serif")
        for at, (text, size) in enumerate(lines)
    )
    return ParsedPage(number=1, label="", width=595.0, height=842.0, lines=made, images=0)


@pytest.mark.parametrize(
    "stamp",
    [
        "arXiv:2101.00001v2 [cs.CL] 4 Jan 2021", "FOR RELEASE MARCH 3, 2021", "Page 1 of 12", "For personal use only",
        "BY Jane Roe and John Doe", "March 9, 2023", "Exhibit 10.4", "www.example.com", "[Confidential]",
    ],
)  # fmt: skip
def test_a_stamp_larger_than_the_title_is_no_title(stamp: str) -> None:
    page = cover((stamp, 20), ("Harvests Under Glass", 16), ("A study of greenhouses", 11))
    assert find_title("0f3c.pdf", {}, [page]) == "Harvests Under Glass"


def test_a_title_in_metadata_counts_where_a_cover_bears_it() -> None:
    page = cover(("SERIES 12", 24), ("Harvests", 14), ("Under Glass", 14))
    assert find_title("a.pdf", {"title": "Harvests Under Glass; 1"}, [page]) == "Harvests Under Glass"
    other = cover(("Harvests Under Glass", 24), ("all that grows", 10))
    assert find_title("a.pdf", {"title": "Layout template A4"}, [other]) == "Harvests Under Glass"


def test_where_all_is_of_one_size_the_wording_tells() -> None:
    body = [(f"words of the clause number {n} that run on to the end of the line", 10.0) for n in range(12)]
    page = cover(
        ("Exhibit 10.4", 10), ("PORTIONS OF THIS EXHIBIT HAVE BEEN OMITTED", 10), ("SUPPLY AGREEMENT", 10), *body
    )
    assert find_title("a.pdf", {}, [page]) == "SUPPLY AGREEMENT"


def test_a_form_is_called_by_its_number() -> None:
    page = cover(
        ("UNITED STATES", 18), ("SECURITIES AND EXCHANGE COMMISSION", 18), ("FORM 10-K", 14), ("Acme Inc.", 18)
    )
    assert find_title("a.pdf", {"title": "Acme-12.31"}, [page]) == "FORM 10-K"


def test_a_title_that_is_drawn_is_taken_from_the_citation_recommended() -> None:
    page = cover(
        ("FOR RELEASE JUNE 8, 2016", 9), ("RECOMMENDED CITATION", 8), ("Acme, 2016, “Harvests", 8), ("Under Glass”", 8)
    )
    assert find_title("a.pdf", {}, [page]) == "Harvests Under Glass"


def test_without_a_cover_the_metadata_and_then_the_name_tell() -> None:
    assert find_title("glass.pdf", {"title": "Harvests Under Glass"}, []) == "Harvests Under Glass"
    assert find_title("glass.pdf", {"title": "Untitled"}, [cover(("Page 1", 12))]) == "glass"
