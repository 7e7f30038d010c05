"""A model in the search, over real HTTP: what it is shown, what its verdict does, and what happens when it fails."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, cast

import pytest

from eval.runs.scripted import Oracle, guess
from hybrid_core.errors import ChatError, UsageError
from hybrid_core.llm.budget import estimate
from hybrid_core.llm.chat import Request
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.store.cache import Cache
from hybrid_core.types.documents import Strategy
from hybrid_core.types.results import ReasoningStep, SearchResult
from hybrid_core.types.usage import Usage
from hybrid_pageindex import Engine, Settings, run
from hybrid_pageindex.engine.models.models import Chat
from tests.doubles.replies import FakeReply
from tests.models_over_http import data, engine_with

pytestmark = pytest.mark.slow

pytest.importorskip("openai", reason="the extra openai is not installed")

QUESTION = "What were the net sales of Corvane Optics in fiscal 2023?"
FILING, OTHER = "corvane-optics-2023-10k.pdf", "dunlin-freight-2024-10k.pdf"
GOLD = Oracle({QUESTION: {(FILING, 5)}})  # not the page that the words find: only the model can put it first


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    made = Cache(tmp_path / "cache.sqlite", 10**6)
    yield made
    made.close()


def turn(**said: Any) -> dict[str, Any]:
    return {"reasoning": "The figure stands there.", "expand": [], "read": [], "pages": [], "sections": []} | said


def page(document: str, number: int) -> dict[str, Any]:
    return {"document": document, "page": number}


def places(result: SearchResult) -> list[tuple[str, int]]:
    return [(found.doc_name, found.page) for found in result.results]


def prompts(requests: list[Request]) -> list[str]:
    return [request.messages[-1].text for request in requests]


def test_named_pages_come_first_and_the_rest_by_value(library: Engine) -> None:
    fast = run(library.search(QUESTION, effort="fast", top_k=20))
    steps: list[ReasoningStep] = []
    with engine_with(library.home, lambda _: turn(pages=[page("D1", 5), page("D1", 2)])) as (engine, server):
        deep = run(engine.search(QUESTION, effort="deep", top_k=20, on_step=steps.append))
    named = [(FILING, 5), (FILING, 2)]
    assert places(deep) == named + [place for place in places(fast) if place not in named]
    assert (deep.effort.asked, deep.effort.used) == ("deep", "deep") and deep.evidence == fast.evidence
    scores = [found.score for found in deep.results]
    assert scores == sorted(scores, reverse=True)
    for found in deep.results[:2]:
        receipt = found.receipt
        assert receipt.reasoning is not None and "the model named this page" in receipt.verdict
        assert "The figure stands there." in receipt.verdict
        total = receipt.page + receipt.document + receipt.structure + receipt.reasoning
        assert total == pytest.approx(found.score, abs=3e-4)
    assert [found.receipt.reasoning for found in deep.results[2:]] == [None] * (len(deep.results) - 2)
    assert deep.usage.calls == len(server.requests) == 1 and deep.usage.input_tokens > 100
    assert deep.reasoning is not None and deep.reasoning.steps == tuple(steps)
    assert [step.kind for step in steps] == ["shown", "asked", "thought", "verdict"]
    assert json.loads(json.dumps(deep.to_dict()))["usage"]["calls"] == 1
    assert fast.usage.calls == 0 and fast.reasoning is None


def test_the_model_sees_cards_scored_sections_and_expert_knowledge(library: Engine) -> None:
    with engine_with(library.home, lambda _: turn(pages=[page("D1", 3)])) as (engine, server):
        run(engine.search(QUESTION, effort="deep", expert="finance"))
    (prompt,) = prompts(server.requests)
    outline = data(prompt, "Outline")
    assert data(prompt, "Question") == QUESTION
    assert re.search(rf"^D1 · {FILING} · annual report, 2023 ·", outline, re.MULTILINE)
    assert re.search(r"^ page 3 · D1\.\d{4} Item 7\. Results of operations \(3-5, 2 parts\)", outline, re.MULTILINE)
    assert "net sales" in data(prompt, "which may be of another field")
    assert server.requests[0].schema is not None


def test_sections_are_opened_and_pages_read_on_request_and_inventions_dropped(library: Engine) -> None:
    def answer(request: Request) -> dict[str, Any]:
        if "Round 1 of 3" in request.messages[-1].text:
            return turn(expand=["D1.0003", "D7.0001", "nonsense"], read=[page("D1", 4), page("D1", 99)])
        return turn(pages=[page("D1", 99), page("D44", 1), page("D1", 4)], sections=["D1.9999"])

    with engine_with(library.home, answer) as (engine, server):
        result = run(engine.search(QUESTION, effort="deep", documents=[FILING]))
    first, second = prompts(server.requests)
    passages = data(first, "opened and read so far")
    assert passages.startswith("D1 page 3, a passage: Net sales were $418.2 million") and "holds:" not in passages
    seen = data(second, "opened and read so far")
    assert "D1.0003 Item 7. Results of operations · pages 3-5 · holds:" in seen
    assert re.search(r" page 4 · Consolidated balance sheet", seen)
    assert "D1 page 4:" in seen and "Inventories" in seen
    assert places(result)[0] == (FILING, 4)
    assert result.reasoning is not None
    dropped = " ".join(step.text for step in result.reasoning.steps if step.kind == "dropped")
    assert all(name in dropped for name in ("D7.0001", "nonsense", "D1 page 99", "D44 page 1", "D1.9999"))
    assert {"opened", "read"} <= {step.kind for step in result.reasoning.steps}


def test_a_section_named_without_a_page_stands_for_its_best_pages(library: Engine) -> None:
    with engine_with(library.home, lambda _: turn(sections=["D1.0005"])) as (engine, _):
        result = run(engine.search(QUESTION, effort="deep", documents=[FILING]))
    assert places(result)[0] == (FILING, 5) and "to which this page belongs" in result.results[0].receipt.verdict


FAILURES: dict[str, Callable[[Request], Any]] = {
    "a server error": lambda _: FakeReply(status=500, body={"error": {"message": "out of order"}}),
    "a wrong key": lambda _: FakeReply(status=401, body={"error": {"message": "no such key"}}),
    "no JSON, twice": lambda _: "I would rather not.",
    "another shape": lambda _: {"answer": 42},
    "a refusal": lambda _: FakeReply(refusal="not this"),
    "an empty reply": lambda _: "",
    "only inventions": lambda _: turn(pages=[page("D9", 1)], sections=["D1.7777"]),
    "nothing named": lambda _: turn(),
}
NAMED = {"only inventions", "nothing named"}  # replies of the strategy outline


@pytest.mark.parametrize(
    ("strategy", "failure"),
    [("outline", failure) for failure in FAILURES]
    + [("mcts", failure) for failure in FAILURES if failure not in NAMED],
)
def test_where_the_model_fails_the_deterministic_walk_answers_and_it_is_said(
    library: Engine, strategy: Strategy, failure: str
) -> None:
    fast = run(library.search(QUESTION, effort="fast"))
    with engine_with(library.home, FAILURES[failure], reason_seconds=1) as (engine, _):
        deep = run(engine.search(QUESTION, effort="deep", strategy=strategy))
    assert deep.results == fast.results
    assert (deep.effort.asked, deep.effort.used) == ("deep", "fast")
    assert "ranked without a model" in deep.effort.why and deep.effort.why in deep.notes


def test_the_second_question_does_not_wait_for_an_endpoint_that_is_down_and_the_doctor_asks_it(library: Engine) -> None:
    with engine_with(library.home, lambda _: FakeReply(status=500, body={"error": {"message": "down"}})) as (
        engine,
        server,
    ):
        results = [run(engine.search(QUESTION, effort="deep")) for _ in range(2)]
        assert len(server.requests) == 2, "of the first alone"
        first, second = (result.effort.why for result in results)
        assert "down). It was tried 2 times." in first and "down). It was tried 2 times." in second
        assert re.search(r"The next call is made in \d+ s", second) and second in results[1].notes
        assert results[0].results == results[1].results and results[1].timings_ms["total"] < 20_000
        for number in (3, 4):
            assert not run(engine.admin.doctor()).ok and len(server.requests) == number


def test_a_failure_after_the_first_round_keeps_what_was_named(library: Engine) -> None:
    def answer(request: Request) -> Any:
        if "Round 1 of" in request.messages[-1].text:
            return turn(pages=[page("D1", 5)], read=[page("D1", 5)])
        return FakeReply(status=400, body={"error": {"message": "no more"}})

    with engine_with(library.home, answer) as (engine, _):
        result = run(engine.search(QUESTION, effort="deep"))
    assert places(result)[0] == (FILING, 5) and result.effort.used == "deep"
    assert result.reasoning is not None and "failed" in {step.kind for step in result.reasoning.steps}


@pytest.mark.slow
@pytest.mark.parametrize("ended_by", ["reason_seconds", "model_timeout"])
def test_the_setting_that_ended_a_search_is_named(library: Engine, ended_by: str) -> None:
    def answer(request: Request) -> Any:
        if "Round 1 of" in request.messages[-1].text:
            return turn(pages=[page("D1", 5)], read=[page("D1", 5)])
        return FakeReply("", wait=30)

    other = {"reason_seconds": 0, "model_timeout": 60} | {ended_by: 2}
    with engine_with(library.home, answer, **other) as (engine, _):
        result = run(engine.search(QUESTION, effort="deep", documents=[FILING]))
        assert places(result)[0] == (FILING, 5) and result.effort.used == "deep"
        (note,) = (note for note in result.notes if "ended early" in note)
        assert ended_by in note
    with engine_with(library.home, lambda _: FakeReply("", wait=30), **other) as (engine, _):
        result = run(engine.search(QUESTION, effort="deep", documents=[FILING]))
    assert result.effort.used == "fast" and ended_by in result.effort.why


class Unmetered:
    """A meter of models that are not asked."""

    def check(self, *_: object, **__: object) -> None: ...

    def add(self, *_: object, **__: object) -> None: ...


def test_a_slow_model_has_the_time_of_a_call_for_each_of_its_calls(cache: Cache) -> None:
    slow = Settings(llm_model="m", llm_base_url="http://localhost:1/v1", model_timeout=300)
    for said, strategy, seconds, setting in (
        (slow, "outline", 4 * 300, "model_timeout"),
        (slow, "mcts", 9 * 300, "model_timeout"),
        (replace(slow, reason_seconds=45), "outline", 45, "reason_seconds"),
    ):
        chat = Chat(said, cache, Unmetered)
        reasoner = chat.reasoner(cast(Strategy, strategy), None)
        chat.close()
        assert reasoner is not None
        assert (reasoner.limits.seconds, reasoner.limits.setting) == (seconds, setting)


def test_the_time_of_a_question_is_that_of_all_its_calls() -> None:
    question = CallScope(seconds=3.0, setting="reason_seconds")
    given: list[float] = []

    def late(left: float) -> NoReturn:
        given.append(left)
        error = ChatError("late.", "More (model_timeout).", failure="timeout", retryable=True)
        error.usage = Usage(seconds=len(given))
        raise error

    with pytest.raises(ChatError, match=r"\(model_timeout\)"):
        question.part().call(late)
    with pytest.raises(ChatError, match=r"late\. Allow more time \(reason_seconds\)"):
        question.part().call(late)
    with pytest.raises(ChatError, match=r"may spend 3 s on one question.* Allow more time \(reason_seconds\)"):
        question.part().call(late)
    assert given == [3, 2] and question.usage.seconds == 3


def test_auto_asks_only_where_the_search_is_unsure(library: Engine) -> None:
    for below, calls in ((0.0, 0), (1.0, 1)):
        with engine_with(library.home, lambda _: turn(pages=[page("D1", 3)]), reason_below=below) as (engine, server):
            result = run(engine.search(QUESTION))
            assert len(server.requests) == calls
            assert result.effort.used == ("deep" if calls else "fast")
            assert f"{result.sureness:.2f}" in result.effort.why and f"below {below:g}" in result.effort.why
            assert run(engine.search(QUESTION, effort="fast")).effort.why == "as requested"
            assert run(engine.search("zyzzyva quokka", effort="auto")).usage.calls == 0


def test_sureness_is_the_probability_that_the_first_page_answers(library: Engine) -> None:
    found = run(library.search(QUESTION, effort="fast"))
    assert 0 < found.sureness <= found.evidence.score
    assert run(library.search("zyzzyva quokka", effort="fast")).sureness == 0


@pytest.mark.parametrize("strategy", ["outline", "mcts"])
def test_an_oracle_finds_what_words_do_not_and_a_guess_leaves_the_rest_in_order(
    library: Engine, strategy: Strategy
) -> None:
    fast = run(library.search(QUESTION, effort="fast", top_k=20))
    assert places(fast)[0] != (FILING, 5)
    with engine_with(library.home, GOLD) as (engine, server):
        deep = run(engine.search(QUESTION, effort="deep", strategy=strategy, top_k=20))
    assert places(deep)[0] == (FILING, 5) and deep.reasoning is not None and deep.reasoning.strategy == strategy
    assert len(server.requests) <= (3 if strategy == "outline" else 8)
    with engine_with(library.home, guess) as (engine, _):
        guessed = run(engine.search(QUESTION, effort="deep", strategy=strategy, top_k=20))
    named = [found for found in guessed.results if found.receipt.reasoning is not None]
    assert 1 <= len(named) <= 3
    rest = [place for place in places(guessed)[len(named) :] if place in places(fast)]
    assert rest == [place for place in places(fast) if place in rest]


@pytest.mark.parametrize("strategy", ["outline", "mcts"])
def test_all_inputs_together_stay_within_the_tokens(library: Engine, strategy: Strategy) -> None:
    def greedy(request: Request) -> dict[str, Any]:
        if request.title == "Ratings":
            return {"reasoning": "no", "ratings": [{"part": n, "probability": 0.3} for n in range(-1, 9)]}
        return turn(
            expand=["D1.0003", "D2.0003"], read=[page(f"D{d}", p) for d in (1, 2) for p in (1, 3)], sections=["D1.0002"]
        )

    for tokens in (2000, 6000):
        with engine_with(library.home, greedy, reason_tokens=tokens, reason_rounds=20, reason_calls=40) as (
            engine,
            server,
        ):
            run(engine.search(QUESTION, effort="deep", strategy=strategy))
            texts = ["".join(message.text for message in request.messages) for request in server.requests]
        assert 0 < sum(map(estimate, texts)) <= tokens


def test_a_strategy_that_does_not_exist_is_refused(library: Engine) -> None:
    with pytest.raises(UsageError, match="strategy is 'tree'"):
        run(library.search(QUESTION, strategy="tree"))  # type: ignore[arg-type]
