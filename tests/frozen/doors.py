"""Every JSON shape of the command line and of MCP, on two documents of our own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from hybrid_pageindex.sample import write_sample_report
from tests.frozen.records import condensed
from tests.interfaces.mcp_client import stdio

_GUIDE = """# Guide

How the pump is kept running.

## Install

```sh
apt install pump
```

## Operate

Article 12 says who may. Pressure stays below 4 bar; see the table.

| state | pressure |
|---|---|
| idle | 1 bar |
| running | 3 bar |
"""
_QUESTION = "What was the capital expenditure in fiscal 2025?"
COMMANDS = (
    ("index", "documents"),
    ("index", "documents"),
    ("index", "missing.pdf"),
    ("list",),
    ("list", "--where", "year=2025"),
    ("info", "sample.pdf"),
    ("info", "nobody.pdf"),
    ("libraries",),
    ("search", _QUESTION),
    ("search", _QUESTION, "--effort", "deep"),
    ("search", _QUESTION, "--mmr", "2"),
    ("search", _QUESTION, "--where", "year=2019"),
    ("search", _QUESTION, "--expert", "none", "--top-k", "2"),
    ("search", "pressure of the pump", "--doc", "guide.md"),
    ("search", "zebra"),
    ("search", ""),
    ("ask", _QUESTION),
    ("outline", "sample.pdf"),
    ("outline", "sample.pdf", "--query", _QUESTION, "--depth", "2"),
    ("outline", "guide.md", "--format", "pageindex", "--text"),
    ("page", "sample.pdf", "18,20-21"),
    ("page", "sample.pdf", "99"),
    ("embed", "--embedder", "hashed:64"),
    ("search", _QUESTION),
    ("search", _QUESTION, "--fusion", "rrf"),
    ("remove", "guide.md", "--for-good"),
    ("clear", "--yes", "--library", "default", "--for-good"),
    ("libraries",),
)
CALLS = (
    ("list_libraries", {}), ("list_documents", {}), ("search", {"question": _QUESTION}), ("search", {"question": ""}),
    ("outline", {"document": "sample.pdf"}), ("outline", {"document": "sample.pdf", "query": _QUESTION}),
    ("read", {"document": "sample.pdf", "pages": "18"}), ("read", {"document": "nobody.pdf", "pages": "1"}),
    ("grep", {"pattern": "capital expenditure"}), ("grep", {"pattern": "pump", "count": True}),
    ("compare", {"left": "guide.md", "right": "sample.pdf"}),
)  # fmt: skip


def freeze(name: str, data: Path, work: Path) -> dict[str, Any]:
    """``name`` is cli or mcp. Nothing of ``data`` is used."""
    folder = work / name
    subprocess.run(["rm", "-rf", str(folder)], check=True)
    documents, home = folder / "documents", folder / "home"
    documents.mkdir(parents=True)
    write_sample_report(documents / "sample.pdf")
    (documents / "guide.md").write_text(_GUIDE, encoding="utf-8")
    names = {str(folder): "here"}
    if name == "cli":
        return {f"{at} {' '.join(command)}": _told(command, folder, home, names) for at, command in enumerate(COMMANDS)}
    _told(("index", "documents"), folder, home, names)
    with stdio(home) as server:
        return {
            "tools": condensed(server.ask("tools/list", {}), names),
            **{f"{at} {tool}": _answered(server.call(tool, **given), names) for at, (tool, given) in enumerate(CALLS)},
        }


def _answered(result: dict[str, Any], names: dict[str, str]) -> Any:
    """The structure; its text repeats it, timings included, but for refusals, which are text alone."""
    refused = result.get("isError", False)
    return condensed(result["content"] if refused else result["structuredContent"], names)


def _told(command: tuple[str, ...], folder: Path, home: Path, names: dict[str, str]) -> Any:
    program = [sys.executable, "-m", "hybrid_pageindex", "--home", str(home), *command]
    done = subprocess.run([*program, "--json"], cwd=folder, capture_output=True, text=True, check=False)
    out = json.loads(done.stdout)
    if command[0] == "index" and "files" in out:
        names.update({one["doc_id"]: Path(one["path"]).name for one in out["files"] if one["doc_id"]})
    return {"exit": done.returncode, "out": condensed(out, names)}
