"""Conditional requests (RFC 9110, section 13): whether a caller has what it asks for, or changes what it has seen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from email.utils import parsedate_to_datetime

from starlette.datastructures import Headers

from hybrid_pageindex.doors.http.errors import Refusal

_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"')


def check_conditions(headers: Headers, etag: str, modified: float = 0.0) -> bool:
    """Return whether a GET is answered 304. Raise Refusal (412) where a condition on the version does not hold.

    ``etag`` is as it is sent; ``modified`` seconds since 1970, 0 where that is not known. The order of conditions is
    that of section 13.2.2: tags before dates.
    """
    if match := headers.get("if-match", "").strip():
        if match != "*" and (etag.startswith("W/") or etag not in tags_of(match)):
            raise changed()
    elif modified and (until := _seconds(headers.get("if-unmodified-since", ""))) is not None and modified >= until + 1:
        raise changed()
    if none := headers.get("if-none-match", "").strip():
        return none == "*" or etag.removeprefix("W/") in [tag.removeprefix("W/") for tag in tags_of(none)]
    since = _seconds(headers.get("if-modified-since", ""))
    return bool(modified and since is not None and modified < since + 1)


def tags_of(written: str) -> Sequence[str]:
    """The entity tags of a header, as they are written."""
    return _TAG.findall(written)


def changed() -> Refusal:
    """Raise it where somebody changed what the caller has seen."""
    return Refusal(412, "changed", "It has changed since you read it.", "Read it again, and change it then.")


def _seconds(written: str) -> float | None:
    try:
        return parsedate_to_datetime(written).timestamp() if written else None
    except (ValueError, OverflowError):
        return None  # no date of HTTP: the header is ignored
