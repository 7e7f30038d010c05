"""Originals that lie in a bucket, as callers get them: sent on in ranges, by a link, or told to be gone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from hybrid_core.store.bucket import BucketAddress
from hybrid_core.store.home import COPIES
from tests import buckets
from tests.interfaces.http.conftest import MILL, serving, upload

pytestmark = pytest.mark.slow
RANGE = {"Range": "bytes=2-9"}


@pytest.fixture
def address() -> Iterator[BucketAddress]:
    with buckets.bucket() as made:
        yield made


def emptied(address: BucketAddress, key: str) -> None:
    """Somebody deletes a file behind the engine's back."""
    boto3 = pytest.importorskip("boto3")
    whole = f"{address.url.partition('//')[2].partition('/')[2]}/{key}"
    client = boto3.client(
        "s3", endpoint_url=address.endpoint, region_name=address.region,
        aws_access_key_id=address.access_key, aws_secret_access_key=address.secret_key,
    )  # fmt: skip
    bucket = address.url.partition("//")[2].partition("/")[0]
    assert client.head_object(Bucket=bucket, Key=whole)
    client.delete_object(Bucket=bucket, Key=whole)
    client.close()


@pytest.mark.parametrize("links", ["proxied", "signed"])
def test_an_original_in_a_bucket_is_given_in_ranges_and_said_to_be_gone(
    links: str, tmp_path: Path, address: BucketAddress
) -> None:
    home = tmp_path / "home"
    settings = buckets.variables(address) | {"PAGEINDEX_OBJECTS_LINKS": links}
    with serving(home, **settings) as served, served.client() as client:
        client.post("/libraries", json={"name": "mills"})
        upload(client, "mills", mill=MILL)
        [document] = client.get("/libraries/mills/documents").json()["documents"]
        original = f"/libraries/mills/documents/{document['doc_id']}/original"
        for file in (home / COPIES).glob("*/*"):
            file.unlink()  # this home may forget what it fetched
        part = client.get(original, headers=RANGE)
        if links == "signed":
            assert part.status_code == 307 and part.headers["location"].startswith(f"{address.endpoint}/")
            part = httpx.get(part.headers["location"], headers=RANGE, verify=False)
        assert part.status_code == 206 and part.content == b"The mill"

        emptied(address, f"originals/{hashlib.sha256(MILL.encode()).hexdigest()}.md")
        for file in (home / COPIES).glob("*/*"):
            file.unlink()
        gone = client.get(original)
        assert gone.status_code == 422 and "is missing" in gone.json()["error"]["message"]
        found = client.post("/search", json={"question": "price of the mill", "libraries": ["mills"]}).json()
        assert [page["doc_name"] for page in found["results"]] == ["mill.md"]


def test_of_an_original_in_a_bucket_only_the_part_that_is_asked_for_is_sent(
    tmp_path: Path, address: BucketAddress
) -> None:
    home, data = tmp_path / "home", MILL.encode()
    size = len(data)
    with serving(home, **buckets.variables(address)) as served, served.client() as client:
        client.post("/libraries", json={"name": "mills"})
        upload(client, "mills", mill=MILL)
        [document] = client.get("/libraries/mills/documents").json()["documents"]
        original = f"/libraries/mills/documents/{document['doc_id']}/original"
        for file in (home / COPIES).glob("*/*"):
            file.unlink()
        for asked, start, stop in [
            ("2-9", 2, 10), ("5-", 5, size), ("-7", size - 7, size), (f"3-{size + 100}", 3, size),
            (f"-{size + 100}", 0, size),
        ]:  # fmt: skip
            part = client.get(original, headers={"Range": f"bytes={asked}"})
            assert part.status_code == 206 and part.content == data[start:stop]
            assert part.headers["content-range"] == f"bytes {start}-{stop - 1}/{size}"
            assert part.headers["content-length"] == str(stop - start)
            assert part.headers["content-disposition"].startswith("attachment")
        for none in (f"{size}-", "-0"):
            beyond = client.get(original, headers={"Range": f"bytes={none}"})
            assert beyond.status_code == 416 and beyond.headers["content-range"] == f"bytes */{size}"
        assert not list((home / COPIES).glob("*/*")), "it was not fetched for any of these"
        for ignored in ("bytes=9-2", "items=0-1", "bytes=", "bytes=a-b", "2-9"):
            whole = client.get(original, headers={"Range": ignored})
            assert whole.status_code == 200 and whole.content == data, ignored
        several = client.get(original, headers={"Range": "bytes=0-1,4-5"})
        assert several.status_code == 206 and several.headers["content-type"].startswith("multipart/byteranges")
        assert client.get(original).content == data
