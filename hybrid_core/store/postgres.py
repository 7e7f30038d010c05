"""A database of a PostgreSQL server: connections, turns of writers, and its errors as ours."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, TextClause, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import ConnectionPoolEntry

from hybrid_core.errors import (
    BrokenReadError,
    BusyError,
    DamageError,
    DiskFullError,
    StoreError,
    UnreachableError,
    UsageError,
)
from hybrid_core.store.database import BUSY_SECONDS, CONNECTIONS, DAMAGED_DATABASE, DEFECTS, UNREADABLE, nothing
from hybrid_core.system import require

_DRIVER = "postgresql+psycopg"
_CONNECT_SECONDS = 10
_KEEPALIVE = {  # a network that loses everything is noticed after some 20 s, and not after the system's two hours
    "tcp_user_timeout": 20_000, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 2,
}  # fmt: skip
_PATIENCE = 5.0  # seconds for which a server that was there is waited for: it may restart, or have no connection left
_PAUSE = 0.1
_ONE_WRITES = text("SELECT pg_advisory_xact_lock(hashtextextended('hybrid-pageindex catalog', 0))")
_SET_LOCK_TIMEOUT = text(f"SET LOCAL lock_timeout = '{BUSY_SECONDS}s'")
_SIZE = text("SELECT pg_database_size(current_database())")
# Classes of SQLSTATE: connection, transactions that took too long, rollback, resources, locks, cancelled or shut down.
_LATER = ("08", "25P03", "25P04", "40", "53", "55", "57")
_LOST_STATES = ("08", "25P03", "25P04", "57P")  # the connection is, or will be in a moment
_REFUSALS = (  # as libpq says them, without a code; in other languages all is waited for
    "authentication failed", "does not exist", "no password supplied", "no pg_hba.conf entry", "permission denied",
)  # fmt: skip
_DAMAGE = ("XX001", "XX002")  # data, or an index
_READ_ONLY, _LOCKED, _FULL = "25006", "55P03", "53100"
_HOW = "Write it like postgresql://user@localhost/pageindex, or leave it empty."


class PostgresDatabase:
    """A PostgreSQL database. Safe for several threads, processes and machines, even behind transaction poolers.

    No state outlives a transaction: no prepared statements, session locks or session settings.
    """

    read_only = ""  # what keeps a server from writes may pass: it says so where it is written to

    def __init__(self, url: str, ready: Callable[[Connection], bool], prepare: Callable[[Connection], None]) -> None:
        """Connect, and let ``prepare`` create or upgrade the tables if they are not ``ready``.

        Readers do not queue with writers. Only one process prepares at a time. Raise UsageError for an invalid address,
        PageIndexError if the driver is not installed, StoreError if the server cannot be reached, and the errors of
        ``prepare``.
        """
        self._url = address_of(url)
        require("psycopg", "postgres")
        self.engine = create_engine(
            self._url,
            connect_args={
                "connect_timeout": _CONNECT_SECONDS,
                "prepare_threshold": None,
                **{name: value for name, value in _KEEPALIVE.items() if name not in self._url.query},
            },
            pool_size=CONNECTIONS,
            max_overflow=0,
            pool_timeout=BUSY_SECONDS,
            pool_use_lifo=True,
            pool_pre_ping=True,  # a server that was restarted costs no error
            isolation_level="READ COMMITTED",  # whoever waited for a turn sees what was written before it
        )
        self._closed = False
        event.listen(self.engine, "checkin", self._given_back)
        self._opening = True
        try:
            with self.reading() as connection:
                current = ready(connection)
            if not current:
                with self.writing() as connection:
                    prepare(connection)
            self._opening = False
        except BaseException:
            self.engine.dispose()
            raise

    def __str__(self) -> str:
        return self._url.render_as_string(hide_password=True)

    def close(self) -> None:
        """Close the idle connections; those in use are closed when they are given back."""
        self._closed = True
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a consistent view. Raise BrokenReadError where what was read so far is to be read again."""
        options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        with self._translated(), self._connected() as connection:
            connection = connection.execution_options(**options)
            with self._translated(BrokenReadError), connection.begin():
                yield connection

    @contextmanager
    def writing(self, before: Callable[[Connection], None] = nothing) -> Iterator[Connection]:
        """Begin a write transaction. Writers take turns, because each first reads the catalog."""
        with self._translated(), self._connected(_SET_LOCK_TIMEOUT) as connection:
            try:
                before(connection)
                connection.execute(_ONE_WRITES)
                yield connection
                connection.commit()
            except DatabaseError as error:
                if _state(error) == _READ_ONLY:  # another of the addresses may take them
                    connection.invalidate()
                raise

    def _given_back(self, connection: Any, record: ConnectionPoolEntry) -> None:
        """Correct the state of a connection that is given back.

        SQLAlchemy leaves a connection that only read to begin READ WRITE, which a server that takes no writes refuses
        with its own message. It also keeps one that comes back after the end, and nobody will ask for that again.
        """
        if self._closed:
            record.invalidate()
        elif connection is not None and not connection.closed:
            connection.read_only = None

    def _connected(self, first: TextClause | None = None) -> Connection:
        """Return a connection on which nothing was executed but ``first``.

        Try again where there is none, or it is gone: one behind a pooler shows that only with its first statement.
        """
        until = time.monotonic() + _PATIENCE
        while True:
            connection = None
            try:
                connection = self.engine.connect()
                if first is not None:
                    connection.execute(first)
                return connection
            except OperationalError as error:
                if connection is not None:
                    connection.close()
                if time.monotonic() > until or self._refused(error):
                    raise
                time.sleep(_PAUSE)

    def _refused(self, error: DatabaseError | InterfaceError) -> bool:
        """Return whether a server that was never reached refuses a name or password: waiting does not help then."""
        return self._opening and _state(error) is None and any(sign in str(error.orig) for sign in _REFUSALS)

    def shrink(self) -> None:
        """Do nothing: the server does this by itself."""

    def check(self) -> None:
        """Check that the database answers: its data is the server's to check."""
        self.size_bytes()

    def size_bytes(self) -> int:
        with self.reading() as connection:
            return int(connection.scalar(_SIZE) or 0)

    @contextmanager
    def _translated(self, lost: type[UnreachableError] = UnreachableError) -> Iterator[None]:
        """Translate the server's errors into ours, which say whether waiting helps.

        ``lost`` is the error of a connection that broke.
        """
        try:
            yield
        except PoolTimeoutError as error:
            raise BusyError(
                f"{self}: all {CONNECTIONS} database connections of this process were busy for more than "
                f"{BUSY_SECONDS} s.",
                "Try again with fewer requests at once.",
            ) from error
        except DamageError as error:
            error.advice = DAMAGED_DATABASE
            raise
        except UNREADABLE as error:
            raise DamageError(f"{self}: not a catalog, or damaged ({error}).", DAMAGED_DATABASE) from error
        except (DatabaseError, InterfaceError) as error:
            if isinstance(error, DEFECTS):
                raise
            state = _state(error)
            reason = str(error.orig).strip().partition("\n")[0]
            if state == _READ_ONLY:
                raise StoreError(
                    f"{self}: the database server refuses writes ({reason}).", "Set postgres_url to the primary server."
                ) from error
            if state == _FULL:
                raise DiskFullError(f"{self}: {reason}.", "Free some space on the disk of the server.") from error
            if state == _LOCKED:
                message = f"{self}: another process has been writing to the catalog for more than {BUSY_SECONDS} s."
                raise BusyError(message, "Try again.") from error
            if self._refused(error):
                raise StoreError(
                    f"{self}: the database server refuses the connection ({reason}).", "Correct postgres_url."
                ) from error
            message = f"{self}: the database server does not answer ({reason})."
            if error.connection_invalidated or (state or "").startswith(_LOST_STATES):
                raise lost(message, "Try again when the server is reachable.") from error
            if state is None or state.startswith(_LATER):
                raise UnreachableError(message, "Try again when the server is reachable.") from error
            if state in _DAMAGE:
                raise DamageError(f"{self}: damaged ({reason}).", DAMAGED_DATABASE) from error
            raise StoreError(
                f"{self}: cannot be read or written ({reason}).", "Check the log of the database server."
            ) from error


def _state(error: DatabaseError | InterfaceError) -> str | None:
    return getattr(error.orig, "sqlstate", None)


def address_of(url: str) -> URL:
    """Return the address of a database, whatever driver it was written for. Raise UsageError for an invalid one."""
    try:
        address = make_url(url)
    except ArgumentError as error:
        raise UsageError("The setting postgres_url is not a valid address.", _HOW) from error
    if address.get_backend_name() not in ("postgresql", "postgres"):
        raise UsageError(f"The setting postgres_url names {address.get_backend_name()}, not PostgreSQL.", _HOW)
    return address.set(drivername=_DRIVER)
