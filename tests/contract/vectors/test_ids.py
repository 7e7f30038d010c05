"""Points whose ids name their pages, as those of a catalog's documents do: no payload is read for them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import pytest

from hybrid_core.store.index.index import VectorIndex
from hybrid_core.store.index.points import version_tag
from tests.contract.vectors.library import Library, Opener, agree, agree_dense, ask, random_pages

pytestmark = pytest.mark.filterwarnings(
    "ignore:Local mode performs exact:UserWarning", "ignore:Payload indexes have no effect:UserWarning"
)

ONE, OTHER = "0123456789ab", "fedcba987654"
TERMS = dict.fromkeys(range(0, 200, 7), 1.0)


@pytest.fixture
def named(library: Library) -> Library:
    """Of documents that a catalog has, and of some that no catalog would."""
    library.publish(ONE, "one-1", *random_pages(1, 40))
    library.publish(OTHER, "other-1", *random_pages(2, 300))
    library.embed(OTHER, {(1, 0): [1.0, 0.0], (3, 0): [0.6, 0.8], (3, 1): [0.0, 1.0]})
    return library


def asked_for(index: VectorIndex, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids whose payloads are read from now on."""
    ids, payloads = list[str](), index.store.payloads

    def heard(some: list[str]) -> Mapping[str, Mapping[str, Any]]:
        ids.extend(some)
        return payloads(some)

    monkeypatch.setattr(index.store, "payloads", heard)
    return ids


def test_pages_are_those_that_payloads_name(open_index: Opener, named: Library) -> None:
    index = open_index(named, 2)
    agree(index, named, TERMS)
    agree(index, named, {1: 1.0, 2: 1.0, **TERMS})
    agree_dense(index, named, [0.0, 1.0])
    named.publish(ONE, "one-2", *random_pages(3, 41))
    named.remove(OTHER)
    index.catch_up(named)
    agree(index, named, TERMS)
    assert {hit.version for hit in ask(index, TERMS, doc_ids=[ONE])} == {version_tag("one-2")}


@pytest.mark.parametrize("doc_ids", [None, [ONE]])
def test_no_payload_is_read_of_what_names_itself(
    open_index: Opener, named: Library, monkeypatch: pytest.MonkeyPatch, doc_ids: Collection[str] | None
) -> None:
    index = open_index(named, 2)
    read = asked_for(index, monkeypatch)
    agree(index, named, TERMS, doc_ids)
    assert read == []
    agree(index, named, {1: 1.0, **TERMS})
    assert len(read) == 2, "of the pages of «a» and «b»"


def test_a_point_that_is_gone_before_its_payload_is_read_is_left_out(
    open_index: Opener, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = open_index(library)
    payloads: Callable[[list[str]], Mapping[str, Any]] = index.store.payloads
    monkeypatch.setattr(index.store, "payloads", lambda ids: payloads(ids[:1]))
    assert len(ask(index, {1: 1.0})) == 1
