"""Sizes and times of files as the operating system reports them, and the versions in which files were indexed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Literal

_COARSE = 2.0  # seconds: the time resolution of the coarsest file system in use (FAT)


@dataclass(frozen=True, slots=True)
class FileStamp:
    """The state of a file when its bytes were last read, at ``read_at``. Times are seconds since the epoch.

    ``ctime`` is the last change of the file's entry. Unlike ``mtime``, users cannot set it back.
    """

    size: int
    mtime: float
    ctime: float
    inode: str  # inode number as text, since it may exceed 63 bits
    read_at: float

    @classmethod
    def of(cls, stat: os.stat_result, read_at: float) -> FileStamp:
        return cls(stat.st_size, stat.st_mtime, stat.st_ctime, str(stat.st_ino), read_at)

    def fits(self, stat: os.stat_result) -> bool:
        """Return whether the system reports the same size and times for a file as this stamp."""
        return self == FileStamp.of(stat, self.read_at)

    def proves(self, stat: os.stat_result) -> bool:
        """Return whether a file with this stamp certainly still contains the bytes that were read.

        It is uncertain if the file was read within 2 s of its last change: a later change may have the same time.
        """
        return self.read_at - self.mtime > _COARSE and self.fits(stat)


Kind = Literal["llm", "vlm"]
"""A language model, or a vision model."""


@dataclass(frozen=True, slots=True)
class ContentVersion:
    """The origin of a stored document: the bytes of its file, and the versions of the code and models that parsed it.

    Two stored documents with equal versions are the same. Every field is text, "" if it does not apply. ``parser``,
    ``chunks`` and ``build`` are the versions of the parser, the chunker and all other code. ``ocr`` is a hash of the
    OCR engine and its languages. ``ocr_pages`` is the number of pages on which OCR ran, "" if it ran on all pages that
    need it. ``llm`` and ``vlm`` are hashes of the models and prompts that improved the document. ``models_partly`` is a
    hash of their results, if they completed only a part of their work. ``outline`` is the layout model that refined the
    section tree, with a suffix such as "/300" if it read only that many pages.
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
        """Return a new content id for this version. Parsed documents of older releases have ids of other forms."""
        return hashlib.sha256("\n".join(_VERSION_FIELDS(self)).encode()).hexdigest()[:24]

    @property
    def by_rules(self) -> ContentVersion:
        """Return this version as it would be without any model."""
        return replace(self.unimproved, outline="")

    @property
    def unimproved(self) -> ContentVersion:
        """Return this version as it would be without language models. The section tree may still be refined."""
        return replace(self, llm="", vlm="", models_partly="")

    @property
    def improved(self) -> bool:
        """Return whether the language models completed their work, whichever models they were."""
        return bool(self.llm or self.vlm) and not self.models_partly

    def made_as(self, other: ContentVersion) -> bool:
        """Return whether both versions have the same bytes and the same rules. OCR and models are ignored."""
        mine, others = (
            (version.sha256, version.format, version.parser, version.chunks, version.build) for version in (self, other)
        )
        return mine == others

    def improved_by(self, tags: Mapping[Kind, str]) -> bool:
        """Return whether all models in ``tags`` completed their work. Other models may have contributed too."""
        has = {"llm": self.llm, "vlm": self.vlm}
        return not tags or (self.improved and all(has[kind] == tag for kind, tag in tags.items()))

    def with_models(self, tags: Mapping[Kind, str], partly: str = "") -> ContentVersion:
        return replace(self, llm=tags.get("llm", ""), vlm=tags.get("vlm", ""), models_partly=partly)


_VERSION_FIELDS = attrgetter(*(field.name for field in fields(ContentVersion)))


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A parsed document that the catalog stores, with the version that produced it."""

    content_id: str
    version: ContentVersion
    pages: int
