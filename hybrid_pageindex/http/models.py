"""Models of request bodies that have no class in the engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model, model_validator

from hybrid_core.cards.corrections import FIELDS, LONGEST
from hybrid_core.errors import UsageError
from hybrid_core.types.documents import Effort, Fusion, Group, Route, Strategy
from hybrid_core.types.exhaustive import (
    MAX_CONTEXT,
    MAX_LIMIT,
    MAX_PATTERN,
    CompareRequest,
    CompareSide,
    GrepRequest,
)
from hybrid_core.types.requests import SearchRequest
from hybrid_core.types.scoring import ScoringConfig
from hybrid_pageindex.config.experts import PACKS

QUESTION = 10_000  # maximum characters of a question
_MANY = 1000  # maximum names in one request


def _whole_numbers(value: Any) -> Any:
    """Return a value with whole floats such as 5.0 as integers, also in lists."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return [_whole_numbers(item) for item in value] if isinstance(value, list) else value


class Strict(BaseModel):
    """Base class of request bodies without type conversion: each value must have the documented type."""

    model_config = ConfigDict(extra="ignore", strict=True)

    @model_validator(mode="before")
    @classmethod
    def read_numbers(cls, body: Any) -> Any:
        return {name: _whole_numbers(value) for name, value in body.items()} if isinstance(body, dict) else body


class Body(Strict):
    model_config = ConfigDict(extra="forbid")


def _reject_surrogates(value: str) -> str:
    """Return the text. Raise ValueError if it contains half a surrogate pair, which cannot be stored."""
    value.encode()
    return value


Text = Annotated[str, AfterValidator(_reject_surrogates)]
Name = Annotated[Text, Field(max_length=2000)]
Names = Annotated[list[Name], Field(max_length=_MANY)]


EXPERT_PATTERN = rf"^(auto|none|({'|'.join(PACKS)})(,({'|'.join(PACKS)}))*)$"
LIBRARY_PATTERN = r"^\S([^\x00-\x1f\x7f-\x9f]{0,98}\S)?$"
LibraryName = Annotated[Text, Field(max_length=200, json_schema_extra={"pattern": LIBRARY_PATTERN, "maxLength": 100})]


def checked_expert(expert: str | None) -> str | None:
    """Return a list of expert packs (sets of domain words) unchanged.

    Raise UsageError for any other name, because a file on the server must not be named over HTTP.
    """
    if expert is not None and expert not in ("auto", "none"):
        for name in expert.split(","):
            if name.strip() not in PACKS:
                raise UsageError(
                    f"The pack of expert knowledge '{name[:100]}' does not exist.",
                    f"Choose auto, none, or packs: {', '.join(PACKS)}.",
                )
    return expert


# The engine checks these patterns, and its messages say more than those of a pattern.
NOT_BLANK: dict[str, Any] = {"pattern": r"\S"}
_CONDITION: dict[str, Any] = {"pattern": r"^\s*[^=\s][^=]*=\s*\S"}
Question = Annotated[Text, Field(min_length=1, max_length=QUESTION, json_schema_extra=NOT_BLANK)]
_KINDS: dict[str, Any] = {
    "question": Question,
    "libraries": Annotated[
        list[Annotated[Name, Field(json_schema_extra={"minLength": 1})]], Field(max_length=_MANY)
    ],
    "documents": Annotated[list[Name], Field(min_length=1, max_length=_MANY)] | None,
    "where": Annotated[list[Annotated[Name, Field(json_schema_extra=_CONDITION)]], Field(max_length=_MANY)],
    "top_k": int | None, "effort": Effort | None, "strategy": Strategy | None, "route": Route | None,
    "expert": Annotated[
        Text, Field(max_length=500, json_schema_extra={"pattern": EXPERT_PATTERN}), AfterValidator(checked_expert)
    ] | None,
    "fusion": Fusion | None, "mmr": float | None, "group": Group, "scoring": dict[str, Any] | None,
}  # fmt: skip
_HINTS = get_type_hints(SearchRequest, localns={"ScoringConfig": ScoringConfig})


def _field(field: Any) -> tuple[Any, Any]:
    kind = _KINDS.get(field.name, _HINTS[field.name])
    if limits := field.metadata.get("range"):
        kind = Annotated[kind, Field(json_schema_extra={"minimum": limits[0], "maximum": limits[1]})]
    default = ... if field.name == "question" else [] if field.name in ("libraries", "where") else field.default
    return kind, Field(default, description=field.metadata.get("help"))


_SearchBody = create_model(  # a new field of SearchRequest is thereby part of the API
    "SearchBody", __base__=Body, __doc__="A search request; what it does not say is as the server's settings have it.",
    **{field.name: _field(field) for field in fields(SearchRequest)},  # type: ignore[call-overload]
)  # fmt: skip
_AskBody = create_model(
    "AskBody", __base__=_SearchBody, __doc__="A question to be answered.",
    force=(bool, Field(False, description="call the model even if the search finds no evidence")),
    vision=(bool | None, Field(None, description="send page images of all sources to the model, or none")),
)  # fmt: skip


if TYPE_CHECKING:

    class SearchBody(Body):
        question: str

    class AskBody(SearchBody): ...

else:
    SearchBody, AskBody = _SearchBody, _AskBody


_GREP_KINDS: dict[str, Any] = {
    "pattern": Annotated[Text, Field(min_length=1, max_length=MAX_PATTERN, json_schema_extra=NOT_BLANK)],
    "libraries": _KINDS["libraries"], "documents": _KINDS["documents"], "where": _KINDS["where"],
    "node": Annotated[Text, Field(max_length=20, description="a section of the one document that is named")],
    "limit": Annotated[int, Field(ge=1, le=MAX_LIMIT)],
    "context": Annotated[int, Field(ge=0, le=MAX_CONTEXT, description="lines to show before and after a match")],
    "cursor": Annotated[str, Field(max_length=200)],
    "seconds": Annotated[float, Field(gt=0, le=30, description="after which a search stops, and says so")],
}  # fmt: skip
_COMPARE_KINDS: dict[str, Any] = {
    "document": Name, "library": Annotated[Text, Field(max_length=200)],
    "node": Annotated[Text, Field(max_length=20)],
    "limit": _GREP_KINDS["limit"], "each": Annotated[int, Field(ge=0, le=MAX_LIMIT)],
    "cursor": Annotated[str, Field(max_length=20)],
}  # fmt: skip


def _body_of(name: str, described: str, request: Any, kinds: Mapping[str, Any], **defaults: Any) -> Any:
    """Return a body model with the fields of a request class, so that new fields appear in the API.

    ``described`` is its docstring. ``kinds`` and ``defaults`` replace types and defaults.
    """
    hints = get_type_hints(request)
    body_fields: dict[str, Any] = {}
    for item in fields(request):
        default = defaults.get(item.name, ... if item.default is MISSING else item.default)
        body_fields[item.name] = (kinds.get(item.name, hints[item.name]), [] if default == () else default)
    return create_model(name, __base__=Body, __doc__=described, **body_fields)


_GrepBody = _body_of(
    "GrepBody",
    "The pattern to find: a word, a phrase, the beginning of a word (``indemnif*``), or a regular expression (RE2).",
    GrepRequest, _GREP_KINDS, seconds=2,
)  # fmt: skip
_CompareSide = _body_of(
    "CompareSide", "A side of a comparison: a document by name or id, and optionally one of its sections. Without a "
    "library, the server's default library is used.", CompareSide, _COMPARE_KINDS,
)  # fmt: skip
_CompareBody = _body_of(
    "CompareBody", "The two sides to compare; the left one is the older. ``each`` is the maximum number of changes "
    "listed per section.",
    CompareRequest, _COMPARE_KINDS | {"left": _CompareSide, "right": _CompareSide},
)  # fmt: skip

if TYPE_CHECKING:

    class GrepBody(Body):
        seconds: float

    class CompareBody(Body):
        left: CompareSide
        right: CompareSide

else:
    GrepBody, CompareBody = _GrepBody, _CompareBody


def compare_body_request(body: CompareBody, left_library: str, right_library: str) -> CompareRequest:
    """Return a comparison request from a body and the libraries of its left and right side."""
    values: dict[str, Any] = body.model_dump()
    left = CompareSide(**values.pop("left") | {"library": left_library})
    right = CompareSide(**values.pop("right") | {"library": right_library})
    return CompareRequest(left, right, **values)


def search_fields(body: SearchBody | GrepBody) -> dict[str, Any]:
    """Return the search fields that are set in a body, except the question, as keyword arguments."""
    fields_set: Mapping[str, Any] = body.model_dump(exclude_unset=True, exclude={"question"})
    return {name: value for name, value in fields_set.items() if value is not None}


class NewLibrary(Body):
    name: LibraryName
    alias: Annotated[Text, Field(max_length=200)] = ""


class LibraryNames(Body):
    """The new name and alias of a library. A missing field stays unchanged; an empty alias removes the alias."""

    name: LibraryName | None = None
    alias: Annotated[Text, Field(max_length=200)] | None = None


_CORRECTED: dict[str, Any] = {
    "propertyNames": {"enum": [*FIELDS]},
    "properties": {
        "year": {"type": "string", "pattern": r"^[12]\d{3}( *, *[12]\d{3})*$"},
        "quarter": {"type": "string", "pattern": "^[Qq]?[1-4]$"},
        "date": {"type": "string", "format": "date"},
    },
    "additionalProperties": {"type": "string", "pattern": r"\S", "maxLength": LONGEST},
}


class Corrections(Body):
    """Corrections of a document's metadata: ``set`` maps fields to values, ``unset`` names the corrections to undo."""

    set: Annotated[dict[str, Text], Field(max_length=20, json_schema_extra=_CORRECTED)] = Field(default_factory=dict)
    unset: Annotated[list[Annotated[Text, Field(json_schema_extra={"enum": [*FIELDS]})]], Field(max_length=20)] = Field(
        default_factory=list
    )


class PasswordGiven(Body):
    """The password of a file. It is used once and not stored."""

    password: Annotated[Text, Field(min_length=1, max_length=500)]


class PortsAsked(Body):
    """Further ports of the server's own machine on which to look for model servers."""

    ports: Annotated[list[Annotated[int, Field(ge=1, le=65535)]], Field(max_length=5)] = Field(default_factory=list)


class ModelNamed(Body):
    """The embedder to use. By default it is the one in use, else the one in the settings."""

    model: Name | None = None


class DocumentsChosen(Body):
    """Documents of the library by name or id. An empty list stands for all documents."""

    documents: Names = Field(default_factory=list)


class JobsChosen(Body):
    """Jobs by number, the jobs of a library, or all jobs. Use exactly one of the three."""

    jobs: Annotated[list[Annotated[int, Field(ge=1, lt=2**53)]], Field(max_length=_MANY)] = Field(default_factory=list)
    library: Name | None = None
    everything: bool = False


class Clearing(Body):
    confirm: Annotated[str, Field(max_length=100)]


class SignIn(Body):
    token: Annotated[str, Field(max_length=1000)]


class NewSource(Body):
    """A folder on the server's disk to watch."""

    folder: Annotated[Name, Field(min_length=1)]
    poll: bool = False
    outline: Literal["auto", "fast", "refined"] | None = None
    vision: Literal["auto", "always", "never"] | None = None
    enrich: Literal["auto", "never"] | None = None


class WebAddress(Body):
    """A web address to fetch: an http or https URL without a user name."""

    address: Annotated[Name, Field(min_length=1)]


class PathsToIndex(Body):
    """Files, folders and globs on the server's disk to index."""

    paths: Names
    outline: Literal["auto", "fast", "refined"] | None = None
    vision: Literal["auto", "always", "never"] | None = None
    enrich: Literal["auto", "never"] | None = None
