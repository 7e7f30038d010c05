"""The setting ``ranking_weights``: a file that is used, read again when it changes, and refused when it is wrong."""

from __future__ import annotations

import json
import os
import re
from contextlib import closing
from pathlib import Path

import pytest

from hybrid_core.errors import UsageError
from hybrid_pageindex import Engine, run
from hybrid_pageindex.config.experts import find_ranking
from hybrid_pageindex.config.settings import load_settings
from retrievers.features.table import FEATURES


def write(path: Path, weights: object, **more: object) -> None:
    path.write_text(json.dumps({"weights": weights, "base": 0.0, **more}), encoding="utf-8")


def test_a_search_ranks_by_the_file_that_the_setting_names(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "short.md").write_text("# Boats\n\nA boat has a keel.\n", encoding="utf-8")
    (docs / "long.md").write_text("# Boats\n\nA boat has a keel, and the keel has " + "planks " * 60, encoding="utf-8")
    weights = tmp_path / "weights.json"
    environment = {"PAGEINDEX_RANKING_WEIGHTS": str(weights)}
    with closing(Engine(settings=load_settings(tmp_path / "home", environment))) as engine:
        write(weights, {"length": 1.0})
        run(engine.index([docs]))
        assert engine.search_now("boat keel").results[0].doc_name == "long.md"
        write(weights, {"length": -0.25, "bm25": 1.0})  # another size: its stamp is another for sure
        assert engine.search_now("boat keel").results[0].doc_name == "short.md"
        features = run(engine.candidate_features("boat keel"))
        expected = (
            features.values[:, features.names.index("bm25")] - 0.25 * features.values[:, features.names.index("length")]
        )
        assert features.scores == pytest.approx(expected)
        assert set(features.pairs) <= set(features.names)
        weights.unlink()
        with pytest.raises(UsageError, match=r"weights\.json: the file of ranking weights cannot be read"):
            engine.search_now("boat keel")


def test_features_without_a_weight_count_0_and_unknown_ones_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "weights.json"
    write(file, {"bm25": 2, "bm25*named": -1})
    weights = find_ranking(str(file)).weights()
    assert {name: weight for name, weight in weights.items() if weight} == {"bm25": 2.0, "bm25*named": -1.0}
    write(file, {"bm25": 2, "luck*named": 1})
    os.utime(file, ns=(0, 0))
    with pytest.raises(UsageError, match=r"weights.json: the file contains a weight for the feature 'luck'.*[Ll]earn"):
        find_ranking(str(file))


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"weights": 3, "base": 0}', '{"weights": {"bm25": "much"}, "base": 0}',
     '{"weights": {"bm25": NaN}, "base": 0}', '{"weights": {}, "base": 0, "scale": 0}', "\x00\xff"],
)  # fmt: skip
def test_a_file_of_something_else_is_refused_by_name(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mine.json"
    file.write_text(text, encoding="latin-1")
    with pytest.raises(UsageError, match=r"mine\.json: .*Learn the ranking weights again"):
        find_ranking(str(file))


def test_without_a_file_the_weights_are_those_that_come_along() -> None:
    assert find_ranking().weights() == find_ranking("").weights()
    assert any(find_ranking().weights().values())


def test_the_docs_say_what_every_feature_measures() -> None:
    page = (Path(__file__).parents[3] / "docs" / "lab" / "ranking.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \| (.+?) \|", page, re.MULTILINE) == list(FEATURES.items())
