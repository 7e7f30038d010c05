"""The command line: parse arguments, call the engine, and print its results."""

from hybrid_pageindex.cli.main import main

__all__ = ["main"]
