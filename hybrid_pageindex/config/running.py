"""A file that records the server of a home (data folder), so that commands on the same machine can search through it.

A server has its libraries open and warm, so it answers sooner than a command that opens them itself. Only the owner can
read the file, since it holds a secret.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path

import hybrid_pageindex
from hybrid_core.store.home import make_file
from hybrid_core.system import replace_file
from hybrid_pageindex.config.fields import EmbeddingSettings, ModelSettings, SearchSettings, StorageSettings
from hybrid_pageindex.config.settings import Settings

FILE = "server.json"
_PARTS = (StorageSettings, EmbeddingSettings, ModelSettings, SearchSettings)  # the settings that change searches


@dataclass(frozen=True, slots=True)
class RunningServer:
    """The address of a running server, and the secret with which commands on its machine may search."""

    url: str
    secret: str


def write_record(settings: Settings, server: RunningServer) -> None:
    """Write the record of a server that has started. Raise OSError if the home folder cannot be written."""
    new = settings.storage_path / f"{FILE}.{os.getpid()}"
    make_file(new)
    new.write_text(json.dumps({"url": server.url, "secret": server.secret, "stamp": _search_settings_hash(settings)}))
    replace_file(new, settings.storage_path / FILE)


def remove_record(settings: Settings, server: RunningServer) -> None:
    """Remove the record of a server that ends. Do nothing if the record is another server's."""
    file = settings.storage_path / FILE
    with suppress(OSError):
        if _read(file).get("secret") == server.secret:
            file.unlink()


def find_running(settings: Settings) -> RunningServer | None:
    """Return the server that is recorded in the home, None without a record.

    Also return None if that server has another version or other search settings than this process. The record of a
    killed server stays, so the server may not answer.
    """
    record = _read(settings.storage_path / FILE)
    if not record or record.get("stamp") != _search_settings_hash(settings):
        return None
    return RunningServer(record["url"], record["secret"])


def _read(file: Path) -> dict[str, str]:
    try:
        record = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) and {"url", "secret", "stamp"} <= record.keys() else {}


def _search_settings_hash(settings: Settings) -> str:
    """Return a hash of the program's version and of the settings that affect search results."""
    values = [(field.name, getattr(settings, field.name)) for part in _PARTS for field in fields(part)]
    return hashlib.sha256(f"{hybrid_pageindex.__version__} {values}".encode()).hexdigest()
