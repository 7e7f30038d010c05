"""A bucket of its own for tests, on a server of this process."""

from __future__ import annotations

import logging
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from hybrid_core.store.bucket import BucketAddress

KEYS = {"access_key": "tests", "secret_key": "tests-secret"}


@contextmanager
def bucket() -> Iterator[BucketAddress]:
    name = f"files-{uuid.uuid4().hex}"  # all servers of a process have the same buckets
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the server's own libraries
        import boto3
        from moto.server import ThreadedMotoServer

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
    try:
        host, port = server.get_host_and_port()
        endpoint = f"http://{host}:{port}"
        made = boto3.client(
            "s3", endpoint_url=endpoint, region_name="us-east-1",
            aws_access_key_id=KEYS["access_key"], aws_secret_access_key=KEYS["secret_key"],
        )  # fmt: skip
        made.create_bucket(Bucket=name)
        made.close()
        yield BucketAddress(f"s3://{name}/home", endpoint, "us-east-1", **KEYS)
    finally:
        server.stop()


def variables(address: BucketAddress) -> dict[str, str]:
    """By which an engine finds it."""
    return {
        "PAGEINDEX_OBJECTS_URL": address.url, "PAGEINDEX_OBJECTS_ENDPOINT": address.endpoint,
        "PAGEINDEX_OBJECTS_REGION": address.region, "PAGEINDEX_OBJECTS_ACCESS_KEY": address.access_key,
        "PAGEINDEX_OBJECTS_SECRET_KEY": address.secret_key,
    }  # fmt: skip
