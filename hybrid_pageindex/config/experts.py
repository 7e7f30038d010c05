"""Load expert knowledge (packs of domain words, and user files), nicknames of organisations, and ranking weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import yaml

from hybrid_core.errors import UsageError
from hybrid_core.system import exists
from retrievers.query.expert import Expert, load_expert, read_expert
from retrievers.query.question import read_question
from retrievers.ranking.model import RankingModel, load_model, shipped_model

PACKS = ("finance", "contracts", "statutes-zh", "operations")


def find_expert(names: str, aliases: str = "") -> Expert:
    """Return the expert knowledge (domain words) of the packs and files in ``names``, with an alias file's nicknames.

    ``auto`` means every pack, each for documents of its kind; ``none`` means no knowledge. Otherwise ``names`` lists
    packs and file paths, separated by commas, which apply to all documents. Raise UsageError with the file's name if a
    file is invalid.
    """
    if names == "none":
        expert = Expert()
    elif names == "auto":
        expert = sum((_pack(name) for name in PACKS), Expert())
    else:
        expert = sum((_find_expert(name.strip()).everywhere() for name in _split_names(names)), Expert())
    return (
        replace(expert, aliases={**expert.aliases, **_read_aliases(Path(aliases).expanduser())}) if aliases else expert
    )


def _split_names(names: str) -> list[str]:
    return [names] if exists(Path(names).expanduser()) else names.split(",")


def _find_expert(name: str) -> Expert:
    if name in PACKS:
        return _pack(name)
    if exists(Path(name).expanduser()) or "/" in name or "." in name:
        return load_expert(Path(name).expanduser())
    raise UsageError(
        f"The expert knowledge '{name}' does not exist.", f"Name a file, auto, none, or packs: {', '.join(PACKS)}."
    )


def _pack(name: str) -> Expert:
    written = (files("hybrid_pageindex") / "packs" / f"{name}.yaml").read_text(encoding="utf-8")
    return read_expert(written, name)


def expert_stamp(names: str) -> tuple[float, ...]:
    """Return the modification time of each file in ``names``, and 0 for a name that is not a file."""
    return tuple(_changed(name) for name in _split_names(names)) if names else ()


def _changed(name: str) -> float:
    try:
        return Path(name.strip()).expanduser().stat().st_mtime
    except OSError:
        return 0.0


def _read_aliases(path: Path) -> dict[str, tuple[str, ...]]:
    """Read an alias file of ``Organisation: [nickname, …]`` lines. Raise UsageError if the file is invalid."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path}: the file of aliases cannot be read ({error}).",
            "Set the setting aliases to the path of a readable file.",
        ) from error
    except yaml.YAMLError as error:
        raise UsageError(f"{path}: the file of aliases is not valid YAML ({' '.join(str(error).split())}).") from error
    if not isinstance(data, dict) or not all(isinstance(names, list) for names in data.values()):
        raise UsageError(f"{path}: the file of aliases must map each organisation to a list of nicknames.")
    return {str(name): tuple(map(str, names)) for name, names in data.items()}


@dataclass(frozen=True, slots=True)
class PackAddition:
    """Words that expert packs add to a question for documents of certain types: phrases, headings and terms.

    ``sources`` names the pack entries. The document type "" stands for all other types. ``terms`` maps stems to
    weights.
    """

    document_types: tuple[str, ...]
    sources: tuple[str, ...]
    phrases: Mapping[str, float]
    headings: tuple[str, ...]
    terms: Mapping[str, float]
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PackPreview:
    """A question with the words that expert knowledge adds to it. ``terms`` are the stems of the question itself."""

    question: str
    terms: tuple[str, ...]
    years: tuple[int, ...]
    types: tuple[str, ...]
    added: tuple[PackAddition, ...]


def preview(question: str, expert: str, aliases: str) -> PackPreview:
    """Return the words that expert knowledge adds to a question. Raise UsageError if a pack is unknown."""
    read, knowledge = read_question(question), find_expert(expert, aliases)
    types = ("", *sorted({name for rule in knowledge.expansions for name in rule.documents}))
    by_type = knowledge.expand(question, types)
    distinct = {id(additions): additions for additions in by_type.values()}
    added = tuple(
        PackAddition(
            tuple(name for name in types if by_type.get(name) is additions), additions.sources,
            additions.phrases, additions.titles, additions.terms,
            tuple(role.name for role in additions.roles),
        )
        for additions in distinct.values()
    )  # fmt: skip
    return PackPreview(question, read.terms, read.years, read.types, added)


def find_ranking(path: str = "") -> RankingModel:
    """Return the ranking weights in the file ``path``; "" means the shipped weights. A changed file is read again.

    Raise UsageError with the file's name if it is invalid.
    """
    if not path:
        return shipped_model()
    file = Path(path).expanduser()
    try:
        stamp = file.stat()
    except OSError:
        return load_model(file)  # raises the error
    return _load_cached_model(file, stamp.st_mtime_ns, stamp.st_size, stamp.st_ino)


@lru_cache(maxsize=8)
def _load_cached_model(file: Path, *stamp: int) -> RankingModel:
    return load_model(file)
