"""Pictures in files of flowing text: contained in links, in packages, or in files of the same folder.

No picture is downloaded.
"""

from __future__ import annotations

import base64
import binascii
import os
import posixpath
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, unquote_to_bytes

from hybrid_core.errors import DocumentError
from indexers.formats.limits import ParseLimits

if TYPE_CHECKING:
    from indexers.formats.flow.safety import Package


_ENDINGS = (".png", ".jpg", ".jpeg", ".jpe", ".gif", ".bmp", ".tif", ".tiff", ".webp")
_LEAST_BYTES = 2_000  # smaller files are bullets, lines and icons
_DATA = re.compile(r"data:image/(?:png|jpe?g|gif|bmp|tiff|webp)[^,]{0,100},", re.I)
_KIND = re.compile(r"image/(?:png|x-png|jpe?g|pjpeg|gif|bmp|x-ms-bmp|tiff|webp)", re.I)


def picture_in(package: Package, name: str) -> str:
    """Return the name of a package's entry, "" if it is not a picture that may show words."""
    return name if may_show_words(name, package.size(name)) else ""


def may_show_words(name: str, size: int) -> bool:
    return name.lower().endswith(_ENDINGS) and size >= _LEAST_BYTES


def picture_of_kind(kind: str, size: int) -> bool:
    """Return whether a picture of a media type ("image/png") and size in bytes may show words."""
    return _KIND.fullmatch(kind) is not None and size >= _LEAST_BYTES


def picture_in_link(link: str) -> str:
    """Return the link itself if it contains a picture (``data:``), "" for any other link."""
    return link if len(link) >= _LEAST_BYTES and _DATA.match(link) else ""


def packed_pictures(path: Path, limits: ParseLimits, data: bytes | None = None) -> Callable[[str], bytes]:
    """Return a function that reads a package's pictures by name, even after the package was closed."""
    from indexers.formats.flow.safety import Package

    def read(name: str) -> bytes:
        package = Package(path, limits, data)
        try:
            return package.read(name)
        finally:
            package.close()

    return read


def linked_picture(link: str) -> bytes:
    """Return the picture inside a ``data:`` link. Raise DocumentError if it is damaged."""
    head, _, data = link.partition(",")
    return picture_in_base64(data) if head.lower().endswith(";base64") else unquote_to_bytes(data)


def picture_in_base64(written: str) -> bytes:
    """Return the bytes of a picture in Base64. Raise DocumentError if it is damaged."""
    try:
        return base64.b64decode(written)
    except (ValueError, binascii.Error) as error:
        raise DocumentError("a picture in the file is damaged.") from error


_MOST, _MOST_BYTES = 200, 30_000_000  # maximum pictures of a file, and bytes of each
_MOST_LINKS = 5_000  # maximum links that are resolved
_TEXT_BYTES = 20_000_000  # bytes of a file that are searched for links
_LINK = re.compile(
    rb"(?:\bsrc\s{0,20}=\s{0,20}[\"']|\]\(\s{0,20}<|\]\(|\]:\s{0,20}<?)([^\"'<>()\r\n]{1,300}?\.(?:png|jpe?g|jpe|gif|bmp|tiff?|webp))\b",
    re.IGNORECASE,
)


def local_links(text: Path) -> list[str]:
    """Return links that may refer to pictures in the text's folder, without parsing.

    The result includes all links that the parser of the format would return.
    """
    with text.open("rb") as file:
        data = file.read(_TEXT_BYTES)
    links = (link.decode("utf-8", "replace").strip() for link in _LINK.findall(data))
    return list(dict.fromkeys(link for link in links if ":" not in link and link[0] not in "/\\"))[:_MOST_LINKS]


def pictures_beside(folder: Path, links: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Yield the pictures in a folder to which links refer, each as its relative path and its full path."""
    names = dict.fromkeys(filter(None, (name_beside(folder, link) for link in links)))
    for name in list(names)[:_MOST]:
        yield name, folder / name


def name_beside(folder: Path, link: str) -> str:
    """Return the relative path of the picture in a folder to which a link refers, "" if there is none."""
    link = unquote(link.partition("?")[0].partition("#")[0]).removeprefix("./")
    if not link or link[0] in "/\\~" or ":" in link or "\0" in link:
        return ""
    name = posixpath.normpath(link)
    try:
        place = (folder / name).resolve(strict=True)
        status = place.stat()
    except (OSError, ValueError, RuntimeError):
        return ""
    inside = place.is_relative_to(folder.resolve()) and not name.startswith("../")
    fits = stat.S_ISREG(status.st_mode) and status.st_size <= _MOST_BYTES and may_show_words(name, status.st_size)
    return name if inside and fits and os.access(place, os.R_OK) else ""


class NearbyPictures:
    """The pictures in a file's folder that the file links to, and the pictures inside its ``data:`` links."""

    def __init__(self, path: Path) -> None:
        self._folder = path.parent
        self._names: dict[str, str] = {}

    def name(self, link: str) -> str:
        """Return the name under which ``read`` returns a link's picture.

        Return "" if the link does not refer to a picture that may show words.
        """
        if link[:5].lower() == "data:":
            return picture_in_link(link)
        if link not in self._names:
            if len(self._names) >= _MOST_LINKS:
                return ""
            self._names[link] = name_beside(self._folder, link[:1_000])
        return self._names[link]

    def read(self, name: str) -> bytes:
        """Return the bytes of a picture. Raise DocumentError if it is damaged or missing."""
        if name[:5].lower() == "data:":
            return linked_picture(name)
        try:
            return (self._folder / name).read_bytes()
        except OSError as error:
            raise DocumentError(f"the picture {name} cannot be read ({error.strerror})") from error


_IMAGE = re.compile(
    r"!\[(?P<alt>[^\[\]]{0,2000})\](?:\(\s*(?:<(?P<wide>[^<>]*)>|(?P<link>[^\s()<>]+))|\[(?P<label>[^\[\]]{0,200})\])?"
    r"|<img\s[^<>]{0,2000}?\bsrc\s*=\s*(?:\"(?P<quoted>[^\"]*)\"|'(?P<single>[^']*)')",
    re.IGNORECASE,
)
_DEFINED = re.compile(r" {0,3}\[(?P<label>[^\[\]]{1,200})\]:\s*<?(?P<link>[^\s<>]+)>?")
_PACKED = re.compile(r"(data:image/[\w.+-]{1,40}(?:;[\w=-]{1,40})*,)[A-Za-z0-9+/=%_-]{80,}")


def definitions(lines: Sequence[str]) -> dict[str, str]:
    """Return the link definitions of Markdown lines ("[image1]: data:…") as ``{lower-case label: link}``."""
    links: dict[str, str] = {}
    for line in lines:
        if "]:" in line and (match := _DEFINED.match(line)):
            links.setdefault(match["label"].casefold(), match["link"])
    return links


def image_links(text: str, defined: Mapping[str, str] = {}) -> Iterator[str]:
    """Yield the links of the pictures in a Markdown text, in order. ``defined`` are its link definitions."""
    for match in _IMAGE.finditer(text) if "![" in text or "<" in text else ():
        link = match["wide"] or match["link"] or match["quoted"] or match["single"]
        named = match["label"] or match["alt"] or ""
        if link := link or defined.get(named.casefold(), ""):
            yield link


def without_data(line: str) -> str:
    """Return a line in which ``data:`` links keep only the media type of their pictures."""
    return _PACKED.sub(r"\1…", line) if "data:image/" in line else line
