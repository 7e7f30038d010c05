"""Any history of a library ends in what is published."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contract.vectors.backends import Open
from tests.contract.vectors.library import (
    Library,
    Weights,
    agree,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore:Local mode performs exact:UserWarning", "ignore:Payload indexes have no effect:UserWarning"
)


steps = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from("abc"),
            st.lists(st.dictionaries(st.integers(0, 6), st.floats(0.125, 4, width=32), max_size=4), max_size=3),
        ),
        st.tuples(st.sampled_from("abc"), st.none()),
        st.just(("reopen", None)),
        st.just(("catch up", None)),
    ),
    max_size=12,
)


@pytest.mark.slow
@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(steps=steps)
def test_any_history_ends_in_what_is_published(
    backend: Open, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, list[Weights] | None]]
) -> None:
    folder, library = tmp_path_factory.mktemp("index"), Library()
    index = backend(folder, library, 0, False)
    try:
        for number, (name, pages) in enumerate(steps):
            if name == "reopen":
                index.close()
                index = backend(folder, library, 0, False)
            elif name == "catch up":
                index.catch_up(library)
            elif pages is None:
                library.remove(name)
            else:
                library.publish(name, f"{name}{number}", *pages)
        index.catch_up(library)
        agree(index, library, dict.fromkeys(range(7), 1.0))
        agree(index, library, {2: 1.0}, doc_ids={"a"})
    finally:
        index.close()
