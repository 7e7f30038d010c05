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


def entry(home: Path, roots: Sequence[Path], *, read_only: bool) -> dict[str, Any]:
    """How to start the server, with absolute paths only: clients start it in any folder, with any PATH."""
    arguments = ["-m", "hybrid_pageindex", "--home", str(home), "mcp"]
    for root in roots:
        arguments += ["--root", str(root)]
    return {"command": sys.executable, "args": arguments + ["--read-only"] * read_only}


def install(client: str, home: Path, roots: Sequence[Path], *, read_only: bool) -> tuple[Path, Path | None]:
    """Add or replace the entry; everything else in the file stays. Returns the file and the copy made of it before.

    Raises UsageError for an unknown client and for a file that is no JSON, StoreError where it cannot be written.
    """
    if client not in CLIENTS:
        raise UsageError(f"'{client}' is no known client.", f"Choose {', '.join(CLIENTS)}.")
    known = CLIENTS[client]
    file = known.file.resolve()
    added = entry(home, roots, read_only=read_only)
    try:
        written = file.read_text(encoding="utf-8") if file.exists() else ""
        held = _parsed(file, written, known.key)
        held.setdefault(known.key, {})[NAME] = {"type": "stdio", **added} if known.typed else added
        file.parent.mkdir(parents=True, exist_ok=True)
        backup = _backup(file) if written else None
        new = file.with_name(f"{file.name}.new")
        new.write_text(json.dumps(held, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        if backup:
            shutil.copymode(file, new)
        os.replace(new, file)  # noqa: PTH105 - at once: a client may be reading
    except OSError as error:
        raise StoreError(
            f"{file}: cannot be written ({error.strerror}).", "Add the entry by hand, see docs."
        ) from error
    return file, backup


def _parsed(file: Path, written: str, key: str) -> dict[str, Any]:
    try:
        held = json.loads(written or "{}")
    except ValueError as error:
        raise UsageError(f"{file} is not plain JSON ({error}).", "Mend it, or add the entry by hand.") from error
    if not isinstance(held, dict) or not isinstance(held.get(key, {}), dict):
        raise UsageError(f"{file} does not hold '{key}' as this client writes it.", "Add the entry by hand.")
    return held


def _backup(file: Path) -> Path:
    number, copy = 1, file.with_name(f"{file.name}.backup")
    while copy.exists():
        number += 1
        copy = file.with_name(f"{file.name}.backup-{number}")
    shutil.copy2(file, copy)
    return copy
