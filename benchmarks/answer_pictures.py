"""Measure which gold pages are sent to a model as pictures, for questions about charts, figures and scans.

    python -m benchmarks answer_pictures [--data DIR] [--home DIR] [--top-k 5] [--set mmlongbench] [--json] [--missed]
                                         [--model scripted:oracle]

Gold pages are the pages that answer a question. A gold page counts if the question's evidence is a chart or a figure,
or if the page is a scan. The benchmark prints the recall: the share of these pages that would be sent as pictures. It
prints the recall among the sources of an answer, among all gold pages, and with at most three pages per question. Each
is measured for searches of the whole library and for searches of the right document. No model writes an answer. With
``--model`` a scripted model selects the pages, so that errors of the search do not count.
"""

from __future__ import annotations

import json
import tempfile
from argparse import Namespace
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from benchmarks.filings import options_of
from eval.datasets import load
from eval.datasets.corpus import locate
from eval.records.questions import EvalQuestion
from eval.runs.run import gold_pages
from eval.runs.scripted import Pages, scripted
from hybrid_core.types.documents import Effort
from hybrid_core.types.results import PageFound
from hybrid_pageindex import Engine, Settings, run
from hybrid_pageindex.engine.answers.pages import PagePictures
from retrievers.answer.sources import MOST, Showing, near, pictured

SEEN = ("chart", "figure")
Shown = dict[tuple[str, int], Showing | None]


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--set", default="mmlongbench")
    parser.add_argument("--top-k", type=int, default=5)
    parser.add_argument("--model", default="", help="scripted:oracle or scripted:reader, for a deep search")
    parser.add_argument("--missed", action="store_true", help="name the gold pages that were not sent")
    options = parser.parse_args()
    dataset = load(options.set, options.data)
    figures: dict[str, float] = {}
    shown: Shown = {}
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(options.home or temporary)
        gold: dict[str, Pages] = {}
        chat = scripted(options.model, gold)
        with closing(Engine(settings=Settings(storage_path=home), chat=chat)) as engine:
            run(engine.index(dataset.files, enrich="never"))
            gold |= {q.text: gold_pages(q) for q in run(locate(engine, dataset.questions)).questions}
            pictures = PagePictures(engine._parts().pages, engine.settings.library, {})
            for setting in ("library", "given"):
                figures |= _measured(engine, pictures, dataset.questions, setting, options, shown)
    print(json.dumps(figures) if options.json else "\n".join(f"{name:<38}{value}" for name, value in figures.items()))
    return 0


def _measured(
    engine: Engine, pictures: PagePictures, questions: Sequence[EvalQuestion], setting: str, options: Namespace,
    shown: Shown,
) -> dict[str, float]:  # fmt: skip
    effort: Effort = "deep" if options.model else "fast"
    among = sent = largest = drawn = gold_sources = lost = gold_seen = several = bounded = reached = 0
    for question in questions:
        scope = {"documents": list(question.given)} if setting == "given" else {}
        results = engine.search_now(question.text, effort=effort, top_k=options.top_k, **scope).results
        gold = {(item.document, item.page) for item in question.evidence}
        sources = near(results)
        gold_sources += sum(_place(page) in gold for page in sources)
        lost += sum(_place(page) in gold for page in results if page not in sources)
        if not gold:
            continue
        seen = [_showing(pictures, page, shown) for page in sources]
        together = pictured(seen, [page.doc_id for page in sources], MOST)
        chosen = {_place(sources[at]) for item in together for at in item}
        gold_places = {_place(page) for page, item in zip(sources, seen, strict=True) if _place(page) in gold
                  and (question.kind in SEEN or (item is not None and item.scan))}  # fmt: skip
        gold_count = len(gold) if question.kind in SEEN else len(gold_places)
        gold_seen += gold_count
        bounded += min(MOST, gold_count)
        reached += min(MOST, len(gold_places & chosen))
        if not gold_places:
            continue
        largest, drawn = max(largest, len(together)), drawn + len(together)
        several += sum(len(item) > 1 for item in together)
        among, sent = among + len(gold_places), sent + len(gold_places & chosen)
        for place in sorted(gold_places - chosen) if options.missed else ():
            at = [_place(page) for page in sources].index(place)
            share = f"{showing.share:.2f} of the page" if (showing := seen[at]) else "not to be seen"
            print(f"{setting}: {place[0]} page {place[1]}, source {at + 1}, {question.kind}: figures {share}")
    return {
        f"{setting}: gold among sources": among,
        f"{setting}: sent as pictures": sent,
        f"{setting}: recall": round(sent / among, 3) if among else 0.0,
        f"{setting}: recall of all gold": round(sent / gold_seen, 3) if gold_seen else 0.0,
        f"{setting}: recall, at most {MOST} a question": round(reached / bounded, 3) if bounded else 0.0,
        f"{setting}: most of a question": largest,
        f"{setting}: pictures": drawn,
        f"{setting}: of several slides": several,
        f"{setting}: gold pages kept": gold_sources,
        f"{setting}: gold pages left out": lost,
    }


def _showing(pictures: PagePictures, page: PageFound, shown: Shown) -> Showing | None:
    if _place(page) not in shown:
        shown[_place(page)] = pictures.showing(page)
    return shown[_place(page)]


def _place(page: PageFound) -> tuple[str, int]:
    return page.doc_name, page.page


if __name__ == "__main__":
    raise SystemExit(main())
