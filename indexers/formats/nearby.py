"""Pictures that lie beside a file of text which shows them: below its own folder, never fetched from anywhere."""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from hybrid_core.errors import DocumentError
from indexers.formats.flow.pictures import linked_picture, may_show_words, picture_in_link

_MOST, _MOST_BYTES = 200, 30_000_000  # pictures of a file, and bytes of each
_MOST_LINKS = 5_000  # that are looked up
_TEXT_BYTES = 20_000_000  # of a file in which links are looked for
_LINK = re.compile(
    rb"(?:\bsrc\s{0,20}=\s{0,20}[\"']|\]\(\s{0,20}<|\]\(|\]:\s{0,20}<?)([^\"'<>()\r\n]{1,300}?\.(?:png|jpe?g|jpe|gif|bmp|tiff?|webp))\b",
    re.IGNORECASE,
)


def local_links(text: Path) -> list[str]:
    """The links of a text that may mean pictures in its folder, told without parsing: all that its reader takes."""
    with text.open("rb") as file:
        data = file.read(_TEXT_BYTES)
    links = (link.decode("utf-8", "replace").strip() for link in _LINK.findall(data))
    return list(dict.fromkeys(link for link in links if ":" not in link and link[0] not in "/\\"))[:_MOST_LINKS]


def pictures_beside(folder: Path, links: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """The pictures that links mean in a folder: their paths relative to it, and where they lie."""
    names = dict.fromkeys(filter(None, (name_beside(folder, link) for link in links)))
    for name in list(names)[:_MOST]:
        yield name, folder / name


def name_beside(folder: Path, link: str) -> str:
    """The path, relative to a folder, of the picture below it that a link means; "" where there is none."""
    link = unquote(link.partition("?")[0].partition("#")[0]).removeprefix("./")
    if not link or link[0] in "/\\~" or ":" in link or "\0" in link:
        return ""
    name = posixpath.normpath(link)
    try:
        place = (folder / name).resolve(strict=True)
        found = place.stat()
    except (OSError, ValueError, RuntimeError):
        return ""
    inside = place.is_relative_to(folder.resolve()) and not name.startswith("../")
    fits = stat.S_ISREG(found.st_mode) and found.st_size <= _MOST_BYTES and may_show_words(name, found.st_size)
    return name if inside and fits and os.access(place, os.R_OK) else ""


class NearbyPictures:
    """Those of one file, as its links name them: ``data:`` holds one itself."""

    def __init__(self, path: Path) -> None:
        self._folder = path.parent
        self._names: dict[str, str] = {}

    def name(self, link: str) -> str:
        """What ``read`` calls it; "" where a link means none that may show words."""
        if link[:5].lower() == "data:":
            return picture_in_link(link)
        if link not in self._names:
            if len(self._names) >= _MOST_LINKS:
                return ""
            self._names[link] = name_beside(self._folder, link[:1_000])
        return self._names[link]

    def read(self, name: str) -> bytes:
        """Raises DocumentError where it is damaged or gone."""
        if name[:5].lower() == "data:":
            return linked_picture(name)
        try:
            return (self._folder / name).read_bytes()
        except OSError as error:
            raise DocumentError(f"the picture {name} cannot be read ({error.strerror})") from error
