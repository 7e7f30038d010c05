"""Run one command line. Exit codes: 0 success, 1 failure, 2 wrong usage."""

from __future__ import annotations

import argparse
import gc
import logging
import sys
from collections.abc import Sequence

from hybrid_core.errors import PageIndexError, UsageError
from hybrid_core.logs import written_as_json
from hybrid_core.system import memory_limit, out_of_memory
from hybrid_pageindex.cli import output
from hybrid_pageindex.cli.parser import PROGRAM, build_parser, wants_json

DONE, FAILED, USAGE = 0, 1, 2
_LEAST_MEMORY = 1_000_000_000  # bytes; with less, imports fail anywhere, and the interpreter may crash
_KEPT_AFTER_STOP = {
    "index": " Files that were reported as indexed stay indexed; run the command again to index the rest.",
    "embed": " The vectors made so far stay; run the command again to make the rest.",
}


def main(arguments: Sequence[str] | None = None) -> int:
    typed = sys.argv[1:] if arguments is None else arguments
    try:
        output.prepare()
        code = _run(typed)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _report_failure("stopped.")
    except BrokenPipeError:  # the reading program ended (| head)
        output.discard()
        return DONE
    except OSError as error:  # errors of the engine's own files are PageIndexErrors
        output.discard()
        return _report_failure(f"{error.filename or 'standard output'}: {error.strerror}.")
    except Exception as error:
        if not _memory_ran_out(error):
            raise
        return _report_failure(
            "the memory limit of this process is reached. Raise the limit (ulimit -v), or use fewer workers."
        )
    return code


def _memory_ran_out(error: BaseException | None) -> bool:
    """Return whether an error was caused by a lack of memory, directly or indirectly."""
    while error is not None:
        if out_of_memory(error) or "without exception set" in str(error):  # numpy's import raises the latter
            return True
        error = error.__cause__ or error.__context__
    return False


def _run(typed: Sequence[str]) -> int:
    try:
        options = build_parser(typed).parse_args(typed)
        if "run_command" in options:  # a command of another package
            return int(options.run_command(options))
        if options.command == "search" and options.daemon and _searched_by_server(options):
            return DONE
        _check_memory()
        gc.disable()  # imported objects stay, and collecting garbage among them takes a tenth of the start
        from hybrid_pageindex.cli.commands import run_command  # imports the engine

        gc.enable()
        try:
            return run_command(options)
        except KeyboardInterrupt:
            return _report_failure(f"stopped.{_KEPT_AFTER_STOP.get(options.command, '')}")
    except PageIndexError as error:
        if wants_json(typed):
            body = {"type": type(error).__name__, "message": error.message, "advice": error.command_advice}
            output.dump({"error": body})
        code = _report_failure(f"{error.message} {error.command_advice}".strip())
        return USAGE if isinstance(error, UsageError) else code


def _check_memory() -> None:
    limit, needed = memory_limit(), f"{_LEAST_MEMORY // 10**6:,} MB"
    if limit is not None and limit < _LEAST_MEMORY:
        raise PageIndexError(
            f"The memory limit of this process is {limit // 10**6:,} MB, and the engine needs {needed}.",
            "Raise the memory limit (ulimit -v).",
        )


def _searched_by_server(options: argparse.Namespace) -> bool:
    """Let a running server do the search, so that the engine need not be imported.

    Return False if no server runs or if it cannot answer; the caller then searches itself.
    """
    from hybrid_pageindex.config.running import find_running
    from hybrid_pageindex.config.settings import load_settings

    settings = load_settings(getattr(options, "home", None))
    server = find_running(settings)
    if server is None:
        return False
    from hybrid_pageindex.cli.search import search_by_server

    return search_by_server(server, settings, options)


def _report_failure(why: str) -> int:
    if written_as_json():
        logging.getLogger(__name__).error("%s", output.visible(why))
        return FAILED
    sys.stderr.write(f"{PROGRAM}: {output.visible(why)}\n")
    return FAILED
