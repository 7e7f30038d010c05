"""Clients for the libraries, bin, jobs and models of a server, with the methods of the engine's sub-engines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from hybrid_core.store.catalog.bin import BinEntry
from hybrid_core.types.jobs import ENDED
from hybrid_core.types.libraries import Library
from hybrid_core.types.requests import several
from hybrid_pageindex.client.wire import SubClient, quoted, read_as
from hybrid_pageindex.engine.index.reindexing import Estimate
from hybrid_pageindex.engine.index.uploads import Uploaded
from hybrid_pageindex.engine.libraries.libraries import LibrarySize


class LibrariesClient(SubClient):
    """Create, rename, delete and list the libraries of a server."""

    async def create(self, name: str, *, alias: str = "") -> Library:
        return read_as(Library, await self._wire.json("POST", "/libraries", json={"name": name, "alias": alias}))

    async def name(self, library: str, *, name: str | None = None, alias: str | None = None) -> Library:
        changed = {"name": name, "alias": alias}
        return read_as(Library, await self._wire.json("PATCH", f"/libraries/{quoted(library)}", json=changed))

    async def clear(self, *, library: str, for_good: bool = False) -> list[str]:
        params = {"for_good": "true"} if for_good else {}
        deleted: list[str] = (await self._wire.json("DELETE", f"/libraries/{quoted(library)}", params))["deleted"]
        return deleted

    async def list(self, part: str = "") -> list[LibrarySize]:
        return read_as(list[LibrarySize], await self._wire.json("GET", "/libraries", {"find": part}))


class BinClient(SubClient):
    """The bin of removed documents and libraries, which can be restored for 30 days."""

    async def restore(self, entry: str) -> BinEntry:
        """Restore an entry of the bin, as ``Engine.bin.restore`` does."""
        return read_as(BinEntry, await self._wire.json("POST", f"/bin/{quoted(entry)}/restore"))

    async def empty(self, entry: str | None = None) -> int:
        """Delete one entry or all entries for good, as ``Engine.bin.empty`` does.

        Return the number of deleted entries.
        """
        if entry is None:
            return int((await self._wire.json("DELETE", "/bin"))["deleted"])
        await self._wire.json("DELETE", f"/bin/{quoted(entry)}")
        return 1

    async def list(self) -> list[BinEntry]:
        """Return the entries of the bin, as ``Engine.bin.list`` does."""
        return read_as(list[BinEntry], await self._wire.json("GET", "/bin"))


class JobsClient(SubClient):
    """List, follow and control the jobs of a server."""

    async def wait(self, uploaded: Uploaded) -> list[dict[str, Any]]:
        """Wait until all jobs of an upload have ended. Return each job with its outcome."""
        jobs = [file.job for file in uploaded.files if file.job is not None]
        for job in jobs:
            async for _ in self.events(job):
                pass
        return [await self.get(job) for job in jobs]

    async def get(self, id: int) -> dict[str, Any]:
        """Return a job with its history, in the form of ``JobHistory.to_dict``."""
        return read_as(dict[str, Any], await self._wire.json("GET", f"/jobs/{id}"))

    async def events(self, id: int, after: int | None = None) -> AsyncIterator[tuple[int, str, Any]]:
        """Yield (event number, kind, detail) for each event of a job, until the job has ended."""
        ended = False
        while not ended:  # the server ends a stream after a while, and when it restarts
            async for number, kind, data in self._wire.events(f"/jobs/{id}/events", after):
                after = max(number, after or 0) if number >= 0 else after
                ended = ended or _ended(kind, data)
                yield number, kind, data
            if not ended:
                await asyncio.sleep(1)

    async def decide(self, action: str, *jobs: int, library: str | None = None, everything: bool = False) -> list[int]:
        """Apply an action to jobs: pause, resume, cancel, retry or forget. Return the numbers of the affected jobs."""
        body = {"jobs": list(jobs), "library": library, "everything": everything}
        done: list[int] = (await self._wire.json("POST", f"/jobs/{action}", json=body))["jobs"]
        return done

    async def list(self, *, library: str | None = None, status: Sequence[str] = (), limit: int = 100) -> dict[str, Any]:
        """Return jobs in the form of ``JobList.to_dict``."""
        params = {"library": library, "status": list(status), "limit": limit}
        return read_as(dict[str, Any], await self._wire.json("GET", "/jobs", params))


class ModelsClient(SubClient):
    """A client that requests estimates of model calls from a server."""

    async def estimate(self, documents: Sequence[str] | str = (), *, library: str | None = None) -> Estimate:
        """Return an estimate of the model calls for documents, as ``Engine.models.estimate`` does."""
        where = f"{self._in(library)}/estimate"
        return read_as(Estimate, await self._wire.json("POST", where, json={"documents": several(documents)}))


def _ended(kind: str, data: Any) -> bool:
    if kind == "state":
        return any(job["status"] in ENDED for job in data["jobs"])
    return kind in ENDED
