"""Where expert knowledge is found: packs that come along, the user's own files, and nicknames of organisations."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import yaml

from hybrid_core.errors import UsageError
from hybrid_core.system.paths import exists
from retrievers.query.expert import Expert, load_expert, read_expert

PACKS = ("finance", "contracts", "statutes-zh", "operations")


def find_expert(names: str, aliases: str = "") -> Expert:
    """The expert that ``names`` means, with the nicknames of a file of aliases.

    ``names`` is ``auto`` (every pack, each for documents of its kind), ``none``, or packs and paths of expert
    files joined by commas, which then count for any document. Raises UsageError, which names the file, where
    one cannot be read or is wrong.
    """
    if names == "none":
        found = Expert()
    elif names == "auto":
        found = sum((_pack(name) for name in PACKS), Expert())
    else:
        found = sum((_named(name.strip()).everywhere() for name in _parts(names)), Expert())
    return replace(found, aliases={**found.aliases, **_read_aliases(Path(aliases).expanduser())}) if aliases else found


def _parts(names: str) -> list[str]:
    return [names] if exists(Path(names).expanduser()) else names.split(",")


def _named(name: str) -> Expert:
    if name in PACKS:
        return _pack(name)
    if exists(Path(name).expanduser()) or "/" in name or "." in name:
        return load_expert(Path(name).expanduser())
    raise UsageError(f"No expert '{name}'.", f"Name a file, auto, none, or packs: {', '.join(PACKS)}.")


def _pack(name: str) -> Expert:
    written = (files("hybrid_pageindex") / "packs" / f"{name}.yaml").read_text(encoding="utf-8")
    return read_expert(written, name)


def expert_stamp(names: str) -> tuple[float, ...]:
    """When the files among the names last changed; 0 for what is no file."""
    return tuple(_changed(name) for name in _parts(names)) if names else ()


def _changed(name: str) -> float:
    try:
        return Path(name.strip()).expanduser().stat().st_mtime
    except OSError:
        return 0.0


def _read_aliases(path: Path) -> dict[str, tuple[str, ...]]:
    """``Organisation: [nickname, …]`` lines."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({error}).", "Check the setting aliases.") from error
    except yaml.YAMLError as error:
        raise UsageError(f"{path}: not a YAML file ({' '.join(str(error).split())}).") from error
    if not isinstance(data, dict) or not all(isinstance(names, list) for names in data.values()):
        raise UsageError(f"{path}: must map each organisation to a list of nicknames.")
    return {str(name): tuple(map(str, names)) for name, names in data.items()}
