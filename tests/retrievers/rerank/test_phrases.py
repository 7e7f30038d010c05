"""Phrases of an expert file that stand on a page word for word, through the engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pymupdf
import pytest

from hybrid_core.types.results import PageFound
from hybrid_core.types.scoring import ScoringConfig
from hybrid_pageindex import Engine, run
from tests.pdfs import prose

WHOLE = ScoringConfig().rerank.phrases
QUESTION = "How much was spent on machines?"
PAGES = {  # all hold the four words once
    "apart": ["Equipment was moved when the plant was painted.", "Our property tax rose, and so did purchases."],
    "within a line": ["In that year all purchases of property, plant and equipment were put off."],
    "a row": ["Proceeds from the sale of ships 12", "Purchases of property, plant & equipment (net) 34"],
    "a row over two lines": [
        "Proceeds from the sale of ships 12",
        "(Purchases of prop-",
        "erty, ----",
        "-----",
        "plant - and Équipment) 34",
    ],
    "part of a word": ["Repurchases of property, plant and equipments were put off."],
    "nothing of it": ["The crew had soup on Sundays and fish on Fridays."],
}
KINDS = list(PAGES)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("wording")
    document = pymupdf.open()
    for number, lines in enumerate(PAGES.values()):
        page = document.new_page()
        words = prose("harbour", number).split()
        filler = [" ".join(words[at : at + 9]) for at in range(0, len(words), 9)]
        page.insert_text((72, 90), [*filler, *lines, "This is all."])
    document.save(folder / "accounts.pdf")
    engine = Engine(folder / "home")
    run(engine.index(folder / "accounts.pdf"))
    yield engine
    engine.close()


def found(
    library: Engine, folder: Path, *phrases: str, weight: float = 1, question: str = QUESTION, top_k: int = 6
) -> dict[str, PageFound]:
    """The results in their order, by kind of page."""
    expert = folder / "expert.yaml"
    expert.write_text(f"expand:\n  - when: machines\n    phrases: [{', '.join(phrases)}]\n    weight: {weight}\n")
    results = run(library.search(question, top_k=top_k, expert=expert)).results
    return {KINDS[result.page - 1]: result for result in results}


def test_a_phrase_counts_where_it_stands_and_most_at_the_beginning_of_a_line(library: Engine, tmp_path: Path) -> None:
    pages = found(
        library, tmp_path, '"purchases of property, plant and equipment"', '"purchases of property plant equipment"'
    )
    gains = {kind: page.receipt.wording for kind, page in pages.items()}
    assert gains == {
        "a row": pytest.approx(WHOLE / 2, abs=1e-4),  # «&» is no word: it is the second of the two phrases
        "a row over two lines": pytest.approx(WHOLE / 2, abs=1e-4),
        "within a line": pytest.approx(WHOLE / 4, abs=1e-4),
        "apart": 0,
        "part of a word": 0,
    }
    assert set(list(pages)[:2]) == {"a row", "a row over two lines"}
    for page in pages.values():
        receipt = page.receipt
        parts = receipt.page + receipt.document + receipt.structure + (receipt.wording or 0)
        assert parts == pytest.approx(page.score, abs=2e-4)
    scores = [page.score for page in pages.values()]
    assert scores == sorted(scores, reverse=True)


def test_single_words_and_no_phrases_add_nothing(library: Engine, tmp_path: Path) -> None:
    single = found(library, tmp_path, "purchases", "equipment")
    assert single and all(page.receipt.wording is None for page in single.values())
    plain = found(library, tmp_path, "purchases of property", question="Which property was sold?")
    assert plain and all(page.receipt.wording is None for page in plain.values())


@pytest.mark.parametrize(("weight", "counts"), [(1, 1), (0.5, 1), (0.1, 0.2), (0, 0)])
def test_a_light_entry_counts_less(library: Engine, tmp_path: Path, weight: float, counts: float) -> None:
    phrase, question = '"purchases of property, plant equipment"', f"{QUESTION} Property?"
    pages = found(library, tmp_path, phrase, weight=weight, question=question)
    assert pages["a row"].receipt.wording == pytest.approx(counts * WHOLE, abs=1e-4)


@pytest.mark.parametrize("phrase", ["Purchases 支出", "购买 property plant", "33 Ω 34"])
def test_letters_of_another_script_are_not_left_out_of_a_phrase(library: Engine, tmp_path: Path, phrase: str) -> None:
    pages = found(library, tmp_path, phrase, "purchases", question=f"{QUESTION} Property?")
    assert pages and all(page.receipt.wording is None for page in pages.values())
