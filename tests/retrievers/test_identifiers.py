"""Identifiers are found whole, among near misses of them and pages full of their pieces."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid_core.text.tokens import identifier_pieces
from hybrid_core.types.results import SearchResult
from hybrid_pageindex import Engine, run
from retrievers.query.question import read_question

MANUAL, STATUTE, CODE = "manual.txt", "statute.txt", "code.txt"
PAGES: dict[str, list[tuple[str, str, list[str]]]] = {  # what a page says of each identifier, and what is asked
    MANUAL: [
        ("Error {}: the pump stops until it is reset", "How is error {} cleared?", ["V34Z0Q", "V34Z0R", "V43Z0Q"]),
        ("Fault {} is shown when the sensor is warm", "When is fault {} shown?", ["F0R34", "F0R43", "F34R0"]),
        ("Register {} holds the speed of the motor", "What does register {} hold?", ["0x34F0", "0x34F1", "0x43F0"]),
        ("Order the gasket as part {} from the dealer", "What is part {}?", ["E-1047/B", "E-1047/C", "E-1074/B"]),
        ("The housing is tested by {} each year", "What is tested by {}?", ["EN 60529:2014", "EN 60529:1991"]),
        ("The works are certified by {} each year", "Who is certified by {}?", ["ISO 9001:2015", "ISO 9001:2008"]),
        ("Battery {} fits the remote control", "Which battery is {}?", ["LR44", "LR4", "CR44"]),
        ("Fuse {} protects the display", "What does fuse {} protect?", ["F-7/A", "F-7/B", "G-7/A"]),
    ],
    STATUTE: [
        ("§ {} The consumer may withdraw from the contract", "What does § {} say?", ["312g", "312h", "321g"]),
        ("Clause {} The tenant bears the costs", "Who bears the costs by clause {}?", ["3.2.1", "3.2.11", "2.3.1"]),
        ("Regulation {} protects persons", "Whom does regulation {} protect?", ["2016/679", "2016/680", "2018/679"]),
        ("Article {} The court decides", "What does article {} say?", ["15a", "15b", "51a"]),
        ("File {} was heard by the court", "When was file {} heard?", ["C-131/12", "C-132/12", "T-131/12"]),
        ("Form {} is handed in with the request", "Where is form {} handed in?", ["B-17/2", "B-17/3", "A-17/2"]),
    ],
    CODE: [
        ("The field {} is the key of the table", "What is the field {}?", ["user_id", "user_key", "id_user"]),
        ("The type {} has a sign and a mantissa", "What is the type {}?", ["np.float32", "np.float64", "np.int32"]),
        ("The words are used as in {}", "Which words are used as in {}?", ["RFC-2119", "RFC-2191", "RFC-8174"]),
        ("The leak {} was closed", "Was {} closed?", ["CVE-2021-44228", "CVE-2021-45046", "CVE-2020-44228"]),
        ("The model {} reads pictures", "What does the model {} read?", ["GPT-4", "GPT-3", "GPT-4o"]),
        ("Bindings for {} are built at install", "Are there bindings for {}?", ["C++", "C#", "F#"]),
        ("The call {} gives a name", "What does {} give?", ["os.path.join", "os.path.split", "os.join.path"]),
        ("The option {} slows the client", "What does {} slow?", ["max_retry_delay", "max_delay_retry", "retry_max"]),
    ],
}  # fmt: skip
QUESTIONS = [
    (name, wanted, asked.format(wanted))
    for name, lines in PAGES.items()
    for _, asked, identifiers in lines
    for wanted in identifiers
]
_FILLER = "The {} of the {} is checked by the {} before the {} is used again.".format
_THINGS = ("cover", "frame", "clerk", "reader", "switch", "record", "office", "handle", "window", "notice")


def _percentages(draw: random.Random) -> str:
    """Pages of figures that hold the pieces of all identifiers over and over."""
    pieces = sorted({piece for _, wanted, _ in QUESTIONS for piece in re.findall(r"\d+|[A-Za-z]{2,}", wanted)})
    pages = []
    for _ in range(8):
        words = draw.choices(pieces, k=160)
        pages.append("\n".join(f"{word} {draw.randint(0, 99)} % 0 % 34 % 1 %" for word in words))
    return "\f".join(pages)


def _page(says: str, draw: random.Random) -> str:
    around = [_FILLER(*draw.sample(_THINGS, 4)) for _ in range(12)]
    around.insert(draw.randint(1, 11), f"{says}.")
    return "\n".join(around)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A manual, a statute and a documentation, a page for each identifier, beside pages of percentages."""
    folder, draw = tmp_path_factory.mktemp("identifiers"), random.Random(5)
    for name, lines in PAGES.items():
        pages = [_page(says.format(one), draw) for says, _, identifiers in lines for one in identifiers]
        draw.shuffle(pages)
        (folder / name).write_text("\f".join(pages), encoding="utf-8")
    (folder / "figures.txt").write_text(_percentages(draw), encoding="utf-8")
    engine = Engine(folder / "home")
    run(engine.index(folder))
    yield engine
    engine.close()


def ask(engine: Engine, question: str, **options: object) -> SearchResult:
    return run(engine.search(question, effort="fast", **options))  # type: ignore[arg-type]


def _first(engine: Engine, question: str) -> str:
    """The text of the best page, after its document's name."""
    found = ask(engine, question).results
    if not found:
        return ""
    (page,) = run(engine.pages(found[0].doc_id, str(found[0].page)))
    return f"{found[0].doc_name}\n{page.text}"


def test_questions_for_identifiers_find_their_page_first(shelf: Engine) -> None:
    assert len(QUESTIONS) >= 60
    missed = [
        (wanted, first[:40])
        for name, wanted, question in QUESTIONS
        if not ((first := _first(shelf, question)).startswith(name) and re.search(rf"{re.escape(wanted)}(?!\w)", first))
    ]
    assert len(missed) <= 0.05 * len(QUESTIONS), missed


FORMS = [
    ("The patch CVE-2021-44228 closes the leak", "cve 2021-44228"),
    ("The model GPT4 reads pictures", "GPT-4"),
    ("Replaced by (V34Z0Q/V34Z0R), see above", "v34z0r"),
    ("A `user_id`-based key", "user_id"),
    ("The type `numpy.float32`, for short", "float32"),
    ("Lamp with 12 V in stock", "lamp 12V"),
    ("See https://docs.corvane.example/lamps/list?sort=up for lists", "docs.corvane.example/lamps/list"),
]


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("forms")
    for at, (written, _) in enumerate(FORMS):
        (folder / f"note{at}.md").write_text(f"# Notes\n\n{written}.\n", encoding="utf-8")
        (folder / f"figures{at}.md").write_text(f"# Figures\n\n{_percentages(random.Random(at))[:2000]}\n")
    engine = Engine(folder / "home")
    run(engine.index(folder))
    yield engine
    engine.close()


def test_an_identifier_is_found_however_it_is_written(forms: Engine) -> None:
    found = [ask(forms, f"What is {asked}?").results[0].doc_name for _, asked in FORMS]
    assert found == [f"note{at}.md" for at in range(len(FORMS))]


def test_pieces_of_a_known_identifier_count_less_than_it() -> None:
    asked = read_question("Where does error E-1047/B speak of page 34 and V34Z0Q?")
    assert identifier_pieces(asked.text)["v34z0q"] == ("0",)  # 34 is asked for by itself
    known, unknown = asked.worth({"e1047/b", "v34z0q", "1047", "0"}), asked.worth({"1047", "0"})
    assert known["e1047/b"] == known["34"] == known["error"] == 1.0 and known["1047"] == known["0"] < 0.5
    assert unknown["1047"] == unknown["0"] == 1.0 and unknown["v34z0q"] == 0.0


RARE = ("quux", "corge", "grault", "garply", "waldo", "plugh")
NAMES = ("V34Z0Q", "0x34F0", "E-1047/B", "9001:2015", "user_id", "CVE-2021-44228")
PLAIN = ("merger", "bonus", "earnings", "report", "market", "quarter", "meeting", "notes", "water", "paper")


@pytest.fixture(scope="module")
def memos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Memos of five lines; long reports of what a pack adds, of slips of their words and of pieces of their names."""
    folder, draw = tmp_path_factory.mktemp("memos"), random.Random(9)
    for at, (rare, name) in enumerate(zip(RARE, NAMES, strict=True)):
        said = draw.sample(PLAIN, len(PLAIN))
        lines = [
            f"Memo {at}",
            f"The {' '.join(said[:4])} of {rare}.",
            f"Seen by {name}.",
            f"{' '.join(said[4:])}.",
            "End.",
        ]
        (folder / f"memo{at}.txt").write_text("\n".join(lines), encoding="utf-8")
    slips = [f"{rare[:-1]}{rare[-1]}{rare[-1]}" for rare in RARE] + [rare[1:] for rare in RARE]
    for at in range(5):
        pages = []
        for _ in range(6):
            words = draw.choices([*PLAIN, *slips, "business", "combination", "acquisition", "34", "0", "1047"], k=300)
            heading = f"{' '.join(draw.sample(PLAIN, 4))} business combination".upper()
            pages.append(f"{heading}\n\n{' '.join(words)}\n\n{_percentages(draw)[:400]}")
        (folder / f"annual report {at}.txt").write_text("\f".join(pages), encoding="utf-8")
    engine = Engine(folder / "home")
    run(engine.index(folder))
    (folder / "own.yaml").write_text(
        "expand: [{when: merger|bonus|market, phrases: [business combination, acquisition], headings: [report], "
        "weight: 1}]"
    )
    yield engine
    engine.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(
    st.integers(0, len(RARE) - 1),
    st.lists(st.sampled_from(PLAIN), max_size=5, unique=True),
    st.sampled_from(["rare", "name", "both"]),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_a_memo_that_holds_all_words_is_behind_no_page_without_the_rare_ones(
    memos: Engine, at: int, plain: list[str], kind: str, known: bool, order: random.Random
) -> None:
    rare = {"rare": [RARE[at]], "name": [NAMES[at]], "both": [RARE[at], NAMES[at]]}[kind]
    words = [*rare, *plain]
    order.shuffle(words)
    expert = str(memos.home.parent / "own.yaml") if known else "auto"
    found = ask(memos, " ".join(words), expert=expert)
    assert found.results[0].doc_name == f"memo{at}.txt"
