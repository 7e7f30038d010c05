"""What lies in a file becomes jobs of its own, for whoever waits for the file's."""

from __future__ import annotations

from collections.abc import Iterator

from hybrid_core.errors import ChangedError, DocumentError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.sources import exclusions
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.types.jobs import JobRequest
from hybrid_core.types.priorities import BEHIND, WANTED
from indexers.files.discover import left_out
from indexers.stages.members.keeper import MemberKeeper, Members
from indexers.stages.turn import Turn

_NAMED = 5  # members that could not be had


class MemberJobs:
    def __init__(self, catalog: Catalog, queue: JobQueue, keeper: MemberKeeper) -> None:
        self._catalog, self._queue, self._keeper = catalog, queue, keeper

    def follow(self, turn: Turn, sha256: str, *, keep: bool) -> None:
        """Have what lies in a turn's file indexed; ``keep``: what was taken out of it before may not be that any more.

        The turn is told what could not be had. It comes before the file is published: a process that is killed between
        has it taken out again.
        """
        job = turn.job
        if keep:
            try:
                found = self._keeper.keep(turn.library, turn.file, sha256, turn.source)
            except ChangedError:
                raise
            except DocumentError as error:
                why = str(error).removeprefix(f"{turn.file}: ")
                turn.said = (f"what lies in it was not read: {why.removesuffix('.')}",)
                found = Members(self._catalog.members(turn.library, job.subject))
            turn.said += tuple(_told(found, job.subject))
        else:
            found = Members(self._catalog.members(turn.library, job.subject))
        away = exclusions(self._catalog, turn.library)
        self._queue.enqueue_beside(
            job,
            [
                JobRequest(
                    turn.library, "index", path, "parse", options=job.options, needs=job.needs,
                    priority=min(job.priority, WANTED) - BEHIND, owner=job.owner, version=sha256,
                )
                for path in found.paths
                if path not in away
            ],
        )  # fmt: skip


def _told(found: Members, container: str) -> Iterator[str]:
    for path, why in found.damaged[:_NAMED]:
        yield f"{path.removeprefix(container).removeprefix('!/')} in it could not be read: {why.removesuffix('.')}"
    if len(found.damaged) > _NAMED:
        yield f"{len(found.damaged) - _NAMED} more in it could not be read"
    if found.skipped:
        yield f"in it, {left_out(found.skipped)}"
