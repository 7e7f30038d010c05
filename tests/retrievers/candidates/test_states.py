"""A library's view and router made of the state before and what changed are those made anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_core.store.mapped import MappedFile
from hybrid_core.types.documents import Card, Document, unread_warning
from hybrid_core.types.scoring import ScoringConfig
from retrievers.candidates.library import Documents, LibraryView, read_view, write_view
from retrievers.candidates.router import Router
from retrievers.query.question import read_question
from tests.retrievers.made_documents import document
from tests.work import examples

pytestmark = pytest.mark.slow

NAMES = (
    "Harbor & Pine, Inc.",
    "HARBORPINE",
    "Harbor",
    "Harbor Energy Ltd",
    "Harbor Holdings",
    "Harbor Pine Group International",
    "Western Water Works Company",
    "Western Water",
    "Water Works",
    "Tangerine Wharf",
    "Tangerine Wharf International Ltd",
    "湖泊保护法",
    "内河湖泊保护法实施条例",
    "Moss & Fern LLC",
    "Moss and Fern",
    "Security",
    "...",
)
QUESTIONS = [
    read_question(text)
    for text in (
        "What did Harbor & Pine earn in 2019?",
        "harbor energy and western water works in Q2 2018",
        "HPNE's newest annual report",
        "湖泊保护法 第三条",
        "a loan of Moss & Fern to Tangerine Wharf",
        "security of the annual report",
        "who is IBM, or HE?",
        "A history of tidal mills",
        "the nickname Pines in 2018",
        "what happened in 2020?",
        "latest quarterly report of Water Works",
    )
]
ALIASES = {"Harbor & Pine": ("Pines", "He"), "湖泊保护法": ("湖法",)}
names = st.lists(st.sampled_from(NAMES), max_size=2).map(tuple)
cards = st.builds(
    Card,
    names=names,
    symbols=st.lists(st.sampled_from(("HPNE", "IBM", "HE", "Moss")), max_size=1).map(tuple),
    parties=st.lists(st.sampled_from((*NAMES[:4], "Moss & Fern LLC", "湖法院")), max_size=2).map(tuple),
    years=st.lists(st.sampled_from((2018, 2019, 2020)), max_size=2, unique=True).map(tuple),
    quarter=st.sampled_from((None, 2, 3)),
    type=st.sampled_from(("", "annual report", "quarterly report", "agreement", "statute")),
    title=st.sampled_from(
        ("", "Security", "A History of Tidal Mills", "Water Works of 2019", "Harbor Energy in Brief")
    ),
    recurring=st.lists(st.sampled_from(NAMES), max_size=2).map(tuple),
)
folders = st.sampled_from(("a", "b", "c/a"))
changes = st.one_of(
    st.tuples(st.just("publish"), st.integers(0, 30), cards, folders),
    st.tuples(st.just("publish"), st.integers(0, 30), cards, folders),
    st.tuples(st.just("remove"), st.integers(0, 30)),
)
steps = st.lists(st.lists(changes, min_size=1, max_size=5), min_size=1, max_size=8)


def published(number: int, card: Card, folder: str) -> Document:
    unread = (unread_warning(1, 9, "4"),) if number % 3 == 0 else ()
    made = replace(document(f"d{number}"), card=card, path=f"/{folder}/{number % 7}.pdf", warnings=unread)
    return made if number > 6 else replace(made, path=f"/{folder}/{number}/{number % 7}.pdf")


def view(documents: dict[str, Document], before: LibraryView | None = None) -> LibraryView:
    held = before.documents if before else Documents.of(())
    assert isinstance(held, Documents)
    new = [one for one in documents.values() if held.get(one.doc_id) != one]
    made = held.published(new, [doc_id for doc_id in held if doc_id not in documents])
    router = Router(made.cards, ALIASES, ScoringConfig(), before and before.router, made.order)
    return LibraryView(1, made, router, before)


def reopened(one: LibraryView, path: Path) -> LibraryView:
    write_view(path, {}, one)
    return read_view(MappedFile(path), ALIASES, ScoringConfig())


def says(one: LibraryView) -> list[object]:
    everything = [one.router.route(question) for question in QUESTIONS]
    kinds = sorted(one.types(None))
    return [
        everything,
        [list(routing.reasons) for routing in everything],
        [(kind, one.of_types([kind], None)) for kind in kinds],
        {document.path: one.short_path(document.path) for document in one.documents.values()},
        [document.doc_id for document in one.unread],
        list(one.documents),
        set(one.name_terms()),
    ]


@settings(max_examples=examples(40), deadline=None)
@given(steps=steps)
def test_any_history_ends_in_what_is_made_anew(
    steps: list[list[tuple[object, ...]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Also where a state is written and opened again in between."""
    folder = tmp_path_factory.getbasetemp()
    documents: dict[str, Document] = {}
    kept: LibraryView | None = None
    for some in steps:
        for what, number, *rest in some:
            doc_id = f"d{number}"
            if what == "remove":
                documents.pop(doc_id, None)
            else:
                new = published(number, *rest)  # type: ignore[arg-type]
                if new.path not in {one.path for one in documents.values() if one.doc_id != doc_id}:
                    documents[doc_id] = new
        before, earlier = kept, kept and says(kept)
        kept = view(documents, kept)
        assert says(kept) == says(view(documents))
        if len(kept.documents) % 3 == 0:
            kept = reopened(kept, folder / "view")
            assert says(kept) == says(view(documents))
        assert earlier is None or says(before) == earlier  # type: ignore[arg-type] # a search under way keeps its state
