"""Whether everybody can use the page: axe looks at each view, in each look; keys alone lead there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from hybrid_pageindex.sample import write_sample_report
from tests.interfaces.http.conftest import START, Serving, upload, wait_for_jobs

axe_sync = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")

LOOKS = (
    {"color_scheme": "light", "locale": "en-GB", "viewport": {"width": 1400, "height": 900}},
    {"color_scheme": "dark", "locale": "zh-CN", "viewport": {"width": 360, "height": 740}},
)


@pytest.fixture(scope="module")
def places(served: Serving, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    file = write_sample_report(Path(tmp_path_factory.mktemp("sample")) / "report.pdf")
    with served.client() as client:
        client.post("/libraries", json={"name": "axe"})
        made = client.post("/libraries/axe/documents", files={"file": ("report.pdf", file.read_bytes())}).json()
        [job] = wait_for_jobs(client, [made["files"][0]["job"]])
        assert job["status"] == "done", job
        upload(client, "axe", **dict.fromkeys(("z-note", "z-note-again"), "# Note\n\nThe same words twice.\n"))
        doc = client.get("/libraries/axe/documents").json()["documents"][0]["doc_id"]
        talk = client.post("/conversations", json={"libraries": ["axe"]}).json()["id"]
        client.post(f"/conversations/{talk}/messages", json={"question": "How many people are employed?"})
    settings = (
        f"settings/{one}" for one in ("models", "searching", "packs", "reading", "tokens", "folders", "vectors", "bin")
    )
    return [
        "", "library/axe", f"library/axe?doc={doc}", "library/axe?view=gallery", "library/axe?view=alike",
        f"doc/axe/{doc}/page/18?hl=58,700", f"map/axe/{doc}?q=capital", "search?q=capital%20expenditure&in=axe",
        f"conversation/{talk}", "conversations", "notes", "jobs", "count?q=capital&library=axe",
        f"compare?library=axe&left={doc}&right={doc}", *settings,
    ]  # fmt: skip


@pytest.mark.parametrize("look", LOOKS, ids=["light", "dark-zh-360"])
def test_axe_finds_nothing(served: Serving, window: Any, places: list[str], look: dict[str, Any]) -> None:
    context = window.new_context(**look)
    page = context.new_page()
    page.goto(f"{served.url}/#token={START}")
    page.locator("main").wait_for()
    found = []
    for place in places:
        page.goto(f"{served.url}/#/{place}")
        page.wait_for_timeout(300)
        page.locator("[aria-busy=true], .skeleton").first.wait_for(state="detached")
        for one in axe_sync.Axe().run(page).response["violations"]:
            found += [f"{place or 'home'}: {one['id']}: {node['html'][:160]}" for node in one["nodes"]]
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        if wide > 0:
            found.append(f"{place or 'home'}: {wide} pixels too wide")
    page.goto(f"{served.url}/#/library/axe")
    page.get_by_role("button", name=re.compile("Add web address|添加网址")).click()
    page.get_by_role("dialog").wait_for()
    for one in axe_sync.Axe().run(page).response["violations"]:
        found += [f"dialog: {one['id']}: {node['html'][:160]}" for node in one["nodes"]]
    context.close()
    assert not found, "\n".join(found)


def test_high_contrast_is_seven_to_one(served: Serving, window: Any, places: list[str]) -> None:
    context = window.new_context(locale="en-GB", viewport={"width": 1400, "height": 900})
    context.add_init_script("localStorage.setItem('theme', 'contrast')")
    page = context.new_page()
    page.goto(f"{served.url}/#token={START}")
    page.locator("main").wait_for()
    assert page.evaluate("document.documentElement.dataset.theme") == "contrast"
    only, found = {"runOnly": ["color-contrast-enhanced"], "rules": {"color-contrast-enhanced": {"enabled": True}}}, []
    for place in places:
        page.goto(f"{served.url}/#/{place}")
        page.wait_for_timeout(300)
        page.locator("[aria-busy=true], .skeleton").first.wait_for(state="detached")
        seen = axe_sync.Axe().run(page, options=only).response
        assert seen["passes"], f"{place}: nothing was looked at"
        for one in seen["violations"]:
            found += [f"{place or 'home'}: {node['html'][:160]} {node['any'][0]['message']}" for node in one["nodes"]]
    context.close()
    assert not found, "\n".join(found)


def test_keys_lead_everywhere(served: Serving, page: Any, places: list[str]) -> None:
    page.goto(f"{served.url}/#token={START}")
    page.get_by_role("link", name="axe").wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Help").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog", name="Help").wait_for(state="detached")
    page.get_by_role("navigation").get_by_role("link", name="Notes").press("Enter")
    page.wait_for_url("**/#/notes")
    page.get_by_role("heading", name="Notes", exact=True).wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip", "as after each change of the place"
    page.get_by_role("link", name="Hybrid PageIndex").press("Enter")
    page.get_by_role("searchbox").or_(page.get_by_role("combobox")).first.focus()
    page.keyboard.type("How many people are employed?")
    page.keyboard.press("Enter")
    page.wait_for_url("**/#/search**")
