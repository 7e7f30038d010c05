"""Which files are read."""

from __future__ import annotations


def suffixes_read() -> frozenset[str]:
    """The endings of files that are read, in small letters with their dot; those of other packages' formats too."""
    from indexers.formats.registry import formats

    return frozenset(suffix for format in formats() for suffix in format.suffixes)
