"""The page of the HTTP API: whole, without scripts and other hosts, and only for callers with a token."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from hybrid_pageindex.http.api import FILE
from hybrid_pageindex.http.reference import render_reference
from tests.interfaces.http.conftest import START, Serving

DESCRIBED = json.loads(FILE.read_text(encoding="utf-8"))
VOID = {"meta", "link"}


class Parsed(HTMLParser):
    """The tags of a page with their attributes; each is closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_each_operation_and_schema_has_its_place_and_each_link_leads_to_one() -> None:
    page = Parsed(render_reference(DESCRIBED))
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    operations = {one["operationId"] for path in DESCRIBED["paths"].values() for one in path.values()}
    assert len(ids) == len(set(ids)) and operations <= set(ids)
    assert {f"schema-{name}" for name in DESCRIBED["components"]["schemas"]} <= set(ids)
    links = {attributes["href"] or "" for tag, attributes in page.tags if tag in ("a", "link")}
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)
    assert all(link.startswith(("#", "/")) and not link.startswith("//") for link in links)
    assert not [tag for tag, attributes in page.tags if tag in ("script", "style") or "style" in attributes]


@pytest.mark.parametrize(
    "hostile", ["<script>alert(1)</script>", '"><img src=x onerror=a()>', "`<b>`", "'; rm -rf ~ #"]
)
def test_words_of_the_description_never_become_tags(hostile: str) -> None:
    schema: dict[str, Any] = {"type": "string", "description": hostile, "default": hostile, "pattern": hostile}
    operation = {
        "operationId": "x", "tags": [hostile], "description": f"{hostile}\n\n{hostile}",
        "parameters": [{"name": hostile, "in": "query", "schema": {"enum": [hostile]}, "description": hostile}],
        "requestBody": {"content": {"application/json": {"schema": schema, "example": {"a": hostile}}}},
        "responses": {"200": {"description": hostile, "content": {hostile: {"schema": schema}}}},
    }  # fmt: skip
    api = {"info": {"title": hostile, "version": "1"}, "paths": {f"/{hostile}": {"post": operation}}}
    page = Parsed(render_reference(api | {"components": {"schemas": {hostile: {"properties": {hostile: schema}}}}}))
    assert not {"script", "img"} & {tag for tag, _ in page.tags}
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]


def test_a_command_quotes_the_body_for_a_shell() -> None:
    body = {"application/json": {"example": {"question": "the town's mill"}}}
    path = {"post": {"operationId": "a", "responses": {}, "requestBody": {"content": body}}}
    page = render_reference({"info": {"title": "", "version": ""}, "paths": {"/ask": path}})
    assert "the town&#x27;\\&#x27;&#x27;s mill" in page


def test_the_page_follows_the_rules_of_tokens(served: Serving) -> None:
    url = f"{served.url}/docs"
    with served.client() as client, served.bare() as stranger:
        refused = stranger.get(url)
        assert refused.status_code == 401 and refused.headers["www-authenticate"] == "Bearer"
        assert "searchVectorStore" not in refused.text and Parsed(refused.text).tags
        assert stranger.get(url, headers={"Authorization": "Bearer wrong"}).status_code == 401
        page = client.get(url)
        assert page.status_code == 200 and page.headers["content-type"] == "text/html; charset=utf-8"
        assert "searchVectorStore" in page.text
        policy = page.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'self'") and "unsafe" not in policy
        for path in re.findall(r'<link [^>]*href="([^"]+)"', page.text):
            assert stranger.get(f"{served.url}{path}").status_code == 200, path
        assert client.get(url, headers={"If-None-Match": page.headers["etag"]}).status_code == 304
        assert client.head(url).headers["content-length"] == str(len(page.content))
        assert client.post(url).headers["allow"] == "GET, HEAD, OPTIONS"
        signed_in = stranger.post("/session", json={"token": START}, headers={"Origin": served.url})
        assert signed_in.status_code == 201 and stranger.get(url).status_code == 200
