"""What a point's id tells."""

from __future__ import annotations

import uuid

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hybrid_core.store.index.points import Point, named_page, point_id, version_tag

NOTHING = (np.zeros(0, np.uint32), np.zeros(0, np.float32))
DOC_IDS = st.text("0123456789abcdef", min_size=12, max_size=12)
PAGES = st.tuples(st.integers(1, 0xFFFFFF), st.integers(0, 0xFFFFF))


@given(DOC_IDS, st.text(max_size=40), PAGES)
def test_an_id_names_its_page(doc_id: str, content_id: str, place: tuple[int, int]) -> None:
    page, chunk = place
    id = point_id(Point(doc_id, content_id, page, *NOTHING, chunk=chunk))
    assert named_page(id) == (doc_id, version_tag(content_id), page)
    read = uuid.UUID(id)
    assert str(read) == id and read.version == 8 and read.variant == uuid.RFC_4122


@given(DOC_IDS, st.lists(st.tuples(st.sampled_from(["c1", "c2"]), PAGES), unique=True, min_size=2, max_size=2))
def test_different_points_have_different_ids(doc_id: str, two: list[tuple[str, tuple[int, int]]]) -> None:
    one, other = (point_id(Point(doc_id, content, page, *NOTHING, chunk=chunk)) for content, (page, chunk) in two)
    assert one != other


@given(st.text(max_size=20).filter(lambda doc_id: len(doc_id) != 12), PAGES)
def test_other_ids_of_documents_are_hashed(doc_id: str, place: tuple[int, int]) -> None:
    id = point_id(Point(doc_id, "c", place[0], *NOTHING, chunk=place[1]))
    assert named_page(id) is None and uuid.UUID(id).version == 5


def test_what_does_not_fit_is_hashed() -> None:
    for page, chunk in ((0x1000000, 0), (1, 0x100000)):
        assert named_page(point_id(Point("0123456789ab", "c", page, *NOTHING, chunk=chunk))) is None
    assert named_page("7") is None
