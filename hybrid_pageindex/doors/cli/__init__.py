"""The command line: a thin door to the engine."""

from hybrid_pageindex.doors.cli.main import main

__all__ = ["main"]
