"""Identify the caller of a request, and limit each caller's rate of requests.

Only the paths in ``OPEN`` need no token.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from hybrid_core.llm.budget import charged
from hybrid_core.store.access import secret_hash
from hybrid_core.types.access import EVERYWHERE, Caller
from hybrid_pageindex.engine.accounts import Tokens
from hybrid_pageindex.http.errors import Refusal
from hybrid_pageindex.http.guard import SAFE

_REMEMBERED_CALLERS = 10_000  # maximum callers whose rates are stored
_STATES = frozenset((method, path) for method in SAFE for path in ("/api/v1/health", "/api/v1/ready"))
"""Paths that answer every caller in the same way, even with an expired token."""
OPEN = _STATES | {("POST", "/api/v1/session")}
FILES = "/web/"  # files of the web page, which are the same for all callers and not counted
DOCS = "/docs"
_SIGNED_OUT = (
    '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>HTTP API</title>\n'
    '<link rel="stylesheet" href="/web/docs.css">\n</head>\n<body><main>\n<h1>HTTP API</h1>\n<p>This page needs a '
    'token. <a href="/">Sign in</a>, then open it again. Programs send <code>Authorization: Bearer TOKEN</code>.</p>\n'
    "</main></body>\n</html>\n"
)
_MAX_SECRETS = 1000  # maximum secrets in the cache
_SECONDS = 2.0  # seconds until a secret is looked up again; a token revoked by another process is accepted until then
OWNER = Caller("start", "owner", {EVERYWHERE: "admin"})
COMMANDS = Caller("commands", "command line", {EVERYWHERE: "read"})
"""The commands of the home's owner, which find the server's second secret in the home."""


@dataclass(frozen=True, slots=True)
class Start:
    """The token that a server is started with. A caller with this token has all rights.

    ``chosen`` is True if the user set the token. ``commands`` is a secret. Commands that run on the same
    home send it, and may then read.
    """

    token: str
    chosen: bool
    commands: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    @property
    def parent(self) -> str:
        """Return the parent id of sessions opened with this token.

        Choosing another token invalidates these sessions.
        """
        return f"start:{hashlib.sha256(self.token.encode()).hexdigest()[:32]}" if self.chosen else "start"

    def fits(self, secret: str) -> bool:
        return _equal(secret, self.token)


def _equal(secret: str, expected: str) -> bool:
    return hmac.compare_digest(secret.encode("utf-8", "surrogatepass"), expected.encode())


@dataclass(frozen=True, slots=True)
class Proxy:
    """A trusted proxy that authenticates users. It is known by its IP addresses, and names the user in a header."""

    header: str
    addresses: frozenset[str]


class Callers:
    """A finder of the caller with a given token or session secret. It caches results for a short time."""

    def __init__(self, tokens: Callable[[], Tokens], start: Start) -> None:
        self._tokens, self.start = tokens, start
        self._known: OrderedDict[tuple[str, str], tuple[float, Caller]] = OrderedDict()
        self._held: OrderedDict[str, str] = OrderedDict()  # tokens by the hash of a session's secret

    async def by_secret(self, secret: str) -> Caller | None:
        if self.start.fits(secret):
            return OWNER
        if _equal(secret, self.start.commands):
            return COMMANDS
        if (token := self._held.get(secret_hash(secret))) is not None:
            opened_with = await self.by_secret(token)
            return opened_with and replace(opened_with, by_cookie=True)
        key = ("secret", hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest())
        return await self._look_up(key, lambda: self._tokens().caller(secret, self.start.parent))

    def hold(self, token: str) -> str:
        """Open a browser session in memory, because a read-only home cannot store it.

        Return the secret of the session's cookie.
        """
        secret = secrets.token_urlsafe(32)
        self._held[secret_hash(secret)] = token
        if len(self._held) > _MAX_SECRETS:
            self._held.popitem(last=False)
        return secret

    def let_go(self, secret: str) -> bool:
        """End a browser session that is kept in memory. Return False if it does not exist."""
        return self._held.pop(secret_hash(secret), None) is not None

    async def by_name(self, name: str) -> Caller | None:
        return await self._look_up(("user", name), lambda: self._tokens().user(name))

    def owns(self, caller: Caller) -> bool:
        """Return whether the caller signed in with the server's start token, which gives all rights."""
        return caller.id in (OWNER.id, self.start.parent)

    def forget(self) -> None:
        """Clear the cache after a token was revoked. Also discard the results of look-ups in progress."""
        self._known = OrderedDict()

    async def _look_up(self, key: tuple[str, str], look: Callable[[], Caller | None]) -> Caller | None:
        memory = self._known
        entry = memory.get(key)
        if entry is not None and time.monotonic() - entry[0] < _SECONDS:
            return entry[1]
        memory.pop(key, None)
        caller = await asyncio.to_thread(look)
        if caller is not None:
            memory[key] = (time.monotonic(), caller)
            if len(memory) > _MAX_SECRETS:
                memory.popitem(last=False)
        return caller


class Identity:
    """Middleware that stores the caller in ``scope["state"]["caller"]``.

    The caller is None for a file of the web page or a path in ``OPEN``.
    """

    def __init__(self, app: ASGIApp, callers: Callers, cookie: str, proxy: Proxy | None, rates: Rates) -> None:
        self._app, self._callers, self._cookie, self._proxy, self._rates = app, callers, cookie, proxy, rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                file = scope["method"] in SAFE and (scope["path"] == "/" or scope["path"].startswith(FILES))
                caller = None if file else await self._identify(scope)
                if caller is None and not file and (scope["method"], scope["path"]) not in OPEN:
                    raise Refusal(
                        401, "not_signed_in", "This request contains no token, but the server requires a token.",
                        "Send the header 'Authorization: Bearer TOKEN', or open the address that the command 'serve' "
                        "printed.",
                        www_authenticate="Bearer",
                    )  # fmt: skip
            except Refusal as refusal:
                people = refusal.status == 401 and scope["path"] == DOCS
                answer = HTMLResponse(_SIGNED_OUT, 401, refusal.headers) if people else refusal.response()
                await answer(scope, receive, send)
                return
            scope.setdefault("state", {})["caller"] = caller
            with charged(who=caller.name if caller else ""):
                await self._app(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _identify(self, scope: Scope) -> Caller | None:
        """Return the caller, and count the request against the caller's limit of requests per minute.

        A request without a valid token counts against the limit of its IP address.
        """
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
            if caller is None or caller.by_cookie:  # the secret of a cookie is accepted only in a cookie
                raise Refusal(
                    401, "token_refused", "This token is not valid.", "Ask an admin for a new token.",
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
                403, "origin_not_allowed", 'The request has a cookie, but no header that shows which web page sent it.',
                'Send the token in the header Authorization: Bearer TOKEN instead of a cookie.',
            )  # fmt: skip
        return caller

    async def _by_proxy(self, scope: Scope, named: list[str]) -> Caller:
        """Return the user that the trusted proxy names. Raise Refusal if another sender uses the header."""
        if self._proxy is None or _address(scope) not in self._proxy.addresses or len(named) != 1:
            raise Refusal(
                403,
                "proxy_not_trusted",
                "The request contains the header that names the user, but only the trusted proxy may send this header.",
            )
        caller = await self._callers.by_name(named[0])
        if caller is None:
            raise Refusal(
                403,
                "user_unknown",
                "This user has no access to the server.",
                "Ask an admin to create an entry for this user.",
            )
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


class Rates:
    """A token bucket for each caller, which limits it to ``a_minute`` requests per minute; 0 means no limit.

    A burst may use the requests of ten seconds at once.
    """

    def __init__(self, a_minute: int) -> None:
        self._a_second, self._most = a_minute / 60, max(a_minute / 6, 1.0)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> None:
        """Count one request of a caller. Raise Refusal if the caller exceeds the rate."""
        if not self._a_second:
            return
        now = time.monotonic()
        tokens, at = self._buckets.pop(caller, (self._most, now))
        tokens = min(self._most, tokens + (now - at) * self._a_second)
        self._buckets[caller] = (max(tokens - 1, 0.0) if tokens >= 1 else tokens, now)
        if len(self._buckets) > _REMEMBERED_CALLERS:
            self._buckets.popitem(last=False)
        if tokens < 1:
            wait = str(max(1, round((1 - tokens) / self._a_second)))
            raise Refusal(
                429,
                "too_many_requests",
                "Too many requests were sent in the last minute.",
                f"Wait {wait} s.",
                retry_after=wait,
            )


class Slots:
    """A limit on concurrent work. ``at_once`` tasks run, ``waiting`` more may wait, and further ones are refused."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self._semaphore, self._room = asyncio.Semaphore(at_once), at_once + waiting
        self.held = 0

    @asynccontextmanager
    async def take(self) -> AsyncIterator[None]:
        """Wait for a free slot and hold it. Raise Refusal if too many tasks already wait."""
        if self.held >= self._room:
            raise Refusal(
                503,
                "busy",
                "Too many other requests are waiting for a search or an answer.",
                "Try again in a moment.",
                retry_after="1",
            )
        self.held += 1
        try:
            async with self._semaphore:
                yield
        finally:
            self.held -= 1
