"""A token's libraries hold in every operation over a shared catalog and index: what it asks shows nothing of others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid_pageindex.http.api import build_api
from tests import postgres, qdrant_real
from tests.interfaces.http.conftest import serving, upload
from tests.work import examples

pytestmark = pytest.mark.slow
HIDDEN = "zanzibarquokka"  # stands in everything of the hidden library, and in nothing that is asked
THEIRS = f"# Lantern harvest\n\nThe lantern harvest of {HIDDEN} was sold to the mill in 1987.\n"
MINE = "# The mill\n\nThe mill was sold to the town in 1987.\n"
WORDS = ["lantern", "harvest", "mill", "1987", "sold", "town", "page", "theirs", "who", "Lantern harvest", "what"]


@dataclass
class Shared:
    owner: httpx.Client
    other: httpx.Client
    """Of a token that may do everything, in the library «mine» alone."""
    theirs: dict[str, str]
    """What parameters of requests must be to reach the hidden library."""

    @property
    def completions(self) -> str:
        return f"{self.root}/v1/chat/completions"

    @property
    def models(self) -> str:
        return f"{self.root}/v1/models"

    @property
    def root(self) -> str:
        return str(self.owner.base_url).removesuffix("/api/v1/")

    def hidden(self) -> list[Any]:
        """What the owner sees of it."""
        listed = self.owner.get("/libraries/theirs/documents").json()["documents"]
        paths = (
            "/libraries/theirs",
            "/libraries/theirs/notes",
            "/libraries/theirs/sources",
            f"/jobs/{self.theirs['job']}",
        )
        seen = [self.owner.get(path).json() for path in paths]
        for changing in ("used_at", "vector_bytes"):
            seen[0].pop(changing)
        return [listed, *seen, self.owner.get(f"/conversations/{self.theirs['conversation']}").json()]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, postgres_url: str) -> Iterator[Shared]:
    """Over PostgreSQL, and where there is a Qdrant server over one collection of it that both libraries share."""
    with ExitStack() as stack:
        variables = {"PAGEINDEX_POSTGRES_URL": postgres.new_database(postgres_url)}
        if qdrant_real.program() is not None:
            variables["PAGEINDEX_QDRANT_URL"] = stack.enter_context(qdrant_real.node())
            variables["PAGEINDEX_QDRANT_OWN_FROM"] = "1000"
        served = stack.enter_context(serving(tmp_path_factory.mktemp("shared"), **variables))
        owner = stack.enter_context(served.client())
        for name, text in (("mine", MINE), ("theirs", THEIRS)):
            owner.post("/libraries", json={"name": name})
            upload(owner, name, **{f"{name}-document": text})
        owner.patch("/libraries/theirs", json={"alias": HIDDEN})
        upload(owner, "theirs", **{f"{HIDDEN}-gone": THEIRS})
        entry = owner.delete(f"/libraries/theirs/documents/{HIDDEN}-gone.md").json()["bin"]
        (document,) = owner.get("/libraries/theirs/documents").json()["documents"]
        note = owner.post("/libraries/theirs/notes", json={"text": HIDDEN}).json()
        conversation = owner.post("/conversations", json={"libraries": ["theirs"], "title": HIDDEN}).json()
        made = owner.post("/tokens", json={"name": "other", "role": "admin", "libraries": ["mine"]})
        asked = owner.post(
            f"{served.url}/v1/responses", json={"model": "theirs", "input": "When was the lantern harvest sold?"}
        )
        theirs = {
            "library": "theirs", "document": document["doc_id"], "note": note["id"], "one": note["id"],
            "conversation": conversation["id"], "number": "1", "message": "1", "model": "theirs", "kind": "llm",
            "job": str(owner.get("/jobs", params={"library": "theirs"}).json()["jobs"][0]["id"]),
            "action": "cancel", "name": "owner", "vector_store": "theirs", "file": document["doc_id"], "entry": entry,
            "response": asked.json()["id"],
        }  # fmt: skip
        yield Shared(owner, stack.enter_context(served.client(made.json()["secret"])), theirs)


def filled(schema: dict[str, Any], named: dict[str, Any], known: dict[str, str], name: str = "") -> Any:
    """A value of a schema that names what is hidden wherever it can."""
    if "$ref" in schema:
        schema = named[schema["$ref"].rpartition("/")[2]]
    for option in schema.get("anyOf", ()):
        if option.get("type") != "null":
            return filled(option, named, known, name)
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            fields = schema.get("properties", {})
            return {field: filled(one, named, known, field) for field, one in fields.items()}
        case "array":
            return [filled(schema.get("items", {}), named, known, name)]
        case "integer" | "number":
            return max(1, schema.get("minimum", 1))
        case "boolean":
            return False
    singular = {"libraries": "library", "documents": "document", "doc_id": "document", "names": "document"}
    return known.get(singular.get(name, name), "lantern harvest")


def test_no_operation_shows_or_changes_what_is_anothers(shared: Shared) -> None:
    described = build_api().openapi()
    named, before, tried, shown = described["components"]["schemas"], shared.hidden(), 0, 0
    assert HIDDEN in str(before)
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            ways = [shared.theirs]
            if "{library}" in path and path.count("{") > 1:  # what is theirs, in a library of one's own
                ways.append({**shared.theirs, "library": "mine"})
            for known in ways:
                where = re.sub(r"\{(\w+)\}", lambda part, known=known: known[part[1]], path)
                query = {
                    one["name"]: filled(one["schema"], named, shared.theirs, one["name"])
                    for one in operation.get("parameters", ())
                    if one["in"] == "query" and (one.get("required") or one["name"] in ("library", "libraries", "q"))
                }
                content = operation.get("requestBody", {}).get("content", {}).get("application/json")
                body = filled(content["schema"], named, shared.theirs) if content else None
                url = f"{shared.root}{where}"
                try:
                    answered = shared.other.request(method.upper(), url, params=query, json=body, timeout=600)
                    said = answered.text
                except httpx.ReadTimeout:  # a stream that has nothing to say
                    continue
                assert answered.status_code < 500, (method, path, said)
                assert HIDDEN not in said, (method, path)
                tried += 1
                if method == "get" and known is shared.theirs and not path.endswith("/events"):
                    shown += HIDDEN in shared.owner.get(url, params=query).text
    assert tried > 70 and shown > 10, "the owner is shown it by the same requests"
    assert shared.hidden() == before


questions = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
scopes = st.one_of(
    st.just({"all_libraries": True}),
    st.just({}),
    st.lists(st.sampled_from(["mine", "theirs", "nothing"]), min_size=1, max_size=3, unique=True).map(
        lambda names: {"libraries": names}
    ),
)


@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(question=questions, scope=scopes, theirs=st.booleans(), top_k=st.integers(1, 50), trace=st.booleans())
def test_no_search_finds_what_is_anothers(
    shared: Shared, question: str, scope: dict[str, Any], theirs: bool, top_k: int, trace: bool
) -> None:
    asked = {"question": question, "top_k": top_k, "trace": trace, **scope}
    if theirs:
        asked["documents"] = [shared.theirs["document"]]
    answered = shared.other.post("/search", json=asked)
    assert HIDDEN not in answered.text and shared.theirs["document"] not in answered.text.replace(
        f"'{shared.theirs['document']}'", ""
    )
    assert answered.status_code in (200, 400, 404), answered.text
    assert all(page["doc_name"] == "mine-document.md" for page in answered.json().get("results", ()))


@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    question=questions, model=st.sampled_from(["mine", "theirs", HIDDEN, "nothing"]), stream=st.booleans(),
    before=st.booleans(), in_parts=st.booleans(),
)  # fmt: skip
def test_no_question_of_a_chat_program_is_answered_from_what_is_anothers(
    shared: Shared, question: str, model: str, stream: bool, before: bool, in_parts: bool
) -> None:
    """Also where it says that the answer before rests on a page of theirs."""
    rested = f"[theirs](http://localhost/api/v1/libraries/theirs/documents/{shared.theirs['document']}/pages/1/picture)"
    said = [
        {"role": "user", "content": "Who sold the lantern harvest?"},
        {"role": "assistant", "content": f"The mill [1].\n\n**Sources**\n1. {rested}"},
    ]
    content = [{"type": "text", "text": question}] if in_parts else question
    messages = [*(said if before else ()), {"role": "user", "content": content}]
    asked = {"model": model, "messages": messages, "stream": stream}
    answered = shared.other.post(shared.completions, json=asked, timeout=600)
    hidden = (HIDDEN, "theirs-document", shared.theirs["document"])
    assert not any(one in answered.text.replace(f"'{model}'", "") for one in hidden)
    assert answered.status_code == (200 if model == "mine" else 404), answered.text
    assert "mine-document" in answered.text or model != "mine" or not {"mill", "town"} & {*question.split()}


@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(question=questions, scope=scopes, theirs=st.booleans())
def test_no_answer_rests_on_what_is_anothers(
    shared: Shared, question: str, scope: dict[str, Any], theirs: bool
) -> None:
    asked = {"question": question, **scope} | ({"documents": [shared.theirs["document"]]} if theirs else {})
    answered = shared.other.post("/ask", json=asked, timeout=600)
    assert HIDDEN not in answered.text and "theirs-document" not in answered.text
    assert answered.status_code in (200, 400, 404), answered.text


def test_the_owner_finds_it(shared: Shared) -> None:
    """So what the others prove is not that nothing is there."""
    question = "lantern harvest"
    found = shared.owner.post("/search", json={"question": question, "all_libraries": True})
    asked = {"model": HIDDEN, "messages": [{"role": "user", "content": question}]}
    told = shared.owner.post(shared.completions, json=asked)
    assert HIDDEN in found.text and "theirs-document" in told.text
    assert [one["id"] for one in shared.other.get(shared.models).json()["data"]] == ["mine"]
