"""One collection on a Qdrant server. Only this module calls the server's data methods.

Several processes write a collection at the same time, and any of them may be slow or be killed. So every point carries
``at``, a position of the change log: the point was read from the source when the log was at this position or later. A
write never replaces a point with a higher ``at``, and a deletion names the ``at`` below which points are outdated; the
server performs each as one step. So a slow process cannot undo the writes of a faster one. Replicas may apply writes in
different orders, since a leader that orders them would be a single point of failure. A late write of a slow process may
then remain on one replica only. If that process is still running, it deletes such points itself. If not, the count on
another replica does not show them. So the process that checks the count deletes all points again that recent changes
have outdated (``clear``).

Two more points without vectors belong to the collection. The record contains the position up to which all changes are
applied. The announcement contains the newest change, by number and mark, that may be partly written. Both only
increase. Without vectors they do not occur in searches and counts. In a shared collection each library has its own
points, record and announcement (``Tenant``).

A catalog and a copy of it that was restored elsewhere begin with the same collections. A writer announces each change
first, and only replaces an announcement that its own log contains. So only one of two histories gets past their last
common change. The other finds an unknown change, writes nothing, and creates its own collections.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Collection as Many
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_core.errors import IndexMissingError, OtherHistoryError, StoreError, UnreachableError
from hybrid_core.store.database import parts
from hybrid_core.store.index.follower import NEW
from hybrid_core.store.index.points import (
    BATCH,
    DENSE,
    LEARNED,
    OTHER_HISTORY,
    SPARSE,
    Found,
    Head,
    Point,
    Query,
    VectorName,
    vector_names,
)
from hybrid_core.store.index.server.connection import EXTRA, Server, keep_aliases
from hybrid_core.store.index.server.requests import (
    Tenant,
    in_range,
    of_any,
    quantization_config,
    query_filter,
    vector_of,
)
from hybrid_core.system import require

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models
    from qdrant_client.http import exceptions
else:
    models = require("qdrant_client.models", EXTRA)
    exceptions = require("qdrant_client.http.exceptions", EXTRA)

LAYOUT = 4
"""The version of the layout of points and collections. Another layout uses another collection."""
_TOUCH_SECONDS = 3600.0
_OVERSAMPLING = 3.0  # candidates by quantised vectors per requested point
_SLOW_REPLICA_MS = 300  # delay after which a second replica is queried too
_SCROLL_POINTS = 10_000  # point ids per read
_ANNOUNCEMENTS = 20  # attempts: other processes of the same history may announce changes in between, or replicas lag


class CollectionStore:
    """A ``PointStore`` in a collection, which may not exist yet. Safe for several threads if the client is.

    No process owns a collection: several may apply the same change, in any order.
    """

    shared = True
    documents_at_once = 100

    def __init__(
        self, server: Server, name: str, dimension: int, learned: bool = False, tenant: Tenant = Tenant()
    ) -> None:
        self.server, self.name, self.dimension, self.learned, self.tenant = server, name, dimension, learned, tenant
        self.amiss = ""
        self.closed = False
        self.trusted, self.doubted = Head(), set[Head]()
        self._announced = Head()
        self.touching: threading.Thread | None = None
        self._touched = -math.inf

    @property
    def replicated(self) -> bool:
        return self.server.layout.replicas > 1

    def position(self) -> int:
        if (position := self.recorded()) is None:
            raise IndexMissingError(NEW)
        return position

    def stand(self) -> tuple[Head, Head]:
        record, announced = self._records()  # in one read, since another process may change both
        if (stand := _head(record)) is None:
            raise IndexMissingError(NEW)
        return stand, _head(announced) or stand

    def announce(self, head: Head, own: Callable[[Head], bool]) -> None:
        self._announced = head
        for _ in range(_ANNOUNCEMENTS):
            recorded = _head(self._records()[1])
            if recorded is not None and not own(recorded):
                raise OtherHistoryError(OTHER_HISTORY)
            if recorded is not None and recorded.seq >= head.seq:
                return
            self._put_announcement(head, recorded)
        raise UnreachableError(
            f"{self.server.url}: this library could not register as the writer of the collection {self.name}.",
            "Try again.",
        )

    def _put_announcement(self, head: Head, before: Head | None) -> None:
        """Write the announcement of a change: as the first one if ``before`` is None, else in place of ``before``.

        If the stored announcement is not ``before`` any more, nothing is written. A leader orders the writes for all
        replicas. If the leader is unavailable, each replica makes this comparison for itself.
        """
        if before is None:
            self.create()
        seq, mark = before or Head(-1, -1)
        payload = self.tenant.payload(position=head.seq, mark=head.mark)
        point = models.PointStruct(id=self.tenant.announced, vector={}, payload=payload)
        # the mark is too large for a range condition
        same = models.FieldCondition(key="mark", match=models.MatchAny(any=[mark]))
        only = models.Filter(must=[in_range("position", gte=seq, lte=seq), same])

        def put(order: models.WriteOrdering) -> None:
            self.server.call(
                lambda client: client.upsert(self.name, [point], update_filter=only, wait=True, ordering=order),
                writes=True,
            )

        if self.replicated:
            with suppress(UnreachableError):
                return put(models.WriteOrdering.MEDIUM)
        return put(models.WriteOrdering.WEAK)

    def begin(self) -> None:
        """Create an empty collection if it is missing. All documents are then applied as changes of the log."""
        if self.recorded() is None:
            self.create()
            self.advance(0)

    def writing(self) -> AbstractContextManager[None]:
        return nullcontext()

    def replace(self, doc_ids: Many[str], points: Iterable[Point], at: int) -> None:
        self._write(points, at)
        self._delete_older(at, doc_ids)

    def refill(self, points: Iterable[Point], at: int, *, anew: bool = False) -> None:
        """Replace all points one by one, so that searches continue. With ``anew``, recreate the collection instead."""
        if anew:
            with keep_aliases(self.server, self.name):
                self.drop()
                self._put_announcement(self._announced, None)
        else:
            self.create()
        self._write(points, at)
        self._delete_older(at)

    def nearest(self, query: Query) -> list[Found]:
        self._touch()
        request = models.QueryRequest(
            query=models.NearestQuery(nearest=vector_of(query.vector)),
            using=query.using,
            limit=query.limit,
            filter=self.tenant.only(query_filter(query)),
            params=self._search_params(query.using),
            with_payload=False,
        )
        announcement = models.QueryRequest(
            filter=models.Filter(must=[models.HasIdCondition(has_id=[self.tenant.announced])]),
            limit=1,
            with_payload=True,
        )
        points, announced = self.server.call(lambda client: _query_batch(client, self.name, request, announcement))
        if announced is not None and announced != self.trusted:
            self.doubted.add(announced)
        return points

    def payloads(self, ids: list[str]) -> Mapping[str, Mapping[str, Any]]:
        return self.server.call(lambda client: _payloads(client, self.name, ids))

    def _search_params(self, using: VectorName) -> models.SearchParams:
        if using != DENSE or self.server.layout.quantization == "none":
            return models.SearchParams(exact=True)
        again = models.QuantizationSearchParams(rescore=True, oversampling=_OVERSAMPLING)
        return models.SearchParams(quantization=again)

    def distrust(self, reason: str) -> None:
        self.amiss = reason

    def close(self) -> None:
        self.closed = True

    def create(self) -> None:
        """Create the collection if it is missing. Another process may do so at the same time."""
        if not self._exists():
            try:
                self._create()
            except StoreError:  # either another process created it, or the response came too late
                if not self._exists():
                    raise
        keyword = models.PayloadSchemaType.KEYWORD
        for field, schema in [("doc_id", keyword), *self.tenant.indexes().items()]:
            self.server.call(
                lambda client, field=field, schema=schema: client.create_payload_index(  # type: ignore[misc]
                    self.name, field, schema, wait=True
                ),
                writes=True,
            )
        self.advance(-1)  # a record from the start, so that the age of the collection is known

    def _exists(self) -> bool:
        return self.name in self.server.collections()

    def _create(self) -> None:
        layout = self.server.layout
        dense = models.VectorParams(
            size=self.dimension or 1,
            distance=models.Distance.DOT,  # vectors have unit length
            on_disk=layout.on_disk,
            quantization_config=quantization_config(layout.quantization),
        )
        words = models.SparseVectorParams(index=models.SparseIndexParams(on_disk=layout.on_disk))
        sparse: dict[str, models.SparseVectorParams] = {SPARSE: words}
        self.server.call(
            lambda client: client.create_collection(
                self.name,
                vectors_config={DENSE: dense} if self.dimension else {},
                sparse_vectors_config=sparse | ({LEARNED: words} if self.learned else {}),
                # Exact search (m=0), like in the embedded index: it is lossless and needs no graph.
                hnsw_config=models.HnswConfigDiff(m=0, ef_construct=100, full_scan_threshold=10_000),
                shard_number=layout.shards,
                replication_factor=layout.replicas,
                write_consistency_factor=min(layout.write_consistency, layout.replicas),
            ),
            writes=True,
        )
        if layout.replicas > 1:
            slow = models.CollectionParamsDiff(read_fan_out_delay_ms=_SLOW_REPLICA_MS)
            self.server.call(lambda client: client.update_collection(self.name, collection_params=slow), writes=True)

    def drop(self) -> None:
        """Delete the collection, or only the library's points if it is shared. Do nothing if it does not exist."""
        if not self.tenant.library:
            self.server.call(lambda client: client.delete_collection(self.name), writes=True)
            return
        with suppress(IndexMissingError):
            self._delete(models.Filter())

    def empty(self) -> bool:
        """Return whether the collection exists and contains no points."""
        try:
            return not self.server.call(lambda client: client.count(self.name, exact=True)).count
        except IndexMissingError:
            return False

    def recorded(self) -> int | None:
        """Return the position up to which all changes are applied, None if the collection is not built."""
        stand = _head(self._records()[0])
        return None if stand is None else stand.seq

    def head(self) -> Head | None:
        """Return the newest change that may be partly written, None if the collection is not built."""
        record, announced = self._records()
        return _head(announced) or _head(record)

    def used(self) -> float | None:
        """Return the time when the collection was last used (Unix time, seconds), None if unknown."""
        used: float | None = self._records()[0].get("used")
        return used

    def _records(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Return the payloads of the collection's two special points, each {} if missing.

        They are the record, with the last applied change, and the announcement, with the newest change being written.
        """
        ids = [self.tenant.record, self.tenant.announced]

        def read(client: QdrantClient) -> Mapping[str, Mapping[str, Any]]:
            payloads = _payloads(client, self.name, ids)
            # a node that has just joined knows the collection before its points, and returns nothing too
            if not payloads:
                raise IndexMissingError(
                    "The Qdrant server has no record of the last change that was written to the collection "
                    f"'{self.name}'."
                )
            return payloads

        try:
            payloads = self.server.call(read)
        except IndexMissingError:
            payloads = {}
        record, announced = (payloads.get(id, {}) for id in ids)
        return record, announced

    def advance(self, position: int, mark: int = 0, *, more: bool = False) -> None:
        """Record that all changes up to a position are applied, unless a later position is recorded."""
        payload = self.tenant.payload(position=position, mark=mark, used=time.time())
        record = models.PointStruct(id=self.tenant.record, vector={}, payload=payload)
        self._upsert([record], models.Filter(must=[in_range("position", lt=position)]))

    def _touch(self) -> None:
        """Record once an hour that the collection is in use, in a thread, so that the search does not wait."""
        if time.monotonic() > self._touched + _TOUCH_SECONDS:
            self._touched = time.monotonic()
            self.touching = threading.Thread(target=self._note_use, daemon=True)
            self.touching.start()

    def _note_use(self) -> None:
        used = {"used": time.time()}
        with suppress(StoreError):  # after a failure the next attempt follows in an hour
            self.server.call(lambda client: client.set_payload(self.name, used, points=[self.tenant.record], wait=True))

    def _write(self, points: Iterable[Point], at: int) -> None:
        """Write points that were read from the source at position ``at`` or later. Do not replace newer points."""
        for some in parts(points, BATCH):
            batch = [
                models.PointStruct(
                    id=self.tenant.id_of(point),
                    vector={name: vector_of(vector) for name, vector in point.vectors(self.dimension).items()},
                    payload=self.tenant.payload(
                        doc_id=point.doc_id, content_id=point.content_id, page=point.page, at=at
                    ),
                )
                for point in some
            ]
            self._upsert(batch, models.Filter(must_not=[in_range("at", gt=at)]))

    def _upsert(self, points: list[models.PointStruct], only: models.Filter) -> None:
        """Insert points. Replace an existing point of the same id only if it matches the filter ``only``."""
        self.server.call(
            lambda client: client.upsert(self.name, points, update_filter=only, wait=True),
            writes=True,
        )

    def _delete_older(self, at: int, doc_ids: Many[str] | None = None) -> None:
        """Delete points that were read before the source was at position ``at``. ``doc_ids`` selects documents."""
        records = models.HasIdCondition(has_id=[self.tenant.record, self.tenant.announced])
        old = models.Filter(must_not=[in_range("at", gte=at), records])
        if doc_ids is not None:
            old.must = [of_any(doc_ids)]
        self._delete(old)

    def _delete(self, some: models.Filter) -> None:
        selected = models.FilterSelector(filter=self.tenant.only(some) or some)
        self.server.call(lambda client: client.delete(self.name, selected, wait=True), writes=True)

    def clear(self, latest: Mapping[str, int]) -> None:
        """Delete points that are older than the latest changes of their documents (``latest``), on every replica."""
        for some in parts(latest, self.documents_at_once):
            old: list[models.Condition] = [
                models.Filter(must=[of_any([doc_id]), in_range("at", lt=latest[doc_id])]) for doc_id in some
            ]
            self._delete(models.Filter(must=[models.Filter(should=old)]))

    def ids(self) -> Iterator[str]:
        records = models.HasIdCondition(has_id=[self.tenant.record, self.tenant.announced])
        pages = self.tenant.only(models.Filter(must_not=[records]))
        following: Any = None
        while True:
            points, following = self.server.call(
                lambda client, start=following: client.scroll(  # type: ignore[misc]
                    self.name, pages, limit=_SCROLL_POINTS, offset=start, with_payload=False, with_vectors=False
                )
            )
            yield from (str(point.id) for point in points)
            if following is None:
                return

    def settle(self) -> None:
        """Do nothing: the server optimises itself."""

    def count(self, *kinds: VectorName) -> int:
        return sum(map(self._count, kinds or vector_names(self.dimension, self.learned)))

    def _count(self, kind: VectorName) -> int:
        having = models.Filter(must=[models.HasVectorCondition(has_vector=kind)])
        result = self.server.call(
            lambda client: client.count(self.name, count_filter=self.tenant.only(having), exact=True)
        )
        return result.count


def _query_batch(
    client: QdrantClient, name: str, request: models.QueryRequest, announcement: models.QueryRequest
) -> tuple[list[Found], Head | None]:
    """Send two queries in one request. Return the points of the first, and the change in the second's announcement.

    The response is decoded without the client's models, which take 10 µs per point.
    """
    answer: dict[str, Any] = client.http.client.request(
        type_=dict,
        method="POST",
        url="/collections/{collection_name}/points/query/batch",
        path_params={"collection_name": name},
        headers={"Content-Type": "application/json"},
        content=models.QueryRequestBatch(searches=[request, announcement]).model_dump_json(exclude_none=True),
    )
    try:
        points, records = (result["points"] for result in answer["result"])
        # the JSON has only the digits of float32
        scores = np.array([point["score"] for point in points], np.float32).tolist()
        scored = [(str(point["id"]), score) for point, score in zip(points, scores, strict=True)]
        return scored, _head(records[0]["payload"]) if records else None
    except (KeyError, TypeError, ValueError) as error:
        raise exceptions.ResponseHandlingException(error) from error


def _payloads(client: QdrantClient, name: str, ids: list[str]) -> Mapping[str, Mapping[str, Any]]:
    point_ids: list[models.ExtendedPointId] = [int(id) if id.isdecimal() else id for id in ids]
    records = client.retrieve(name, point_ids, with_payload=True, with_vectors=False)
    return {str(record.id): record.payload or {} for record in records}


def _head(payload: Mapping[str, Any]) -> Head | None:
    """Return the change in the payload of a collection's record or announcement point, None if there is none."""
    position = payload.get("position", -1)
    return Head(position, payload.get("mark", 0)) if position >= 0 else None
