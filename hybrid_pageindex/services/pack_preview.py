"""What expert knowledge makes of a question, before anything is searched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hybrid_pageindex.config.experts import find_expert
from retrievers.query.question import read_question


@dataclass(frozen=True, slots=True)
class PackAddition:
    """What the entries of ``sources`` add in documents of these types, "" being any other: phrases and terms (stems)
    with their weights.
    """

    document_types: tuple[str, ...]
    sources: tuple[str, ...]
    phrases: Mapping[str, float]
    headings: tuple[str, ...]
    terms: Mapping[str, float]
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PackPreview:
    """``terms`` are the question's own, as they are looked for."""

    question: str
    terms: tuple[str, ...]
    years: tuple[int, ...]
    types: tuple[str, ...]
    added: tuple[PackAddition, ...]


def preview(question: str, expert: str, aliases: str) -> PackPreview:
    """Raises UsageError for an unknown pack."""
    read, knowledge = read_question(question), find_expert(expert, aliases)
    types = ("", *sorted({name for rule in knowledge.expansions for name in rule.documents}))
    by_type = knowledge.expand(question, types)
    distinct = {id(one): one for one in by_type.values()}
    added = tuple(
        PackAddition(
            tuple(name for name in types if by_type.get(name) is one), one.sources, one.phrases, one.titles, one.terms,
            tuple(role.name for role in one.roles),
        )
        for one in distinct.values()
    )  # fmt: skip
    return PackPreview(question, read.terms, read.years, read.types, added)
