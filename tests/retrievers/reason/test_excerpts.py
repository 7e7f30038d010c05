"""What is left of a long page that a model reads: the passage by which it was shown or found is whole."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hybrid_core.llm.budget import estimate
from hybrid_core.llm.chat import Request
from hybrid_pageindex import Engine, run
from retrievers.explain.passages import PassageTerms, excerpt
from tests.models_over_http import data
from tests.retrievers.reason.test_again import SEEN, ask
from tests.retrievers.reason.test_reason import page, turn

QUESTION = "Which fee does the harbour of Halden take for a barge?"
FEE = "The harbour of Halden takes a fee for a barge that the council sets each spring."
TOWNS = ("north", "south", "east", "west")


def prose(count: int, words: str = "lanterns and benches") -> str:
    return "\n".join(
        f"Paragraph {number} tells at some length of {words} along the old quay." for number in range(count)
    )


def broken_off(town: str) -> str:
    """A sentence that is too long for a passage, so that its line ends with "…" before the sum."""
    long = "with all that was said of moorings, cranes, ropes and the pilots of the coast, " * 2
    others = "\n\n".join(f"{'Halden Harbour Barge Fee'.split()[n % 4]} {n} is of another year." for n in range(60))
    return f"{others}\n\n{FEE} In the {town} basin it is, {long}and after two readings, nine crowns.\n\n{prose(14)}"


def searched(town: str) -> str:
    """The question's words stand everywhere, those of the search once."""
    return f"{(FEE + ' ') * 9}\n\n{prose(16)}\n\nLighters of the {town} basin owe nine crowns of silver.\n\n{prose(18)}"


def rows(town: str) -> str:
    """A table that is too long to be shown whole, below a sentence that matches."""
    table = "\n".join(f"| Berth {number} {town} | {number} |" for number in range(130))
    table = table.replace(f"| Berth 1 {town} | 1 |", f"| Barge of Halden, {town} | 900 |")
    return f"{prose(6)}\n\n{FEE}\n\n| Harbour | Fee |\n|---|---|\n{table}\n"


def unspaced(town: str) -> str:
    filler = "".join(f"第{number}条讲述旧码头边的灯笼和长椅以及它们的历史。" for number in range(30))
    answer = "哈尔登港口对驳船收取的费用由市议会每年春天确定，" + "并且在两次审议之后公布于众，" * 14
    return f"{filler}\n\n{answer}{town}港池的费用为九克朗。\n\n{filler}"


KINDS: dict[str, tuple[Callable[[str], str], str, str, str]] = {  # page, question, search, what must be shown
    "a sentence that the passage begins": (broken_off, QUESTION, "", "after two readings, nine crowns"),
    "the words of its own search": (searched, QUESTION, "lighters silver", "owe nine crowns of silver"),
    "exact words": (searched, QUESTION, '"nine crowns of silver"', "owe nine crowns of silver"),
    "a row of a long table": (rows, QUESTION, "", "| Barge of Halden, "),
    "a language without spaces": (unspaced, "哈尔登港口对驳船收取多少费用？", "", "港池的费用为九克朗"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_excerpt_holds_the_passage_by_which_its_page_was_shown(tmp_path: Path, kind: str) -> None:
    text, question, search, answer = KINDS[kind]
    for town in TOWNS:
        (tmp_path / f"{town}.md").write_text(f"# Harbour of the {town}\n\n{text(town)}", encoding="utf-8")
    lines: dict[tuple[str, str], str] = {}

    def rule(request: Request) -> Any:
        seen = data(request.messages[-1].text, SEEN)
        if search and "Round 1 of" in request.messages[-1].text:
            return turn(search=[search])
        lines.update(
            ((name, number), line)
            for name, number, line in re.findall(r"^(D\d+) page (\d+), a passage: (.*)$", seen, re.MULTILINE)
        )
        to_read = [] if re.search(r"^D\d+ page \d+:$", seen, re.MULTILINE) else list(lines)[:4]
        return turn(read=[page(name, int(number)) for name, number in to_read], pages=[page("D1", 1)])

    engine = Engine(tmp_path / "home")
    with closing(engine):
        run(engine.index(sorted(tmp_path.glob("*.md"))))
    _, prompts = ask(engine, rule, question)
    parts = re.split(r"^(D\d+) page (\d+):\n", data(prompts[-1], SEEN), flags=re.MULTILINE)
    excerpts = {
        (name, number): bare(text) for name, number, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
    }
    assert len(excerpts) >= 3
    for place, shown in excerpts.items():
        assert "…" in shown, "the page does not fit"
        assert bare(answer) in shown
        for part in re.sub(r" \[also .*", "", lines[place]).split("…"):
            assert bare(part) in shown


def bare(text: str) -> str:
    """A text without spaces and without the rules of tables."""
    return re.sub(r"\s+|\|(?:---\|)+", "", text)


@pytest.mark.parametrize("tokens", [60, 120, 400])
def test_the_addresses_of_links_count_among_the_tokens(tokens: int) -> None:
    address = "https://example.org/" + "very-long-part/" * 9
    text = "\n".join(f"The [harbour fee {number}]({address}{number}) of Halden is due." for number in range(40))
    assert estimate(excerpt(text, PassageTerms({"fee": 1.0}), tokens)) <= tokens


def test_kept_lines_are_shown_whatever_else_matches() -> None:
    text = f"{(FEE + chr(10)) * 20}{prose(20)}\nLighters owe nine crowns.\n{prose(20)}"
    shortened = excerpt(text, PassageTerms({"fee": 1.0, "barg": 1.0}), 120, kept_lines={text.index("Lighters")})
    assert "Lighters owe nine crowns.\n" in shortened and estimate(shortened) <= 120
