"""What lies in archives and mails is taken out by the workers and kept, to be indexed as files are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from hybrid_core.errors import DocumentError, LimitError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.originals import Original
from hybrid_core.types.addresses import member_address
from hybrid_core.types.documents import Document
from indexers.formats.format import Format
from indexers.formats.limits import ParseLimits
from indexers.formats.registry import format_of, named
from indexers.formats.unpack import Unpacked
from indexers.stages.parsing import Parser
from indexers.workers.pool import WorkerPool
from indexers.workers.protocol import UnpackTask


def holds_members(catalog: Catalog, library: str, path: str, format: Format | None) -> bool:
    """Whether what lies in a file is to be taken out: what lies in a member comes with its outermost container."""
    return format is not None and format.members is not None and not catalog.is_member(library, path)


def members_of(catalog: Catalog, library: str, document: Document) -> list[Path]:
    """The addresses of all that was taken out of a document's file, as it was read last."""
    held = holds_members(catalog, library, document.path, named(document.format))
    return [Path(path) for path in catalog.members(library, document.path)] if held else []


@dataclass(slots=True)
class Members:
    """What was found in a container, however deep. ``paths`` are the addresses of what is kept. ``damaged``: addresses
    of what could not be had, and why. ``skipped`` counts files that no parser reads, by their ending.
    """

    paths: list[str] = field(default_factory=list)
    damaged: list[tuple[str, str]] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)


class MemberKeeper:
    def __init__(self, catalog: Catalog, pool: WorkerPool, parser: Parser, limits: ParseLimits) -> None:
        self._catalog, self._pool, self._parser, self._limits = catalog, pool, parser, limits

    def keep(self, library: str, file: Path, sha256: str, source: Path) -> Members:
        """Take out and keep what lies in a file of a library; what lay in it before and does not now is removed.

        Raises DocumentError where the file cannot be opened, LimitError where too much lies in it: then what was kept
        stays.
        """
        with self._parser.copy(file, sha256, source) as copy, self._parser.work() as work:
            run = _Opening(self._pool, self._limits)
            run.open(str(file), copy.path, work, depth=1)
            self._catalog.keep(library, str(file), run.originals)
        return run.members


class _Opening:
    """One outermost container, whose limits all that lies in it shares."""

    def __init__(self, pool: WorkerPool, limits: ParseLimits) -> None:
        self._pool, self._limits, self._allowance = pool, limits, pool.allowance()
        self.members = Members()
        self.originals: list[Original] = []
        self._full = False  # no further file may lie in it

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
            self._limits.check("max_nesting", depth + 1, f"{file}: it lies in {depth} others, and is not opened")
            if self._full:
                raise LimitError(
                    "more files lie in its outermost archive than are read of one.",
                    "Raise the setting max_entries, or unpack it yourself.",
                )
            folder.mkdir()
            self.open(address, file, folder, depth + 1)
        except DocumentError as error:
            self.members.damaged.append((address, str(error).removeprefix(f"{file}: ")))
