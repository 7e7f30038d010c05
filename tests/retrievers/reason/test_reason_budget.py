"""A question's tokens are a law: whatever a model says and however it counts, its inputs keep within them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hybrid_core.errors import ChatError, ReplyError
from hybrid_core.llm.budget import InputBudget, estimate
from hybrid_core.llm.chat import Completion, Message, Request
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.replies import ReplyCache
from hybrid_core.store.cache import Cache
from hybrid_core.types.documents import Route, Strategy
from hybrid_pageindex import Engine, Settings, run
from tests.doubles.replies import FakeEndpoint, FakeReply, fake_reply
from tests.hybrid_core.llm.said import Found
from tests.work import examples

QUESTIONS = ("What were the net sales in fiscal 2023?", "2023年的净销售额是多少？ net sales " * 12)
REPLIES: dict[str, dict[str, Any]] = {
    "Ratings": {"reasoning": "no", "ratings": [{"part": n, "probability": 0.3} for n in range(-1, 9)]},
    "Turn": {
        "reasoning": "More.",
        "expand": ["D1.0003", "D2.0003"],
        "read": [{"document": f"D{d}", "page": p} for d in (1, 2) for p in (1, 3)],
        "pages": [],
        "sections": ["D1.0002"],
    },
    "Picks": {"reasoning": "Both.", "documents": ["d1", "d2"]},
    "Conditions": {"reasoning": "", "conditions": [{"field": "year", "operator": "is", "values": ["2023"]}]},
}
MOODS: dict[str, Callable[[Request], Any]] = {
    "greedy": lambda request: REPLIES[request.title],
    "of no use": lambda _: "I would rather tell you a long story. " * 90,
    "cut off": lambda _: FakeReply('{"reasoning": "', finish="length"),
    "empty": lambda _: "",
}


def written(request: Request) -> int:
    """The request's tokens, its schema included, as the engine estimates them."""
    schema = json.dumps(request.schema, separators=(",", ":")) if request.schema else ""
    return sum(estimate(message.text) for message in request.messages) + estimate(schema)


class Counting:
    """Answers in changing moods and counts ``rate`` times what is estimated."""

    def __init__(self, moods: list[str], rate: float) -> None:
        self.name, self.counted, self.requests = "counting", 0, list[Request]()
        self._moods, self._rate = moods, rate

    def complete(self, request: Request, timeout: float, on_text: object = None) -> Completion:
        tokens = math.ceil(self._rate * written(request))
        mood = self._moods[len(self.requests) % len(self._moods)]
        self.requests.append(request)
        self.counted += tokens
        made = fake_reply(MOODS[mood](request))
        return Completion(made.text, made.finish != "length", tokens)

    def close(self) -> None:
        pass


@example(moods=["of no use"], rate=1.5, tokens=3000, strategy="outline", route="auto", question=QUESTIONS[0])
@pytest.mark.slow
@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    moods=st.lists(st.sampled_from(sorted(MOODS)), min_size=1, max_size=4),
    rate=st.sampled_from([0.0, 0.7, 1.0, 1.5]),
    tokens=st.sampled_from([2000, 3000, 6000]),
    strategy=st.sampled_from(["outline", "mcts"]),
    route=st.sampled_from(["auto", "metadata", "description"]),
    question=st.sampled_from(QUESTIONS),
)
def test_no_question_has_more_tokens_than_it_may(
    library: Engine, moods: list[str], rate: float, tokens: int, strategy: Strategy, route: Route, question: str
) -> None:
    endpoint = Counting(moods, rate)
    said_of = Settings(storage_path=library.home, reason_tokens=tokens, reason_rounds=20, reason_calls=40)
    engine = Engine(settings=said_of, chat=ChatModel(endpoint))
    try:
        result = run(engine.search(question, effort="deep", strategy=strategy, route=route))
    finally:
        engine.close()
    assert endpoint.requests and result.results, "it is asked, and pages come in any case"
    assert result.usage.input_tokens == endpoint.counted <= tokens
    assert sum(map(written, endpoint.requests)) <= tokens


def test_a_repair_that_the_tokens_do_not_allow_is_not_made() -> None:
    question = [Message("user", "Which page? " * 40)]
    endpoint = FakeEndpoint(lambda _: "none that I know of")
    scope = CallScope(tokens=300)
    with pytest.raises(
        ReplyError,
        match=r"no usable answer \(the reply contains.*\) and was not asked again: .*of the 300 tokens allowed",
    ):
        ChatModel(endpoint).ask(question, Found, scope=scope)
    assert len(endpoint.requests) == 1
    with pytest.raises(ChatError) as caught:
        ChatModel(endpoint).ask(question, Found, scope=scope)
    assert caught.value.failure == "too long" and len(endpoint.requests) == 1


def test_an_endpoint_that_counts_more_has_later_requests_measured_by_its_own_count() -> None:
    budget = InputBudget(6000)
    question = [Message("user", "Which page? " * 40)]
    size = budget.size(question, None)
    assert size >= 160
    budget.counted(budget.take(question, None), 2 * size)
    again = budget.size(question, None)
    assert budget.left == 6000 - 2 * size and 2 * size <= again < 2.2 * size, "a longer one has fewer marks of turns"
    budget.counted(budget.take(question, None), 0)
    assert budget.left == 6000 - 2 * size - again, "one that does not count is believed to need what was estimated"


@pytest.mark.parametrize("strategy", ["outline", "mcts"])
def test_kept_replies_take_tokens_too_so_that_the_same_question_sends_nothing_new(
    library: Engine, strategy: Strategy, tmp_path: Path
) -> None:
    endpoint, kept = FakeEndpoint(MOODS["greedy"]), Cache(tmp_path / "replies.sqlite", 10**6)
    engine = Engine(settings=Settings(storage_path=library.home), chat=ChatModel(endpoint, cache=ReplyCache(kept)))
    asked = [run(engine.search(QUESTIONS[0], effort="deep", strategy=strategy)).usage for _ in range(2)]
    engine.close()
    kept.close()
    assert asked[0].calls == asked[1].cached == len(endpoint.requests) > 1 and asked[1].calls == 0
