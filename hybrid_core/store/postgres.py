"""A database on a PostgreSQL server: connections, exclusive writers, and error translation."""

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
_KEEPALIVE = {  # detects a dead network after about 20 s, not after the system's default of two hours
    "tcp_user_timeout": 20_000, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 2,
}  # fmt: skip
_PATIENCE = 5.0  # seconds to wait for a server that restarts or has no free connection
_PAUSE = 0.1
_ONE_WRITES = text("SELECT pg_advisory_xact_lock(hashtextextended('hybrid-pageindex catalog', 0))")
_SET_LOCK_TIMEOUT = text(f"SET LOCAL lock_timeout = '{BUSY_SECONDS}s'")
_SIZE = text("SELECT pg_database_size(current_database())")
# Classes of SQLSTATE after which a retry may help: connection, slow transaction, rollback, resources, locks, shutdown.
_LATER = ("08", "25P03", "25P04", "40", "53", "55", "57")
_LOST_STATES = ("08", "25P03", "25P04", "57P")  # the connection is lost, or will be in a moment
_REFUSALS = (  # messages of libpq, which has no codes; in other languages every error is retried
    "authentication failed", "does not exist", "no password supplied", "no pg_hba.conf entry", "permission denied",
)  # fmt: skip
_DAMAGE = ("XX001", "XX002")  # damaged data, or a damaged index
_READ_ONLY, _LOCKED, _FULL = "25006", "55P03", "53100"
_HOW = "Write the setting like postgresql://user@localhost/pageindex, or leave it empty to use SQLite."


class PostgresDatabase:
    """A PostgreSQL database. Safe for several threads, processes and machines, even behind transaction poolers.

    No state outlives a transaction: there are no prepared statements, session locks or session settings.
    """

    read_only = ""  # a server may become writable later, so refused writes raise an error instead

    def __init__(self, url: str, ready: Callable[[Connection], bool], prepare: Callable[[Connection], None]) -> None:
        """Connect, and let ``prepare`` create or upgrade the tables if they are not ``ready``.

        If the tables are ready, no write transaction is needed. Only one process prepares at a time. Raise UsageError
        for an invalid address, PageIndexError if the driver is not installed, StoreError if the server cannot be
        reached, and the errors of ``prepare``.
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
            pool_pre_ping=True,  # no error after a restart of the server
            isolation_level="READ COMMITTED",  # a writer that waited sees the writes before its turn
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
        """Close the idle connections. Connections in use are closed when they are returned to the pool."""
        self._closed = True
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Begin a consistent read. Raise BrokenReadError if the connection broke and the read has to be repeated."""
        options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        with self._translated(), self._connected() as connection:
            connection = connection.execution_options(**options)
            with self._translated(BrokenReadError), connection.begin():
                yield connection

    @contextmanager
    def writing(self, before: Callable[[Connection], None] = nothing) -> Iterator[Connection]:
        """Begin a write transaction. Writers exclude each other, because each reads the catalog before it writes."""
        with self._translated(), self._connected(_SET_LOCK_TIMEOUT) as connection:
            try:
                before(connection)
                connection.execute(_ONE_WRITES)
                yield connection
                connection.commit()
            except DatabaseError as error:
                if _state(error) == _READ_ONLY:  # the server at another address may be writable
                    connection.invalidate()
                raise

    def _given_back(self, connection: Any, record: ConnectionPoolEntry) -> None:
        """Reset a connection that is returned to the pool, or close it if the database is closed.

        Without the reset, SQLAlchemy would begin the next transaction as READ WRITE, which a read-only server refuses.
        """
        if self._closed:
            record.invalidate()
        elif connection is not None and not connection.closed:
            connection.read_only = None

    def _connected(self, first: TextClause | None = None) -> Connection:
        """Return a connection on which only ``first`` was executed.

        Retry for a while if no connection is possible or it is lost. Behind a pooler, only the execution of a first
        statement shows that a connection is lost.
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
        """Return whether the server refuses the user name or password, so that a retry is useless.

        It is False once the database has been opened successfully.
        """
        return self._opening and _state(error) is None and any(sign in str(error.orig) for sign in _REFUSALS)

    def shrink(self) -> None:
        """Do nothing: the server reclaims space by itself."""

    def wipe(self) -> None:
        """Do nothing: only the server's own VACUUM removes rows from its files."""

    def check(self) -> None:
        """Check that the database answers; raise StoreError if not. The server checks its data itself."""
        self.size_bytes()

    def size_bytes(self) -> int:
        with self.reading() as connection:
            return int(connection.scalar(_SIZE) or 0)

    @contextmanager
    def _translated(self, lost: type[UnreachableError] = UnreachableError) -> Iterator[None]:
        """Translate the server's errors into errors of this project, which say whether a retry may help.

        ``lost`` is the error for a broken connection.
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
            raise DamageError(
                f"{self}: this database does not contain a catalog, or the catalog is damaged ({error}).",
                DAMAGED_DATABASE,
            ) from error
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
                raise DiskFullError(
                    f"{self}: {reason}.", "Free some space on the disk of the database server."
                ) from error
            if state == _LOCKED:
                message = f"{self}: another process has been writing to the catalog for more than {BUSY_SECONDS} s."
                raise BusyError(message, "Try again.") from error
            if self._refused(error):
                raise StoreError(
                    f"{self}: the database server refuses the connection ({reason}).",
                    "Correct the user, the password or the database in the setting postgres_url.",
                ) from error
            message = f"{self}: the database server does not answer ({reason})."
            if error.connection_invalidated or (state or "").startswith(_LOST_STATES):
                raise lost(message, "Try again when the server is reachable.") from error
            if state is None or state.startswith(_LATER):
                raise UnreachableError(message, "Try again when the server is reachable.") from error
            if state in _DAMAGE:
                raise DamageError(
                    f"{self}: the catalog in this database is damaged ({reason}).", DAMAGED_DATABASE
                ) from error
            raise StoreError(
                f"{self}: the database cannot be read or written ({reason}).", "Check the log of the database server."
            ) from error


def _state(error: DatabaseError | InterfaceError) -> str | None:
    return getattr(error.orig, "sqlstate", None)


def address_of(url: str) -> URL:
    """Return the address in a URL with the driver that this project uses, even if the URL names another driver.

    Raise UsageError if the URL is not an address of a PostgreSQL database.
    """
    try:
        address = make_url(url)
    except ArgumentError as error:
        raise UsageError("The setting postgres_url is not a valid address.", _HOW) from error
    if address.get_backend_name() not in ("postgresql", "postgres"):
        raise UsageError(
            f"The setting postgres_url is the address of a database of the type {address.get_backend_name()}, but "
            "only PostgreSQL is supported.",
            _HOW,
        )
    return address.set(drivername=_DRIVER)
