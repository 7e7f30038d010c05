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
    """The state of a file when its bytes were last read, at ``read_at``. Times are in seconds since the epoch.

    ``mtime`` is the time of the last change of the bytes, ``ctime`` that of the inode. Users cannot set ``ctime`` back.
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
        """Return whether a file's current ``stat`` has the size, times and inode of this stamp."""
        return self == FileStamp.of(stat, self.read_at)

    def proves(self, stat: os.stat_result) -> bool:
        """Return whether a file with the current ``stat`` certainly still contains the bytes that were read.

        If the file was read within 2 s of its last change, return False: a later change may have the same time.
        """
        return self.read_at - self.mtime > _COARSE and self.fits(stat)


Kind = Literal["llm", "vlm"]
"""A language model, or a vision model."""


@dataclass(frozen=True, slots=True)
class ContentVersion:
    """The origin of a stored document: the bytes of its file, and the versions of the code and models that parsed it.

    Two stored documents with equal versions have equal content. Each field is text, "" if it does not apply.
    ``parser``, ``chunks`` and ``build`` are the versions of the parser, the chunker and all other code. ``ocr`` is a
    hash of the OCR engine and its languages. ``ocr_pages`` is the number of pages on which OCR ran, "" if it ran on all
    pages that need it. ``llm`` and ``vlm`` are hashes of the models and prompts that improved the document.
    ``models_partly`` is a hash of their results, if they completed only a part of their work. ``outline`` is the layout
    model that refined the section tree, with a suffix such as "/300" if it read only that many pages.
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
        """Return the id (a hash of all fields) under which a parsed document of this version is newly stored.

        Documents that older releases stored have other ids.
        """
        return hashlib.sha256("\n".join(_VERSION_FIELDS(self)).encode()).hexdigest()[:24]

    @property
    def by_rules(self) -> ContentVersion:
        """Return this version without its models: neither language models nor a layout model."""
        return replace(self.unimproved, outline="")

    @property
    def unimproved(self) -> ContentVersion:
        """Return this version without its language and vision models. A layout model stays."""
        return replace(self, llm="", vlm="", models_partly="")

    @property
    def improved(self) -> bool:
        """Return whether a language or vision model improved the document and completed its work."""
        return bool(self.llm or self.vlm) and not self.models_partly

    def made_as(self, other: ContentVersion) -> bool:
        """Return whether both versions have equal bytes and were parsed by equal code. OCR and models are ignored."""
        mine, others = (
            (version.sha256, version.format, version.parser, version.chunks, version.build) for version in (self, other)
        )
        return mine == others

    def improved_by(self, tags: Mapping[Kind, str]) -> bool:
        """Return whether all models in ``tags`` improved the document and completed their work.

        ``tags`` are hashes of models and prompts by kind of model. Models of other kinds may have contributed too.
        """
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
