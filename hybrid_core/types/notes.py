"""What people keep beside documents."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Note:
    """About a library, one of its documents, or a page of it (``page`` 0: the document). Times are ms since 1970."""

    id: str
    library: str
    author: str
    title: str
    text: str
    doc_id: str
    page: int
    created_at: int
    changed_at: int


@dataclass(frozen=True, slots=True)
class Feedback:
    """What somebody said of a page that was found: it answers the question or does not. Without a ``document`` (its
    path) nothing in the library answers.
    """

    id: str
    library: str
    author: str
    question: str
    answer: str
    document: str
    page: int
    right: bool
    at: int
