"""Make every Python process on this path look like one on Windows, as far as the engine can tell.

Libraries are imported first, because they would look for the real system. Then the modules and functions that Windows
lacks go away, locks are those of ``msvcrt``, a child takes no POSIX argument, and no folder can be opened.
"""

import os
import signal
import sys

MISSING = {
    "os": (
        "fork geteuid getuid getgid fchmod statvfs killpg setsid nice pread pwrite readv sysconf chown getpgid "
        "O_CLOEXEC SEEK_DATA SEEK_HOLE ST_RDONLY"
    ),
    "signal": "SIGKILL SIGPROF SIGUSR1 SIGUSR2 SIGHUP SIGALRM setitimer ITIMER_PROF pthread_kill",
}


def look_like_windows() -> None:
    import asyncio
    import errno
    import fcntl
    import select
    import subprocess
    import types
    from pathlib import Path

    import anyio._backends._asyncio  # noqa: F401
    import chardet  # noqa: F401
    import fastmcp.server  # noqa: F401
    import filelock  # noqa: F401
    import mcp.server.stdio  # noqa: F401
    import numpy  # noqa: F401
    import pydantic_settings  # noqa: F401
    import pymupdf  # noqa: F401
    import qdrant_edge  # noqa: F401
    import sqlalchemy.dialects.sqlite  # noqa: F401
    import uvicorn  # noqa: F401

    for name in ("os", "signal"):  # the libraries keep theirs
        whole = types.ModuleType(name)
        whole.__dict__.update(sys.modules[name].__dict__)
        for module in list(sys.modules.values()):
            if getattr(module, name, None) is sys.modules[name] and module is not sys.modules[__name__]:
                setattr(module, name, whole)
    real_open, real_kill, real_lockf = os.open, os.kill, fcntl.lockf
    kill_signal = signal.SIGKILL
    for module, names in ((os, MISSING["os"]), (signal, MISSING["signal"])):
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)

    def locking(handle: int, mode: int, length: int) -> None:
        """As in ``msvcrt``: from the file's position on, refused with EACCES, never shared."""
        try:
            real_lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, length, os.lseek(handle, 0, os.SEEK_CUR))
        except OSError as error:
            raise PermissionError(errno.EACCES, "Permission denied") from error

    msvcrt = types.ModuleType("msvcrt")
    msvcrt.locking, msvcrt.LK_NBLCK = locking, 2  # type: ignore[attr-defined]
    sys.modules["msvcrt"] = msvcrt
    for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty"):
        sys.modules[name] = None  # type: ignore[assignment]

    def open_file(path, flags, mode=0o777, **options):  # type: ignore[no-untyped-def]
        if Path(path).is_dir() and sys._getframe(1).f_globals["__name__"].startswith(("hybrid_", "indexers")):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real_open(path, flags, mode, **options)

    real_init = subprocess.Popen.__init__

    def start(self, *arguments, **options):  # type: ignore[no-untyped-def]
        if options.get("preexec_fn") is not None or options.get("pass_fds"):
            raise ValueError("not supported on Windows platforms")
        options.pop("creationflags", 0)
        real_init(self, *arguments, **options)

    def waits(readers, *others):  # type: ignore[no-untyped-def]
        if any(isinstance(reader, int) or not hasattr(reader, "getsockname") for reader in readers):
            raise OSError(10038, "An operation was attempted on something that is not a socket")
        return real_select(readers, *others)

    def no_handler(*_: object) -> None:
        raise NotImplementedError

    real_select, real_run = select.select, subprocess.run

    def run(command, **options):  # type: ignore[no-untyped-def]
        if command[0] == "taskkill":
            real_kill(int(command[-1]), kill_signal)
            return subprocess.CompletedProcess(command, 0)
        return real_run(command, **options)

    os.open, select.select, subprocess.run = open_file, waits, run
    subprocess.Popen.__init__ = start  # type: ignore[method-assign]
    subprocess.CREATE_NEW_PROCESS_GROUP = 0x200  # type: ignore[attr-defined]
    asyncio.unix_events._UnixSelectorEventLoop.add_signal_handler = no_handler  # type: ignore[method-assign]
    real_exists = Path.exists
    Path.exists = lambda self, **o: not str(self).startswith("/proc/") and real_exists(self, **o)  # type: ignore[method-assign]


if os.environ.get("LOOK_LIKE_WINDOWS"):
    look_like_windows()
