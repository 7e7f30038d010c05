"""The web page in a real browser: a library is made, a file is given to it, and a question finds its page."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.doors.http.conftest import START, Serving

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_file_is_added_and_found_by_a_question(served: Serving, tmp_path: Path) -> None:
    file = tmp_path / "harbour.md"
    file.write_text("# Harbour\n\nThe crane of the harbour lifts ninety tonnes.\n")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(locale="en-GB")
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(f"{served.url}/#token={START}")
        page.get_by_label("New library").fill("quay")
        page.get_by_role("button", name="Create").click()
        page.get_by_label("Add files").set_input_files(str(file))
        page.get_by_text("1 document", exact=True).wait_for()
        page.get_by_role("searchbox").fill("How much does the crane lift?")
        page.get_by_role("button", name="Search").click()
        page.get_by_role("link", name="Page 1", exact=True).wait_for()
        assert "ninety tonnes" in page.get_by_role("article").inner_text()
        assert START not in page.url and not faults
        browser.close()
