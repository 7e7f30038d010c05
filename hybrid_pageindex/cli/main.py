"""Run one command: exit code 0 done, 1 something failed, 2 usage."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

from hybrid_core.errors import PageIndexError, UsageError
from hybrid_pageindex.cli.parser import PROGRAM, build_parser

DONE, FAILED, USAGE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    options = build_parser().parse_args(arguments)  # ends with 2 by itself where the usage is wrong
    as_json = getattr(options, "json", False)
    from hybrid_pageindex.cli import commands  # imports the engine

    try:
        code = commands.run(options)
        sys.stdout.flush()
    except PageIndexError as error:
        return _report(error, as_json)
    except KeyboardInterrupt:
        sys.stderr.write(f"{PROGRAM}: stopped. What was reported as indexed stays; run it again to do the rest.\n")
        return FAILED
    except BrokenPipeError:  # the reader went away (| head)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    return code


def _report(error: PageIndexError, as_json: bool) -> int:
    if as_json:
        said = {"type": type(error).__name__, "message": error.message, "advice": error.advice}
        print(json.dumps({"error": said}, ensure_ascii=False))
    sys.stderr.write(f"{PROGRAM}: {error}\n")
    return USAGE if isinstance(error, UsageError) else FAILED
