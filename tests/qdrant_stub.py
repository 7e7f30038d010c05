"""A stand-in for a Qdrant server, which does not run on the test machines: the REST calls that we use, checked against
the client's own models and carried out by the server's own engine (Qdrant Edge), so that conditional writes,
deletions by filter, the idf and the client's remote path are the real ones. One process, one shard a collection.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import qdrant_edge as edge
from qdrant_client import models

Answer = tuple[int, dict[str, Any] | str]


class Stub:
    """What the server holds, and how it misbehaves: ``refuse`` may answer a call (method, path, body) instead."""

    def __init__(self, folder: Path, api_key: str = "", version: str = "1.20.0") -> None:
        self.api_key, self.version = api_key, version
        self.refuse: Callable[[str, str, bytes], Answer | None] = lambda *_: None
        self.calls: list[str] = []
        self.url = ""
        self._folder = folder
        self._shards: dict[str, edge.EdgeShard] = {}
        self._aliases: dict[str, str] = {}
        self._lock = threading.Lock()

    def answer(self, method: str, path: str, body: bytes, key: str | None) -> Answer:
        self.calls.append(f"{method} {path}")
        if (refused := self.refuse(method, path, body)) is not None:
            return refused
        if path not in ("/", "/readyz") and self.api_key and key != self.api_key:
            return 401, "Must provide an API key or an Authorization bearer token"
        if path == "/readyz":
            return 200, "all shards are ready"
        if path == "/":
            return 200, {"title": "qdrant - vector search engine", "version": self.version}
        with self._lock:
            status, result = self._carry_out(method, path.strip("/").split("/"), json.loads(body or b"null"))
        if status != 200:
            return status, {"status": {"error": result}, "time": 0.0}
        return 200, {"result": result, "status": "ok", "time": 0.0}

    def _carry_out(self, method: str, parts: list[str], body: Any) -> tuple[int, Any]:
        if parts == ["collections"]:
            return 200, {"collections": [{"name": name} for name in self._shards]}
        if parts == ["aliases"]:
            named = [{"alias_name": name, "collection_name": of} for name, of in self._aliases.items()]
            return 200, {"aliases": named}
        if parts == ["collections", "aliases"]:
            return self._name(models.ChangeAliasesOperation.model_validate(body))
        name, call = parts[1], f"{method} {'/'.join(parts[2:])}"
        if call == "PUT ":
            return self._create(name, models.CreateCollection.model_validate(body))
        if call == "DELETE ":
            if shard := self._shards.pop(name, None):
                shard.close()
                shutil.rmtree(self._folder / name)
                self._aliases = {alias: of for alias, of in self._aliases.items() if of != name}
            return 200, bool(shard)
        if name not in self._shards:
            return 404, f"Not found: Collection `{name}` doesn't exist!"
        return 200, _POINTS[call](self._shards[name], body)

    def _create(self, name: str, wanted: models.CreateCollection) -> tuple[int, Any]:
        if name in self._shards:
            return 409, f"Wrong input: Collection `{name}` already exists!"
        assert isinstance(wanted.vectors, dict) and wanted.sparse_vectors and wanted.hnsw_config
        assert (wanted.hnsw_config.m, wanted.shard_number) == (0, 1)
        config = edge.EdgeConfig(
            vectors={
                key: edge.EdgeVectorParams(size=held.size, distance=getattr(edge.Distance, held.distance.capitalize()))
                for key, held in wanted.vectors.items()
            }
            or None,
            sparse_vectors={
                key: edge.EdgeSparseVectorParams(modifier=getattr(edge.Modifier, str(held.modifier).capitalize()))
                for key, held in wanted.sparse_vectors.items()
            },
            hnsw_config=edge.HnswIndexConfig(m=0, ef_construct=100, full_scan_threshold=10_000),
        )
        self._shards[name] = edge.EdgeShard.create(str(self._folder / name), config)
        return 200, True

    def _name(self, wanted: models.ChangeAliasesOperation) -> tuple[int, Any]:
        for action in wanted.actions:
            if isinstance(action, models.DeleteAliasOperation):
                self._aliases.pop(action.delete_alias.alias_name, None)
                continue
            assert isinstance(action, models.CreateAliasOperation)
            given = action.create_alias
            if given.collection_name not in self._shards:
                return 404, f"Not found: Collection `{given.collection_name}` doesn't exist!"
            if given.alias_name in self._shards:
                return 409, f"Wrong input: Collection `{given.alias_name}` already exists!"
            self._aliases[given.alias_name] = given.collection_name
        return 200, True

    def close(self) -> None:
        for shard in self._shards.values():
            with suppress(Exception):  # its files are gone
                shard.close()


def _index(shard: edge.EdgeShard, body: Any) -> Any:
    asked = models.CreateFieldIndex.model_validate(body)
    assert asked.field_schema == models.PayloadSchemaType.KEYWORD
    return _update(shard, edge.UpdateOperation.create_field_index(asked.field_name, edge.PayloadSchemaType.Keyword))


def _upsert(shard: edge.EdgeShard, body: Any) -> Any:
    asked = models.PointsList.model_validate(body)
    points = [edge.Point(str(p.id), _vectors(p.vector), p.payload) for p in asked.points]
    condition = _filter(asked.update_filter) if asked.update_filter else None
    return _update(shard, edge.UpdateOperation.upsert_points(points, condition=condition))


def _vectors(held: Any) -> dict[str, Any]:
    return {
        name: edge.SparseVector(vector.indices, vector.values) if isinstance(vector, models.SparseVector) else vector
        for name, vector in held.items()
    }


def _set_payload(shard: edge.EdgeShard, body: Any) -> Any:
    asked = models.SetPayload.model_validate(body)
    ids = [str(point) for point in asked.points or []]
    return _update(shard, edge.UpdateOperation.set_payload(ids, asked.payload))


def _delete(shard: edge.EdgeShard, body: Any) -> Any:
    asked = models.FilterSelector.model_validate(body)
    return _update(shard, edge.UpdateOperation.delete_points_by_filter(_filter(asked.filter)))


def _update(shard: edge.EdgeShard, operation: edge.UpdateOperation) -> Any:
    shard.update(operation)
    return {"operation_id": 0, "status": "completed"}


def _retrieve(shard: edge.EdgeShard, body: Any) -> Any:
    ids = [str(point) for point in models.PointRequest.model_validate(body).ids]
    found = shard.retrieve(ids, with_payload=True, with_vector=False)
    return [{"id": str(record.id), "payload": record.payload} for record in found]


def _scroll(shard: edge.EdgeShard, body: Any) -> Any:
    request = models.ScrollRequest.model_validate(body)
    assert not request.with_payload and not request.with_vector
    start = None if request.offset is None else str(request.offset)
    points, following = shard.scroll(
        edge.ScrollRequest(
            offset=start, limit=request.limit, filter=_filter(request.filter), with_payload=False, with_vector=False
        )
    )
    next_page = None if following is None else str(following)
    return {"points": [{"id": str(point.id)} for point in points], "next_page_offset": next_page}


def _count(shard: edge.EdgeShard, body: Any) -> Any:
    asked = models.CountRequest.model_validate(body)
    assert asked.exact
    return {"count": shard.count(edge.CountRequest(exact=True, filter=_filter(asked.filter)))}


def _query_batch(shard: edge.EdgeShard, body: Any) -> Any:
    asked = models.QueryRequestBatch.model_validate(body)
    return [_query(shard, one) if one.query else _found_by_id(shard, one) for one in asked.searches]


def _found_by_id(shard: edge.EdgeShard, asked: models.QueryRequest) -> Any:
    condition = asked.filter and asked.filter.must and asked.filter.must[0]  # type: ignore[index]
    assert isinstance(condition, models.HasIdCondition)
    points = _retrieve(shard, {"ids": condition.has_id})
    return {"points": [{**point, "version": 0, "score": 0.0} for point in points]}


def _query(shard: edge.EdgeShard, asked: models.QueryRequest) -> Any:
    query: Any = asked.query
    vector = query.nearest if isinstance(query, models.NearestQuery) else query
    params, idf = asked.params or models.SearchParams(), None
    if params.idf is not None:
        assert isinstance(params.idf, models.IdfCorpusParams)
        idf = edge.IdfParams(corpus=_filter(params.idf.corpus))
    request = edge.QueryRequest(
        limit=asked.limit,
        query=edge.Query.Nearest(_vectors({"": vector})[""], using=asked.using),
        filter=_filter(asked.filter) if asked.filter else None,
        params=edge.SearchParams(exact=bool(params.exact), idf=idf),
        with_payload=True,
        with_vector=asked.with_vector,
    )
    return {
        "points": [
            {"id": str(p.id), "version": 0, "score": p.score, "payload": p.payload, "vector": _sparse(p.vector)}
            for p in shard.query(request)
        ]
    }


def _sparse(vectors: Any) -> Any:
    return vectors and {name: {"indices": v.indices, "values": v.values} for name, v in vectors.items()}


def _filter(wanted: models.Filter | None) -> edge.Filter:
    if wanted is None:
        return edge.Filter()
    must, must_not = ([_condition(c) for c in held or []] or None for held in (wanted.must, wanted.must_not))
    assert not wanted.should and not wanted.min_should
    return edge.Filter(must=must, must_not=must_not)


def _condition(wanted: Any) -> Any:
    if isinstance(wanted, models.HasIdCondition):
        return edge.HasIdCondition({str(point) for point in wanted.has_id})
    if isinstance(wanted, models.HasVectorCondition):
        return edge.HasVectorCondition(wanted.has_vector)
    assert isinstance(wanted, models.FieldCondition)
    if wanted.range is not None:
        return edge.FieldCondition(wanted.key, range=edge.RangeFloat(**wanted.range.model_dump()))
    assert isinstance(wanted.match, models.MatchAny)
    return edge.FieldCondition(wanted.key, match=edge.MatchAny(list(wanted.match.any)))


_POINTS: dict[str, Callable[[edge.EdgeShard, Any], Any]] = {
    "PUT index": _index, "PUT points": _upsert, "POST points/payload": _set_payload, "POST points/delete": _delete,
    "POST points": _retrieve, "POST points/count": _count, "POST points/query/batch": _query_batch,
    "POST points/scroll": _scroll,
}  # fmt: skip


@contextmanager
def running(api_key: str = "", version: str = "1.20.0") -> Iterator[Stub]:
    """A stub that listens on a free port of this machine."""
    folder = Path(tempfile.mkdtemp(prefix="qdrant-stub-"))
    stub = Stub(folder, api_key, version)

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            path = self.path.partition("?")[0]
            status, said = stub.answer(self.command, path, body, self.headers.get("api-key"))
            data = (said if isinstance(said, str) else json.dumps(said)).encode()
            try:
                self.send_response(status)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except OSError:
                self.close_connection = True  # the caller was killed

        do_GET = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815 - the base class's names

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    stub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        shutil.rmtree(folder, ignore_errors=True)  # first: closing would write everything to the disk
        stub.close()
