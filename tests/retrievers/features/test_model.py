"""The ranking model: addends that sum to the score, weights that are read and refused, own words before added ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid_core.errors import UsageError
from hybrid_pageindex import Engine, run
from retrievers.features.table import FEATURES
from retrievers.ranking.model import RankingModel, load_model, shipped_model

RARE = ("quux", "corge", "grault", "garply", "waldo", "plugh", "xyzzy", "thud")
COMMON = ("earnings", "report", "market", "quarter", "meeting", "notes", "water", "house", "paper")


def test_shipped_weights_name_features_and_lift_what_holds_the_words() -> None:
    model = shipped_model()
    assert model.plain.shape == model.named.shape == (len(FEATURES),)
    assert model.plain[list(FEATURES).index("bm25_size")] > 0


def test_a_wrong_file_is_refused_by_name(tmp_path: Path) -> None:
    for at, written in enumerate(("no json", "[]", '{"weights": {"bm25": "x"}, "base": 0}', '{"weights": {}}')):
        path = tmp_path / f"{at}.json"
        path.write_text(written)
        with pytest.raises(UsageError, match=f"{at}.json"):
            load_model(path)
    with pytest.raises(UsageError, match="bm26"):
        RankingModel.of({"weights": {"bm26": 1.0}, "base": 0.0}, "mine")
    with pytest.raises(UsageError, match="cannot be read"):
        load_model(tmp_path / "absent.json")
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps({"weights": {"bm25": 2.0, "inside*named": 0.5}, "base": 0.25}))
    assert load_model(mine).base == 0.25


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Memos that hold two rare words each, among longer reports of words that expert knowledge adds."""
    folder = tmp_path_factory.mktemp("memos")
    for at, word in enumerate(RARE):
        other = RARE[(at + 1) % len(RARE)]
        (folder / f"memo{at}.md").write_text(f"# Memo {at}\n\nThe merger of {word} and {other} brings a bonus.\n")
    for at in range(6):
        said = " ".join(f"The {COMMON[(at + n) % 9]} of the business combination and acquisition." for n in range(60))
        (folder / f"report{at}.md").write_text(f"# Annual report {at}\n\n{said}\n")
    engine = Engine(folder / "home")
    run(engine.index(folder))
    pack = folder / "own.yaml"
    pack.write_text("expand: [{when: merger|bonus, phrases: [business combination, acquisition], weight: 1}]")
    yield engine
    engine.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(st.integers(0, len(RARE) - 1), st.lists(st.sampled_from(COMMON), max_size=2), st.booleans())
def test_expert_words_never_pass_a_page_with_all_own_rare_words(
    library: Engine, at: int, more: list[str], known: bool
) -> None:
    question = f"merger of {RARE[at]} and {RARE[(at + 1) % len(RARE)]} bonus {' '.join(more)}"
    expert = str(library.home.parent / "own.yaml") if known else "auto"
    found = run(library.search(question, expert=expert, effort="fast"))
    assert found.results[0].doc_name == f"memo{at}.md"


def test_features_and_their_addends_sum_to_the_score(library: Engine) -> None:
    found = run(library.candidate_features("merger of quux and corge"))
    model = shipped_model()
    named = found.values[:, list(found.names).index("named")][:, None]
    again = model.base + (found.values * (model.plain + named * model.named)).sum(axis=1)
    assert np.allclose(found.scores, again) and len(found.pages) == len(found.scores) > 0
    best = run(library.search("merger of quux and corge", effort="fast")).results[0]
    receipt = best.receipt
    assert sum(receipt.addends.values()) == pytest.approx(receipt.page + receipt.document + receipt.structure, abs=5e-3)
    parts = receipt.page + receipt.document + receipt.structure
    assert parts == pytest.approx(best.score, abs=2e-4)


def test_nothing_to_rank_is_no_error(library: Engine) -> None:
    assert run(library.candidate_features("zyzzyva")).pages == ()
    assert run(library.search("zyzzyva", effort="fast")).results == ()
