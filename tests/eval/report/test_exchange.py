"""TREC files that ir-measures reads, and BEIR folders that become question sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ir_measures
import pytest

from eval.cli import main
from eval.datasets.custom import read_custom
from eval.measures.retrieval import per_question
from eval.records.questions import RankedPage
from eval.records.runs import GoldPlace, read_run
from tests.eval.made_runs import record, run_folder


def test_another_tool_computes_the_same_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also for names with white space and other scripts, and for a question without any result."""
    odd = {"gold": (GoldPlace("a b%20年.pdf", 2),), "pages": (RankedPage("a b%20年.pdf", 2, 1.0),)}
    records = [
        record("q 1", 1), record("q2", 4), record("q3", None), record("名 4", 1, **odd, documents=("a b%20年.pdf",)),
        record("q5", 1, pages=(), documents=()), record("q6", 2, answerable=False, gold=()),
    ]  # fmt: skip
    folder = run_folder(tmp_path / "run one", records)
    assert main(["export", str(folder), "--json"]) == 0
    files = [Path(file) for file in json.loads(capsys.readouterr().out)["files"]]
    assert [file.name for file in files[:2]] == ["pages.qrels", "pages.run"]
    expected = per_question(read_run(folder).questions)
    names = {"pages": "", "sections": "section.", "documents": "document."}
    measures = {ir_measures.RR: "mrr", ir_measures.nDCG @ 10: "ndcg@10", ir_measures.Success @ 5: "hit@5"}
    for level, prefix in names.items():
        qrels = list(ir_measures.read_trec_qrels(str(folder / "trec" / f"{level}.qrels")))
        results = list(ir_measures.read_trec_run(str(folder / "trec" / f"{level}.run")))
        means = ir_measures.calc_aggregate(list(measures), qrels, results)
        for measure, name in measures.items():
            values = [row[prefix + name] for row in expected.values() if prefix + name in row]
            assert len({judgement.query_id for judgement in qrels}) == len(values) >= 4
            assert means[measure] == pytest.approx(sum(values) / len(values)), (level, name)


def test_a_run_without_gold_is_not_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = run_folder(tmp_path / "run", [record("q", 1, answerable=False, gold=())])
    assert main(["export", str(folder)]) == 2
    assert "no questions with known right pages" in capsys.readouterr().err
    assert main(["export", str(tmp_path / "none")]) != 0


def beir(folder: Path, corpus: list[dict[str, Any]], queries: list[dict[str, Any]], qrels: str) -> Path:
    (folder / "qrels").mkdir(parents=True)
    for name, rows in (("corpus", corpus), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "qrels" / "test.tsv").write_text(qrels)
    return folder


CORPUS = [
    {"_id": "4983", "title": "Microstructural  development\nof cerebral matter", "text": "Alterations of the brain."},
    {"_id": "a/../b", "title": "", "text": "A text without title."},
    {"_id": "A/../b", "text": "Another, whose name differs in case."},
    {"_id": "x" * 300, "text": "A long name."},
    {"_id": "5", "title": "Unjudged", "text": "Nobody asks for it.", "metadata": {"url": "x"}},
]
QUERIES = [{"_id": "1", "text": "What happens to the brain?"}, {"_id": "2", "text": "Which has no title?"},
           {"_id": "3", "text": "Nothing is right"}, {"_id": "4", "text": "Not judged"}]  # fmt: skip
QRELS = f"query-id\tcorpus-id\tscore\n1\t4983\t2\n1\t5\t0\n2\ta/../b\t1\n2\t{'x' * 300}\t1\n3\tmissing\t1\n"


def test_a_beir_folder_becomes_a_question_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = beir(tmp_path / "scifact", CORPUS, QUERIES, QRELS)
    assert main(["import", str(folder), "--out", str(tmp_path / "out"), "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)
    assert (counts["documents"], counts["questions"], counts["left_out"]) == (5, 2, 2)
    dataset = read_custom(Path(counts["docs"]), Path(counts["questions_file"]))
    assert dataset.left_out == () and len(dataset.files) == 5
    assert {question.id: len(question.evidence) for question in dataset.questions} == {"1": 1, "2": 2}
    text = (tmp_path / "out" / "documents" / "4983.md").read_text()
    assert text == "# Microstructural development of cerebral matter\n\nAlterations of the brain.\n"
    assert all(file.resolve().parent == (tmp_path / "out" / "documents").resolve() for file in dataset.files)


@pytest.mark.parametrize(("limit", "count"), [(1, 3), (5, 4), (100, 5)])
def test_judged_documents_come_first(tmp_path: Path, limit: int, count: int) -> None:
    folder = beir(tmp_path / "set", CORPUS, QUERIES, QRELS)
    assert main(["import", str(folder), "--out", str(tmp_path / "out"), "--documents", str(limit)]) == 0
    assert len(list((tmp_path / "out" / "documents").iterdir())) == count


@pytest.mark.parametrize(
    ("corpus", "qrels", "why"),
    [
        ([{"_id": "1"}], QRELS, "corpus.jsonl, line 1"),
        ([{"_id": [1], "text": "x"}], QRELS, "corpus.jsonl, line 1"),
        (CORPUS, "1\t2\n", "test.tsv, line 1"),
        (CORPUS, "1\t2\tmany\n", "test.tsv, line 1"),
    ],
)
def test_what_is_no_beir_folder_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], corpus: list[dict[str, Any]], qrels: str, why: str
) -> None:
    folder = beir(tmp_path / "set", corpus, QUERIES, qrels)
    assert main(["import", str(folder), "--out", str(tmp_path / "out")]) != 0
    assert why in capsys.readouterr().err
    assert main(["import", str(tmp_path), "--out", str(tmp_path / "out2")]) != 0
    assert "is missing" in capsys.readouterr().err
