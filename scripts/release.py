"""Prepare and check a release.

``python scripts/release.py lock`` writes requirements.lock: the packages that the project and its optional features
require, with hashes. It needs ``uv``. ``python scripts/release.py check`` checks without a network that the lock fits
pyproject.toml, and that all files state one version. ``check v0.1.0`` also compares them with a tag, and demands a
home of this version among those that later versions are tested with (``python -m tests.released``).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LOCK = "requirements.lock"
# the extras without PyTorch
EXTRAS = ("anthropic", "celery", "eval", "ocr", "onnx", "postgres", "qdrant", "s3", "tasks", "traces")
_VERSION = r"(?m)^## (\d\S*)(.*)$"
_ENTRY = re.compile(r"(?m)^(\S+)==([^\s;]+)(?: ; (.*?))?(?: \\)?\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)*)")


def main(arguments: list[str]) -> int:
    match arguments:
        case ["lock"]:
            return write_lock()
        case ["check", *tag]:
            problems = [*check_lock(ROOT), *check_versions(ROOT, *tag)]
            sys.stdout.writelines(f"{problem}\n" for problem in problems)
            return int(bool(problems))
    sys.stderr.write(f"{__doc__}\n")
    return 2


def write_lock() -> int:
    """Write requirements.lock with the newest versions for each supported Python and system."""
    command = ["uv", "pip", "compile", "pyproject.toml", "--universal", "--python-version", "3.11", "--upgrade",
               "--generate-hashes", "--no-emit-index-url", "--no-emit-find-links", "--no-header", "--no-annotate",
               "--quiet", "--output-file", LOCK]  # fmt: skip
    for extra in EXTRAS:
        command += ["--extra", extra]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def check_lock(root: Path) -> Iterator[str]:
    """Yield faults of the lock: requirements that it does not meet, and lines that pin no package."""
    text = (root / LOCK).read_text(encoding="utf-8")
    if rest := _ENTRY.sub("", text).strip():
        yield f"{LOCK}: {rest.splitlines()[0]!r} is no package with a version and its hashes"
    pinned: dict[str, list[str]] = {}
    for name, version, _, hashes in _ENTRY.findall(text):
        pinned.setdefault(canonicalize_name(name), []).append(version)
        if not hashes:
            yield f"{LOCK}: {name} has no hash"
    for requirement in requirements(tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]):
        versions = pinned.get(canonicalize_name(requirement.name), [])
        if not any(requirement.specifier.contains(version, prereleases=True) for version in versions):
            locked = ", ".join(versions) or "nothing"
            yield f"{LOCK}: {requirement} is required, {locked} is locked: run python scripts/release.py lock"


def requirements(project: dict[str, Any]) -> Iterator[Requirement]:
    """Yield the requirements of the project and of the extras that the lock includes.

    Extras that these extras name are included.
    """
    optional = project["optional-dependencies"]
    waiting = [*project["dependencies"], *(line for extra in EXTRAS for line in optional[extra])]
    seen = set[str]()
    while waiting:
        requirement = Requirement(waiting.pop())
        if canonicalize_name(requirement.name) != project["name"]:
            yield requirement
            continue
        for extra in requirement.extras - seen:
            seen.add(extra)
            waiting += optional[extra]


def check_versions(root: Path, tag: str = "") -> Iterator[str]:
    """Yield the files that state another version than the changelog.

    With a ``tag``, also yield the reasons why it must not be released.
    """
    version, note = _first(root / "CHANGELOG.md", _VERSION)
    server = json.loads((root / "server.json").read_text(encoding="utf-8"))
    named = {
        "CITATION.cff": _first(root / "CITATION.cff", r"(?m)^version: (\S+)$")[0],
        "docker-compose.yaml": _first(root / "docker-compose.yaml", r"image: hybrid-pageindex:(\S+)")[0],
        "pyproject.toml": _first(root / "pyproject.toml", r'fallback_version = "([^"]+)\.dev0"')[0],
        "server.json": server["version"],
        "server.json (package)": server["packages"][0]["version"],
    }
    for file, other in named.items():
        if other != version:
            yield f"{file} names version {other or 'none'}, CHANGELOG.md {version}"
    if tag and tag != f"v{version}":
        yield f"the tag is {tag}, the version v{version}"
    if tag and "not released" in note:
        yield f"CHANGELOG.md calls {version}{note}: write its date"
    if tag and not (root / (home := released_home(root))).exists():
        yield f"{home} is missing: run python -m tests.released"


def released_home(root: Path) -> str:
    """Return where the home of the changelog's newest version is kept, for the tests of later versions."""
    return f"tests/released/{_first(root / 'CHANGELOG.md', _VERSION)[0]}.zip"


def _first(file: Path, pattern: str) -> tuple[str, ...]:
    match = re.search(pattern, file.read_text(encoding="utf-8"))
    return match.groups() if match else ("", "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
