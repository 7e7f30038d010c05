"""The report's page as a browser sees it: plots, no network, no script but its own."""

from __future__ import annotations

import html
import http.server
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from eval.cli import main
from eval.report import plots
from eval.report.questions import element
from tests import browser
from tests.browser import needs_browser
from tests.eval.made_runs import record, run_folder

EVIL = """</script></title><img src="http://planted.test/x.png" onerror="document.title='run'"><script>run()</script>"""


@dataclass
class Proxy:
    """A real proxy that answers nothing and keeps what it was asked for."""

    port: int
    asked: list[str]


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        do_POST = do_CONNECT = do_GET  # noqa: N815 - the names that http.server looks for

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield Proxy(server.server_address[1], asked)
    server.shutdown()
    thread.join()
    server.server_close()


def browse(page: Path, proxy: Proxy, profile: Path, width: int = 1200) -> tuple[str, str]:
    """What a browser shows and says; all traffic goes to the proxy."""
    return browser.browse(
        page.as_uri(), profile, f"--proxy-server=127.0.0.1:{proxy.port}", f"--window-size={width},1000"
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of two runs that say hostile things wherever a run can say something."""
    folder = tmp_path_factory.mktemp("runs")
    ranks = (1, 3, 9, None, 2, None)
    first = [record(f"q{n}", rank, kind=("prose", EVIL)[n % 2], cost=0.01) for n, rank in enumerate(ranks)]
    evil = record(
        "q0", 5, question=EVIL, group=EVIL, gold_answer=EVIL, notes=(EVIL,), error=EVIL, kind="prose",
        receipts=({"terms": {EVIL: 1.5}, "path": [EVIL]},), evidence=(EVIL, 0.5),
        timings_ms={"total": 900.0, EVIL: 2.0},
    )  # fmt: skip
    second = [evil, *(record(f"q{n}", 1, kind=("prose", EVIL)[n % 2]) for n in range(1, 6))]
    runs = [
        run_folder(folder / "first$x$", first),
        run_folder(folder / 'second <b onload="run()">', second, dataset=EVIL, options={EVIL: EVIL}, problems=(EVIL,)),
    ]
    made = folder / "report.html"
    assert main(["report", *map(str, runs), "--html", str(made)]) == 0
    return made


def test_the_page_names_nothing_outside_itself(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    tags = re.findall(r"<[^!/][^>]*>", text)
    assert not [tag for tag in tags if re.search(r"""\s(src|on\w+|action|srcset)\s*=""", tag)]
    targets = {target for tag in tags for target in re.findall(r"""href="([^"]*)""", tag)}
    assert targets
    assert all(target.startswith("#") for target in targets)
    ids = re.findall(r"""\sid="([^"]*)""", " ".join(tags))
    assert len(ids) == len(set(ids))
    assert {target[1:] for target in targets} <= set(ids)
    assert not re.search(r"@import|url\((?!#)", text)
    assert text.count("<script>") == 1
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert text.index("<h1>") < text.index("Where questions were lost") < text.index("Measures compared")


def test_what_a_run_says_stays_text() -> None:
    assert element("a", "<b>", element("i", "&"), title='"<') == '<a title="&quot;&lt;">&lt;b&gt;<i>&amp;</i></a>'
    drawn = plots.hit_curves({"a$x$ <b>&": [0.5], "other": [1.0]})
    assert "a$x$ &lt;b&gt;&amp;</text>" in drawn


def test_a_run_keeps_its_colour_in_every_plot() -> None:
    drawn = plots.attribution_bars({"untraced": {}, "traced": {"hit": 3}})
    assert "var(--series-2)" in drawn
    assert "var(--series-1)" not in drawn
    assert plots.scatter({"a": None, "b": (2.0, 0.5)}, "hit@5", "ms", "s").count("0.500 at 2") == 1


def test_plots_hold_with_one_question_and_many_runs() -> None:
    assert "<svg" in plots.latency_histogram({"only": [12.0]})
    assert "<svg" in plots.latency_histogram({"none": [], "zero": [0.0, 0.0]})
    many = {f"a rather long name of run number {number}": [number / 20] * 20 for number in range(20)}
    drawn = plots.hit_curves(many)
    assert all(html.escape(name) in drawn for name in many)


@needs_browser
def test_the_page_opens_without_network_and_without_errors(page: Path, proxy: Proxy, tmp_path: Path) -> None:
    document, console = browse(page, proxy, tmp_path / "profile")
    assert console == ""
    assert not [asked for asked in proxy.asked if "planted" in asked]
    for plot in ("stages", "curves", "latency", "accuracy-latency", "accuracy-cost"):
        assert re.search(rf'<svg role="img" aria-labelledby="{plot}-title {plot}-desc"', document), plot
    assert document.count('<details class="question"') == 6
    assert "<img" not in document
    assert html.unescape(document).count("planted.test") > 10
    assert "<title>Retrieval report: custom, &lt;/script" in document


@needs_browser
def test_the_browser_tells_of_requests_and_errors(proxy: Proxy, tmp_path: Path) -> None:
    """What the test above looks for would be seen."""
    bad = tmp_path / "bad.html"
    bad.write_text('<img src="http://planted.test/x.png"><script>nothing.at.all()</script>', encoding="utf-8")
    _, console = browse(bad, proxy, tmp_path / "profile")
    assert "nothing is not defined" in console
    assert [asked for asked in proxy.asked if "planted" in asked]


@needs_browser
def test_a_script_that_got_in_would_not_run(page: Path, proxy: Proxy, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    broken = tmp_path / "broken.html"
    broken.write_text(text.replace("<h1>", f"<script>document.title = 'run'</script>{EVIL}<h1>", 1), encoding="utf-8")
    document, console = browse(broken, proxy, tmp_path / "profile")
    assert "<title>run" not in document
    assert "Content Security Policy" in console
    assert not [asked for asked in proxy.asked if "planted" in asked]


DRIVER = """
{
  const table = document.querySelector("#measures > .wide table");
  const cells = (at) => [...table.tBodies[0].rows].map((row) => row.cells[at].textContent);
  const press = (at) => table.querySelectorAll("th button")[at].click();
  const shown = () => [...document.querySelectorAll("details.question")].filter((question) => !question.hidden).length;
  const heights = [...document.querySelectorAll("svg.plot")].map((plot) => plot.getBoundingClientRect().height);
  const root = document.documentElement;
  const seen = { heights, wider: root.scrollWidth - root.clientWidth, all: shown() };
  press(1); seen.up = cells(1);
  press(1); seen.down = cells(1);
  press(0); seen.names = cells(0);
  press(3); seen.differences = cells(3);
  const filter = document.querySelector("#filter");
  filter.value = "wrong document";
  filter.dispatchEvent(new Event("change"));
  seen.lost = shown();
  document.body.dataset.seen = JSON.stringify(seen);
}
"""


@needs_browser
@pytest.mark.parametrize("width", [1200, 500])
def test_tables_sort_questions_filter_and_plots_have_a_size(
    page: Path, proxy: Proxy, tmp_path: Path, width: int
) -> None:
    driven = tmp_path / "driven.html"
    text = re.sub(r"<meta http-equiv[^>]*>", "", page.read_text(encoding="utf-8"))
    driven.write_text(text.replace("</script></body>", f"{DRIVER}</script></body>"), encoding="utf-8")
    document, console = browse(driven, proxy, tmp_path / "profile", width)
    assert console == ""
    found = re.search(r'data-seen="([^"]*)"', document)
    assert found is not None
    seen = json.loads(html.unescape(found[1]))
    assert min(seen["heights"]) > 100
    assert seen["wider"] <= 0, "the page scrolls sideways"
    assert seen["up"] == sorted(seen["up"]) != seen["down"] == sorted(seen["down"], reverse=True)
    assert seen["names"].index("hit@3") < seen["names"].index("hit@20")  # numbers inside names count as numbers
    differences = [float(cell.split()[0]) for cell in seen["differences"]]
    assert differences == sorted(differences)
    assert (seen["all"], seen["lost"]) == (6, 2)
