"""Messages as values: a code with parameters, and the English text that their template gives.

A ``Note`` is a string with this English text, so code that shows or joins text can use it. Interfaces in other
languages read its code and parameters, and never its text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from hybrid_core.types.note_texts import TEMPLATES

TEXT = "text"
"""The code of texts that the catalogue does not contain: those of users, of models, and of homes older than codes."""
_FIELD = re.compile(r"\{(\w+)(?::([^{}|]*))?(?:\|([^{}|]*)\|([^{}|]*))?\}")
_STORED = '{"note":'  # how a stored note begins that is no plain text
_SINGLE, _SEVERAL = "_code", "_codes"  # suffixes of the JSON fields with codes


class Note(str):
    """A translatable message with a ``code`` and ``params``. The value of the string is the English text.

    ``params`` are JSON values, other notes, or lists of these. The text is fixed when the note is created. Two notes
    are equal if their texts are equal.
    """

    __slots__ = ("code", "params")
    code: str
    params: Mapping[str, Any]

    def __new__(cls, code: str, /, **params: Any) -> Note:
        """Create a note. Raise KeyError if ``TEMPLATES`` lacks the code, or ``params`` a parameter of its template."""
        note = super().__new__(cls, "".join(_rendered(TEMPLATES[code], params)))
        note.code, note.params = code, params
        return note

    @classmethod
    def of(cls, text: str) -> Note:
        """Return a plain text as a note with the code "text". A note is returned unchanged."""
        return text if isinstance(text, Note) else cls(TEXT, text=str(text))

    @classmethod
    def joined(cls, notes: Iterable[str], code: str = "list.semicolons") -> Note:
        """Return notes and texts joined into one note, whose ``code`` determines the separator.

        Empty ones are left out, and a single one is returned unchanged.
        """
        parts = [cls.of(note) for note in notes if note]
        return parts[0] if len(parts) == 1 else cls(code, parts=parts) if parts else NONE

    @classmethod
    def read(cls, stored: str) -> Note:
        """Return the note with this stored form (see ``stored``).

        A text in another form, or a note with an unknown code, becomes a note with the code "text".
        """
        if not stored.startswith(_STORED):
            return cls.of(stored)
        try:
            return _from_json(json.loads(stored))
        except (ValueError, TypeError):
            return cls.of(stored)

    def plus(self, *notes: str) -> Note:
        """Return a note that joins this one and ``notes`` with semicolons."""
        return Note.joined((*self.parts, *(part for note in notes for part in Note.of(note).parts)))

    @property
    def parts(self) -> list[Note]:
        """Return the notes of which this one was joined with semicolons, or only this note if it was not joined."""
        return [Note.of(part) for part in self.params["parts"]] if self.code == "list.semicolons" else [self]

    @property
    def stored(self) -> str:
        """Return the form for storage: plain text, or JSON with the code, the parameters and the text."""
        if self.code == TEXT and not self.startswith(_STORED):
            return str(self)
        return json.dumps(_to_json(self, "note", text=True), ensure_ascii=False)

    def __str__(self) -> str:
        return "".join(self)

    def __copy__(self) -> Note:
        return self

    def __deepcopy__(self, _: object) -> Note:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (self.code, dict(self.params))

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, handler: Any) -> Any:
        """Return pydantic's schema of a note: it accepts notes and strings.

        In the JSON schema, a note is a string with the mark ``x-note``.
        """
        schema = {"type": "function-plain", "function": {"type": "no-info", "function": _validated}}
        return schema | {"metadata": {"pydantic_js_functions": [lambda *_: {"type": "string", "x-note": True}]}}


def _validated(value: object) -> Note:
    if not isinstance(value, str):
        raise ValueError("Input should be a valid string")
    return Note.of(value)


def _remade(code: str, params: Mapping[str, Any]) -> Note:
    return Note(code, **params)


def _rendered(template: str, params: Mapping[str, Any]) -> Iterator[str]:
    for literal, name, form, singular, plural in _parsed(template):
        yield literal
        if plural:
            yield singular if params[name] == 1 else plural
        elif name:
            yield _shown(params[name], form)


def _shown(value: Any, form: str) -> str:
    if isinstance(value, list | tuple):
        return (form or ", ").join(_shown(item, "") for item in value)
    if isinstance(value, float):
        return format(value, form or "g")
    if form and isinstance(value, int):
        return format(value, form)
    return str(value)


@cache
def _parsed(template: str) -> tuple[tuple[str, str, str, str, str], ...]:
    """Return the parts of a template as tuples: a text, and the parameter that follows it.

    A parameter has a name, a format, a singular and a plural; each is "" if missing.
    """
    parts, end = [], 0
    for match in _FIELD.finditer(template):
        name, form, singular, plural = match.groups(default="")
        parts.append((template[end : match.start()], name, form, singular, plural))
        end = match.end()
    return (*parts, (template[end:], "", "", "", ""))


def names_in(template: str) -> frozenset[str]:
    """Return the names of the parameters that a template needs."""
    return frozenset(name for _, name, *_ in _parsed(template) if name)


def with_codes(value: Any) -> Any:
    """Return a JSON value in which each note is replaced by its English text, with its code in another field.

    The code of the field ``why`` is in ``why_code``, those of the list ``notes`` in ``note_codes``. A code is an object
    with ``code`` and ``params``. In a list of codes, null stands for a text without a code.
    """
    if isinstance(value, Mapping):
        shape = {}
        for name, item in value.items():
            shape[name] = with_codes(item)
            if item and (codes := _codes(item)) is not None:
                shape[field_of_codes(name, several=not isinstance(item, str))] = codes
        return shape
    if isinstance(value, list | tuple):
        return [with_codes(item) for item in value]
    return str(value) if isinstance(value, Note) else value


def without_codes(value: Any) -> Any:
    """Reverse ``with_codes``: return the JSON value with notes in place of texts, without the fields of codes."""
    if isinstance(value, list):
        return [without_codes(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    shape = {}
    for name, item in value.items():
        codes = (
            value.get(field_of_codes(name, several=isinstance(item, list)))
            if item and isinstance(item, str | list)
            else None
        )
        shape[name] = without_codes(item) if codes is None else _noted(item, codes)
    return {name: item for name, item in shape.items() if not _holds_codes(name, value)}


def field_of_codes(name: str, *, several: bool) -> str:
    """Return the name of the JSON field with the code of the note in the field ``name``: ``why_code`` for ``why``.

    If the field has ``several`` notes, the name is like ``note_codes`` for ``notes``.
    """
    return name.removesuffix("s") + _SEVERAL if several else name + _SINGLE


def _holds_codes(name: str, shape: Mapping[str, Any]) -> bool:
    if name.endswith(_SEVERAL):
        stem = name.removesuffix(_SEVERAL)
        return any(isinstance(shape.get(each), list) for each in (stem, f"{stem}s"))
    return name.endswith(_SINGLE) and isinstance(shape.get(name.removesuffix(_SINGLE)), str)


def _codes(item: Any) -> Any:
    """Return the code of a note as JSON, or a list of codes for a list of notes. Return None if there are none."""
    if isinstance(item, Note):
        return _to_json(item) if item else None
    if isinstance(item, list | tuple):
        codes = [_codes(each) for each in item]
        return codes if any(each is not None for each in codes) else None
    return None


def _noted(item: Any, codes: Any) -> Any:
    if isinstance(item, list) and isinstance(codes, list) and len(item) == len(codes):
        return [_noted(each, code) for each, code in zip(item, codes, strict=True)]
    return _from_json({**codes, "text": item}) if isinstance(codes, Mapping) and isinstance(item, str) else item


def _to_json(value: Any, name: str = "code", text: bool = False) -> Any:
    if isinstance(value, Note):
        params = {key: _to_json(item, name, text) for key, item in value.params.items()}
        return {name: value.code, "params": params} | ({"text": str(value)} if text and value.code != TEXT else {})
    return [_to_json(item, name, text) for item in value] if isinstance(value, list | tuple) else value


def _from_json(shape: Mapping[str, Any]) -> Note:
    """Return the note in a JSON object with its code, parameters and text.

    If this version does not know the code, the note consists of the text alone.
    """
    code, params = shape.get("note", shape.get("code")), shape.get("params")
    try:
        return Note(code, **{name: _value(item) for name, item in params.items()})  # type: ignore[union-attr]
    except (KeyError, TypeError, ValueError, AttributeError):
        return Note.of(str(shape.get("text", code)))


def _value(item: Any) -> Any:
    if isinstance(item, Mapping):
        return _from_json(item)
    return [_value(each) for each in item] if isinstance(item, list) else item


def stored_form(text: str) -> str:
    """Return the stored form of a note. A plain string, which may already be a stored form, is returned unchanged."""
    return text.stored if isinstance(text, Note) else text


def stored(notes: Iterable[str]) -> list[str]:
    """Return the stored forms of several notes."""
    return [Note.of(note).stored for note in notes]


def read(forms: Iterable[str]) -> tuple[Note, ...]:
    """Return the notes with these stored forms, which the function ``stored`` returned."""
    return tuple(map(Note.read, forms))


NONE = Note(TEXT, text="")
"""No message."""
