"""What somebody corrects by hand decides, and stays whatever happens to the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hybrid_core.errors import UsageError
from hybrid_pageindex import Engine, run
from tests.conftest import Cli

_HARBOUR = "# Report\n\nThe harbour handled {count} ships and the pier was mended twice.\n"


@pytest.fixture
def notes(tmp_path: Path) -> list[Path]:
    """Two reports of one kind that say neither whose they are nor of which year."""
    made = []
    for name, count in (("a", 31), ("b", 47)):
        made.append(tmp_path / "notes" / f"{name}.md")
        made[-1].parent.mkdir(exist_ok=True)
        made[-1].write_text(_HARBOUR.format(count=count))
    return made


def first(engine: Engine, question: str) -> str:
    return run(engine.search(question)).results[0].doc_name


def test_a_correction_steers_the_search_until_it_is_taken_back(engine: Engine, notes: list[Path]) -> None:
    run(engine.index(notes))
    question = "How many ships did Quillmoor Port handle in 2022?"
    run(engine.documents.edit("b.md", set={"organisation": "Quillmoor Port", "year": "2022"}))
    run(engine.documents.edit("a.md", set={"organisation": "Quillmoor Port", "year": "2021"}))
    assert first(engine, question) == "b.md"
    assert first(engine, question.replace("2022", "2021")) == "a.md"
    assert [one.name for one in run(engine.documents.list(where=["year=2022"]))] == ["b.md"]
    found = run(engine.documents.edit("b.md", unset=["year", "organisation"]))
    assert (found.card.years, found.corrections) == ((), {})
    run(engine.documents.edit("b.md", set={"title": "Lighthouse accounts", "tags": "quay survey; draft"}))
    assert run(engine.search("the quay survey")).documents[0].doc_name == "b.md"
    assert [one.title for one in run(engine.documents.list(where=["tag=draft"]))] == ["Lighthouse accounts"]


CORRECTED = {
    "title": "Lighthouse accounts",
    "organisation": "Quillmoor Port",
    "date": "2019-06-30",
    "type": "annual report",
    "tags": "quay survey; draft",
}


def test_it_survives_changes_rebuilding_and_moves_and_goes_along_with_copies(engine: Engine, notes: list[Path]) -> None:
    run(engine.index(notes))
    run(engine.documents.edit("a.md", set={name.capitalize(): value for name, value in CORRECTED.items()}))
    notes[0].write_text(_HARBOUR.format(count=12))
    run(engine.index(notes))
    run(engine.documents.rebuild(["a.md"]))
    moved = notes[0].rename(notes[0].with_name("moved.md"))
    run(engine.index([moved.parent]))
    copy = moved.with_name("z-copy.md")
    copy.write_bytes(moved.read_bytes())
    run(engine.index([copy]))
    for name in ("moved.md", "z-copy.md"):
        found = run(engine.documents.get(name))
        card = found.card
        assert (found.title, card.title, card.names[0], card.date) == ("Lighthouse accounts",) * 2 + (
            "Quillmoor Port",
            "2019-06-30",
        )
        assert (card.years, card.type, card.tags[:2]) == ((2019,), "annual report", ("quay survey", "draft"))
        assert found.corrections == CORRECTED


@pytest.mark.parametrize("by", CORRECTED)
def test_each_correction_steers_the_search_after_a_rebuild(engine: Engine, notes: list[Path], by: str) -> None:
    """What is found first without it comes second with it, on the same words."""
    run(engine.index(notes))
    question = f"{_ASKED_BY[by]}how many ships did the harbour handle and was the pier mended?"
    before = first(engine, question)
    other = "b.md" if before == "a.md" else "a.md"
    run(engine.documents.edit(other, set={by: CORRECTED[by]}))
    run(engine.documents.rebuild([other]))
    assert first(engine, question) == other
    run(engine.documents.edit(other, unset=[by]))
    assert first(engine, question) == before


def test_a_word_that_stands_in_a_title_alone_leads_to_its_beginning(engine: Engine, notes: list[Path]) -> None:
    run(engine.index(notes))
    run(engine.documents.edit("b.md", set={"title": "Lighthouse accounts"}))
    found = run(engine.search("Lighthouse"))
    assert [(one.doc_name, one.page) for one in found.results] == [("b.md", 1)]
    assert found.evidence.level == "none", "the page says nothing of it"
    assert not run(engine.search("Windmill")).results


_ASKED_BY = {
    "title": "Lighthouse accounts: ",
    "organisation": "Quillmoor Port: ",
    "date": "On June 30, 2019, ",
    "type": "According to the annual report, ",
    "tags": "In the quay survey, ",
}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"colour": "red"}, "cannot be corrected"),
        ({"year": "soon"}, "is not a year"),
        ({"date": "2022-13-01"}, "is not a date"),
        ({"quarter": "5"}, "quarter"),
        ({"type": "poem of a gull"}, "not a known document type"),
        ({"title": "  "}, "The new value of the field 'title' is empty"),
        ({}, "The correction does not say which field to change"),
    ],
)
def test_what_cannot_be_is_refused(engine: Engine, notes: list[Path], wrong: dict[str, str], said: str) -> None:
    run(engine.index(notes[:1]))
    with pytest.raises(UsageError, match=said):
        run(engine.documents.edit("a.md", set=wrong))
    assert run(engine.documents.get("a.md")).corrections == {}


def test_a_date_brings_its_year_and_a_year_belies_another_date(engine: Engine, notes: list[Path]) -> None:
    run(engine.index(notes[:1]))
    assert run(engine.documents.edit("a.md", set={"date": "2018-06-30"})).card.years == (2018,)
    card = run(engine.documents.edit("a.md", set={"year": "2015, 2014"})).card
    assert (card.years, card.date, card.dates) == ((2015, 2014), None, ())


def test_the_command_line_corrects_and_shows(cli: Cli, notes: list[Path]) -> None:
    assert cli("index", notes[0]).returncode == 0
    shown = cli("edit", "a.md", "--set", "title=Pier accounts", "--set", "year=2022")
    assert shown.returncode == 0, shown.stderr
    assert "title: Pier accounts; year: 2022" in " ".join(shown.stdout.split())
    held = json.loads(cli("info", "a.md", "--json").stdout)
    assert (held["title"], held["card"]["years"]) == ("Pier accounts", [2022])
    assert json.loads(cli("edit", "a.md", "--unset", "title", "--json").stdout)["corrections"] == {"year": "2022"}
    for wrong in (["--set", "2022"], [], ["--unset", "colour"]):
        assert cli("edit", "a.md", *wrong).returncode == 2
