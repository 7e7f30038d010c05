"""Where expert knowledge is found: packs that come along, the user's own files, and nicknames of organisations."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import yaml

from hybrid_core.errors import UsageError
from retrievers.expert import Expert, load_expert, read_expert

PACKS = ("finance", "operations")


def find_expert(name: str, aliases: str = "") -> Expert:
    """The expert that ``name`` means: ``none``, a pack, or a path; with the nicknames of a file of aliases.

    Raises UsageError, which names the file, where one cannot be read or is wrong.
    """
    if name == "none":
        found = Expert()
    elif name in PACKS:
        written = (files("hybrid_pageindex") / "packs" / f"{name}.yaml").read_text(encoding="utf-8")
        found = read_expert(written, f"pack '{name}'")
    elif Path(name).expanduser().exists() or "/" in name or "." in name:
        found = load_expert(Path(name).expanduser())
    else:
        raise UsageError(f"No expert '{name}'.", f"Name a file, none, or a pack: {', '.join(PACKS)}.")
    return replace(found, aliases={**found.aliases, **_read_aliases(Path(aliases).expanduser())}) if aliases else found


def expert_stamp(name: str) -> float:
    """When a file last changed; 0 for what is no file."""
    try:
        return Path(name).expanduser().stat().st_mtime if name else 0.0
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
