"""Decide which local files the server may read: only those below ``--root``, after links are resolved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hybrid_core.errors import DocumentError, UsageError
from hybrid_core.system import exists
from hybrid_core.types.documents import Document


@dataclass(frozen=True, slots=True)
class Access:
    """The local files that a server may read.

    ``roots`` are absolute folders whose paths contain no links. ``read_only`` refuses all changes of libraries.
    """

    roots: tuple[Path, ...] = ()
    read_only: bool = False

    @classmethod
    def of(cls, roots: Sequence[str], *, read_only: bool) -> Access:
        """Return the access to these folders. Raise UsageError if one is not a folder."""
        resolved = [Path(root).expanduser().resolve() for root in roots]
        for name, root in zip(roots, resolved, strict=True):
            if not name.strip() or not root.is_dir():  # an empty one would be the folder that a client starts it in
                raise UsageError(
                    f"--root '{name}' is not a folder.", "Name a folder whose documents the server may read."
                )
        return cls(tuple(resolved), read_only)

    def check_writing(self) -> None:
        """Raise UsageError if the server is read-only."""
        if self.read_only:
            raise UsageError(
                "This MCP server is read-only, so it cannot change libraries.",
                "To change libraries, start an MCP server without --read-only.",
            )

    def may_read(self, name: str) -> Path | None:
        """Return the resolved path below a root, whether or not it exists, None if it is outside the roots.

        A relative path is tried below each root, because the current folder depends on the client.
        """
        try:
            candidates = [(root / Path(name).expanduser()).resolve() for root in self.roots]
        except (OSError, RuntimeError, ValueError):  # a loop of links, an unknown ~user, or a NUL in the name
            return None
        inside = [path for path in candidates if any(path.is_relative_to(root) for root in self.roots)]
        return next((path for path in inside if exists(path)), inside[0] if inside else None)

    def path(self, name: str) -> Path:
        """Return the resolved path of an existing file or folder.

        Raise UsageError if it is outside the roots, whether or not it exists, DocumentError if it does not exist.
        """
        path = self.may_read(name)
        if path is None:
            raise self.refused(name)
        if not exists(path):
            raise DocumentError(
                "no such file or folder.",
                "Give the path of a file or folder on the machine of the server.",
                file=name[:200],
            )
        return path

    def file(self, name: str) -> Path:
        """Return the resolved path of one file.

        Raise the errors of ``path``, and DocumentError for a folder.
        """
        path = self.path(name)
        if not path.is_file():
            from indexers.formats.registry import formats_read

            raise DocumentError(
                "not a regular file.", f"Name one file; the supported formats are {formats_read()}.", file=name
            )
        return path

    def files(self, names: Sequence[str]) -> tuple[tuple[Path, ...], tuple[tuple[str, str], ...], tuple[str, ...]]:
        """Return the documents at these paths, problems as (path, reason), and notes.

        Problems are files that cannot be indexed, and links that lead outside the roots. Raise the errors of ``path``
        for the names themselves.
        """
        from indexers.files.discover import discover

        discovered = discover([self.path(name) for name in names])
        files: dict[Path, None] = {}
        problems = list(discovered.problems)
        for file in discovered.files:
            path = self.may_read(str(file))
            if path is None:
                problems.append((str(file), "a symbolic link to a file outside the folders that this server may read."))
            else:
                files[path] = None
        return tuple(files), tuple(problems), discovered.notes

    def unchanged(self, path: Path, document: Document) -> bool:
        """Return whether a file has the size and modification time that it had when it was indexed."""
        try:
            now = path.stat()
        except OSError:
            return False
        return (
            document.published and not document.error and (now.st_size, now.st_mtime) == (document.size, document.mtime)
        )

    def refused(self, name: str) -> UsageError:
        shown = name if len(name) <= 200 else name[:200] + "…"
        allowed = ", ".join(map(str, self.roots)) or "none"
        return UsageError(
            f"{shown} is neither in the default library nor in a folder that this server may read ({allowed}).",
            "Name an indexed document, or a file in a folder that the server may read.",
        )
