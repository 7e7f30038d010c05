"""A way to a PostgreSQL server on which the answer to a COMMIT can be lost: it was done, and nobody hears of it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sqlalchemy import make_url


class Forgetful:
    """Passes everything on, but once ``armed`` ends a connection instead of telling of its next COMMIT of a write."""

    def __init__(self, url: str) -> None:
        self._to = make_url(url)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = self._to.set(port=self._listening.getsockname()[1]).render_as_string(hide_password=False)
        self.armed = threading.Event()
        self.lost = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection((self._to.host, self._to.port))
                losing = threading.Event()
                threading.Thread(target=self._ask, args=(client, server, losing), daemon=True).start()
                threading.Thread(target=self._tell, args=(client, server, losing), daemon=True).start()

    def _ask(self, client: socket.socket, server: socket.socket, losing: threading.Event) -> None:
        writes = False
        with suppress(OSError):
            while data := client.recv(1 << 16):
                writes |= b"pg_advisory_xact_lock" in data
                if b"COMMIT\0" in data:
                    if writes and self.armed.is_set():
                        self.armed.clear()
                        losing.set()
                    writes = False
                server.sendall(data)
        _end(server)

    def _tell(self, client: socket.socket, server: socket.socket, losing: threading.Event) -> None:
        with suppress(OSError):
            while data := server.recv(1 << 16):
                if losing.is_set():
                    self.lost += 1
                    break
                client.sendall(data)
        _end(client)
        _end(server)


def _end(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


@contextmanager
def forgetful(url: str) -> Iterator[Forgetful]:
    made = Forgetful(url)
    try:
        yield made
    finally:
        made.close()
