"""Several indexes are searched as one index of all their pages would be."""

from __future__ import annotations

import pytest

from hybrid_core.store.index.index import JoinedIndex
from hybrid_core.store.index.points import Query
from tests.contract.vectors.conftest import Opener
from tests.contract.vectors.library import Library, arrays, random_pages

pytestmark = pytest.mark.filterwarnings(
    "ignore:Local mode performs exact:UserWarning", "ignore:Payload indexes have no effect:UserWarning"
)


def test_joined_indexes_score_as_one(open_index: Opener) -> None:
    whole, parts = Library(), [Library(), Library(), Library()]
    for number in range(30):
        pages = random_pages(number, 10)
        for library in (whole, parts[number % 7 % 3]):  # of different sizes
            library.publish(f"d{number:02}", f"c{number}", *pages)
    # A term that one of them never holds, and one that is rare in one and common in another.
    for library in (whole, parts[0]):
        library.publish("x", "x1", *({999: 1.0, 3: 0.5} for _ in range(20)))
    joined = JoinedIndex([
        open_index(library, place=f"part {at}")
        for at, library in enumerate(parts)
    ])  # fmt: skip
    one = open_index(whole)
    weights = {term: 1.0 + term / 100 for term in (*range(0, 40, 3), 999, 5000)}
    for limit, doc_ids in ((1000, None), (25, None), (1000, {"d03", "d04", "x"})):
        query = Query("bm25", arrays(weights), limit, doc_ids)
        expected, found = one.search(query), joined.search(query)
        assert [(hit.doc_id, hit.page) for hit in found] == [(hit.doc_id, hit.page) for hit in expected]
        assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], rel=1e-5)
    assert joined.search(Query("bm25", arrays({5000: 1.0}), 10)) == []
