"""Values of a salvaged catalog that no program of ours wrote: damaged JSON, unknown words, impossible term counts.

Pages of SQLite have no checksums, so a flipped bit within a value is found only where the value makes no sense.
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Callable
from typing import Any, get_args

import numpy as np
from sqlalchemy import Connection, select, update
from sqlalchemy.exc import InvalidRequestError

from hybrid_core.errors import PageIndexError
from hybrid_core.store.conversations.rows import to_result
from hybrid_core.store.conversations.tables import messages
from hybrid_core.store.database import UNREADABLE
from hybrid_core.text.term_counts import TermCounts
from hybrid_core.types import access, conversations, jobs, sources

GARBLED = (
    ValueError, KeyError, TypeError, IndexError, AttributeError, struct.error, InvalidRequestError, PageIndexError,
    *UNREADABLE,
)  # fmt: skip
"""What reading a damaged or missing value raises."""

_JSON: dict[str, tuple[tuple[str, str], ...]] = {
    "contents": (("metadata", "{}"), ("warnings", "[]"), ("models", "{}")),
    "sources": (("options", "{}"), ("mounts", "{}")),
    "jobs": (("options", "{}"), ("result", "{}")),
    "job_events": (("detail", "{}"),),
    "conversations": (("documents", "[]"),),
    "messages": (("result", "{}"),),
    "citations": (("section_path", "[]"), ("boxes", "")),
    "message_events": (("detail", "{}"),),
    "replies": (("headers", "{}"),),
}
"""Columns that hold JSON, and what stands for damaged one. The first character of a sound value is that of this."""

_WORDS: dict[tuple[str, str], tuple[tuple[str, ...], str]] = {
    ("messages", "status"): (get_args(conversations.MessageStatus), "complete"),
    ("messages", "searched_from"): (get_args(conversations.QuestionFrom), "as asked"),
    ("conversations", "title_from"): (get_args(conversations.TitleFrom), "user"),
    ("sources", "watch"): (get_args(sources.WatchMode), ""),
    ("jobs", "status"): (get_args(jobs.JobStatus), "cancelled"),
}
"""Columns that hold one of several words, and what stands for an unknown one."""

_DROPPED: dict[tuple[str, str], tuple[str, ...]] = {
    ("messages", "role"): get_args(conversations.Role),
    ("message_events", "kind"): get_args(conversations.MessageEventKind),
    ("sources", "kind"): get_args(sources.SourceKind),
    ("jobs", "kind"): ("index", "scan", "embed"),
    ("tokens", "kind"): ("token", "user", "session"),
    ("grants", "role"): get_args(access.Role),
}
"""Columns that decide what a row is: one with another word goes."""


def mend_values(connection: Connection, lost: Counter[str], emptied: Counter[str]) -> None:
    """Replace values that make no sense, or drop their rows. ``lost`` and ``emptied`` count the rows by table."""
    for (table, column), words in _DROPPED.items():
        if table == "tokens":
            unknown = f"token IN (SELECT id FROM tokens WHERE kind NOT IN ({_quoted(words)}))"
            lost["grants"] += _changed(connection, f"DELETE FROM grants WHERE {unknown}")
        lost[table] += _changed(connection, f"DELETE FROM {table} WHERE {column} NOT IN ({_quoted(words)})")
    for (table, column), (words, usual) in _WORDS.items():
        where = f"{column} NOT IN ({_quoted(words)})"
        emptied[table] += _changed(connection, f"UPDATE {table} SET {column} = '{usual}' WHERE {where}")
    for table, columns in _JSON.items():
        for column, empty in columns:
            opening = f" OR substr({column}, 1, 1) <> '{empty[0]}'" if empty else ""
            where = f"{column} <> '{empty}' AND (NOT json_valid({column}){opening})"
            emptied[table] += _changed(connection, f"UPDATE {table} SET {column} = '{empty}' WHERE {where}")
    for row in connection.execute(select(messages.c.id, messages.c.result).where(messages.c.result != "{}")).all():
        if not works(to_result, json.loads(row.result)):
            connection.execute(update(messages).where(messages.c.id == row.id).values(result="{}"))
            emptied["messages"] += 1


def are_sound(counts: TermCounts) -> bool:
    """Return True if each term stands on some page, and its pages are in order. Reading the bytes checked the rest."""
    if not (np.diff(counts.starts) > 0).all():
        return False
    rising = np.diff(counts.pages.astype(np.int64)) > 0
    rising[counts.starts[1:-1] - 1] = True  # there the next term begins
    return bool(rising.all())


def works(call: Callable[..., object], *arguments: Any) -> bool:
    """Return False if the call meets a damaged value."""
    try:
        call(*arguments)
    except GARBLED:
        return False
    return True


def _quoted(words: tuple[str, ...]) -> str:
    return ", ".join(f"'{word}'" for word in words)


def _changed(connection: Connection, statement: str) -> int:
    return int(connection.exec_driver_sql(statement).rowcount)
