"""The bundle for MCP clients: its manifest follows the schema, and what is in it starts and answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from scripts.bundle import ROOT, describe, describe_for_registry, main, write_bundle
from tests.interfaces.mcp_client import REVISION

jsonschema = pytest.importorskip("jsonschema")
SCHEMA = Path(__file__).with_name("mcpb-manifest.schema.json")  # of the npm package @anthropic-ai/mcpb 2.1.2, MIT


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    main([str(folder / "server.mcpb")])
    with zipfile.ZipFile(folder / "server.mcpb") as bundle:
        bundle.extractall(folder / "server")
    return folder / "server"


def test_the_manifest_follows_its_schema(unpacked: Path) -> None:
    manifest = json.loads((unpacked / "manifest.json").read_text())
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    assert [error.message for error in validator.iter_errors(manifest)] == []
    for wrong in ({"server": {"type": "uv"}}, {"manifest_version": "9"}, {"unknown": 1}, {"user_config": {"a": {}}}):
        assert list(validator.iter_errors(manifest | wrong)), wrong
    assert (unpacked / manifest["server"]["entry_point"]).is_file()
    tools = json.loads((ROOT / "tests" / "interfaces" / "mcp_tools.json").read_text())
    assert [tool["name"] for tool in manifest["tools"]] == [tool["name"] for tool in tools]
    named = set(json.dumps(manifest["server"]).split("${user_config.")[1:])
    assert {part.partition("}")[0] for part in named} == set(manifest["user_config"])


def test_the_bundle_holds_every_file_of_the_packages(unpacked: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "hybrid_core", "indexers", "retrievers", "hybrid_pageindex", "eval"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    missing = [name for name in listed if not (unpacked / name).exists() and not name.endswith(".ts")]
    assert len(listed) > 300 and not missing
    assert not [file for file in unpacked.rglob("*") if "__pycache__" in str(file)]


def test_the_same_sources_make_the_same_bundle(tmp_path: Path) -> None:
    first, second = (write_bundle(tmp_path / f"{number}.mcpb").read_bytes() for number in (1, 2))
    assert first == second


def test_the_server_in_the_bundle_starts_as_its_manifest_says(unpacked: Path, tmp_path: Path) -> None:
    arguments = describe()["server"]["mcp_config"]["args"]
    start = arguments.index("python") + 1
    values = {"${user_config.home}": str(tmp_path / "home"), "${user_config.documents}": str(tmp_path)}
    command = [sys.executable, *(values.get(argument, argument) for argument in arguments[start:])]
    (tmp_path / "yaml.py").write_text("raise SystemExit('a module of the folder was imported')")

    def request(number: int, method: str, **params: Any) -> str:
        return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"

    client = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "tests", "version": "0"}}
    lines = request(1, "initialize", **client) + request(2, "tools/list")
    environment = os.environ | {"PYTHONPATH": str(unpacked)}
    process = subprocess.run(
        command, input=lines, capture_output=True, text=True, timeout=600, env=environment, cwd=tmp_path
    )
    replies = {reply["id"]: reply for reply in map(json.loads, process.stdout.splitlines()) if "id" in reply}
    assert replies[1]["result"]["serverInfo"]["name"] == "hybrid-pageindex", process.stderr
    where = "import hybrid_pageindex; print(hybrid_pageindex.__file__)"
    found = subprocess.run(
        [sys.executable, "-P", "-c", where], capture_output=True, text=True, env=environment, check=True
    )
    assert found.stdout.startswith(str(unpacked))


def test_the_registry_reads_what_is_checked_in() -> None:
    server = json.loads((ROOT / "server.json").read_text())
    assert server == describe_for_registry()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    [package] = server["packages"]
    assert server["version"] == package["version"] == project["version"]
    assert package["identifier"] == project["name"] and len(server["description"]) <= 100
    assert f"mcp-name: {server['name']}" in (ROOT / "README.md").read_text(), "the registry looks for it on PyPI"
