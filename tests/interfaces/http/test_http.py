"""The HTTP API as programs use it, over real HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from eval.datasets.custom import read_custom as read_set
from tests.doubles.scripted_server import scripted_server
from tests.interfaces.http.conftest import Serving, serving, upload, wait_for_jobs

MILL = "# The mill\n\nThe mill was sold to the town in 1987.\n\n## Price\n\nIt cost 4,200 crowns.\n"
ABOUT = {"text": "look again", "document": "mill.md", "page": 1}


def test_from_a_file_to_an_answer(served: Serving) -> None:
    with served.client() as client:
        made = client.post("/libraries", json={"name": "mills", "alias": "磨坊"})
        assert made.status_code == 201 and made.json()["id"] == "mills"
        [job] = upload(client, "mills", mill=MILL)
        assert job["status"] == "done"
        listed = client.get("/libraries/磨坊/documents").json()
        assert [one["name"] for one in listed["documents"]] == ["mill.md"] and listed["total"] == 1
        doc = listed["documents"][0]["doc_id"]
        found = client.post("/search", json={"question": "When was the mill sold?", "libraries": ["mills"]})
        assert found.status_code == 200 and found.json()["results"][0]["doc_id"] == doc
        [page] = client.get(f"/libraries/mills/documents/{doc}/pages").json()
        assert "1987" in page["text"]
        picture = client.get(f"{served.url}{page['picture']}")
        assert picture.content[:4] == b"\x89PNG" and "immutable" in picture.headers["cache-control"]
        again = client.get(f"{served.url}{page['picture']}", headers={"If-None-Match": picture.headers["etag"]})
        assert again.status_code == 304
        layout = client.get(f"/libraries/mills/documents/{doc}/pages/1/layout").json()
        assert any(word["text"] == "1987." for word in layout["words"])
        tree = client.get(f"/libraries/mills/documents/{doc}/outline", params={"q": "price of the mill"}).json()
        assert tree["nodes"] and "node_score" in tree["nodes"][0]
        answer = client.post("/ask", json={"question": "When was the mill sold?", "libraries": ["mills"]}).json()
        assert answer["status"] == "no_model" and answer["sources"][0]["doc_id"] == doc
        original = client.get(f"/libraries/mills/documents/{doc}/original", headers={"Range": "bytes=2-9"})
        assert original.status_code == 206 and original.content == b"The mill"
        assert original.headers["content-disposition"].startswith("attachment")
        assert client.delete(f"/libraries/mills/documents/{doc}").json()["removed"][0]["doc_id"] == doc
        assert client.delete("/libraries/mills").json() == {
            "deleted": ["mills"],
            "conversations_kept": 0,
            "bin": "mills",
        }
        assert client.get("/libraries/mills").json()["error"]["code"] == "not_found"


def test_one_file_as_a_body_keeps_its_folder(served: Serving) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "raw"})
        answered = client.post(
            "/libraries/raw/documents", params={"name": "a/b/notes.md"}, content=MILL.encode(),
            headers={"Content-Type": "application/octet-stream"},
        )  # fmt: skip
        [file] = answered.json()["files"]
        assert file["path"] == "upload:/a/b/notes.md"
        [job] = wait_for_jobs(client, [file["job"]])
        assert job["status"] == "done"


def test_a_stream_of_jobs_is_resumed_where_it_broke_off(served: Serving) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "streams"})
        [before] = first_events(client, "/jobs/events", 1)
        assert before[1:] == ("state", {"jobs": []})
        [job] = upload(client, "streams", one=MILL)
        whole = events(client, f"/jobs/{job['id']}/events?after={before[0]}")
        assert whole[0][1] == "enqueued"
        numbers = [number for number, _, _ in whole]
        assert numbers == sorted(numbers) and whole[-1][1] == "done"
        rest = events(client, f"/jobs/{job['id']}/events", {"Last-Event-ID": str(numbers[-2])})
        assert [number for number, _, _ in rest] == [numbers[-1]]
        beyond = events(client, f"/jobs/{job['id']}/events", {"Last-Event-ID": str(10**12)})
        assert beyond[0][1] == "state" and beyond[0][2]["jobs"][0]["status"] == "done", "of a log of before"


def test_a_stream_names_the_libraries_that_came_changed_or_went(tmp_path: Path) -> None:
    with serving(tmp_path / "home") as own, own.client() as client:
        ids = {name: client.post("/libraries", json={"name": name}).json()["id"] for name in ("tide", "lock")}
        tide = ids["tide"]
        upload(client, "tide", one=MILL)
        torn = client.post("/libraries/tide/documents", files={"file": ("torn.pdf", b"%PDF-1.7 torn")}).json()
        [failed] = wait_for_jobs(client, [torn["files"][0]["job"]])
        assert failed["status"] == "failed"
        reader = client.post("/tokens", json={"name": "reader", "libraries": ["lock"]}).json()["secret"]
        with client.stream("GET", "/jobs/events") as all_of_them, own.client(reader) as reading:
            heard = changes(all_of_them)
            marks = iter(range(100))

            def change(method: str, path: str, **more: Any) -> set[str]:
                """Return the names after a request, up to a library that was made after it and sorts last."""
                client.request(method, path, **more).raise_for_status()
                mark = client.post("/libraries", json={"name": f"zz {next(marks)}"}).json()["id"]
                return set(iter(lambda: next(heard), mark))

            with reading.stream("GET", "/jobs/events") as own_alone:
                assert change("PATCH", "/libraries/tide", json={"alias": "The tide"}) == {tide}
                assert change("DELETE", "/libraries/tide/documents/one.md") == {tide, ""}, "the bin is of no library"
                assert change("POST", "/jobs/pause", json={"library": "tide"}) == {""}
                assert change("POST", "/jobs/resume", json={"library": "tide"}) == {""}
                assert change("POST", f"/jobs/{failed['id']}/forget") == {""}
                assert change("DELETE", "/libraries/tide") == {tide, ""}
                assert change("PATCH", "/libraries/lock", json={"name": "sluice"}) == {ids["lock"]}
                allowed = changes(own_alone)
                assert set(iter(lambda: next(allowed), ids["lock"])) <= {""}, "of others a reader does not learn"
            assert "" in change("POST", "/clear", json={"confirm": "everything"})


Told = tuple[int, str, dict[str, object]]


def changes(response: httpx.Response) -> Iterator[str]:
    """The libraries that a stream names."""
    lines = response.iter_lines()
    for line in lines:
        if line == "event: changed":
            yield json.loads(next(lines).removeprefix("data: "))["library"]


def events(client: httpx.Client, path: str, headers: dict[str, str] | None = None) -> list[Told]:
    """Number, kind and data of each event, until the stream ends."""
    with client.stream("GET", path, headers=headers) as response:
        assert response.status_code == 200
        return read("".join(response.iter_text()))


def first_events(client: httpx.Client, path: str, count: int) -> list[Told]:
    """Of a stream that goes on."""
    text = ""
    with client.stream("GET", path) as response:
        for piece in response.iter_text():
            text += piece
            if len(found := read(text.rpartition("\n\n")[0])) >= count:
                return found[:count]
    raise AssertionError(f"The stream ended: {text}")


def read(text: str) -> list[Told]:
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and line[0] != ":")
        if "data" in fields:
            found.append((int(fields.get("id", -1)), fields.get("event", ""), json.loads(fields["data"])))
    return found


def test_a_key_lets_a_request_be_carried_out_once(served: Serving) -> None:
    with served.client() as client:
        key = {"Idempotency-Key": "k-1"}
        first = client.post("/libraries", json={"name": "once"}, headers=key)
        again = client.post("/libraries", json={"name": "once"}, headers=key)
        assert first.status_code == again.status_code == 201 and first.json() == again.json()
        assert again.headers["idempotent-replay"] == "true" and again.headers["location"] == first.headers["location"]
        other = client.post("/libraries", json={"name": "other"}, headers=key)
        assert other.status_code == 422 and other.json()["error"]["code"] == "key_used"
        failed = [client.post("/libraries", json={"name": "once"}, headers={"Idempotency-Key": "k-2"}) for _ in "12"]
        assert [one.status_code for one in failed] == [409, 409], "what failed may be tried again"
        tokens = [client.post("/tokens", json={"name": f"t{n}"}, headers={"Idempotency-Key": "k-3"}) for n in "12"]
        assert [one.status_code for one in tokens] == [201, 201], "a secret is not kept to be told again"


def test_lists_are_filtered_sorted_and_gone_on_with(served: Serving) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "lists"})
        upload(client, "lists", **{f"doc-{n}": f"# Part {n}\n\n{'words ' * n}" for n in range(5)})
        where = "/libraries/lists/documents"
        seen, cursor = [], ""
        while True:
            part = client.get(where, params={"sort": "-name", "limit": 2, "cursor": cursor}).json()
            seen += [one["name"] for one in part["documents"]]
            if not (cursor := part["cursor"]):
                break
        assert seen == [f"doc-{n}.md" for n in (4, 3, 2, 1, 0)] and part["total"] == 5
        assert [one["name"] for one in client.get(where, params={"find": "DOC-3"}).json()["documents"]] == ["doc-3.md"]
        for wrong in ({"cursor": "nonsense"}, {"sort": "colour"}, {"where": "nonsense"}):
            assert client.get(where, params=wrong).json()["error"]["code"] == "bad_request", wrong
        tag = client.get(where).headers["etag"]
        assert client.get(where, headers={"If-None-Match": tag}).status_code == 304
        upload(client, "lists", later="# Later\n\nmore")
        assert client.get(where, headers={"If-None-Match": tag}).status_code == 200


def test_what_somebody_else_changed_is_not_corrected_unseen(served: Serving) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "corrected"})
        upload(client, "corrected", letter="# A letter\n\nAbout the weir.\n")
        path = "/libraries/corrected/documents/letter.md"
        seen = {"If-Match": client.get(path).headers["etag"]}
        first = client.patch(path, json={"set": {"organisation": "Weir & Sons"}}, headers=seen)
        assert first.status_code == 200 and first.json()["card"]["names"] == ["Weir & Sons"]
        late = client.patch(path, json={"set": {"organisation": "Mill Ltd"}}, headers=seen)
        assert (late.status_code, late.json()["error"]["code"]) == (412, "changed")
        now = {"If-Match": first.headers["etag"]}
        assert client.patch(path, json={"unset": ["organisation"]}, headers=now).json()["corrections"] == {}
        wrong = client.patch(path, json={"set": {"colour": "red"}})
        assert wrong.status_code == 400 and "colour" in wrong.json()["error"]["message"]
        [version] = client.get(f"{path}/versions").json()
        assert version["current"] and version["made"]["format"] == "markdown"
        printed = client.get(f"{path}/pages/1/picture", params={"view": "office"})
        assert printed.status_code == 400 and "LibreOffice" in printed.json()["error"]["message"]


def test_words_are_found_in_a_document(served: Serving) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "find"})
        upload(client, "find", mill=MILL)
        found = client.get("/libraries/find/documents/mill.md/find", params={"q": "SOLD  to the"}).json()
        [match] = found["matches"]
        page = client.get("/libraries/find/documents/mill.md/pages/1").json()
        assert page["text"][match["start"] : match["end"]] == "sold to the" and match["page"] == 1 and not found["more"]


def test_notes_and_feedback_become_a_question_set(served: Serving, tmp_path: Path) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "said"})
        upload(client, "said", mill=MILL)
        note = client.post(
            "/libraries/said/notes", json={"text": "look again", "document": "mill.md", "page": 1}
        ).json()
        changed = client.put(f"/libraries/said/notes/{note['id']}", json={"text": "looked"}).json()
        assert changed["text"] == "looked" and changed["page"] == 1 and changed["author"] == "owner"
        assert [one["id"] for one in client.get("/libraries/said/notes?document=mill.md").json()] == [note["id"]]
        assert client.delete(f"/libraries/said/notes/{note['id']}").status_code == 204
        assert client.put("/libraries/said/notes/none", json={"text": "x"}).status_code == 404
        asked = {"question": "When was it sold?", "document": "mill.md", "page": 1, "answer": "1987"}
        for body in (asked, asked | {"right": False, "page": 2}, {"question": "Who built it?"}):
            assert client.post("/libraries/said/feedback", json=body).status_code == 201
        (tmp_path / "q.jsonl").write_bytes(client.get("/libraries/said/feedback.jsonl").content)
        (tmp_path / "mill.md").write_text(MILL)
        asked_of = read_set(tmp_path, tmp_path / "q.jsonl").questions
        assert [(one.text, one.answer, one.answerable) for one in asked_of] == [
            ("When was it sold?", "1987", True), ("Who built it?", "", False),
        ]  # fmt: skip


def test_jobs_of_an_empty_library_are_those_of_all(served: Serving) -> None:
    with served.client() as client:
        for name in ("first", "second"):
            client.post("/libraries", json={"name": name})
        assert client.get("/jobs?library=").status_code == 200
        for action in ("pause", "resume"):
            assert client.post(f"/jobs/{action}", json={"everything": True, "library": ""}).status_code == 200
        assert client.post("/jobs/pause", json={"library": ""}).status_code == 400  # neither jobs nor all of them


def test_a_library_goes_on_as_one_file(served: Serving) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "moved", "alias": "搬"})
        upload(client, "moved", mill=MILL, other="# Other\n\nsomething else")
        client.post("/libraries/moved/notes", json={"text": "kept"})
        packed = client.get("/libraries/moved/export")
        assert packed.headers["content-disposition"].startswith("attachment")
        raw = {"Content-Type": "application/octet-stream"}
        done = client.post("/imports", params={"name": "arrived"}, content=packed.content, headers=raw)
        assert done.status_code == 202 and done.json() == {
            "library": "arrived", "documents": 2, "notes": 1, "feedback": 0, "vectors": 0, "conversations": 0,
            "note": "",
        }  # fmt: skip
        wait_for_jobs(client, [one["id"] for one in client.get("/jobs?library=arrived").json()["jobs"]])
        listed = client.get("/libraries/arrived/documents").json()["documents"]
        assert sorted(one["name"] for one in listed) == ["mill.md", "other.md"] and all(
            one["published"] for one in listed
        )
        assert [one["text"] for one in client.get("/libraries/arrived/notes").json()] == ["kept"]
        for damaged in (b"", b"PK", packed.content[:-50], b"x" * 1000):
            refused = client.post("/imports", params={"name": "no"}, content=damaged, headers=raw)
            assert refused.status_code in (400, 422), damaged[:10]
        assert client.get("/libraries/no").status_code == 404


def test_settings_that_may_be_changed(served: Serving) -> None:
    with served.client() as client:
        views = {one["name"]: one for one in client.get("/settings").json()}
        assert "http_token" not in views and not views["llm_base_url"]["fixed"] and not views["top_k"]["fixed"]
        changed = client.patch("/settings", json={"top_k": 1})
        assert {one["name"]: one["value"] for one in changed.json()}["top_k"] == 1
        client.post("/libraries", json={"name": "settings"})
        upload(client, "settings", mill=MILL, other=MILL.replace("mill", "dam"))
        asked = {"question": "sold to the town", "libraries": ["settings"]}
        assert len(client.post("/search", json=asked).json()["results"]) == 1
        assert "top_k: 1" in (Path(served.home) / "config.yaml").read_text()
        for wrong in ({"top_k": 0}, {"http_token": "x" * 20}, {"storage_path": "/"}, {"expert": "/etc/passwd"}):
            assert client.patch("/settings", json=wrong).status_code == 400, wrong
        client.patch("/settings", json={"top_k": 5})


def test_which_models_are_asked_is_for_who_started_the_server(served: Serving) -> None:
    with served.client() as client, scripted_server(lambda _: '{"word": "ready"}') as model:
        secret = client.post("/tokens", json={"name": "deputy", "role": "admin"}).json()["secret"]
        named = {"llm_model": "m", "llm_base_url": model.url, "llm_api_key": "never-shown-again"}
        with served.client(secret) as deputy:
            assert deputy.patch("/settings", json=named).status_code == 400
        views = {one["name"]: one for one in client.patch("/settings", json=named).json()}
        assert views["llm_api_key"]["value"] == "" and views["llm_api_key"]["given"] and "never-shown" not in str(views)
        tried = client.post("/models/llm/test").json()
        assert tried["ok"] and model.requests, tried
        client.patch("/settings", json=dict.fromkeys(named, ""))
        assert not client.post("/models/llm/test").json()["configured"]


def test_what_packs_make_of_a_question(served: Serving) -> None:
    with served.client() as client:
        asked = {"question": "What was the capex of 2018?", "expert": "finance"}
        shown = client.get("/packs/preview", params=asked).json()
        assert shown["years"] == [2018] and any(
            "property" in phrase for one in shown["added"] for phrase in one["phrases"]
        )
        assert client.post("/models/llm/test").json() == {"ok": False, "configured": False, "detail": ""}
        assert client.get("/metrics").text.startswith("# HELP pageindex_requests_total ")


def test_vectors_are_a_job(served: Serving) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "vectors"})
        upload(client, "vectors", mill=MILL)
        asked = client.post("/libraries/vectors/embed", json={"model": "hashed:16"})
        [job] = wait_for_jobs(client, [asked.json()["job"]])
        assert job["status"] == "done" and client.get("/libraries/vectors").json()["embedded"] == 1
        assert client.delete("/libraries/vectors/embed").status_code == 204
        assert client.get("/libraries/vectors").json()["embedder"] == ""


def test_answers_are_told_as_they_come(served: Serving) -> None:
    with served.client(Accept="text/event-stream") as client:
        client.post("/libraries", json={"name": "told"})
        upload(client, "told", mill=MILL)
        for path, last in (("/search", "result"), ("/ask", "answer")):
            body = {"question": "When was the mill sold?", "libraries": ["told"]}
            with client.stream("POST", path, json=body) as answered:
                told = read("".join(answered.iter_text()))
            assert told[-1][1] == last and told[-1][2]["query"] == "When was the mill sold?"
        with client.stream("POST", "/search", json={"question": "x", "libraries": ["none"]}) as answered:
            assert answered.status_code == 404


def test_the_bin_shows_and_gives_back_only_what_a_token_may(served: Serving) -> None:
    with served.client() as owner:
        secrets = {}
        for name in ("near", "far"):
            owner.post("/libraries", json={"name": name})
            upload(owner, name, one="# One\n\nA buoy.\n", two="# Two\n\nA bell.\n")
        for role in ("read", "write"):
            token = {"name": f"bin {role}", "role": role, "libraries": ["near"]}
            secrets[role] = owner.post("/tokens", json=token).json()["secret"]
        entries = {name: owner.delete(f"/libraries/{name}/documents/one.md").json()["bin"] for name in ("near", "far")}
    with served.client(secrets["read"]) as reader:
        assert reader.get("/bin").json() == []
        assert reader.post(f"/bin/{entries['near']}/restore").status_code == 403
    with served.client(secrets["write"]) as writer:
        assert [entry["id"] for entry in writer.get("/bin").json()] == [entries["near"]]
        assert writer.delete("/bin").status_code == 403
        assert writer.post(f"/bin/{entries['far']}/restore").status_code in (403, 404)
        assert writer.post(f"/bin/{entries['near']}/restore").json()["documents"] == 1
        assert writer.get("/libraries/near/documents").json()["total"] == 2
    with served.client() as owner:
        owner.delete("/libraries/near")
        with served.client(secrets["write"]) as writer:
            assert writer.get("/bin").json() == [] and writer.post("/bin/near/restore").status_code == 403
        assert owner.delete("/bin/near").status_code == 204
        assert owner.delete("/libraries/far", params={"for_good": True}).json()["bin"] == ""
        assert entries["far"] not in [entry["id"] for entry in owner.get("/bin").json()], "it goes with its library"
