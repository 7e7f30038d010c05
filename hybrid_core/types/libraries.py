"""Libraries, and addresses of documents.

A library's name can change; documents and indexes refer to its id. A document without a file of its own has an address:

mails/offer.eml!/report.pdf          attached to a mail, or packed in an archive
mails/all.zip!/offer.eml!/report.pdf the same, deeper
upload:/notes.md                     uploaded as bytes
web:/example.org/report.pdf          fetched from the web
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
    """``alias`` is a second name, "" where there is none."""

    id: str
    name: str
    alias: str = ""

    def called(self, name: str) -> bool:
        """Return whether a name or the alias is this one, whatever its case and width; "" is none."""
        return name != "" and folded(name) in (folded(self.name), folded(self.alias))

    def fits(self, part: str) -> bool:
        """Return whether the name or the alias contains this part, whatever its case and width."""
        return folded(part) in folded(self.name) or folded(part) in folded(self.alias)


def folded(name: str) -> str:
    """Return a library's name for comparison: compatibility forms made one (width), case folded."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def library_called(name: str, libraries: Iterable[Library]) -> Library | None:
    """The library of a name or alias, None for ""; as it is written before other cases and widths of it.

    Raises UsageError where older homes hold several that differ in these alone.
    """
    candidates = list(libraries) if name else []  # most libraries have the alias "": it names none of them
    matches = [library for library in candidates if name in (library.name, library.alias)] or [
        library for library in candidates if library.called(name)
    ]
    if len(matches) > 1:
        raise UsageError(
            f"'{name}' matches several libraries.", f"Write one of {', '.join(library.name for library in matches)}."
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
    """The address of what a container (a file's path, or an address) holds under a name."""
    return f"{container}{_INSIDE}{name}"


def is_upload(path: str) -> bool:
    """Return whether it is the address of uploaded bytes or of a web page."""
    return path.startswith((UPLOAD, WEB))


def is_address(path: str) -> bool:
    """Return whether it may be an address. A folder's name may end in "!" too, so a file's path may look like one."""
    return is_upload(path) or _INSIDE in path


def containers(path: str) -> list[str]:
    """Return the containers of a document whose path is an address, the outermost first."""
    parts = path.split(_INSIDE)
    return [_INSIDE.join(parts[:end]) for end in range(1, len(parts))]


def shown_name(path: str) -> str:
    """A document's name as lists and results show it: "report.pdf", "offer.eml!/report.pdf"."""
    outer = next(iter(containers(path)), path)
    return PurePath(outer).name + path[len(outer) :]


def is_there(path: str) -> bool:
    """Return whether the file of a document exists; that of an upload always does."""
    return is_upload(path) or any(exists(Path(address)) for address in (path, *containers(path)))
