"""What the scripted models of ``eval.runs.scripted`` reply where documents are to be chosen."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Collection
from typing import Any

_DOCUMENT = re.compile(r"^(d\d+) · (.+?)(?: · |$)", re.MULTILINE)
_FIELD = re.compile(r"^(\S.*?) \((?:text|number|date), .*?\): (.*)$", re.MULTILINE)
_VALUE = re.compile(r'"(?:[^"\\]|\\.)*"')
SHOWN = {"Picks": "Documents", "Conditions": "Fields"}
"""The replies' schemas, each with the heading of what the model is shown."""


def known(title: str, shown: str, documents: Collection[str]) -> dict[str, Any]:
    """The right documents (file names), where they are shown; in a table of fields where their names are."""
    if title == "Picks":
        return _picks(short for short, name in _DOCUMENT.findall(shown) if name in documents)
    names = [name for name in _fields(shown).get("name", ()) if any(full.startswith(name) for full in documents)]
    conditions = [{"field": "name", "operator": "contains", "values": names}] if names else []
    return {"reasoning": "it is known", "conditions": conditions}


def guessed(title: str, shown: str, rng: random.Random) -> dict[str, Any]:
    """One of the documents that are shown, or one value of one field."""
    if title == "Picks":
        names = [short for short, _ in _DOCUMENT.findall(shown)]
        return _picks(rng.sample(names, min(1, len(names))))
    fields = _fields(shown)
    name = rng.choice(list(fields))
    said = {"field": name, "operator": "is", "values": [rng.choice(fields[name])]}
    return {"reasoning": "a guess", "conditions": [said]}


def _picks(names: Any) -> dict[str, Any]:
    return {"reasoning": "as scripted", "documents": list(names)[:3]}


def _fields(shown: str) -> dict[str, list[str]]:
    return {name: [json.loads(value) for value in _VALUE.findall(values)] for name, values in _FIELD.findall(shown)}
