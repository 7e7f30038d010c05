"""Libraries, and addresses of documents.

A library's name can change; documents and indexes refer to its id. A document without a file of its own has an address:

mails/offer.eml!/report.pdf          attached to a mail, or packed in an archive
mails/all.zip!/offer.eml!/report.pdf the same, nested deeper
upload:/notes.md                     uploaded as bytes
web:/example.org/report.pdf          downloaded from the web
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath

from hybrid_core.errors import Advice, NotFoundError, UsageError
from hybrid_core.system import exists


@dataclass(frozen=True, slots=True)
class Library:
    """A library of documents. ``alias`` is a second name, "" if there is none."""

    id: str
    name: str
    alias: str = ""

    def called(self, name: str) -> bool:
        """Return whether ``name`` is the name or the alias of the library, ignoring case and character width.

        For "" the result is False.
        """
        return name != "" and folded(name) in (folded(self.name), folded(self.alias))

    def fits(self, part: str) -> bool:
        """Return whether the library's name or alias contains ``part``, ignoring case and character width."""
        return folded(part) in folded(self.name) or folded(part) in folded(self.alias)


def folded(name: str) -> str:
    """Return a library's name in the form that is compared: normalised to NFKC, with case folded."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def library_called(name: str, libraries: Iterable[Library]) -> Library | None:
    """Return the library with this name or alias, None if there is none or the name is "".

    An exact match takes precedence over one in another case or character width. Raise UsageError if several libraries,
    from an older version, differ only in these.
    """
    candidates = list(libraries) if name else []  # most libraries have the alias "", so an empty name must not match
    matches = [library for library in candidates if name in (library.name, library.alias)] or [
        library for library in candidates if library.called(name)
    ]
    if len(matches) > 1:
        raise UsageError(
            f"The name '{name}' matches several libraries.",
            f"Write the exact name of one library: {', '.join(library.name for library in matches)}.",
        )
    return matches[0] if matches else None


def no_library(name: str, libraries: Iterable[Library]) -> NotFoundError:
    """Return the error for a library name that does not exist."""
    names = ", ".join(library.name for library in libraries)
    nothing = Advice(
        "Nothing is indexed yet: add documents first.", "Nothing is indexed yet: run the command 'index' first."
    )
    return NotFoundError(f"The library '{name}' does not exist.", f"The libraries are: {names}." if names else nothing)


_INSIDE = "!/"
UPLOAD, WEB = "upload:/", "web:/"


def member_address(container: str, name: str) -> str:
    """Return the address of a member of a container. ``container`` is the path of a file, or an address."""
    return f"{container}{_INSIDE}{name}"


def is_upload(path: str) -> bool:
    """Return whether a path is the address of uploaded bytes or of a web page."""
    return path.startswith((UPLOAD, WEB))


def is_address(path: str) -> bool:
    """Return whether a document's path looks like an address, and so may belong to a document without its own file.

    The path of a file in a folder whose name ends in "!" looks like an address too.
    """
    return is_upload(path) or _INSIDE in path


def containers(path: str) -> list[str]:
    """Return the containers of a document whose path is an address, the outermost container first."""
    parts = path.split(_INSIDE)
    return [_INSIDE.join(parts[:end]) for end in range(1, len(parts))]


def shown_name(path: str) -> str:
    """Return a document's name as lists and results show it, such as "report.pdf" or "offer.eml!/report.pdf"."""
    outer = next(iter(containers(path)), path)
    return PurePath(outer).name + path[len(outer) :]


def is_there(path: str) -> bool:
    """Return whether the file of a document, or the file that contains it, exists. An upload counts as existing."""
    return is_upload(path) or any(exists(Path(address)) for address in (path, *containers(path)))
