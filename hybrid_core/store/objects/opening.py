"""Where a catalog's originals are kept: the catalog says it, so that no two machines keep them at two places."""

from __future__ import annotations

import uuid
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from sqlalchemy import Connection, insert, select

from hybrid_core.errors import UsageError
from hybrid_core.store.catalog.schema import meta
from hybrid_core.store.home import ORIGINALS
from hybrid_core.store.objects.bucket import Bucket, BucketAddress
from hybrid_core.store.objects.folder import Folder
from hybrid_core.store.objects.objects import Objects

_MARK = "bucket"  # in meta: what the bucket is marked with


class _Catalog(Protocol):
    def reading(self) -> AbstractContextManager[Connection]: ...

    def writing(self) -> AbstractContextManager[Connection]: ...


def open_objects(catalog: _Catalog, home: Path, address: BucketAddress | None) -> Objects:
    """Raises UsageError where they are in a bucket that is not named, or is another catalog's, UnreachableError."""
    known = select(meta.c.value).where(meta.c.key == _MARK)
    with catalog.reading() as connection:
        mark = connection.scalar(known)
    if address is None:
        if mark is not None:
            raise UsageError("The originals of this catalog are in a bucket.", "Set PAGEINDEX_OBJECTS_URL to it.")
        return Folder(home / ORIGINALS)
    if mark is None:
        with catalog.writing() as connection:
            mark = connection.scalar(known)
            if mark is None:
                mark = uuid.uuid4().hex
                connection.execute(insert(meta).values(key=_MARK, value=mark))
    return Bucket(home, address, mark)
