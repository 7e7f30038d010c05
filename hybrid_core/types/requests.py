"""The request of a search: one frozen value, validated once, built by interfaces and read by stages.

To add an option, add a field with its command-line help here, and read it in a stage.
"""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args, get_origin

from hybrid_core.errors import UsageError
from hybrid_core.types.documents import Effort, Fusion, Group, Route, Strategy

if TYPE_CHECKING:
    from hybrid_core.types.scoring import ScoringConfig

MOST_RESULTS = 1000
_SETTING: Any = None  # as the settings say: filled in by ``completed`` before a stage reads it


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A question and what is said with it. ``documents`` and ``where`` are filters; everything else is soft.

    None means what the settings say. ``libraries`` are names or aliases, () the settings' one; several, or all, are
    searched as one would be. ``documents`` are ids, names or
    paths; ``where`` are ``key=value``; of each one or several. ``expert`` is a pack, the path of an expert file, or
    ``none``. ``mmr`` (lambda) below 1 adds variety. ``group`` "document" returns ``top_k`` documents, each with
    its best pages together. ``trace`` has the result say where the search looked. ``fusion``
    adds words and meaning up by their scores (weighted) or ranks (rrf) where the documents have vectors.

    ``route`` is how documents are chosen: ``auto`` by cards and text, ``semantic`` by text alone; ``metadata`` makes
    the question a filter over the documents' fields, ``description`` has a model pick among their descriptions.

    With a language model the effort ``deep`` has it say, from the section trees, where the answer stands, and ``auto``
    does where the first pages are close; ``strategy`` is how. Without a model, or where it fails, they answer with
    ``fast`` and say so. ``scoring`` are the numbers that rank, also as a mapping of those that are not the usual ones.

    Raises UsageError for an empty question, an empty list of documents, and whatever is of another type or range.
    Metadata of a field: ``help`` makes it an option of the command line, named ``flag`` where that is not the name.
    """

    question: str
    libraries: tuple[str, ...] = field(
        default=(), metadata={"help": "library to search (repeatable)", "flag": "library", "metavar": "NAME"}
    )
    all_libraries: bool = field(default=False, metadata={"help": "search all libraries together"})
    documents: tuple[str, ...] | None = field(
        default=None, metadata={"help": "search only this document (repeatable)", "flag": "doc", "metavar": "ID|NAME"}
    )
    where: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "search only documents with this metadata, such as year=2023 (repeatable)",
            "metavar": "KEY=VALUE",
        },
    )
    top_k: int = field(
        default=_SETTING,
        metadata={
            "help": "number of pages to return", "metavar": "K",
            "range": (1, MOST_RESULTS, f"Choose 1 to {MOST_RESULTS}."),
        },
    )  # fmt: skip
    effort: Effort = field(default=_SETTING, metadata={"help": "whether to use a language model"})
    strategy: Strategy = field(default=_SETTING, metadata={"help": "how a language model searches the section trees"})
    route: Route = field(default=_SETTING, metadata={"help": "how the documents to search are chosen"})
    expert: str = field(
        default=_SETTING,
        metadata={
            "help": "expert knowledge to add to the question: auto, none, pack names, files",
            "metavar": "FILE|PACK|auto|none",
        },
    )
    fusion: Fusion = field(
        default=_SETTING, metadata={"help": "how scores of words and vectors are combined: by score or by rank"}
    )
    mmr: float = field(
        default=_SETTING,
        metadata={
            "help": "below 1: prefer varied pages over the highest scores", "metavar": "LAMBDA",
            "range": (0, 1, "Choose a number from 0 (most varied) to 1 (by score only)."),
        },
    )  # fmt: skip
    group: Group = field(default="page", metadata={"help": "document: group the results by document, for K documents"})
    trace: bool = False
    scoring: "ScoringConfig" = _SETTING

    def __post_init__(self) -> None:
        if not isinstance(self.question, str):
            raise UsageError(f"The question is {self.question!r}, not text.", "Pass the question as a string.")
        if not self.question.strip():
            raise UsageError("The question is empty.", 'Ask something, for example: search "capital expenditure 2018".')
        for name in ("libraries", "where"):
            object.__setattr__(self, name, several(getattr(self, name)))
        if self.documents is not None:
            object.__setattr__(self, "documents", several(self.documents))
        if "" in self.libraries:  # a variable that is not set may have made it
            raise UsageError("The library's name is empty.", "Leave it out, or name a library.")
        if self.all_libraries and self.libraries:
            raise UsageError(
                "The request names libraries and also asks for all libraries.", "Use only one of the two options."
            )
        if self.documents is not None and not self.documents:  # it came from somewhere that found none
            raise UsageError("documents is an empty list.", "Leave it out to search all documents.")
        for option in OPTIONS.values():
            if (value := getattr(self, option.name)) is not None:
                _check(option, value)
        if self.expert is not None:
            object.__setattr__(self, "expert", str(self.expert) or None)
        if isinstance(self.scoring, Mapping):
            from hybrid_core.types.scoring import ScoringConfig

            object.__setattr__(self, "scoring", ScoringConfig.of(self.scoring))

    @property
    def library(self) -> str:
        """Return the one library of the request. Raise UsageError if it names several."""
        if len(self.libraries) != 1:
            raise UsageError("The request names several libraries, and this function takes one.", "Name one.")
        return self.libraries[0]

    def completed(self, usual: Mapping[str, Any]) -> "SearchRequest":
        """Return the request with missing fields filled from ``usual``."""
        left = [name for name in usual if getattr(self, name) in (None, ())]
        return replace(self, **{n: usual[n] for n in left if n != "libraries" or not self.all_libraries})


OPTIONS = {option.name: option for option in fields(SearchRequest) if "help" in option.metadata}
"""The fields that can be said on the command line, in its order."""


class SearchFields(TypedDict, total=False):
    """The fields of a request as keyword arguments, with ``library`` for one or several of ``libraries``."""

    library: str | Sequence[str] | None
    libraries: Sequence[str] | str | None
    all_libraries: bool
    documents: Sequence[str | Path] | str | Path | None
    where: Sequence[str] | str | None
    top_k: int | None
    effort: Effort | None
    strategy: Strategy | None
    route: Route | None
    expert: str | Path | None
    fusion: Fusion | None
    mmr: float | None
    group: Group
    trace: bool
    scoring: "ScoringConfig | Mapping[str, Any] | None"


def search_request(question: str | SearchRequest, fields_given: SearchFields) -> SearchRequest:
    """Return a request built from keyword arguments, or a request with these fields replaced.

    Raise UsageError for an unknown argument, with similar names.
    """
    check_options(fields_given)
    values: dict[str, Any] = {**fields_given}
    if (library := values.pop("library", None)) is not None:
        values["libraries"] = several(library)
    if isinstance(question, SearchRequest):
        return replace(question, **values) if values else question
    return SearchRequest(question, **values)


def check_options(values: Mapping[str, Any]) -> None:
    """Raise UsageError for a name that is no option of a search, with those that are like it."""
    names = SearchFields.__annotations__
    for name in values:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
            advice = f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join(names)}."
            raise UsageError(f"A search has no option '{name}'.", advice)


def several(value: str | Path | Sequence[str | Path] | None) -> tuple[str, ...]:
    """Return the names as a tuple: of one name, of several, () for None. A string is one name, not its letters."""
    if value is None:
        return ()
    return (str(value),) if isinstance(value, str | Path) else tuple(map(str, value))


def one_of(name: str, value: str, *choices: str) -> str:
    """Return the value. Raise UsageError where it is none of the choices."""
    if value not in choices:
        raise UsageError(f"{name} is {value!r}.", f"Choose {', '.join(choices[:-1])} or {choices[-1]}.")
    return value


def choices(option: Field[Any]) -> tuple[str, ...]:
    """Return the values that a field may have, where it is one of a few words."""
    return get_args(option.type) if get_origin(option.type) is Literal else ()


def _check(option: Field[Any], value: Any) -> None:
    if words := choices(option):
        one_of(option.name, value, *words)
    elif option.type is int and not isinstance(value, int):
        raise UsageError(f"{option.name} is {value!r}.", "Give a whole number.")
    elif option.type is float and not isinstance(value, int | float):
        raise UsageError(f"{option.name} is {value!r}.", "Give a number.")
    minimum, maximum, advice = option.metadata.get("range", (None, None, ""))
    if advice and not minimum <= value <= maximum:
        raise UsageError(f"{option.name} is {value}.", advice)
