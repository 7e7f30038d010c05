"""Questions to pages, through the engine, on invented filings and books."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pymupdf
import pytest

from hybrid_core.errors import IndexDamagedError, NotFoundError, UsageError
from hybrid_core.store.index.edge import shard as edge_shard
from hybrid_core.store.index.index import VectorIndex
from hybrid_core.store.index.points import Query
from hybrid_core.types.documents import Effort, Hit
from hybrid_pageindex import Engine, run
from hybrid_pageindex.sample import SAMPLE_QUESTIONS, SampleQuestion, write_sample_report
from retrievers.candidates import coarse_pass
from tests import pdfs


@pytest.mark.parametrize(("question", "name", "page"), pdfs.FISCAL_QUESTIONS)
def test_the_right_page_of_the_right_filing_comes_first(library: Engine, question: str, name: str, page: int) -> None:
    best = run(library.search(question)).results[0]
    assert (best.doc_name, best.page) == (name, page)


@pytest.mark.parametrize("asked", SAMPLE_QUESTIONS, ids=lambda q: q.question)
def test_the_sample_report_answers_its_questions(asked: SampleQuestion, sample_library: Engine) -> None:
    best = run(sample_library.search(asked.question)).results[0]
    assert best.page == asked.page


@pytest.fixture(scope="module")
def sample_library(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder = tmp_path_factory.mktemp("sample")
    engine = Engine(folder / "home")
    run(engine.index(write_sample_report(folder / "report.pdf")))
    return engine


def test_receipts_add_up_and_name_the_question(library: Engine) -> None:
    result = run(library.search("What were the net sales of Corvane Optics in fiscal 2023?", top_k=10))
    assert [r.score for r in result.results] == sorted((r.score for r in result.results), reverse=True)
    for found in result.results:
        receipt = found.receipt
        assert receipt.page + receipt.document + receipt.structure == pytest.approx(found.score, abs=2e-4)
        assert receipt.section_path == found.section.path and found.section.path[-1] == found.section.title
        assert found.section.start_page <= found.page <= found.section.end_page
        assert f"'{receipt.section_path[-1]}'" in receipt.verdict
        assert all(add > 0 for add in receipt.terms.values())
    best = result.results[0]
    assert {"net", "sale"} <= best.receipt.terms.keys()
    assert "corvane" in best.receipt.routing_reason.lower() and "2023" in best.receipt.routing_reason
    assert "418.2" in best.snippet
    assert len({(r.doc_id, r.page) for r in result.results}) == len(result.results)
    assert result.timings_ms["total"] >= result.timings_ms["coarse"] > 0


def test_a_trace_says_where_the_search_looked(library: Engine) -> None:
    question = "What were the net sales of Corvane Optics in fiscal 2023?"
    plain, traced = run(library.search(question, top_k=2)), run(library.search(question, top_k=2, trace=True))
    assert plain.trace is None and traced.results == plain.results
    trace = traced.trace
    assert trace is not None
    best = traced.results[0]
    assert trace.documents == tuple(d.doc_id for d in traced.documents)
    assert [(r.doc_id, r.page) for r in traced.results] == list(trace.read[:2]) and len(trace.read) > 2
    assert set(trace.read) <= {
        (d.doc_id, page) for d in run(library.documents.list()) for page in range(1, d.pages + 1)
    }
    (first,) = (r for r in traced.results if r.receipt.coarse == 1)
    assert trace.coarse[0] == (first.doc_id, first.page) and len(set(trace.coarse)) == len(trace.coarse)
    assert {d for d, _ in trace.sections} == set(trace.documents) and set(trace.opened) <= set(trace.sections)
    assert (best.doc_id, best.section.node_id) in trace.opened
    assert traced.to_dict()["trace"]["documents"] == trace.documents


def test_the_filing_given_is_a_filter(library: Engine) -> None:
    result = run(library.search("What were the net sales?", documents=["dunlin-freight-2023-10k"]))
    assert {r.doc_name for r in result.results} == {"dunlin-freight-2023-10k.pdf"}
    two = run(
        library.search("net sales", documents=["dunlin-freight-2023-10k", "corvane-optics-2024-10k.pdf"], top_k=20)
    )
    assert {r.doc_name for r in two.results} == {"dunlin-freight-2023-10k.pdf", "corvane-optics-2024-10k.pdf"}


def test_of_a_filing_given_no_index_is_asked(library: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    given = ("What were the net sales?", ["dunlin-freight-2023-10k"])
    asked = list[str]()
    monkeypatch.setattr(VectorIndex, "search", _counting(asked, VectorIndex.search))
    found = run(library.search(given[0], documents=given[1]))
    assert found.results and not asked
    monkeypatch.setattr(coarse_pass, "_COUNTED", 0)
    assert run(library.search(given[0], documents=given[1])).results == found.results
    assert asked, "with the same scores"


def _counting(asked: list[str], search: Callable[[VectorIndex, Query], list[Hit]]) -> object:
    def counted(index: VectorIndex, query: Query) -> list[Hit]:
        asked.append(query.using)
        return search(index, query)

    return counted


def test_on_a_shared_page_the_section_is_the_one_that_matches(engine: Engine, tmp_path: Path) -> None:
    run(engine.index(pdfs.two_sections_on_a_page(tmp_path / "shared.pdf")))
    for _, title, page in pdfs.SHARED_PAGE:
        best = run(engine.search(f"Which rules on {title.lower()} are there?")).results[0]
        assert (best.page, best.section.title) == (page, title)
        assert f"deals with {title.lower()}" in best.snippet and f"'{title}'" in best.receipt.verdict


@pytest.mark.slow
def test_of_a_very_long_document_the_pages_around_its_best_hits_are_scored(engine: Engine, tmp_path: Path) -> None:
    document = pymupdf.open()
    for number in range(1, 2501):
        page = document.new_page(width=200, height=200)
        page.insert_text((20, 40), f"Register of canal boats, sheet {number}", fontsize=8)
        if number == 2400:
            page.insert_text((20, 60), "The barge Quillwort was sold in Orsova.", fontsize=8)
    document.save(tmp_path / "register.pdf")
    run(engine.index([tmp_path / "register.pdf", pdfs.numbered(tmp_path / "other.pdf", 12, "canal boats")]))
    best = run(engine.search("On which sheet of the register of canal boats was the barge Quillwort sold?")).results[0]
    assert (best.doc_name, best.page) == ("register.pdf", 2400)
    everything = run(engine.search("register of canal boats sheet", documents=["register", "other"], top_k=1000))
    assert len(everything.results) == 1000 and len(everything.documents) == 2


def test_pages_that_only_the_wording_of_a_question_reaches_come_last(engine: Engine, tmp_path: Path) -> None:
    """What is cut from a question as an instruction names no page that matters more; but more than none."""
    file = tmp_path / "contract.md"
    parts = ["Renewal lasts three years.", "An adviser checks this lease.", "Nothing is said here.", "Renewal again."]
    file.write_text(
        "\n\n".join(f"# Part {n}\n\n{part} " + "Filler stands here. " * 130 for n, part in enumerate(parts))
    )
    run(engine.index(file))
    asked = "Find the passages of this lease that deal with renewal and that an adviser must check."
    found = run(engine.search(asked, top_k=20)).results
    plain = run(engine.search("renewal", top_k=20)).results
    assert [one.page for one in plain] == [one.page for one in found][: len(plain)]
    assert len(found) > len(plain)
    assert found[len(plain)].score < found[len(plain) - 1].score
    held = found[len(plain)].receipt
    assert found[len(plain)].score == pytest.approx(
        held.page + held.document + held.structure + sum(held.contributions.values()), abs=2e-4
    )


def test_where_is_a_filter(library: Engine) -> None:
    years = run(library.search("net sales", where=["year=2024"], top_k=20, expert="none")).results
    assert {r.doc_name for r in years} == {"corvane-optics-2024-10k.pdf", "dunlin-freight-2024-10k.pdf"}
    both = run(library.search("net sales", where=["year=2024", "name=DUNLIN*"], top_k=20)).results
    assert {r.doc_name for r in both} == {"dunlin-freight-2024-10k.pdf"}
    assert run(library.search("net sales", where=["year=1907"])).results == ()
    with pytest.raises(UsageError, match=r"no field|No document has the metadata field 'colour'"):
        run(library.search("net sales", where=["colour=red"]))
    with pytest.raises(UsageError, match=r"is not a filter"):
        run(library.search("net sales", where=["year"]))


def test_unknown_documents_are_refused_with_the_nearest_names(library: Engine) -> None:
    with pytest.raises(NotFoundError, match=r"no document 'corvane-optic-2023'.*corvane-optics-2023-10k\.pdf"):
        run(library.search("net sales", documents=["corvane-optic-2023"]))
    with pytest.raises(NotFoundError, match=r"library 'other' does not exist.*default"):
        run(library.search("net sales", library="other"))


def test_a_question_the_library_cannot_answer_says_so(library: Engine) -> None:
    nothing = run(library.search("zyzzyva quokka"))
    assert nothing.results == () and nothing.evidence.level == "none" and nothing.evidence.score == 0
    assert "no page shares a word with the question" in nothing.notes
    little = run(library.search("photosynthesis chlorophyll wavelengths in the annual report"))
    known = run(library.search("net sales of Corvane Optics in fiscal 2023"))
    assert known.evidence.level == "strong" and little.evidence.score < known.evidence.score


def test_evidence_is_less_where_the_document_is_not_the_one_named(library: Engine) -> None:
    question = "What were the net sales of Corvane Optics in fiscal 2023?"
    names = ("corvane-optics-2023-10k", "corvane-optics-2024-10k", "dunlin-freight-2023-10k")
    right, other_year, other = (run(library.search(question, documents=[name])).evidence for name in names)
    assert right.level == "strong" and right.score > other_year.score > other.score and other.level != "strong"


def test_evidence_is_the_same_however_many_results_are_asked_for(library: Engine) -> None:
    question = "How large were Dunlin Freight's inventories and capital expenditures at the end of 2024?"
    one, many = (run(library.search(question, top_k=k)).evidence for k in (1, 20))
    assert one == many and 0 < one.score < 1


@pytest.mark.parametrize("effort", ["fast", "auto", "deep"])
def test_efforts_without_a_model_answer_fast_and_say_so(library: Engine, effort: Effort) -> None:
    used = run(library.search("net sales", effort=effort)).effort
    assert (used.asked, used.used) == (effort, "fast")
    assert ("no language model" in used.why) == (effort != "fast")


def test_bad_questions(library: Engine) -> None:
    for empty in ("", "   ", "\n\t"):
        with pytest.raises(UsageError, match=r"question is empty"):
            run(library.search(empty))
    for top_k in (0, -1, 10**6):
        with pytest.raises(UsageError, match=r"top_k is"):
            run(library.search("net sales", top_k=top_k))
    assert run(library.search("?!")).results == ()
    assert run(library.search("what is the")).evidence is not None


WORDS = " ".join(f"word{n}" for n in range(12_000))


@pytest.mark.slow
def test_a_question_of_100_kb_is_answered(library: Engine) -> None:
    question = f"What were the net sales of Corvane Optics in fiscal 2023? {WORDS}"[:100_000]
    assert library.search_now(question).results[0].doc_name == "corvane-optics-2023-10k.pdf"


@pytest.mark.endurance  # it compares processor times, which a busy machine changes
def test_four_times_the_words_take_about_four_times_the_work(library: Engine) -> None:
    def work_of(length: int) -> float:
        began = time.thread_time()
        library.search_now(f"What were the net sales of Corvane Optics in fiscal 2023? {WORDS}"[:length])
        return time.thread_time() - began

    library.search_now("What were the net sales?")
    assert work_of(100_000) < 9 * min(work_of(25_000) for _ in range(2))


def test_however_many_documents_share_the_words_all_are_candidates(engine: Engine, tmp_path: Path) -> None:
    for number in range(24):
        (tmp_path / f"{number:02}.md").write_text(f"# Weir {number}\n\nThe weir holds.\n", encoding="utf-8")
    run(engine.index(tmp_path))
    found = run(engine.search("weir", top_k=30))
    assert len({page.doc_name for page in found.results} | {name for p in found.results for name in p.also_in}) >= 24
    assert len(found.documents) == 20 and found.notes == ()


@pytest.mark.parametrize("question", ["Corvane Optics 2023", "zyzzyva of Corvane Optics in 2023"])
def test_a_question_that_only_names_a_document_is_answered_from_it(question: str, library: Engine) -> None:
    results = run(library.search(question)).results
    assert results and results[0].doc_name == "corvane-optics-2023-10k.pdf" and results[0].receipt.terms


@pytest.mark.parametrize(
    "question",
    [
        "' OR 1=1; --",
        "NULL",
        "\x00\x01",
        "🚀🚀",
        "a" * 5000,
        "SELECT * FROM pages",
        "%s %d {} \\",
        "營業收入是多少",
        "ما هي الإيرادات",
    ],
)
def test_odd_questions_do_no_harm(library: Engine, question: str) -> None:
    run(library.search(question))


def test_chinese_and_arabic_pages_are_found(engine: Engine, tmp_path: Path) -> None:
    run(engine.index([pdfs.chinese(tmp_path / "zh.pdf"), pdfs.arabic(tmp_path / "ar.pdf")]))
    chinese, arabic = run(engine.pages("zh.pdf", "1"))[0].text, run(engine.pages("ar.pdf", "1"))[0].text
    for text, name in ((chinese, "zh.pdf"), (arabic, "ar.pdf")):
        line = max(text.split("\n"), key=len)
        assert run(engine.search(line[:24])).results[0].doc_name == name


def test_searching_twice_gives_the_same(library: Engine) -> None:
    first, second = (run(library.search("dividends and inventories", top_k=20)) for _ in range(2))
    assert [(r.doc_id, r.page, r.score) for r in first.results] == [(r.doc_id, r.page, r.score) for r in second.results]


def test_an_expert_file_adds_words_and_nicknames(library: Engine, tmp_path: Path) -> None:
    plain = run(library.search("How well stocked is Corvane in 2023?", top_k=1)).results
    expert = tmp_path / "expert.yaml"
    expert.write_text("expand:\n  - when: stocked\n    phrases: [inventories balance sheet]\n    weight: 1\n"
                      "aliases:\n  Dunlin Freight Lines: [the Kingfisher]\n")  # fmt: skip
    helped = run(library.search("How well stocked is Corvane in 2023?", top_k=1, expert=expert)).results
    assert (helped[0].doc_name, helped[0].page) == ("corvane-optics-2023-10k.pdf", 4)
    assert "inventori" in helped[0].receipt.terms and all("inventori" not in r.receipt.terms for r in plain)
    nicknamed = run(library.search("net sales of the Kingfisher in 2024", expert=expert)).results[0]
    assert nicknamed.doc_name == "dunlin-freight-2024-10k.pdf"


@pytest.mark.parametrize(
    ("written", "reason"),
    [("- a list", "unknown entries"), ("expan: []", "unknown entries"), ("expand: [{when: x}]", "phrases"),
     ("expand: [{when: '(', phrases: [x]}]", "expand entry 1 has an invalid regular"), ("{", "not valid YAML"),
     ("roles: {x: '('}", "role 'x' has an invalid regular expression"),
     ("expand: [{when: 'a(?!b)', phrases: [x]}]", "entry 1 has an invalid regular.*\\n?.*without look-around"),
     ("expand: [{when: x, phrases: [y], weight: -1}]", "expand entry 1: the weight is -1"),
     ("expand: [{when: x, phrases: [y]}, {when: x, phrases: [y], weight: .nan}]", "expand entry 2: the weight is nan"),
     ("expand: [{when: x, phrases: [y], weight: .inf}]", "weight is inf")],
)  # fmt: skip
def test_a_bad_expert_file_is_named(library: Engine, tmp_path: Path, written: str, reason: str) -> None:
    path = tmp_path / "expert.yaml"
    path.write_text(written)
    with pytest.raises(UsageError, match=rf"expert\.yaml.*{reason}"):
        run(library.search("net sales", expert=path))


def test_no_pattern_can_stop_a_search(library: Engine, tmp_path: Path) -> None:
    path = tmp_path / "expert.yaml"
    path.write_text("expand:\n  - {when: sales, phrases: [x]}\n  - {when: (a|aa)+$, phrases: [x]}\n")
    began = time.monotonic()
    assert run(library.search("net sales " + "a" * 100_000 + "b", expert=path)).results
    assert time.monotonic() - began < 100  # with backtracking it takes longer than the world is old


def test_an_index_that_turns_out_damaged_is_rebuilt_and_answers(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(engine.index(pdfs.numbered(tmp_path / "a.pdf", 3, "weirs")))
    word = pdfs.landmark("weirs", 2)
    assert run(engine.search(word)).results[0].page == 2
    real, failures = edge_shard.Shard.nearest, ["once"]

    def fail_once(self: edge_shard.Shard, *args: object) -> object:
        if failures:
            failures.pop()
            raise IndexDamagedError("a segment cannot be read")
        return real(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(edge_shard.Shard, "nearest", fail_once)
    result = run(engine.search(word))
    assert result.results[0].page == 2
    assert "the vector index was rebuilt from the catalog (a segment cannot be read)" in result.notes


def test_a_catalog_put_back_from_elsewhere_gets_an_index_of_its_own(tmp_path: Path) -> None:
    """Two catalogs may stand at the same position with as many pages: the index must not answer for the other."""
    pages = {"a": "weirs", "b": "locks"}
    for name, topic in pages.items():
        engine = Engine(tmp_path / name)
        run(engine.index(pdfs.numbered(tmp_path / f"{name}.pdf", 3, topic)))
        assert run(engine.search(pdfs.landmark(topic, 1))).results
        engine.close()
    shutil.rmtree(tmp_path / "a" / "libraries")
    shutil.copytree(tmp_path / "b" / "libraries", tmp_path / "a" / "libraries")
    engine = Engine(tmp_path / "a")
    assert run(engine.search(pdfs.landmark("weirs", 3))).results[0].page == 3
    assert run(engine.search(pdfs.landmark("locks", 3))).results == ()
    engine.close()
