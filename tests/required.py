"""Tests that a run must not leave out: a skip says nothing in a run that is meant to have what they need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require-run", action="append", default=[], metavar="TEXT",
        help="fail unless tests whose names hold this text passed, and none of them was skipped; may be repeated",
    )  # fmt: skip


def left_out(required: Iterable[str], passed: Sequence[str], skipped: Sequence[str]) -> list[str]:
    """What is wrong, of names of tests."""
    wrong = []
    for text in required:
        if missing := [name for name in skipped if text in name]:
            wrong.append(f"{len(missing)} required tests of {text!r} were skipped, as {missing[0]}")
        elif not any(text in name for name in passed):
            wrong.append(f"no test of {text!r} ran")
    return wrong


def _names(stats: Mapping[str, Sequence[object]], outcome: str) -> list[str]:
    return [report.nodeid for report in stats.get(outcome, ()) if isinstance(report, pytest.TestReport)]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    if hasattr(session.config, "workerinput") or reporter is None:  # a worker of several sees its own tests only
        return
    required = session.config.getoption("--require-run")
    wrong = left_out(required, _names(reporter.stats, "passed"), _names(reporter.stats, "skipped"))
    for line in wrong:
        reporter.write_line(line, red=True)
    if wrong:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
