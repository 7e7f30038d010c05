"""Places in files, and what the one in a book says to reading programs."""

from __future__ import annotations

import re
from dataclasses import dataclass

_BOOK = re.compile(r"(?P<href>.+?)(?:#(?P<id>\S+))? (?P<offset>\d+)/(?P<length>\d+) (?P<cfi>epubcfi\(.+\))")
_SPECIAL = re.compile(r"[\^\[\](),;=]")


@dataclass(frozen=True, slots=True)
class BookLocator:
    """A place in an EPUB, with the fields of Readium's locator model (readium.org/architecture/models/locators).

    ``href`` is a file of the book, ``id`` the last one that was passed in it, "" where none was. ``offset`` counts
    the characters of its body's text before the place, ``progression`` is their share, 0 to 1. ``cfi`` is the
    place as an EPUB Canonical Fragment Identifier.
    """

    href: str
    id: str
    offset: int
    progression: float
    cfi: str


def book_place(href: str, id: str, offset: int, length: int, cfi: str) -> str:
    return f"{href}{f'#{id}' if id else ''} {offset}/{length} {cfi}"


def book_locator(place: str) -> BookLocator | None:
    """What the place of a line in an EPUB says; None for one in another format."""
    found = _BOOK.fullmatch(place)
    if found is None:
        return None
    offset, length = int(found["offset"]), int(found["length"])
    return BookLocator(found["href"], found["id"] or "", offset, round(offset / max(1, length), 4), found["cfi"])


def cfi_assertion(id: str) -> str:
    """An element's id as it stands behind its step in a CFI."""
    return f"[{_SPECIAL.sub(lambda sign: f'^{sign[0]}', id)}]" if id and not re.search(r"\s", id) else ""


def shown_place(place: str) -> str:
    """A place as people read it: without a CFI."""
    return place[: found.start("cfi") - 1] if (found := _BOOK.fullmatch(place)) else place


def names_of(place: str) -> tuple[str, ...]:
    """What a place may be called by."""
    found = book_locator(place)
    return (place,) if found is None else (place, shown_place(place), found.cfi)


def place_span(first: str, last: str) -> str:
    """«paragraph 3» and «paragraph 9» -> «paragraphs 3-9»; others with a dash between them."""
    if first == last:
        return first
    name, _, number = last.rpartition(" ")
    if not name or not number.isdigit():
        return f"{first}–{last}"
    return f"{name}s {first.removeprefix(f'{name} ')}-{number}" if first.startswith(f"{name} ") else first


def distance(place: str, other: str) -> tuple[int, ...] | None:
    """How far two places are apart, by their numbers; None where these do not compare. Ids do not count."""
    (one, numbers), (two, others) = _numbers(place), _numbers(other)
    return tuple(abs(a - b) for a, b in zip(numbers, others, strict=True)) if one == two else None


def _numbers(place: str) -> tuple[list[str], list[int]]:
    if (found := _BOOK.fullmatch(place)) is not None:
        place = f"{found['href']} {found['offset']}/{found['length']}"
    parts = re.split(r"(\d{1,18})", place)
    return parts[::2], [int(number) for number in parts[1::2]]
