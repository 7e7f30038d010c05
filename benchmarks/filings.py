"""Shared code of the benchmarks over financial filings: command-line options and an engine."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from eval.datasets import load
from eval.records.questions import Dataset
from hybrid_pageindex import Engine, run


def options_of(doc: str | None) -> argparse.ArgumentParser:
    """Return an argument parser with the options --data, --home and --json."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    parser.add_argument("--data")
    parser.add_argument("--home", help="keep the index here (default: a temporary folder)")
    parser.add_argument("--json", action="store_true")
    return parser


@contextmanager
def indexed(options: argparse.Namespace) -> Iterator[tuple[Path, Engine, Dataset]]:
    """Yield the home, an engine with the data set indexed, and the data set. The engine is closed at the end."""
    dataset = load("financebench", options.data)
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(options.home or temporary)
        with closing(Engine(home)) as engine:
            run(engine.index(dataset.files))
            yield home, engine, dataset
