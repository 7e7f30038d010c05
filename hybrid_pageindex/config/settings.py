"""Settings: defaults, below ``config.yaml`` in the home, below ``PAGEINDEX_…`` variables, below arguments."""

import os
from collections.abc import Mapping
from dataclasses import Field, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hybrid_core.errors import UsageError
from hybrid_core.system.paths import exists
from hybrid_pageindex.config.fields import PREFIX, AllSettings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Part = TypeVar("_Part", bound="DataclassInstance")

CONFIG_FILE = "config.yaml"
_FOREIGN = {"PAGEINDEX_EVAL_DATA", "PAGEINDEX_QDRANT_BINARY"}  # read by tests and the harness alone


@dataclass(frozen=True)
class Settings(AllSettings):
    """All groups in one. Raises UsageError for a value that is of a wrong type or beyond its limits."""

    def part(self, kind: type[_Part]) -> _Part:
        """The parameters of a part: each from the setting of its name."""
        return kind(**{one.name: getattr(self, one.name) for one in fields(kind)})

    @property
    def own_machine(self) -> str:
        """Whose paths are in the catalog; "" where nobody else's can be."""
        if not self.postgres_url:
            return ""
        import platform  # only here: --help does without

        return self.machine or platform.node() or "unnamed"

    def __post_init__(self) -> None:
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        unsure = {one.name: given[one.name] for one in fields(self) if not _sure(one, given[one.name])}
        if unsure:
            from hybrid_pageindex.config.checking import checked  # with pydantic, which defaults need not wait for

            for name, value in checked(unsure).items():
                object.__setattr__(self, name, value)


def _sure(known: Field[Any], value: Any) -> bool:
    """Whether a value is right without a closer look: the default, or anything of the type where that is all."""
    free = not any(known.metadata[limit] for limit in ("pattern", "size")) and known.metadata["least"] is None
    return value is known.default or (free and isinstance(known.type, type) and isinstance(value, known.type))


def load_settings(home: str | Path | None = None, environment: Mapping[str, str] | None = None) -> Settings:
    """Settings for a home: ``home`` if given, else ``PAGEINDEX_STORAGE_PATH``, else ``~/.pageindex``.

    Raises UsageError for an unknown key (naming the nearest known one), for a value that is wrong, and for an
    empty ``home``, which a variable that is not set may have made.
    """
    if home == "":
        raise UsageError("The home is empty.", "Name a folder, or leave it out to use the usual one.")
    environment = os.environ if environment is None else environment
    said = {
        key: value
        for key, value in environment.items()
        if key.startswith(PREFIX) and key not in _FOREIGN and value  # an empty variable is one that is not set
    }
    usual = said.pop(f"{PREFIX}STORAGE_PATH", Settings.storage_path)
    path = Path(home or usual).expanduser().absolute()
    file = path / CONFIG_FILE
    written = exists(file) and file.is_file()
    if not written and not said:
        return Settings(storage_path=path)
    from hybrid_pageindex.config.sources import read

    return Settings(**(read(file if written else None, said) | {"storage_path": path}))
