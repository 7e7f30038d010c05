"""What models took is counted for whom it was, and a month's limit ends it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hybrid_core.errors import UsageError
from hybrid_core.llm.budget import charged
from hybrid_pageindex import Engine, run
from hybrid_pageindex.config.settings import load_settings
from tests.doubles.scripted_server import ScriptedServer, scripted_server

pytest.importorskip("openai", reason="the extra openai is not installed")
MILL = "# The mill\n\nThe mill was sold to the town in 1987.\n"
SOLD = "When was the mill sold?"


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with scripted_server(lambda _: "The mill was sold in 1987 [[source:1]].") as made:
        yield made


def opened(home: Path, model: ScriptedServer, **more: str) -> Engine:
    said = {"LLM_MODEL": "m", "LLM_BASE_URL": model.url, "EFFORT": "fast", "ENRICH": "never"} | more
    settings = load_settings(home, {f"PAGEINDEX_{name}": value for name, value in said.items()})
    engine = Engine(settings=settings)
    if not run(engine.libraries.list()):
        run(engine.index(MILL.encode(), name="mill.md", library="mills"))
    return engine


def ask(engine: Engine, question: str = SOLD) -> Any:
    return run(engine.ask(question, library="mills"))


def test_what_a_model_took_is_kept_by_day_library_and_caller(tmp_path: Path, model: ScriptedServer) -> None:
    engine = opened(tmp_path, model, MODEL_PRICES="m=1000000/2000000")
    usage = ask(engine).usage
    with charged(who="anna"):
        ask(engine, "When was the mill sold to the town?")
        turn = run(engine.conversations.create(libraries="mills"))
        run(engine.conversations.wait(run(engine.conversations.ask(turn.id, f"{SOLD} In 1987?")).id))
    ask(engine)  # kept from before: it costs nothing
    engine.close()
    engine = opened(tmp_path, model)
    found = run(engine.models.usage())
    by_caller = {one.who: one for one in found.days}
    assert by_caller.keys() == {"", "anna"} and {one.library for one in found.days} == {"mills"}
    mine = by_caller[""]
    assert (mine.calls, mine.input_tokens, mine.output_tokens) == (1, usage.input_tokens, usage.output_tokens)
    assert mine.cost == usage.cost == usage.input_tokens + 2 * usage.output_tokens > 0 and not mine.unpriced
    assert by_caller["anna"].calls == 2 and found.month_cost == sum(one.cost for one in found.days)
    run(engine.libraries.clear())
    left = run(engine.models.usage())
    assert left.month_cost == found.month_cost and {(one.who, one.library) for one in left.days} == {("", "")}
    assert not run(engine.models.usage("2000-01-01", "2000-12-31")).days
    with pytest.raises(UsageError):
        run(engine.models.usage("yesterday"))
    engine.close()


@pytest.mark.parametrize(
    ("limits", "setting"),
    [
        ({"MODEL_PRICES": "m=1000000/0", "MONTHLY_SPENDING": "1"}, "monthly_spending"),
        ({"MONTHLY_TOKENS": "10"}, "monthly_tokens"),
    ],
)
def test_a_call_beyond_the_limit_is_refused(
    tmp_path: Path, model: ScriptedServer, limits: dict[str, str], setting: str
) -> None:
    engine = opened(tmp_path, model, **limits)
    assert ask(engine).status == "answered"
    refused = ask(engine, "When was the mill sold to the town?")
    assert refused.status == "model_failed" and len(model.requests) == 1 and refused.sources
    assert "next month" in refused.why and setting in refused.why
    run(engine.admin.change_settings({setting: 10**9}))
    assert ask(engine, "When was the mill sold to the town?").status == "answered"
    engine.close()


def test_a_limit_that_does_not_bound_a_model_says_so(tmp_path: Path, model: ScriptedServer) -> None:
    engine = opened(tmp_path, model, MONTHLY_SPENDING="1")
    ask(engine)
    assert "model_prices has no price for openai:m" in run(engine.models.usage()).notes[0]
    engine.close()
