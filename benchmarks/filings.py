"""What the benchmarks over the filings share: their options, and an engine that has the filings indexed."""

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
    """A parser with --data, --home and --json."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    parser.add_argument("--data")
    parser.add_argument("--home", help="keep the index here (default: a temporary folder)")
    parser.add_argument("--json", action="store_true")
    return parser


@contextmanager
def indexed(options: argparse.Namespace) -> Iterator[tuple[Path, Engine, Dataset]]:
    """The home, an engine on it that is closed at the end, and the set whose documents it holds."""
    dataset = load("financebench", options.data)
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(options.home or temporary)
        with closing(Engine(home)) as engine:
            run(engine.index(dataset.files))
            yield home, engine, dataset
