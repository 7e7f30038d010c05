"""Questions asked in other words: the gold stays, and what is wrong in the file is said."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from eval.datasets.registry import VARIABLE, load
from eval.datasets.variants import reworded
from eval.records.progress import Progress
from eval.records.questions import Dataset, EvalQuestion, Gold
from eval.runs.plan import Plan
from eval.runs.run import measure
from hybrid_core.errors import DocumentError
from tests.eval.sets import own_set, plan

_HERE = Path(__file__).parents[1]
OURS = {"financebench": _HERE / "paraphrases.jsonl", "mmlongbench": _HERE / "paraphrases-slides.jsonl"}
SET = Dataset("weirs", (), tuple(EvalQuestion(n, f"Why {n}?", (Gold("a.pdf", 2),), kind=n) for n in ("q1", "q2", "q3")))


def test_gold_and_order_stay_and_other_questions_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text('{"id": "q3", "question": "How come three?"}\n\n{"id": "q1", "question": " How come one? "}\n')
    asked = reworded(SET, file).questions
    assert [(q.id, q.text, q.kind, q.evidence) for q in asked] == [
        ("q1", "How come one?", "q1", (Gold("a.pdf", 2),)),
        ("q3", "How come three?", "q3", (Gold("a.pdf", 2),)),
    ]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ('{"id": "q9", "question": "?"}', "line 1: the data set weirs has no question q9"),
        ('{"id": "q1", "question": "a"}\n{"id": "q1", "question": "b"}', "line 2: question q1 has two wordings"),
        ('{"id": "q1", "question": " "}', "line 1: 'question' must be a text"),
        ('{"id": "q1"}', "line 1: the field 'question' is missing"),
        ("q1", "line 1: the line is not valid JSON"),
    ],
)
def test_what_is_wrong_is_left_out_and_said_with_its_line(tmp_path: Path, written: str, said: str) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text(written + '\n{"id": "q3", "question": "How come three?"}')
    found = reworded(SET, file)
    assert found.questions[-1].id == "q3"
    assert [said in line for line in found.left_out] == [True]


@pytest.mark.parametrize("written", ["\n", "q1"])
def test_nothing_usable_is_an_error(tmp_path: Path, written: str) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text(written)
    with pytest.raises(DocumentError, match="contains no valid question"):
        reworded(SET, file)


def test_a_run_asks_them_and_records_that_it_did(tmp_path: Path) -> None:
    docs, questions = own_set(tmp_path)
    other = "Corvane Optics, the year 2023: how large were its sales, net?"
    (tmp_path / "p.jsonl").write_text(json.dumps({"id": "0-0", "question": other}))
    run = measure(plan(tmp_path / "run", docs, questions, paraphrases=tmp_path / "p.jsonl"), Progress(quiet=True))
    assert [(record.id, record.question) for record in run.questions] == [("0-0", other)]
    assert run.head.options["paraphrases"] == str(tmp_path / "p.jsonl")
    assert run.head.measures["all"]["hit@5"] == 1


@pytest.mark.parametrize("name", OURS)
def test_ours_are_forty_questions_in_other_words(name: str) -> None:
    entries = [json.loads(line) for line in OURS[name].read_text(encoding="utf-8").splitlines()]
    assert len({entry["id"] for entry in entries}) == len(entries) == 40
    assert all(set(entry) == {"id", "question"} for entry in entries)


@pytest.mark.parametrize("name", OURS)
def test_ours_belong_to_the_set(name: str) -> None:
    if not os.environ.get(VARIABLE):
        pytest.skip(f"{VARIABLE} names no evaluation data")
    dataset = load(name)
    before = {question.id: question.text for question in dataset.questions}
    asked = reworded(dataset, OURS[name]).questions
    assert len(asked) == 40 and not [q.id for q in asked if q.text == before[q.id]]


DIALOGUES = [_HERE / "dialogues.jsonl", _HERE / "dialogues-unseen.jsonl"]
KINDS = ("contoso", "gitlab_handbook", "emanual", "legalquad_de", "covidqa")
SETS = ("financebench", *(f"sets/{name}" for name in KINDS))


def test_a_follow_up_has_the_questions_before_it_and_those_of_other_sets_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "d.jsonl"
    rows = [
        {"set": "weirs", "id": "q2", "before": ["Why one?"], "question": "And two?"},
        {"set": "locks", "id": "q9", "before": ["Why nine?"], "question": "And ten?"},
        {"id": "q1", "before": "Why?", "question": "And one?"},
        {"id": "q3", "before": [""], "question": "And three?"},
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    read_set = reworded(SET, file)
    assert [(q.id, q.text, q.before) for q in read_set.questions] == [("q2", "And two?", ("Why one?",))]
    assert [line.split("line ")[1][0] for line in read_set.left_out] == ["3", "4"]


def test_a_run_completes_a_follow_up_as_a_conversation_does(tmp_path: Path) -> None:
    docs, questions = own_set(tmp_path)
    row = {"id": "0-0", "before": ["How many employees did Corvane Optics have in 2023?"], "question": "And net sales?"}
    (tmp_path / "d.jsonl").write_text(json.dumps(row))
    (tmp_path / "bare.jsonl").write_text(json.dumps({"id": "0-0", "question": "And net sales?"}))
    with_before, bare = (
        measure(plan(tmp_path / name, docs, questions, paraphrases=tmp_path / f"{name}.jsonl"), Progress(quiet=True))
        for name in ("d", "bare")
    )
    assert with_before.head.measures["all"]["hit@1"] == 1
    assert with_before.questions[0].pages != bare.questions[0].pages


def test_follow_ups_are_found_as_the_same_questions_in_full(tmp_path: Path) -> None:
    if not os.environ.get(VARIABLE) or not (Path(os.environ[VARIABLE]) / "sets" / "contoso").is_dir():
        pytest.skip(f"{VARIABLE} names no set contoso")
    texts = {question.id: question.text for question in load("sets/contoso").questions}
    rows = [json.loads(line) for file in DIALOGUES for line in file.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["set"] == "sets/contoso"]
    full = [{"id": row["id"], "question": texts[row["id"]]} for row in rows]
    hits = {}
    for name, asked_rows in (("follow-up", rows), ("full", full)):
        file = tmp_path / f"{name}.jsonl"
        file.write_text("\n".join(map(json.dumps, asked_rows)))
        dialogues = Plan("sets/contoso", paraphrases=file, home=tmp_path / "home", out=tmp_path / name)
        hits[name] = measure(dialogues, Progress(quiet=True)).head.measures["all"]["hit@5"]
    assert hits["full"] > 0.8 and hits["follow-up"] >= hits["full"] - 0.03


def test_dialogues_are_forty_and_more_of_all_kinds() -> None:
    seen, unseen = ([json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] for file in DIALOGUES)
    assert len(seen) >= 40 and {row["set"] for row in seen} == set(SETS)
    assert not {(row["set"], row["id"]) for row in seen} & {(row["set"], row["id"]) for row in unseen}
    assert all(row["before"] and row["question"] for row in (*seen, *unseen))
