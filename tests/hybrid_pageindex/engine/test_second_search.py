"""The second search before an answer is not in the library: slips, and the parts of a question apart and joined."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hybrid_core.llm.chat import Request
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.types.answers import Answer
from hybrid_pageindex import Engine, Settings, run
from tests.doubles.replies import FakeEndpoint
from tests.models_over_http import data

TEXTS = {
    "mill.md": "# Lease of the mill\n\nThe rent of the mill is 40 crowns. The deposit of the mill lease is 80 crowns.",
    "barn.md": "# Lease of the barn\n\nThe deposit of the barn lease is 95 crowns and 3 sacks of rye.",
    "crane.md": "# Harbour crane\n\nThe harbour crane is owned by Sybil Thorne. It lifts nine tons.",
    "muehle.md": "# Mühle\n\nDie Miete der Mühle beträgt 41 Kronen. Der Müller zahlt sie im Mai.",
    "hafenkran.md": "# Hafenkran\n\nDer Hafenkran gehört Gudrun Vogt. Er hebt neun Tonnen.",
    "auskunft.md": "# Verjährung\n\nDer Auskunftsanspruch des Erben ist nach 30 Jahren verjährt.",
    "warranty.md": "# Pumps\n\nThe indemnification of the buyer ends after 14 months.",
    "zephyr.md": "# Boats\n\nThe tonnage of the Zephyr is 612 barrels.",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("second")
    for name, text in TEXTS.items():
        (folder / name).write_text(f"{text}\n", encoding="utf-8")
    for number in range(30):  # pages that are about everything a little
        (folder / f"note-{number}.md").write_text(
            f"# Note {number}\n\nA lease, a rent and a crane of the harbour are named here, and a mill.\n"
            f"Die Miete und ein Kran stehen hier, auch eine Mühle. {number}\n"
        )
    engine = Engine(folder / "home")
    run(engine.index([folder]))
    engine.close()
    yield folder / "home"


def ask(home: Path, question: str, *facts: str) -> tuple[Answer, list[str]]:
    """Ask a model that answers only where its sources hold all facts, each of which it cites."""

    def rule(request: Request) -> Any:
        if request.schema is not None:
            return {"reasoning": "", "pages": [], "documents": [], "conditions": []}
        sources = data(request.messages[-1].text, "Sources")
        parts = re.split(r"^(?=Source \d+:)", sources, flags=re.MULTILINE)
        cited = [next((part for part in parts if fact in part), "") for fact in facts]
        if not all(cited):
            return "NOT IN THE SOURCES"
        numbers = [part.split(":")[0].removeprefix("Source ") for part in cited]
        return " ".join(f"It is {fact} [[source:{number}]]." for fact, number in zip(facts, numbers, strict=True))

    endpoint = FakeEndpoint(rule)
    engine = Engine(settings=Settings(storage_path=home), chat=ChatModel(endpoint))
    try:
        answer = run(engine.ask(question, effort="fast", top_k=1, expert="none", force=True))
    finally:
        engine.close()
    return answer, [request.messages[-1].text for request in endpoint.requests if request.schema is None]


PARTS = [
    ("What is the rent of the mill and who owns the harbour crane?", "40 crowns", "Sybil Thorne"),
    ("Is the deposit of the mill lease higher than that of the barn lease?", "80 crowns", "95 crowns"),
    ("Compare the deposit of the mill lease with the barn lease", "80 crowns", "95 crowns"),
    ("Wie hoch ist die Miete der Mühle und wem gehört der Hafenkran?", "41 Kronen", "Gudrun Vogt"),
]


@pytest.mark.parametrize(("question", "one", "other"), PARTS)
def test_parts_of_a_question_about_two_documents_are_joined(home: Path, question: str, one: str, other: str) -> None:
    answer, prompts = ask(home, question, one, other)
    assert answer.status == "answered" and not answer.unsupported, answer.why
    assert len({source.doc_name for source in answer.sources}) > 1 and len(prompts) > 1
    assert "searched" in {step.kind for step in answer.steps}


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("Wann ist der Ankunftsanspruch verjährt?", "30 Jahren"),
        ("Welche Frist hat der Auskunftsanspruhc?", "30 Jahren"),
        ("When does the indemnfication end?", "14 months"),
        ("What is the tonnage of the Zephir?", "612 barrels"),
    ],
)
def test_a_slip_does_not_end_in_not_in_the_library(home: Path, question: str, fact: str) -> None:
    answer, _ = ask(home, question, fact)
    assert answer.status == "answered" and not answer.unsupported, answer.why


def test_what_is_not_there_is_said_so_after_a_second_search(home: Path) -> None:
    answer, prompts = ask(
        home, "What is the rent of the windmill and who owns the lighthouse?", "the lighthouse is owned"
    )
    assert answer.status == "not_in_library" and len(prompts) <= 4
