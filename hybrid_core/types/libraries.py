"""Libraries by their names, which can change; what documents and indexes go by is the id."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from hybrid_core.errors import Advice, NotFoundError, UsageError


@dataclass(frozen=True, slots=True)
class Library:
    """``alias`` is a second name, "" where there is none."""

    id: str
    name: str
    alias: str = ""

    def called(self, name: str) -> bool:
        """Whether a name or the alias is this one, whatever its case and width; "" is none."""
        return name != "" and folded(name) in (folded(self.name), folded(self.alias))

    def fits(self, part: str) -> bool:
        """Whether the name or the alias holds this, whatever its case and width."""
        return folded(part) in folded(self.name) or folded(part) in folded(self.alias)


def folded(name: str) -> str:
    """What names of libraries are compared by: compatibility forms made one (width), case folded."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def library_called(name: str, libraries: Iterable[Library]) -> Library | None:
    """The library of a name or alias, None for ""; as it is written before other cases and widths of it.

    Raises UsageError where older homes hold several that differ in these alone.
    """
    known = list(libraries) if name else []  # most libraries have the alias "": it names none of them
    found = [one for one in known if name in (one.name, one.alias)] or [one for one in known if one.called(name)]
    if len(found) > 1:
        raise UsageError(f"'{name}' means several libraries.", f"Write one of {', '.join(one.name for one in found)}.")
    return found[0] if found else None


def no_library(name: str, libraries: Iterable[Library]) -> NotFoundError:
    """What to say where there is none of this name."""
    known = ", ".join(one.name for one in libraries)
    nothing = Advice(
        "Nothing is indexed yet: add documents first.", "Nothing is indexed yet: begin with the command index."
    )
    return NotFoundError(f"No library '{name}'.", f"There are: {known}." if known else nothing)
