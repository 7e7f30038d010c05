"""The HTTP API as programs use it, over real HTTP."""

from __future__ import annotations

import json

import httpx

from tests.doors.http.conftest import Serving, upload, wait_for_jobs

MILL = "# The mill\n\nThe mill was sold to the town in 1987.\n\n## Price\n\nIt cost 4,200 crowns.\n"


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
        assert client.delete("/libraries/mills").json() == {"deleted": ["mills"]}
        assert client.get("/libraries/mills").json()["error"]["code"] == "not_found"


def test_one_file_as_a_body_keeps_its_folder(served: Serving) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "raw"})
        answered = client.post(
            "/libraries/raw/documents", params={"name": "../a/b/notes.md"}, content=MILL.encode(),
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


Told = tuple[int, str, dict[str, object]]


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
