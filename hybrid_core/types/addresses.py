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


def containers(path: str) -> list[str]:
    """What a document lies in, if its path is an address, the outermost first."""
    parts = path.split(_INSIDE)
    return [_INSIDE.join(parts[:end]) for end in range(1, len(parts))]


def shown_name(path: str) -> str:
    """A document's name as lists and results show it: «report.pdf», «offer.eml!/report.pdf»."""
    outer = next(iter(containers(path)), path)
    return PurePath(outer).name + path[len(outer) :]


def is_there(path: str) -> bool:
    """Whether the file that a document comes from is there; what was uploaded is."""
    return is_upload(path) or any(exists(Path(one)) for one in (path, *containers(path)))
