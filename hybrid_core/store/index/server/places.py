"""Where a library's points lie on a server: in collections of its own, or in those that libraries share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hybrid_core.store.index.index import VectorIndex
from hybrid_core.store.index.points import PointSource
from hybrid_core.store.index.server.aliases import CollectionAlias
from hybrid_core.store.index.server.collection import CollectionStore
from hybrid_core.store.index.server.connection import Server
from hybrid_core.store.index.server.opening import (
    drop_collections,
    library_collection,
    made_of,
    open_server,
    shared_collection,
    unused,
)


@dataclass(frozen=True, slots=True)
class Places:
    server: Server
    beginning: str  # of the names of the catalog's collections, from ``of_catalog``
    library: str
    source: PointSource
    alias: str = ""  # what people call the library

    def open(
        self,
        shared: bool,
        manifest: Mapping[str, str | int],
        dimension: int,
        learned: bool,
        *,
        follow: bool = True,
    ) -> VectorIndex:
        """``open_server`` at one of the two places; what nobody used at the other for a day is deleted.

        A library that has collections of its own keeps them, so that it does not go to and fro.
        """
        shared = shared and not self._has_own()
        place, tenant = (self._shared, self.library) if shared else (self._own, "")
        index = open_server(self.server, place, self.source, manifest, dimension, learned, follow=follow, tenant=tenant)
        if not shared and isinstance(index.store, CollectionStore):
            self._named.give(self.server, index.store.name, made_of(self._own))
        self._drop(not shared, in_use=False)
        return index

    def rename(self) -> None:
        """Let a collection of the library's own that has an alias have the one that it has now."""
        self._named.change(self.server, made_of(self._own))

    def drop(self) -> list[str]:
        """Delete the library's points wherever they are; the names of the collections that held them."""
        return [*self._drop(True), *self._drop(False)]

    def _drop(self, shared: bool, *, in_use: bool = True) -> list[str]:
        place, tenant = (self._shared, self.library) if shared else (self._own, "")
        return drop_collections(self.server, place, self.source, lambda one: not in_use and not unused(one), tenant)

    @property
    def _named(self) -> CollectionAlias:
        return CollectionAlias(self.beginning, self.alias or self.library, self.library)

    def _has_own(self) -> bool:
        return any(name.startswith(f"{self._own}-") for name in self.server.collections())

    @property
    def _own(self) -> str:
        return library_collection(self.beginning, self.library)

    @property
    def _shared(self) -> str:
        return shared_collection(self.beginning)
