"""Answers in a run: asked for, cited, judged over real HTTP, resumed, reported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from eval.cli import main
from eval.datasets.registry import load
from eval.measures.answers import Agreement, agreement, answer_figures
from eval.records.progress import Progress
from eval.records.questions import AnswerRecord
from eval.records.runs import QUESTIONS_FILE, RUN_FILE, Run, read_run
from eval.runs.run import measure
from hybrid_core.errors import UsageError
from hybrid_core.llm.prompts import prompt
from hybrid_pageindex import Engine, run
from tests import pdfs
from tests.doubles.replies import FakeReply
from tests.doubles.scripted_server import scripted_server
from tests.eval.answering import answered_set, checked, literal_judge, oracle_of, shown
from tests.eval.sets import plan

pytest.importorskip("openai", reason="the extra openai is not installed")
QUIET = Progress(quiet=True)
COUNT = len(pdfs.FISCAL_QUESTIONS) + 1


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    folder = tmp_path_factory.mktemp("answers")
    return folder, *answered_set(folder)


@pytest.fixture(scope="module")
def scripted_runs(made: tuple[Path, Path, Path]) -> dict[str, Run]:
    """The ceiling and the floor, whose answers only rules judge."""
    folder, docs, questions = made
    wanted: dict[str, dict[str, Any]] = {
        "oracle": {"model": "scripted:oracle"}, "random": {"model": "scripted:random"},
        "pages": {"model": "scripted:oracle", "setting": "oracle-pages"},
    }  # fmt: skip
    return {name: measure(plan(folder / name, docs, questions, answers=True, **more), QUIET)
            for name, more in wanted.items()}  # fmt: skip


def test_the_oracle_is_the_ceiling_and_made_up_answers_the_floor(scripted_runs: dict[str, Run]) -> None:
    oracle, bad = (scripted_runs[name].head.measures["all"] for name in ("oracle", "random"))
    assert oracle["answers-rules"] == oracle["answers-refused"] == oracle["citations-gold"] == 1
    assert oracle["answers-given"] == oracle["answers-supported"] == 1
    assert bad["answers-rules"] <= 1 / COUNT and bad["answers-supported"] == bad["citations-supported"] == 0
    assert "answers-strict" not in oracle, "nobody judged"
    record = scripted_runs["random"].questions[0].answer
    assert record is not None and record.status == "answered" and len(record.claims) == 2
    assert any("do not exist were removed" in note for note in record.notes), "an invented source is taken out and told"
    assert [claim.supported for claim in record.claims] == [False, False]


def test_a_reader_of_the_right_pages_gets_them_and_nothing_else(scripted_runs: dict[str, Run]) -> None:
    for record in scripted_runs["pages"].questions:
        assert record.answer is not None and record.answer.status == "answered"
        assert [(s.document, s.page) for s in record.answer.sources] == [(g.document, g.page) for g in record.gold]
    assert scripted_runs["pages"].head.measures["all"]["answers-rules"] == 1


def test_the_answer_is_the_one_that_ask_gives(made: tuple[Path, Path, Path], scripted_runs: dict[str, Run]) -> None:
    folder, docs, questions = made
    dataset = load("custom", docs=docs, questions=questions)
    from hybrid_core.llm.client.chat_model import ChatModel
    from tests.doubles.replies import FakeEndpoint

    (home,) = (folder / "homes").iterdir()
    engine = Engine(home, chat=ChatModel(FakeEndpoint(oracle_of(list(dataset.questions)))))
    try:
        for record in scripted_runs["oracle"].questions:
            asked = run(engine.ask(record.question, effort="fast"))
            assert record.answer is not None
            assert (asked.status, asked.text, asked.claims) == (
                record.answer.status, record.answer.text, record.answer.claims,
            )  # fmt: skip
            assert [(s.number, s.document, s.page) for s in record.answer.sources] == [
                (s.number, s.doc_name, s.page) for s in asked.sources
            ]
    finally:
        engine.close()


@pytest.fixture
def at_server(monkeypatch: pytest.MonkeyPatch, made: tuple[Path, Path, Path]) -> Iterator[Any]:
    """A server that answers as the oracle and judges literally; models are told apart by their names in the body."""
    _, docs, questions = made
    oracle = oracle_of(list(load("custom", docs=docs, questions=questions).questions))
    with scripted_server(checked(lambda r: literal_judge(r) if r.title == "JudgeReply" else oracle(r))) as server:
        monkeypatch.setenv("PAGEINDEX_LLM_BASE_URL", server.url)
        monkeypatch.setenv("PAGEINDEX_LLM_MODEL", uuid4().hex)
        monkeypatch.setenv("PAGEINDEX_LLM_API_KEY", "sk-very-secret")
        yield server


def test_answers_are_judged_by_a_model_of_their_own_and_a_run_goes_on(
    made: tuple[Path, Path, Path], at_server: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, docs, questions = made
    out, judge = folder / "judged", uuid4().hex
    arguments = ["run", "custom", "--docs", str(docs), "--questions", str(questions), "--out", str(out), "--answers",
                 "--judge-model", judge, "--fail-under", "answers-strict=1"]  # fmt: skip
    assert main(arguments) == 0
    assert "answers-strict" in capsys.readouterr().out
    asked = [(request.title, body["model"]) for request, body in zip(at_server.requests, at_server.bodies, strict=True)]
    assert [title for title, model in asked if model == judge] == ["Word"] + ["JudgeReply"] * (COUNT - 1), (
        "«not in the library» is right by itself and not shown to the judge"
    )
    assert "[[source" not in shown(at_server.requests[asked.index(("JudgeReply", judge))], "Answer")
    one = read_run(out)
    assert one.head.judge["prompt"] == prompt("judge-answer").id and judge in one.head.judge["model"]
    assert one.head.measures["all"]["answers-judged"] == 1
    answer = one.questions[0].answer
    assert isinstance(answer, AnswerRecord) and answer.judgement is not None and answer.judgement.verdict == "right"
    assert answer.usage.calls == answer.judgement.usage.calls == 1
    assert "sk-very-secret" not in (out / RUN_FILE).read_text(encoding="utf-8")

    written = (out / QUESTIONS_FILE).read_bytes().splitlines(keepends=True)
    (out / QUESTIONS_FILE).write_bytes(b"".join(written[:2]) + written[2][:30])
    head = json.loads((out / RUN_FILE).read_text(encoding="utf-8"))
    (out / RUN_FILE).write_text(json.dumps(head | {"finished": "", "measures": {}}), encoding="utf-8")
    before = len(at_server.bodies)
    assert main(arguments) == 0
    assert 0 < len(at_server.bodies) - before <= 2 + 2 * (COUNT - 2)
    assert [r.answer and r.answer.text for r in read_run(out).questions] == [
        r.answer and r.answer.text for r in one.questions
    ]
    assert main([*arguments[:-1], "answers-strict=1.01"]) == 1


def test_a_judge_that_fails_has_not_judged(
    made: tuple[Path, Path, Path], at_server: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, docs, questions = made
    answering, left = at_server.answer, [FakeReply("no JSON")] * 2
    at_server.answer = lambda r: left.pop() if r.title == "JudgeReply" and left else answering(r)
    run = measure(plan(folder / "unjudged", docs, questions, answers=True), QUIET)
    counted = answer_figures(run.questions)
    assert counted is not None and counted.not_judged == 1 and sum(counted.judge.values()) == COUNT - 1
    assert run.head.measures["all"]["answers-judged"] == pytest.approx((COUNT - 1) / COUNT)
    assert run.head.measures["all"]["answers-strict"] == 1, "over those that were judged"
    first = run.questions[0].answer
    assert first is not None and first.judgement is not None and first.judgement.verdict is None
    assert first.judgement.usage.calls == 2 and first.by_rules == "right"
    page, table = folder / "page.html", folder / "report.md"
    assert main(["report", str(run.folder), "--html", str(page), "--markdown", str(table)]) == 0
    shown_on_terminal = capsys.readouterr().out
    for written in (page.read_text(encoding="utf-8"), table.read_text(encoding="utf-8"), shown_on_terminal):
        assert "1 answers were not judged" in written and "How the judge was asked" in written
    assert prompt("judge-answer").turns[0][1].splitlines()[0] in page.read_text(encoding="utf-8")
    assert main(["report", str(run.folder), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)["runs"][0]
    assert data["answers"]["not_judged"] == 1 and "rounded" in data["head"]["judge"]["text"]

    before = len(at_server.bodies)
    assert main(["rejudge", str(run.folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["measures"]["answers-judged"] == 1
    assert len(at_server.bodies) == before + 1, "only the one that was not judged"
    again = read_run(run.folder)
    filled = again.questions[0].answer
    assert filled and filled.judgement and (filled.judgement.verdict, filled.judgement.usage.calls) == ("right", 3)
    assert again.questions[1:] == run.questions[1:] and again.head.measures["all"]["answers-judged"] == 1
    assert main(["rejudge", str(run.folder), "--judge-model", "another"]) == 2
    assert "Add --all" in capsys.readouterr().err
    assert main(["rejudge", str(run.folder), "--judge-model", "another", "--all"]) == 0
    assert "another" in read_run(run.folder).head.judge["model"]


def test_two_runs_are_compared_on_their_answers(
    scripted_runs: dict[str, Run], capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [str(scripted_runs[name].folder) for name in ("random", "oracle")]
    assert main(["compare", *folders, "--json", "--flips", "answers-rules"]) == 0
    (against,) = json.loads(capsys.readouterr().out)["against"]
    assert against["differences"]["answers-rules"]["low"] > 0
    assert len(against["won"]) >= COUNT - 2 and against["lost"] == []


def test_a_model_that_fails_is_a_wrong_answer(made: tuple[Path, Path, Path], at_server: Any) -> None:
    folder, docs, questions = made
    answering = at_server.answer
    at_server.answer = lambda r: (
        FakeReply(status=400, body={"error": {"message": "no"}}) if not r.title else answering(r)
    )
    run = measure(plan(folder / "failing", docs, questions, answers=True, seed=1), QUIET)
    counted = answer_figures(run.questions)
    assert counted is not None and counted.failed == COUNT - 1 and counted.not_judged == 0
    assert run.head.measures["all"]["answers-strict"] == pytest.approx(1 / COUNT), "the refusal is right"


def test_a_model_that_does_not_work_is_known_before_any_document_is_touched(
    made: tuple[Path, Path, Path], at_server: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, docs, questions = made
    at_server.answer = lambda _: FakeReply(status=401, body={"error": {"message": "Incorrect API key sk-very-secret"}})
    out = folder / "elsewhere" / "refused"
    arguments = ["--docs", str(docs), "--questions", str(questions), "--out", str(out)]
    for number, needing in enumerate((["--answers"], ["--effort", "deep"]), 1):
        assert main(["run", "custom", *arguments, *needing]) == 1
        said = capsys.readouterr().err
        assert "Check the API key" in said and "sk-very-secret" not in said
        assert len(at_server.bodies) == number and not out.parent.exists()


def test_searches_that_went_on_without_their_model_are_told(
    made: tuple[Path, Path, Path], at_server: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, docs, questions = made
    refused = FakeReply(status=401, body={"error": {"message": "no"}})
    at_server.answer = lambda r: '{"word": "ready"}' if r.title == "Word" else refused
    out = folder / "unreasoned"
    arguments = ["run", "custom", "--docs", str(docs), "--questions", str(questions), "--effort", "deep", "--out"]
    assert main([*arguments, str(out)]) == 0
    assert f"The model failed in {COUNT} of {COUNT} searches" in capsys.readouterr().out
    page = folder / "report.html"
    assert main(["report", str(out), "--html", str(page)]) == 0
    assert "The model failed in" in page.read_text(encoding="utf-8")
    monkeypatch.delenv("PAGEINDEX_LLM_MODEL")
    capsys.readouterr()
    assert main([*arguments, str(folder / "none")]) == 0
    assert (
        "No language model is configured (llm_model): effort deep worked like the effort fast."
        in capsys.readouterr().out
    )


def test_answers_need_a_model_and_judging_needs_answers(made: tuple[Path, Path, Path]) -> None:
    folder, docs, questions = made
    for more in ({"answers": True}, {"ranker": "whole-tree"}):
        with pytest.raises(UsageError, match="language model, and none is configured"):
            measure(plan(folder / f"none-{len(more)}", docs, questions, **more), QUIET)
    with pytest.raises(UsageError, match="--answers is missing"):
        plan(folder / "none", docs, questions, judge_model="m")


def test_kappa_is_cohens() -> None:
    """The example of Cohen 1960 with two classes: 20 and 15 together, 5 and 10 apart, gives 0.4."""
    example = Agreement(20, 5, 10, 15)
    assert (example.accuracy, example.kappa) == (0.7, pytest.approx(0.4))
    assert Agreement(3, 0, 0, 0).kappa is None and Agreement(0, 0, 0, 0).accuracy is None
    pairs = [("right", "right"), ("partly", "right"), ("wrong", "partly"), ("partly", "wrong")]
    assert agreement(pairs, strict=True) == Agreement(1, 0, 1, 2)  # type: ignore[arg-type]  # verdicts written out
    assert agreement(pairs, strict=False) == Agreement(2, 1, 1, 0)  # type: ignore[arg-type]


def labelled_set(folder: Path, labels: list[dict[str, str]]) -> tuple[Path, Path]:
    docs, questions = answered_set(folder, hidden=False)
    first, *rest = questions.read_text(encoding="utf-8").splitlines()
    entry = json.dumps(json.loads(first) | {"labelled": labels})
    questions.write_text("\n".join([entry, *rest]), encoding="utf-8")
    return docs, questions


def test_judges_are_judged_by_labels(tmp_path: Path, at_server: Any, capsys: pytest.CaptureFixture[str]) -> None:
    labels = [
        {"answer": "They were $418.2 million.", "label": "Correct Answer"},
        {"answer": "Net sales were 418,200 thousand.", "label": "right"},
        {"answer": "$418 million", "label": "partly"},
        {"answer": "$500 million", "label": "Incorrect Answer"},
        {"answer": "I cannot tell.", "label": "Failed to answer"},
    ]
    docs, questions = labelled_set(tmp_path, labels)
    arguments = ["judges", "custom", "--docs", str(docs), "--questions", str(questions)]
    assert main([*arguments, "--json", "--verdicts", str(tmp_path / "verdicts.jsonl")]) == 0
    said = json.loads(capsys.readouterr().out)
    rules, model = said["judges"]
    assert rules["strict"]["accuracy"] == rules["lenient"]["kappa"] == 1
    assert (model["strict"]["both"], model["strict"]["first"], model["strict"]["second"]) == (1, 1, 0)
    assert model["strict"]["accuracy"] == 0.8 and model["usage"]["calls"] == 5
    assert len((tmp_path / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()) == 5
    assert main([*arguments, "--sample", "2"]) == 0
    assert "Judges against labels" in capsys.readouterr().out
    bad = load("custom", docs=docs, questions=labelled_set(tmp_path / "b", [{"answer": "x", "label": "great"}])[1])
    assert "line 1: 'great' is not a known label" in bad.left_out[0]


def test_published_labels_are_read_and_their_absence_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "financebench"
    (root / "pdfs").mkdir(parents=True)
    (root / "results").mkdir()
    pdfs.bookmarked(root / "pdfs" / "ACME_2020_10K.pdf")
    question = {"id": "f1", "question": "Q?", "answer": "6.2%", "type": "t",
                "evidence": [{"doc": "ACME_2020_10K", "page": 1}]}  # fmt: skip
    (root / "questions.jsonl").write_text(json.dumps(question), encoding="utf-8")
    assert main(["judges", "financebench", "--data", str(tmp_path)]) == 2
    assert "no labelled answers" in capsys.readouterr().err
    result = {"financebench_id": "f1", "question": "Q?", "gold_answer": 0.062, "model_answer": "It is 6.2%.",
              "label": "Correct Answer"}  # fmt: skip
    (root / "results" / "m_oracle.jsonl").write_text(json.dumps(result), encoding="utf-8")
    (one,) = load("financebench", tmp_path).labelled
    assert (one.id, one.reference, one.label) == ("m_oracle/f1", "0.062", "right")
    assert main(["judges", "financebench", "--data", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["judges"][0]["strict"]["both"] == 1
