"""The plain sentence of a receipt, and names of files that tell them apart."""

from __future__ import annotations

import pytest

from hybrid_core.text.names import short_paths
from hybrid_core.types.results import PageFound, Receipt, SectionFound

FLOWS = (
    "Purchases of property, plant and equipment (58,700) (46,300) Acquisitions, net of cash (22,500) Other 1,200 "
    "Net cash used in investing activities (80,000)."
)


def found(
    snippet: str, terms: dict[str, float], title: str, reason: str = "", reasoning: float | None = None
) -> PageFound:
    receipt = Receipt(terms, 1.0, None, 0.4, 0.3, 0.0, 1.0, 0.9, reason, (title,), 0.7, "walk", reasoning=reasoning)
    section = SectionFound("0001", title, (title,), 18, 18, 0.7)
    return PageFound("d", "report.pdf", 18, "14", 0.7, snippet, section, receipt)


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (
            found(FLOWS, {"purchas": 0.6, "properti": 0.5, "plant": 0.4, "equip": 0.4}, "Cash Flows", "year 2025"),
            'holds "Purchases of property, plant and equipment" under Cash Flows; '
            "its document fits the question by year 2025",
        ),
        (
            found(FLOWS, {"invest": 0.5, "activ": 0.9, "cash": 0.3, "plant": 0.4}, "Cash Flows"),
            'holds "investing activities" and "plant" under Cash Flows',
        ),
        (found("Cash flows rose.", {"cash": 1.0, "flow": 1.0}, "Cash Flows"),
         "stands under Cash Flows, a title that fits the question"),
        (found("Nothing of it here.", {"cash": 1.0}, "Cash Flows"), "has words of the question under Cash Flows"),
        (found("Nothing of it here.", {}, "Cash Flows"), "is near the question in meaning, under Cash Flows"),
        (found("可以解除物业服务合同。另有约定的除外", {"解除": 1.0, "物业": 1.0, "合同": 1.0}, "第九百四十六条"),
         'holds "解除物业" and "合同" under 第九百四十六条'),
        (found("The plant closed.", {"plant": 1.0}, "Plants", reasoning=0.5),
         'stands under Plants, a title that fits the question; a language model chose it'),
    ],
)  # fmt: skip
def test_one_plain_sentence_in_the_pages_own_words(page: PageFound, said: str) -> None:
    assert page.why == said


def test_names_that_collide_are_told_apart_by_as_little_as_it_takes() -> None:
    paths = ["/b/x/readme.md", "/b/y/readme.md", "/c/y/readme.md", "/b/other.md", "/readme.md"]
    short = short_paths(paths)
    assert [short[path] for path in paths] == [
        "x/readme.md", "b/y/readme.md", "c/y/readme.md", "other.md", "/readme.md",
    ]  # fmt: skip
