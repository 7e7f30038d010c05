"""The command line: a thin layer over the engine."""

from hybrid_pageindex.cli.main import main

__all__ = ["main"]
