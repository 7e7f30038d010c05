"""Conversations over HTTP: streams that break off and are resumed, reloads, branches, and whose they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from hybrid_core.errors import NotFoundError
from hybrid_pageindex.client import Client
from tests.doubles.replies import FakeReply
from tests.doubles.scripted_server import ScriptedServer
from tests.interfaces.http.conftest import GOOD, MILL, SOLD, START, Serving, serving, serving_with, upload
from tests.interfaces.http.test_http import events, read

pytest.importorskip("openai", reason="the extra openai is not installed")


@pytest.fixture(scope="module")
def talking(tmp_path_factory: pytest.TempPathFactory, model: ScriptedServer) -> Iterator[Serving]:
    with serving_with(model, tmp_path_factory.mktemp("talking")) as made:
        with made.client() as client:
            for name in ("mills", "secret"):
                client.post("/libraries", json={"name": name})
                upload(client, name, mill=MILL)
        yield made


def ended(client: httpx.Client, message: dict[str, Any]) -> dict[str, Any]:
    path = f"/conversations/{message['conversation']}/messages/{message['id']}"
    assert events(client, f"{path}/events")[-1][1] == "ended"
    found: dict[str, Any] = client.get(path).json()
    return found


def test_an_answer_is_complete_after_a_stream_broke_off(talking: Serving, model: ScriptedServer) -> None:
    with talking.client() as client:
        made = client.post("/conversations", json={"libraries": ["mills"]})
        assert made.status_code == 201
        path = f"/conversations/{made.json()['id']}"
        model.replies.append(FakeReply(GOOD * 10, wait=0.02))
        asking = client.stream(
            "POST", f"{path}/messages", json={"question": SOLD}, headers={"Accept": "text/event-stream"}
        )  # fmt: skip
        text = ""
        with asking as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            for piece in response.iter_text():
                text += piece
                if "event: text" in text:
                    break  # the page is reloaded
        heard = read(text.rpartition("\n\n")[0])
        id, last = heard[0][2]["message"], heard[-1][0]
        busy = client.post(f"{path}/messages", json={"question": "And its price?"})
        assert busy.status_code == 409 and busy.json()["error"]["code"] == "answering"
        reloaded = client.get(path).json()
        assert [one["status"] for one in reloaded["messages"]] == ["complete", "running"]
        rest = events(client, f"{path}/messages/{id}/events", {"Last-Event-ID": str(last)})
        numbers = [number for number, _, _ in (*heard, *rest)]
        assert numbers == list(range(1, numbers[-1] + 1))
        assert rest[-1][1] == "ended" and rest[-1][2]["text"] == GOOD * 10
        done = client.get(path).json()
        assert done["messages"][1]["text"] == GOOD * 10 and done["title"] == "When was the mill sold"
        place = client.get(f"{path}/messages/{id}/citations/1").json()
        assert place["citation"]["doc_name"] == "mill.md" and place["citation"]["page"] == 1


def test_questions_go_on_from_each_other_and_branch(talking: Serving) -> None:
    with talking.client() as client:
        path = f"/conversations/{client.post('/conversations', json={'libraries': ['mills']}).json()['id']}"
        first = ended(client, client.post(f"{path}/messages", json={"question": SOLD}).json())
        answered = client.post(f"{path}/messages", json={"question": "And what did it cost?"})
        assert answered.status_code == 202 and answered.headers["location"].endswith(str(answered.json()["id"]))
        second = ended(client, answered.json())
        assert (second["searched"], second["searched_from"]) == (SOLD, "model")
        edited = client.post(f"{path}/messages/{second['parent']}/edit", json={"question": "Who bought the mill?"})
        branch = ended(client, edited.json())
        shown = client.get(path).json()["messages"]
        assert [one["id"] for one in shown] == [first["parent"], first["id"], branch["parent"], branch["id"]]
        assert shown[2]["siblings"] == [second["parent"], branch["parent"]]
        assert client.patch(path, json={"leaf": second["id"], "title": "Mills"}).json()["title"] == "Mills"
        assert client.get(path).json()["messages"][-1]["id"] == second["id"]
        again = ended(client, client.post(f"{path}/messages/{second['id']}/again", json={}).json())
        assert again["siblings"] == [second["id"], again["id"]]
        assert not client.post(f"{path}/messages/{again['id']}/cancel", json={}).json()["cancelled"]
        exported = client.get(f"{path}/export")
        assert exported.text.startswith("# Mills") and "attachment" in exported.headers["content-disposition"]
        assert json.loads(client.get(f"{path}/export", params={"format": "json"}).text)["messages"]
        for format, kind, head in (("docx", "wordprocessingml.document", b"PK"), ("pdf", "application/pdf", b"%PDF")):
            exported = client.get(f"{path}/export", params={"format": format})
            assert exported.headers["content-type"].endswith(kind) and exported.content.startswith(head)
            assert exported.headers["content-disposition"].endswith(f'.{format}"')
        tag = client.get(path).headers["etag"]
        assert client.get(path, headers={"If-None-Match": tag}).status_code == 304
        listed = client.get("/conversations", params={"limit": 1}).json()
        assert listed["conversations"][0]["title"] == "Mills" and listed["next"]
        assert client.get("/conversations", params={"before": listed["next"]}).json()["conversations"] != []
        assert client.delete(path).json()["deleted"] and client.get(path).status_code == 404


def test_a_running_answer_is_cancelled(talking: Serving, model: ScriptedServer) -> None:
    with talking.client() as client:
        path = f"/conversations/{client.post('/conversations', json={'libraries': ['mills']}).json()['id']}"
        model.replies.append(FakeReply(GOOD * 50, wait=0.2))
        begun = client.post(f"{path}/messages", json={"question": "When was the mill sold to the town?"}).json()
        with client.stream("GET", f"{path}/messages/{begun['id']}/events") as response:
            for piece in response.iter_text():
                if "event: text" in piece:
                    break
        assert client.post(f"{path}/messages/{begun['id']}/cancel", json={}).json() == {"cancelled": True}
        assert ended(client, begun)["status"] == "cancelled"


def test_conversations_are_their_owners(talking: Serving) -> None:
    with talking.client() as admin:
        made = admin.post("/tokens", json={"name": "reader", "libraries": ["mills"]})
        assert made.status_code == 201, made.text
        with talking.client(made.json()["secret"]) as reader:
            assert reader.post("/conversations", json={"libraries": ["secret"]}).status_code == 404
            own = reader.post("/conversations", json={"all_libraries": True}).json()
            assert own["scope"]["libraries"] == ["mills"]
            others = admin.post("/conversations", json={"libraries": ["mills"]}).json()
            assert reader.get(f"/conversations/{others['id']}").status_code == 404
            assert [one["id"] for one in reader.get("/conversations").json()["conversations"]] == [own["id"]]
            assert admin.get(f"/conversations/{own['id']}").status_code == 200
            message = ended(reader, reader.post(f"/conversations/{own['id']}/messages", json={"question": SOLD}).json())
            foreign = ended(
                admin, admin.post(f"/conversations/{others['id']}/messages", json={"question": SOLD}).json()
            )
            stolen = f"/conversations/{own['id']}/messages/{foreign['id']}"
            assert message["text"].startswith(GOOD) and reader.get(stolen).status_code == 404


def test_a_conversation_about_a_library_that_is_gone_stays_with_who_made_it(talking: Serving) -> None:
    with talking.client() as admin:
        admin.post("/libraries", json={"name": "leaving"})
        upload(admin, "leaving", mill=MILL)
        names = {"of it": ["leaving"], "of another": ["mills"]}
        made = {
            name: admin.post("/tokens", json={"name": name, "libraries": libraries}).json()["secret"]
            for name, libraries in names.items()
        }
        with talking.client(made["of it"]) as reader, talking.client(made["of another"]) as other:
            own = f"/conversations/{reader.post('/conversations', json={'libraries': ['leaving']}).json()['id']}"
            answer = ended(reader, reader.post(f"{own}/messages", json={"question": SOLD}).json())
            admin.delete("/libraries/leaving")
            assert other.get(own).status_code == 404
            kept = reader.get(own)
            assert kept.status_code == 200 and kept.json()["messages"][-1]["text"] == answer["text"]
            again = reader.get(f"{own}/messages/{answer['id']}").json()
            assert again["citations"] and {one["state"] for one in again["citations"]} == {"gone"}
            admin.post("/libraries", json={"name": "leaving"})
            assert reader.get(own).status_code == 200, "a library of that name is another one"


def test_a_server_that_ends_leaves_an_answer_that_can_be_made_again(tmp_path: Path, model: ScriptedServer) -> None:
    said = {"PAGEINDEX_LLM_MODEL": "scripted-2", "PAGEINDEX_LLM_BASE_URL": model.url, "PAGEINDEX_EFFORT": "fast"}
    with serving(tmp_path, **said) as first, first.client() as client:
        client.post("/libraries", json={"name": "default"})
        upload(client, "default", mill=MILL)
        path = f"/conversations/{client.post('/conversations', json={}).json()['id']}"
        model.replies.append(FakeReply(GOOD * 100, wait=0.2))
        begun = client.post(f"{path}/messages", json={"question": SOLD}).json()
        with client.stream("GET", f"{path}/messages/{begun['id']}/events") as response:
            for piece in response.iter_text():
                if "event: text" in piece:
                    break
        first.process.terminate()
        assert first.process.wait(600) in (0, -15)
    with serving(tmp_path, **said) as second, second.client() as client:
        left = client.get(path).json()["messages"][-1]
        assert left["status"] == "interrupted" and left["text"].startswith("The")
        done = ended(client, client.post(f"{path}/messages/{left['id']}/again", json={}).json())
        assert (done["id"], done["status"], done["text"]) == (left["id"], "complete", GOOD)


async def test_what_models_would_take_is_told_before_any_is_asked(talking: Serving, model: ScriptedServer) -> None:
    asked = len(model.requests)
    async with Client(talking.url, START) as client:
        told = await client.models.estimate(library="mills")
        assert told.usage.calls == 1 and told.usage.input_tokens > 100 and (told.pages, told.cost) == (0, None)
        assert [one.doc_name for one in told.documents] == ["mill.md"] and len(model.requests) == asked
        with pytest.raises(NotFoundError):
            await client.models.estimate("quarry.pdf", library="mills")
