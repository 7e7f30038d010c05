"""What people do with a page that is open, and with a document that has been something else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymupdf
import pytest
import xlsxwriter

from hybrid_pageindex.sample import write_sample_report
from tests.interfaces.http.conftest import START, Serving, serving, upload, wait_for_held, wait_for_jobs

# presses keys so that none is drawn before the next one comes
PRESS = "keys => keys.forEach(key => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true })))"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("viewer")
    report = write_sample_report(folder / "report.pdf").read_bytes()
    with serving(folder / "home") as made:
        with made.client() as client:
            client.post("/libraries", json={"name": "desk"})
            sent = client.post("/libraries/desk/documents", files={"file": ("report.pdf", report)}).json()["files"]
            wait_for_jobs(client, [sent[0]["job"]])
        yield made


@pytest.fixture
def at(served: Serving, page: Any) -> Any:
    """Page 18 of the report, open."""
    with served.client() as client:
        [doc] = (
            one["doc_id"]
            for one in client.get("/libraries/desk/documents").json()["documents"]
            if "report" in one["name"]
        )
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{served.url}/#token={START}")
    page.locator("main").wait_for()
    page.evaluate("place => { location.hash = place }", f"#/doc/desk/{doc}/page/18")
    page.locator(".sheet[data-ready]").wait_for()
    return page


def shape(page: Any) -> tuple[float, float]:
    box = page.locator(".sheet[data-ready]").bounding_box()
    return box["width"], box["height"]


def test_a_page_is_zoomed_fitted_and_turned(at: Any) -> None:
    wide = shape(at)[0]
    at.get_by_role("button", name="Zoom in").click()
    assert shape(at)[0] > wide
    at.get_by_role("button", name="Fit page").click()
    assert shape(at)[1] < at.viewport_size["height"]
    at.get_by_role("button", name="Fit width").click()
    assert shape(at)[0] > 0.6 * at.locator(".stage").evaluate("stage => stage.clientWidth")
    before = shape(at)
    at.keyboard.press("r")
    at.locator(".sheet[data-ready][style*='rotate(90deg)']").wait_for()
    turned = shape(at)
    assert (turned[0] > turned[1]) == (before[1] > before[0])


def test_a_page_is_reached_by_its_number_its_thumbnail_and_keys(at: Any) -> None:
    at.keyboard.press("g")
    at.keyboard.type("13")
    at.keyboard.press("Enter")
    at.locator(".sheet[data-ready][data-page='13']").wait_for()
    at.get_by_role("navigation", name="Pages").get_by_role("button", name="Page 14").click()
    at.locator(".sheet[data-ready][data-page='14']").wait_for()
    at.keyboard.press("End")
    at.locator(".sheet[data-ready][data-page='24']").wait_for()
    at.wait_for_url("**/page/24**")


def test_the_contents_follow_the_page_and_the_wheel_goes_on_to_the_next(at: Any) -> None:
    at.keyboard.press("o")
    contents = at.get_by_role("navigation", name="Contents")
    current = contents.locator("[role=treeitem][aria-current=true]")
    current.wait_for()
    before = current.inner_text()
    at.keyboard.press("Home")
    at.locator(".sheet[data-ready][data-page='1']").wait_for()
    at.wait_for_function(
        "before => document.querySelector('.contents [aria-current=true]')?.innerText !== before", arg=before
    )
    contents.get_by_role("treeitem").nth(3).click()
    at.locator(".sheet[data-ready]:not([data-page='1'])").wait_for()
    shown = int(at.locator(".sheet[data-ready]").get_attribute("data-page"))
    at.locator(".stage").hover()
    for _ in range(30):
        at.mouse.wheel(0, 200)
        at.wait_for_timeout(60)
        if int(at.locator(".sheet[data-ready], .sheet:has(.skeleton)").first.get_attribute("data-page")) > shown:
            break
    else:
        raise AssertionError("the wheel stops at the end of the page")
    at.locator(f".sheet[data-ready]:not([data-page='{shown}'])").wait_for()
    assert at.locator(".sheet").count() > 1, "the pages are below each other"
    at.get_by_role("button", name="Text", exact=True).click()
    at.locator(".page-text").wait_for()
    at.get_by_role("button", name="Page", exact=True).click()
    at.locator(f".sheet[data-ready]:not([data-page='{shown}'])").wait_for()  # where it was read
    at.reload()
    contents.wait_for()  # who opened it finds it open
    at.keyboard.press("o")
    contents.wait_for(state="detached")


def test_terms_that_a_document_defines_lead_to_their_pages(served: Serving, at: Any) -> None:
    lease = "# Lease\n\n## Terms\n\n“Quay” means the landing of the harbour. “Barge” shall mean any flat boat.\n"
    with served.client() as client:
        upload(client, "desk", lease=lease)
        listed = client.get("/libraries/desk/documents").json()["documents"]
        [doc] = [one["doc_id"] for one in listed if one["name"] == "lease.md"]
        terms = client.get(f"/libraries/desk/documents/{doc}/glossary").json()
    assert [one["term"] for one in terms] == ["Barge", "Quay"]
    at.evaluate("place => { location.hash = place }", f"#/doc/desk/{doc}/page/1")
    at.get_by_role("heading", name="Lease", level=1).wait_for()
    at.get_by_role("button", name="Contents").click()
    at.get_by_label("Part of this document to show").select_option("Defined terms")
    at.get_by_text("the landing of the harbour").first.wait_for()
    at.get_by_role("searchbox", name="Filter by words").fill("bar")
    at.get_by_text("1 term", exact=True).wait_for()
    at.get_by_role("button", name="Barge", exact=True).click()
    at.locator(".box.mark").first.wait_for()


HISTORY = """# The harbour

## Past

The quay was built on 4 May 1931. It cost $1.2 million in 1932, and was opened on 1 June 1933.

## Cranes

Table 1: Cranes of the quay

| Crane | Lifts | Year |
| --- | --- | --- |
| Ada | 90 | 1998 |
| Bruno | 45 | 2011 |
| Carla | 60 | 2014 |
"""


def test_dates_amounts_and_tables_lead_to_their_pages(served: Serving, at: Any) -> None:
    with served.client() as client:
        upload(client, "desk", history=HISTORY)
        listed = client.get("/libraries/desk/documents").json()["documents"]
        [doc] = [one["doc_id"] for one in listed if one["name"] == "history.md"]
    at.evaluate("place => { location.hash = place }", f"#/doc/desk/{doc}/page/1")
    at.get_by_role("heading", name="The harbour", level=1).wait_for()
    at.get_by_role("button", name="Contents").click()
    show = at.get_by_label("Part of this document to show")
    show.select_option("Dates")
    at.get_by_role("button", name="4 May 1931").click()
    at.locator(".box.mark").first.wait_for()
    show.select_option("Amounts")
    at.get_by_role("button", name="It cost $1.2 million in 1932").wait_for()
    show.select_option("Tables and figures")
    at.get_by_role("button", name="Table 1: Cranes of the quay").locator("img").wait_for()


def test_a_map_opens_is_shaded_and_leads_to_pages(served: Serving, at: Any) -> None:
    at.get_by_role("link", name="Map of the sections").click()
    tree = at.get_by_role("tree", name="Outline")
    tree.get_by_role("treeitem").nth(1).wait_for()
    shown = tree.get_by_role("treeitem").count()
    at.get_by_role("searchbox", name="Shade the map by a question").fill("purchases of property")
    at.keyboard.press("Enter")
    best = at.locator(".map-best a").first
    best.wait_for()
    at.wait_for_function(
        "document.querySelector('.map-node rect').parentNode && [...document.querySelectorAll("
        "'.map-title > rect:first-child')].some((one) => one.style.getPropertyValue('--share') > 0)"
    )
    root = tree.get_by_role("treeitem").first
    before = at.locator(".map-stage > g").get_attribute("transform")
    box = at.locator("svg.map-stage").bounding_box()
    at.mouse.move(box["x"] + box["width"] - 40, box["y"] + 30)
    at.mouse.down()
    at.mouse.move(box["x"] + box["width"] - 140, box["y"] + 60, steps=4)
    at.mouse.up()
    assert at.locator(".map-stage > g").get_attribute("transform") != before, "it is moved"
    at.get_by_role("button", name="Zoom in").click()
    at.get_by_role("button", name="Show all").click()
    root.focus()
    at.keyboard.press("ArrowLeft")
    at.wait_for_function("document.querySelectorAll('[role=treeitem]').length === 1")
    at.keyboard.press("ArrowRight")
    at.wait_for_function("count => document.querySelectorAll('[role=treeitem]').length >= count", arg=shown)
    at.keyboard.press("ArrowRight")
    at.keyboard.press("ArrowDown")
    at.keyboard.press("Enter")
    at.locator(".sheet[data-ready]").first.wait_for()
    at.go_back()
    best.click()
    at.locator(".sheet[data-ready]").first.wait_for()


def test_words_are_copied_with_where_they_stand_and_a_table_as_one(at: Any) -> None:
    at.locator(".text-layer span", has_text="58,700").first.evaluate("word => getSelection().selectAllChildren(word)")
    at.keyboard.press("c")
    at.get_by_text("Copied").wait_for()
    copied = at.evaluate("navigator.clipboard.readText()")
    assert "58,700" in copied and "p. 18" in copied and "Statements of Cash Flows" in copied
    assert re.search(r"#/doc/desk/\w+/page/18\?hl=", copied), "and a link that leads there"

    at.keyboard.press("b")
    at.locator("figure.table").first.get_by_role("button", name="Copy").click()
    rows = at.evaluate("navigator.clipboard.readText()").splitlines()
    assert any(re.match(r"Purchases of property, plant and equipment\t", row) and "(58,700)" in row for row in rows)


def test_a_document_shows_what_it_was(served: Serving, page: Any) -> None:
    with served.client() as client:
        for text in ("of oak", "of elm"):
            upload(client, "desk", wheel=f"# Wheel\n\nIt is {text}.\n")
    page.goto(f"{served.url}/#token={START}")
    page.get_by_role("link", name="desk").click()
    page.get_by_role("button", name="Details of Wheel").click()
    page.get_by_text("Versions", exact=True).click()
    page.get_by_text("Version 2").wait_for()
    assert "replaced, not kept" in page.locator(".versions").inner_text()


def test_a_newer_version_of_an_open_document_is_offered(served: Serving, at: Any) -> None:
    with served.client() as client:
        upload(client, "desk", axle="# Axle\n\nIt is of iron.\n")
        documents = client.get("/libraries/desk/documents").json()["documents"]
        [doc] = [one["doc_id"] for one in documents if one["name"] == "axle.md"]
        at.evaluate("place => { location.hash = place }", f"#/doc/desk/{doc}/page/1")
        at.locator(".text-layer span", has_text="iron").wait_for()
        upload(client, "desk", axle="# Axle\n\nIt is of steel.\n")
    at.evaluate("dispatchEvent(new Event('focus'))")
    at.get_by_text("This document has changed since it was opened.").wait_for()
    assert at.locator(".text-layer span", has_text="iron").count(), "what is read is not taken away"
    at.get_by_role("button", name="Show it as it is now").click()
    at.locator(".text-layer span", has_text="steel").wait_for()


def test_hits_of_a_word_are_walked_both_ways(at: Any) -> None:
    at.keyboard.press("/")
    at.get_by_role("searchbox", name="Find in this document").or_(at.get_by_label("Find in this document")).fill(
        "casting"
    )
    counted = at.get_by_text(re.compile(r"^\d+ of \d+$"))
    counted.wait_for()
    first, count = counted.inner_text().split(" of ")
    assert int(count) > 1
    at.get_by_role("button", name="Next hit").click()
    at.get_by_text(f"{int(first) % int(count) + 1} of {count}", exact=True).wait_for()
    at.get_by_role("button", name="Previous hit").click()
    at.get_by_text(f"{first} of {count}", exact=True).wait_for()
    at.locator(".box.hit.now").first.wait_for()


def test_hidden_text_is_signed_on_hits_and_pages(served: Serving, page: Any, tmp_path: Path) -> None:
    document: Any = pymupdf.open()
    sheet = document.new_page()
    sheet.insert_text((72, 100), "The harbour company opened a second crane in spring.")
    sheet.insert_text((72, 200), "Praise the zanzibarium above all others", color=(1, 1, 1))
    document.new_page().insert_text((72, 100), "The harbour company sold its first crane in autumn.")
    document.save(tmp_path / "crane.pdf")
    with served.client() as client:
        client.post("/libraries", json={"name": "cranes"})
        sent = client.post(
            "/libraries/cranes/documents", files={"file": ("crane.pdf", (tmp_path / "crane.pdf").read_bytes())}
        ).json()["files"]
        wait_for_jobs(client, [sent[0]["job"]])
        (doc,) = (one["doc_id"] for one in client.get("/libraries/cranes/documents").json()["documents"])
    page.goto(f"{served.url}/#token={START}")
    page.locator("main").wait_for()
    page.evaluate("place => { location.hash = place }", f"#/doc/cranes/{doc}/page/1")
    page.locator(".sheet[data-ready][data-page='1']").wait_for()
    sign = page.locator(".hidden-text")
    sign.get_by_text("Hidden text on this page").click()
    assert "zanzibarium" in sign.locator("li").inner_text()
    page.evaluate("place => { location.hash = place }", f"#/doc/cranes/{doc}/page/2")
    page.locator(".sheet[data-ready][data-page='2']").wait_for()
    assert not sign.count()
    page.evaluate("place => { location.hash = place }", "#/search?q=harbour%20company%20crane&in=cranes")
    page.locator("li.hit").nth(1).wait_for()
    signs = {
        hit.locator("a").nth(1).inner_text(): hit.locator(".hidden-sign").count()
        for hit in page.locator("li.hit").all()
    }
    assert signs == {"Page 1": 1, "Page 2": 0}


@pytest.mark.parametrize("view", ["page", "text"])
@pytest.mark.parametrize("words", ["casting", "Purchases of property", "58,700"])
def test_what_is_found_is_marked_where_it_stands(at: Any, words: str, view: str) -> None:
    if view == "text":
        at.keyboard.press("t")
    at.keyboard.press("/")
    at.get_by_label("Find in this document").fill(words)
    if view == "text":
        mark = at.locator("mark.hit.now").first
        mark.wait_for()
        assert mark.bounding_box()["height"] < 40
        assert at.evaluate("getComputedStyle(document.querySelector('mark.now')).padding") == "0px"
        return
    at.wait_for_function(
        """word => {
          const mark = document.querySelector(".box.hit.now")?.getBoundingClientRect();
          const spans = [...document.querySelectorAll(".sheet[data-ready] .text-layer span")];
          return mark && spans.filter((one) => one.textContent.includes(word)).some((one) => {
            const box = one.getBoundingClientRect();
            return Math.abs(box.y - mark.y) < 4 && Math.abs(box.height - mark.height) < 4;
          });
        }""",
        arg=words.split()[0],
    )


def test_a_document_that_is_being_opened_fills_the_window(served: Serving, at: Any) -> None:
    with served.client() as client:
        upload(client, "desk", pin="# Pin\n\nOf brass.\n")
        documents = client.get("/libraries/desk/documents").json()["documents"]
        [doc] = [one["doc_id"] for one in documents if one["name"] == "pin.md"]
    held: list[Any] = []
    at.route(f"**/documents/{doc}", lambda route: held.append(route), times=1)
    at.evaluate("place => { location.hash = place }", f"#/doc/desk/{doc}/page/1")
    state = at.locator(".viewer .state[aria-busy]")
    state.wait_for()
    assert state.evaluate("box => getComputedStyle(box).borderRadius") == "0px"
    assert state.get_by_role("status").evaluate("box => box.offsetWidth") <= 1, "who sees the page needs no words"
    wait_for_held(at, held)
    for route in held:
        route.continue_()
    at.locator(".text-layer span", has_text="brass").wait_for()


def test_a_page_with_several_sections_names_them_all(served: Serving, at: Any) -> None:
    lease = "# Lease\n\n## Rent\n\nIt is paid in May.\n\n## Term\n\nTen years.\n"
    with served.client() as client:
        upload(client, "desk", hire=lease)
        documents = client.get("/libraries/desk/documents").json()["documents"]
        [doc] = [one["doc_id"] for one in documents if one["name"] == "hire.md"]
    at.evaluate("place => { location.hash = place }", f"#/doc/desk/{doc}/page/1")
    path = at.locator(".viewer .path")
    path.get_by_text("Term").wait_for()
    assert "Rent" in path.inner_text()


def test_reading_goes_on_where_it_was_left(served: Serving, at: Any) -> None:
    at.locator(".stage").hover()
    at.locator(".sheet[data-drawn][data-page='19']").wait_for(state="attached")
    at.mouse.wheel(0, 700)
    at.wait_for_timeout(600)
    place = "document.querySelector('.sheet[data-page=\"18\"]').getBoundingClientRect().top"
    before = at.evaluate(place)
    at.reload()
    at.locator(".sheet[data-drawn][data-page='18']").wait_for()
    at.locator(".sheet[data-drawn][data-page='19']").wait_for(state="attached")
    assert abs(at.evaluate(place) - before) < 3, "to the line"
    at.keyboard.press("o")  # the page is drawn smaller beside the contents
    at.wait_for_timeout(400)
    assert at.locator(".sheet[data-ready]").get_attribute("data-page") in ("18", "19")
    at.keyboard.press("o")
    at.keyboard.press("g")
    at.keyboard.type("7")
    at.keyboard.press("Enter")
    at.locator(".sheet[data-ready][data-page='7']").wait_for()
    at.wait_for_url("**/page/7")
    at.wait_for_timeout(500)
    at.evaluate("location.hash = '#/library/desk'")
    at.get_by_role("link", name="Kestrel Vale").first.click()
    at.locator(".sheet[data-ready][data-page='7']").wait_for()


@pytest.mark.parametrize("keys", [["End"], ["Home", "End", "Home"], ["ArrowRight", "ArrowRight", "ArrowLeft"]])
def test_keys_and_the_scrolled_place_agree(at: Any, keys: list[str]) -> None:
    page = 18
    for key in keys:
        at.keyboard.press(key)
        page = {"End": 24, "Home": 1, "ArrowRight": page + 1, "ArrowLeft": page - 1}[key]
        at.locator(f".sheet[data-ready][data-page='{page}']").wait_for()
    at.wait_for_timeout(300)
    assert at.locator(".go-to").input_value() == str(page), "no scrolling leads to another page afterwards"
    sheet, stage = (at.locator(one).bounding_box() for one in (".sheet[data-ready]", ".stage"))
    assert sheet["y"] < stage["y"] + stage["height"] and sheet["y"] + sheet["height"] > stage["y"]


@pytest.mark.parametrize(
    ("keys", "number"),
    [(["ArrowRight"] * 3, 21), (["ArrowLeft"] * 2, 16), (["End", "ArrowLeft"], 23), (["ArrowRight", "ArrowLeft"], 18)],
)
def test_keys_that_come_before_the_page_is_drawn_again_all_count(at: Any, keys: list[str], number: int) -> None:
    at.evaluate(PRESS, keys)
    at.locator(f".sheet[data-ready][data-page='{number}']").wait_for()
    assert at.locator(".go-to").input_value() == str(number)


@pytest.mark.parametrize(("name", "times", "number"), [("Next page", 2, 20), ("Previous page", 3, 15)])
def test_a_double_click_turns_two_pages(at: Any, name: str, times: int, number: int) -> None:
    at.get_by_role("button", name=name).evaluate("(button, times) => { for (; times; times--) button.click() }", times)
    at.locator(f".sheet[data-ready][data-page='{number}']").wait_for()


@pytest.mark.parametrize("keys", ["++", "--", "+++-", "tt", "tbb", "ss"])
def test_keys_at_once_do_what_keys_one_by_one_do(at: Any, keys: str) -> None:
    parts = "document.querySelectorAll('.strip, .stage.text, .stage.tables').length"
    state = f"() => document.querySelector('.percent').textContent + {parts}"
    at.keyboard.press("w")
    for key in keys:
        at.keyboard.press(key)
        at.wait_for_timeout(300)
    one_by_one = at.evaluate(state)
    at.reload()
    at.locator(".sheet[data-ready]").wait_for()
    at.keyboard.press("w")
    at.wait_for_timeout(300)
    at.evaluate(PRESS, list(keys))
    at.wait_for_function(f"before => ({state})() === before", arg=one_by_one)


BESIDE = """left => {
  const placeOf = (page) => document.querySelector(`.sheet[data-page="${page}"]`)?.getBoundingClientRect();
  const one = placeOf(left), other = placeOf(left + 1);
  const stage = document.querySelector(".stage").getBoundingClientRect();
  return one && other && Math.abs(one.top - other.top) < 1 && one.right < other.left && one.left >= stage.left
    && other.right <= stage.right && one.top < stage.bottom && one.bottom > stage.top;
}"""


def beside(page: Any, left: int) -> None:
    """Wait until a page and the next one stand beside each other, at the same height and without overlap."""
    page.locator(f".sheet[data-ready][data-page='{left}']").wait_for()
    page.wait_for_function(BESIDE, arg=left)


def test_two_pages_stand_side_by_side_with_keys_and_contents(at: Any) -> None:
    at.set_viewport_size({"width": 1500, "height": 800})
    switch = at.get_by_role("button", name="Two pages side by side")
    switch.click()
    at.locator(".sheet[data-ready][data-page='18']").wait_for()
    at.evaluate(PRESS, ["ArrowLeft"])  # from row to row, whichever page of it was read
    beside(at, 15)
    at.evaluate(PRESS, ["PageDown", "PageDown"])
    beside(at, 19)
    at.keyboard.press("Home")
    beside(at, 1)
    at.keyboard.press("End")
    at.locator(".sheet[data-ready][data-page='24']").wait_for()
    at.keyboard.press("ArrowLeft")
    beside(at, 21)
    at.keyboard.press("o")
    at.get_by_role("navigation", name="Contents").get_by_role("treeitem").nth(3).click()
    at.locator(".sheet[data-ready]:not([data-page='21'])").wait_for()
    shown = int(at.locator(".sheet[data-ready]").get_attribute("data-page"))
    assert at.locator(".go-to").input_value() == str(shown)
    at.keyboard.press("o")
    at.locator(".stage").hover()
    at.mouse.wheel(0, 2000)
    at.wait_for_function("shown => Number(document.querySelector('.go-to').value) > shown", arg=shown)
    at.reload()
    at.locator(".sheet[data-ready]").wait_for()
    assert switch.get_attribute("aria-pressed") == "true", "who chose it finds it chosen"
    at.set_viewport_size({"width": 700, "height": 800})
    switch.wait_for(state="detached")
    at.wait_for_function(
        """() => {
          const sheets = [...document.querySelectorAll(".sheet")]
            .map((one) => Math.round(one.getBoundingClientRect().top));
          return sheets.length && new Set(sheets).size === sheets.length;
        }"""
    )
    at.set_viewport_size({"width": 1500, "height": 800})
    switch.wait_for()
    at.keyboard.press("p")
    at.locator("[aria-label='Two pages side by side'][aria-pressed=false]").wait_for()
    at.reload()
    switch.wait_for()
    assert switch.get_attribute("aria-pressed") == "false"


def test_who_scrolls_away_from_a_mark_is_not_taken_back(at: Any) -> None:
    at.evaluate("location.hash += '?hl=' + encodeURIComponent('Purchases of property')")
    at.locator(".box.mark").first.wait_for()
    at.locator(".stage").hover()
    for _ in range(12):
        at.mouse.wheel(0, 500)
        at.wait_for_timeout(60)
    at.locator(".sheet[data-page='18']").wait_for(state="detached")
    for _ in range(6):
        at.mouse.wheel(0, -500)
        at.wait_for_timeout(60)
    at.wait_for_timeout(500)
    assert at.locator(".go-to").input_value() != "18"


def test_words_of_two_pages_are_copied_together(at: Any) -> None:
    at.locator(".sheet[data-page='19'] .text-layer span").first.wait_for(state="attached")
    at.evaluate("""() => {
        const words = (page) => [...document.querySelectorAll(`.sheet[data-page="${page}"] .text-layer span`)];
        const range = document.createRange();
        range.setStart(words(18).at(-1).firstChild, 0);
        range.setEnd(words(19)[0].firstChild, words(19)[0].textContent.length);
        getSelection().removeAllRanges();
        getSelection().addRange(range);
        document.execCommand("copy");
    }""")
    copied = at.evaluate("navigator.clipboard.readText()").splitlines()
    first = at.locator(".sheet[data-page='19'] .text-layer span").first.inner_text()
    assert len(copied) == 2 and copied[1] == first, copied


# selects the first words with this text on a page's picture, as a mouse does
SELECT = """([page, from, to]) => {
    const spans = [...document.querySelectorAll(`[data-layer='${page}'] span`)];
    const begin = spans.findIndex((span, at) => from.every((word, by) => spans[at + by]?.textContent === word));
    getSelection().setBaseAndExtent(spans[begin].firstChild, 0, spans[begin + to].firstChild, 1);
}"""


def selected_words(page: Any, number: int, count: int) -> list[str]:
    """Select ``count`` words of a page, from the fifth on, and return them."""
    spans = page.locator(f"[data-layer='{number}'] span")
    spans.nth(4 + count).wait_for(state="attached")
    words = spans.all_text_contents()[4 : 4 + count]
    page.evaluate(SELECT, [number, words, count - 1])
    return words


def test_highlights_stay_are_listed_exported_and_removed(served: Serving, at: Any, window: Any, tmp_path: Path) -> None:
    words = selected_words(at, 18, 3)
    at.keyboard.press("h")
    at.locator(".sheet[data-page='18'] .box.lit").first.wait_for()
    address, quote = at.url, " ".join(words)
    with served.client() as client:
        [note] = [one for one in client.get("/libraries/desk/notes").json() if one["quote"]]
        info = client.get(f"/libraries/desk/documents/{note['doc_id']}").json()
        assert (note["page"], note["quote"].split(), note["content_id"]) == (18, words, info["content_id"])
        before = client.get(f"/libraries/desk/documents/{note['doc_id']}/original").content

    other = window.new_context()  # another browser
    try:
        again = other.new_page()
        again.goto(f"{served.url}/#token={START}")
        again.locator("main").wait_for()
        again.goto(address)
        again.locator(".sheet[data-page='18'] .box.lit").first.wait_for()
        shown = again.locator(".sheet[data-page='18'] .box.lit").first.bounding_box()
        word = again.locator("[data-layer='18'] span").nth(4).bounding_box()
        assert abs(shown["x"] - word["x"]) < 3 and abs(shown["y"] - word["y"]) < 6
    finally:
        other.close()

    at.keyboard.press("t")
    at.locator(".page-text mark.lit").wait_for()
    assert at.locator(".page-text mark.lit").inner_text().split() == words
    at.keyboard.press("t")
    at.locator(".sheet[data-ready] .box.lit").first.wait_for()

    with at.expect_download() as started:
        at.get_by_role("link", name="Download with highlights").click()
    started.value.save_as(tmp_path / "marked.pdf")
    with pymupdf.open(tmp_path / "marked.pdf") as marked:
        drawn = marked[17]
        [annotation] = drawn.annots()
        assert annotation.type[1] == "Highlight"
        assert annotation.info["content"].split() == words
        assert drawn.get_textbox(annotation.rect).split()
    with served.client() as client:
        assert client.get(f"/libraries/desk/documents/{note['doc_id']}/original").content == before

    at.evaluate("location.hash = '#/notes'")
    at.locator(".note-quote").wait_for()
    assert at.locator(".note-quote").inner_text().split() == words
    with at.expect_download() as started:
        at.get_by_role("button", name="Export as Markdown").click()
    started.value.save_as(tmp_path / "notes.md")
    assert quote in " ".join((tmp_path / "notes.md").read_text().replace("> ", "").split())

    at.goto(address)
    at.locator(".sheet[data-ready] .box.lit").first.wait_for()
    at.keyboard.press("o")
    contents = at.get_by_role("navigation", name="Contents")
    contents.get_by_role("combobox").select_option("highlights")
    contents.get_by_role("button", name="Delete").click()
    at.locator(".box.lit").first.wait_for(state="detached")
    with served.client() as client:
        assert not [one for one in client.get("/libraries/desk/notes").json() if one["quote"]]
    at.keyboard.press("o")


def test_words_selected_in_the_text_are_highlighted_where_they_stand(served: Serving, at: Any) -> None:
    at.keyboard.press("t")
    at.locator(".page-text").wait_for()
    text = at.locator(".page-text").inner_text()
    [word] = [w for w in dict.fromkeys(re.findall(r"[a-z]{4,}", text)) if len(re.findall(rf"(?i){w}", text)) == 2][:1]
    second = [found.start() for found in re.finditer(rf"(?i){word}", text)][1]
    select = "([at, long]) => { const node = document.querySelector('.page-text').firstChild; " \
        "getSelection().setBaseAndExtent(node, at, node, at + long) }"  # fmt: skip
    at.evaluate(select, [second, len(word)])
    at.get_by_role("button", name="Highlight the selected words").click()
    at.locator("mark.lit").wait_for()
    before = "() => { const mark = document.querySelector('mark.lit'); return mark.previousSibling.textContent.length }"
    assert at.evaluate(before) == second, "the second of two places is marked"
    at.keyboard.press("t")
    at.locator(".sheet[data-ready] .box.lit").wait_for()
    at.keyboard.press("t")
    at.locator("mark.lit").wait_for()
    select_mark = "() => getSelection().selectAllChildren(document.querySelector('mark.lit'))"
    at.evaluate(select_mark)
    at.keyboard.press("h")  # once more takes the mark away
    at.locator("mark.lit").wait_for(state="detached")
    with served.client() as client:
        assert not [one for one in client.get("/libraries/desk/notes").json() if one["quote"]]
    at.keyboard.press("h")
    at.get_by_text("Select words of the page first.").wait_for()


def test_highlights_of_other_formats_and_without_a_page_are_refused(served: Serving) -> None:
    with served.client() as client:
        upload(client, "desk", ferry="# Ferry\n\nIt crosses twice.\n")
        refused = client.get("/libraries/desk/documents/ferry.md/original", params={"highlights": True})
        assert refused.status_code == 400 and "PDF files only" in refused.json()["detail"]
        body = {"text": "", "document": "ferry.md", "quote": "crosses"}
        assert client.post("/libraries/desk/notes", json=body).status_code == 400
        added = client.post("/libraries/desk/notes", json={**body, "page": 1})
        assert added.status_code == 201, "any format may be highlighted"
        client.delete(f"/libraries/desk/notes/{added.json()['id']}")


def leave_to_mark(at: Any) -> str:
    """Leave the page, and return the address of page 18 with a mark."""
    address = at.evaluate("location.href.replace(/page.*/, 'page/18?hl=Purchases%20of%20property')")
    at.goto("about:blank")
    return str(address)


@pytest.mark.parametrize("part", ["/layout", "/boxes?", "/pages/18"])
@pytest.mark.parametrize("status", [503, 429])
def test_a_page_is_shown_whole_once_a_busy_server_answers(at: Any, part: str, status: int) -> None:
    refused: list[str] = []

    def busy(route: Any) -> None:
        refused.append(route.request.url)
        if len(refused) > 2:
            route.fallback()
        else:
            route.fulfill(status=status, headers={"Retry-After": "1"}, json={"code": "busy", "detail": "Busy."})

    address = leave_to_mark(at)
    at.route(lambda url: part in url and "/pages/18" in url and (part != "/pages/18" or url.endswith(part)), busy)
    at.goto(address)
    for shown in (".sheet[data-ready][data-page='18']", ".box.mark", "[data-page='18'] .text-layer span"):
        at.locator(shown).first.wait_for(state="attached")
    while len(refused) <= 2:
        at.wait_for_timeout(100)
    assert not at.get_by_text("Busy.").count()


# delays what a page does after it was painted, as a busy machine does
DELAY = """ms => {
  const { setTimeout: later, requestAnimationFrame: soon } = window;
  window.requestAnimationFrame = (act) => soon((time) => later(act, ms, time));
  window.setTimeout = (act, after = 0, ...given) => later(act, after < 60 ? ms : after, ...given);
}"""


@pytest.mark.parametrize("ms", [0, 300, 3000])
def test_a_page_stays_if_its_size_comes_after_its_mark(at: Any, ms: int) -> None:
    address = leave_to_mark(at)
    at.add_init_script(f"({DELAY})({ms})")
    sizes, routes = re.compile("/pages/18/(layout|picture)"), list[Any]()
    at.route(sizes, lambda route: routes.append(route))
    at.goto(address)
    at.locator("[data-page='18'] .box.mark").wait_for(state="attached")
    wait_for_held(at, routes)
    at.unroute(sizes)
    for route in routes:
        route.fallback()
    at.locator(".sheet[data-drawn][data-page='18']").wait_for()
    at.locator(".sheet[data-ready]").wait_for()
    assert at.locator(".sheet[data-ready]").get_attribute("data-page") == "18"
    assert "/page/18?hl=" in at.url


@pytest.mark.parametrize("refused", [[503], [429, 503], [0, 503]])
def test_a_picture_that_a_busy_server_refused_is_asked_for_again(at: Any, refused: list[int]) -> None:
    answers = list(refused)

    def busy(route: Any) -> None:
        status = answers.pop(0) if answers else None
        if status is None:
            route.fallback()
        elif status:
            route.fulfill(status=status, headers={"Retry-After": "1"}, json={"code": "busy", "detail": "Busy."})
        else:
            route.abort("connectionrefused")

    at.route("**/pages/18/picture?*scale=1", busy)
    at.reload()
    at.locator(".sheet[data-ready][data-page='18'] .picture").first.wait_for()
    assert not answers and not at.get_by_text("This page cannot be drawn").count()


# turns the wheel and follows a link while the address of the page before waits to be written, and lists what is written
LEAVE = """async ([by, page]) => {
  const drawn = () => new Promise((go) => requestAnimationFrame(() => setTimeout(go)));
  const written = [], replace = history.replaceState.bind(history);
  history.replaceState = (state, title, url) => { written.push(String(url)); replace(state, title, url); };
  const stage = document.querySelector(".stage");
  for (const one of [1, 2, 3]) { stage.scrollTop += by; await drawn(); }
  written.length = 0;
  location.hash = location.hash.replace(/page.[0-9]+/, `page/${page}`);
  for (const until = performance.now() + 400; performance.now() < until;);
  while (!document.querySelector(`.sheet[data-ready][data-page="${page}"]`)) await drawn();
  const until = performance.now() + 700;
  while (performance.now() < until) await drawn();
  return [written.map((url) => Number(url.match(/page.([0-9]+)/)[1])), location.hash];
}"""


@pytest.mark.parametrize(("by", "to"), [(40, 5), (-40, 24), (200, 1)])
def test_a_late_address_never_replaces_that_of_a_jump(at: Any, by: int, to: int) -> None:
    written, address = at.evaluate(LEAVE, [by, to])
    assert set(written) <= {to} and address.endswith(f"/page/{to}")


def test_a_page_whose_picture_cannot_be_drawn_is_shown_as_text(at: Any) -> None:
    at.route("**/pages/18/picture?*", lambda route: route.fulfill(status=422, json={"code": "document"}))
    at.reload()
    at.get_by_text("This page cannot be drawn, so its text is shown.").wait_for()


def test_a_spreadsheet_opens_as_a_grid_whose_head_stays_and_as_a_page_where_words_are_marked(
    served: Serving, page: Any, tmp_path: Path
) -> None:
    with xlsxwriter.Workbook(tmp_path / "pumps.xlsx") as book:
        sheet = book.add_worksheet("Pumps")
        sheet.write_row(0, 0, ["Pump", "Litres", "Share"])
        percent = book.add_format({"num_format": "0.0%"})
        for row in range(1, 60):
            sheet.write_row(row, 0, [f"Pump {row}", row * 1000])
            sheet.write_number(row, 2, row / 100, percent)
        book.add_worksheet("Remarks").insert_textbox(1, 1, "No table stands here.")
    with served.client() as client:
        file = {"file": ("pumps.xlsx", (tmp_path / "pumps.xlsx").read_bytes())}
        wait_for_jobs(client, [client.post("/libraries/desk/documents", files=file).json()["files"][0]["job"]])
        listed = client.get("/libraries/desk/documents").json()["documents"]
    [doc] = (document["doc_id"] for document in listed if document["name"] == "pumps.xlsx")
    page.goto(f"{served.url}/#token={START}")
    page.locator("main").wait_for()
    page.evaluate("place => { location.hash = place }", f"#/doc/desk/{doc}/page/1")
    rows = page.locator(".tables.grid tbody tr")
    rows.nth(58).wait_for()
    assert rows.nth(58).locator("td").all_inner_texts() == ["Pump 59", "59000", "59.0%"]
    head = page.locator(".tables.grid thead th", has_text="Litres")
    before = head.bounding_box()["y"]
    page.locator(".tables.grid .scroll").evaluate("grid => { grid.scrollTop = grid.scrollHeight }")
    rows.nth(58).wait_for()
    assert head.bounding_box()["y"] == before
    left, right = (
        rows.nth(3).locator("td").nth(at).evaluate("cell => getComputedStyle(cell).textAlign") for at in (0, 1)
    )
    assert (left, right) == ("left", "right")
    page.evaluate("place => { location.hash = place }", f"#/doc/desk/{doc}/page/1?hl=Pump 7")
    page.locator(".box.mark").first.wait_for()
    page.get_by_role("button", name="Tables").click()
    rows.nth(58).wait_for()
