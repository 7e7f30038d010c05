"""The machine: optional packages, file locks, child processes, and paths.

All differences between Linux, macOS and Windows are handled in this file. Windows has no shared locks, no inherited
file descriptors, no permissions in a file's mode and no signals. Each function states its limits on Windows.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import importlib
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid_core.errors import Advice, PageIndexError

if TYPE_CHECKING:
    import subprocess

_NO_MEMORY = re.compile(
    r"alloc\b.*failed|bad_alloc|out of memory|(?:cannot|failed to) allocate|can't start new thread"
    r"|failed to map segment",
    re.I,
)


def out_of_memory(error: BaseException) -> bool:
    """Return whether an error means that this process ran out of memory."""
    return isinstance(error, MemoryError) or bool(_NO_MEMORY.search(str(error)))


def memory_limit() -> int | None:
    """Return the bytes that this process may allocate (RLIMIT_AS, RLIMIT_DATA), or None if no limit is set."""
    if resource is None:
        return None
    limits = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
    return min((limit for limit in limits if limit != resource.RLIM_INFINITY), default=None)


def content_digest(data: bytes | Path) -> str:
    """Return the SHA-256 of bytes, or of the content of a file, in hexadecimal digits."""
    if isinstance(data, bytes):
        return hashlib.sha256(data).hexdigest()
    with data.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_EXTRA = "{} the extra '{}' in the environment that the engine runs in: {}"


def install_command(extra: str, options: str = "") -> str:
    """Return the command that installs an extra of this project, in the way the project itself was installed.

    An installation from a checkout has a record of this (PEP 610). The command does not contain the path of the
    checkout, because clients of a server may read it.
    """
    from importlib import metadata  # takes long to import

    try:
        record = json.loads(metadata.distribution("hybrid-pageindex").read_text("direct_url.json") or "{}")
    except metadata.PackageNotFoundError:
        record = {}
    if "dir_info" not in record:
        return f"pip install 'hybrid-pageindex[{extra}]'{options}"
    editable = "-e " if record["dir_info"].get("editable") else ""
    return f"pip install {editable}'.[{extra}]'{options} (in the checkout)"


def require(module: str, extra: str) -> Any:
    """Import ``module``, which the optional extra ``extra`` of this project installs.

    Raise PageIndexError if the module is missing or broken; the message names the extra and the pip command. The return
    type is Any because the type checker must pass without the extras.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        command = install_command(extra)
        message = f"This function needs the extra '{extra}': the package {error.name or module} is not installed."
        raise PageIndexError(
            message, Advice(_EXTRA.format("Install", extra, command), f"Install it with: {command}")
        ) from error
    except (ImportError, OSError) as error:  # versions that do not fit, a missing shared library
        reason = " ".join(str(error).split())
        message = f"{module}, of the extra '{extra}', is installed but cannot be imported ({reason})."
        command = install_command(extra, " --force-reinstall")
        raise PageIndexError(
            message, Advice(_EXTRA.format("Repair", extra, command), f"Repair it with: {command}")
        ) from error


def optional_module(name: str) -> Any:
    """Import a module of the standard library. Return None on systems that do not have it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


fcntl = optional_module("fcntl")  # missing on Windows
resource = optional_module("resource")  # missing on Windows
POSIX = fcntl is not None
CLOSE_ON_EXEC: int = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0) | getattr(os, "O_BINARY", 0)
_HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
_OPEN_ELSEWHERE = 2.0  # seconds for which Windows is asked again to replace a file that somebody reads


def lock_file(handle: int, *, shared: bool = False) -> bool:
    """Lock an open file until it is closed or its process ends. Return False if another process holds the lock.

    With ``shared``, several processes can hold the lock at once. On Windows the lock covers one byte far behind the end
    of the file, and is always exclusive.
    """
    if fcntl is not None:
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
    return _lock_bytes(handle, 1, 1 << 30)


def lock_span(handle: int, length: int, start: int) -> bool:
    """Lock ``length`` bytes of a file from ``start`` against other processes, as SQLite does.

    Return False if another process has locked one of them.
    """
    if fcntl is not None:
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, length, start)
        except OSError as error:
            if error.errno in _HELD:
                return False
            raise
        return True
    return _lock_bytes(handle, length, start)


def _lock_bytes(handle: int, length: int, start: int) -> bool:
    msvcrt: Any = importlib.import_module("msvcrt")
    place = os.lseek(handle, 0, os.SEEK_CUR)
    try:
        os.lseek(handle, start, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, length)
    except OSError as error:
        if error.errno in _HELD:
            return False
        raise
    finally:
        os.lseek(handle, place, os.SEEK_SET)
    return True


def sync_folder(folder: Path) -> None:
    """Write renames and removals in a folder to the disk. Do nothing on Windows, which cannot open folders."""
    if POSIX:
        sync_file(folder)


def sync_file(path: Path) -> None:
    """Write a file's data from the system's buffers to the disk."""
    handle = os.open(path, os.O_RDONLY if POSIX else os.O_RDWR | CLOSE_ON_EXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_file(fresh: Path, target: Path) -> None:
    """Replace the file ``target`` by ``fresh`` in one step.

    Windows refuses this while the file is being read, so retry for two seconds there.
    """
    end = time.monotonic() + _OPEN_ELSEWHERE
    while True:
        try:
            fresh.replace(target)
            return
        except PermissionError:
            if POSIX or time.monotonic() > end:
                raise
            time.sleep(0.02)


def remove_file(path: Path) -> None:
    """Delete a file if it exists, even if it is read-only (Windows requires that it becomes writable first)."""
    try:
        path.unlink(missing_ok=True)
    except PermissionError:
        if POSIX:
            raise
        path.chmod(0o600)
        path.unlink(missing_ok=True)


def is_own(status: os.stat_result) -> bool:
    """Return whether this user owns a file. On Windows it is always True, because files have no owner number there."""
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def user_name() -> str:
    """Return the number or name of this user, in a form that can be part of a file name."""
    if hasattr(os, "geteuid"):
        return str(os.geteuid())
    return re.sub(r"\W+", "-", os.environ.get("USERNAME", "user"))


_PR_SET_PDEATHSIG = 1
_PRCTL = (  # looked up here: between fork and exec that could wait for ever
    getattr(ctypes.CDLL(None), "prctl", None) if POSIX else None
)


def end_with_parent() -> None:
    """Make the system kill this process when its parent process ends, whatever it is doing (Linux only)."""
    if _PRCTL is not None:
        _PRCTL(_PR_SET_PDEATHSIG, int(signal.SIGKILL))


def child_options(*, handles: Sequence[int] = (), bound: bool = False) -> dict[str, Any]:
    """Return arguments of ``subprocess.Popen`` for a child process that Ctrl-C on the terminal does not interrupt.

    The child inherits the file descriptors ``handles``. With ``bound`` it ends with its parent (Linux only). Windows
    supports neither.
    """
    if not POSIX:
        import subprocess

        return {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    options: dict[str, Any] = {"process_group": 0, "pass_fds": tuple(handles)}
    return options | {"preexec_fn": end_with_parent} if bound else options


def kill_tree(process: subprocess.Popen[bytes]) -> None:
    """Kill a child process that was started with ``child_options``, and all processes that it has started."""
    if POSIX:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        return
    import subprocess

    command = ["taskkill", "/T", "/F", "/PID", str(process.pid)]
    with suppress(OSError):
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    with suppress(OSError):
        process.kill()


def on_signals(names: Iterable[str], call: Callable[[], object]) -> None:
    """Call a function in the running event loop when one of these signals arrives. Skip signals unknown on Windows."""
    import asyncio  # takes long to import, and few processes need it here

    loop = asyncio.get_running_loop()
    for number in (getattr(signal, name) for name in names if hasattr(signal, name)):
        try:
            loop.add_signal_handler(number, call)
        except NotImplementedError:
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(call))


def exists(path: Path) -> bool:
    """Return whether the path exists. Return False for a string that cannot be a file name, such as 300 characters."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


OUTSIDE = "a symbolic link to a file outside the folders that this server may read."


@dataclass(frozen=True, slots=True)
class Reach:
    """The folders that a server may read. ``roots`` are absolute paths without symbolic links.

    A path inside a root must also resolve to a place inside a root. This is checked on each use, since links may be
    created later. Paths outside all roots come from the command line, so the user has chosen them. ``folders`` are the
    resolved folders from which a file was indexed, () if it was indexed by its own path.
    """

    roots: tuple[Path, ...]
    folders: tuple[Path, ...] = ()

    def allows(self, path: Path, resolved: Path, source: Path | None = None) -> bool:
        """Return whether a path that resolves to ``resolved`` may be read.

        ``source`` is the resolved folder from which it was indexed. A path outside all roots may only resolve to a
        place inside this folder or a root.
        """
        if self._hold(resolved):
            return True
        return not self._hold(path) and (source is None or resolved.is_relative_to(source))

    def allows_open(self, path: Path, descriptor: int) -> bool:
        """Return whether an open file may be read.

        The real path is that of the descriptor, since a link in ``path`` may have changed since it was opened.
        """
        place = opened_path(path, descriptor)
        return any(self.allows(path, place, folder) for folder in self.folders or (None,))

    def _hold(self, path: Path) -> bool:
        return any(path.is_relative_to(root) for root in self.roots)


def opened_path(path: Path, descriptor: int) -> Path:
    """Return the real path of an open file, as the system reports it for its descriptor.

    If the system does not report it, resolve ``path`` again.
    """
    if sys.platform == "linux":
        try:
            return Path(os.readlink(f"/proc/self/fd/{descriptor}"))  # noqa: PTH115 - a magic link
        except OSError:  # no /proc here
            pass
    if sys.platform == "darwin" and fcntl is not None:
        place: bytes = fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024))
        return Path(os.fsdecode(place.rstrip(b"\0")))
    return Path(os.path.realpath(path))


def installed_version() -> str:
    """Return the version of the installed package, "0+unknown" if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("hybrid-pageindex")
    except PackageNotFoundError:  # a source tree on the path, never installed
        return "0+unknown"
