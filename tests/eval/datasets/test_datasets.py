"""Each adapter on a tiny set of the layout it reads, bad input, and the real sets where they are there."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from eval.datasets import NAMES, SOURCES, data_folder, load
from eval.datasets.published import descriptions
from eval.datasets.registry import sets_of
from eval.records.questions import Gold, HumanOutline
from hybrid_core.errors import DocumentError, NotFoundError, UsageError

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """``write("a/b.jsonl", [{…}])`` below tmp_path: text as it is, lists as JSONL (.json: as one list)."""

    def made(name: str, content: Any = "%PDF-") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(content, str):
            lines = (json.dumps(entry, ensure_ascii=False) for entry in content)
            content = json.dumps(content) if path.suffix == ".json" else "\n".join(lines)
        path.write_text(content, encoding="utf-8")
        return path

    return made


def test_financebench_as_published(write: Write, tmp_path: Path) -> None:
    evidence = [
        {"evidence_text": "Capital expenditures 1,577", "doc_name": "LUMEN_TOOLS_2018_10K", "evidence_page_num": 59},
        {"evidence_text": "see note 4", "evidence_page_num": 0},
    ]
    entry = {
        "financebench_id": "financebench_id_1", "company": "Lumen", "doc_name": "LUMEN_TOOLS_2018_10K",
        "answer": "$1,577",
        "question_type": "metrics-generated", "question": "What was capex?", "evidence": evidence,
    }  # fmt: skip
    write("financebench/data/financebench_open_source.jsonl", [entry])
    write("financebench/pdfs/LUMEN_TOOLS_2018_10K.pdf")
    question = load("financebench", tmp_path).questions[0]
    assert question.evidence == (  # the set counts pages from 0
        Gold("LUMEN_TOOLS_2018_10K.pdf", 60, "Capital expenditures 1,577"),
        Gold("LUMEN_TOOLS_2018_10K.pdf", 1, "see note 4"),
    )
    assert (question.group, question.kind, question.answer) == ("LUMEN_TOOLS", "metrics-generated", "$1,577")
    assert question.documents == ("LUMEN_TOOLS_2018_10K.pdf",)


def plain(**changes: object) -> dict[str, object]:
    entry: dict[str, object] = {
        "id": "f1", "question": "How much?", "answer": "2", "type": "novel",
        "evidence": [{"doc": "Lumen_2018_10K", "page": 3}],
    }  # fmt: skip
    return entry | changes


def test_financebench_of_one_file(write: Write, tmp_path: Path) -> None:
    write("financebench/questions.jsonl", [plain()])
    write("financebench/pdfs/Lumen_2018_10K.pdf")
    question = load("financebench", tmp_path).questions[0]
    assert (question.evidence, question.group) == ((Gold("Lumen_2018_10K.pdf", 3),), "LUMEN")


def test_mmlongbench_kinds(write: Write, tmp_path: Path) -> None:
    def entry(sources: list[str], pages: list[int], answer: str = "8") -> dict[str, object]:
        return {
            "doc": "slides.pdf", "question": "How many?", "answer": answer, "evidence_pages": pages,
            "evidence_sources": str(sources),
        }  # fmt: skip

    entries = [
        entry(["Pure-text (Plain-text)"], [2, 4, 2]), entry(["Table"], [3]), entry(["Chart", "Table"], [3]),
        entry([], [3]), entry([], [], "Not answerable"), entry(["Figure"], []),
    ]  # fmt: skip
    write("mmlongbench/questions.jsonl", entries)
    write("mmlongbench/pdfs/slides.pdf")
    asked = load("mmlongbench", tmp_path).questions
    assert [q.kind for q in asked] == ["text", "table", "mixed", "unknown", "unanswerable", "figure"]
    assert asked[0].evidence == (Gold("slides.pdf", 2), Gold("slides.pdf", 4))
    assert [q.answerable for q in asked] == [True, True, True, True, False, True]
    assert (asked[4].evidence, asked[4].documents) == ((), ("slides.pdf",))
    assert asked[5].evidence == (Gold("slides.pdf"),)  # the set knows the document only


def test_mmlongbench_as_published(write: Write, tmp_path: Path) -> None:
    entry = {
        "doc_id": "slides.pdf", "doc_type": "Guidebook", "question": "How many?", "answer": "8",
        "evidence_pages": "[5, 6]", "evidence_sources": "['Chart']", "answer_format": "Int",
    }  # fmt: skip
    write("mmlongbench/data/samples.json", [entry])
    write("mmlongbench/data/documents/slides.pdf")
    question = load("mmlongbench", tmp_path).questions[0]
    assert (question.kind, question.evidence) == ("chart", (Gold("slides.pdf", 5), Gold("slides.pdf", 6)))


def test_mmlongbench_pages_that_do_not_exist(write: Write, tmp_path: Path) -> None:
    """The published set holds such questions."""

    def entry(pages: str) -> dict[str, str]:
        return {"doc_id": "slides.pdf", "question": "How many?", "answer": "8", "evidence_pages": pages,
                "evidence_sources": "['Chart']"}  # fmt: skip

    write("mmlongbench/data/samples.json", [entry("[0, 5]"), entry("[5]"), entry("5, 6")])
    write("mmlongbench/data/documents/slides.pdf")
    found = load("mmlongbench", tmp_path)
    assert [question.id for question in found.questions] == ["mmlongbench-2"]
    assert [said.split(": ", 1)[0] for said in found.left_out] == ["samples.json, entry 1", "samples.json, entry 3"]
    assert "'0' is not the number of a page" in found.left_out[0]


def test_sec10q_patterns(write: Write, tmp_path: Path) -> None:
    for name in ("2022 Q3 LUMN", "2023 Q1 LUMN", "2023 Q1 ACME"):
        write(f"sec10q/docs/{name}.pdf")
    rows = (
        "\ufeffQuestion,Source Docs,Question Type,Source Chunk Type,Answer\r\n"
        'How has it changed?,*LUMN*,Multi-Doc RAG,Table,"Two\nlines"\r\n'
        "And in the first quarter?,2023 Q1 ACME*,Single-Doc RAG,Text,Up\r\n"
        'Both?,"2022 Q3 LUMN*, *ACME*",Multi-Doc RAG,Text,Yes\r\n'
    )
    write("sec10q/qna_data.csv", rows)
    asked = load("sec10q", tmp_path).questions
    assert [[gold.document for gold in q.evidence] for q in asked] == [
        ["2022 Q3 LUMN.pdf", "2023 Q1 LUMN.pdf"], ["2023 Q1 ACME.pdf"], ["2022 Q3 LUMN.pdf", "2023 Q1 ACME.pdf"],
    ]  # fmt: skip
    assert [q.group for q in asked] == ["LUMN", "ACME", "LUMN"]
    assert (asked[0].answer, asked[0].evidence[0].page) == ("Two\nlines", None)
    write("sec10q/qna_data.csv", rows + "None?,*ZZZ*,x,x,x\r\n")
    found = load("sec10q", tmp_path)
    assert (found.questions, found.left_out) == (
        asked,
        ("qna_data.csv, row 4: no document of the data set matches '*ZZZ*'.",),
    )


def test_cuad_wordings_and_spans(write: Write, tmp_path: Path) -> None:
    spans = "['This shall be governed <omitted> by the laws of Ohio.', \"the State's courts\"]"
    none = {"doc": "deal.PDF", "clause": "Insurance", "spans": "[]"}
    write("cuad/clauses.jsonl", [{"doc": "deal.PDF", "clause": "Governing Law", "spans": spans}, none])
    write("cuad/pdfs/deal.PDF")
    official, short = (load("cuad", tmp_path, wording=w).questions for w in ("official", "short"))
    assert official[0].text == (
        'Highlight the parts (if any) of this contract related to "Governing Law" that should be reviewed by a lawyer. '
        "Details: Which state/country's law governs the interpretation of the contract?"
    )
    assert [q.text for q in short] == ["Governing Law", "Insurance"]
    assert load("cuad", tmp_path).questions == official
    assert [q.id for q in short] == [q.id for q in official]
    assert [gold.text for gold in official[0].evidence] == [
        "This shall be governed", "by the laws of Ohio.", "the State's courts"
    ]  # fmt: skip
    assert [q.answerable for q in official] == [True, False]
    assert len(descriptions()) == 41
    write("cuad/clauses.jsonl", [none | {"clause": "Weather"}])
    with pytest.raises(DocumentError, match="line 1: the data set has no clause 'Weather'"):
        load("cuad", tmp_path)
    with pytest.raises(UsageError, match="'cuad' has no wording 'long'"):
        load("cuad", tmp_path, wording="long")
    with pytest.raises(UsageError, match="'hips' has no wording 'short'"):
        load("hips", tmp_path, wording="short")


def test_statutes_find_the_file_that_holds_the_article(write: Write, tmp_path: Path) -> None:
    def law(title: str, *articles: str) -> str:
        return f"# {title}\n\n" + "\n\n".join(articles) + "\n"

    write("statutes_zh/laws/民法典/总则.md", law("中华人民共和国民法典", "# 总则", "第五条 自愿。"))
    write("statutes_zh/laws/民法典/合同编.md", law("中华人民共和国民法典", "第五百条 诚信。\n\n另有约定的除外。"))
    write("statutes_zh/laws/商法/公司法(2018-10-26).md", law("中华人民共和国公司法", "第一条 旧。", "第二条 同。"))
    write("statutes_zh/laws/商法/公司法(2023-12-29).md", law("中华人民共和国公司法", "第一条 新。", "第二条 同。"))
    write("statutes_zh/laws/广告法(2021-04-29).md", law("中华人民共和国广告法", "第九条 不得。"))
    write("statutes_zh/laws/行政法/广告法(2021-04-29).md", law("中华人民共和国广告法", "第九条　不得。"))
    write("statutes_zh/laws/商法/_index.md", "---\ncollapse: true\n---")
    code = {"中华人民共和国民法典第五百条": "诚信。\n\n另有约定的除外。\n", "条例第一条": "无"}
    asked: list[dict[str, object]] = [
        {"query_id": 3, "问题": "合同？", "相关法规": code},
        {"query_id": 4, "问题": "公司？", "相关法规": {"公司法第一条": "旧。", "公司法第二条": "同。\n"}},
        {"query_id": 5, "问题": "物业？", "相关法规": {"物业管理条例第七条之一": "无。"}},
    ]  # fmt: skip
    write("statutes_zh/queries.json", asked)
    found = load("statutes_zh", tmp_path)
    first, second, third = found.questions
    assert found.chinese
    assert first.evidence == (Gold("合同编.md", text="第五百条 诚信。\n\n另有约定的除外。"),)
    assert [gold.document for gold in second.evidence] == ["公司法(2018-10-26).md", "公司法(2023-12-29).md"]
    assert [(q.kind, q.group, q.answerable) for q in (first, second, third)] == [
        ("several articles", "合同编", True), ("several articles", "公司法(2018-10-26)", True),
        ("absent", "物业管理条例", False),
    ]  # fmt: skip
    assert len(found.files) == 5
    assert [note.split(maxsplit=3)[:3] for note in found.notes] == [
        ["1", "files", "_index.md"], ["1", "laws", "are"], ["2", "articles", "are"]
    ]  # fmt: skip
    assert "1 questions have only such" in found.notes[2]


def test_hips_outlines(write: Write, tmp_path: Path) -> None:
    write("hips/book.pdf")
    write("hips/book.toc", '\ufeff1,Foreword,5\n2,"Mat, kava, faol",115\n\n6,Positions,177,\n')
    found = load("hips", tmp_path)
    assert found.outlines["book.pdf"].rows == ((1, "Foreword", 5), (2, "Mat, kava, faol", 115), (6, "Positions", 177))
    write("hips/book.toc", "1,Foreword,5\n2,Contents\n")
    write("hips/empty.pdf")
    write("hips/empty.toc", "Contents\n")
    found = load("hips", tmp_path)
    assert ([path.name for path in found.files], found.outlines) == (
        ["book.pdf"],
        {"book.pdf": HumanOutline(((1, "Foreword", 5),), kind="books")},
    )
    assert found.left_out == (
        "book.toc, line 2: '2,Contents' does not have the form level,heading,page.",
        "empty.toc, line 1: 'Contents' does not have the form level,heading,page.",
        "empty.toc: no row is valid, so empty.pdf is not measured.",
    )
    write("hips/other.pdf")
    with pytest.raises(NotFoundError, match=r"other\.pdf has no outline"):
        load("hips", tmp_path)


def test_outlines_of_documents_of_other_sets(write: Write, tmp_path: Path) -> None:
    write("papers/pdfs/on cranes.pdf")
    write("outlines/on cranes.toc", "1,Abstract,1\n1,Cranes,2\n")
    write("outlines/on cranes.maybe", "2,Case A,2\n")
    write("outlines/on cranes.notext", "1,Cranes,2\n")
    write("outlines/elsewhere.toc", "1,Abstract,1\n")
    write("outlines/SCOPE.csv", "on cranes,1,9\nelsewhere,one,2\n")
    found = load("outlines", tmp_path)
    assert [path.name for path in found.files] == ["on cranes.pdf"]
    rows = (1, "Abstract", 1), (1, "Cranes", 2)
    kind = "papers"
    assert found.outlines == {"on cranes.pdf": HumanOutline(rows, ((2, "Case A", 2),), (rows[1],), 1, 9, kind)}
    assert [note.split(":")[0] for note in found.left_out] == ["SCOPE.csv, line 2", "elsewhere.toc"]


def test_custom(write: Write, tmp_path: Path) -> None:
    write("docs/below/Annual report.pdf")
    write("docs/notes.md", "# Notes")
    write("docs/plan.docx")
    write("docs/program.exe")
    source = write(
        "docs/q.jsonl",
        [
            {"question": "One?", "evidence": [{"doc": "Annual report", "page": 2}, {"doc": "notes.md", "page": 1}]},
            {"id": 7, "question": "Two?", "answer": "no", "evidence": [], "kind": "k", "group": "g"},
            {"question": "Three?", "evidence": [{"doc": "notes"}]},
        ],
    )
    found = load("custom", docs=tmp_path / "docs", questions=source)
    assert [path.name for path in found.files] == ["Annual report.pdf", "notes.md", "plan.docx"]
    one, two, three = found.questions
    assert one.evidence == (Gold("Annual report.pdf", 2), Gold("notes.md", 1))
    assert (two.id, two.answer, two.kind, two.group, two.answerable) == ("7", "no", "k", "g", False)
    assert (one.id, one.answerable, three.evidence) == ("1", True, (Gold("notes.md", match="document"),))


def test_sets_of_one_layout(write: Write, tmp_path: Path) -> None:
    evidence = [
        {"doc": "a.md", "page": None, "text": "half of this", "char": 3},
        {"doc": "a.md", "turns": [3, 4], "text": "[3] A: yes"},
        {"doc": "b.md", "section": "Scope"},
        {"doc": "b.md", "page": 2, "text": "shown"},
        {"doc": "b.md", "page": None},
    ]
    rows = [
        {"id": "1", "question": "One?", "evidence": evidence, "lang": "de", "kind": "manual", "doc": "a.md"},
        {"id": "2", "question": "Two?", "evidence": evidence[:1], "candidates": ["b.md", "a.md"]},
        {"id": "3", "question": "Three?", "evidence": evidence[:1], "doc": "gone.md"},
    ]
    for name in ("a.md", "b.md"):
        write(f"sets/manuals/docs/{name}", "# A")
    write("sets/manuals/questions.jsonl", rows)
    write("sets/empty/README.md", "no set")
    assert sets_of(tmp_path) == ("sets/manuals",)
    loaded = load("sets/manuals", tmp_path)
    one, two = loaded.questions
    assert loaded.name == "sets/manuals" and len(loaded.left_out) == 1 and "gone.md" in loaded.left_out[0]
    assert one.evidence == (
        Gold("a.md", text="half of this", match="half"),
        Gold("a.md", match="turns", turns=(3, 4)),
        Gold("b.md", match="section", section="Scope"),
        Gold("b.md", 2),
        Gold("b.md", match="document"),
    )
    assert (one.language, one.within, one.documents) == ("de", ("a.md",), ("a.md",))
    assert two.within == ("b.md", "a.md")
    for wrong in ("sets/../manuals", "sets/", "sets/a/b"):
        with pytest.raises(UsageError, match="does not exist"):
            load(wrong, tmp_path)


GOOD = '{"question": "One?", "evidence": [{"doc": "a", "page": 1}]}\n\n'


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (GOOD + '{"question": ', r"q\.jsonl, line 3: the line is not valid JSON"),
        (GOOD + "[1]", "line 3: the line is not a JSON object"),
        (GOOD + '{"evidence": []}', "line 3: the field 'question' is missing"),
        (GOOD + '{"question": "Two?"}', "line 3: the field 'evidence' is missing"),
        (GOOD + '{"question": " ", "evidence": []}', "line 3: 'question' must be a text"),
        (GOOD + '{"question": "Two?", "evidence": {"doc": "a"}}', "line 3: 'evidence' must be a list"),
        (GOOD + '{"question": "Two?", "evidence": ["a"]}', "line 3: each piece of evidence"),
        (GOOD + '{"question": "Two?", "evidence": [{"doc": "b", "page": 1}]}', "line 3: the document 'b' is not in"),
        (GOOD + '{"question": "Two?", "evidence": [{"doc": "twin", "page": 1}]}', "the document 'twin' is ambiguous"),
        (
            GOOD + '{"question": "Two?", "evidence": [{"doc": "a", "page": 0}]}',
            "line 3: '0' is not the number of a page",
        ),
        (
            GOOD + '{"question": "Two?", "evidence": [{"doc": "a", "page": "4"}]}',
            "line 3: '4' is not the number of a page",
        ),
        (
            GOOD + '{"question": "Two?", "evidence": [{"doc": "a", "page": true}]}',
            "line 3: 'True' is not the number of a page",
        ),
        (GOOD + '{"id": 1, "question": "Two?", "evidence": []}', "question id 1 is used more than once"),
    ],
)  # fmt: skip
def test_bad_lines_are_left_out_and_named(write: Write, tmp_path: Path, lines: str, said: str) -> None:
    for name in ("a.pdf", "twin.pdf", "twin.md"):
        write(f"docs/{name}")
    found = load("custom", docs=tmp_path / "docs", questions=write("q.jsonl", lines))
    assert [question.text for question in found.questions] == ["One?"]
    assert len(found.left_out) == 1 and re.search(said, found.left_out[0])


def test_a_file_with_nothing_usable_is_an_error(write: Write, tmp_path: Path) -> None:
    write("docs/a.pdf")
    source = write("q.jsonl", '{"question": \n[1]')
    with pytest.raises(
        DocumentError, match=r"none of the 2 entries .* first problem: q\.jsonl, line 1: the line is not valid JSON"
    ):
        load("custom", docs=tmp_path / "docs", questions=source)
    with pytest.raises(DocumentError, match="custom: the data set has no questions"):
        load("custom", docs=tmp_path / "docs", questions=write("q.jsonl", "\n"))


def test_bad_documents(write: Write, tmp_path: Path) -> None:
    source = write("q.jsonl", [{"question": "One?", "evidence": []}])
    with pytest.raises(NotFoundError, match="does not exist"):
        load("custom", docs=tmp_path / "docs", questions=source)
    (tmp_path / "docs").mkdir()
    with pytest.raises(DocumentError, match="no documents"):
        load("custom", docs=tmp_path / "docs", questions=source)
    write("docs/a/same.pdf")
    write("docs/b/same.pdf")
    with pytest.raises(DocumentError, match=r"two documents have the file name same\.pdf"):
        load("custom", docs=tmp_path / "docs", questions=source)
    (tmp_path / "latin.jsonl").write_bytes('{"question": "Größe?"}'.encode("latin-1"))
    with pytest.raises(DocumentError, match=r"latin\.jsonl is not UTF-8"):
        load("custom", docs=tmp_path / "docs", questions=tmp_path / "latin.jsonl")
    with pytest.raises(NotFoundError, match=r"none\.jsonl is missing"):
        load("custom", docs=tmp_path / "docs", questions=tmp_path / "none.jsonl")


def test_wrong_calls(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="The data set 'squad' does not exist") as caught:
        load("squad", tmp_path)
    assert all(name in caught.value.advice for name in NAMES)
    with pytest.raises(UsageError, match="needs documents and questions"):
        load("custom", docs=tmp_path)
    with pytest.raises(UsageError, match="cannot be used with 'cuad'"):
        load("cuad", tmp_path, docs=tmp_path)


@pytest.mark.parametrize("name", [name for name, source in SOURCES.items() if not source.of_others])
def test_an_absent_set_says_where_to_get_it(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFoundError) as caught:
        load(name, tmp_path)
    assert str(tmp_path / name) in caught.value.message
    assert "https://" in caught.value.advice
    monkeypatch.delenv("PAGEINDEX_EVAL_DATA", raising=False)
    with pytest.raises(NotFoundError, match="PAGEINDEX_EVAL_DATA"):
        data_folder()


def test_half_a_set(write: Write, tmp_path: Path) -> None:
    (tmp_path / "financebench").mkdir()
    with pytest.raises(NotFoundError, match=r"pdfs is missing.* Complete the set from https://"):
        load("financebench", tmp_path)
    write("financebench/pdfs/OTHER_2018_10K.pdf")
    with pytest.raises(NotFoundError, match=r"questions\.jsonl is missing"):
        load("financebench", tmp_path)
    write("financebench/questions.jsonl", [plain()])
    with pytest.raises(DocumentError, match=r"f1 means Lumen_2018_10K\.pdf, which is not among the documents"):
        load("financebench", tmp_path)
    write("financebench/questions.jsonl", [plain(), plain(id="f2", evidence=[])])
    with pytest.raises(DocumentError, match=r"none of the 2 entries .*line 2: the question names no evidence"):
        load("financebench", tmp_path)
    write("financebench/pdfs/Lumen_2018_10K.pdf")
    assert [question.id for question in load("financebench", tmp_path).questions] == ["f1"]


@pytest.mark.parametrize(
    ("name", "documents", "questions", "answerable", "kinds"),
    [
        ("financebench", 52, 92, 92, {"novel-generated": 37, "metrics-generated": 31, "domain-relevant": 24}),
        ("mmlongbench", 15, 141, 117, {"text": 20, "unanswerable": 24}),
        ("sec10q", 20, 195, 195, {"Multi-Doc RAG": 65}),
        ("cuad", 80, 1136, 1136, {"Document Name": 80, "Governing Law": 71}),
        ("statutes_zh", 355, 463, 393, {"absent": 70}),  # 368 files without 9 index pages and 4 repeated laws
        ("hips", 12, 0, 0, {}),
        ("outlines", 20, 0, 0, {}),
        ("bookmarks", 33, 0, 0, {}),
    ],
)
def test_real_sets(name: str, documents: int, questions: int, answerable: int, kinds: Mapping[str, int]) -> None:
    if not (Path(os.environ.get("PAGEINDEX_EVAL_DATA", "/nowhere")) / name).is_dir():
        pytest.skip(f"PAGEINDEX_EVAL_DATA has no {name}")
    found = load(name)
    assert (len(found.files), len(found.questions)) == (documents, questions)
    assert sum(question.answerable for question in found.questions) == answerable
    assert sum(bool(question.evidence) for question in found.questions) == answerable
    assert kinds.items() <= Counter(question.kind for question in found.questions).items()
    assert len(found.outlines) == (documents if name in ("hips", "outlines", "bookmarks") else 0)
