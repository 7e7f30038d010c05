"""Run the command ``serve`` until Ctrl-C or SIGTERM, which end it within ten seconds."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import secrets
import socket
import sys
import threading
import webbrowser
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType

import uvicorn

from hybrid_core.errors import PageIndexError, StoreError, UsageError
from hybrid_core.logs import written_as_json
from hybrid_core.tracing import flush_traces
from hybrid_pageindex.config.running import RunningServer, remove_record, write_record
from hybrid_pageindex.engine.engine import Engine
from hybrid_pageindex.http.app import Listening, build_app
from hybrid_pageindex.http.identity import Proxy, Start
from hybrid_pageindex.http.server import Server
from hybrid_pageindex.mcp.access import Access
from hybrid_pageindex.mcp.network import Impatient, loopback, not_cut_off, web_origin

_log = logging.getLogger(__name__)
_TOKEN_LENGTH = 16  # minimum characters of a token that a user chooses
_CONNECTIONS = 1024  # maximum concurrent connections; a further one gets status 503
_GRACE = 6  # seconds in which requests may finish at the end
_END_SECONDS = 10.0  # seconds until the process is ended by force


async def serve(engine: Engine, options: argparse.Namespace) -> None:
    """Run the server until a signal arrives. ``options`` are those of the command ``serve``.

    Raise UsageError for unsafe options, StoreError if the home cannot be opened.
    """
    listening = listening_of(engine, options)
    if not engine.settings.postgres_url:  # a database server may come back, but a read-only folder stays read-only
        await asyncio.to_thread(lambda: engine.tokens)
    bound = _bind(listening)
    listening = replace(listening, port=bound.getsockname()[1])
    app, server = build_app(engine, listening)
    address = f"http://{_bracket_ipv6(listening.host)}:{listening.port}/"
    logging.getLogger("uvicorn.error").addFilter(not_cut_off)
    config = uvicorn.Config(
        app, access_log=False, log_level="warning", log_config=None, http=Impatient, ws="none",
        limit_concurrency=_CONNECTIONS, timeout_graceful_shutdown=_GRACE, server_header=False, proxy_headers=False,
        lifespan="on",
    )  # fmt: skip
    running = _Uvicorn(config, server, address, listening.start, options)
    await running.serve(sockets=[bound])


def listening_of(engine: Engine, options: argparse.Namespace) -> Listening:
    token = options.token or engine.settings.http_token
    if token and len(token) < _TOKEN_LENGTH:
        raise UsageError("The setting http_token is too short.", f"Use {_TOKEN_LENGTH} random characters or more.")
    if not token and not loopback(options.host):
        raise UsageError(
            f"Other machines can reach the address {options.host}, but no token is set to protect the server.",
            "Set PAGEINDEX_HTTP_TOKEN to a long random word, or listen on 127.0.0.1.",
        )
    if bool(options.user_header) != bool(options.trust_proxy):
        raise UsageError("--user-header and --trust-proxy work only together.", "Give both options, or neither.")
    usual = [str(Path.home())] if loopback(options.host) and Path.home().is_dir() else []
    proxy = Proxy(options.user_header, frozenset(options.trust_proxy)) if options.user_header else None
    return Listening(
        options.host, options.port, Start(token or secrets.token_urlsafe(32), bool(token)),
        Access.of(options.root or usual, read_only=False), tuple(options.allow_host),
        tuple(map(web_origin, options.allow_origin)), proxy,
    )  # fmt: skip


class _Uvicorn(uvicorn.Server):
    """A uvicorn server that prints its address when it is ready, and ends event streams before it shuts down."""

    def __init__(
        self, config: uvicorn.Config, server: Server, address: str, start: Start, options: argparse.Namespace
    ) -> None:
        super().__init__(config)
        self._server, self._options = server, options
        self._address = address
        self._signing_in = f"{address}#token={start.token}"
        self._printed = address if start.chosen else self._signing_in  # logs must not show a token that a user set
        self._record = RunningServer(_local(address), start.commands)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            with suppress(OSError):  # a home that cannot be written: commands open it themselves
                write_record(self._server.engine.settings, self._record)
            self._print_address()
            if self._options.open:
                await asyncio.to_thread(webbrowser.open, self._signing_in)
                with suppress(PageIndexError):  # the first page image reports the error
                    await self._server.engine.pictures.prepare()

    def _print_address(self) -> None:
        """Print the address, with the token if it was generated. A JSON log gets no token, since logs are kept."""
        if written_as_json():
            _log.warning("Serving %s at %s", self._server.engine.home, self._address)
            if self._printed != self._address:
                _log.warning("No token is set, and logs show none. Set PAGEINDEX_HTTP_TOKEN to sign in.")
            return
        sys.stderr.write(f"Serving {self._server.engine.home} at {self._printed}\n")
        sys.stderr.flush()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        remove_record(self._server.engine.settings, self._record)
        await super().shutdown(sockets)
        await asyncio.to_thread(flush_traces)  # uvicorn ends the process by the signal, past every finally

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._server.ending.set()
        self._server.engine.jobs.hand_back()
        force = threading.Timer(_END_SECONDS - 0.5, os._exit, (1,))
        force.daemon = True
        force.start()
        super().handle_exit(sig, frame)


def _bind(listening: Listening) -> socket.socket:
    """Return a socket bound to the address. Raise StoreError if the address is in use."""
    family = socket.AF_INET6 if ":" in listening.host else socket.AF_INET
    # asyncio disables Nagle's algorithm only for an explicit TCP socket; otherwise small responses are delayed.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((listening.host, listening.port))
    except OSError as error:
        listener.close()
        why = f"{listening.host}:{listening.port} cannot be opened for listening ({error.strerror})."
        raise StoreError(why, "Choose another --port.") from error
    return listener


def _local(address: str) -> str:
    """Return an address at which this machine reaches a server that listens on all network addresses."""
    return address.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")


def _bracket_ipv6(host: str) -> str:
    return f"[{host}]" if ":" in host else host
