"""Write the reference pages that the code describes: ``python docs/reference/generate.py [--check]``.

The pages are checked in, so that they can be read without a build. Two hand-written pages contain a generated list
between ``BEGIN`` and ``END``: the formats and the errors of the HTTP API. ``--check`` writes nothing, and ends with 1
if a page differs from the code.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import json
import os
import sys
import textwrap
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hybrid_core.types.scoring import ScoringConfig
from hybrid_pageindex.cli.parser import build_parser
from hybrid_pageindex.config import fields as groups
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.http.api import describe_api
from hybrid_pageindex.http.problems import PROBLEMS
from hybrid_pageindex.http.reference import describe_type
from indexers.formats.builtin import FORMATS

FOLDER = Path(__file__).parent
TOOLS = FOLDER.parent.parent / "tests" / "interfaces" / "mcp_tools.json"
MADE = "<!-- Made by docs/reference/generate.py: change the code that it describes, not this page. -->\n"
BEGIN = "<!-- The list from here is made by docs/reference/generate.py: change the code that it describes. -->"
END = "<!-- End of the list. -->"
_GROUPS = {
    "Storage": "Storage", "Index": "Indexing", "Embedding": "Embedding", "Model": "Models", "Search": "Search",
    "Answer": "Answers", "Mcp": "Agents (MCP)", "Http": "HTTP API", "Log": "Logs",
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    different = False
    for name, page in pages().items():
        path = FOLDER / name
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        if not check:
            path.write_text(page, encoding="utf-8")
        elif before != page:
            different = True
            sys.stdout.writelines(
                difflib.unified_diff(before.splitlines(True), page.splitlines(True), str(path), "the code", n=0)
            )
    return int(different)


def pages() -> dict[str, str]:
    """Return the text of each page with generated text, by its path relative to this folder."""
    return {
        "commands.md": commands(), "settings.md": settings(), "http.md": http(), "tools.md": tools(),
        "../errors.md": _with_list("../errors.md", errors()), "../formats.md": _with_list("../formats.md", formats()),
    }  # fmt: skip


def _with_list(name: str, generated: str) -> str:
    """Return a hand-written page with its list, between ``BEGIN`` and ``END``, replaced by a generated one."""
    above, _, rest = (FOLDER / name).read_text(encoding="utf-8").partition(BEGIN)
    _, _, below = rest.partition(END)
    if not below:
        raise SystemExit(f"{name} has no line {BEGIN} followed by a line {END}")
    return f"{above}{BEGIN}\n\n{generated}\n{END}{below}"


def commands() -> str:
    """Return the page of the command line: what ``--help`` prints, for each command."""
    os.environ["COLUMNS"] = "100"  # argparse breaks its lines by the terminal's width
    parts = [MADE, "# Command line: all options\n", "What `hybrid-pageindex COMMAND --help` prints.\n"]
    parser = build_parser()
    parts += [f"```text\n{parser.format_help()}```\n"]
    for name, command in _subcommands(parser):
        parts += [f"## {name}\n", f"```text\n{command.format_help()}```\n"]
    return "\n".join(parts)


def _subcommands(parser: argparse.ArgumentParser, above: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name in dict.fromkeys(choice.dest for choice in action._choices_actions):
                command = action.choices[name]
                yield f"{above}{name}", command
                yield from _subcommands(command, f"{above}{name} ")


def settings() -> str:
    """Return the page of all settings: name, default, limits and help of each, by group."""
    parts = [
        MADE,
        "# Settings\n",
        "[Configuration](../configuration.md) says how a setting is given. A variable is the name in capitals behind\n"
        "`PAGEINDEX_`.\n",
    ]
    seen: set[str] = set()
    for group in vars(groups).values():
        if not (isinstance(group, type) and dataclasses.is_dataclass(group)) or group.__module__ != groups.__name__:
            continue
        own = [field for field in dataclasses.fields(group) if field.name not in seen]
        if not own or group is groups.AllSettings:
            continue
        seen |= {field.name for field in own}
        title = _GROUPS[group.__name__.removesuffix("Settings")]
        parts += [f"## {title}\n", "| setting | default | values | meaning |\n|---|---|---|---|"]
        parts += [_setting(field, typing.get_type_hints(group)[field.name]) for field in own]
        parts += [""]
    numbers = [
        f"| `{part.name}` | `{number.name}` | {number.default} |"
        for part in dataclasses.fields(ScoringConfig)
        for number in dataclasses.fields(getattr(Settings.scoring, part.name))
    ]
    parts += ["## Ranking\n", "Below `scoring:` in `config.yaml`, by group and name.\n"]
    parts += ["| group | number | default |\n|---|---|---|", *numbers, ""]
    missing = {field.name for field in dataclasses.fields(Settings)} - seen - {"scoring"}
    if missing:
        raise SystemExit(f"No group holds these settings: {', '.join(sorted(missing))}.")
    return "\n".join(parts)


def _setting(field: dataclasses.Field[Any], kind: Any) -> str:
    metadata = field.metadata
    default = metadata["usual"] or (
        "" if field.default in ("", None) else f"`{_plain(field.default, metadata['size'])}`"
    )
    if typing.get_origin(kind) is typing.Literal:
        values = ", ".join(f"`{choice}`" for choice in typing.get_args(kind))
    elif kind is bool:
        values = "`true`, `false`"
    else:
        limits = [f"{'from' if side == 'least' else 'to'} {metadata[side]:,}" for side in ("least", "most")
                  if metadata[side] is not None]  # fmt: skip
        values = " ".join(["bytes" if metadata["size"] else "", *limits]).strip()
    return f"| `{field.name}` | {default} | {values} | {_cell(metadata['help'])} |"


def _plain(value: Any, size: bool) -> str:
    if size:
        return f"{value / 10**9:g} GB"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def http() -> str:
    """Return the page of the HTTP API: each route with its parameters and replies, from the OpenAPI document."""
    api = json.loads(describe_api())
    parts = [
        MADE,
        "# HTTP: all routes\n",
        "A running server describes itself at `/api/v1/openapi.json`. Any route may reply with 4XX or 5XX and a\n"
        "[problem document](../errors.md). [HTTP API](../http.md) says how to begin.\n",
    ]
    groups_of: dict[str, list[str]] = {}
    for path, methods in api["paths"].items():
        for method, operation in methods.items():
            if method in {"get", "post", "put", "patch", "delete"}:
                tag = (operation.get("tags") or ["other"])[0]
                groups_of.setdefault(tag, []).append(_route(method, path, operation))
    for tag, routes in groups_of.items():
        parts += [f"## {tag.capitalize()}\n", *routes]
    return "\n".join(parts)


def _route(method: str, path: str, operation: Mapping[str, Any]) -> str:
    lines = [f"### `{method.upper()} {path}`\n"]
    text = (operation.get("description") or operation.get("summary") or "").strip().replace("``", "`")
    lines += [f"{text}\n"] if text else []
    lines += [f"- operation: `{operation['operationId']}`"]
    for parameter in operation.get("parameters", ()):
        needed = ", required" if parameter.get("required") else ""
        about = f": {' '.join(parameter['description'].split())}" if parameter.get("description") else ""
        lines.append(f"- {parameter['in']} `{parameter['name']}` ({_kind(parameter.get('schema', {}))}{needed}){about}")
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        lines.append(f"- body `{media}`: {_kind(content.get('schema', {}))}")
    replies = [f"`{code}` {' '.join(reply.get('description', '').split()).rstrip('.')}".strip()
               for code, reply in operation.get("responses", {}).items() if not code.endswith("XX")]  # fmt: skip
    lines.append(textwrap.fill(f"- replies: {'; '.join(replies)}", 120, subsequent_indent="  "))
    return "\n".join([*lines, ""])


def _kind(schema: Mapping[str, Any]) -> str:
    return describe_type(schema, "`{}`".format, "`{}`".format)


def tools() -> str:
    """Return the page of the MCP tools, from the list that a test compares with the server's."""
    parts = [MADE, "# MCP tools\n", "How to connect a client is in [Agents (MCP)](../mcp.md).\n"]
    for tool in json.loads(TOOLS.read_text(encoding="utf-8")):
        schema = tool["inputSchema"]
        reads = "reads only" if tool.get("annotations", {}).get("readOnlyHint") else "changes the index"
        parts += [f"## {tool['name']}\n", textwrap.fill(f"{tool['description']} ({reads})", 120) + "\n"]
        if schema.get("properties"):
            parts += ["| argument | kind | default | meaning |\n|---|---|---|---|"]
            for name, about in schema["properties"].items():
                default = "required" if name in schema.get("required", ()) else f"`{json.dumps(about.get('default'))}`"
                parts.append(
                    f"| `{name}` | {_cell(_kind(about))} | {default} | {_cell(about.get('description', ''))} |"
                )
            parts += [""]
    return "\n".join(parts)


def errors() -> str:
    """Return the errors of the HTTP API, one heading per code, in the order of their statuses."""
    parts = []
    for code, (status, meaning) in sorted(PROBLEMS.items(), key=lambda item: item[1][0]):
        parts += [f"### {code}\n", textwrap.fill(f"Status {status}. {meaning}", 120, break_on_hyphens=False) + "\n"]
    return "\n".join(parts)


def formats() -> str:
    """Return a table of the built-in formats: endings, positions, and whether files inside become documents."""
    rows = ["| format | name in lists | endings | positions | files inside become documents |\n|---|---|---|---|---|"]
    for format in FORMATS:
        endings = ", ".join(suffix.removeprefix(".") for suffix in format.suffixes)
        inside = "yes" if format.members else ""
        rows.append(f"| {format.title} | `{format.name}` | {endings} | {format.place} | {inside} |")
    return "\n".join([*rows, ""])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
