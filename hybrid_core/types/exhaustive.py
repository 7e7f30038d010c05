"""The requests of an exhaustive search and of a comparison: frozen values that all interfaces build and pass on.

Each is validated once, on creation.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, replace
from typing import Any, Literal, TypedDict

from hybrid_core.errors import UsageError
from hybrid_core.types.requests import check_options, one_of, option_values, several

Listed = Literal["pages", "documents"]
MAX_LIMIT, MAX_CONTEXT = 1000, 10
MAX_PATTERN = 500  # characters


@dataclass(frozen=True, slots=True)
class GrepRequest:
    """A request for every page that contains a word, a phrase, a word prefix or a regular expression.

    ``libraries`` are names or aliases, () for the library in the settings. ``documents`` and ``where`` limit the search
    to documents, ``node`` to a section of one document. ``listed`` chooses whether pages or documents are listed, at
    most ``limit`` in a batch. ``context`` is the number of lines to show before and after a match. ``seconds`` limits
    the time; None means no limit, or the server's limit over HTTP.

    Raises UsageError for an empty or too long pattern, an empty list of documents, and a value out of range.
    """

    pattern: str
    regex: bool = False
    libraries: tuple[str, ...] = ()
    all_libraries: bool = False
    documents: tuple[str, ...] | None = None
    where: tuple[str, ...] = ()
    node: str = ""
    listed: Listed = "pages"
    limit: int = 20
    context: int = 0
    cursor: str = ""
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("libraries", "where"):
            object.__setattr__(self, name, several(getattr(self, name)))
        if self.documents is not None:
            object.__setattr__(self, "documents", several(self.documents))
        one_of("listed", self.listed, "pages", "documents")
        _check_limit("limit", self.limit, 1)
        if not 0 <= self.context <= MAX_CONTEXT:
            raise UsageError(
                f"The parameter context is {self.context}.", f"Choose a number of lines from 0 to {MAX_CONTEXT}."
            )
        if self.documents is not None and not self.documents:
            raise UsageError(
                "The parameter documents is an empty list.",
                "Name documents, or leave the parameter out to search all documents.",
            )
        if self.node and (self.documents is None or len(self.documents) != 1):
            raise UsageError(
                "A section was named without its document.", "Name the one document that contains the section."
            )
        if not self.pattern.strip():
            raise UsageError(
                "The search pattern is empty.", "Give a word, a phrase or a regular expression to search for."
            )
        if len(self.pattern) > MAX_PATTERN:
            raise UsageError(
                f"The search pattern has {len(self.pattern)} characters.", f"Use at most {MAX_PATTERN} characters."
            )


class GrepFields(TypedDict, total=False):
    """The fields of a ``GrepRequest`` as keyword arguments.

    ``library`` is another name of ``libraries``; it accepts one name or several.
    """

    regex: bool
    library: str | Sequence[str] | None
    libraries: Sequence[str] | str
    all_libraries: bool
    documents: Sequence[str] | str | None
    where: Sequence[str] | str
    node: str
    listed: Listed
    limit: int
    context: int
    cursor: str
    seconds: float | None


@dataclass(frozen=True, slots=True)
class CompareSide:
    """A side of a comparison: a document by name or id, and one of its sections (``node``) or "" for all.

    ``library`` is "" for the library in the settings.
    """

    document: str
    library: str = ""
    node: str = ""


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """A request to compare two documents or sections, the older one on the left.

    At most ``limit`` sections are listed in a batch, with at most ``each`` changes per section. Raises UsageError for
    a value out of range.
    """

    left: CompareSide
    right: CompareSide
    limit: int = 50
    each: int = 20
    cursor: str = ""

    def __post_init__(self) -> None:
        _check_limit("limit", self.limit, 1)
        _check_limit("each", self.each, 0)

    def with_libraries(self, library: Callable[[str | None], str]) -> "CompareRequest":
        """Return the request with the libraries of both sides replaced.

        ``library`` is a function from a library's name, or None if the side names none, to the new name.
        """
        left, right = (replace(side, library=library(side.library or None)) for side in (self.left, self.right))
        return replace(self, left=left, right=right)


class CompareFields(TypedDict, total=False):
    """The fields of a ``CompareRequest`` as keyword arguments.

    ``library`` is the library of both sides, unless ``right_library`` names another one for the right side.
    """

    library: str | None
    right_library: str | None
    left_node: str
    right_node: str
    limit: int
    each: int
    cursor: str


def grep_request(pattern: str | GrepRequest, options: GrepFields) -> GrepRequest:
    """Return a ``GrepRequest`` for a pattern and options, or a given request with the fields in ``options`` replaced.

    Raise UsageError for an unknown argument; the message suggests similar names.
    """
    values = option_values(options, GrepFields.__annotations__, "grep")
    if isinstance(pattern, GrepRequest):
        return replace(pattern, **values) if values else pattern
    return GrepRequest(pattern, **values)


def compare_request(left: str | CompareRequest, right: str | None, options: CompareFields) -> CompareRequest:
    """Return a ``CompareRequest`` for two documents and options.

    If ``left`` is a request, return it with ``limit``, ``each`` and ``cursor`` replaced by those in ``options``. Raise
    UsageError for an unknown option, a missing right document, or documents that are named besides a request.
    """
    check_options(options, CompareFields.__annotations__, "comparison")
    values: dict[str, Any] = {**options}
    sides = {name: values.pop(name, None) or "" for name in ("library", "right_library", "left_node", "right_node")}
    if isinstance(left, CompareRequest):
        if right or any(sides.values()):
            raise UsageError(
                "The request names documents twice: in the request object and as separate arguments.",
                "With a request object, pass only a cursor or limits.",
            )
        return replace(left, **values) if values else left
    if not right:
        raise UsageError("The request to compare documents names only one document.", "Name two documents.")
    first = CompareSide(left, sides["library"], sides["left_node"])
    second = CompareSide(right, sides["right_library"] or sides["library"], sides["right_node"])
    return CompareRequest(first, second, **values)


def changed_fields(request: GrepRequest | CompareRequest) -> Mapping[str, Any]:
    """Return the fields of a request that differ from their defaults, as JSON values for the body of an HTTP call."""
    values = asdict(request)
    return {
        item.name: values[item.name]
        for item in fields(request)
        if item.default is MISSING or getattr(request, item.name) != item.default
    }


def _check_limit(name: str, value: int, lowest: int) -> None:
    if not lowest <= value <= MAX_LIMIT:
        raise UsageError(f"The parameter {name} is {value}.", f"Choose a number from {lowest} to {MAX_LIMIT}.")
