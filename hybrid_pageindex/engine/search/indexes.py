"""The open search indexes of a home, one per library, each for the embedder in use."""

from __future__ import annotations

import importlib.metadata
import logging
import math
import shutil
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid_core.errors import (
    BusyError,
    DiskFullError,
    NotFoundError,
    OtherHistoryError,
    PageIndexError,
    ReadOnlyError,
)
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.index.catalog_source import CatalogSource, Comparison, compare
from hybrid_core.store.index.edge.folders import in_use
from hybrid_core.store.index.edge.store import EdgeStore, open_edge
from hybrid_core.store.index.index import CountedDocuments, EmptyStore, VectorIndex, completed
from hybrid_core.store.index.points import MOST_SENT, Head, holds
from hybrid_core.text import tokens
from hybrid_core.text.bm25 import Bm25
from hybrid_core.types.libraries import Library
from hybrid_pageindex.engine.search.handles import (
    Backend,
    BackgroundFollower,
    IndexHandle,
    IndexPlan,
    SearchableIndex,
    ServerAddress,
    drop_folder,
    index_folder,
    no_server,
)

if TYPE_CHECKING:
    from hybrid_core.store.index.server.connection import Server
    from hybrid_core.store.index.server.placement import Places


BM25 = Bm25()
_MANIFEST: dict[str, str | int] = {
    "points": 1, "tokeniser": tokens.TOKENISER, "bm25": f"k1={BM25.k1} b={BM25.b} average={BM25.average}",
}  # fmt: skip
"""Everything on which a vector index depends. An index with another manifest is rebuilt from the catalog."""
_AT_ONCE = 100  # pages and documents that a search applies itself: as long as a search may take more than a warm one
_KEPT_PAGES = 20_000  # pages whose term counts are cached until the index contains them: about 30 MB
_LAST_SECONDS = 0.2  # time for updates when a process ends; each of many short processes brings the index further
_EPOCHS = 3  # epochs to try in a row; a second is needed only if yet another copy of the catalog appears meanwhile
_log = logging.getLogger(__name__)


class Indexes:
    """The search indexes of a home, kept open and up to date, on the Qdrant server if one is configured.

    Safe for several threads. A background thread applies the change logs of searched libraries until this object is
    closed or deleted. The modules for the server need an extra and are imported on first use.
    """

    def __init__(self, catalog: Catalog, home: Path, address: ServerAddress = ServerAddress()) -> None:
        self._catalog, self._home, self._address = catalog, home, address
        self._handles: dict[str, IndexHandle] = {}  # by library
        self._connecting = threading.Lock()
        self._server: Server | None = None
        self.follower = BackgroundFollower(self)

    @property
    def server_url(self) -> str:
        """Return the addresses of the Qdrant nodes, separated by commas, "" if the indexes are in the home."""
        return self._address.url

    @property
    def server_key(self) -> bool:
        """Return whether an API key for the server is configured."""
        return bool(self._address.api_key)

    @property
    def backend(self) -> Backend:
        """Return "server" if the indexes are on a Qdrant server, "embedded" if they are in the home."""
        return "server" if self._address.url else "embedded"

    def ready(self, library: str) -> VectorIndex:
        """Return the search index of a library with everything published before the call.

        Raise NotFoundError for an unknown library, StoreError if the index cannot be written or the server does not
        answer.
        """
        return self._brought_up(library, lambda index, plan: index.catch_up(plan.source, plan.newest.seq))

    def rebuild(self, library: str) -> int:
        """Rebuild the index of a library from the catalog, and return its number of vectors.

        Raise the errors of ``ready``, and BusyError if another process has the embedded index open.
        """

        def refill(index: VectorIndex, plan: IndexPlan) -> None:
            if isinstance(index.store, EdgeStore) and index.store.private:
                raise BusyError(
                    "Another process has the search index open, so this command cannot use it.",
                    "End that process, then try again.",
                )
            index.refill(plan.source)

        return self._brought_up(library, refill).count()

    def compare(self, library: str, on_document: Callable[[], object]) -> Comparison:
        """Compare the index of a library with the catalog, and return the differences.

        ``on_document`` is called for each document. Raise the errors of ``ready``.
        """
        plan = self._plan(library)
        index = self._open(library, plan, searched=True)[1]
        if isinstance(index.store, EmptyStore):
            index.store.stand()  # raises the reason why the index cannot be written
        return compare(index, plan.source, on_document)

    def _brought_up(
        self, library: str, bring_up: Callable[[VectorIndex, IndexPlan], None], searched: bool = True
    ) -> VectorIndex:
        """Open a library's index, update it with the function ``bring_up``, and return it.

        If a copy of the catalog writes to the same collection on the server, open another collection (a new epoch).
        """
        plan = self._plan(library)
        for _ in range(_EPOCHS):
            index = self._open(library, plan, searched)[1]
            with suppress(OtherHistoryError):  # noticed only now: opening it again chooses another epoch
                bring_up(index, plan)
                return index
        bring_up(index, plan)
        return index

    def searchable(self, library: str) -> SearchableIndex:
        """Return an index that finds all published content, even if the stored index is far behind.

        Missing content is added for this search only. Raise the errors of ``ready``.
        """
        plan = self._plan(library)
        handle, index = self._open(library, plan, searched=True)
        self.follower.start()
        stand = index.stand
        if stand == plan.newest and not index.store.amiss:
            handle.behind, handle.counts, handle.completed = False, {}, None
            return SearchableIndex(index)
        at, completed = (index, stand, plan.newest, handle.failure), handle.completed
        if completed is not None and completed[0] == at and not index.store.amiss:
            return completed[1]
        changed: frozenset[str] = frozenset()
        if stand.seq < plan.newest.seq and not index.store.amiss and holds(plan.source, stand):
            changed = plan.source.changed(stand.seq)
        pages = plan.source.pages_of(changed) if len(changed) <= _AT_ONCE else _AT_ONCE
        if len(changed) + pages <= _AT_ONCE and self._caught_up(handle, index, plan):
            handle.behind, handle.counts, handle.completed = False, {}, None
            return SearchableIndex(index)
        result = self._completed(handle, index, stand.seq, plan.source, changed)
        handle.completed, handle.behind = (at, result), True
        return result

    @staticmethod
    def _caught_up(handle: IndexHandle, index: VectorIndex, plan: IndexPlan) -> bool:
        """Apply the catalog's change log to an index. Return whether the index could be written.

        A failure is stored in the handle.
        """
        try:
            index.catch_up(plan.source, plan.newest.seq, fill=not index.store.shared)
        except (DiskFullError, ReadOnlyError) as error:
            handle.failure = error.message
            return False
        handle.failure = ""
        return True

    def _completed(
        self, handle: IndexHandle, index: VectorIndex, position: int, source: CatalogSource, changed: frozenset[str]
    ) -> SearchableIndex:
        """Return an index for one search that adds the ``changed`` documents to an outdated index."""
        documents = CountedDocuments(source, changed, handle.counts, _KEPT_PAGES)
        unchanged: Collection[str] | None = None
        if position == 0:
            unchanged = ()  # an empty index has no unchanged documents
        elif len(changed) > MOST_SENT:
            unchanged = {doc_id for doc_id, _ in source.published() if doc_id not in changed}
        whole = completed(index, changed, documents, BM25, unchanged)
        handle.counts = documents.kept
        return SearchableIndex(whole, changed, source.pages_of(changed), handle.failure)

    def follow(self, library: str, stopped: Callable[[], bool] = lambda: False) -> None:
        """Update the index of a library after a publication.

        Do nothing if another process has the embedded index open, because that process updates it. Raise the errors of
        ``ready``.
        """
        handle = self._handle(library)
        mine = handle.index is not None
        if not mine and self.backend == "embedded" and in_use(index_folder(self._home, library)):
            return

        def bring_up(index: VectorIndex, plan: IndexPlan) -> None:
            index.catch_up(plan.source, plan.newest.seq, lambda: stopped() or handle.enough())

        with handle.lock:
            handle.following += 1
        try:
            index = self._brought_up(library, bring_up, searched=False)
        finally:
            with handle.lock:
                handle.following -= 1
        with handle.lock:
            unused = not handle.searched and not handle.following and handle.index is index
            if unused and self.backend == "embedded":
                index.settle()
                handle.close()  # other processes search with it

    def build(self, library: str, backend: Backend) -> tuple[VectorIndex, CatalogSource]:
        """Build an index of a library, on the server or in the home as ``backend`` says.

        Return the index and its catalog source; the caller must close both.
        """
        plan = self._plan(library)
        with self._handle(library).lock:
            return self._opened(plan, library, backend)[0], plan.source

    def drop(self, library: str, backend: Backend) -> bool:
        """Delete the index of a library on the server or in the home, as ``backend`` says.

        Return False if there is none or another process has it open.
        """
        handle = self._handle(library)
        with handle.lock:
            if self.backend == backend:
                handle.close()
            if backend == "server":
                return bool(self._places(library).drop())
            return drop_folder(index_folder(self._home, library))

    def embedded(self, library: str) -> bool:
        """Return whether the home folder contains an index of a library, even an unused one."""
        return index_folder(self._home, library).exists()

    def rename(self, library: str) -> None:
        """Show the library's new name or alias on the Qdrant server.

        A failure is logged, and the update is repeated when the library is next opened.
        """
        if not self._address.url:
            return
        try:
            self._places(library).rename()
        except PageIndexError as error:
            _log.warning("the Qdrant server still shows %s under its old name: %s", library, error.message)

    def forget(self, library: str) -> None:
        """Close and delete the index of a library."""
        handle = self._handle(library)
        with handle.lock:
            handle.close()
            if self._address.url:
                self._places(library).drop()
        shutil.rmtree(index_folder(self._home, library).parent, ignore_errors=True)

    def check(self) -> str:
        """Return the name and version of the vector engine or of the server.

        Raise StoreError if a server is configured but cannot be used.
        """
        if not self._address.url:
            return f"Qdrant Edge {importlib.metadata.version('qdrant-edge-py')}"
        server = self._connected()
        client = importlib.metadata.version("qdrant-client")
        return f"Qdrant server {server.version()} at {server.url} (qdrant-client {client})"

    def close(self) -> None:
        """Apply outstanding changes, but only for a short time. Then release all indexes for other processes."""
        handles = list(self._handles.values())
        for handle in handles:
            handle.ends_at = time.monotonic() + _LAST_SECONDS
        self.follower.end()
        for handle in handles:
            with handle.lock:
                handle.close()
        with self._connecting:
            if self._server is not None:
                self._server.close()
                self._server = None

    def _handle(self, library: str) -> IndexHandle:
        return self._handles.setdefault(library, IndexHandle())  # atomic, so no lock is needed

    def _open(self, library: str, plan: IndexPlan, searched: bool) -> tuple[IndexHandle, VectorIndex]:
        """Return the state (handle) and the index of a library. Open the index if it is closed or outdated."""
        handle = self._handle(library)
        with handle.lock:
            if handle.made_for != (plan.manifest, plan.epoch):  # another embedder, an earlier catalog or another epoch
                handle.close()
            if handle.index is not None and handle.index.store.shared and handle.index.store.amiss:
                handle.close()  # deleted from the server; a new one is filled while searches continue
            if handle.index is not None and isinstance(handle.index.store, EmptyStore) and handle.may_try():
                handle.close()
            if handle.index is None:
                handle.index, epoch = (
                    self._opened_or_empty(handle, plan, library)
                    if searched
                    else self._opened(plan, library, self.backend, follow=False, lasting=True)
                )
                handle.made_for = (plan.manifest, epoch)
            handle.searched |= searched
            return handle, handle.index

    def follow_all(self) -> None:
        """Apply the change log to every index that was searched, until the thread must end."""
        for library, handle in list(self._handles.items()):
            try:
                self._follow_on(library, handle)
                handle.failure = ""
            except (NotFoundError, OtherHistoryError):
                continue  # removed meanwhile, or the next search opens it in another epoch
            except PageIndexError as error:
                if handle.failure != error.message:
                    _log.warning("the search index of %s could not be updated: %s", library, error.message)
                handle.failure = error.message

    def _follow_on(self, library: str, handle: IndexHandle) -> None:
        index = handle.index
        last = self.follower.ending
        if index is None or not handle.searched or (last and (handle.ends_at == math.inf or not handle.behind)):
            return
        while True:
            plan = self._plan(library)
            made_for = (plan.manifest, plan.epoch)
            if made_for != handle.made_for or index.stand == plan.newest or index.store.closed:
                return
            self.follower.give_way()
            enough = lambda: self.follower.hurries(last) or handle.enough()  # noqa: E731 - of this update
            index.catch_up(plan.source, plan.newest.seq, enough, fill=not index.store.shared)
            if handle.enough() or (self.follower.ending and not last):
                return

    def _plan(self, library: str) -> IndexPlan:
        with self._catalog.snapshot() as snapshot:
            catalog_id, position, serving, mark, epoch = snapshot.state(library)
        fingerprint, dimension, learned = ("", 0, False)
        if serving is not None:
            fingerprint, dimension, learned = serving.fingerprint, serving.dimension, serving.sparse
        source = CatalogSource(self._catalog, library, BM25, serving)
        manifest = _MANIFEST | {"catalog": catalog_id, "embedder": fingerprint}
        epoch = epoch if self.backend == "server" else ""
        return IndexPlan(Head(position, mark), epoch, source, manifest, dimension, learned)

    def _opened(
        self, plan: IndexPlan, library: str, backend: Backend, follow: bool = True, lasting: bool = False
    ) -> tuple[VectorIndex, str]:
        """Open a library's index on the server or in the home. Return it with its epoch, "" in the home.

        If a copy of the catalog writes to the same collection, begin a new epoch, which has collections of its own.
        """
        if backend == "embedded":
            folder = index_folder(self._home, library)
            vectors = (plan.dimension, plan.learned)
            return open_edge(folder, plan.source, plan.manifest, *vectors, follow=follow, lasting=lasting), ""
        epoch = plan.epoch
        for _ in range(_EPOCHS):
            try:
                return self._opened_on_server(plan, library, epoch, follow), epoch
            except OtherHistoryError:
                _log.warning(
                    "%s: another copy of this catalog uses the collection of the library %s on the Qdrant server",
                    self._home,
                    library,
                )
                epoch = self._catalog.leave_epoch(epoch)
        return self._opened_on_server(plan, library, epoch, follow), epoch

    def _opened_on_server(self, plan: IndexPlan, library: str, epoch: str, follow: bool) -> VectorIndex:
        own_from = self._address.own_from
        shared = own_from > 0 and self._pages(library) < own_from
        vectors = (plan.dimension, plan.learned)
        places = replace(self._places(library, epoch), source=plan.source)
        return places.open(shared, plan.manifest, *vectors, follow=follow)

    def _opened_or_empty(self, handle: IndexHandle, plan: IndexPlan, library: str) -> tuple[VectorIndex, str]:
        """Open a library's index.

        If it cannot be written, return an empty one; searches then find pages by words only.
        """
        try:
            opened = self._opened(plan, library, self.backend, follow=False)
        except (DiskFullError, ReadOnlyError) as error:
            if handle.failure != error.message:
                _log.warning(
                    "the library %s is searched by words only, because its search index cannot be used: %s",
                    library,
                    error,
                )
            handle.failure = error.message
            handle.tried()
            return VectorIndex(EmptyStore(error)), plan.epoch
        handle.failure = ""
        return opened

    def _places(self, library: str, epoch: str | None = None) -> Places:
        """Return where a library's vectors are on the server, in an epoch (default: the catalog's current one).

        An epoch has collections of its own. A catalog begins a new one if a copy of it writes to the same collections.
        """
        from hybrid_core.store.index.server.placement import Places, of_catalog

        with self._catalog.snapshot() as snapshot:
            named = next(
                (candidate for candidate in snapshot.named_libraries() if candidate.id == library),
                Library(library, library),
            )
            alias = named.alias or named.name
            chosen = snapshot.epoch() if epoch is None else epoch
            beginning = of_catalog(self._address.prefix, snapshot.catalog_id(), chosen)
        source = CatalogSource(self._catalog, library, BM25)
        return Places(self._connected(), beginning, library, source, alias)

    def _beginning(self) -> str:
        """Return the prefix of the names of this catalog's collections on the server."""
        from hybrid_core.store.index.server.placement import of_catalog

        with self._catalog.snapshot() as snapshot:
            return of_catalog(self._address.prefix, snapshot.catalog_id(), snapshot.epoch())

    def complete(self) -> dict[str, int]:
        """Copy missing replicas of shards between the nodes of the Qdrant cluster.

        Return the number of copies per collection. Raise UsageError if no server is configured, UnreachableError if the
        cluster has too few nodes.
        """
        from hybrid_core.store.index.server.placement import catalog_collections, complete

        if self.backend != "server":
            raise no_server()
        server = self._connected()
        return {name: complete(server, name) for name in catalog_collections(server, self._beginning())}

    def other_epochs(self) -> list[str]:
        """Return the server collections that this catalog no longer uses, or that a copy of it created."""
        from hybrid_core.store.index.server.placement import other_epochs

        if self.backend != "server":
            return []
        with self._catalog.snapshot() as snapshot:
            catalog_id = snapshot.catalog_id()
        return other_epochs(self._connected(), self._address.prefix, catalog_id, self._beginning())

    def _pages(self, library: str) -> int:
        with self._catalog.snapshot() as snapshot:
            return snapshot.expected_pages(library)

    def _connected(self) -> Server:
        with self._connecting:
            if self._server is None:
                from hybrid_core.store.index.server.connection import Layout, connect

                to = self._address
                self._server = connect(to.url, to.api_key, Layout(**to.layout))
            return self._server
