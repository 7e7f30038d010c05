"""Documents under names that say nothing: the same files, questions and gold."""

from __future__ import annotations

from pathlib import Path

from eval.datasets.custom import read_custom
from eval.datasets.variants import hide_names
from eval.records.progress import Progress
from eval.runs.run import measure
from tests.eval.sets import own_set, plan


def test_questions_keep_their_documents(tmp_path: Path) -> None:
    docs, questions = own_set(tmp_path)
    dataset = read_custom(docs, questions)
    for _ in range(2):  # a second run finds the links there
        hidden = hide_names(dataset, tmp_path / "names")
    assert sorted(path.name for path in hidden.files) == [f"document-{n:03d}.pdf" for n in range(1, 5)]
    assert sorted((tmp_path / "names").iterdir()) == sorted(hidden.files)
    bytes_of = {path.name: path.read_bytes() for path in (*dataset.files, *hidden.files)}
    for before, after in zip(dataset.questions, hidden.questions, strict=True):
        assert (after.id, after.text, after.evidence[0].page) == (before.id, before.text, before.evidence[0].page)
        assert bytes_of[after.evidence[0].document] == bytes_of[before.evidence[0].document]


def test_a_run_searches_them_and_records_that_it_did(tmp_path: Path) -> None:
    docs, questions = own_set(tmp_path)
    run = measure(plan(tmp_path / "run", docs, questions, hide_names=True), Progress(quiet=True))
    assert run.head.options["hide_names"] is True
    assert {page.document[:9] for record in run.questions for page in record.pages} == {"document-"}
    assert run.head.measures["all"]["hit@5"] == 1
