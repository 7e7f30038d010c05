"""Pictures of the web page for the documentation: ``python -m tests.screenshots [FOLDER [STATE …]]`` writes every view,
or the named ones, at two widths, by default into docs/images. All documents in them are invented.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from PIL import Image
from playwright.sync_api import sync_playwright

from hybrid_pageindex.sample import write_sample_report
from tests.doubles.scripted_server import scripted_server
from tests.interfaces.http.conftest import START, Serving, serving, wait_for_jobs

WIDTHS = {"wide": {"width": 1280, "height": 800}, "narrow": {"width": 360, "height": 740}}
QUESTION = "What was the capital expenditure in fiscal 2025?"
REPLY = (
    "Capital expenditure in fiscal 2025 was **$58.7 million**, compared with $46.3 million in fiscal 2024 "
    "[[source:1]]. The statement of cash flows has it as purchases of property, plant and equipment [[source:2]]."
)
TEXTS = {
    "survey/harbour-survey-2024.md": "# Harbour survey 2024\n\n## Quays\n\nIt stands on 312 oak piles. {}\n\n"
    "## Cranes\n\n| Crane | Lifts | Year |\n| --- | --- | --- |\n| Ada | 90 t | 1998 |\n| Bruno | 45 t | 2011 |\n",
    "survey/tide-tables.md": "# Tide tables\n\n## January\n\nHigh water at noon on the third. {}\n",
    "handbook/pump-maintenance.md": "# Pump maintenance\n\n## Weekly\n\nGrease the bearings of both pumps. {}\n\n"
    "## Yearly\n\nReplace the seals and measure the flow.\n",
    "handbook/safety.md": "# Safety at the quay\n\n## Before work\n\nWear a life jacket near the edge. {}\n",
}
_DRAWN = """() => [...document.images].every((one) => {
    const { top, bottom } = one.getBoundingClientRect();
    return one.complete || bottom < 0 || top > innerHeight;
})"""
FILLER = "The figures were taken by the harbour office and are those of the last full year. " * 6


@dataclass(frozen=True, slots=True)
class State:
    name: str
    place: str
    ready: str  # a selector of what must be there
    scheme: str = "light"
    then: Callable[[Any], None] = lambda page: None


def _states(doc: str, talk: str) -> tuple[State, ...]:
    """Return the states of every view. Those of everyday use are pictured in dark colours, too."""
    page = f"doc/annual-reports/{doc}/page/18?hl=Purchases%20of%20property"
    search = "search?in=annual-reports&q=" + quote(QUESTION)
    shaded = f"map/annual-reports/{doc}?q=" + quote(QUESTION)
    return (
        *_both("home", "", ".library-card"),
        *_both("library", "library/harbour", "[href*='#/doc/']"),
        State("gallery", "library/harbour?view=gallery", ".cover-card img"),
        State("folders", "library/harbour?view=folders", "[role=treeitem], [href*='#/doc/']"),
        State("document", f"library/annual-reports?doc={doc}", "[href*='#/doc/']"),
        *_both("search", search, "[href*='#/doc/']"),
        *_both("conversation", f"conversation/{talk}", ".answer", _open_citation),
        *_both("page", page, ".sheet[data-ready]", _settle),
        State("contents", page, ".sheet[data-ready]", then=_open_contents),
        *_both("map", shaded, ".map-best a", _settle),
        State("count", "count?library=annual-reports&q=capital", ".count-list li"),
        State("compare", f"compare?library=annual-reports&left={doc}&right={doc}", ".compare [role=status]"),
        State("conversations", "conversations", "[href*='#/conversation/']"),
        State("notes", "notes", ".note"),
        State("settings", "settings/models", ".field"),
        State("bin", "settings/bin", "main li"),
        State("packs", "settings/packs", ".field, .card input", then=_ask_packs),
        State("jobs", "jobs", "main li"),
    )


def _both(name: str, place: str, ready: str, then: Callable[[Any], None] = lambda page: None) -> tuple[State, State]:
    return State(name, place, ready, then=then), State(f"{name}-dark", place, ready, "dark", then)


def _open_contents(page: Any) -> None:
    page.get_by_role("button", name="Contents").click()
    page.get_by_label("Part of this document to show").select_option("Tables and figures")
    page.locator(".exhibits li").first.wait_for()
    _settle(page)


def _open_citation(page: Any) -> None:
    if page.viewport_size["width"] > 500:
        page.locator(".answer .chip").first.click()
        page.mouse.move(2, 300)  # the lines of the citation are shown only below the pointer
        page.locator(".sheet[data-ready]").wait_for()
        _settle(page)


def _settle(page: Any) -> None:
    page.wait_for_timeout(900)  # until the sharper picture is there


def _ask_packs(page: Any) -> None:
    page.locator(".card input:not([type=checkbox])").fill("What was the capex of 2025?")
    page.locator(".added").first.wait_for()


def _fill(served: Serving, folder: Path) -> tuple[str, str]:
    """(the report, a conversation about it), by their ids."""
    report = write_sample_report(folder / "kestrel-vale-2025-annual-report.pdf")
    with served.client() as client:
        for name, alias in (("annual-reports", "Annual reports"), ("harbour", "The harbour")):
            client.post("/libraries", json={"name": name, "alias": alias})
        files = [("file", (name, text.format(FILLER).encode())) for name, text in TEXTS.items()]
        files.append(("file", ("survey/soundings.pdf", b"%PDF-1.7 cut off")))
        made = client.post("/libraries/harbour/documents", files=files).json()["files"]
        sent = {"file": (report.name, report.read_bytes())}
        made += client.post("/libraries/annual-reports/documents", files=sent).json()["files"]
        wait_for_jobs(client, [one["job"] for one in made if one["job"]])
        [doc] = client.get("/libraries/annual-reports/documents").json()["documents"]
        talk = client.post("/conversations", json={"libraries": ["annual-reports"]}).json()["id"]
        client.post(f"/conversations/{talk}/messages", json={"question": QUESTION}).raise_for_status()
        for title, page in (("Capital expenditure", 18), ("Employees", 5)):
            note = {
                "title": title,
                "text": REPLY.replace(" [[source:1]]", "").replace(" [[source:2]]", ""),
                "document": doc["doc_id"],
                "page": page,
            }
            client.post("/libraries/annual-reports/notes", json=note).raise_for_status()
        rows = client.get("/libraries/harbour/documents").json()["documents"]
        [removed] = [one["doc_id"] for one in rows if one["name"] == "safety.md"]
        client.delete(f"/libraries/harbour/documents/{removed}").raise_for_status()
        return doc["doc_id"], talk


def take(into: Path, names: Sequence[str] = ()) -> list[Path]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    into.mkdir(parents=True, exist_ok=True)
    written = []
    with (
        tempfile.TemporaryDirectory() as scratch,
        scripted_server(lambda _: REPLY) as model,
        sync_playwright() as started,
    ):
        said = {"PAGEINDEX_LLM_MODEL": "qwen3-8b", "PAGEINDEX_LLM_BASE_URL": model.url}
        home = Path(scratch, "home")
        with serving(home, PAGEINDEX_EFFORT="fast", PAGEINDEX_ENRICH="never", **said) as served:
            states = _states(*_fill(served, Path(scratch)))
            browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            for width, viewport in WIDTHS.items():
                for state in (state for state in states if not names or state.name in names):
                    context = browser.new_context(viewport=viewport, color_scheme=state.scheme, locale="en-GB")
                    page = context.new_page()
                    page.goto(f"{served.url}/#token={START}")
                    page.locator("main").wait_for()
                    page.goto(f"{served.url}/#/{state.place}")
                    page.locator(state.ready).first.wait_for(state="attached")
                    state.then(page)
                    page.wait_for_function(_DRAWN)
                    page.wait_for_timeout(500)
                    file = into / f"{state.name}-{width}.webp"
                    Image.open(io.BytesIO(page.screenshot())).save(file, quality=80, method=6)
                    written.append(file)
                    context.close()
            browser.close()
    return written


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "images"
    for one in take(target, sys.argv[2:]):
        print(f"{one} {one.stat().st_size // 1000} kB")
