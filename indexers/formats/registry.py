"""The registry of formats: the built-in ones, and those that other packages provide as entry points.

Other packages are searched only for a file that no built-in format matches.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from hybrid_core.errors import EmptyFileError, UnsupportedFileError
from hybrid_core.types.notes import Note
from indexers.formats.builtin import FORMATS
from indexers.formats.detect import REFUSED, XML_BASED, detect
from indexers.formats.format import Format, OpenFile
from indexers.formats.limits import ParseLimits

GROUP = "hybrid_pageindex.formats"

_OWN_SUFFIXES = {suffix: format for format in FORMATS for suffix in format.suffixes}
_HEAD = 1024  # bytes by which a file is recognised


def formats() -> tuple[Format, ...]:
    """Return all readable formats, the built-in ones first."""
    return _all()[0]


def problems() -> tuple[str, ...]:
    """Return one line for each format of another package that cannot be used, with the reason."""
    return _all()[1]


def named(name: str) -> Format | None:
    """Return a format by its name, None if the package that provided it is not installed."""
    return next((format for format in (*FORMATS, *formats()) if format.name == name), None)


def of_suffix(suffix: str) -> Format | None:
    """Return the format of files with this suffix in any case, None if there is none."""
    suffix = suffix.lower()
    if suffix in _OWN_SUFFIXES:
        return _OWN_SUFFIXES[suffix]
    return next((format for format in formats() if suffix in format.suffixes), None)


def format_of(path: Path) -> Format:
    """Return a file's format: by its content, or by its suffix, or the first built-in format if both are unknown."""
    return _detected(path) or of_suffix(path.suffix) or _sniffed(_head(path)) or FORMATS[0]


def format_unchanged(path: Path, before: str) -> Format:
    """Return the format of a file that has not changed since it was indexed as format ``before``.

    The file is read only in two cases: the package of that format is missing, or another package now provides a format
    for the suffix.
    """
    format, named_now = named(before), of_suffix(path.suffix)
    if format is None or (named_now is not None and named_now not in (*FORMATS, format)):
        return format_of(path)
    return format


def misnamed(path: Path) -> Note | None:
    """Return a warning if a file's suffix belongs to another format than its content, None if they agree."""
    named, format = of_suffix(path.suffix), _detected(path)
    if named is None or format is None or named is format or (named.name == "xmldoc" and format.name in XML_BASED):
        return None
    return Note("warning.misnamed", ending=path.suffix, named=named.title, format=format.title)


def open_file(path: Path, password: str | None, limits: ParseLimits) -> OpenFile:
    """Open a file with its format's parser. Raise DocumentError if it cannot be read as that format."""
    named, kind = of_suffix(path.suffix), _detect_format(path)
    if (refused := REFUSED.get(kind)) is not None:
        error, what, advice = refused
        raise error(what, advice, file=path)
    format = _own(kind) or named
    if path.is_file() and not path.stat().st_size:
        raise EmptyFileError("the file is empty.", file=path)
    if format is None:
        head = _head(path)
        format = _sniffed(head)
        if format is None and head:
            raise UnsupportedFileError(
                f"this kind of file is not supported; the supported formats are {formats_read()}.",
                "Convert the file, for example to PDF.",
                file=path,
            )
    format = format or FORMATS[0]  # an empty or unreadable file is reported by its parser
    file = format.open(path, password, limits)
    if "max_pages" not in format.limits:
        limits.check("max_pages", file.pages, f"the file has {file.pages:,} of {format.place}", file=path)
    return file


def _detect_format(path: Path) -> str:
    """Return the name of a file's format, detected by the built-in rules (``detect``).

    Return "" if the suffix belongs to a format of another package, which has its own detection.
    """
    named = of_suffix(path.suffix)
    if named is not None and named not in FORMATS:
        return ""
    return detect(path, named.name if named else "")


def _own(kind: str) -> Format | None:
    return next((format for format in FORMATS if format.name == kind), None)


def _detected(path: Path) -> Format | None:
    return _own(_detect_format(path))


def formats_read() -> str:
    """Return the titles of all formats as a phrase: "PDF, Markdown, … and picture"."""
    *others, last = (format.title for format in formats())
    return f"{', '.join(others)} and {last}" if others else last


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError:
        return b""


def _sniffed(head: bytes) -> Format | None:
    return next((format for format in formats() if format.sniff is not None and head and format.sniff(head)), None)


@cache
def _all() -> tuple[tuple[Format, ...], tuple[str, ...]]:
    usable, wrong = list(FORMATS), []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            usable.append(_check_format(entry.load(), usable))
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one package, the others are read
            wrong.append(f"the format {_called(entry)} cannot be used: {' '.join(str(error).split())}")
    return tuple(usable), tuple(wrong)


def _called(entry: EntryPoint) -> str:
    return f"'{entry.name}'" + (f" of the package {entry.dist.name}" if entry.dist is not None else "")


def _check_format(format: object, others: list[Format]) -> Format:
    if not isinstance(format, Format):
        raise TypeError(f"the entry point of the format must be a Format object, but is a {type(format).__name__}")
    for other in others:
        if other.name == format.name or set(other.suffixes) & set(format.suffixes):
            raise ValueError(f"the name or a file suffix of this format is already used by the format {other.title}")
    if not all(suffix.startswith(".") and suffix == suffix.lower() for suffix in format.suffixes):
        raise ValueError("the file suffixes of a format must begin with a dot and be in small letters")
    return format
