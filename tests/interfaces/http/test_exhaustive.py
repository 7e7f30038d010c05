"""Counting and comparing over HTTP: complete, and only in the libraries of a token."""

from __future__ import annotations

from tests.interfaces.http.conftest import MILL, Serving, upload


def test_pages_are_counted_and_compared_only_where_a_token_may_read(served: Serving) -> None:
    with served.client() as owner:
        for name in ("open", "closed"):
            owner.post("/libraries", json={"name": name})
            upload(owner, name, **{f"{name}-one": f"# {name}\n\nThe quokka costs 7.\n"})
        token = owner.post("/tokens", json={"name": "exhaustive", "role": "read", "libraries": ["open"]}).json()[
            "secret"
        ]
        everywhere = owner.post("/grep", json={"pattern": "quokka", "all_libraries": True}).json()
        sides = {"left": {"document": "open-one.md", "library": "open"}, "right": {"document": "closed-one.md"}}
        sides["right"]["library"] = "closed"
        compared = owner.post("/compare", json=sides)
        assert (everywhere["total_pages"], everywhere["complete"]) == (2, True)
        assert compared.status_code == 200 and compared.json()["changed"] + compared.json()["added"] >= 1
    with served.client(token) as other:
        found = other.post("/grep", json={"pattern": "quokka", "all_libraries": True, "listed": "documents"}).json()
        assert [one["library"] for one in found["documents"]] == ["open"] and found["total_pages"] == 1
        assert other.post("/grep", json={"pattern": "quokka", "libraries": ["closed"]}).status_code == 404
        assert other.post("/compare", json=sides).status_code == 404
        assert other.post("/grep", json={"pattern": "(", "regex": True, "libraries": ["open"]}).status_code == 400


def test_a_search_leaves_the_tag_of_a_library(served: Serving) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "tagged"})
        upload(client, "tagged", mill=MILL)
        tag = client.get("/libraries/tagged").headers["etag"]
        for _ in range(2):  # the first one makes the index
            assert client.post("/search", json={"question": "mill", "libraries": ["tagged"]}).status_code == 200
            assert client.get("/libraries/tagged").headers["etag"] == tag
