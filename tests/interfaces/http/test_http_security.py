"""What a stranger, another web page, and a token with few rights are refused."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.exceptions import ToolError

from hybrid_core.errors import UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.reader import JobReader
from hybrid_pageindex import Engine
from hybrid_pageindex.cli.parser import build_parser
from hybrid_pageindex.http.api import build_api
from hybrid_pageindex.http.command import listening_of
from hybrid_pageindex.http.guard import Hosts
from hybrid_pageindex.http.identity import OPEN
from tests.interfaces.http.conftest import START, Serving, serving, until, upload

MILL = "# The mill\n\nThe mill was sold to the town in 1987.\n"


def code(answered: httpx.Response) -> tuple[int, str]:
    return answered.status_code, answered.json()["error"]["code"]


def test_nothing_is_told_to_strangers(served: Serving) -> None:
    """Also of routes that come later: what is open is a short list."""
    closed = 0
    for path, methods in build_api().openapi()["paths"].items():
        for method in map(str.upper, methods):
            where = re.sub(r"\{[^}]*\}", "1", path.replace("{action}", "pause").replace("{kind}", "llm"))
            uploads = method == "POST" and path.endswith(("/documents", "/imports"))
            kind = "application/octet-stream" if uploads else "application/json"
            if (method, path) == ("POST", "/v1/files"):
                kind = "multipart/form-data; boundary=part"
            headers = {"Content-Type": kind}
            answered = httpx.request(method, f"{served.url}{where}", content=b"{}", headers=headers)
            if (method, path) not in OPEN:
                assert answered.status_code == 401, (method, path)
                closed += 1
    assert closed > 30
    for path in ("/mcp", "/v1/models", "/docs", "/nowhere", "/api/v1/%2e%2e/libraries", "//api/v1/libraries"):
        assert httpx.get(f"{served.url}{path}").status_code == 401, path
    with served.bare(Authorization="Bearer wrong") as client:
        assert client.get("/health").status_code == 200, "a probe with an old token is told the same as anybody"
        assert code(client.get("/libraries")) == (401, "token_refused")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil@127.0.0.1", "localhost.", "", "[::1"])
def test_a_name_that_was_pointed_at_this_machine_is_refused(served: Serving, host: str) -> None:
    """Before anything else: also what is open to all is not told to it."""
    answered = httpx.get(f"{served.api}/health", headers={"Host": host, "Authorization": f"Bearer {START}"})
    assert answered.status_code in (400, 421) and (
        answered.status_code == 400 or code(answered)[1] == "host_not_allowed"
    )


def test_hosts() -> None:
    assert not Hosts("127.0.0.1", ()).allow("192.168.1.7:8323")
    assert Hosts("127.0.0.1", ("pages.example",)).allow("pages.example")
    everywhere = Hosts("0.0.0.0", ())
    assert everywhere.allow("192.168.1.7:8323") and everywhere.allow("[fe80::1]:8323")
    assert not everywhere.allow("evil.example") and not everywhere.allow("192.168.1.7.evil.example")


def test_pages_of_other_sites_may_not_call(served: Serving) -> None:
    own = served.url
    with served.client() as client:
        for headers in (
            {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"},
            {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "none of these"},
        ):  # fmt: skip
            assert code(client.get("/libraries", headers=headers)) == (403, "origin_not_allowed"), headers
            posted = client.post("/libraries", json={"name": "x"}, headers=headers)
            assert code(posted) == (403, "origin_not_allowed")
        assert client.get("/libraries", headers={"Origin": own, "Sec-Fetch-Site": "same-origin"}).status_code == 200
        for kind in ("application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=b", ""):
            form = client.post("/libraries", content=b'{"name": "x"}', headers={"Content-Type": kind})
            assert code(form) == (415, "unsupported_type"), kind
        assert [one["name"] for one in client.get("/libraries").json()] == []


def test_a_token_that_was_made_is_in_the_address_that_is_printed(tmp_path: Path) -> None:
    with serving(tmp_path, token="") as made:
        secret = urlsplit(made.printed.rsplit(" ", 1)[1].strip()).fragment.removeprefix("token=")
        with made.client(secret) as client:
            assert client.get("/libraries").status_code == 200


def test_a_browser_signs_in_with_the_start_token(served: Serving) -> None:
    assert START not in served.printed, "one that was set is no matter of a log"
    own = {"Origin": served.url}
    with served.bare() as browser:
        assert code(browser.post("/session", json={"token": "wrong"}, headers=own)) == (401, "token_refused")
        signed = browser.post("/session", json={"token": START}, headers=own)
        cookie = signed.headers["set-cookie"].lower()
        assert signed.status_code == 201 and "httponly" in cookie and "samesite=strict" in cookie
        assert START not in signed.text + cookie
        assert browser.get("/libraries").status_code == 200
        assert code(browser.post("/libraries", json={"name": "x"})) == (403, "origin_not_allowed"), "a cookie alone"
        assert browser.post("/libraries", json={"name": "x"}, headers=own).status_code == 201
        assert browser.delete("/libraries/x", headers=own).status_code == 200
        secret = next(iter(browser.cookies.values()))
        with served.client(secret) as program:
            assert code(program.get("/libraries")) == (401, "token_refused"), "a cookie's secret is no token"
        assert browser.delete("/session", headers=own).status_code == 204
    with served.bare(Cookie=f"{next(iter(signed.cookies))}={secret}") as left:
        assert left.get("/libraries").status_code == 401, "signed out"


def test_every_answer_says_what_browsers_may_do_with_it(served: Serving) -> None:
    with served.client() as client:
        for answered in (
            client.get("/libraries"),
            client.get(served.url),
            client.get("/nothing"),
            httpx.get(f"{served.api}/jobs"),
        ):
            headers = answered.headers
            assert "default-src 'self'" in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
            assert "server" not in headers and "access-control-allow-origin" not in headers
        page = client.get(served.url).text
        assert "github.com/hybrid-pageindex" in page
        assert not re.search(r"(src|action)=\"https?:", page), "nothing comes from elsewhere"
        client.post("/libraries", json={"name": "pages"})
        upload(client, "pages", evil="<script>alert(1)</script>\n\n# Words\n\nsome words")
        document = client.get("/libraries/pages/documents").json()["documents"][0]["doc_id"]
        kept = client.get(f"/libraries/pages/documents/{document}/original").headers
        assert kept["content-type"] == "application/octet-stream" and "sandbox" in kept["content-security-policy"]


def test_tokens_do_what_they_were_given_and_no_more(served: Serving) -> None:
    with served.client() as owner:
        for name in ("mine", "theirs"):
            owner.post("/libraries", json={"name": name})
            upload(owner, name, **{name: MILL})
        made = owner.post("/tokens", json={"name": "reader", "libraries": ["mine"]}).json()
        assert owner.post("/tokens", json={"name": "reader"}).status_code == 409
        assert made["secret"] not in owner.get("/tokens").text
        [hidden] = owner.get("/libraries/theirs/documents").json()["documents"]
        their_job = owner.get("/jobs", params={"library": "theirs"}).json()["jobs"][0]["id"]
        with served.client(made["secret"]) as reader:
            assert [one["name"] for one in reader.get("/libraries").json()] == ["mine"]
            asked = {"question": "mill sold", "all_libraries": True}
            found = reader.post("/search", json=asked).json()["results"]
            assert found and {one.get("library", "mine") for one in found} == {"mine"}
            unknown = reader.post("/search", json={"question": "mill", "libraries": ["nothing"]}).text
            theirs = reader.post("/search", json={"question": "mill", "libraries": ["theirs"]}).text
            theirs, unknown = (re.sub(r'"request_id": "\w+"', "", body) for body in (theirs, unknown))
            assert theirs == unknown.replace("nothing", "theirs") and "theirs" not in unknown, "not that it is there"
            for path in ("", "/documents", f"/documents/{hidden['doc_id']}/pages", "/sources"):
                assert code(reader.get(f"/libraries/theirs{path}")) == (404, "not_found"), path
            assert reader.get(f"/libraries/mine/documents/{hidden['doc_id']}").status_code == 404
            assert code(reader.get(f"/jobs/{their_job}")) == (404, "not_found")
            assert code(reader.post(f"/jobs/{their_job}/cancel")) == (404, "not_found")
            assert "theirs" not in reader.get("/jobs").text
            for method, path in (
                ("DELETE", "/libraries/mine"), ("PATCH", "/libraries/mine"), ("POST", "/libraries"),
                ("POST", "/libraries/mine/update"), ("GET", "/tokens"), ("POST", "/tokens"), ("GET", "/audit"),
                ("GET", "/metrics"), ("GET", "/usage"), ("GET", "/disk"),
                ("POST", "/libraries/mine/index"), ("POST", "/jobs/pause"),
            ):  # fmt: skip
                body = {"name": "x", "paths": ["x"], "everything": True}
                allowed = {"/libraries/mine/index": ["paths"], "/jobs/pause": ["everything"]}.get(path, ["name"])
                sent = (
                    {key: body[key] for key in allowed}
                    if method in ("POST", "PATCH") and "update" not in path
                    else None
                )
                assert code(reader.request(method, path, json=sent)) == (403, "not_allowed"), (method, path)
            assert owner.delete("/tokens/reader").status_code == 200
            assert code(reader.get("/libraries")) == (401, "token_refused")
        actions = [(one["caller"], one["action"], one["outcome"]) for one in owner.get("/audit").json()]
        assert ("owner", "revoke_token", 200) in actions and ("reader", "delete_library", 403) in actions


def test_an_upload_takes_the_turn_of_who_sent_it(served: Serving) -> None:
    with served.client() as owner:
        owner.post("/libraries", json={"name": "turns"})
        made = owner.post("/tokens", json={"name": "uploader", "role": "write", "libraries": ["turns"]}).json()
        with served.client(made["secret"]) as writer:
            upload(writer, "turns", mill=MILL)
        upload(owner, "turns", town=MILL + "More.")
    catalog = Catalog(served.home / "catalog.sqlite")
    owners = {Path(job.subject).stem: job.owner for job in JobReader(catalog).listed(library="turns")}
    catalog.close()
    assert owners["mill"] == "uploader" and owners["town"] != "uploader"


def test_rights_in_a_library_end_with_it(served: Serving) -> None:
    with served.client() as owner:
        owner.post("/libraries", json={"name": "first"})
        secret = owner.post("/tokens", json={"name": "of first", "role": "admin", "libraries": ["first"]}).json()[
            "secret"
        ]
        owner.delete("/libraries/first")
        owner.post("/libraries", json={"name": "first"})
        with served.client(secret) as client:
            assert client.get("/libraries").json() == [], "another library of that name"


async def test_mcp_has_the_rights_of_its_token(served: Serving) -> None:
    with served.client() as owner:
        owner.post("/libraries", json={"name": "agents"})
        reader = owner.post("/tokens", json={"name": "agent"}).json()["secret"]
    for token, writes in ((START, True), (reader, False)):
        transport = StreamableHttpTransport(f"{served.url}/mcp", headers={"Authorization": f"Bearer {token}"})
        async with Client(transport) as client:
            assert (await client.call_tool("list_libraries", {})).structured_content
            if not writes:
                with pytest.raises(ToolError, match="neither in"):
                    await client.call_tool("add_documents", {"paths": ["/etc/hostname"]})


async def test_conversations_over_mcp_are_their_owners(served: Serving) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "talked"})
        upload(client, "talked", mill="# The mill\n\nThe mill was sold in 1987.\n")
        secret = client.post("/tokens", json={"name": "talker"}).json()["secret"]
        mine = client.post("/conversations", json={"libraries": ["talked"]}).json()["id"]
    async with Client(f"{served.url}/mcp", auth=secret) as reader:
        asked = await reader.call_tool("ask", {"question": "When was the mill sold?", "library": "talked"})
        listed = await reader.call_tool("conversations", {})
        own = asked.structured_content["conversation"]
        assert [one["conversation"] for one in listed.structured_content["conversations"]] == [own]
        with pytest.raises(ToolError, match="does not exist"):
            await reader.call_tool("conversations", {"conversation": mine})
    with served.client(secret) as reading:
        assert [one["id"] for one in reading.get("/conversations").json()["conversations"]] == [own]


def test_paths_of_the_disk_are_indexed_below_the_roots_alone(served: Serving, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text(MILL)
    with served.client() as client:
        client.post("/libraries", json={"name": "disk"})
        for path in (str(outside), "/etc/passwd", "../../etc/passwd", "~root/x.md", "a\0b"):
            answered = client.post("/libraries/disk/index", json={"paths": [path]})
            assert answered.status_code in (400, 422) and "root:" not in answered.text, path
        assert client.post("/search", json={"question": "x", "expert": str(outside)}).status_code == 400
        assert client.post("/search", json={"question": "x", "expert": "/etc/passwd"}).status_code == 400


def test_what_is_not_safe_is_not_started(tmp_path: Path) -> None:
    def listening(*typed: str) -> None:
        listening_of(Engine(tmp_path), build_parser().parse_args(["serve", *typed]))

    listening()
    with pytest.raises(UsageError, match="no token is set to protect the server"):
        listening("--host", "0.0.0.0")
    with pytest.raises(UsageError, match="too short"):
        listening("--token", "short")
    with pytest.raises(UsageError, match="work only together"):
        listening("--user-header", "X-User")


def test_users_are_named_by_the_proxy_alone(tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    engine.tokens.create("anna", "write", user=True)
    engine.close()
    with serving(tmp_path, "--user-header", "X-User", "--trust-proxy", "127.0.0.1") as served, served.bare() as client:
        assert client.get("/session", headers={"X-User": "anna"}).json()["grants"] == {"*": "write"}
        assert code(client.get("/session", headers={"X-User": "bert"})) == (403, "user_unknown")
        assert client.get("/session").status_code == 401
    with serving(tmp_path, "--user-header", "X-User", "--trust-proxy", "192.0.2.1") as served, served.bare() as client:
        assert code(client.get("/session", headers={"X-User": "anna"})) == (403, "proxy_not_trusted")


def test_bodies_beyond_the_limits_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    with serving(tmp_path, PAGEINDEX_MAX_UPLOAD_SIZE="100000") as served, served.client() as client:
        client.post("/libraries", json={"name": "small"})
        large, where = b"x" * 300_000, "/libraries/small/documents"
        assert (
            code(client.post("/search", content=b" " * 2**21, headers={"Content-Type": "application/json"}))[0] == 413
        )
        raw = {"Content-Type": "application/octet-stream"}
        assert code(client.post(where, params={"name": "a.md"}, content=large, headers=raw)) == (413, "too_large")
        chunks = (large for _ in range(20))
        assert client.post(where, params={"name": "a.md"}, content=chunks, headers=raw).status_code == 413
        assert code(client.post(where, files=[("file", ("a.md", large))])) == (413, "too_large")
        many = [("file", (f"{n}.md", b"x")) for n in range(1001)]
        assert code(client.post(where, files=many)) == (413, "too_many_files")
        assert code(client.post(where, content=b"", headers=raw)) == (400, "bad_request")
        cut = raw | {"Content-Type": "multipart/form-data; boundary=b"}
        assert code(client.post(where, content=b"--b\r\ncontent-disposition: form", headers=cut)) == (400, "cut_off")
        port = urlsplit(served.url).port or 0
        with socket.create_connection(("127.0.0.1", port)) as broken:
            head = f"POST /api/v1{where}?name=b.md HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {START}\r\n"
            broken.sendall(f"{head}Content-Type: application/octet-stream\r\nContent-Length: 5000\r\n\r\nhalf".encode())
        assert client.get(f"{where}").json()["total"] == 0
        until(lambda: not list(tmp_path.glob("tmp/*/*.part")))  # the server hears of it only after the client has gone
        assert not list((tmp_path / "originals").glob("*/*"))


def test_odd_bodies_and_names_are_told_and_break_nothing(served: Serving) -> None:
    json = {"Content-Type": "application/json"}
    with served.client() as client:
        for body in (
            b"[" * 900_000,
            b'{"question": "x", "top_k": ' + b"9" * 5000 + b"}",
            b"\xff\xfe",
            b'{"question": "\\ud800"}',
        ):
            assert client.post("/search", content=body, headers=json).status_code in (400, 422), body[:30]
        for name in ("磨坊", "a b", "Ünï", "a/b", "~x"):
            made = client.post("/libraries", json={"name": name})
            assert made.status_code == 201 and client.get(f"{served.url}{made.headers['location']}").status_code == 200
        for name in ("", "..", "a\nb", "\x00", "x" * 300, " x"):
            assert client.post("/libraries", json={"name": name}).status_code in (400, 422), name
        assert client.get("/jobs/" + "9" * 5000).status_code in (404, 422)


def test_clearing_everything_signs_out_all_but_the_browser_that_asked(tmp_path: Path) -> None:
    """At once, also those that were known a moment ago; of a token that is gone no browser stays."""
    everything = {"confirm": "everything"}
    with serving(tmp_path / "home") as own, own.client() as client:
        for keeps in (True, False):
            named = client.post("/tokens", json={"name": "anna", "role": "admin"}).json()["secret"]
            secrets = [START, named] if keeps else [named, START]
            with (
                own.client(named) as program,
                own.bare(Origin=own.url) as mine,
                own.bare(Origin=own.url) as same,
                own.bare(Origin=own.url) as other,
            ):
                for browser, secret in ((mine, secrets[0]), (same, secrets[0]), (other, secrets[1])):
                    assert browser.post("/session", json={"token": secret}).status_code == 201
                callers = (program, mine, same, other)
                assert [caller.get("/session").status_code for caller in callers] == [200] * 4
                assert mine.post("/clear", json=everything).status_code == 200
                left = [caller.get("/session").status_code for caller in callers]
                assert left == [401, 200 if keeps else 401, 401, 401]
                if keeps:
                    assert mine.post("/libraries", json={"name": "new"}).status_code == 201, "its rights stay"
