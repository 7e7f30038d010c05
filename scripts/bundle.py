"""Build the one-file bundle for MCP clients: ``python scripts/bundle.py [FILE]``.

The bundle, by default build/hybrid-pageindex.mcpb, is a zip file with manifest.json, pyproject.toml and the packages.
When the client first starts the server, its uv installs the libraries that pyproject.toml names.

``python scripts/bundle.py --registry VERSION`` writes server.json, which describes the server to the MCP registry.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("hybrid_core", "indexers", "retrievers", "hybrid_pageindex", "eval")
ENDINGS = frozenset(
    {".py", ".typed", ".yaml", ".md", ".txt", ".css", ".html", ".js", ".json", ".jsonl", ".svg", ".woff2", ".png"}
)
_DATE = (1980, 1, 1, 0, 0, 0)  # of every entry: the same sources make the same bytes
_ABOUT = "Find the right pages of long documents and cite them: search, read, count and compare, all on this machine."


def describe(root: Path = ROOT) -> dict[str, Any]:
    """Return the manifest of the bundle, in version 0.4 of the manifest format."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    run = ["run", "--directory", "${__dirname}", "python", "-P", "-m", "hybrid_pageindex"]
    options = ["--home", "${user_config.home}", "mcp", "--root", "${user_config.documents}"]
    tools = json.loads((root / "tests" / "interfaces" / "mcp_tools.json").read_text(encoding="utf-8"))
    return {
        "manifest_version": "0.4",
        "name": project["name"],
        "display_name": "Hybrid PageIndex",
        "version": version(project["name"]),
        "description": _ABOUT,
        "author": {"name": "The authors of Hybrid PageIndex"},
        "repository": {"type": "git", "url": "https://github.com/hybrid-pageindex/hybrid-pageindex"},
        "documentation": project["urls"]["Documentation"],
        "license": project["license"],
        "keywords": project["keywords"],
        "server": {
            "type": "uv",
            "entry_point": "hybrid_pageindex/__main__.py",
            "mcp_config": {"command": "uv", "args": run + options, "env": {}},
        },
        "tools": [{"name": tool["name"], "description": tool["description"]} for tool in tools],
        "compatibility": {"platforms": ["linux", "darwin"], "runtimes": {"python": project["requires-python"]}},
        "user_config": {
            "documents": {
                "type": "directory",
                "title": "Documents",
                "description": "The folder that the server may read",
                "required": True,
                "default": "${DOCUMENTS}",
            },
            "home": {
                "type": "directory",
                "title": "Home",
                "description": "Where libraries are stored",
                "required": True,
                "default": "${HOME}/.hybrid-pageindex",
            },
        },
    }


def describe_for_registry(release: str, root: Path = ROOT) -> dict[str, Any]:
    """Return the contents of server.json for a release, by the MCP schema of 2025-09-29."""
    manifest = describe(root)
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-09-29/server.schema.json",
        "name": "io.github.hybrid-pageindex/hybrid-pageindex",
        "title": manifest["display_name"],
        "description": "Find the right pages of long documents and cite them, on your own machine.",
        "version": release,
        "repository": {"url": manifest["repository"]["url"], "source": "github"},
        "packages": [
            {
                "registryType": "pypi",
                "identifier": manifest["name"],
                "version": release,
                "runtimeHint": "uvx",
                "transport": {"type": "stdio"},
                "packageArguments": [
                    {"type": "positional", "value": "mcp"},
                    {
                        "type": "named",
                        "name": "--root",
                        "description": "A folder whose documents may be indexed",
                        "format": "filepath",
                        "isRequired": True,
                    },
                ],
                "environmentVariables": [
                    {
                        "name": "PAGEINDEX_STORAGE_PATH",
                        "description": "Where libraries are stored",
                        "format": "filepath",
                    }
                ],
            }
        ],
    }


def write_bundle(target: Path, root: Path = ROOT) -> Path:
    """Write the bundle to ``target``. Equal sources give equal bytes."""
    files = [root / name for name in ("README.md", "LICENSE")]
    for package in PACKAGES:
        inside = (root / package).rglob("*")
        files += sorted(file for file in inside if file.is_file() and file.suffix in ENDINGS)
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as bundle:
        _add(bundle, "manifest.json", (json.dumps(describe(root), indent=2, ensure_ascii=False) + "\n").encode())
        _add(bundle, "pyproject.toml", _project(root))
        for file in files:
            _add(bundle, file.relative_to(root).as_posix(), file.read_bytes())
    return target


def _project(root: Path) -> bytes:
    """Return pyproject.toml with a fixed version, because a bundle contains no git history.

    It is the version of this installation.
    """
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    release = version(tomllib.loads(text)["project"]["name"])
    return re.sub(r'(?m)^(fallback_version = ").*"$', rf'\g<1>{release}"', text).encode()


def _add(bundle: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    bundle.writestr(entry, data)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Build the one-file bundle for MCP clients.")
    default = ROOT / "build" / "hybrid-pageindex.mcpb"
    parser.add_argument("file", nargs="?", type=Path, default=default, help="the bundle to write (%(default)s)")
    parser.add_argument("--registry", metavar="VERSION", help="write server.json for this version instead")
    options = parser.parse_args(arguments)
    if options.registry:
        described = describe_for_registry(options.registry.removeprefix("v"))
        text = json.dumps(described, indent=2, ensure_ascii=False)
        (ROOT / "server.json").write_text(f"{text}\n", encoding="utf-8")
        return
    sys.stdout.write(f"{write_bundle(options.file)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
