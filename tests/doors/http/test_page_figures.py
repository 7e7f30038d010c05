"""How light and how quick the page is, as the browser measures it; limits leave room for a busy machine."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pymupdf
import pytest

import hybrid_pageindex.doors.http as door
from hybrid_pageindex.doors.http.routers.web import page_file
from tests.doors.http.conftest import START, Serving, wait_for_jobs

PAGE = Path(door.__file__).parent / "page"
LOAD = 100  # times the limit that a machine has which does nothing else
PAGES = 1000

OBSERVE = """
    window.shifts = 0;
    new PerformanceObserver((list) => {
        for (const one of list.getEntries()) if (!one.hadRecentInput) window.shifts += one.value;
    }).observe({ type: 'layout-shift', buffered: true });
"""
PRESS = """async (key) => {
    const began = performance.now();
    dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    await new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)));
    return performance.now() - began;
}"""
OPEN = """async (place) => {
    const began = performance.now();
    location.hash = place;
    while (!document.querySelector('.sheet[data-ready][data-page="900"]')) await new Promise(requestAnimationFrame);
    return performance.now() - began;
}"""


@pytest.fixture(scope="module")
def long_document(served: Serving) -> str:
    document = pymupdf.open()
    for number in range(1, PAGES + 1):
        page = document.new_page()
        for line in range(3):
            page.insert_text(
                (72, 72 + 15 * line), f"Line {line} of sheet {number} tells of the valve {number * 7 + line}."
            )
    with served.client() as client:
        client.post("/libraries", json={"name": "long"})
        sent = {"file": ("thousand.pdf", document.tobytes())}
        [file] = client.post("/libraries/long/documents", files=sent).json()["files"]
        [job] = wait_for_jobs(client, [file["job"]])
        assert job["status"] == "done", job
        return str(client.get("/libraries/long/documents").json()["documents"][0]["doc_id"])


def test_the_whole_front_end_is_light() -> None:
    """As it is sent to somebody who opens every view in one language."""
    files = [file for file in PAGE.rglob("*") if file.suffix in {".js", ".html", ".svg"}]
    files += [PAGE / "styles.css", PAGE / "texts" / "en.json"]
    sizes = {file.name: len(gzip.compress(page_file(file.relative_to(PAGE).as_posix()).encode())) for file in files}
    assert len(sizes) > 70
    assert sum(sizes.values()) <= 120_000, f"{sum(sizes.values()):,} bytes compressed"


def test_it_is_painted_soon_and_nothing_jumps(served: Serving, window: Any) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "painted"})
    context = window.new_context(locale="en-GB")
    context.add_init_script(OBSERVE)
    page = context.new_page()
    page.goto(f"{served.url}/#token={START}")
    page.locator(".library-card").first.wait_for()
    page.reload()
    page.locator(".library-card").first.wait_for()
    page.wait_for_timeout(300)
    painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    shifts = page.evaluate("shifts")
    context.close()
    assert painted <= 1000 * LOAD
    assert shifts <= 0.1


def test_page_900_of_1000_opens_at_once(served: Serving, page: Any, long_document: str) -> None:
    page.goto(f"{served.url}/#token={START}")
    page.locator("main").wait_for()
    opened = page.evaluate(OPEN, f"#/doc/long/{long_document}/page/900")
    pressed = page.evaluate(PRESS, "r")
    page.locator(".thumbnail img[src]").first.wait_for(state="attached")
    asked = page.evaluate("performance.getEntriesByType('resource').map((one) => one.name)")
    drawn = [name for name in asked if "/picture?" in name or "/thumbnail?" in name]
    assert "/900/picture?" in drawn[0], "the page itself comes first"
    assert not [name for name in drawn if "/pages/1/" in name], "only pages in sight are drawn"
    assert opened <= 300 * LOAD, f"{opened:.0f} ms"
    assert pressed <= 100 * LOAD, f"{pressed:.0f} ms"
    assert "page/900" in page.url
