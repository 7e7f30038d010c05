"""Which files of this machine the server may read: those below its ``--root`` folders, links resolved first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hybrid_core.errors import DocumentError, UsageError
from hybrid_core.system.paths import exists
from hybrid_core.types.documents import Document


@dataclass(frozen=True, slots=True)
class Access:
    """``roots`` are absolute and free of links. ``read_only`` refuses whatever changes a library."""

    roots: tuple[Path, ...] = ()
    read_only: bool = False

    @classmethod
    def of(cls, roots: Sequence[str], *, read_only: bool) -> Access:
        """Raises UsageError where a root is no folder."""
        resolved = [Path(root).expanduser().resolve() for root in roots]
        for given, root in zip(roots, resolved, strict=True):
            if not given.strip() or not root.is_dir():  # an empty one would be the folder that a client starts it in
                raise UsageError(f"--root '{given}' is no folder.", "Name a folder whose documents may be read.")
        return cls(tuple(resolved), read_only)

    def check_writing(self) -> None:
        """Raises UsageError where the server is read-only."""
        if self.read_only:
            raise UsageError("This server is read-only.", "Ask for one that may change libraries.")

    def may_read(self, given: str) -> Path | None:
        """The resolved path below a root, there or not; None where it lies outside. A relative path is tried below
        each root: the folder that a client starts the server in means nothing.
        """
        try:
            candidates = [(root / Path(given).expanduser()).resolve() for root in self.roots]
        except (OSError, RuntimeError, ValueError):  # a loop of links, an unknown ~user, a NUL in the name
            return None
        inside = [path for path in candidates if any(path.is_relative_to(root) for root in self.roots)]
        return next((path for path in inside if exists(path)), inside[0] if inside else None)

    def path(self, given: str) -> Path:
        """``may_read``, for a file or folder that is there. What lies outside is refused whether it is there or not.

        Raises UsageError outside the roots, DocumentError where nothing is there.
        """
        path = self.may_read(given)
        if path is None:
            raise self.refused(given)
        if not exists(path):
            raise DocumentError(
                f"{given[:200]}: no such file or folder.", "Check the path; it must be on the server's machine."
            )
        return path

    def file(self, given: str) -> Path:
        """The one document that a path names, resolved. Raises as ``path`` does, and DocumentError for a folder."""
        path = self.path(given)
        if not path.is_file():
            from indexers.formats.registry import formats_read

            raise DocumentError(f"{given}: not a regular file.", f"Name one file; what is read is {formats_read()}.")
        return path

    def files(self, given: Sequence[str]) -> tuple[tuple[Path, ...], tuple[tuple[str, str], ...], tuple[str, ...]]:
        """The documents that files and folders name, resolved; (path, why not) of what lies in the folders but
        cannot be indexed, or is a link that leads outside; and notes on files that no parser reads. Raises as ``path``
        does for what was named itself.
        """
        from indexers.files.discover import discover

        found = discover([self.path(name) for name in given])
        files: dict[Path, None] = {}
        problems = list(found.problems)
        for file in found.files:
            path = self.may_read(str(file))
            if path is None:
                problems.append((str(file), "a link that leads out of the folders that this server may read."))
            else:
                files[path] = None
        return tuple(files), tuple(problems), found.notes

    def unchanged(self, path: Path, document: Document) -> bool:
        """Whether a file is still what was indexed, by its size and time."""
        try:
            now = path.stat()
        except OSError:
            return False
        return (
            document.published and not document.error and (now.st_size, now.st_mtime) == (document.size, document.mtime)
        )

    def refused(self, given: str) -> UsageError:
        shown = given if len(given) <= 200 else given[:200] + "…"
        allowed = ", ".join(map(str, self.roots)) or "none"
        return UsageError(
            f"{shown} is not in the default library, and not in a folder that this server may read ({allowed}).",
            "Name a document that is indexed, or a file in a folder that the server may read.",
        )
