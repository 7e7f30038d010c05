"""What is read out of replies, and the schemas that are asked for."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from hybrid_core.errors import UsageError
from hybrid_core.llm.budget import Price, read_prices
from hybrid_core.llm.replies import json_schema, read_reply
from tests.doubles import replies


class Entry(BaseModel):
    title: str
    page: int | None = Field(default=None, ge=1)


class Contents(BaseModel):
    title: str = ""
    entries: list[Entry]
    complete: bool = False


contents = st.builds(
    Contents,
    title=st.text(),
    entries=st.lists(st.builds(Entry, title=st.text(), page=st.none() | st.integers(1, 9999)), max_size=4),
    complete=st.booleans(),
)


@given(
    contents, st.lists(st.sampled_from([replies.chatty, replies.fenced, replies.thoughtful]), max_size=2, unique=True)
)
def test_whatever_stands_around_it_the_value_is_found(value: Contents, around: list[object]) -> None:
    text = value.model_dump_json()
    for wrap in around:
        text = wrap(text)  # type: ignore[operator]
    assert read_reply(text, Contents) == value


def test_only_what_stands_outside_of_strings_is_put_right() -> None:
    text = '{"title": "None, True ,} ,] {", "entries": [{"title": "a\nb", "page": None,},], "complete": True,}'
    expected = Contents(title="None, True ,} ,] {", entries=[Entry(title="a\nb")], complete=True)
    assert read_reply(text, Contents) == expected


def test_the_first_value_that_fits_counts() -> None:
    text = 'For {"entries": "example"} I say {"entries": []} or perhaps {"entries": [{"title": "x"}]}.'
    assert read_reply(text, Contents) == Contents(entries=[])
    with pytest.raises(ValueError, match=r"^entries: Input should be a valid list\.$"):
        read_reply('{"entries": "example"} {', Contents)


@given(st.text())
def test_any_text_is_a_value_or_a_reason(text: str) -> None:
    try:
        assert isinstance(read_reply(text, Contents), Contents)
    except ValueError as error:
        assert "\n" not in str(error) and len(str(error)) < 500


def test_schemas_are_strict_all_the_way_down() -> None:
    made = json_schema(Contents)
    assert made["required"] == ["title", "entries", "complete"], "a field may be called like a word of the schema"
    entry = made["$defs"]["Entry"]
    assert entry["required"] == ["title", "page"] and entry["additionalProperties"] is False
    assert entry["properties"]["page"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert "default" not in json.dumps(made)


def test_prices() -> None:
    table = read_prices(" gpt-4o=2.50/10, qwen2.5-vl = 0/0,odd=name=1/2 ")
    assert table == {"gpt-4o": Price(2.5, 10), "qwen2.5-vl": Price(0, 0), "odd=name": Price(1, 2)}
    assert table["gpt-4o"].cost(1_000_000, 500_000) == pytest.approx(7.5) and read_prices("") == {}
    for wrong in ("gpt-4o", "gpt-4o=1", "gpt-4o=1/x", "=1/2", "m=-1/2", "m=nan/1", "m=1/2/3"):
        with pytest.raises(UsageError, match="model_prices contains"):
            read_prices(wrong)
