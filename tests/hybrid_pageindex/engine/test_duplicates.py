"""Documents that are the same file or have nearly the same words are grouped; others are not."""

from __future__ import annotations

import random
from asyncio import run
from pathlib import Path

import pytest

from hybrid_pageindex.engine.documents.duplicates import find_duplicates
from hybrid_pageindex.engine.engine import Engine

_WORDS = [f"{first}{second}" for first in "ba ke li mo nu pe ra si to vu".split() for second in "n r s t l m".split()]
_HAN = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏"


def prose(seed: int, words: int, changed: int = 0, signs: str = "") -> str:
    """Words in a random order, of which some are replaced after the order is made."""
    order = random.Random(seed)
    text = [order.choice(signs or _WORDS) for _ in range(words)]
    for place in order.sample(range(words), changed):
        text[place] = "改" if signs else "changed"
    return ("" if signs else " ").join(text)


@pytest.mark.parametrize("signs", ["", _HAN], ids=["words", "han"])
def test_copies_and_near_copies_are_grouped(tmp_path: Path, signs: str) -> None:
    texts = {
        "a.md": prose(1, 3000, signs=signs), "a-again.md": prose(1, 3000, signs=signs),
        "b.md": prose(2, 3000, signs=signs), "b-edited.md": prose(2, 3000, 30, signs=signs),
        "c.md": prose(3, 3000, signs=signs), "c-rewritten.md": prose(3, 3000, 600, signs=signs),
        "d.md": "Too few words.", "e.md": "Too few words.\n", "f.md": prose(4, 200, signs=signs),
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    engine = Engine(tmp_path / "home")
    run(engine.index([tmp_path / name for name in texts], library="papers"))
    names = {row.doc_id: row.name for row in run(engine.documents.rows(library="papers"))}
    found = run(engine.documents.duplicates(library="papers"))
    groups = {tuple(sorted(names[one.doc_id] for one in group.documents)): group for group in found.groups}
    assert set(groups) == {("a-again.md", "a.md"), ("b-edited.md", "b.md")}
    assert groups["a-again.md", "a.md"].same and not groups["b-edited.md", "b.md"].same
    share = groups["b-edited.md", "b.md"].documents[1].share
    assert 0.85 < share < 0.95, "30 words of 3,000 are in 5 % of all sequences, so the union has 10 % more"
    assert (found.compared, found.documents) == (7, 9)
    limited = find_duplicates(engine._catalog(), "papers", max_pages=0)
    assert limited.compared == 0 and [group.same for group in limited.groups] == [True], "copies need no comparison"
    engine.close()
