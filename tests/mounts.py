"""Commands in a mount namespace of their own, in which a home is read-only or its disk full; nothing is left of it."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

_CALLS = """
import contextlib, io, json, os, sys
from hybrid_pageindex.cli.main import main
for line in sys.stdin:
    out, err = io.StringIO(), io.StringIO()
    out.isatty = err.isatty = lambda: False
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            command = json.loads(line)
            code = os.unlink(command[1]) or 0 if command[0] == "!rm" else main(command)
        except SystemExit as end:
            code = end.code
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""


class Called(NamedTuple):
    """The exit code and the output of one call of the command line."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@functools.cache
def _unshared() -> tuple[str, ...]:
    for command in (("unshare", "-m"), ("unshare", "-rm")):
        probe = [*command, "sh", "-c", "mount -t tmpfs -o size=1m none /mnt"]
        with_it = shutil.which("unshare") and subprocess.run(probe, capture_output=True, check=False).returncode == 0
        if with_it:
            return command
    return ()


def mounted(script: str) -> list[str]:
    """A command that mounts by a script and then runs the command after it. Skips where nothing can be mounted."""
    if not _unshared():
        pytest.skip("no file system can be mounted here, also not in a namespace of one's own")
    return [*_unshared(), "sh", "-ec", f'{script}\nexec "$@"', "sh"]


def read_only(home: Path) -> list[str]:
    """A command that runs the one after it where a home is on a read-only file system."""
    at = shlex.quote(str(home))
    return mounted(f"mount --bind {at} {at}; mount -o remount,ro,bind {at}; ! touch {at}/x 2>/dev/null")


def full_disk(home: Path, disk: Path, *, fill: bool = True) -> list[str]:
    """A command that runs the one after it with a copy of a home on a small disk, which is full with ``fill``."""
    disk.mkdir()
    at, file = shlex.quote(str(disk)), f"{shlex.quote(str(disk))}/fill"
    filling = f"fallocate -l 150m {file} || true; cat /dev/zero 2>/dev/null >> {file} || true; ! (echo x > {at}/x) 2>&-"
    return mounted(
        f"mount -t tmpfs -o size=160m none {at}; cp -a {shlex.quote(str(home))} {at}/home\n{filling if fill else ''}"
    )


def without_rights(home: Path) -> list[str]:
    """A command that runs the one after it where nothing in a home may be written by its user. Skips where root cannot
    be kept from it.
    """
    subprocess.run(["chmod", "-R", "a-w", str(home)], check=True)
    if os.geteuid():
        return []
    kept_out = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--inh-caps", "-all"]
    probe = [*kept_out, "touch", str(home / "x")]
    if not shutil.which("setpriv") or subprocess.run(probe, capture_output=True, check=False).returncode == 0:
        pytest.skip("root cannot be kept from writing here")
    return kept_out


def called(
    before: Sequence[str], home: Path | str, *commands: Sequence[str], env: Mapping[str, str] | None = None
) -> list[Called]:
    """Commands of the command line over one home, one after the other in one process that ``before`` runs.

    "!rm" removes a file.
    """
    lines = "\n".join(json.dumps([command[0], *command[1:], "--home", str(home)]) for command in commands)
    done = subprocess.run(
        [*before, sys.executable, "-c", _CALLS], input=lines + "\n", capture_output=True, text=True, timeout=600,
        check=False, env=os.environ | {"PAGEINDEX_WORKERS": "1"} | dict(env or {}),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [Called(*json.loads(line)) for line in done.stdout.splitlines()]


def contents(folder: Path) -> dict[str, tuple[int, str]]:
    """Every file below a folder with its time of change and a hash of its bytes."""
    return {
        str(file.relative_to(folder)): (file.stat().st_mtime_ns, hashlib.sha256(file.read_bytes()).hexdigest())
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
