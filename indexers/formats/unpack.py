"""Extraction of the files in a container to a folder, to become separate documents."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from hybrid_core.errors import DocumentError, LimitError
from indexers.formats.format import Format, Member, clean_name, is_hidden
from indexers.formats.limits import ParseLimits
from indexers.formats.registry import of_suffix


@dataclass(frozen=True, slots=True)
class UnpackedMember:
    """A file extracted from a container. ``name`` is unique within the container."""

    name: str
    file: Path
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The result of extracting a container.

    ``damaged`` are the names of members that could not be extracted, with the reasons. ``skipped`` counts members
    without a parser, by suffix.
    """

    members: tuple[UnpackedMember, ...] = ()
    damaged: tuple[tuple[str, str], ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)


def unpack_members(format: Format, path: Path, folder: Path, limits: ParseLimits) -> Unpacked:
    """Extract the readable members of a container to a folder.

    Raise DocumentError if the file cannot be opened, LimitError if its members are too many or too large.
    """
    if format.members is None:
        return Unpacked()
    members: list[UnpackedMember] = []
    damaged: list[tuple[str, str]] = []
    skipped, names = Counter[str](), Counter[str]()
    size = 0
    for member in format.members(path, limits):
        name = clean_name(member.name)
        if not name or is_hidden(name):
            continue
        suffix = PurePath(name).suffix.lower()
        if of_suffix(suffix) is None:
            skipped[suffix] += 1
            continue
        limits.check(
            "max_entries", len(members) + 1, f"the archive contains more than {len(members):,} files", file=path
        )
        name = _single(name, names)
        file = folder / f"{len(members)}{suffix}"
        try:
            sha256, written = _write_member(member, file, limits.max_expanded_bytes - size)
        except LimitError:
            raise
        except DocumentError as error:
            damaged.append((name, str(error)))
            continue
        size += written
        limits.check("max_expanded_bytes", size, f"the files in the archive have {size:,} bytes or more", file=path)
        if written:
            members.append(UnpackedMember(name, file, sha256, written))
    return Unpacked(tuple(members), tuple(damaged), dict(skipped))


def _single(name: str, names: Counter[str]) -> str:
    """Return a name that is unique in ``names``. A repeated name gets a number: "report (2).pdf"."""
    names[name] += 1
    if names[name] == 1:
        return name
    path = PurePath(name)
    return _single(str(path.with_name(f"{path.stem} ({names[name]}){path.suffix}")), names)


def _write_member(member: Member, file: Path, limit: int) -> tuple[str, int]:
    """Write a member to a file. Return the hash and size of the written bytes.

    Writing stops soon after ``limit`` bytes.
    """
    digest, size = hashlib.sha256(), 0
    with file.open("wb") as stream:
        for piece in member.read():
            stream.write(piece)
            digest.update(piece)
            size += len(piece)
            if size > limit:
                break
    return digest.hexdigest(), size
