"""``eval fit`` as it is typed: two small sets of one's own, and the ratings of a library, through the real engine."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from eval.runs import features as collecting
from eval.runs.feedback import RatedQuestion, rated_questions
from hybrid_core.types.conversations import Feedback
from hybrid_pageindex import Engine, run
from hybrid_pageindex.cli import main
from hybrid_pageindex.config.experts import find_ranking

THINGS = ("anchor", "barrel", "candle", "drum", "engine", "funnel", "guitar", "hammer", "island", "jacket")
PLACES = ("harbour", "cellar", "church", "theatre", "factory")


@dataclass(frozen=True)
class Printed:
    code: int
    out: str
    err: str


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str]) -> Callable[..., Printed]:
    def call(*words: object) -> Printed:
        capsys.readouterr()
        code = main([str(word) for word in words])
        shown = capsys.readouterr()
        return Printed(code, shown.out, shown.err)

    return call


def write_documents(folder: Path) -> list[str]:
    """A document about each thing, and one that names them all."""
    folder.mkdir(parents=True)
    for number, thing in enumerate(THINGS):
        place = PLACES[number % len(PLACES)]
        text = f"# The {thing}\n\nThe {thing} stands in the {place}, and its price is {number} crowns.\n"
        (folder / f"paper-{number}.md").write_text(text, encoding="utf-8")
    everything = "".join(f"The {thing} is on this list. " for thing in THINGS)
    (folder / "list.md").write_text(f"# Things\n\n{everything}\n", encoding="utf-8")
    return [f"paper-{number}.md" for number in range(len(THINGS))]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for name, words in (("boats", "Where does the {} stand?"), ("prices", "price of the {} in crowns")):
        names = write_documents(folder / "sets" / name / "docs")
        lines = [
            {"id": str(number), "question": words.format(thing), "evidence": [{"doc": document}]}
            for number, (thing, document) in enumerate(zip(THINGS, names, strict=True))
        ]
        lines.append({"id": "none", "question": "Who?", "evidence": []})
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / "sets" / name / "questions.jsonl").write_text(text, encoding="utf-8")
    return folder


def test_weights_from_two_sets_are_reported_written_and_used(
    data: Path, typed: Callable[..., Printed], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out, markdown = data / "runs" / "fit", data / "fit.md"
    arguments = ("eval", "fit", "--data", data, "--out", out, "--expert", "none", "--expert", "auto")
    shown = typed(*arguments, "--json", "--markdown", markdown)
    assert shown.code == 0, shown.err
    report = json.loads(shown.out)
    assert [(row["dataset"], row["kind"], row["expert"], row["questions"]) for row in report["rows"]] == [
        (name, name, "none", 10) for name in ("sets/boats", "sets/prices")
    ]  # packs change nothing here: counted once
    for row in report["rows"]:
        assert row["differences"]["hit@1"]["mean"] == pytest.approx(row["held_out"]["hit@1"] - row["bm25"]["hit@1"])
    assert "meaning" in report["unlearned"]
    assert "| sets/boats |" in markdown.read_text(encoding="utf-8")
    file = out / "weights.json"
    assert report["file"] == str(file)
    written = file.read_text(encoding="utf-8")
    learned = json.loads(written)["learned"]
    assert (learned["sets"], learned["sample"]) == (["sets/boats", "sets/prices"], 150)
    assert [row["questions"] for row in learned["held_out"]] == [10, 10]
    assert str(data) not in written

    judged = typed(*arguments, "--json", "--evidence", "--write", data / "evidence.json")
    assert judged.code == 0, judged.err
    rows = json.loads(judged.out)["evidence"]
    assert [(row["dataset"], row["what"]) for row in rows] == [
        (name, what) for what in ("first", "five") for name in ("sets/boats", "sets/prices")
    ]
    assert all(row["questions"] > 10 and 0 <= row["calibration"] <= 1 for row in rows)
    assert find_ranking(str(data / "evidence.json")).evidence["five"].keys() >= {"covered", "lead", "base"}

    def asked_again(*_: object, **__: object) -> None:
        raise AssertionError("the features are in the folder")

    with monkeypatch.context() as patched:
        patched.setattr(collecting, "prepare", asked_again)
        again = typed(*arguments, "--write", tmp_path / "again.json")
        assert again.code == 0 and "mean of the sets" in again.out
        assert (tmp_path / "again.json").read_text(encoding="utf-8") == written
        patched.setattr(collecting, "engine_code", lambda: {"code": "another"})
        with pytest.raises(AssertionError, match="the features are"):
            typed(*arguments)
        patched.undo()
        patched.setattr(collecting, "prepare", asked_again)
        changed = data / "sets" / "boats" / "docs" / "list.md"
        before = changed.stat().st_mtime_ns
        os.utime(changed, ns=(1, 1))
        with pytest.raises(AssertionError, match="the features are"):
            typed(*arguments)
        os.utime(changed, ns=(before, before))
    assert find_ranking(str(file)).weights() != find_ranking().weights()


def test_what_cannot_be_learned_is_said(data: Path, typed: Callable[..., Printed], tmp_path: Path) -> None:
    for words, message in (
        (("--l2", "0"), "--l2 is 0.0"),
        (("--folds", "1"), "--folds is 1"),
        (("--library", "x"), "--library can be used only with --feedback"),
        (("--feedback", "sets/boats"), "--feedback learns from ratings"),
        (("sets/nosuch",), "sets/nosuch of the data set is missing"),
    ):
        shown = typed("eval", "fit", "--data", data, "--out", tmp_path, *words)
        assert shown.code in (1, 2) and message in shown.err
    nothing = tmp_path / "questions.jsonl"
    nothing.write_text('{"question": "Who?", "evidence": []}\n', encoding="utf-8")
    docs = data / "sets" / "boats" / "docs"
    shown = typed("eval", "fit", "custom", "--docs", docs, "--questions", nothing, "--out", tmp_path / "fit")
    assert (shown.code, "has known right pages (gold)" in shown.err) == (2, True)


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Engine, list[tuple[str, str]]]]:
    """A home, and questions with the names of the documents that answer them."""
    folder = tmp_path_factory.mktemp("rated")
    names = write_documents(folder / "docs")
    with closing(Engine(folder / "home")) as engine:
        run(engine.index([folder / "docs"]))
        words = ("Where does the {} stand?", "What does the {} cost?", "The price of the {}", "Which place has the {}?")
        questions = [(each.format(thing), name) for each in words for thing, name in zip(THINGS, names, strict=True)]
        yield folder, engine, questions


def rate(engine: Engine, questions: list[tuple[str, str]], *, right: bool = True) -> None:
    paths = {document.name: document.path for document in run(engine.documents.list())}
    [library] = [library.id for library in run(engine.libraries.named())]
    for question, name in questions:
        engine.feedback.add(library, "", question, paths[name], 1, right=right)


def clear(engine: Engine) -> None:
    [library] = [library.id for library in run(engine.libraries.named())]
    for rating in engine.feedback.all(library):
        engine.feedback.remove(library, rating.id)


def test_ratings_teach_unless_they_are_too_few_or_make_it_worse(
    rated: tuple[Path, Engine, list[tuple[str, str]]],
    typed: Callable[..., Printed],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PAGEINDEX_EVAL_DATA", raising=False)  # else the sets of the shipped weights are asked, too
    folder, engine, questions = rated
    arguments = ("--home", folder / "home", "eval", "fit", "--feedback", "--out", tmp_path)
    rate(engine, questions[:29])
    rate(engine, [(question, "list.md") for question, _ in questions], right=False)
    few = typed(*arguments)
    assert (few.code, few.out) == (2, "")
    assert "29 questions have a page that was rated right, but learning needs 30" in few.err
    rate(engine, questions[29:])
    accepted = typed(*arguments, "--json", "--write", tmp_path / "mine.json")
    assert accepted.code == 0, accepted.err
    report = json.loads(accepted.out)
    held_out = sum(RatedQuestion(question).held_out for question, _ in questions)
    assert (report["judged_by"], report["learned_from"]) == (held_out, 40 - held_out)
    assert report["learned"]["hit@1"] >= report["shipped"]["hit@1"] and not report["refused"]
    assert find_ranking(str(tmp_path / "mine.json")).learned["feedback"] == 40 - held_out
    clear(engine)
    misled = [(q, name if RatedQuestion(q).held_out else "list.md") for q, name in questions]
    rate(engine, misled)
    refused = typed(*arguments, "--write", tmp_path / "worse.json", "--l2", "0.001")
    assert refused.code == 1
    assert "worse than the shipped ones at hit@1" in refused.err and not (tmp_path / "worse.json").exists()
    clear(engine)


def test_ratings_join_the_sets_of_the_shipped_weights_where_all_are_at_hand(
    rated: tuple[Path, Engine, list[tuple[str, str]]],
    data: Path,
    typed: Callable[..., Printed],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder, engine, questions = rated
    rate(engine, questions)
    learned = {
        "sets": ["sets/boats", "sets/prices"],
        "sample": 150,
        "seed": 0,
        "settings": ["library"],
        "experts": ["none"],
    }
    shipped = replace(find_ranking(), learned=learned)
    monkeypatch.setattr("hybrid_pageindex.config.experts.shipped_model", lambda: shipped)
    arguments = ("--home", folder / "home", "eval", "fit", "--feedback", "--out", data / "runs" / "fit", "--json")
    joined = json.loads(typed(*arguments, "--data", data).out)
    assert joined["sets"] == ["sets/boats", "sets/prices"] and "are present" in joined["notes"][1]
    assert json.loads(Path(joined["file"]).read_text(encoding="utf-8"))["learned"]["sets"] == joined["sets"]
    (data / "sets" / "prices").rename(data / "prices")
    apart = json.loads(typed(*arguments, "--data", data).out)
    (data / "prices").rename(data / "sets" / "prices")
    assert apart["sets"] == [] and "are missing" in apart["notes"][1]
    assert apart["written"]["weights"] != joined["written"]["weights"]
    clear(engine)


def test_the_last_rating_of_a_page_counts() -> None:
    def rating(question: str, document: str, page: int, right: bool) -> Feedback:
        return Feedback("", "", "", question, "", document, page, right, 0)

    questions = rated_questions(
        [
            rating("a  b", "/x.pdf", 2, True),
            rating("a b", "/x.pdf", 3, True),
            rating("a b", "/x.pdf", 2, False),
            rating("c", "/x.pdf", 0, True),  # the document as a whole
            rating("c", "/gone.pdf", 1, True),
            rating("d", "/x.pdf", 9, True),  # a page that it no longer has
            rating("e", "", 0, True),  # nothing answers
            rating("f", "/x.pdf", 0, False),
        ],
        {"/x.pdf": ("X", 3)},
    )
    assert [(q.text, sorted(q.right), sorted(q.wrong)) for q in questions] == [
        ("a b", [("X", 3)], [("X", 2)]),
        ("c", [("X", 1), ("X", 2), ("X", 3)], []),
    ]
