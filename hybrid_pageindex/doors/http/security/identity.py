"""Who sends a request. Without one that is known nothing is answered but what is listed here as open to all."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from hybrid_core.llm.metering import charged
from hybrid_core.store.access.tokens import secret_hash
from hybrid_core.types.access import EVERYWHERE, Caller
from hybrid_pageindex.doors.http.errors import Refusal
from hybrid_pageindex.doors.http.security.guard import SAFE
from hybrid_pageindex.doors.http.security.rates import Rates
from hybrid_pageindex.services.tokens import Tokens

_STATES = frozenset((method, path) for method in SAFE for path in ("/api/v1/health", "/api/v1/ready"))
"""Answered the same for everybody, and so also with a token that is not valid any more."""
OPEN = _STATES | {("POST", "/api/v1/session")}
FILES = "/web/"  # what the web page is made of: the same for everybody, and not counted
_REMEMBERED = 1000  # secrets
_SECONDS = 2.0  # after which one is looked up again: so long one that another process revoked is still taken


@dataclass(frozen=True, slots=True)
class Start:
    """The token that a server is started with: whoever shows it may do everything. ``chosen``: its user set it."""

    token: str
    chosen: bool

    @property
    def parent(self) -> str:
        """What sessions opened with it are bound to: another token that was set makes those of this one void."""
        return f"start:{hashlib.sha256(self.token.encode()).hexdigest()[:32]}" if self.chosen else "start"

    def fits(self, secret: str) -> bool:
        return hmac.compare_digest(secret.encode("utf-8", "surrogatepass"), self.token.encode())


OWNER = Caller("start", "owner", {EVERYWHERE: "admin"})


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy that names users in a header, by its address."""

    header: str
    addresses: frozenset[str]


class Callers:
    """Secrets of requests become callers; what was found is remembered for a moment."""

    def __init__(self, tokens: Callable[[], Tokens], start: Start) -> None:
        self._tokens, self.start = tokens, start
        self._known: OrderedDict[tuple[str, str], tuple[float, Caller]] = OrderedDict()
        self._held: OrderedDict[str, str] = OrderedDict()  # tokens by the hash of a session's secret

    async def by_secret(self, secret: str) -> Caller | None:
        if self.start.fits(secret):
            return OWNER
        if (token := self._held.get(secret_hash(secret))) is not None:
            opened_with = await self.by_secret(token)
            return opened_with and replace(opened_with, by_cookie=True)
        key = ("secret", hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest())
        return await self._found(key, lambda: self._tokens().caller(secret, self.start.parent))

    def hold(self, token: str) -> str:
        """Open a session that ends with this server, for a home that cannot be written: the secret of its cookie."""
        secret = secrets.token_urlsafe(32)
        self._held[secret_hash(secret)] = token
        if len(self._held) > _REMEMBERED:
            self._held.popitem(last=False)
        return secret

    def let_go(self, secret: str) -> bool:
        """End such a session; False where it is none."""
        return self._held.pop(secret_hash(secret), None) is not None

    async def by_name(self, name: str) -> Caller | None:
        return await self._found(("user", name), lambda: self._tokens().user(name))

    def owns(self, caller: Caller) -> bool:
        """Whether it signed in with the token that the server was started with."""
        return caller.id in (OWNER.id, self.start.parent)

    def forget(self) -> None:
        """Look every caller up anew: one was revoked. What is being looked up meanwhile is not remembered."""
        self._known = OrderedDict()

    async def _found(self, key: tuple[str, str], look: Callable[[], Caller | None]) -> Caller | None:
        memory = self._known
        entry = memory.get(key)
        if entry is not None and time.monotonic() - entry[0] < _SECONDS:
            return entry[1]
        memory.pop(key, None)
        caller = await asyncio.to_thread(look)
        if caller is not None:
            memory[key] = (time.monotonic(), caller)
            if len(memory) > _REMEMBERED:
                memory.popitem(last=False)
        return caller


class Identity:
    """Leaves the caller in ``scope["state"]["caller"]``, None where the path is open to all."""

    def __init__(self, app: ASGIApp, callers: Callers, cookie: str, proxy: Proxy | None, rates: Rates) -> None:
        self._app, self._callers, self._cookie, self._proxy, self._rates = app, callers, cookie, proxy, rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                file = scope["method"] in SAFE and (scope["path"] == "/" or scope["path"].startswith(FILES))
                caller = None if file else await self._known(scope)
                if caller is None and not file and (scope["method"], scope["path"]) not in OPEN:
                    raise Refusal(
                        401, "not_signed_in", "A token is needed.",
                        "Send Authorization: Bearer TOKEN, or open the address that serve printed.",
                        www_authenticate="Bearer",
                    )  # fmt: skip
            except Refusal as refusal:
                await refusal.response()(scope, receive, send)
                return
            scope.setdefault("state", {})["caller"] = caller
            with charged(who=caller.name if caller else ""):
                await self._app(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _known(self, scope: Scope) -> Caller | None:
        """What is asked with no token, or a wrong one, counts for the address that it comes from."""
        if (scope["method"], scope["path"]) in _STATES:
            self._rates.take(f"from {_address(scope)}")
            return None
        try:
            caller = await self._caller(scope, Headers(scope=scope))
        except Refusal:
            self._rates.take(f"from {_address(scope)}")
            raise
        self._rates.take(caller.id if caller else f"from {_address(scope)}")
        return caller

    async def _caller(self, scope: Scope, headers: Headers) -> Caller | None:
        if shown := headers.get("authorization"):
            kind, _, secret = shown.partition(" ")
            caller = await self._callers.by_secret(secret.strip()) if kind.lower() == "bearer" else None
            if caller is None or caller.by_cookie:  # a cookie's secret is for cookies
                raise Refusal(
                    401, "token_refused", "This token is not valid.", "Ask for another: admins make tokens.",
                    www_authenticate='Bearer error="invalid_token"',
                )  # fmt: skip
            return caller
        if self._proxy is not None and (named := headers.getlist(self._proxy.header)):
            return await self._by_proxy(scope, named)
        secret = _cookie(headers, self._cookie)
        caller = await self._callers.by_secret(secret) if secret else None
        if caller is None or not caller.by_cookie:
            return None
        if scope["method"] not in SAFE and "origin" not in headers and "sec-fetch-site" not in headers:
            raise Refusal(
                403, "origin_not_allowed", "A cookie alone does not say which page sent this.",
                "Programs send Authorization: Bearer TOKEN.",
            )  # fmt: skip
        return caller

    async def _by_proxy(self, scope: Scope, named: list[str]) -> Caller:
        """A user is named only by the proxy: from anybody else the header is a lie."""
        if self._proxy is None or _address(scope) not in self._proxy.addresses or len(named) != 1:
            raise Refusal(403, "proxy_not_trusted", "Users are named by the proxy alone.")
        caller = await self._callers.by_name(named[0])
        if caller is None:
            raise Refusal(403, "user_unknown", "This user may not call.", "Ask an admin, who makes a token for users.")
        return caller


def _address(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else ""


def _cookie(headers: Headers, name: str) -> str:
    jar: SimpleCookie = SimpleCookie()
    try:
        jar.load(headers.get("cookie", ""))
    except CookieError:
        return ""
    return jar[name].value if name in jar else ""
