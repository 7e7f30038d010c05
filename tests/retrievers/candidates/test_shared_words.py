"""A word that recurs in documents of several organisations makes none of them another's."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from hybrid_core.types.documents import Card
from hybrid_core.types.scoring import EntityLinking
from retrievers.candidates.clusters import Clusters
from retrievers.candidates.router import Router
from retrievers.query.question import read_question

ORGANISATIONS = ("Tarrowgate", "Orrinvale", "Quensted", "Bellweather")
WORDS = ("Securities", "Subsidiaries", "Plan", "Agent")
cards = st.builds(
    Card,
    names=st.sampled_from((*((name,) for name in ORGANISATIONS), ())),
    symbols=st.sampled_from(((), ("TRW",))),
    type=st.sampled_from(("", "current report", "annual report")),
    years=st.sampled_from(((), (2022,), (2023,))),
    recurring=st.lists(st.sampled_from(WORDS), max_size=2, unique=True).map(tuple),
)


def report(name: str, year: int, *recurring: str) -> Card:
    return Card(names=(name,), symbols=(name[:3].upper(),), years=(year,), type="current report", recurring=recurring)


FILINGS = [report("Tarrowgate", 2022, "Securities"), report("Orrinvale", 2023, "Securities"), report("Orrinvale", 2022)]


def named(question: str, library: list[Card]) -> set[int]:
    """The documents whose organisation a question names."""
    clusters = Clusters({f"d{n}": card for n, card in enumerate(library)}, Order(), {}, EntityLinking())
    return {int(doc_id[1:]) for doc_id in clusters.match(question).strengths}


class Order(dict[str, int]):
    def __missing__(self, doc_id: str) -> int:
        return int(doc_id[1:])


@given(st.lists(cards, min_size=1, max_size=8))
@example(FILINGS)
def test_an_organisation_s_name_means_its_own_documents(library: list[Card]) -> None:
    for name in ORGANISATIONS:
        own = {number for number, card in enumerate(library) if name in card.names}
        assert named(f"legal proceedings of {name}", library) == own


def test_documents_without_a_name_are_still_one_by_the_word_that_recurs_in_them() -> None:
    library = [Card(recurring=("Tarrowgate",)), Card(recurring=("Tarrowgate",)), report("Orrinvale", 2023)]
    assert named("dividends of Tarrowgate", library) == {0, 1}


def test_a_search_is_told_the_organisation_that_the_question_names() -> None:
    cards = {str(number): card for number, card in enumerate(FILINGS)}
    routing = Router(cards).route(read_question("What legal proceedings does Orrinvale name in 2023?"))
    assert routing.organisations == ("Orrinvale",) and max(routing.scores, key=routing.scores.__getitem__) == "1"
