"""What documents are called: by the path of their file, or by an address where no file of the user's holds their bytes.

mails/offer.eml!/report.pdf          what is attached to a mail, or packed in an archive
mails/all.zip!/offer.eml!/report.pdf the same, deeper
upload:/notes.md                     what came as bytes
web:/example.org/report.pdf          what came from the web
"""

from __future__ import annotations

from pathlib import Path, PurePath

from hybrid_core.system.paths import exists

_INSIDE = "!/"
UPLOAD, WEB = "upload:/", "web:/"


def member_address(container: str, name: str) -> str:
    """The address of what a container (a file's path, or an address) holds under a name."""
    return f"{container}{_INSIDE}{name}"


def is_upload(path: str) -> bool:
    """Whether it is the address of what came as bytes or from the web."""
    return path.startswith((UPLOAD, WEB))


def is_address(path: str) -> bool:
    """Whether it may be an address. A folder's name may end in «!» too, so a file's path may look like one."""
    return is_upload(path) or _INSIDE in path


def outermost(path: str) -> str:
    """The path, or the upload's address, that a member's address begins with; any other is its own."""
    return path.partition(_INSIDE)[0]


def depth(path: str) -> int:
    """How many containers a document lies in."""
    return path.count(_INSIDE)


def shown_name(path: str) -> str:
    """A document's name as lists and results show it: «report.pdf», «offer.eml!/report.pdf»."""
    outer = outermost(path)
    return PurePath(outer).name + path[len(outer) :]


def is_there(path: str) -> bool:
    """Whether the file that a document comes from is there; what was uploaded is."""
    return is_upload(path) or exists(Path(path)) or (_INSIDE in path and exists(Path(outermost(path))))
