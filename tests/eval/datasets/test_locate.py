"""Gold gets its page: checked where given, looked up where it is text, reported where neither works."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.datasets.corpus import PageTexts, locate, place
from eval.records.questions import EvalQuestion, Gold
from hybrid_pageindex import Engine, run

CLAUSE = (
    "The Supplier shall deliver the couplings to the northern depot within thirty days, and the Buyer may refuse any "
    "delivery that reaches the depot later unless both have agreed in writing on another day for that delivery."
)
HALF = CLAUSE.index("and the Buyer")


def asked(*gold: Gold) -> list[EvalQuestion]:
    return [EvalQuestion("q7", "When?", gold)]


def test_given_pages_are_checked() -> None:
    found = place(asked(Gold("a.pdf", 2), Gold("a.pdf", 4), Gold("b.pdf", 1), Gold("a.pdf")), {"a.pdf": 3}, {})
    assert [gold.page for gold in found.questions[0].evidence] == [2, None, None, None]
    assert found.problems == (
        "q7: a.pdf has no page 4, its pages are 1 to 3",
        "q7: b.pdf is not among the indexed documents, or several have that name",
    )
    assert (found.given, found.unplaced, found.document_only) == (1, 2, 1)


def test_a_text_that_is_nowhere_is_reported_and_stays() -> None:
    found = place(
        asked(Gold("a.pdf", text="Nobody wrote this."), Gold("a.pdf", text="[*]")), {"a.pdf": 1}, {"a.pdf": ["x"]}
    )
    assert [gold.page for gold in found.questions[0].evidence] == [None, None]
    assert found.problems == (
        "q7: this text was not found in a.pdf: Nobody wrote this.",
        "q7: this text was not found in a.pdf: [*]",
    )
    assert found.unplaced == 2


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        (["Other.", CLAUSE], ("exact", (2,))),
        (["", "Other.", "", CLAUSE.upper().replace(" ", "\n").replace(",", " ,")], ("exact", (4,))),
        (["Other. " + CLAUSE[:HALF], CLAUSE[HALF:]], ("exact", (1, 2))),
        (["Other. " + CLAUSE[:HALF] + "Page 1", "Acme, Exhibit 10\n" + CLAUSE[HALF:]], ("ends", (1, 2))),
        (["Other.", CLAUSE[:50] + "(as defined) " + CLAUSE[50:]], ("ends", (2,))),
        (["Other.", "(as defined) ".join(CLAUSE.partition("Supplier "))], ("fuzzy", (2,))),
        (["Other.", CLAUSE[:HALF]], ("unplaced", ())),
        (["Other.", "The Buyer may refuse. " * 9], ("unplaced", ())),
        ([""], ("unplaced", ())),
    ],
)
def test_a_text_is_found_however_it_is_set(pages: list[str], expected: tuple[str, tuple[int, ...]]) -> None:
    assert PageTexts(pages).find(CLAUSE) == expected


def test_short_texts_stand_as_words() -> None:
    pages = PageTexts(
        ["the recipient of Zip Ltd", "the IP, and the I.P.", "第五十五条 乙。\n\n第五十四条 自然人从事工商业经营。"]
    )
    assert pages.find("IP") == ("exact", (2,))
    assert pages.find("第五十四条 自然人从事工商业经营") == ("exact", (3,))
    assert pages.find("cipient") == ("exact", (1,))  # broken words are still better than no place


def test_the_first_of_several_places_counts() -> None:
    assert PageTexts(["x", CLAUSE, CLAUSE]).find(CLAUSE) == ("exact", (2,))


def test_half_a_text_turns_sections_and_documents_mean_pages() -> None:
    third = len(CLAUSE) // 3
    texts = ["[3] A: yes\n[14] B: no", CLAUSE[: 2 * third], CLAUSE[2 * third :], "[4] C: so\n" + CLAUSE]
    gold = (
        Gold("a.md", text=CLAUSE, match="half"),
        Gold("a.md", match="turns", turns=(4, 14)),
        Gold("a.md", match="section", section="The Scope"),
        Gold("a.md", match="document"),
        Gold("a.md", text="nobody wrote this anywhere at all, in these words", match="half"),
        Gold("a.md", match="turns", turns=(5,)),
        Gold("a.md", match="section", section="Elsewhere"),
    )
    titles = [("thescope", 2, 3), ("thescope", 3, 4), ("other", 1, 1)]
    placed = place(asked(*gold), {"a.md": 4}, {"a.md": texts}, {"a.md": titles})
    pages = [(one.page, one.also) for one in placed.questions[0].evidence]
    assert pages[:4] == [(2, (4,)), (1, (4,)), (2, (3, 4)), (1, (2, 3, 4))]
    assert pages[4:] == [(None, ())] * 3
    assert (placed.exact, placed.document_only, placed.unplaced, len(placed.problems)) == (3, 1, 3, 3)


def test_a_short_text_stands_whole_where_half_would_do() -> None:
    assert PageTexts(["in 1901 and", "in 19", "IN 1901."]).halves("in 1901") == ("exact", (1, 3))
    assert PageTexts(["x"]).halves("…") == ("unplaced", ())


def test_in_an_indexed_library(library: Engine, tmp_path: Path) -> None:
    documents = {document.name: document for document in run(library.documents.list())}
    name, document = next(iter(documents.items()))
    text = run(library.pages(document.doc_id, [2]))[0].text
    gold = (Gold(name, text=text[40:240]), Gold(name, document.pages + 1), Gold("missing.pdf", text="x"))
    found = run(locate(library, asked(*gold)))
    assert [gold.page for gold in found.questions[0].evidence] == [2, None, None]
    assert (found.exact, found.unplaced, len(found.problems)) == (1, 2, 2)


def test_two_documents_of_one_name_are_no_place(engine: Engine, filings: list[Path], tmp_path: Path) -> None:
    for folder, source in zip(("x", "y"), filings[:2], strict=True):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.pdf").write_bytes(source.read_bytes())
    run(engine.index([tmp_path / "x", tmp_path / "y"]))
    found = run(locate(engine, asked(Gold("same.pdf", 1))))
    assert found.problems == ("q7: same.pdf is not among the indexed documents, or several have that name",)
