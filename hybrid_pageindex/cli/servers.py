"""Commands that start servers and manage their tokens: mcp, serve, token."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from hybrid_core.errors import StoreError, UsageError
from hybrid_core.types.access import EVERYWHERE, Token
from hybrid_pageindex.cli.console import console, escape, tables, wants_json_output
from hybrid_pageindex.cli.output import dump, visible
from hybrid_pageindex.engine.engine import Engine
from hybrid_pageindex.engine.job_views import at
from hybrid_pageindex.mcp.access import Access

NAME = "hybrid-pageindex"


async def mcp_command(engine: Engine, options: argparse.Namespace) -> int:
    if options.install:
        _install_mcp(engine, options)
        return 0
    gc.disable()  # as in main
    from hybrid_pageindex.mcp.transports import serve  # FastMCP takes longer to import than a search takes

    gc.freeze()
    gc.enable()
    await serve(engine, options)
    return 0


async def serve_command(engine: Engine, options: argparse.Namespace) -> int:
    gc.disable()  # as in main
    from hybrid_pageindex.http.command import serve

    gc.freeze()
    gc.enable()
    await serve(engine, options)
    return 0


async def token_command(engine: Engine, options: argparse.Namespace) -> int:
    return await asyncio.to_thread(_manage_tokens, engine, options)


def _manage_tokens(engine: Engine, options: argparse.Namespace) -> int:
    json = getattr(options, "json", False)
    if options.action == "create":
        created = engine.tokens.create(
            options.name, options.role, options.library, days=options.days, user=options.user
        )
        if json:
            dump(asdict(created))
        elif created.secret:
            print(created.secret)  # alone on stdout, so that a pipe takes the token and nothing else
            remark = f"This token is shown only now. It gives {_grants_line(created.token)}."
            print(visible(remark), file=sys.stderr)
        else:
            console.print(escape(f"User {created.token.name} gets {_grants_line(created.token)}."))
    elif options.action == "revoke":
        revoked = engine.tokens.revoke(options.name)
        dump(asdict(revoked)) if json else console.print(escape(f"{revoked.name} can no longer call this server."))
    else:
        listed = engine.tokens.all()
        dump({"tokens": [asdict(token) for token in listed]}) if json else _show_tokens(listed)
    return 0


def _show_tokens(listed: list[Token]) -> None:
    if not listed:
        console.print("There are no tokens. Create one: hybrid-pageindex token create NAME")
        return
    table = Table("id", "name", "kind", "rights", "made", "used", "until", box=None, pad_edge=False)
    for token in listed:
        times = (token.created_at, token.used_at, token.expires_at)
        table.add_row(token.id, escape(token.name), token.kind, escape(_grants_line(token)), *map(at, times))
    tables().print(table)


def _grants_line(token: Token) -> str:
    named = [f"{'all libraries' if name == EVERYWHERE else name}: {role}" for name, role in token.grants.items()]
    return ", ".join(named) or "nothing any more"


def _install_mcp(engine: Engine, options: argparse.Namespace) -> None:
    from hybrid_pageindex.mcp.payloads import ANSWER_TOKENS

    if options.http or options.allow_origin:
        raise UsageError(
            "--install cannot be combined with --http or --allow-origin, because the client starts the server itself.",
            "Leave out --http and --allow-origin.",
        )
    roots = Access.of(options.root, read_only=options.read_only).roots
    arguments = ["--max-tokens", str(options.max_tokens)] if options.max_tokens != ANSWER_TOKENS else []
    arguments += ["--read-only"] * options.read_only
    file, backup = install(options.install, engine.home, roots, arguments)
    if wants_json_output(options):
        dump({"file": str(file), "backup": backup and str(backup)})
    else:
        copy = f" (what it held before is in {escape(str(backup))})" if backup else ""
        console.print(f"the server was added to {escape(str(file))}{copy}; restart the client")


def install(client: str, home: Path, roots: Sequence[Path], options: Sequence[str] = ()) -> tuple[Path, Path | None]:
    """Add or replace this server's entry in the configuration of an MCP client. Return the file and its backup.

    Entries of other servers stay. ``options`` are further options of the command ``mcp``. Raise UsageError for an
    unknown client or a file that is not JSON or TOML, StoreError if the file cannot be written.
    """
    if client not in CLIENTS:
        raise UsageError(f"'{client}' is not the name of a known MCP client.", f"Choose {', '.join(CLIENTS)}.")
    settings = CLIENTS[client]
    file = settings.file.resolve()
    added = entry(home, roots, options)
    added = {"type": "stdio", **added} if settings.typed else added
    added = {"source": settings.source, **added} if settings.source else added
    try:
        before = file.read_bytes() if file.exists() else b""
        add = _add_toml_entry if settings.toml else _add_entry
        after = add(file, before, settings.key, added)
        file.parent.mkdir(parents=True, exist_ok=True)
        backup = _back_up(file) if before else None
        new = file.with_name(f"{file.name}.new")
        new.write_bytes(after)
        if backup:
            shutil.copymode(file, new)
        os.replace(new, file)  # noqa: PTH105 - at once: a client may be reading
    except OSError as error:
        raise StoreError(
            f"{file}: the configuration file cannot be written ({error.strerror}).",
            "Add the entry of the MCP server to the file by hand, as the documentation describes.",
        ) from error
    return file, backup


def entry(home: Path, roots: Sequence[Path], options: Sequence[str]) -> dict[str, Any]:
    """Return the entry by which an MCP client starts this server. Paths are absolute, since clients run in any folder.

    The option ``-P`` keeps the client's folder off ``sys.path``. A file ``yaml.py`` in a project would otherwise run in
    the server.
    """
    arguments = ["-P", "-m", "hybrid_pageindex", "--home", str(home), "mcp"]
    for root in roots:
        arguments += ["--root", str(root)]
    return {"command": sys.executable, "args": [*arguments, *options]}


def _add_entry(file: Path, before: bytes, key: str, added: dict[str, Any]) -> bytes:
    """Return the client's configuration file with the server's entry added.

    Raise UsageError with the text of the entry if other contents of the file could be lost.
    """
    advice = f'Add this entry by hand under "{key}": {json.dumps({NAME: added}, ensure_ascii=False)}'
    try:
        config = json.loads(before.decode("utf-8-sig").strip() or "{}")
        if isinstance(config, dict) and isinstance(config.setdefault(key, {}), dict):
            config[key][NAME] = added
            return (json.dumps(config, ensure_ascii=False, indent=2, allow_nan=False) + "\n").encode()
    except (ValueError, RecursionError) as error:  # comments, another encoding, numbers that JSON has not
        raise UsageError(
            f"{file}: the MCP server cannot be added: the file is not valid JSON ({error}).", advice
        ) from error
    raise UsageError(f"{file}: the entry '{key}' does not have the form that this MCP client uses.", advice)


def _add_toml_entry(file: Path, before: bytes, key: str, added: dict[str, Any]) -> bytes:
    """Return a TOML file with the server's entry added and all comments kept.

    Raise UsageError if any other content would change.
    """
    head = f"[{key}.{NAME}]"
    table = "\n".join([head, *(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in added.items())])
    advice = f"Add this entry by hand: {table}"
    try:
        text = before.decode("utf-8-sig").replace("\r\n", "\n")
        config = tomllib.loads(text)
        header = re.compile(rf"^\s*\[\s*{re.escape(key)}\s*\.\s*[\"']?{re.escape(NAME)}[\"']?\s*\]")
        lines, inside = list[str](), False
        for line in text.splitlines():
            inside = bool(header.match(line)) or (inside and not line.lstrip().startswith("["))
            lines += [] if inside else [line]
        after = "\n".join([*lines, *([""] if lines and lines[-1].strip() else []), table, ""])
        config.setdefault(key, {})[NAME] = {}
        written = tomllib.loads(after)
        written[key][NAME] = {}
    except (ValueError, RecursionError, TypeError) as error:
        raise UsageError(
            f"{file}: the MCP server cannot be added: the file is not valid TOML ({error}).", advice
        ) from error
    if config != written:
        raise UsageError(f"{file}: the entry '{key}' does not have the form that this MCP client uses.", advice)
    return after.encode()


def _back_up(file: Path) -> Path:
    number, copy = 1, file.with_name(f"{file.name}.backup")
    while copy.exists():
        number += 1
        copy = file.with_name(f"{file.name}.backup-{number}")
    shutil.copy2(file, copy)
    return copy


@dataclass(frozen=True, slots=True)
class Client:
    """An MCP client program: where its configuration file is, and under which key it lists servers.

    The paths are below the user's home folder.
    """

    linux: str
    mac: str
    key: str = "mcpServers"
    typed: bool = False  # its entries say that they are stdio
    source: str = ""  # value that the entries of this client have for their origin
    toml: bool = False  # its configuration file is TOML, not JSON

    @property
    def file(self) -> Path:
        return Path.home() / (self.mac if sys.platform == "darwin" else self.linux)


_CLINE = "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
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
    "codex": Client(".codex/config.toml", ".codex/config.toml", key="mcp_servers", toml=True),
    "cline": Client(f".config/Code/User/{_CLINE}", f"Library/Application Support/Code/User/{_CLINE}"),
    "gemini-cli": Client(".gemini/settings.json", ".gemini/settings.json"),
    "windsurf": Client(".codeium/windsurf/mcp_config.json", ".codeium/windsurf/mcp_config.json"),
    "zed": Client(".config/zed/settings.json", ".config/zed/settings.json", key="context_servers", source="custom"),
}
