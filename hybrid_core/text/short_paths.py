"""Names of files with just enough of their folders to tell them apart, as editors name their tabs."""

from __future__ import annotations

from collections.abc import Iterable


def short_paths(paths: Iterable[str]) -> dict[str, str]:
    """Path -> its shortest end, in whole folders, that no other path has: ``a/readme.md``, ``b/readme.md``."""
    parts = {path: path.split("/") for path in paths}
    short: dict[str, str] = {}
    left, depth = list(parts), 1
    while left:
        ends: dict[str, list[str]] = {}
        for path in left:
            ends.setdefault("/".join(parts[path][-depth:]), []).append(path)
        for end, having in ends.items():
            if len(having) == 1:
                short[having[0]] = end
        left = [path for path in left if path not in short]
        depth += 1
    return short
