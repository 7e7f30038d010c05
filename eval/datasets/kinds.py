"""The kind of documents of each set, as kinds.yaml beside this file lists them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import yaml


@cache
def _kinds() -> dict[str, str]:
    listed = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return {str(name): str(kind) for name, kind in listed.items()}


def kind_of(dataset: str) -> str:
    """Return the kind of a set's documents; a set that is not listed is its own kind."""
    return _kinds().get(dataset, dataset)
