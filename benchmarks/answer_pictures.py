"""Which pages an answer sends as pictures by itself, where their questions' gold is a chart, a figure or a scan.

    python benchmarks/answer_pictures.py [--data DIR] [--home DIR] [--top-k 5] [--set mmlongbench] [--json]

Recall: of the gold pages of such questions that are among the sources, the share that a model is sent as a picture, at
most 3 a question. In the library and with the document given. No model is asked: what would be sent is counted.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import closing
from pathlib import Path

from filings import options_of

from eval.datasets import load
from hybrid_core.types.results import PageFound
from hybrid_pageindex import Engine, Settings, run
from hybrid_pageindex.services.answering.page_pictures import PagePictures
from retrievers.answer.far import near
from retrievers.answer.showing import MOST, pictured

SEEN = ("chart", "figure")


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--set", default="mmlongbench")
    parser.add_argument("--top-k", type=int, default=5)
    options = parser.parse_args()
    dataset = load(options.set, options.data)
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(options.home or temporary)
        with closing(Engine(settings=Settings(storage_path=home))) as engine:
            run(engine.index(dataset.files))
            pictures = PagePictures(engine._parts().pages, engine.settings.library, {})
            for setting in ("library", "given"):
                found |= _measured(engine, pictures, dataset.questions, setting, options.top_k)
    print(json.dumps(found) if options.json else "\n".join(f"{name:<32}{value}" for name, value in found.items()))
    return 0


def _measured(engine: Engine, pictures: PagePictures, questions, setting: str, top_k: int) -> dict[str, float]:
    among = sent = most = drawn = kept = lost = 0
    for question in questions:
        given = {"documents": list(question.given)} if setting == "given" else {}
        results = engine.search_now(question.text, effort="fast", top_k=top_k, **given).results
        gold = {(one.document, one.page) for one in question.evidence}
        sources: tuple[PageFound, ...] = near(results)
        left_out = [page for page in results if page not in sources]
        kept += sum(_place(page) in gold for page in sources)
        lost += sum(_place(page) in gold for page in left_out)
        if question.kind not in SEEN:
            continue
        seen = [pictures.showing(page) for page in sources]
        chosen = {_place(sources[at]) for at in pictured(seen, MOST)}
        most, drawn = max(most, len(chosen)), drawn + len(chosen)
        there = gold & {_place(page) for page in sources}
        among, sent = among + len(there), sent + len(there & chosen)
    return {
        f"{setting}: gold among sources": among,
        f"{setting}: sent as pictures": sent,
        f"{setting}: recall": round(sent / among, 3) if among else 0.0,
        f"{setting}: most of a question": most,
        f"{setting}: pictures": drawn,
        f"{setting}: gold pages kept": kept,
        f"{setting}: gold pages left out": lost,
    }


def _place(page: PageFound) -> tuple[str, int]:
    return page.doc_name, page.page


if __name__ == "__main__":
    raise SystemExit(main())
