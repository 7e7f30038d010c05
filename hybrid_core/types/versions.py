"""What was made of a file's bytes: by which rules, how far its scans were read, which models improved it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from typing import Literal

Kind = Literal["llm", "vlm"]
"""A language model, or one that sees."""


@dataclass(frozen=True, slots=True)
class ContentVersion:
    """Two contents with equal versions are the same. Every field is text, "" where nothing is to be said.

    ``parser``, ``chunks`` and ``build`` are the versions of what read the file, cut its text and made the rest.
    ``ocr`` is a hash of what read its scans and in which languages; ``ocr_pages`` how many pages it was tried on, ""
    where those were all that need it. ``llm`` and ``vlm`` are hashes of the models that improved it and of how they
    were asked; ``models_partly`` one of what came out, where they did not do all they should. ``outline`` is the layout
    model by which its section tree was refined.
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
        """The id of a content that is stored under none yet. Contents of older versions have others."""
        return hashlib.sha256("\n".join(astuple(self)).encode()).hexdigest()[:24]

    @property
    def by_rules(self) -> ContentVersion:
        """The same without models."""
        return replace(self.unimproved, outline="")

    @property
    def unimproved(self) -> ContentVersion:
        """The same without what models said of it; its tree may be refined."""
        return replace(self, llm="", vlm="", models_partly="")

    @property
    def improved(self) -> bool:
        """Whether models have done all they should, whichever they were."""
        return bool(self.llm or self.vlm) and not self.models_partly

    def made_as(self, other: ContentVersion) -> bool:
        """Whether both are of the same bytes and made by the same rules, OCR and all models aside."""
        mine, others = ((one.sha256, one.format, one.parser, one.chunks, one.build) for one in (self, other))
        return mine == others

    def improved_by(self, tags: Mapping[Kind, str]) -> bool:
        """Whether every model of ``tags`` has done all it should; others may have too."""
        has = {"llm": self.llm, "vlm": self.vlm}
        return not tags or (self.improved and all(has[kind] == tag for kind, tag in tags.items()))

    def with_models(self, tags: Mapping[Kind, str], partly: str = "") -> ContentVersion:
        return replace(self, llm=tags.get("llm", ""), vlm=tags.get("vlm", ""), models_partly=partly)


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A content that the catalog holds."""

    content_id: str
    version: ContentVersion
    pages: int
