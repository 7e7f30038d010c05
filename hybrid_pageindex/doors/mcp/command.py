"""The command ``mcp``: serve on stdio or HTTP until the client or the user ends it."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import threading

import fastmcp
from fastmcp.utilities.logging import configure_logging

from hybrid_pageindex.doors.mcp import http
from hybrid_pageindex.doors.mcp.access import Access
from hybrid_pageindex.doors.mcp.server import build_server
from hybrid_pageindex.doors.mcp.wire import Wire, wire
from hybrid_pageindex.engine import Engine

_SECONDS = 10.0  # for an orderly end after a signal


async def serve(engine: Engine, options: argparse.Namespace) -> None:
    """``options`` are those of the parser's command ``mcp``."""
    access = Access.of(options.root, read_only=options.read_only)
    engine.confine(access.roots)
    fastmcp.settings.enable_rich_logging = False  # plain lines on stderr
    configure_logging("WARNING")
    logging.getLogger("mcp").setLevel(logging.ERROR)  # it warns of every client that goes away
    server = build_server(engine, access, options.max_tokens)
    if options.http:
        token = engine.settings.mcp_token
        host, port = http.address(options.http, token)
        await http.serve(server, host, port, token, options.allow_origin)
        return
    try:
        with wire() as client:
            for ending in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(ending, _end, client)
            await server.run_stdio_async(show_banner=False, log_level="WARNING")
    except ExceptionGroup as group:
        if group.split(BrokenPipeError)[1] is not None:
            raise
        raise BrokenPipeError from group  # the client went away: the command line ends quietly


def _end(client: Wire) -> None:
    """End in order; by force where that takes long, as it does while a client reads none of its answers."""
    client.end()
    force = threading.Timer(_SECONDS, os._exit, (1,))
    force.daemon = True
    force.start()
