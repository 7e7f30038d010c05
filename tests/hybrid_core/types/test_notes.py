"""Messages as values: their codes and templates, their forms in JSON and in storage, and texts without a code."""

from __future__ import annotations

import ast
import copy
import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_core.cards.document_types import document_types, type_note
from hybrid_core.errors import DocumentError
from hybrid_core.types.documents import empty_warning, unread_pages, unread_warning
from hybrid_core.types.note_texts import TEMPLATES
from hybrid_core.types.notes import NONE, TEXT, Note, names_in, read, stored, with_codes, without_codes

ROOT = Path(__file__).parents[3]
ROOMS = ("hybrid_core", "indexers", "retrievers", "hybrid_pageindex", "eval")
LANGUAGES = {
    file.name.split(".")[0]: json.loads(file.read_text("utf-8"))
    for file in (ROOT / "hybrid_pageindex/web/texts").glob("*.notes.json")
}
OTHER_LANGUAGES = [
    file.stem
    for file in (ROOT / "hybrid_pageindex/web/texts").glob("??.json")
    if file.stem != "en"  # the server's own text is English
]


def calls() -> Iterator[tuple[str, str, set[str], bool]]:
    """Yield place, code, names of the parameters, and whether these are all, of each note that the product makes."""
    for room in ROOMS:
        for file in (ROOT / room).rglob("*.py"):
            if (file.name == "notes.py" and file.parent.name == "types") or "Note(" not in (
                text := file.read_text("utf-8")
            ):
                continue
            for node in ast.walk(ast.parse(text)):
                if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != "Note":
                    continue
                if node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
                    names = {keyword.arg for keyword in node.keywords if keyword.arg}
                    known = all(keyword.arg for keyword in node.keywords)
                    yield f"{file.relative_to(ROOT)}:{node.lineno}", node.args[0].value, names, known


def test_every_note_of_the_product_has_a_template_with_its_parameters() -> None:
    made = list(calls())
    assert len(made) > 150
    for place, code, names, known in made:
        assert code in TEMPLATES, f"{place}: {code}"
        wanted = names_in(TEMPLATES[code])
        assert names == wanted if known else names <= wanted, f"{place}: {code} takes {sorted(wanted)}"


def test_every_code_is_used() -> None:
    used = {code for _, code, _, _ in calls()}
    made_by_helpers = {code for code in TEMPLATES if code == TEXT or code.startswith(("list.", "document-type."))}
    assert TEMPLATES.keys() - used - made_by_helpers == set()


@pytest.mark.parametrize("language", OTHER_LANGUAGES)
def test_every_code_has_a_template_in_each_language_of_the_page(language: str) -> None:
    texts = LANGUAGES[language]
    assert texts.keys() == TEMPLATES.keys()
    for code, template in TEMPLATES.items():
        shown = names_in(re.sub(r"\{\w+\|[^{}]*\}", "", template))  # a noun's number may say nothing elsewhere
        assert shown <= names_in(texts[code]) and names_in(texts[code]) <= names_in(template), code
        assert not re.search(r"\{\w+[^}]*\|", texts[code]), f"{code}: the page has no plural forms here"


def test_all_document_types_have_a_code() -> None:
    for name in document_types():
        assert type_note(name).code != TEXT and type_note(name) == name
    assert type_note("lab journal").code == TEXT


FAILURE = Note.joined(("plain words", Note("search.no-shared-word")))
NESTED = Note("route.failed", error=FAILURE, decided=Note("route.by-cards"))
NOTES = [
    NONE, Note.of("plain words"), Note("warning.unread", unread=1, pages=1, which="1"), NESTED,
    Note("search.gone", names=["a.pdf", "b.pdf"]), Note.of('{"note": "search.no-shared-word", "params": {}}'),
]  # fmt: skip


@pytest.mark.parametrize("note", NOTES)
def test_notes_survive_storage_json_and_copies(note: Note) -> None:
    for same in (Note.read(note.stored), pickle.loads(pickle.dumps(note)), copy.deepcopy(note)):
        assert (same, same.code, str(same.params)) == (note, note.code, str(note.params))
    shape = json.loads(
        json.dumps(with_codes({"why": note, "notes": [note, "x"], "pairs": [["x", note]], "why_code2": 1}))
    )
    assert shape["why"] == str(note) and shape["notes"] == [str(note), "x"]
    back = without_codes(shape)
    assert back.keys() == {"why", "notes", "pairs", "why_code2"}
    if note:
        assert back["why"].code == back["notes"][0].code == back["pairs"][0][1].code == note.code
        assert str(back["why"].params) == str(note.params)


def test_texts_from_before_codes_are_notes_without_a_code() -> None:
    notes = read(["an old sentence", ""])
    assert notes == ("an old sentence", "") and {note.code for note in notes} == {TEXT}
    assert stored(notes) == ["an old sentence", ""]


@pytest.mark.parametrize(
    "form",
    ['{"note": "no.such-code", "params": {}, "text": "what it said"}',
     '{"note": "warning.unread", "params": {"unread": 2}, "text": "what it said"}',
     '{"note": "warning.unread", "params": null, "text": "what it said"}'],
)  # fmt: skip
def test_a_stored_code_that_is_unknown_here_is_its_text(form: str) -> None:
    assert (Note.read(form), Note.read(form).code) == ("what it said", TEXT)


@pytest.mark.parametrize("form", ['{"note": broken', '{"note":', '{"note": 7}'])
def test_a_damaged_form_is_no_error(form: str) -> None:
    assert Note.read(form).code == TEXT


def test_numbers_take_their_noun_and_format() -> None:
    assert unread_warning(1, 1, "1") == "1 of 1 page has no readable text (scanned?): 1"
    assert unread_warning(2, 9, "1-2") == "2 of 9 pages have no readable text (scanned?): 1-2"
    assert (
        Note("effort.unsure", sure=0.0512, below=0.1) == "the first page may not answer the question (0.05, below 0.1)"
    )
    with pytest.raises(KeyError):
        Note("warning.unread", unread=1)


def test_unread_pages_are_counted_by_code() -> None:
    now = (unread_warning(2, 9, "1-2"), empty_warning(1, 9, "7"), Note("warning.no-text"))
    assert unread_pages(now) == unread_pages(read(stored(now))) == (3, "1-2, 7")
    assert unread_pages(read(map(str, now))) == (0, "")  # an upgrade gives codes to texts


def test_joined_notes_come_apart_again() -> None:
    parts = [Note("search.no-shared-word"), Note.of("a; b"), Note("warning.no-text")]
    assert Note.joined(parts).parts == parts and Note.joined(parts[:1]) is parts[0] and Note.joined(["", NONE]) is NONE
    assert parts[0].plus("", parts[1], Note.joined(parts[1:])).parts == [parts[0], parts[1], *parts[1:]]


FILE_ERRORS = frozenset(
    ("DocumentError", "EmptyFileError", "BrokenFileError", "UnsupportedFileError", "PasswordError", "LockedError",
     "ChangedError", "LimitError", "check", "read_xml", "Grid", "drawing", "too_large")
)  # fmt: skip


def test_errors_name_their_file_apart_from_their_message() -> None:
    """Keep the file out of the message, so that readers of the message never cut it off."""
    for room in ROOMS:
        for file in (ROOT / room).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if (
                    isinstance(node, ast.Call)
                    and getattr(node.func, "id", getattr(node.func, "attr", "")) in FILE_ERRORS
                ):
                    begins = [arg.values[:2] for arg in node.args if isinstance(arg, ast.JoinedStr)]
                    for first in begins:
                        named = len(first) == 2 and isinstance(first[0], ast.FormattedValue)
                        colon = named and isinstance(first[1], ast.Constant) and str(first[1].value).startswith(": ")
                        assert not colon, f"{file.relative_to(ROOT)}:{node.lineno}: pass the file as file=…"


READS_TEXT = frozenset(
    "startswith endswith removeprefix removesuffix partition rpartition split find index count compile match search "
    "fullmatch sub findall finditer".split()
)
PHRASE = re.compile(r"[a-z]{2,}(?: [a-z]{2,}){2,}")


def texts_that_are_looked_for(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and text of each literal or constant that code looks for in another text, perhaps by a pattern."""
    constants = {
        target.id: node.value
        for node in getattr(tree, "body", ())
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        looked_for: list[ast.expr] = []
        if isinstance(node, ast.Compare) and any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            looked_for = [node.left]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in READS_TEXT:
            looked_for = list(node.args[:1])
        for expression in looked_for:
            literal = constants.get(expression.id, expression) if isinstance(expression, ast.Name) else expression
            for part in ast.walk(literal):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.lineno, part.value


def test_no_code_reads_the_text_of_a_message() -> None:
    """A phrase of three words or more that code looks for, and that a message holds, is read off that message."""
    catalogue = "\n".join(TEMPLATES.values())
    example = ast.parse('_LEFT = "left to workers"\n_LEFT not in note or re.match(r"(\\d+) pages left to", note)')
    assert [text for _, text in texts_that_are_looked_for(example)] == ["left to workers", r"(\d+) pages left to"]
    wrong = []
    for room in ROOMS:
        for file in (ROOT / room).rglob("*.py"):
            for line, text in texts_that_are_looked_for(ast.parse(file.read_text("utf-8"))):
                wrong += [f"{file.relative_to(ROOT)}:{line}: {p}" for p in PHRASE.findall(text) if p in catalogue]
    assert wrong == []


def test_an_error_is_read_with_and_without_its_file() -> None:
    error = DocumentError("it is damaged.", "Repair it.", file=Path("/a: b/c.pdf"))
    assert (error.message, error.problem) == ("/a: b/c.pdf: it is damaged.", "it is damaged.")
    assert error.without_file == "it is damaged. Repair it." and str(error) == f"/a: b/c.pdf: {error.without_file}"
    same = pickle.loads(pickle.dumps(error))
    assert (str(same), same.without_file, same.file) == (str(error), error.without_file, error.file)
    error.name_original("/other", "/d.pdf")
    assert str(error) == str(same)
    error.name_original("/a: b/c.pdf", "/d.pdf")
    assert error.message == "/d.pdf: it is damaged."
