"""A server on a port of its own, as a process, and callers of it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.doubles.scripted_server import ScriptedServer, scripted_server

START = "a-start-token-that-nobody-guesses"


@dataclass
class Serving:
    """``url`` ends before ``/api``. ``client`` shows the start token; a ``bare`` one shows nothing."""

    url: str
    process: subprocess.Popen[str]
    printed: str
    home: Path
    said: list[str] = field(default_factory=list)

    @property
    def api(self) -> str:
        return f"{self.url}/api/v1"

    def client(self, token: str = START, **headers: str) -> httpx.Client:
        return self.bare(Authorization=f"Bearer {token}", **headers)

    def bare(self, **headers: str) -> httpx.Client:
        # No certificate is looked at: to load those of the world takes longer than a call.
        return httpx.Client(base_url=self.api, headers=headers, timeout=600, verify=False)


_SERVING = re.compile(r"\bServing .* at (http[^\s\"]+)")


@contextmanager
def serving(
    home: Path, *arguments: str, token: str = START, before: Sequence[str] = (), **environment: str
) -> Iterator[Serving]:
    """``before`` is a command that runs the server's. What the server says before it serves is in ``said``, too."""
    command = [*before, sys.executable, "-m", "hybrid_pageindex", "serve"]
    command += ["--home", str(home), "--port", "0", *arguments]
    settings = {"PAGEINDEX_HTTP_TOKEN": token, "PAGEINDEX_WORKERS": "1", **environment}
    process = subprocess.Popen(command, env=os.environ | settings, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said: list[str] = []
    while not (address := _SERVING.search(printed := process.stderr.readline())):
        if not printed:
            with process:
                pytest.fail("".join(said))
        said.append(printed)
    parts = urlsplit(address[1])
    made = Serving(f"http://{parts.netloc}", process, printed, home, said)
    reader = threading.Thread(target=lambda: made.said.extend(process.stderr or ()), daemon=True)
    reader.start()
    try:
        yield made
    finally:
        process.terminate()
        try:
            process.wait(600)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        reader.join(600)
        process.stderr.close()


MILL = "# The mill\n\nThe mill was sold to the town in 1987.\n\n## Price\n\nIt cost 4,200 crowns.\n"
SOLD = "When was the mill sold?"
GOOD = "The mill was sold in 1987 [[source:1]]."


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedServer]:
    """A language model that knows when the mill was sold."""
    with scripted_server(lambda request: {"question": SOLD} if request.title else GOOD) as made:
        yield made


def serving_with(model: ScriptedServer, home: Path) -> AbstractContextManager[Serving]:
    """A server that asks this model for answers alone."""
    said = {"LLM_MODEL": "scripted", "LLM_BASE_URL": model.url, "EFFORT": "fast", "ENRICH": "never"}
    return serving(home, **{f"PAGEINDEX_{name}": value for name, value in said.items()})


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """One server for the tests of a file; each uses libraries of its own."""
    with serving(tmp_path_factory.mktemp("served")) as made:
        yield made


def until(what: Callable[[], object]) -> None:
    """Waits for what another process does."""
    end = time.monotonic() + 600
    while not what():
        assert time.monotonic() < end, "it did not come to be"
        time.sleep(0.05)


def wait_for_held(page: Any, held: Sequence[Any]) -> None:
    """Wait until a route of the page holds a request. Its handler may run later than the page shows that it waits."""
    for _ in range(1200):
        if held:
            return
        page.wait_for_timeout(50)
    raise AssertionError("no request was held")


Uploading = Callable[..., Any]


def wait_for_jobs(client: httpx.Client, jobs: list[int]) -> list[dict[str, Any]]:
    """What became of jobs, heard from their streams."""
    end = time.monotonic() + 540  # before the test is ended, so that the failure shows the job
    for job in jobs:
        with client.stream("GET", f"/jobs/{job}/events") as events:
            assert events.status_code == 200
            for _ in events.iter_lines():  # a stream without news sends signs of life
                assert time.monotonic() < end, client.get(f"/jobs/{job}").json()
    return [client.get(f"/jobs/{job}").json() for job in jobs]


def upload(client: httpx.Client, library: str, **texts: str) -> list[dict[str, Any]]:
    """Markdown by name, indexed and waited for."""
    files = [("file", (f"{name}.md", text.encode())) for name, text in texts.items()]
    answered = client.post(f"/libraries/{library}/documents", files=files)
    assert answered.status_code == 202, answered.text
    return wait_for_jobs(client, [file["job"] for file in answered.json()["files"] if file["job"]])


@pytest.fixture(scope="module")
def window() -> Iterator[Any]:
    """A browser; skips where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium on this machine")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        browser.new_context, browser.new_page = map(_patient, (browser.new_context, browser.new_page))
        yield browser
        browser.close()


def _patient(opening: Callable[..., Any]) -> Callable[..., Any]:
    """Open what waits as long as a busy machine takes."""

    def opened(**options: Any) -> Any:
        made = opening(**options)
        made.set_default_timeout(300_000)
        return made

    return opened


@pytest.fixture
def page(window: Any) -> Iterator[Any]:
    """A page of it, in English, on which no script may fail."""
    context = window.new_context(locale="en-GB")
    made = context.new_page()
    faults: list[str] = []
    made.on("pageerror", lambda error: faults.append(str(error)))
    yield made
    assert not faults
    context.close()
