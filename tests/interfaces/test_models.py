"""Models as settings name them, over real HTTP: which is asked where, what is kept, and what the doctor finds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from hybrid_core.errors import ChatError, PageIndexError, UsageError
from hybrid_core.llm.adapters.openai_chat import OpenAIChat
from hybrid_core.llm.chat import Message, Request
from hybrid_core.llm.probe import Speed
from hybrid_core.store.cache import Cache
from hybrid_core.types.usage import Usage
from hybrid_pageindex import Engine, run
from hybrid_pageindex.config.settings import Settings, load_settings
from hybrid_pageindex.engine.models.models import Models, advice
from tests.conftest import Cli
from tests.doubles.replies import FakeReply
from tests.doubles.scripted_server import ScriptedServer, scripted_server

pytestmark = pytest.mark.slow

pytest.importorskip("openai", reason="the extra openai is not installed")
pytest.importorskip("anthropic", reason="the extra anthropic is not installed")

KEY = "sk-very-secret-0123456789"


class Word(BaseModel):
    word: str


def answers(request: Request) -> str:
    """What a model with eyes answers to the doctor's two questions."""
    return json.dumps({"word": "Red." if request.messages[-1].images else "ready"})


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with scripted_server(answers) as made:
        yield made


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    made = Cache(tmp_path / "cache.sqlite", 10**6)
    yield made
    made.close()


def settings(server: ScriptedServer, **more: object) -> Settings:
    return replace(Settings(llm_model="m", llm_base_url=server.url, llm_api_key=KEY), **more)  # type: ignore[arg-type]


def test_the_names_of_the_settings_and_their_secrets(tmp_path: Path) -> None:
    said = {
        "PAGEINDEX_VLM_PROVIDER": "anthropic", "PAGEINDEX_VLM_API_KEY": KEY, "PAGEINDEX_VLM_MODEL": "claude",
        "PAGEINDEX_LLM_MODEL": "gpt", "PAGEINDEX_LLM_API_KEY": KEY, "PAGEINDEX_MAX_CONCURRENT_CALLS": "3",
    }  # fmt: skip
    loaded = load_settings(tmp_path, said)
    assert (loaded.vlm_provider, loaded.vlm_model, loaded.llm_model) == ("anthropic", "claude", "gpt")
    assert loaded.max_concurrent_calls == 3 and KEY not in repr(loaded)
    with pytest.raises(UsageError, match=r"vlm_provider is 'opnai'.*openai or anthropic"):
        load_settings(tmp_path, {"PAGEINDEX_VLM_PROVIDER": "opnai"})


def test_none_without_a_name(cache: Cache) -> None:
    models = Models(Settings(llm_api_key=KEY), cache)
    assert models.get("llm") is None and models.get("vlm") is None
    assert models.check("llm") == "" and models.check("vlm") == ""


def test_a_model_without_a_key_is_named(cache: Cache) -> None:
    with pytest.raises(UsageError, match=r"'gpt-4o' .setting llm_model..*need an API key"):
        Models(Settings(llm_model="gpt-4o"), cache).get("llm")
    with pytest.raises(UsageError, match=r"'claude' .setting vlm_model.*need an API key"):
        Models(Settings(vlm_model="claude", vlm_provider="anthropic", llm_api_key=KEY), cache).get("vlm")


def test_a_key_goes_to_its_own_server_only(server: ScriptedServer, cache: Cache) -> None:
    with scripted_server(answers) as other:
        shared = Models(settings(server, vlm_model="v"), cache)
        apart = Models(settings(server, vlm_model="v", vlm_base_url=other.url), cache)
        for models in (shared, apart):
            found = models.get("vlm")
            assert found is not None
            found.say([Message("user", f"for {found.name}")])
            models.close()
        assert KEY in str(server.headers[0]) and server.bodies[0]["model"] == "v"
        assert len(other.headers) == 1 and KEY not in str(other.headers[0])


def test_replies_are_kept_in_the_home_and_priced(server: ScriptedServer, cache: Cache) -> None:
    models = Models(settings(server, model_prices="m=1000000/0"), cache)
    model = models.get("llm")
    assert model is not None and models.get("llm") is model
    first, again = (model.ask([Message("user", "Say so.")], Word).usage for _ in range(2))
    assert first.cost == first.input_tokens > 0 and again == Usage(cached=1)
    models.close()


def test_recording_and_replaying_by_settings(server: ScriptedServer, cache: Cache, tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    for _ in range(2):  # the cache does not keep anything from the recording
        models = Models(settings(server, record_replies=str(tape)), cache)
        model = models.get("llm")
        assert model is not None
        model.say([Message("user", "Say so.")])
        models.close()
    assert len(tape.read_text().splitlines()) == len(server.requests) == 2
    played = Models(Settings(replay_replies=str(tape)), cache)
    model = played.get("llm")
    assert model is not None and model.say([Message("user", "Say so.")]).text == '{"word": "ready"}'
    assert len(server.requests) == 2 and "recorded replies" in played.check("llm")


def test_the_doctor_asks_each_model_for_a_word_and_how_fast_it_is(server: ScriptedServer, tmp_path: Path) -> None:
    engine = Engine(settings=settings(server, vlm_model="eyes", storage_path=tmp_path / "home"))
    with closing(engine):
        for _ in range(2):
            found = run(engine.admin.doctor())
            details = {check.name: check.detail for check in found.checks}
            assert found.ok and details["language model"].startswith(f"openai:m@{server.url} answers in ")
            assert "tokens/s, so that a call of a deep search (at most 4) takes about " in details["language model"]
            assert " s, sees images; reads " in details["vision model"] and "set " not in " ".join(details.values())
    assert [body["model"] for body in server.bodies] == ["m", "m", "eyes", "eyes"] * 2, "a kept reply proves nothing"


@pytest.mark.parametrize("refused", [True, False])
def test_the_doctor_says_whether_a_server_takes_schemas(server: ScriptedServer, tmp_path: Path, refused: bool) -> None:
    server.unknown = {"response_format"} if refused else set()
    with closing(Engine(settings=settings(server, storage_path=tmp_path / "home"))) as engine:
        detail = next(check.detail for check in run(engine.admin.doctor()).checks if check.name == "language model")
    assert ("refuses schemas, so that prompts describe them" in detail) == refused


def test_the_doctor_advises_on_a_slow_model(server: ScriptedServer, tmp_path: Path) -> None:
    def slowly(request: Request) -> FakeReply:
        asked = request.messages[-1].text
        return (
            FakeReply("one, two, three, four, five", wait=0.2)
            if "forty" in asked
            else FakeReply(answers(request), wait=0.3)
        )

    server.answer = slowly
    said = {"model_timeout": 9, "reason_seconds": 2, "vlm_model": "eyes", "storage_path": tmp_path / "home"}
    with closing(Engine(settings=settings(server, **said))) as engine:
        details = {check.name: check.detail for check in run(engine.admin.doctor()).checks}
    assert re.search(r"set model_timeout \(9\) to \d+0, or use effort fast", details["language model"])
    assert re.search(r"for index set model_timeout \(9\) to \d+0, or enrich to never", details["language model"])
    assert "reason_seconds (2) ends such a search: set it to 0" in details["language model"]
    assert "set max_concurrent_pages (5) to 1" in details["vision model"]


def test_speed_tells_what_is_advised() -> None:
    slow, local, quick = Speed(30, 2), Speed(400, 40), Speed(4_000, 100)
    said = advice(slow, 75, Settings(), sees=False)
    assert said == (
        "reads 30 and writes 2.0 tokens/s, took about 62 s to be loaded, so that a call of a deep search (at most 4) "
        "takes about 242 s, an answer 467 s, the largest call of index 2,533 s; set model_timeout (120) to 810, or use "
        "effort fast; for index set model_timeout (120) to 3900, or enrich to never"
    )
    assert advice(local, 1, Settings(), sees=False).partition("; ")[2] == (
        "for index set model_timeout (120) to 210, or enrich to never"
    )
    assert ";" not in advice(quick, 1, Settings(), sees=False)
    assert "set model_timeout (120) to 690, or vision to never" in advice(slow, 75, Settings(), sees=True)
    assert advice(quick, 1, Settings(), sees=True) == "reads 4,000 and writes 100 tokens/s; a page takes about 6.6 s"


def test_a_model_that_is_still_loaded_has_the_time_of_a_call(
    server: ScriptedServer, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float] = []
    complete = OpenAIChat.complete

    def watched(self: OpenAIChat, request: Request, timeout: float, *rest: Any) -> Any:
        given.append(timeout)
        return complete(self, request, timeout, *rest)

    monkeypatch.setattr(OpenAIChat, "complete", watched)
    Models(settings(server, vlm_model="eyes", model_timeout=300), cache).check("vlm")
    assert given == [pytest.approx(300, abs=1)]
    server.answer = lambda request: FakeReply(answers(request), wait=30)
    with pytest.raises(ChatError, match=r"within 1 s.*model_timeout"):
        Models(settings(server, vlm_model="eyes", model_timeout=1), cache).check("vlm")


def test_the_doctor_reads_a_recording(tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    engine = Engine(settings=Settings(replay_replies=str(tape), storage_path=tmp_path / "home"))
    with closing(engine):
        details = {check.name: (check.ok, check.detail) for check in run(engine.admin.doctor()).checks}
        assert (
            not details["language model"][0]
            and "does not contain recorded replies of a model" in details["language model"][1]
        )
        assert details["vision model"][1].startswith("none"), "none is named, so none is played"
        tape.write_text("")
        assert run(engine.admin.doctor()).ok


@pytest.mark.parametrize(
    ("said", "detail"),
    [
        (FakeReply(status=401, body={"error": {"message": f"Incorrect API key {KEY}"}}), "Check the API key"),
        (FakeReply(status=404, body={"error": {"message": "no model m"}}), "Check the model's name"),
        (FakeReply(status=400, body={"error": {"message": "image input is not supported"}}), "a vision model"),
        (FakeReply('{"word": "a blue sky"}'), "cannot read images: it described a red image as 'a blue sky'"),
        (FakeReply("I see nothing."), "no usable answer"),
        (FakeReply(status=503, body={"error": {"message": "loading"}}), "Try again later"),
    ],
)
def test_the_doctor_says_what_is_wrong_without_trying_for_long(
    server: ScriptedServer, cache: Cache, said: FakeReply, detail: str
) -> None:
    server.answer = lambda request: said
    with pytest.raises(PageIndexError) as caught:
        Models(settings(server, vlm_model="v"), cache).check("vlm")
    assert detail in str(caught.value) and KEY not in str(caught.value) and len(server.requests) <= 2


def test_the_doctor_on_the_command_line(server: ScriptedServer, program: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGEINDEX_LLM_MODEL", "m")
    monkeypatch.setenv("PAGEINDEX_LLM_API_KEY", KEY)
    monkeypatch.setenv("PAGEINDEX_LLM_BASE_URL", server.url)
    assert "answers in" in program("doctor").stdout
    server.answer = lambda request: FakeReply(status=401, body={"error": {"message": "bad"}})
    done = program("doctor")
    assert done.returncode != 0 and "Check the API key" in done.stdout + done.stderr
    assert KEY not in done.stdout + done.stderr
