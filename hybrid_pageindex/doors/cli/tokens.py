"""Who may call over HTTP, as it is shown."""

from __future__ import annotations

import argparse
import asyncio
import sys
from dataclasses import asdict

from rich.table import Table

from hybrid_core.types.access import EVERYWHERE, Token
from hybrid_pageindex.doors.cli import show
from hybrid_pageindex.doors.cli.output import dump, visible
from hybrid_pageindex.engine import Engine
from hybrid_pageindex.services.jobs import at


async def tokens(engine: Engine, options: argparse.Namespace) -> int:
    return await asyncio.to_thread(_tokens, engine, options)


def _tokens(engine: Engine, options: argparse.Namespace) -> int:
    json = getattr(options, "json", False)
    if options.action == "create":
        made = engine.tokens.create(options.name, options.role, options.library, days=options.days, user=options.user)
        if json:
            dump(asdict(made))
        elif made.secret:
            print(made.secret)  # alone on stdout, so that a pipe takes the token and nothing else
            remark = f"This token is shown only now. It gives {_rights(made.token)}."
            print(visible(remark), file=sys.stderr)
        else:
            show.console.print(show.escape(f"User {made.token.name} gets {_rights(made.token)}."))
    elif options.action == "revoke":
        revoked = engine.tokens.revoke(options.name)
        dump(asdict(revoked)) if json else show.console.print(show.escape(f"{revoked.name} may call no longer."))
    else:
        found = engine.tokens.all()
        dump({"tokens": [asdict(one) for one in found]}) if json else _show(found)
    return 0


def _show(found: list[Token]) -> None:
    if not found:
        show.console.print("No tokens: hybrid-pageindex token create NAME")
        return
    table = Table("id", "name", "kind", "rights", "made", "used", "until", box=None, pad_edge=False)
    for one in found:
        times = (one.created_at, one.used_at, one.expires_at)
        table.add_row(one.id, show.escape(one.name), one.kind, show.escape(_rights(one)), *map(at, times))
    show.tables().print(table)


def _rights(token: Token) -> str:
    named = [f"{'all libraries' if name == EVERYWHERE else name}: {role}" for name, role in token.grants.items()]
    return ", ".join(named) or "nothing any more"
