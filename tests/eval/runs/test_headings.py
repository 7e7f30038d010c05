"""Learning headings from outlines: which lines are the outline's, what is held out, and the file that is written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pymupdf
import pytest

from eval.datasets.outlines import read_bookmarks
from eval.records.progress import Progress
from eval.records.questions import HumanOutline
from eval.runs import headings
from eval.runs.headings import OutlinedDocument
from hybrid_core.errors import DocumentError
from hybrid_pageindex.engine.index.formats import parse_document
from indexers.outline.heading import Heading
from indexers.outline.heading_model import BoostedTrees, Possible, read_trees
from tests.indexers.outline.outline_pages import Sheet, document


def _items(*rows: tuple[str, int]) -> list[Possible]:
    return [Possible(Heading(title, page, 0, 1, "layout"), None) for title, page in rows]


@pytest.mark.parametrize(
    ("title", "page", "right"),
    [
        ("2.1 Ropes and Cables", 4, True),
        ("A.1 Ropes and Cables", 5, True),
        ("RopesandCables", 4, True),
        ("Ropes and Cables", 7, False),
        ("Ropes", 4, False),
    ],
)
def test_a_line_is_a_heading_where_only_numbering_spacing_or_a_page_differ(title: str, page: int, right: bool) -> None:
    assert headings.matches(_items((title, page)), [(2, "Ropes and Cables", 4)]).tolist() == [right]


def test_each_heading_of_an_outline_is_one_line() -> None:
    matched = headings.matches(_items(("Ropes", 3), ("1 Ropes", 4), ("Sails", 4)), [(1, "Ropes", 4), (1, "Sails", 4)])
    assert matched.tolist() == [False, True, True]


def _documents() -> list[OutlinedDocument]:
    out = []
    for kind, size in (("guides", 16), ("reports", 13), ("manuals", 18)):
        for copy in range(2):
            sheets = [Sheet(n).head(f"{n} Yard {'ABCDEF'[n + copy]}", size).prose(14) for n in range(1, 5)]
            rows = tuple((1, f"Yard {'ABCDEF'[n + copy]}", n) for n in range(1, 5))
            out.append(OutlinedDocument("made", f"{kind}{copy}.pdf", HumanOutline(rows, kind=kind), document(sheets)))
    return out


def test_every_document_is_judged_by_what_was_learned_without_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = _documents()
    lessons = [headings.lesson(each) for each in documents]
    kinds = {id(each): d.outline.kind for each, d in zip(lessons, documents, strict=True)}
    learned: list[set[str]] = []

    def learn(lessons: list[headings.Lesson]) -> BoostedTrees:
        learned.append({kinds[id(each)] for each in lessons})
        return headings.NO_TREES

    monkeypatch.setattr(headings, "learn", learn)
    judged = headings.held_out(documents, lessons, Progress())
    assert learned == [{"reports", "manuals"}, {"guides", "manuals"}, {"guides", "reports"}]
    assert [each.name for each in judged] == [each.name for each in documents]
    assert headings.means(judged)["f1"] == 1.0


def test_a_model_reads_as_it_was_written() -> None:
    documents = _documents()
    rules = [headings.judge(each, headings.NO_TREES) for each in documents]
    trees = headings.learn([headings.lesson(each) for each in documents])
    model = headings.written(trees, documents, rules, rules)
    assert model["learned"]["sets"]["made"]["documents"] == 6
    again = read_trees(model)
    values = np.random.default_rng(1).random((50, 200))
    assert again.scores(values) == pytest.approx(trees.scores(values), abs=0.01)


def test_a_pdf_is_read_without_its_bookmarks(tmp_path: Path) -> None:
    pdf = pymupdf.open()
    pdf.new_page().insert_text((72, 72), "Of ropes")
    pdf.set_toc([[1, "Of ropes", 1]])
    pdf.save(tmp_path / "a.pdf")
    assert parse_document(tmp_path / "a.pdf").bookmarks == ()
    (tmp_path / "b.pdf").write_bytes(b"no pdf at all")
    with pytest.raises(DocumentError):
        parse_document(tmp_path / "b.pdf")


def test_an_index_says_of_which_kind_and_language_documents_are(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        pdf = pymupdf.open()
        pdf.new_page()
        pdf.save(tmp_path / f"{name}.pdf")
        (tmp_path / f"{name}.toc").write_text("1,Ropes,1\n")
    rows = "name,lang,kind,source\na,de,manual,yard\nb,en,thesis sample,gate\n"
    (tmp_path / "index.csv").write_text(rows)
    outlines = read_bookmarks(tmp_path).outlines
    assert [(outlines[name].kind, outlines[name].language) for name in ("a.pdf", "b.pdf", "c.pdf")] == [
        ("manual, yard", "de"), ("thesis", "en"), ("", ""),
    ]  # fmt: skip


def test_an_estimate_is_learned_without_the_kind_it_judges_and_a_third_of_pages_is_low() -> None:
    first = headings.judge(_documents()[0], headings.NO_TREES)
    signs = len(first.signs)
    judged = [
        replace(
            first, kind=f"kind {at % 4}", pages=10, score=replace(first.score, f1=0.4 + 0.02 * at),
            signs=(at / 30, *(0.0,) * (signs - 1)),
        )
        for at in range(30)
    ]  # fmt: skip
    quality, estimates = headings.learn_quality(judged, lambda each: each.kind)
    assert len(quality["weights"]) == signs and quality["weights"]["expected"] > 0
    assert sum(estimates < quality["low"]) == pytest.approx(10, abs=1)
    assert estimates[-1] > estimates[0]
    _, unseen = headings.learn_quality([*judged[:-1], replace(judged[-1], kind="own")], lambda each: each.kind)
    _, changed = headings.learn_quality(
        [*judged[:-1], replace(judged[-1], kind="own", score=replace(first.score, f1=0.0))], lambda each: each.kind
    )
    assert unseen[-1] == pytest.approx(changed[-1])
