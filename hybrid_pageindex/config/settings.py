"""Settings in order of precedence: arguments, ``PAGEINDEX_…`` variables, ``config.yaml`` in the home, defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import Field, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hybrid_core.errors import UsageError
from hybrid_core.system import exists
from hybrid_core.types.requests import SearchRequest
from hybrid_pageindex.config.fields import PREFIX, AllSettings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


_Part = TypeVar("_Part", bound="DataclassInstance")

CONFIG_FILE = "config.yaml"
_FOREIGN = {"PAGEINDEX_EVAL_DATA", "PAGEINDEX_QDRANT_BINARY"}  # used by tests and evaluations only


@dataclass(frozen=True)
class Settings(AllSettings):
    """All settings, checked when created. Raise UsageError for a value of a wrong type or beyond its limits."""

    def part(self, kind: type[_Part]) -> _Part:
        """Return an object of the dataclass ``kind``. Fill its fields from the settings with the same names."""
        return kind(**{field.name: getattr(self, field.name) for field in fields(kind)})

    @property
    def own_machine(self) -> str:
        """Return this machine's name, with which the catalog marks paths of its files.

        Return "" if the catalog is a local file, which no other machine shares.
        """
        if not self.postgres_url:
            return ""
        import platform  # imported here because --help does not need it

        return self.machine or platform.node() or "unnamed"

    def __post_init__(self) -> None:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        unsure = {field.name: values[field.name] for field in fields(self) if not _sure(field, values[field.name])}
        if unsure:
            from hybrid_pageindex.config.checking import checked  # imported here because defaults do not need pydantic

            for name, value in checked(unsure).items():
                object.__setattr__(self, name, value)


def _sure(field: Field[Any], value: Any) -> bool:
    """Return whether a value needs no check.

    This is so for the default value, and for a value of the right type if the setting has no limits.
    """
    free = not any(field.metadata[limit] for limit in ("pattern", "size")) and field.metadata["least"] is None
    return value is field.default or (free and isinstance(field.type, type) and isinstance(value, field.type))


def load_settings(home: str | Path | None = None, environment: Mapping[str, str] | None = None) -> Settings:
    """Load the settings of a home, by default ``PAGEINDEX_STORAGE_PATH``, else ``~/.pageindex``.

    Raise UsageError for an unknown key (naming the nearest known one), an invalid value, or an empty ``home``, which an
    unset variable may cause.
    """
    if home == "":
        raise UsageError(
            "The path of the home folder is empty.", "Name a folder, or leave the option out to use the default folder."
        )
    environment = os.environ if environment is None else environment
    variables = {
        key: value
        for key, value in environment.items()
        if key.startswith(PREFIX) and key not in _FOREIGN and value  # an empty variable counts as not set
    }
    usual = variables.pop(f"{PREFIX}STORAGE_PATH", Settings.storage_path)
    path = Path(home or usual).expanduser().absolute()
    file = path / CONFIG_FILE
    written = exists(file) and file.is_file()
    if not written and not variables:
        return Settings(storage_path=path)
    from hybrid_pageindex.config.sources import read

    return Settings(**(read(file if written else None, variables) | {"storage_path": path}))


@lru_cache(maxsize=8)
def usual_fields(settings: Settings) -> dict[str, Any]:
    """Return the search request fields whose defaults come from settings with the same names, with their values."""
    values = {
        field.name: getattr(settings, field.name) for field in fields(SearchRequest) if hasattr(settings, field.name)
    }
    return {**values, "libraries": (settings.library,)}
