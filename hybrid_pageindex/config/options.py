"""Add command-line options for fields of a search request and for settings."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from hybrid_core.types.requests import OPTIONS, choices
from hybrid_pageindex.config.fields import IndexSettings, SearchSettings, StorageSettings

_SETTINGS = {field.name: field for group in (StorageSettings, IndexSettings, SearchSettings) for field in fields(group)}


def add_option(parser: argparse.ArgumentParser, name: str, *flags: str, metavar: str | None = None) -> None:
    """Add a command-line option for a request field or setting, with its choices, help and default.

    ``flags`` are further names of the option.
    """
    setting = _SETTINGS.get(name)
    field = OPTIONS.get(name) or _SETTINGS[name]
    text = f"{field.metadata['help']} (default: {setting.metadata['usual'] or setting.default})" if setting else ""
    more: dict[str, Any] = {
        "dest": name, "metavar": metavar or field.metadata.get("metavar"), "help": text or field.metadata["help"]
    }  # fmt: skip
    if words := choices(field):
        more["choices"] = words
    elif field.type in _TYPES:
        more["type"] = _TYPES[field.type]
    elif field.type is bool:
        more |= {"action": "store_true"}
        del more["metavar"]
    elif field.type is not str:
        more["action"] = "append"
    parser.add_argument(f"--{field.metadata.get('flag', name).replace('_', '-')}", *flags, **more)


def count(written: str) -> int:
    try:
        number = int(written)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{written}' is not a whole number") from None
    if number < 1:
        raise argparse.ArgumentTypeError(f"the number {number} is too small; the minimum is 1")
    return number


def _share(written: str) -> float:
    try:
        share = float(written)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{written}' is not a number") from None
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"the number {written} is not between 0 and 1")
    return share


_TYPES: dict[Any, Callable[[str], float]] = {int: count, float: _share}
