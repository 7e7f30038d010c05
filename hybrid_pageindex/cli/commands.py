"""Find the function of a command and run it with an engine."""

from __future__ import annotations

import argparse
import asyncio

from hybrid_core.tracing import sent_traces
from hybrid_pageindex.cli.chat import chat_command
from hybrid_pageindex.cli.documents import (
    briefing_command,
    edit_command,
    list_command,
    open_command,
    original_command,
    outline_command,
    page_command,
    remove_command,
)
from hybrid_pageindex.cli.indexing import (
    embed_command,
    index_command,
    rebuild_command,
    recover_command,
    watch_command,
    worker_command,
)
from hybrid_pageindex.cli.libraries import (
    backup_command,
    bin_command,
    clear_command,
    doctor_command,
    info_command,
    jobs_command,
    libraries_command,
    migrate_command,
    restore_command,
    usage_command,
)
from hybrid_pageindex.cli.search import ask_command, compare_command, grep_command, search_command
from hybrid_pageindex.cli.servers import mcp_command, serve_command, token_command
from hybrid_pageindex.config.logs import start_logs
from hybrid_pageindex.engine.engine import Engine

_COMMANDS = {
    "ask": ask_command,
    "backup": backup_command,
    "bin": bin_command,
    "briefing": briefing_command,
    "chat": chat_command,
    "clear": clear_command,
    "compare": compare_command,
    "doctor": doctor_command,
    "edit": edit_command,
    "embed": embed_command,
    "grep": grep_command,
    "index": index_command,
    "info": info_command,
    "jobs": jobs_command,
    "libraries": libraries_command,
    "list": list_command,
    "mcp": mcp_command,
    "migrate": migrate_command,
    "open": open_command,
    "original": original_command,
    "outline": outline_command,
    "page": page_command,
    "rebuild": rebuild_command,
    "recover": recover_command,
    "remove": remove_command,
    "restore": restore_command,
    "search": search_command,
    "serve": serve_command,
    "token": token_command,
    "usage": usage_command,
    "watch": watch_command,
    "worker": worker_command,
}

_SERVERS = ("mcp", "serve", "watch", "worker")


def run_command(options: argparse.Namespace) -> int:
    """Run the command that was parsed into ``options``, and return its exit code."""
    engine = Engine(getattr(options, "home", None))
    start_logs(engine.settings, serves=options.command in _SERVERS)
    try:
        with sent_traces(engine.settings.traces_url, options.command):
            return asyncio.run(_COMMANDS[options.command](engine, options))
    finally:
        engine.close()
