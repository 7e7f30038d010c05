"""Questions as people put them: two documents in one, lists of documents, slips, other forms of words, copies."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_core.text.tokens import tokenise
from hybrid_core.types.results import SearchResult
from hybrid_pageindex import Engine, run


def ask(engine: Engine, question: str, **options: object) -> SearchResult:
    return run(engine.search(question, effort="fast", **options))  # type: ignore[arg-type]


def names(found: SearchResult, most: int = 5) -> list[str]:
    return [page.doc_name for page in found.results[:most]]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Two papers, three contracts and a manual, a few paragraphs each."""
    folder = tmp_path_factory.mktemp("shelf")
    written = {
        "qz1.md": "# TIDECHECK: Verifying Tides\n\n## Abstract\n\nTides are verified.\n\n## Limits\n\nOnly one bay.",
        "qz2.md": "# SANDSCAN: Charting Banks\n\n## Abstract\n\nBanks are charted.\n\n## Limits\n\nOnly at low tide.",
        "pilot.md": "# Pilotage Agreement\n\nThe pilot guides ships of the owner through the channel.",
        "towage.md": "# Towage Agreement\n\nThe tug tows ships. It pays no fee for the channel.",
        "buoys.md": "# Buoy Lease\n\nThe buoys in the channel are leased for ten years.",
        "manual.md": "# Lantern Manual\n\nA stable lever extinguished the lantern. Certificates are renewed yearly.",
    }
    for name, text in written.items():
        (folder / name).write_text(text + "\n", encoding="utf-8")
    engine = Engine(folder / "home")
    run(engine.index([folder / name for name in written]))
    yield engine
    engine.close()


@pytest.mark.parametrize(
    "question",
    ["What are the limits of TIDECHECK and of SANDSCAN?", "Compare the abstract of SANDSCAN with that of TIDECHECK"],
)
def test_each_of_two_papers_has_its_share(shelf: Engine, question: str) -> None:
    assert {"qz1.md", "qz2.md"} <= set(names(ask(shelf, question), 2))


@pytest.mark.parametrize(
    ("question", "reports"),
    [
        (
            "Corvane Optics in 2023 or Dunlin Freight in 2024: whose net sales were higher?",
            {"corvane-optics-2023-10k.pdf", "dunlin-freight-2024-10k.pdf"},
        ),
        (
            "Compare the inventories of Corvane Optics in 2023 and in 2024",
            {"corvane-optics-2023-10k.pdf", "corvane-optics-2024-10k.pdf"},
        ),
    ],
)
def test_each_report_that_a_question_names_has_its_share(library: Engine, question: str, reports: set[str]) -> None:
    assert set(names(ask(library, question), 2)) == reports


def test_what_changed_is_told_by_one_report(library: Engine) -> None:
    found = names(ask(library, "How did net sales of Dunlin Freight change from 2023 to 2024?"), 1)
    assert found == ["dunlin-freight-2024-10k.pdf"]


@pytest.mark.parametrize("place", ["Table 9", "Appendix Q", "page 77"])
def test_a_place_that_is_nowhere_is_said_and_is_no_strong_evidence(shelf: Engine, place: str) -> None:
    found = ask(shelf, f"What does {place} of the Pilotage Agreement say of the pilot who guides ships?")
    assert found.results[0].doc_name == "pilot.md"
    assert f"pilot.md has no place called '{place}'" in found.notes
    assert found.evidence.level != "strong"


def test_a_place_of_no_document_in_particular_is_not_missed(shelf: Engine) -> None:
    assert not any("no place" in note for note in ask(shelf, "Which fees are in table 9?").notes)
    [note] = ask(shelf, "Which fees are in table 9?", documents=["towage.md"]).notes
    assert "towage.md has no place" in note


@pytest.mark.parametrize("question", ["zyxomma in table 9", "Quixotry, appendix Q?", "page 77: vexillum"])
def test_a_missing_place_and_no_matching_word_give_no_results(shelf: Engine, question: str) -> None:
    found = ask(shelf, question, documents=["towage.md"])
    assert found.results == () and found.evidence.level in ("none", "unclear")
    assert any("towage.md has no place" in note for note in found.notes)


def test_documents_are_listed_each_once(shelf: Engine) -> None:
    found = names(ask(shelf, "Which agreements are about the channel?"), 3)
    assert len(set(found)) == 3 and {"pilot.md", "towage.md"} <= set(found)


def test_results_grouped_by_document(library: Engine) -> None:
    found = ask(library, "net sales and inventories", top_k=2, group="document").results
    documents = [page.doc_id for page in found]
    assert len(set(documents)) == 2 and documents == sorted(documents, key=documents.index)
    assert all(1 <= documents.count(one) <= 3 for one in documents)


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("How is the lantern extinguihsed?", "extinguished"),
        ("How is the lanterm extinguished?", "lantern"),
        ("When are certlficates renewed?", "certificates"),
        ("Who is the Pliot?", "Pilot"),
    ],
)
def test_a_slip_is_searched_for_as_what_it_is_a_slip_of(shelf: Engine, question: str, right: str) -> None:
    found = ask(shelf, question)
    assert found.query == question
    assert [f"showing results for '{text}'" for text in [_replaced(question, right)]] == [
        note.partition(":")[0] for note in found.notes if note.startswith("showing")
    ]
    assert names(found, 1) == names(ask(shelf, _replaced(question, right)), 1)


def _replaced(question: str, right: str) -> str:
    wrong = {"extinguished": "extinguihsed", "lantern": "lanterm", "certificates": "certlficates", "Pilot": "Pliot"}
    return question.replace(wrong[right], right)


@pytest.mark.parametrize(
    "question",
    [
        "Who pays the fee?",
        "What does the zeppelin carry?",
        "Is BWXZ in the channel?",
        "What does Table 9 say?",  # tables: the library has «stable» only
        "Is the tug in Note 3 or in Item 4?",
    ],
)
def test_what_is_no_slip_stays(shelf: Engine, question: str) -> None:
    assert not any(note.startswith("showing") for note in ask(shelf, question).notes)


def test_slips_are_compared_with_documents_that_came_later(tmp_path: Path) -> None:
    engine = Engine(tmp_path / "home")
    (tmp_path / "a.md").write_text("# Lantern\n\nThe lantern is lit.\n", encoding="utf-8")
    run(engine.index([tmp_path / "a.md"]))
    assert not any("showing" in note for note in ask(engine, "Where is the barquentime?").notes)
    (tmp_path / "b.md").write_text("# Ships\n\nThe barquentine lies in the harbour.\n", encoding="utf-8")
    run(engine.index([tmp_path / "b.md"]))
    assert "barquentine" in ask(engine, "Where is the barquentime?").notes[0]
    engine.close()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Vertrag", "Verträge"), ("Bericht", "Berichts"), ("Mietvertrag", "Mietverträge"), ("Gesetz", "Gesetze"),
        ("contrat", "contrats"), ("société", "sociétés"), ("procédure", "procédures"), ("règlement", "règlements"),
        ("contrato", "contratos"), ("informe", "informes"), ("obligación", "OBLIGACION"), ("sociedad", "sociedad"),
    ],
)  # fmt: skip
def test_plurals_in_german_french_and_spanish_are_one_term(one: str, other: str) -> None:
    assert tokenise(one) == tokenise(other)


def test_the_same_bytes_at_two_places_stand_once(library: Engine, filings: list[Path], tmp_path: Path) -> None:
    (tmp_path / "left").mkdir()
    (tmp_path / "right").mkdir()
    twins = [Path(shutil.copy(filings[0], tmp_path / side / "report.pdf")) for side in ("left", "right")]
    engine = Engine(tmp_path / "home")
    run(engine.index([*twins, *filings[1:]]))
    results = ask(engine, "What is the consolidated balance sheet of inventories?", top_k=20).results
    of_twins = [page for page in results if page.doc_name == "report.pdf"]
    assert len({page.page for page in of_twins}) == len(of_twins)
    assert all(len(page.also_in) == 1 and "report.pdf" in page.also_in[0] for page in of_twins)
    for twin in twins:
        limited = ask(engine, "inventories", documents=str(twin)).results
        assert {page.short_path for page in limited} == {f"{twin.parent.name}/report.pdf"}
    engine.close()


def test_a_title_and_a_name_in_two_parts_of_a_question(tmp_path: Path) -> None:
    """What is left beside the title keeps its capitals: only they tell «Harbor» from a harbour."""
    written = {"qz.md": "# TIDECHECK: A Benchmark of Claims on the Moon and Northern Bays\n\nClaims are verified.\n"}
    written |= {f"b{at}.md": f"# Report {at}\n\nThe harbor counted {at} tides.\n" for at in range(7)}
    for name, text in written.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    engine = Engine(tmp_path / "home")
    run(engine.index([tmp_path / name for name in written]))
    for name in list(written)[1:]:
        run(engine.documents.edit(name, set={"organisation": "Harbor"}))
    found = names(ask(engine, "What does TIDECHECK verify, and which tides were counted by Harbor?"))
    engine.close()
    assert "qz.md" in found and found[0] != found[1]
