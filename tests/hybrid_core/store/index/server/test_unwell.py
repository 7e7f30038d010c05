"""A server that is not there, or not well."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from hybrid_core.errors import StoreError, UnreachableError
from hybrid_core.store.index.server import connection
from hybrid_core.store.index.server.connection import connect
from tests.contract.vectors.library import Library, agree, ask
from tests.hybrid_core.store.index.server.opening import opened
from tests.qdrant_stub import Answer, Stub

pytestmark = pytest.mark.filterwarnings(
    "ignore:Local mode performs exact:UserWarning", "ignore:Payload indexes have no effect:UserWarning"
)


def failing(stub: Stub, status: int, said: Any) -> Callable[[], None]:
    """Let every call but the version's fail; what is returned ends that."""

    def refuse(method: str, path: str, body: bytes) -> Answer | None:
        return None if path == "/" else (status, said)

    stub.refuse = refuse
    return lambda: setattr(stub, "refuse", lambda *_: None)


def test_a_server_that_is_not_there(library: Library) -> None:
    with pytest.raises(UnreachableError, match=r"http://127\.0\.0\.1:9: .* cannot be reached.*runs") as caught:
        connect("http://127.0.0.1:9", "secret-key")
    assert caught.value.retryable and "secret-key" not in str(caught.value)


def test_a_server_that_goes_away_and_comes_back(stub: Stub, library: Library) -> None:
    index = opened(connect(stub.url, "secret-key"), library)
    well = failing(stub, 503, "starting")
    with pytest.raises(UnreachableError, match=r"503 starting"):
        ask(index, {1: 1.0})
    library.publish("b", "b2", {1: 4.0})
    with pytest.raises(UnreachableError, match=r"503 starting"):
        index.catch_up(library)
    well()
    index.catch_up(library)
    agree(index, library, {1: 1.0})
    assert index.rebuilt == ""


@pytest.mark.parametrize(
    ("status", "said", "message", "retryable"),
    [
        (401, "no", "refused the key.*PAGEINDEX_QDRANT_API_KEY", False),
        (403, {"status": {"error": "read only"}}, "refused the key", False),
        (400, {"status": {"error": "Wrong  input"}}, "refused a call .400 Wrong input", False),
        (500, {"status": {"error": "No space left on device"}}, "500 No space left on device", True),
        (502, "<html>bad gateway</html>", "502 <html>bad gateway", True),
        (429, {"status": {"error": "slow down"}}, "429 slow down", True),
        (200, "<html>hello</html>", "is not Qdrant, or has an unsupported version", False),
    ],
)
def test_what_a_server_refuses(
    stub: Stub, library: Library, status: int, said: Any, message: str, retryable: bool
) -> None:
    server = connect(stub.url, "secret-key")
    failing(stub, status, said)
    with pytest.raises(StoreError, match=message) as caught:
        opened(server, library)
    assert caught.value.retryable is retryable
    assert stub.url in str(caught.value) and "secret-key" not in str(caught.value)
    server.close()


@pytest.mark.parametrize(
    "said", ["<html>hello</html>", {"hello": "world"}, {"result": {"points": [{"id": 1}]}}, {"result": None}, [1]]
)
def test_an_answer_to_a_search_that_is_none(stub: Stub, library: Library, said: Any) -> None:
    server = connect(stub.url, "secret-key")
    index = opened(server, library)
    stub.refuse = lambda _, path, __: (200, said) if path.endswith("/query/batch") else None
    with pytest.raises(StoreError, match="is not Qdrant, or has an unsupported version"):
        ask(index, {1: 1.0})
    server.close()


@pytest.mark.parametrize("key", ["", "wrong"])
def test_a_key_that_is_not_accepted(stub: Stub, library: Library, key: str) -> None:
    with pytest.raises(StoreError, match="refused the key"):
        opened(connect(stub.url, key), library)


def test_a_server_that_is_slow(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_SECONDS", 1)
    stub.refuse = lambda *_: time.sleep(1.5)  # type: ignore[func-returns-value]
    with pytest.raises(UnreachableError, match="did not answer within 1 s"):
        connect(stub.url, "secret-key")


@pytest.mark.parametrize("version", ["1.18.2", "2.0.0", "nonsense"])
def test_a_server_of_another_version_is_refused(stub: Stub, version: str) -> None:
    stub.version = version
    with pytest.raises(StoreError, match=f"Qdrant {version} is not supported.*Upgrade"):
        connect(stub.url, "secret-key")


def test_later_versions_are_taken(stub: Stub) -> None:
    stub.version = "1.23.4"
    server = connect(stub.url, "secret-key")
    assert server.version() == "1.23.4"
    server.close()


@pytest.mark.parametrize("said", [(404, "nothing here"), (200, "<html></html>"), (200, {"hello": "world"})])
def test_something_that_is_no_qdrant_server(stub: Stub, said: Answer) -> None:
    stub.refuse = lambda *_: said
    with pytest.raises(StoreError, match="not Qdrant"):
        connect(stub.url, "secret-key")


@pytest.mark.parametrize(
    "url", ["localhost:6333", "ftp://host", "http://", "http://host:port", "http://[::1", "qdrant"]
)
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(StoreError, match=r"not a valid web address.*http://localhost:6333"):
        connect(url)


@pytest.mark.parametrize("key", ["ключ", "two\nlines", " space "])
def test_a_key_that_is_none(key: str) -> None:
    with pytest.raises(StoreError, match="API key contains characters") as caught:
        connect("http://localhost:9", key)
    assert key not in str(caught.value)


def test_messages_hold_no_password() -> None:
    with pytest.raises(UnreachableError, match=r"^http://127\.0\.0\.1:9/sub: ") as caught:
        connect("http://user:pass%20word@127.0.0.1:9/sub/?token=abc", "secret-key")
    assert not any(secret in str(caught.value) for secret in ("user", "pass", "abc", "secret-key"))


def test_the_compose_file(stub: Stub) -> None:
    """Docker does not run here, so: what it says, and whether its health check can tell well from unwell."""
    compose = yaml.safe_load((Path(__file__).parents[5] / "docker-compose.qdrant.yaml").read_text(encoding="utf-8"))
    service = compose["services"]["qdrant"]
    image, client = service["image"].split(":v"), version("qdrant-client").split(".")
    assert image[0] == "qdrant/qdrant" and image[1].count(".") == 2
    assert 0 <= int(client[1]) - int(image[1].split(".")[1]) <= 1 and image[1].split(".")[0] == client[0]
    assert all(port.startswith("${QDRANT_BIND:-127.0.0.1}:") for port in service["ports"])
    assert {volume.split(":")[0] for volume in service["volumes"]} == set(compose["volumes"])
    assert service["environment"]["QDRANT__SERVICE__API_KEY"].startswith("${PAGEINDEX_QDRANT_API_KEY:?")
    check = service["healthcheck"]["test"]
    assert check[0] == "CMD"
    command = [*check[1:-1], check[-1].replace("$$", "$").replace("6333", stub.url.rsplit(":", 1)[1])]
    assert subprocess.run(command, timeout=600, check=False).returncode == 0
    failing(stub, 503, "not ready")
    assert subprocess.run(command, timeout=600, check=False).returncode == 1
    gone = [*command[:-1], command[-1].replace(stub.url.rsplit(":", 1)[1], "9")]
    assert subprocess.run(gone, timeout=600, check=False, stderr=subprocess.DEVNULL).returncode == 1
