"""Files with the features of candidate pages, from which weights can be learned again.

Each file has the candidate pages of a data set's questions, so that no search is needed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from hybrid_core.errors import StoreError


@dataclass(frozen=True, slots=True, eq=False)
class QuestionFeatures:
    """The candidate pages of one question with their features.

    values: float32 (n, features). gold: bool (n,), whether each page is right. ``group`` is the document of the first
    right page; questions with equal groups are in one fold.
    """

    id: str
    group: str
    values: npt.NDArray[np.float32]
    gold: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class FeatureSet:
    """The questions of a data set with the features of their candidate pages.

    They are from searches in one setting, with one choice of expert knowledge. names: the features in order. pairs:
    features whose product with "named" has a weight too. notes: what was left out.
    """

    dataset: str
    setting: str
    expert: str
    names: tuple[str, ...]
    pairs: tuple[str, ...]
    questions: tuple[QuestionFeatures, ...]
    notes: tuple[str, ...] = ()

    def same_features(self, other: FeatureSet) -> bool:
        """Return whether two sets have equal question ids, feature values and right pages."""
        return [question.id for question in self.questions] == [question.id for question in other.questions] and all(
            np.array_equal(mine.values, theirs.values) and np.array_equal(mine.gold, theirs.gold)
            for mine, theirs in zip(self.questions, other.questions, strict=True)
        )


def write_features(path: Path, features: FeatureSet, stamp: Mapping[str, Any]) -> None:
    """Write features to a file. Raise StoreError if this fails.

    ``stamp`` describes the data from which they were computed.
    """
    head = {
        "dataset": features.dataset, "setting": features.setting, "expert": features.expert, "names": features.names,
        "pairs": features.pairs, "notes": features.notes, "ids": [question.id for question in features.questions],
        "groups": [question.group for question in features.questions], "stamp": stamp,
    }  # fmt: skip
    empty = np.zeros((0, len(features.names)), np.float32)
    partial = path.with_suffix(".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            np.savez_compressed(
                file,
                head=np.array(json.dumps(head)),
                sizes=np.array([len(question.gold) for question in features.questions], np.int64),
                values=np.concatenate([empty, *(question.values for question in features.questions)]),
                gold=np.concatenate([np.zeros(0, bool), *(question.gold for question in features.questions)]),
            )
        partial.replace(path)
    except OSError as error:
        raise StoreError(
            f"{path}: the file of features cannot be written ({error.strerror}).", "Name another file with --out."
        ) from error


def read_features(path: Path, stamp: Mapping[str, Any]) -> FeatureSet | None:
    """Return the features in a file of ``write_features``.

    Return None if the file is missing, damaged or has another stamp.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            head = json.loads(str(arrays["head"]))
            sizes, values, gold = arrays["sizes"], arrays["values"], arrays["gold"]
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None
    if head["stamp"] != json.loads(json.dumps(stamp)):
        return None
    ends = np.cumsum(sizes)[:-1]
    questions = tuple(
        QuestionFeatures(id, group, rows, right)
        for id, group, rows, right in zip(
            head["ids"], head["groups"], np.split(values, ends), np.split(gold, ends), strict=True
        )
    )
    return FeatureSet(
        head["dataset"], head["setting"], head["expert"], tuple(head["names"]), tuple(head["pairs"]),
        questions if head["ids"] else (), tuple(head["notes"]),
    )  # fmt: skip
