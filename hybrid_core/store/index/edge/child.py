"""A module run in a child process that holds the locks of its parent."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence


def run_module(
    module: str, arguments: Sequence[str], handles: Sequence[int], seconds: float
) -> subprocess.CompletedProcess[bytes]:
    """Run ``python -P -m MODULE ARGUMENTS`` and wait for its end; its stderr is captured.

    ``handles`` are the lock descriptors the child inherits, so that a shard is not opened under a child whose parent
    was killed. Raises OSError where no child can be started, ``subprocess.TimeoutExpired`` after so many ``seconds``.
    """
    return subprocess.run(
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # a stdio server's stdout carries its protocol only
        stderr=subprocess.PIPE,
        pass_fds=tuple(handles),
        timeout=seconds,
        check=False,
        process_group=0,  # Ctrl-C on the terminal is for us
    )
