"""Counts and complete lists that ``ask`` gives, with a model and without: the true numbers and what was searched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.types.answers import Answer
from hybrid_pageindex import Engine, Settings, run
from tests.doubles.replies import FakeEndpoint

LEASES = {
    "mill-lease.md": "# Lease of the mill\n\nThe tenant pays rent. Force majeure ends the lease. A deposit is due.\n",
    "barn-lease.md": "# Lease of the barn\n\nRent is paid monthly. FORCE\nMAJEURE is excluded.\n",
    "pier-lease.md": "# Lease of the pier\n\nThe lessee pays royalties on each boat. The terms and conditions apply.\n",
    "harbour-contract.md": "# Harbour contract\n\nNo rent is due. One royalty of 3 crowns is due each year.\n",
    "urteil-1.md": "# Urteil 1\n\nDie Klägerin beruft sich auf höhere Gewalt. Der Auskunftsanspruch verjährt.\n",
    "urteil-2.md": "# Urteil 2\n\nDie Höhe des Auskunftsanspruchs ist streitig. Die Miete ist gemindert.\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("counting")
    for name, text in LEASES.items():
        (folder / name).write_text(text, encoding="utf-8")
    engine = Engine(folder / "home")
    run(engine.index([folder]))
    engine.close()
    yield folder / "home"


def ask(home: Path, question: str, reply: str = "", **options: object) -> tuple[Answer, int]:
    """Return the answer, and how often a model was asked; with a ``reply`` there is a model."""
    endpoint = FakeEndpoint(lambda request: reply if request.schema is None else {"reasoning": "", "pages": []})
    chat = ChatModel(endpoint) if reply else None
    engine = Engine(settings=Settings(storage_path=home), chat=chat)
    try:
        return run(engine.ask(question, **options)), len(endpoint.requests)  # type: ignore[arg-type]
    finally:
        engine.close()


COUNTS = [
    ('How many documents mention "force majeure"?', "2 of 6 documents mention", {"mill-lease.md", "barn-lease.md"}),
    ("List every document that mentions force majeure", "2 of 6", {"mill-lease.md", "barn-lease.md"}),
    ("How many documents mention a royalty?", "2 of 6", {"pier-lease.md", "harbour-contract.md"}),
    ("How many documents mention terms and conditions?", "1 of 6 documents mentions", {"pier-lease.md"}),
    ("Which documents mention both rent and a deposit?", "1 of 6", {"mill-lease.md"}),
    ("Which documents mention royalties or deposits?", "3 of 6",
     {"mill-lease.md", "pier-lease.md", "harbour-contract.md"}),
    ('Which documents mention "rent" but not "deposit"?', "2 of 6", {"barn-lease.md", "harbour-contract.md"}),
    ("How many documents mention xylophones?", "0 of 6", set()),
    ("How many documents mention roylaty?", "2 of 6", {"pier-lease.md", "harbour-contract.md"}),
    ("Wie viele Urteile erwähnen «höhere Gewalt»?", "1 von 6 Dokumenten enthält", {"urteil-1.md"}),
    ("Welche Dokumente erwähnen den Auskunftsanspruch?", "2 von 6", {"urteil-1.md", "urteil-2.md"}),
    ("In wie vielen Urteilen wird der Ankunftsanspruch erwähnt?", "2 von 6", {"urteil-1.md", "urteil-2.md"}),
]  # fmt: skip


@pytest.mark.parametrize(("question", "head", "names"), COUNTS)
def test_a_count_is_true_complete_and_lists_its_documents(
    home: Path, question: str, head: str, names: set[str]
) -> None:
    answer, _ = ask(home, question)
    assert answer.status == "answered" and answer.text.startswith(head)
    assert {source.doc_name for source in answer.sources} == names
    assert ("complete: all 6 pages" in answer.text) or ("vollständig: Alle 6 Seiten" in answer.text)
    assert all(f"[[source:{source.number}]]" in answer.text and source.snippet for source in answer.sources)
    assert answer.usage.calls == 0 and "searched" in {step.kind for step in answer.steps}


def test_a_model_is_not_asked_to_count(home: Path) -> None:
    answer, calls = ask(home, 'How many documents mention "force majeure"?', "I guess 7 [[source:1]].")
    assert answer.text.startswith("2 of 6") and calls == 0


def test_words_that_no_document_holds_go_to_the_model_with_a_note(home: Path) -> None:
    answer, calls = ask(home, "Which documents mention the tenants of the mill?", "The mill's lease does [[source:1]].")
    assert calls and answer.text.startswith("The mill's lease")
    assert any("no document contains the words “tenants of the mill”" in note for note in answer.notes)


def test_what_is_absent_is_listed_and_a_slip_is_said(home: Path) -> None:
    absent, _ = ask(home, "Which documents do not mention rent?")
    assert absent.text.startswith("3 of 6 documents do not mention") and "- urteil-1.md\n" in absent.text
    slip, _ = ask(home, "How many documents mention roylaty?")
    assert "No document holds “roylaty”" in slip.text and "“royalty”" in slip.text


def test_places_and_pages_are_counted(home: Path) -> None:
    places, _ = ask(home, "How often is rent mentioned?")
    assert places.text.startswith("“rent” stands at 3 places on 3 pages of 3 documents.")
    pages, _ = ask(home, "How many pages mention royalties?")
    assert "at 2 places on 2 pages of 2 documents" in pages.text


def test_the_noun_and_the_given_documents_restrict_a_count(home: Path) -> None:
    given, _ = ask(home, 'How many documents mention "rent"?', documents=["mill-lease.md", "pier-lease.md"])
    assert given.text.startswith("1 of 2 documents mentions")
    named, _ = ask(home, 'How many harbour contracts mention "rent"?')
    assert "1 of 1 document" in named.text and [one.doc_name for one in named.sources] == ["harbour-contract.md"]
    assert "Besides these: 2 other documents." in named.text
