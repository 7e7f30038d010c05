"""Who calls a tool: the caller of its request, where a server knows who that is."""

from __future__ import annotations

from dataclasses import dataclass

from fastmcp.server.dependencies import get_http_request

from hybrid_core.types.access import Caller


@dataclass(frozen=True, slots=True)
class Asking:
    """``owner`` is whose conversations they have, "" for those of the machine, who see all."""

    name: str = ""
    owner: str = ""


def asking() -> Asking:
    """Of each call anew: one session may outlive a token, and another token may be shown in it."""
    try:
        request = get_http_request()
    except RuntimeError:  # it came on stdio
        return Asking()
    caller: Caller | None = request.scope.get("state", {}).get("caller")
    if caller is None:
        return Asking()
    return Asking(caller.name, "" if caller.may("admin") else caller.id)
