"""Run one command: exit code 0 done, 1 something failed, 2 usage."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

from hybrid_core.errors import PageIndexError, UsageError
from hybrid_core.system import out_of_memory
from hybrid_pageindex.cli import output
from hybrid_pageindex.cli.parser import PROGRAM, build_parser, wants_json

DONE, FAILED, USAGE = 0, 1, 2
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
    except BrokenPipeError:  # the reader went away (| head)
        output.abandon()
        return DONE
    except OSError as error:  # of the engine's own files it would have been a PageIndexError
        output.abandon()
        return _report_failure(f"{error.filename or 'standard output'}: {error.strerror}.")
    except Exception as error:
        if not _memory_ran_out(error):
            raise
        return _report_failure(
            "the memory limit of this process is reached. Raise the limit (ulimit -v), or use fewer workers."
        )
    return code


def _memory_ran_out(error: BaseException | None) -> bool:
    """Return whether memory ran out, also where that made something else fail."""
    while error is not None:
        if out_of_memory(error) or "without exception set" in str(error):  # numpy's import says the latter
            return True
        error = error.__cause__ or error.__context__
    return False


def _run(typed: Sequence[str]) -> int:
    try:
        options = build_parser(typed).parse_args(typed)
        if "run_command" in options:  # another package's
            return int(options.run_command(options))
        gc.disable()  # what an import makes stays: looking for garbage in it costs a tenth of the start
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


def _report_failure(why: str) -> int:
    sys.stderr.write(f"{PROGRAM}: {output.visible(why)}\n")
    return FAILED
