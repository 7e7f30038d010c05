"""Printed contents and indexes are told from tables and prose."""

from __future__ import annotations

import pytest

from hybrid_core.text.markup import lists_pages

_CONTENTS = (
    "Contents\nPreface ........ iii\nOverview ........ 1\nPumps  4\nValves . . . . . 9\nMeters ……… 12\nIndex  17"
)
_INDEX = "Index\nbearings, 4, 12-14\nboilers, 7\ncouplings, 3\ndrains 9, 11\nfilters, 2\ngauges, 5\n" + "\n".join(
    f"{word}, {at}" for at, word in enumerate(("hoses", "inlets", "joints", "keys", "levers", "motors"), 1)
)


@pytest.mark.parametrize("text", [_CONTENTS, _INDEX, _CONTENTS.replace("Preface ........ iii\n", "PART I\n")])
def test_pages_that_list_are_known(text: str) -> None:
    assert lists_pages(text, 20)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The pump is on page 4.\nThe valve is on page 9.",
        "States\n"
        + "\n".join(f"{word}  {at}" for at, word in enumerate(("Alabama", "Alaska", "Iowa", "Ohio", "Texas"), 7))
        + "\nThe stores are leased.\n" * 6,
        "Net sales  830\nGross profit  315\nResearch  41\nInterest  14\nTaxes  23\nNet income  79",
        "Bonds due in  2021\nNotes due in  2023\nLoan due in  2025\nNotes due in  2027\nBonds due in  2031",
    ],
)
def test_tables_and_prose_list_nothing(text: str) -> None:
    assert not lists_pages(text, 20)
