"""Three tiers of one set of tests (``scripts/test --fast``, ``scripts/test``, ``scripts/test --endurance``).

fast: for use while writing. It leaves out what is marked ``slow``, what needs real documents, and whatever starts a
process (servers, browsers, command lines, workers), which is seen when it does; what session fixtures start is shared
and stays. A test of it that uses more than ``MOST_SECONDS`` of processor time fails, so that the tier stays fast.
endurance: only what is marked so, each for ``--endurance-seconds``, and the tests of properties, with thousands of
examples where they do not say how many they want.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import is_hypothesis_test

MOST_SECONDS = 2.0
_BROWSER = "window"  # a fixture whose client, stopped while it starts, leaves an event loop behind
_STARTS = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn")
_PLATFORM = ["uname", "-p"]  # of the standard library's platform, which clients of models ask


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tier", choices=("fast", "whole", "endurance"), default="whole", help="which tests to run")
    parser.addoption("--endurance-seconds", type=float, default=300, help="how long each test of endurance goes on")
    parser.addoption("--endurance-seed", type=int, default=1, help="of what is killed when")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: left out of the fast tier")
    config.addinivalue_line("markers", "endurance: runs only in the tier of this name")
    if config.option.tier == "fast":
        os.environ.pop("PAGEINDEX_EVAL_DATA", None)
        for left_open in ("ResourceWarning", "pytest.PytestUnraisableExceptionWarning"):  # by tests that end halfway
            config.addinivalue_line("filterwarnings", f"ignore::{left_open}")
        config.pluginmanager.register(_Fast(), "fast-tier")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tier = config.option.tier

    def chosen(item: pytest.Item) -> bool:
        endures = item.get_closest_marker("endurance") is not None
        if tier == "endurance":
            return endures or is_hypothesis_test(getattr(item, "obj", None))
        slow = item.get_closest_marker("slow") is not None or _BROWSER in getattr(item, "fixturenames", ())
        return not endures and (tier == "whole" or not slow)

    left_out = [item for item in items if not chosen(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if chosen(item)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The figures that tests recorded (``docs/benchmarks.md`` has those of endurance)."""
    for report in terminalreporter.getreports("passed"):
        for what, value in report.user_properties:
            terminalreporter.write_line(f"{what}: {value}")


class _Fast:
    def __init__(self) -> None:
        self._running = False  # a test, or what it alone is given; elsewhere nothing may be raised
        signal.signal(signal.SIGUSR1, lambda *_: self._leave_out())
        sys.addaudithook(self._heard)
        told = threading.excepthook
        threading.excepthook = lambda args: None if args.exc_type is pytest.skip.Exception else told(args)

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._running and event in _STARTS and arguments[1:2] != (_PLATFORM,):
            if threading.current_thread() is not threading.main_thread():  # which may wait for this thread
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
            self._leave_out()

    def _leave_out(self) -> None:
        if self._running:
            pytest.skip("starts a process, so it is not in the fast tier")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[Any]:
        before, self._running = self._running, fixturedef.scope != "session"
        try:
            return (yield)
        finally:
            self._running = before

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Iterator[Any]:
        began, self._running = time.process_time(), True
        try:
            result = yield
        finally:
            self._running = False
        used = time.process_time() - began
        if used > MOST_SECONDS:
            pytest.fail(f"took {used:.1f} s of processor time: make it smaller, or mark it slow")
        return result
