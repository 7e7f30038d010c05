"""The one place where text is made such that every database holds it, as the same text.

PostgreSQL takes no NUL, and none takes half a surrogate pair; files and models' replies hold both.
"""

from __future__ import annotations

import json
import re
from typing import Any

from sqlalchemy import Dialect, String, Text, TypeDecorator
from sqlalchemy.types import TypeEngine

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_ESCAPED_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def clean(text: str) -> str:
    """With a replacement character for each that cannot be stored: what follows stays where it is."""
    return _UNSTORABLE.sub("\ufffd", text)


def to_json(value: object) -> str:
    """With keys as they come, and no escaped NUL either."""
    return _ESCAPED_NUL.sub("\\1\ufffd", clean(json.dumps(value, ensure_ascii=False)))


class _Clean(TypeDecorator[str]):
    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """In the order of its code points, as SQLite has it, whatever the language of a server's database."""
        return dialect.type_descriptor(String(collation="C")) if dialect.name == "postgresql" else self.impl_instance

    def process_bind_param(self, value: str | None, dialect: Dialect) -> Any:
        return value if value is None else clean(value)


class CleanText(_Clean):
    impl, cache_ok = Text, True


class CleanString(_Clean):
    impl, cache_ok = String, True
