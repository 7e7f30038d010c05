"""Files inside archives and mails (members).

Workers extract them, the home (data folder) stores them, and separate jobs index them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from hybrid_core.errors import ChangedError, DocumentError, LimitError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.documents import Original
from hybrid_core.store.catalog.libraries import exclusions
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.types.documents import Document
from hybrid_core.types.jobs import BEHIND, WANTED, JobRequest
from hybrid_core.types.libraries import member_address
from hybrid_core.types.notes import Note
from indexers.files.discover import left_out
from indexers.formats.format import Format
from indexers.formats.limits import ParseLimits
from indexers.formats.registry import format_of, named
from indexers.formats.unpack import Unpacked
from indexers.jobs.reader import Parser
from indexers.jobs.stage_run import StageRun
from indexers.workers.pool import WorkerPool
from indexers.workers.protocol import UnpackTask


def holds_members(catalog: Catalog, library: str, path: str, format: Format | None) -> bool:
    """Return whether the files inside this file have to be extracted.

    This is False for a file inside a container, as nested files are extracted together with the outermost container.
    """
    return format is not None and format.members is not None and not catalog.is_member(library, path)


def members_of(catalog: Catalog, library: str, document: Document) -> list[Path]:
    """Return the addresses of all files that were extracted from a document's file when it was last read."""
    may_hold = holds_members(catalog, library, document.path, named(document.format))
    return [Path(path) for path in catalog.members(library, document.path)] if may_hold else []


@dataclass(slots=True)
class Members:
    """The files inside a container, at any depth. ``paths`` are the addresses of those that were stored.

    ``damaged`` are addresses that could not be extracted, with the reasons. ``skipped`` counts files without a parser,
    by suffix.
    """

    paths: list[str] = field(default_factory=list)
    damaged: list[tuple[str, str]] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)


class MemberKeeper:
    def __init__(self, catalog: Catalog, pool: WorkerPool, parser: Parser, limits: ParseLimits) -> None:
        self._catalog, self._pool, self._parser, self._limits = catalog, pool, parser, limits

    def keep(self, library: str, file: Path, sha256: str, source: Path) -> Members:
        """Extract and store the files inside a container. Stored files that it no longer contains are removed.

        Raise DocumentError if the container cannot be opened, LimitError if it contains too much. The files stored
        before then stay.
        """
        with self._parser.copy(file, sha256, source) as copy, self._parser.work() as work:
            opening = _Opening(self._pool, self._limits)
            opening.open(str(file), copy.path, work, depth=1)
            self._catalog.keep(library, str(file), opening.originals)
        return opening.members


class _Opening:
    """The extraction of an archive or mail. Its limits apply to all files inside it together, at any depth."""

    def __init__(self, pool: WorkerPool, limits: ParseLimits) -> None:
        self._pool, self._limits, self._allowance = pool, limits, pool.allowance()
        self.members = Members()
        self.originals: list[Original] = []
        self._full = False  # whether the limit on files is reached

    def open(self, address: str, file: Path, folder: Path, depth: int) -> None:
        task = UnpackTask(file, folder, self._limits)
        unpacked = cast(Unpacked, self._pool.submit(task, self._allowance).result())
        self.members.damaged += [(member_address(address, name), why) for name, why in unpacked.damaged]
        self.members.skipped.update(unpacked.skipped)
        size = sum(member.size for member in unpacked.members)
        for member in unpacked.members:
            path = member_address(address, member.name)
            self.members.paths.append(path)
            self.originals.append(Original(path, address, member.file, member.sha256))
        self._full = self._limits.max_entries <= len(unpacked.members)
        self._limits = replace(
            self._limits,
            max_entries=max(1, self._limits.max_entries - len(unpacked.members)),
            max_expanded_bytes=max(1, self._limits.max_expanded_bytes - size),
        )
        for at, member in enumerate(unpacked.members):
            if format_of(member.file).may_hold(member.file):
                self._inner(member_address(address, member.name), member.file, folder / f"in-{at}", depth)

    def _inner(self, address: str, file: Path, folder: Path, depth: int) -> None:
        try:
            self._limits.check(
                "max_nesting",
                depth + 1,
                f"the archive was not opened, because it is nested {depth} levels deep",
                file=file,
            )
            if self._full:
                raise LimitError(
                    "the file was skipped, because its outermost archive contains more files than the limit allows.",
                    "Raise the setting max_entries, or unpack the archive yourself.",
                )
            folder.mkdir()
            self.open(address, file, folder, depth + 1)
        except DocumentError as error:
            self.members.damaged.append((address, str(error.without_file)))


_MAX_NAMES = 5  # members that could not be read, named in notes


class MemberJobs:
    def __init__(self, catalog: Catalog, queue: JobQueue, keeper: MemberKeeper) -> None:
        self._catalog, self._queue, self._keeper = catalog, queue, keeper

    def follow(self, run: StageRun, sha256: str, *, keep: bool) -> None:
        """Enqueue jobs for the files inside an archive or mail. With ``keep``, extract them again first.

        Notes on unreadable files are added to ``run``. Call this before the archive is published, so that the files
        are extracted again after an interruption.
        """
        job = run.job
        if keep:
            try:
                members = self._keeper.keep(run.library, run.file, sha256, run.source)
            except ChangedError:
                raise
            except DocumentError as error:
                run.notes = (Note("file.members-not-read", reason=error.without_file.removesuffix(".")),)
                members = Members(self._catalog.members(run.library, job.subject))
            run.notes += tuple(_member_notes(members, job.subject))
        else:
            members = Members(self._catalog.members(run.library, job.subject))
        away = exclusions(self._catalog, run.library)
        self._queue.enqueue_beside(
            job,
            [
                JobRequest(
                    run.library, "index", path, "parse", options=job.options, needs=job.needs,
                    priority=min(job.priority, WANTED) - BEHIND, owner=job.owner, version=sha256,
                )
                for path in members.paths
                if path not in away
            ],
        )  # fmt: skip


def _member_notes(members: Members, container: str) -> Iterator[Note]:
    for path, why in members.damaged[:_MAX_NAMES]:
        name = path.removeprefix(container).removeprefix("!/")
        yield Note("file.member-not-read", name=name, reason=why.removesuffix("."))
    if len(members.damaged) > _MAX_NAMES:
        yield Note("file.members-more", count=len(members.damaged) - _MAX_NAMES)
    if members.skipped:
        yield Note("file.members-left-out", left_out=left_out(members.skipped))
