"""A TCP relay in front of a server, so that tests can cut the connection without stopping the server."""

from __future__ import annotations

import select
import socket
import threading
from contextlib import suppress


class Relay:
    """A TCP port that forwards to another one, until ``kill``; then it refuses connections until ``start``."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target, self._open = target, set[socket.socket]()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()

    def start(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, args=(self._listening,), daemon=True).start()

    def kill(self) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client: socket.socket) -> None:
        with client, suppress(OSError), socket.create_connection(self._target) as server:
            pair = {client, server}
            self._open |= pair
            try:
                while True:
                    for ready in select.select([client, server], [], [])[0]:
                        if not (data := ready.recv(65536)):
                            return
                        (server if ready is client else client).sendall(data)
            finally:
                self._open -= pair
