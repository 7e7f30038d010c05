"""PgBouncer in transaction mode before a server: two connections for however many clients."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests import postgres, qdrant_real

CONNECTIONS = 2


@contextmanager
def pooler(url: str) -> Iterator[str]:
    """The URL of the same database through it. Skips where PgBouncer is not installed."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("PgBouncer is not installed (Debian: apt-get install pgbouncer)")
    to, port = make_url(url), qdrant_real.free_port()
    folder = Path(tempfile.mkdtemp(prefix="pgbouncer-"))
    user = postgres.unprivileged()
    (folder / "users").write_text(f'"{to.username}" ""\n')
    (folder / "settings").write_text(
        f"[databases]\n{to.database} = host=127.0.0.1 port={to.port} dbname={to.database}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = trust\n"
        f"auth_file = {folder}/users\npool_mode = transaction\ndefault_pool_size = {CONNECTIONS}\n"
        "max_client_conn = 200\n"
    )
    if user is not None:
        for one in (folder, *folder.iterdir()):
            shutil.chown(one, user)
    running = subprocess.Popen(
        [program, "-q", folder / "settings"], user=user, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        through = to.set(port=port).render_as_string(hide_password=False)
        postgres.reached(through)
        yield through
    finally:
        running.kill()
        running.wait(600)
        shutil.rmtree(folder, ignore_errors=True)
