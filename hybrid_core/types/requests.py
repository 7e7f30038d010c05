"""The request of a search: a frozen value that interfaces build and the search stages read.

It is validated once, on creation. To add an option, add a field with its command-line help here, and use its value in a
search stage.
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
_SETTING: Any = None  # the value in the settings: ``completed`` fills it in before a stage reads it


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A question and the options of its search. None stands for the value in the settings.

    ``documents`` and ``where`` are filters; all other options only affect the ranking. ``libraries`` are names or
    aliases, () for the library in the settings; several are searched together like one. ``documents`` are ids, names or
    paths; ``where`` are ``key=value``. Both accept one value or several. ``expert`` is a pack, the path of an expert
    file, or ``none``. ``mmr`` (lambda) below 1 adds variety. ``group`` "document" returns ``top_k`` documents, each
    with its best pages. ``trace`` adds lists of the documents, sections and pages that each stage examined. ``fusion``
    combines term and vector scores by score (weighted) or by rank (rrf), if the documents have vectors.

    ``route`` is how documents are chosen: ``auto`` by cards and text, ``semantic`` by text alone, ``metadata`` by a
    filter that is derived from the question, and ``description`` by a model that reads their descriptions.

    With the effort ``deep`` a language model locates the answer in the section trees. With ``auto`` it does so only if
    the first page is not likely enough to answer. ``strategy`` is the algorithm of this model. Without a model, or if
    it fails, the search uses ``fast``, and the result says so. ``scoring`` are the ranking parameters; a mapping
    changes only some of them.

    Raises UsageError for an empty question, an empty list of documents, and a value of a wrong type or range.

    Metadata of a field: ``help`` makes the field an option of the command line, named ``flag`` if the names differ.
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
            raise UsageError(
                f"The question is {self.question!r}, but it must be a text.", "Pass the question as a string."
            )
        if not self.question.strip():
            raise UsageError(
                "The question is empty.", 'Write a question, for example: search "capital expenditure 2018".'
            )
        for name in ("libraries", "where"):
            object.__setattr__(self, name, several(getattr(self, name)))
        if self.documents is not None:
            object.__setattr__(self, "documents", several(self.documents))
        if "" in self.libraries:  # an unset shell variable may be the reason
            raise UsageError("The name of the library is empty.", "Name a library, or leave the parameter out.")
        if self.all_libraries and self.libraries:
            raise UsageError(
                "The request names libraries and also asks for all libraries.",
                "Name libraries, or ask for all libraries, but not both.",
            )
        if self.documents is not None and not self.documents:  # a caller's own search probably returned no document
            raise UsageError(
                "The parameter documents is an empty list.",
                "Name documents, or leave the parameter out to search all documents.",
            )
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
        """Return the only library that the request names. Raise UsageError if it names none or several."""
        if len(self.libraries) != 1:
            raise UsageError(
                "The request names several libraries, but this function searches only one.", "Name only one library."
            )
        return self.libraries[0]

    def completed(self, usual: Mapping[str, Any]) -> "SearchRequest":
        """Return the request, with each missing field set to its value in ``usual``, such as those of the settings."""
        left = [name for name in usual if getattr(self, name) in (None, ())]
        return replace(self, **{n: usual[n] for n in left if n != "libraries" or not self.all_libraries})


OPTIONS = {option.name: option for option in fields(SearchRequest) if "help" in option.metadata}
"""The fields that are command-line options, in the order of the command line."""


class SearchFields(TypedDict, total=False):
    """The fields of a ``SearchRequest`` as keyword arguments.

    ``library`` is another name of ``libraries``; it accepts one name or several.
    """

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
    """Return a ``SearchRequest`` for a question and options, or a given request with the given fields replaced.

    Raise UsageError for an unknown argument; the message suggests similar names.
    """
    values = option_values(fields_given, SearchFields.__annotations__, "search")
    if isinstance(question, SearchRequest):
        return replace(question, **values) if values else question
    return SearchRequest(question, **values)


def option_values(options: Mapping[str, Any], names: Mapping[str, Any], call: str) -> dict[str, Any]:
    """Return the options of a call, in which ``library`` is renamed to ``libraries``.

    Raise UsageError for a name that is not in ``names``.
    """
    check_options(options, names, call)
    values = {**options}
    if (library := values.pop("library", None)) is not None:
        values["libraries"] = several(library)
    return values


def check_options(values: Mapping[str, Any], names: Mapping[str, Any], call: str) -> None:
    """Raise UsageError if ``values`` contains a name that is not in ``names``. The message suggests similar names.

    ``call`` is the kind of call in the message, such as "search".
    """
    for name in values:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
            advice = f"Did you mean {' or '.join(near)}?" if near else f"The options are: {', '.join(names)}."
            raise UsageError(f"The option '{name}' does not exist for a {call}.", advice)


def several(value: str | Path | Sequence[str | Path] | None) -> tuple[str, ...]:
    """Return one name or several names as a tuple, () for None. A string is one name."""
    if value is None:
        return ()
    return (str(value),) if isinstance(value, str | Path) else tuple(map(str, value))


def one_of(name: str, value: str, *choices: str) -> str:
    """Return the value of the option ``name``. Raise UsageError if it is not one of ``choices``."""
    if value not in choices:
        raise UsageError(f"The option {name} is {value!r}.", f"Choose {', '.join(choices[:-1])} or {choices[-1]}.")
    return value


def choices(option: Field[Any]) -> tuple[str, ...]:
    """Return the allowed values of a field, () if any value of its type is allowed."""
    return get_args(option.type) if get_origin(option.type) is Literal else ()


def _check(option: Field[Any], value: Any) -> None:
    if words := choices(option):
        one_of(option.name, value, *words)
    elif option.type is int and not isinstance(value, int):
        raise UsageError(f"The option {option.name} is {value!r}.", "Set the option to a whole number.")
    elif option.type is float and not isinstance(value, int | float):
        raise UsageError(f"The option {option.name} is {value!r}.", "Set the option to a number.")
    minimum, maximum, advice = option.metadata.get("range", (None, None, ""))
    if advice and not minimum <= value <= maximum:
        raise UsageError(f"The option {option.name} is {value}.", advice)
