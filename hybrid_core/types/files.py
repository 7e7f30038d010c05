"""Files as the system reports them, and the versions of content that the pipeline made of their bytes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Literal

_COARSE = 2.0  # seconds: the coarsest clock of a file system in use (FAT)


@dataclass(frozen=True, slots=True)
class FileStamp:
    """A file as it was when its bytes were last read, at ``read_at``; times in seconds since the epoch.

    ``ctime`` is when the file's entry was last changed: unlike ``mtime`` nobody can set it back.
    """

    size: int
    mtime: float
    ctime: float
    inode: str  # a number, which may have more than 63 bits
    read_at: float

    @classmethod
    def of(cls, stat: os.stat_result, read_at: float) -> FileStamp:
        return cls(stat.st_size, stat.st_mtime, stat.st_ctime, str(stat.st_ino), read_at)

    def fits(self, stat: os.stat_result) -> bool:
        """Return whether the system reports the same stamp for a file now."""
        return self == FileStamp.of(stat, self.read_at)

    def proves(self, stat: os.stat_result) -> bool:
        """Return whether a file with this stamp now surely holds the bytes that were read.

        Not where it was read within 2 s of its last change: another change may have left the same time.
        """
        return self.read_at - self.mtime > _COARSE and self.fits(stat)


Kind = Literal["llm", "vlm"]
"""A language model, or one that sees."""


@dataclass(frozen=True, slots=True)
class ContentVersion:
    """Two contents with equal versions are the same. Every field is text, "" where nothing is to be said.

    ``parser``, ``chunks`` and ``build`` are the versions of what read the file, cut its text and made the rest.
    ``ocr`` is a hash of what read its scans and in which languages; ``ocr_pages`` how many pages it was tried on, ""
    where those were all that need it. ``llm`` and ``vlm`` are hashes of the models that improved it and of how they
    were asked; ``models_partly`` one of what came out, where they did not do all they should. ``outline`` is the layout
    model by which its section tree was refined, "/300" where it has read no more pages.
    """

    sha256: str
    format: str
    parser: str
    chunks: str
    build: str
    ocr: str = ""
    ocr_pages: str = ""
    llm: str = ""
    vlm: str = ""
    models_partly: str = ""
    outline: str = ""

    def new_id(self) -> str:
        """Return the id for a content that is not stored yet. Contents of older versions have other ids."""
        return hashlib.sha256("\n".join(_VERSION_FIELDS(self)).encode()).hexdigest()[:24]

    @property
    def by_rules(self) -> ContentVersion:
        """Return this version without models."""
        return replace(self.unimproved, outline="")

    @property
    def unimproved(self) -> ContentVersion:
        """Return this version without the results of models; its tree may be refined."""
        return replace(self, llm="", vlm="", models_partly="")

    @property
    def improved(self) -> bool:
        """Return whether all models completed their work, whichever models they were."""
        return bool(self.llm or self.vlm) and not self.models_partly

    def made_as(self, other: ContentVersion) -> bool:
        """Return whether both versions have the same bytes and rules, ignoring OCR and models."""
        mine, others = (
            (version.sha256, version.format, version.parser, version.chunks, version.build) for version in (self, other)
        )
        return mine == others

    def improved_by(self, tags: Mapping[Kind, str]) -> bool:
        """Return whether every model of ``tags`` has done all it should; others may have too."""
        has = {"llm": self.llm, "vlm": self.vlm}
        return not tags or (self.improved and all(has[kind] == tag for kind, tag in tags.items()))

    def with_models(self, tags: Mapping[Kind, str], partly: str = "") -> ContentVersion:
        return replace(self, llm=tags.get("llm", ""), vlm=tags.get("vlm", ""), models_partly=partly)


_VERSION_FIELDS = attrgetter(*(field.name for field in fields(ContentVersion)))


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A content that the catalog holds."""

    content_id: str
    version: ContentVersion
    pages: int
