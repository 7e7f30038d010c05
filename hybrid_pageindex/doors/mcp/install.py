"""Writing the server's entry into the configuration of a client."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybrid_core.errors import StoreError, UsageError

NAME = "hybrid-pageindex"


@dataclass(frozen=True, slots=True)
class Client:
    """Where a client keeps its servers, below the user's home, and under which key."""

    linux: str
    mac: str
    key: str = "mcpServers"
    typed: bool = False  # its entries say that they are stdio

    @property
    def file(self) -> Path:
        return Path.home() / (self.mac if sys.platform == "darwin" else self.linux)


CLIENTS = {
    "claude-desktop": Client(
        ".config/Claude/claude_desktop_config.json",
        "Library/Application Support/Claude/claude_desktop_config.json",
    ),
    "claude-code": Client(".claude.json", ".claude.json", typed=True),
    "cursor": Client(".cursor/mcp.json", ".cursor/mcp.json"),
    "vscode": Client(
        ".config/Code/User/mcp.json", "Library/Application Support/Code/User/mcp.json", key="servers", typed=True
    ),
}


def entry(home: Path, roots: Sequence[Path], options: Sequence[str]) -> dict[str, Any]:
    """Return the command that starts the server: absolute paths, since clients start it in any folder.

    ``-P`` keeps the client's folder off ``sys.path``: a project's ``yaml.py`` there would run in the server.
    """
    arguments = ["-P", "-m", "hybrid_pageindex", "--home", str(home), "mcp"]
    for root in roots:
        arguments += ["--root", str(root)]
    return {"command": sys.executable, "args": [*arguments, *options]}


def install(client: str, home: Path, roots: Sequence[Path], options: Sequence[str] = ()) -> tuple[Path, Path | None]:
    """Add or replace the entry; everything else in the file stays. Returns the file and the copy made of it before.
    ``options`` are further ones of the command ``mcp``.

    Raises UsageError for an unknown client and for a file that is no JSON, StoreError where it cannot be written.
    """
    if client not in CLIENTS:
        raise UsageError(f"'{client}' is no known client.", f"Choose {', '.join(CLIENTS)}.")
    known = CLIENTS[client]
    file = known.file.resolve()
    added = entry(home, roots, options)
    added = {"type": "stdio", **added} if known.typed else added
    try:
        before = file.read_bytes() if file.exists() else b""
        after = _added(file, before, known.key, added)
        file.parent.mkdir(parents=True, exist_ok=True)
        backup = _backup(file) if before else None
        new = file.with_name(f"{file.name}.new")
        new.write_bytes(after)
        if backup:
            shutil.copymode(file, new)
        os.replace(new, file)  # noqa: PTH105 - at once: a client may be reading
    except OSError as error:
        raise StoreError(
            f"{file}: cannot be written ({error.strerror}).", "Add the entry by hand, see docs."
        ) from error
    return file, backup


def _added(file: Path, before: bytes, key: str, added: dict[str, Any]) -> bytes:
    """The file with the entry. Raises UsageError, with the entry, where anything else in it could be lost."""
    advice = f'Add this by hand under "{key}": {json.dumps({NAME: added}, ensure_ascii=False)}'
    try:
        held = json.loads(before.decode("utf-8-sig").strip() or "{}")
        if isinstance(held, dict) and isinstance(held.setdefault(key, {}), dict):
            held[key][NAME] = added
            return (json.dumps(held, ensure_ascii=False, indent=2, allow_nan=False) + "\n").encode()
    except (ValueError, RecursionError) as error:  # comments, another encoding, numbers that JSON has not
        raise UsageError(f"{file} is not plain JSON ({error}).", advice) from error
    raise UsageError(f"{file} does not hold '{key}' as this client writes it.", advice)


def _backup(file: Path) -> Path:
    number, copy = 1, file.with_name(f"{file.name}.backup")
    while copy.exists():
        number += 1
        copy = file.with_name(f"{file.name}.backup-{number}")
    shutil.copy2(file, copy)
    return copy
