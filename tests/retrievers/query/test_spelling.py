"""Of which known word one is a slip, where a library holds words in other forms, and names in capitals."""

from __future__ import annotations

import pytest

from hybrid_core.text.tokens import stem
from retrievers.query.words import corrected

PAGES = (
    "payments are expected",
    "retirees",
    "retired",
    "retirement",
    "retires",
    "Corvex and Amcor",
    "the crane",
    "Dr Wei",
    "a long and heavy crate",
    "wide panels",
    "use a big hall",
    "they pay slowly",
    "slow flow",
    "revenues",
)
WORDS = {word for page in PAGES for word in page.lower().split()}


@pytest.mark.parametrize(
    ("slip", "right"),
    [
        ("exoect", "expected"),  # pages have it in another form only, which is shown
        ("retireees", "retirees"),  # not «retireers», though more pages hold its stem
        ("ACOR", "AMCOR"), ("CORVX", "CORVEX"), ("CRAN", ""),  # an abbreviation but for names
        ("expected", ""), ("Amcro", "Amcor"), ("weir", ""), ("thee", "the"),
        ("longest", ""), ("heaviest", ""), ("widest", ""), ("biggest", ""), ("slowest", ""),  # never «longes», «flow»
        ("longer", ""), ("user", ""), ("payer", ""),
        ("reveneu", "revenues"), ("revemue", "revenues"), ("crabe", "crane"),
    ],
)  # fmt: skip
def test_slips(slip: str, right: str) -> None:
    def holding(terms: object) -> list[int]:
        return [sum(stem(word) == term for word in WORDS) for term in terms]  # type: ignore[attr-defined]

    def written(word: str) -> set[str]:
        return {
            other for page in PAGES if stem(word) in map(stem, page.lower().split()) for other in page.lower().split()
        }

    assert corrected(slip, holding, {"amcor", "corvex"}, written) == right
