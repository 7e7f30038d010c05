"""Check setting values with pydantic, and report errors in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any, get_args

from pydantic import BaseModel, BeforeValidator, ByteSize, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic_core import ErrorDetails

from hybrid_core.errors import UsageError
from hybrid_core.types.scoring import ScoringConfig
from hybrid_pageindex.config.fields import AllSettings

KNOWN = {field.name: field for field in fields(AllSettings)}
_BYTES = TypeAdapter(ByteSize)


def kinds() -> dict[str, Any]:
    """Return by name the pydantic type (with limits) and the default of each setting except ``scoring``."""
    return {name: (_field_type(name), field.default) for name, field in KNOWN.items() if name != "scoring"}


def _field_type(name: str) -> Any:
    limits = KNOWN[name].metadata
    within = Field(ge=limits["least"], le=limits["most"], pattern=limits["pattern"] or None)
    if limits["size"]:
        return Annotated[int, within, BeforeValidator(_BYTES.validate_python)]
    return Annotated[KNOWN[name].type, within]


def _scoring(value: Any) -> ScoringConfig:
    return value if isinstance(value, ScoringConfig) else ScoringConfig.of(value)


_CONFIG = ConfigDict(coerce_numbers_to_str=True, protected_namespaces=())
_Values: type[BaseModel] = create_model(
    "_Values", __config__=_CONFIG, **kinds(), scoring=(Annotated[Any, BeforeValidator(_scoring)], ScoringConfig())
)


def checked(values: Mapping[str, Any], places: Mapping[str, str] = {}) -> dict[str, Any]:
    """Return the setting values, converted to the types of their settings.

    ``places`` names the origin of each value for error messages. Raise UsageError for the first value of a wrong type
    or beyond its limits.
    """
    try:
        right = _Values.model_validate(values)
    except ValidationError as error:
        raise _error_of(error.errors()[0], places) from None
    return {name: getattr(right, name) for name in values}


def _error_of(error: ErrorDetails, places: Mapping[str, str]) -> UsageError:
    name, value = str(error["loc"][0]), error["input"]
    field, limits = KNOWN[name], KNOWN[name].metadata
    match error["type"]:
        case "literal_error":
            *others, last = get_args(field.type)
            return UsageError(
                f"The setting {name} is {value!r}.", limits["advice"] or f"Choose {', '.join(others)} or {last}."
            )
        case "string_pattern_mismatch":
            return UsageError(f"The setting {name} is '{value}'.", limits["advice"])
        case "greater_than_equal" | "less_than_equal":
            low, high = limits["least"], limits["most"]
            usual = f"It must be at least {low}." if high is None else f"Choose {low} to {high}."
            return UsageError(f"The setting {name} is {value}.", limits["advice"] or usual)
    kind = getattr(field.type, "__name__", field.type)
    return UsageError(f"The setting {places.get(name, name)} is '{value}'.", f"Set it to a value of the type {kind}.")
