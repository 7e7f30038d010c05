"""Parameters and fields of a request that a route does not have, or that do not fit it, with the names that do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from fastapi.dependencies.utils import get_flat_params
from fastapi.routing import APIRoute
from pydantic import BaseModel

_BRANCH = re.compile(r"str|int|float|bool|constrained-\w+|(list|dict|tuple|function)[\[-].*")
_LONGEST = 100  # characters of a name that is repeated
_NEAR = 0.6  # how alike a known name must be to be proposed
_LISTED = 12  # names that are listed where none is alike


@dataclass(frozen=True, slots=True)
class Fault:
    """``name`` is of a parameter or a field (``left.document``), ``place`` query, path, header or body. ``kind`` is
    unknown, missing, type or value, and stable.
    """

    name: str
    place: str
    detail: str
    kind: str = "value"

    @property
    def said(self) -> str:
        return f"{self.name}: {self.detail}" if self.name else self.detail


def unknown_name(name: str, place: str, candidates: Iterable[str]) -> Fault:
    """Name a parameter or field that is not known, with those that are alike."""
    names = sorted(candidates)
    near = difflib.get_close_matches(name, names, n=3, cutoff=_NEAR)
    if near:
        advice = f"Did you mean {' or '.join(near)}?"
    elif names:
        more = ", …" if len(names) > _LISTED else ""
        advice = f"Known: {', '.join(names[:_LISTED])}{more}."
    else:
        advice = "None is read here."
    what = "No such parameter" if place == "query" else "No such field"
    return Fault(name[:_LONGEST], place, f"{what}. {advice}".removesuffix("."), "unknown")


def query_names(route: APIRoute) -> frozenset[str]:
    """The query parameters of a route and of what it depends on."""
    return frozenset(item.alias for item in get_flat_params(route.dependant) if _place(item.field_info) == "query")


def has_body(route: APIRoute) -> bool:
    """Return whether a route reads a body, be it a file."""
    return route.body_field is not None or "requestBody" in (route.openapi_extra or {})


def fits(route: APIRoute, path_params: Mapping[str, str]) -> bool:
    """Return whether the values of a path are such as the route takes: a number, one of several words."""
    for item in get_flat_params(route.dependant):
        if _place(item.field_info) == "path" and item.alias in path_params:
            _, wrong = item.validate(path_params[item.alias], {}, loc=())
            if wrong:
                return False
    return True


def faults_of(found: Sequence[Any], route: Any) -> list[Fault]:
    """Render what pydantic says of a request in words of this door."""
    faults = list[Fault]()
    for item in _of_best_branch(found):
        place, *path = item["loc"]
        if item["type"] == "json_invalid":
            faults.append(Fault("", "body", f"The body is no JSON: {item.get('ctx', {}).get('error', '')}"))
        elif item["type"] == "extra_forbidden":
            above = ".".join(map(str, path[:-1]))
            fault = unknown_name(str(path[-1]), "body", _fields_at(route, path[:-1]))
            faults.append(Fault(f"{above}.{fault.name}" if above else fault.name, "body", fault.detail, "unknown"))
        else:
            name = ".".join(map(str, path))[:_LONGEST] or str(place)
            faults.append(Fault(name, str(place), str(item["msg"]).removesuffix("."), _kind(item["type"])))
    return faults


def _of_best_branch(found: Sequence[Any]) -> list[Any]:
    """Errors without the names of a union's branches in their places; of several branches those of the one that fits
    furthest.
    """
    plain = [{**item, "loc": tuple(part for part in item["loc"] if not _BRANCH.fullmatch(str(part)))} for item in found]
    places = [item["loc"] for item in plain]
    deeper = [any(len(other) > len(own) and other[: len(own)] == own for other in places) for own in places]
    return [item for item, below in zip(plain, deeper, strict=True) if not (below and item["type"].endswith("_type"))]


def _kind(type: str) -> str:
    """The kind of a fault by pydantic's type of an error."""
    return "missing" if type == "missing" else "type" if type.endswith(("_type", "_parsing")) else "value"


def _place(info: Any) -> str:
    return str(getattr(getattr(info, "in_", None), "value", ""))


def _fields_at(route: Any, path: Sequence[Any]) -> list[str]:
    """The fields of the model at a place of a body; none where that is no model."""
    field = getattr(route, "body_field", None)
    models = _models(field.field_info.annotation) if field is not None else []
    for step in path:
        inner = [model.model_fields[step].annotation for model in models if step in model.model_fields]
        models = [model for item in inner for model in _models(item)] if isinstance(step, str) and inner else models
    return [name for model in models for name in model.model_fields]


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) in (Union, UnionType, Annotated, list, tuple):
        return [model for item in get_args(annotation) for model in _models(item)]
    return []
