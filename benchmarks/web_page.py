"""Measure how small and fast the web page is, with the performance API of a browser.

    python -m benchmarks web_page [--times 7] [--pages 1000] [--json]

The benchmark prints medians. They include the bytes sent for the first view, and the first paint and layout shifts of a
cold visit. Others are the time from a key or click until the screen is updated. The last is the time from a click until
a page of a long document appears, without the browser's cache. Server and browser run on this machine; its load is
printed too.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from benchmarks.http_load import _TOKEN, served
from hybrid_pageindex import Engine, run

_WATCH = """
    window.shifts = 0; window.events = [];
    new PerformanceObserver((list) => {
        for (const one of list.getEntries()) if (!one.hadRecentInput) window.shifts += one.value;
    }).observe({ type: 'layout-shift', buffered: true });
    new PerformanceObserver((list) => {
        for (const one of list.getEntries()) if (one.interactionId) window.events.push(one.duration);
    }).observe({ type: 'event', durationThreshold: 16, buffered: true });
"""
_SENT = """performance.getEntriesByType('navigation').concat(performance.getEntriesByType('resource'))
    .filter((one) => !one.name.includes('/api/')).reduce((sum, one) => sum + one.transferSize, 0)"""
_OPEN = """async ([place, page]) => {
    const began = performance.now();
    location.hash = place;
    const drawn = `.sheet[data-ready][data-page="${page}"]`;
    while (!document.querySelector(drawn)) await new Promise(requestAnimationFrame);
    const pictured = performance.now() - began;
    while (!document.querySelector('.text-layer span')) await new Promise(requestAnimationFrame);
    return [pictured, performance.now() - began];
}"""


def measured(browser: Browser, url: str, doc: str, pages: int) -> dict[str, float]:
    """Measure one visit with a browser that has nothing cached, and return the figures."""
    context = browser.new_context(locale="en-GB", viewport={"width": 1280, "height": 800})
    context.add_init_script(_WATCH)
    page = context.new_page()
    page.goto(f"{url}/#token={_TOKEN}")
    page.locator(".library-card").first.wait_for()
    painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    sent = page.evaluate(_SENT)
    page.wait_for_function("performance.getEntriesByName(location.origin + '/web/bundle/views.js').length")
    page.wait_for_timeout(500)
    number = random.randint(pages * 8 // 10, pages)
    pictured, whole = page.evaluate(_OPEN, [f"#/doc/long/{doc}/page/{number}", number])
    page.wait_for_timeout(500)
    for key in ("ArrowRight", "r", "+", "t", "t"):
        page.keyboard.press(key)
        page.wait_for_timeout(150)
    page.get_by_role("link", name="Search").click()
    page.get_by_role("searchbox").wait_for()
    page.keyboard.type("valve")
    page.wait_for_timeout(500)
    seen: dict[str, float] = {
        "first view, bytes": sent,
        "first paint, ms": painted,
        "layout shift": page.evaluate("shifts"),
        "slowest interaction, ms": max(page.evaluate("events"), default=0),
        f"page of {pages}, ms to its picture": pictured,
        f"page of {pages}, ms to its words": whole,
    }
    context.close()
    return seen


def _long(path: Path, pages: int) -> Path:
    import pymupdf  # here, behind the packages that switch its libraries' telemetry off

    document = pymupdf.open()
    for number in range(1, pages + 1):
        page = document.new_page()
        for line in range(40):
            page.insert_text((72, 72 + 16 * line), f"Line {line} of sheet {number}: the valve {number * 7 + line}.")
    document.save(path)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as started:
        home = Path(scratch, "home")
        with closing(Engine(home)) as engine:
            run(engine.index(_long(Path(scratch, "long.pdf"), options.pages), library="long"))
            [document] = run(engine.documents.list(library="long"))
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with served(home) as (api, _, _):
            url = api.removesuffix("/api/v1")
            seen: list[dict[str, Any]] = [
                measured(browser, url, document.doc_id, options.pages) for _ in range(options.times)
            ]
        browser.close()
    medians = {name: statistics.median(sample[name] for sample in seen) for name in seen[0]}
    medians["load of this machine"] = os.getloadavg()[0]
    if options.json:
        print(json.dumps({"medians": medians, "visits": seen}))
    else:
        for name, value in medians.items():
            print(f"{name:40} {value:10.3f}")


if __name__ == "__main__":
    main()
