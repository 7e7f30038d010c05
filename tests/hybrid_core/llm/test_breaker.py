"""An endpoint that failed for good is left alone for a while, over real HTTP: by whom, for how long, and after what."""

from __future__ import annotations

import math
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice
from typing import Any

import pytest

from hybrid_core.errors import ChatError
from hybrid_core.llm.adapters.openai_chat import OpenAIChat
from hybrid_core.llm.chat import Request
from hybrid_core.llm.client import client, limiter
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.client import Retries
from hybrid_core.llm.client.limiter import Limiter
from hybrid_core.llm.client.scope import CallScope
from tests.doubles.replies import FakeReply
from tests.doubles.scripted_server import ScriptedServer
from tests.hybrid_core.llm.said import GOOD, KEY, QUESTION, QUICK, Connect, Found


def failing(status: int, said: str = "out of order") -> Callable[[Request], FakeReply]:
    return lambda _: FakeReply(status=status, body={"error": {"message": said}})


def tired() -> Limiter:
    limiter = Limiter(16)
    limiter.breaker.rest = 30.0
    return limiter


class Clock:
    """The breaker's and its caller's, which can be put forward: a rest that passes by itself may do so unseen."""

    ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for module in (limiter, client):
        monkeypatch.setattr(module, "time", made)
    return made


@pytest.mark.parametrize(
    ("answer", "asked", "failure"),
    [(failing(500), 2, "overload"), (failing(401), 1, "key"), (failing(404), 1, "model"), (failing(402), 1, "quota"),
     (failing(429), 2, "rate limit"),
     (lambda _: FakeReply(break_after=0), 2, "connection")],
)  # fmt: skip
def test_after_a_failure_for_good_calls_fail_at_once_until_one_finds_that_it_is_over(
    server: ScriptedServer,
    connect: Connect,
    clock: Clock,
    answer: Callable[[Request], FakeReply],
    asked: int,
    failure: str,
) -> None:
    server.answer = answer
    limiter = tired()
    caller, again = connect(limiter=limiter), connect(limiter=limiter)
    with pytest.raises(ChatError) as first:
        caller.ask(QUESTION, Found)
    assert len(server.requests) == asked
    for one in (caller, again):
        with pytest.raises(ChatError, match=r"The next call is made in \d+ s") as second:
            one.say(QUESTION)
        assert first.value.message in second.value.message and KEY not in str(second.value)
        assert (second.value.failure, second.value.advice) == (failure, first.value.advice)
        assert (second.value.retryable, second.value.usage.seconds) == (first.value.retryable, 0)
        assert 0 < second.value.wait <= 30
    assert len(server.requests) == asked
    clock.ahead += 31
    refused = threading.Event()
    server.answer = lambda _: FakeReply(GOOD) if refused.wait(600) else FakeReply(status=500)
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(caller.ask, QUESTION, Found) for _ in range(8)]
        assert all(call.exception() is not None for call in islice(as_completed(calls), 7))
        refused.set()
    answered = [call for call in calls if call.exception() is None]
    assert len(answered) == 1 and len(server.requests) == asked + 1, "one finds out, and the others do not wait for it"
    assert again.ask(QUESTION, Found).value == Found(page=12)


def test_one_that_finds_that_it_is_not_over_leaves_it_as_it_was(
    server: ScriptedServer, connect: Connect, clock: Clock
) -> None:
    server.answer = failing(500)
    caller = connect(limiter=tired())
    for _ in range(2):
        with pytest.raises(ChatError, match="tried 2 times"):
            caller.say(QUESTION)
        with pytest.raises(ChatError, match="The next call is made"):
            caller.say(QUESTION)
        clock.ahead += 31
    assert len(server.requests) == 4


NO_REASON: dict[str, Callable[[Request], FakeReply]] = {
    "a refusal": lambda _: FakeReply(refusal="I must not."),
    "an empty reply": lambda _: FakeReply(""),
    "a text that is too long": failing(413),
    "a request that it does not take": failing(400),
    "no chat": lambda _: FakeReply(body="<html>Welcome</html>"),
}


@pytest.mark.parametrize("name", NO_REASON)
def test_what_says_nothing_of_the_next_call(server: ScriptedServer, connect: Connect, name: str) -> None:
    server.answer = NO_REASON[name]
    caller = connect()
    for _ in range(3):
        with pytest.raises(ChatError):
            caller.say(QUESTION)
    server.answer = lambda _: FakeReply("Page 12.")
    assert caller.say(QUESTION).text == "Page 12."


def test_a_hiccup_does_not_open_it_and_silence_does_the_second_time(server: ScriptedServer, connect: Connect) -> None:
    bad = failing(500)(Request((), 1))
    limiter = Limiter(8)
    caller, impatient = connect(limiter=limiter), connect(limiter=limiter, timeout=0.2)
    server.replies = [bad, FakeReply(GOOD), FakeReply(break_after=0), FakeReply(GOOD)]
    assert [caller.ask(QUESTION, Found).usage.calls for _ in range(2)] == [1, 1]
    server.answer = lambda _: FakeReply("a few words", break_after=3)
    for _ in range(2):
        with pytest.raises(ChatError, match="stopped in the middle"):
            caller.say(QUESTION, on_text=lambda _: None)
    slow = FakeReply(GOOD, wait=30)
    server.answer = lambda _: slow
    for number in range(3):
        with pytest.raises(ChatError) as caught:
            impatient.say(QUESTION)
        assert caught.value.failure == "timeout" and ("The next call is made" in str(caught.value)) == (number == 2)


def test_what_fails_slowly_is_not_tried_again_where_somebody_waits_and_two_in_a_row_open_it(
    server: ScriptedServer, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybrid_core.llm.client.client._BRIEF", 0.1)
    server.answer = lambda _: FakeReply(status=500, wait=0.2, body={"error": {"message": "out of order"}})
    caller = connect()
    for number in range(3):
        with pytest.raises(ChatError, match="out of order") as caught:
            caller.say(QUESTION)
        assert "tried" not in str(caught.value) and ("The next call is made" in str(caught.value)) == (number == 2)
    assert len(server.requests) == 2


@pytest.mark.slow
def test_a_server_that_asks_for_a_rest_gets_it_from_those_that_wait(server: ScriptedServer, connect: Connect) -> None:
    """Work that nobody waits for pauses as long as it is asked to; a question, which cannot, fails at once."""
    slow = FakeReply(status=429, headers={"Retry-After": "5"}, body={"error": {"message": "slow down"}})
    server.answer = lambda _: FakeReply("Page 12.")
    limiter = Limiter(1)
    caller, other = connect(limiter=limiter), connect("anthropic", limiter=limiter)
    for one in (caller, other):
        one.say(QUESTION)  # a first call takes longer
    server.requests.clear()
    server.replies = [slow, slow]
    with pytest.raises(ChatError, match=r"slow down.*asks to wait 5 s") as caught:
        caller.say(QUESTION)
    assert (caught.value.failure, caught.value.wait, len(server.requests)) == ("rate limit", 5, 1)
    with pytest.raises(ChatError, match=r"slow down.*The next call is made in \d s"):
        caller.say(QUESTION)
    assert len(server.requests) == 1
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(caller.say, QUESTION, scope=CallScope(patient=True))
        until = time.monotonic() + 600
        while not limiter._paused and time.monotonic() < until:
            time.sleep(0.01)
        with pytest.raises(ChatError, match=r"refuses calls for a while. The server asks to wait") as caught:
            other.say(QUESTION)
        assert caught.value.retryable and 1 < caught.value.wait <= 5 and not work.done()
        assert work.result().text == "Page 12."
    assert caller.say(QUESTION).text == "Page 12.", "what work has found out is news for all"


def test_calls_side_by_side_that_one_deadline_ends_are_no_row(server: ScriptedServer, connect: Connect) -> None:
    caller = connect(retries=Retries(tries=1), timeout=1.6)  # so that a second of silence counts
    slow = FakeReply(GOOD, wait=30)
    server.answer = lambda _: slow
    together = threading.Barrier(3)

    def late(_: int) -> str:
        together.wait(600)
        with pytest.raises(ChatError) as caught:
            caller.say(QUESTION, scope=CallScope(seconds=1.0))
        return caught.value.failure

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(late, range(3))) == ["timeout"] * 3
    server.answer = lambda _: FakeReply("Page 12.")
    assert caller.say(QUESTION).text == "Page 12."


def test_work_that_nobody_waits_for_asks_all_the_same(server: ScriptedServer, connect: Connect) -> None:
    server.answer = lambda _: FakeReply(break_after=0)
    caller = connect(limiter=tired())
    for patient, tries in ((False, 2), (True, 3), (True, 3)):
        server.requests.clear()
        with pytest.raises(ChatError, match=f"tried {tries} times"):
            caller.say(QUESTION, scope=CallScope(patient=patient))
        assert len(server.requests) == tries
    server.answer = lambda _: GOOD
    with pytest.raises(ChatError, match="The next call is made"):
        caller.ask(QUESTION, Found)
    assert caller.ask(QUESTION, Found, scope=CallScope(patient=True)).usage.calls == 1
    assert caller.ask(QUESTION, Found).usage.calls == 1, "its answer is news for all"


def test_of_two_models_behind_one_endpoint_each_has_its_own_key_and_both_the_same_wire(server: ScriptedServer) -> None:
    limiter = tired()
    one, other = (
        ChatModel(OpenAIChat(name, base_url=server.url), limiter=limiter, retries=QUICK) for name in ("one", "other")
    )
    server.replies = [failing(403)(Request((), 1))]
    with pytest.raises(ChatError, match="refused"):
        one.say(QUESTION)
    assert other.say(QUESTION).text == GOOD
    with pytest.raises(ChatError, match="The next call is made"):
        one.say(QUESTION)
    server.answer = lambda _: FakeReply(break_after=0)
    with pytest.raises(ChatError, match="tried 2 times"):
        other.say(QUESTION)
    for caller in (one, other):
        with pytest.raises(ChatError, match="The next call is made"):
            caller.say(QUESTION)
    one.close()
    other.close()


def test_a_request_that_fails_by_itself_while_others_are_answered_stops_nobody(
    server: ScriptedServer, connect: Connect
) -> None:
    began, answered = threading.Event(), threading.Event()

    def answer(request: Request) -> FakeReply:
        if "poison" not in request.messages[-1].text:
            return FakeReply(GOOD)
        began.set()
        answered.wait(600)
        return FakeReply(status=500, body={"error": {"message": "this one"}})

    server.answer = answer
    caller = connect(limiter=tired())
    poison = [type(QUESTION[0])("user", "poison")]
    with ThreadPoolExecutor(1) as pool:
        ill = pool.submit(caller.say, poison)
        assert began.wait(600)
        assert caller.ask(QUESTION, Found).value == Found(page=12)
        answered.set()
        with pytest.raises(ChatError, match="this one"):
            ill.result()
    assert caller.ask(QUESTION, Found).value == Found(page=12)


@pytest.mark.parametrize("status", [401, 402, 404])
def test_an_answer_to_an_earlier_call_does_not_take_back_a_refusal_for_good(
    server: ScriptedServer, connect: Connect, status: int
) -> None:
    """A call begins, another one is refused, the first one is answered: a third one is not sent."""
    began, refused = threading.Event(), threading.Event()

    def answer(request: Request) -> FakeReply:
        if "early" not in request.messages[-1].text:
            return failing(status)(request)
        began.set()
        refused.wait(600)
        return FakeReply(GOOD)

    server.answer = answer
    caller, run = connect(limiter=tired()), limiter.Breaker(math.inf)
    with ThreadPoolExecutor(1) as pool:
        early = pool.submit(
            caller.say, [type(QUESTION[0])("user", "early")], scope=CallScope(patient=True, breaker=run)
        )
        assert began.wait(600)
        with pytest.raises(ChatError):
            caller.say(QUESTION, scope=CallScope(patient=True, breaker=run))
        refused.set()
        assert early.result().text == GOOD
    for scope in (CallScope(), CallScope(patient=True, breaker=run)):
        with pytest.raises(ChatError):
            caller.say(QUESTION, scope=scope)
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", [401, 402, 404])
def test_a_failure_is_recorded_before_its_place_falls_free(
    server: ScriptedServer, connect: Connect, status: int
) -> None:
    """Calls that wait for the place of one that is refused are not sent, however long recording that takes."""
    waiting = threading.Barrier(4)

    class Slow(limiter.Breaker):
        def failed(self, *arguments: Any, **options: Any) -> None:
            time.sleep(0.5)
            super().failed(*arguments, **options)

    def answer(request: Request) -> FakeReply:
        waiting.wait(600)
        time.sleep(0.2)
        return failing(status)(request)

    server.answer = answer
    caller, run = connect(limiter=Limiter(1)), Slow(math.inf)

    def call(first: bool) -> str:
        if not first:
            waiting.wait(600)
        with pytest.raises(ChatError) as caught:
            caller.say(QUESTION, scope=CallScope(patient=True, breaker=run))
        return caught.value.message

    with ThreadPoolExecutor(4) as pool:
        calls = list(pool.map(call, [True, False, False, False]))
    assert len(server.requests) == 1 and len(set(calls)) == 1


def test_nobody_listens_is_known_in_a_second_and_then_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        caller = ChatModel(OpenAIChat("m", base_url=f"http://127.0.0.1:{taken.getsockname()[1]}/v1"))
        start = time.monotonic()
        for said in ("It was tried 2 times", "The next call is made"):
            with pytest.raises(ChatError, match=f"cannot be reached.*{said}") as caught:
                caller.say(QUESTION)
            assert caught.value.failure == "connection"
        assert time.monotonic() - start < 60
        caller.close()
