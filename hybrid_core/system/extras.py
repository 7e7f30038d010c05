"""Optional dependencies: one way to import them, one message where they are missing."""

from __future__ import annotations

import importlib
from typing import Any

from hybrid_core.errors import PageIndexError


def require(module: str, extra: str) -> Any:
    """Import ``module``, which the extra ``extra`` of this project installs.

    Raises PageIndexError where it is not installed (naming the extra and the pip command) or is
    installed but broken. The type is Any because the checker must pass without the extras.
    """
    command = f"pip install 'hybrid-pageindex[{extra}]'"
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        message = f"This needs the extra '{extra}': the package {error.name or module} is not installed."
        raise PageIndexError(message, f"Install it with: {command}") from error
    except (ImportError, OSError) as error:  # versions that do not fit, a missing shared library
        said = " ".join(str(error).split())
        message = f"{module}, of the extra '{extra}', is installed but cannot be imported ({said})."
        raise PageIndexError(message, f"Repair it with: {command} --force-reinstall") from error
