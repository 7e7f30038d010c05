"""Servers that answer questions and judge answers by rules over real HTTP, as the tests of answers need them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from eval.records.questions import EvalQuestion
from eval.runs.scripted import Oracle
from hybrid_core.llm.chat import Request
from tests.doubles.replies import Answer, FakeReply
from tests.eval.sets import own_set

REFERENCES = ("$418.2 million", "$455.9", "19.6", "Yes, $0.42 per share was paid.")
NOWHERE = {"id": "no", "question": "Which zebra won the regatta of net sales?", "evidence": []}


def answered_set(folder: Path, *, hidden: bool = True) -> tuple[Path, Path]:
    """The invented filings, their questions with reference answers, and one that nothing answers."""
    import json

    docs, questions = own_set(folder, more=[NOWHERE] if hidden else [])
    entries = [json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines()]
    for entry, reference in zip(entries, REFERENCES, strict=False):
        entry["answer"] = reference
    questions.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return docs, questions


def shown(request: Request, name: str) -> str:
    """What the last message shows under a heading."""
    found = re.search(rf"{name}:\n<<<data (\w+)>>>\n(.*?)\n<<<end \1>>>", request.messages[-1].text, re.DOTALL)
    assert found, f"no {name} in the prompt"
    return found[2]


def checked(answer: Answer) -> Answer:
    """The same rules, which also pass the check that comes before anything is asked."""
    return lambda request: {"word": "ready"} if request.title == "Word" else answer(request)


def literal_judge(request: Request) -> FakeReply | dict[str, str]:
    """«right» where the reference stands in the answer, «partly» where its first word does, else «wrong»."""
    reference, said = shown(request, "Reference answer"), shown(request, "Answer")
    verdict = "right" if reference in said else "partly" if reference.split()[0].rstrip(",") in said else "wrong"
    return {"reasoning": f"the reference says {reference}", "verdict": verdict}


def oracle_of(questions: Mapping[str, EvalQuestion] | list[EvalQuestion]) -> Oracle:
    asked = list(questions.values()) if isinstance(questions, Mapping) else questions
    gold = {q.text: {(g.document, g.page) for g in q.evidence if g.page is not None} for q in asked}
    return Oracle(gold, {q.text: q.answer for q in asked})
