"""A library in a real browser: its documents listed, narrowed and put in order, files on their way into it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from tests.doubles import gated
from tests.interfaces.http.conftest import START, Serving, serving, until, upload, wait_for_held, wait_for_jobs
from tests.interfaces.http.many_rows import write_rows


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """One that may read a folder of this machine, and knows files that are held in their middle."""
    home = tmp_path_factory.mktemp("served")
    for name in ("shelf", "packages"):
        (home / name).mkdir()
    gated.install(home / "packages")
    with serving(home / "home", "--root", str(home / "shelf"), PYTHONPATH=str(home / "packages")) as made:
        yield made


@pytest.fixture
def library(served: Serving, page: Any) -> Any:
    """Opens a library in the page."""

    def opened(name: str, **given: str) -> Any:
        asked = "&".join(f"{key}={value}" for key, value in given.items())
        page.goto(f"{served.url}/#token={START}")
        page.get_by_role("main").wait_for()
        page.evaluate("place => { location.hash = place }", f"#/library/{name}?{asked}")
        page.get_by_role("heading", name=name, level=1).wait_for()
        return page

    return opened


def test_ten_thousand_documents_scroll_and_are_narrowed(served: Serving, library: Any) -> None:
    write_rows(served.home, "many", 10_000)
    page = library("many")
    page.get_by_text("10,000 documents", exact=True).wait_for()
    assert page.get_by_role("row").count() < 60, "only what can be seen is there"
    page.get_by_role("link", name="Report 00000").focus()
    page.keyboard.press("End")
    last = page.get_by_role("link", name="Report 09999")
    last.wait_for()
    assert last.evaluate("link => link === document.activeElement"), "the keyboard goes with the list"
    page.get_by_role("gridcell", name="report-09999").get_by_role("link").click()
    page.get_by_role("searchbox").wait_for(state="detached")
    page.go_back()
    last.wait_for()  # where one was
    most = page.evaluate("""async () => {
      let most = 0;
      for (let at = 0; at < 30; at += 1) {
        scrollTo(0, at * 9000);
        await new Promise(requestAnimationFrame);
        most = Math.max(most, document.querySelectorAll("[role=row]").length);
      }
      return most;
    }""")
    assert most < 60, "no more rows are drawn while it scrolls"
    page.get_by_placeholder("Filter by words").fill("report-0001")
    page.get_by_text("10 of 10,000 documents").wait_for()
    page.get_by_role("button", name="Clear filters").click()
    page.get_by_role("combobox", name="Organisation").select_option("Company 7")
    page.get_by_text("200 of 10,000 documents").wait_for()
    page.get_by_role("combobox", name="Year").select_option("2027")
    page.get_by_placeholder("Filter by words").fill("report-00057")
    page.get_by_text("1 of 10,000 documents").wait_for()
    assert "organisation=Company+7" in page.url
    page.reload()
    page.get_by_text("1 of 10,000 documents").wait_for()
    page.get_by_role("button", name="Clear filters").click()
    page.get_by_role("combobox", name="State").select_option("warned")
    page.get_by_text("20 of 10,000 documents").wait_for()
    page.get_by_role("combobox", name="Type").select_option("manual")
    page.get_by_text("6 of 10,000 documents").wait_for()
    page.get_by_role("combobox", name="State").select_option("")
    page.get_by_text("3,333 of 10,000 documents").wait_for()
    page.get_by_role("combobox", name="Format").select_option("docx")
    page.get_by_text("833 of 10,000 documents").wait_for()
    page.get_by_role("combobox", name="Type").select_option("")
    page.get_by_text("2,500 of 10,000 documents").wait_for()
    page.get_by_role("combobox", name="Format").select_option("")
    page.get_by_role("combobox", name="State").select_option("warned")
    page.get_by_text("20 of 10,000 documents").wait_for()
    page.get_by_role("columnheader", name="Pages").get_by_role("button").click()
    page.get_by_role("columnheader", name="Pages").get_by_role("button").click()
    assert "Report 09501" not in page.get_by_role("row").nth(1).inner_text()
    assert page.get_by_role("row").nth(1).get_by_role("gridcell").nth(5).inner_text() == "202"

    page.get_by_role("button", name="Clear filters").click()
    page.get_by_role("button", name="Gallery").click()
    page.get_by_role("listitem").first.wait_for()
    assert page.get_by_role("listitem").count() < 150
    page.get_by_role("button", name="Folders").click()
    page.get_by_role("button", name="shelf 03").press("ArrowRight")
    page.get_by_role("treegrid").get_by_role("link", name="Report").first.wait_for()


def test_a_folder_is_sent_watched_and_shown_as_a_tree(served: Serving, library: Any, tmp_path: Path) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "port"})
        upload(client, "port", first="# First\n\nA quay.\n")
    folder = tmp_path / "papers"
    for name in ("2025/quay.md", "2025/crane.md", "lock.md", "broken.pdf", ".DS_Store"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"# {name}\n\nThe {name} of the port.\n")
    page = library("port")
    page.get_by_text("1 document", exact=True).wait_for()
    page.evaluate("""() => {
      const dropped = new DataTransfer();
      dropped.items.add(new File(["# Mole\\n\\nOf stone.\\n"], "mole.md"));
      for (const kind of ["dragenter", "dragover", "drop"])
        document.body.dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: dropped }));
    }""")
    page.get_by_text("2 documents", exact=True).wait_for()
    page.get_by_label("Add folder").set_input_files(str(folder))
    work = page.get_by_role("region", name="In progress")
    work.get_by_text("papers/broken.pdf").wait_for()
    page.get_by_role("button", name=re.compile("1 failed")).wait_for()
    assert work.locator(".work-why .bad").inner_text(), "why it failed is said"
    page.reload()
    page.get_by_role("button", name=re.compile("1 failed")).click()
    with served.client() as client:
        [failed] = client.get("/jobs", params={"library": "port", "status": "failed"}).json()["jobs"]
        work.get_by_role("button", name="Retry: papers/broken.pdf").click()
        until(
            lambda: [one["kind"] for one in client.get(f"/jobs/{failed['id']}").json()["events"]].count("claimed") > 1
        )
    work.get_by_role("button", name="Forget: papers/broken.pdf").click()
    page.get_by_role("button", name=re.compile("1 failed")).wait_for(state="detached")
    page.get_by_role("button", name="Folders").click()
    page.get_by_role("link", name="crane").wait_for()
    assert "DS_Store" not in page.get_by_role("treegrid").inner_text()
    page.get_by_role("button", name="2025", exact=True).press("ArrowLeft")
    page.get_by_role("link", name="crane").wait_for(state="detached")


def test_a_slow_and_a_failing_server_are_told_without_a_jump(served: Serving, page: Any) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "slow"})
        upload(client, "slow", tow="# Tow\n\nA path.\n")
    answers: list[Any] = []
    page.route("**/rows", lambda route: answers.append(route))
    page.goto(f"{served.url}/#token={START}")
    page.get_by_role("main").wait_for()
    page.evaluate("""() => {
      window.jumps = 0;
      const look = new PerformanceObserver((list) => list.getEntries().forEach((one) => { jumps += one.value; }));
      look.observe({ type: "layout-shift" });
      location.hash = "#/library/slow";
    }""")
    page.get_by_text("The documents are being loaded").wait_for(state="attached")
    wait_for_held(page, answers)
    answers.pop().fulfill(status=500, json={"code": "failed", "detail": "The disk is away.", "advice": ""})
    page.get_by_role("alert").get_by_text("The disk is away.").wait_for()
    page.unroute("**/rows")
    page.get_by_role("button", name="Try again").click()
    page.get_by_role("link", name="Tow").wait_for()
    assert page.evaluate("jumps") < 0.1


def test_uploads_are_paused_cancelled_and_survive_a_reload(
    served: Serving, window: Any, library: Any, tmp_path: Path
) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "lock"})
        client.post("/jobs/pause", json={"library": "lock"})
    page = library("lock")
    page.get_by_role("heading", name="No documents yet").wait_for()
    files = [{"name": f"{name}.md", "mimeType": "", "buffer": f"# {name}".encode()} for name in ("gate", "sluice")]
    page.get_by_label("Add files").set_input_files(files)
    work = page.get_by_role("region", name="In progress")
    page.get_by_role("button", name="2 waiting").wait_for()
    page.reload()
    page.get_by_role("button", name="2 waiting").click()
    work.get_by_text("Paused").nth(1).wait_for()
    work.get_by_role("button", name="Cancel: gate.md").click()
    page.get_by_role("button", name="1 waiting").wait_for()

    beside = window.new_page(locale="en-GB")
    beside.goto(f"{served.url}/#token={START}")
    beside.get_by_role("main").wait_for()
    beside.evaluate("location.hash = '#/library/lock'")
    beside.get_by_role("heading", name="The first documents are being indexed").wait_for()
    work.get_by_role("button", name="Resume all").click()
    for one in (page, beside):
        one.get_by_text("1 document", exact=True).wait_for()
        one.get_by_role("link", name="sluice").wait_for()
    beside.close()

    work.get_by_role("button", name="Cancel", exact=False).first.wait_for(state="detached")
    many = [{"name": f"{n}.md", "mimeType": "", "buffer": f"# {n}".encode()} for n in range(2)]
    with served.client() as client:
        client.post("/jobs/pause", json={"library": "lock"})  # so that they wait while a person presses
    page.get_by_label("Add files").set_input_files(many)
    page.get_by_role("button", name="2 waiting").wait_for()
    work.get_by_role("button", name="Resume all").click()
    page.get_by_text("3 documents", exact=True).wait_for()

    page.get_by_label("Add files").set_input_files([gated.write(tmp_path / "log.gated", tmp_path / "open", "reeds")])
    bar = work.get_by_role("progressbar", name="log.gated")
    bar.and_(page.locator(f"[max='{gated.PAGES}'][value]:not([value='0'])")).wait_for()
    work.get_by_role("button", name="Pause all").click()
    work.get_by_text("Paused").wait_for()
    (tmp_path / "open").touch()
    work.get_by_role("button", name="Resume all").click()
    page.get_by_text("4 documents", exact=True).wait_for()

    page.route("**/documents", lambda route: None)  # an upload that takes long
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_label("Add files").set_input_files([{"name": "weir.md", "mimeType": "", "buffer": b"# Weir"}])
    work.get_by_text("Sending", exact=False).wait_for()
    page.reload()
    page.get_by_text("1 file was not sent before the page was left").wait_for()
    assert "weir.md" in page.locator(".notice").inner_text()


def test_a_document_is_opened_by_its_outline_corrected_and_removed(served: Serving, library: Any) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "mill"})
        upload(
            client,
            "mill",
            wheel="# Wheel\n\nOf oak. The men turn it in May.\n\n## Paddles\n\nOf elm.\n",
            stone="# Stone\n\nOf slate. The men turn it in May.\n",
        )
        doc = next(
            one["doc_id"]
            for one in client.get("/libraries/mill/documents").json()["documents"]
            if one["name"] == "wheel.md"
        )
        asked = {
            "question": "What did the men of Watermill Trust turn in 1830?",
            "libraries": ["mill"],
            "effort": "fast",
        }

    def first() -> str:
        with served.client() as client:
            return str(client.post("/search", json=asked).json()["results"][0]["doc_id"])

    assert first() != doc
    page = library("mill")
    page.get_by_placeholder("Filter by words").focus()
    focused = page.locator(":focus")
    while focused.get_attribute("data-main") is None:
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.get_by_role("link", name="Wheel").and_(focused).wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    details = page.get_by_role("complementary", name="Wheel")
    page.get_by_role("heading", name="Wheel").and_(focused).wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Details of Wheel").and_(focused).wait_for()
    page.keyboard.press("Enter")
    details.get_by_role("treeitem", name="Wheel").focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.innerText").strip().startswith("Paddles")

    details.get_by_text("Correct", exact=True).click()
    details.get_by_role("textbox", name="Organisation").fill("Watermill Trust")
    with served.client() as client:
        client.patch(f"/libraries/mill/documents/{doc}", json={"set": {"year": "1830"}}).raise_for_status()
    details.get_by_role("button", name="Save").click()
    details.get_by_text("Another user has changed this document").wait_for()
    assert details.get_by_role("textbox", name="Organisation").input_value() == "Watermill Trust", (
        "what was typed stays"
    )
    assert details.get_by_role("textbox", name="Year").input_value() == "1830", "and what they wrote is there"
    details.get_by_role("button", name="Save").click()
    details.get_by_text("Saved.").wait_for()
    page.get_by_role("gridcell", name="Watermill Trust").wait_for()
    details.get_by_role("button", name="Undo the correction of Organisation").click()
    page.get_by_role("gridcell", name="Watermill Trust").wait_for(state="detached")
    by_hand = {
        "Title": "The great wheel",
        "Organisation": "Watermill Trust",
        "Date": "1830-05-01",
        "Tags": "oak; listed",
    }
    for field, typed in by_hand.items():
        details.get_by_label(field, exact=True).fill(typed)
    details.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="The great wheel").wait_for()
    page.reload()
    page.get_by_role("link", name="The great wheel").wait_for()
    facts = page.locator(".details-facts").first
    facts.get_by_text("oak, listed").wait_for()
    assert "1830-05-01" in facts.inner_text()
    assert first() == doc, "whose it is, which no page says, leads there"
    details = page.get_by_role("complementary", name="The great wheel")

    page.get_by_role("checkbox", name="Choose Stone").check()
    page.get_by_text("1 document is searched").wait_for()
    page.get_by_role("checkbox", name="Choose all").check()
    chosen = page.get_by_role("region", name="Selected documents")
    with served.client() as client:
        before = {one["id"] for one in client.get("/jobs", params={"library": "mill"}).json()["jobs"]}
        chosen.get_by_role("button", name="Rebuild").click()
        chosen.wait_for(state="detached")
        made = [
            one for one in client.get("/jobs", params={"library": "mill"}).json()["jobs"] if one["id"] not in before
        ]
        assert len(made) == 2, made
        assert {one["status"] for one in wait_for_jobs(client, [one["id"] for one in made])} == {"done"}
    with page.expect_download() as kept:
        details.get_by_role("link", name="Download").click()
    assert kept.value.suggested_filename == "wheel.md"
    details.get_by_role("button", name="Remove").click()
    details.get_by_role("button", name="Yes, remove").click()
    page.get_by_text("1 document", exact=True).wait_for()
    page.go_back()
    page.get_by_text("This document is not here any more.").wait_for()
    page.get_by_role("checkbox", name="Choose Stone").check()
    chosen.get_by_role("button", name="Remove").click()
    chosen.get_by_role("button", name="Yes, remove").click()
    page.get_by_role("heading", name="No documents yet").wait_for()


def test_a_library_follows_a_folder_and_ends_only_where_its_name_is_typed(served: Serving, library: Any) -> None:
    shelf = served.home.parent / "shelf"
    (shelf / "tide.md").write_text("# Tide\n\nIt turns twice a day.\n")
    with served.client() as client:
        client.post("/libraries", json={"name": "sea"})
        reader = client.post("/tokens", json={"name": "reader"}).json()["secret"]
    page = library("sea")
    page.get_by_role("button", name="Manage").click()
    manage = page.get_by_role("region", name="Manage")
    manage.get_by_label("Folder on the server's disk").fill("/etc")
    manage.get_by_role("button", name="Watch", exact=True).click()
    manage.get_by_role("alert").get_by_text("/etc", exact=False).wait_for()
    manage.get_by_label("Folder on the server's disk").fill(str(shelf))
    manage.get_by_role("button", name="Watch", exact=True).click()
    manage.get_by_role("button", name=f"Stop watching: {shelf}").wait_for()
    page.get_by_text("1 document", exact=True).wait_for()
    manage.get_by_text("Uploaded files", exact=True).wait_for()
    manage.get_by_role("button", name=f"Stop watching: {shelf}").click()
    manage.get_by_role("button", name=f"Watch: {shelf}", exact=True).wait_for()

    manage.get_by_text(str(served.home)).wait_for()
    taken = manage.locator(".details-facts dd").all_inner_texts()
    assert len(taken) > 3 and all(re.match(r"[\d.,]+ .?B$", one) for one in taken), taken

    manage.get_by_role("button", name="Rebuild all documents").click()
    manage.get_by_label("Type sea to confirm").fill("sea")
    page.keyboard.press("Enter")
    manage.get_by_text("All documents are being indexed again.").wait_for()
    reading = page.context.browser.new_page(locale="zh-CN")
    reading.goto(f"{served.url}/#token={reader}")
    reading.get_by_role("main").wait_for()
    reading.evaluate("location.hash = '#/library/sea'")
    reading.get_by_text("1 个文档", exact=True).wait_for()
    assert not reading.get_by_text("添加文件").count() and not reading.get_by_text("移除").count()
    reading.close()

    manage.get_by_role("button", name="Delete the library").click()
    manage.get_by_label("Type sea to confirm").fill("sea")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="sea").wait_for(state="detached")
    with served.client() as client:
        assert client.get("/libraries/sea").status_code == 404
    assert (shelf / "tide.md").exists()


def test_clear_everything_leaves_nothing(tmp_path: Path, page: Any) -> None:
    with serving(tmp_path / "home") as own, own.client() as client:
        for name in ("sea", "land"):
            client.post("/libraries", json={"name": name})
            upload(client, name, one="# One\n\nIt is told of.\n")
        page.goto(f"{own.url}/#token={START}")
        page.get_by_role("link", name="sea", exact=True).wait_for()
        page.get_by_role("link", name="Settings", exact=True).click()
        page.get_by_role("link", name="Bin", exact=True).click()
        clear = page.get_by_role("button", name="Clear everything")
        clear.click()
        page.get_by_label("Type everything to confirm").fill("sea")
        assert clear.is_disabled()
        page.get_by_label("Type everything to confirm").fill("everything")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Delete sample").wait_for()  # as at a first start
        assert page.get_by_role("link", name="sea", exact=True).count() == 0
        assert not {"sea", "land"} & {one["name"] for one in client.get("/libraries").json()}
        assert not {"sea", "land"} & {one["library"] for one in client.get("/jobs").json()["jobs"]}
        assert not list((tmp_path / "home" / "originals").rglob("*.md"))


def test_what_is_removed_comes_back_at_once_or_from_the_bin(served: Serving, library: Any) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "quay"})
        upload(client, "quay", **{name: f"# {name.title()}\n\nOf the quay.\n" for name in ("rope", "mast", "sail")})
    page = library("quay")
    undo = page.get_by_role("button", name="Undo")
    page.get_by_role("button", name="Details of Rope").click()
    details = page.get_by_role("complementary", name="Rope")
    details.get_by_role("button", name="Remove").click()
    details.get_by_role("button", name="Yes, remove").click()
    page.get_by_text("2 documents", exact=True).wait_for()
    page.get_by_text("Rope was removed.").wait_for()
    undo.click()
    page.get_by_text("Restored.").wait_for()
    page.get_by_text("3 documents", exact=True).wait_for()

    for name in ("Rope", "Mast"):
        page.get_by_role("checkbox", name=f"Choose {name}").check()
    chosen = page.get_by_role("region", name="Selected documents")
    chosen.get_by_role("button", name="Remove").click()
    chosen.get_by_role("button", name="Yes, remove").click()
    page.get_by_text("2 documents were removed.").wait_for()
    undo.focus()
    page.keyboard.press("Enter")
    page.get_by_text("3 documents", exact=True).wait_for()

    page.get_by_role("link", name="Libraries", exact=True).click()
    page.get_by_role("button", name="Delete quay").click()
    page.get_by_text("its 3 documents (3 pages)").wait_for()
    page.get_by_role("button", name="Delete it").click()
    page.get_by_role("link", name="quay", exact=True).wait_for(state="detached")
    page.reload()
    page.evaluate("location.hash = '#/settings/bin'")
    page.get_by_text("30 days left").first.wait_for()
    page.get_by_role("button", name="Restore: Library quay").click()
    page.get_by_text("Restored.").wait_for()
    with served.client() as client:
        assert client.get("/libraries/quay").json()["documents"] == 3
        client.delete("/libraries/quay").raise_for_status()
    page.get_by_role("button", name="Delete for good: Library quay").click()
    page.get_by_role("button", name="Yes, delete for good").click()
    page.get_by_text("Deleted for good.", exact=True).wait_for()
    with served.client() as client:
        assert "quay" not in [entry["library"] for entry in client.get("/bin").json()]
        assert client.post("/bin/quay/restore").status_code == 404


def test_a_view_looks_again_when_its_stream_begins_late(served: Serving, page: Any) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "wharf"})
        streams: list[Any] = []
        is_delayed = True
        page.route("**/jobs/events*", lambda stream: streams.append(stream) if is_delayed else stream.continue_())
        page.goto(f"{served.url}/#token={START}")
        page.get_by_role("main").wait_for()
        with page.expect_response("**/bin"):
            page.evaluate("location.hash = '#/settings/bin'")
        client.delete("/libraries/wharf").raise_for_status()
        while not streams:
            page.wait_for_timeout(20)
        is_delayed = False
        for stream in streams:
            stream.continue_()

        page.get_by_role("button", name="Restore: Library wharf").wait_for()


def test_a_failure_is_said_in_words_of_the_page_with_what_mends_it(served: Serving, library: Any) -> None:
    with pymupdf.open() as made:
        made.new_page().insert_text((50, 60), "The ferry leaves at nine.")
        locked = made.tobytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="oars", owner_pw="oars")
    files = {"ferry.pdf": locked, "nothing.docx": b"", "cut.pdf": b"%PDF-1.7 cut", "strange.xyz": b"\x00\x01\x02" * 90}
    with served.client() as client:
        client.post("/libraries", json={"name": "pier"})
        sent = [("file", (name, data)) for name, data in files.items()]
        jobs = [file["job"] for file in client.post("/libraries/pier/documents", files=sent).json()["files"]]
        reasons = {job["subject"]: job["reason"] for job in wait_for_jobs(client, jobs)}
    assert list(reasons.values()) == ["locked", "empty", "broken", "unsupported"], reasons
    page = library("pier")
    page.locator(".work-chip").click()
    work = page.get_by_role("region", name="In progress")
    for words in (
        "locked with a password",
        "The file is empty.",
        "The file is damaged",
        "cannot be read. Save it as PDF",
    ):
        work.get_by_text(words).wait_for()
    assert not work.get_by_text("--password").count() and not work.get_by_text("zip file").count()
    password = work.get_by_label("Password: ferry.pdf")
    password.fill("wrong")
    page.keyboard.press("Enter")
    work.get_by_text("This password does not open it.").wait_for()
    password.fill("oars")
    page.keyboard.press("Enter")
    work.get_by_text("locked with a password").wait_for(state="detached")
    work.get_by_role("button", name="Remove: nothing.docx").click()
    page.get_by_text("nothing.docx was removed.").wait_for()
    work.get_by_text("The file is empty.").wait_for(state="detached")
    with served.client() as client:
        listed = client.get("/libraries/pier/documents").json()["documents"]
        assert {one["name"]: one["published"] for one in listed} == {
            "cut.pdf": False, "ferry.pdf": True, "strange.xyz": False
        }  # fmt: skip
        found = client.post("/search", json={"question": "When does the ferry leave?", "libraries": ["pier"]}).json()
        assert found["results"][0]["doc_name"] == "ferry.pdf"


def test_failure_reasons_never_cover_other_rows(served: Serving, page: Any) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "failures"})
        files = [("file", (f"{name}.mp4", b"no film")) for name in "abcdefghijkl"]
        sent = client.post("/libraries/failures/documents", files=files).json()["files"]
        wait_for_jobs(client, [file["job"] for file in sent])
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{served.url}/#token={START}")
    page.locator("main").wait_for()
    page.evaluate("location.hash = '#/library/failures'")
    page.locator(".work-chip").click()
    page.locator(".work-line .work-why").nth(11).wait_for()
    rows = page.locator(".work-line").evaluate_all("rows => rows.map(row => [row.scrollHeight, row.clientHeight])")
    assert len(rows) == 12 and all(full <= shown + 1 for full, shown in rows)


def test_files_that_are_there_already_are_named_and_totals_are_shown(served: Serving, library: Any) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "again"})
        upload(client, "again", mole="# Mole\n\nOf stone.\n", quay="# Quay\n\nOf oak.\n")
    page = library("again")
    page.get_by_text("2 documents", exact=True).wait_for()
    same = {"name": "mole.md", "mimeType": "", "buffer": b"# Mole\n\nOf stone.\n"}
    page.get_by_label("Add files").set_input_files([same])
    page.get_by_text("mole.md is here already, unchanged: nothing was added.").wait_for()
    page.get_by_role("button", name="Dismiss").click()
    page.get_by_text("is here already").wait_for(state="detached")
    with served.client() as client:
        client.post("/jobs/pause", json={"library": "again"})
    later = [{"name": f"{n}.md", "mimeType": "", "buffer": f"# {n}".encode()} for n in range(3)]
    page.get_by_label("Add files").set_input_files(later)
    page.get_by_text("0 of 3 files read").wait_for()
    with served.client() as client:
        client.post("/jobs/resume", json={"library": "again"})
    page.get_by_text("5 documents", exact=True).wait_for()
    page.get_by_text("files read").wait_for(state="detached")


@pytest.mark.parametrize("name", ["torn.pdf", "empty.docx", "film.mp4"])
def test_a_failure_that_is_forgotten_is_still_named_in_the_list(served: Serving, library: Any, name: str) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": name})
        data = b"" if name == "empty.docx" else b"%PDF-1.7 torn"
        [file] = client.post(f"/libraries/{name}/documents", files={"file": (name, data)}).json()["files"]
        wait_for_jobs(client, [file["job"]])
    page = library(name)
    page.locator(".work-chip").click()
    page.get_by_role("button", name=f"Forget: {name}").click()
    page.get_by_role("link", name="1 file could not be read.").click()
    page.wait_for_url("**state=failed**")
