"""A network that loses every packet between us and the database, as no stopped process does: nothing is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from hybrid_core.errors import UnreachableError
from hybrid_core.store.catalog.catalog import Catalog
from tests import postgres
from tests.hybrid_core.store.test_catalog import ALPHA, content, publish

pytestmark = pytest.mark.endurance
_THERE, _HERE = "10.231.77.2", "10.231.77.1"
_NOTICED = 45.0  # seconds


class Network:
    """A network namespace with one link to this one, which can be cut."""

    def __init__(self) -> None:
        self.name = f"pageindex{os.getpid()}"
        self._link, self._there = f"pi{os.getpid()}", f"pj{os.getpid()}"
        for command in (
            f"netns add {self.name}", f"link add {self._link} type veth peer name {self._there}",
            f"link set {self._there} netns {self.name}", f"addr add {_HERE}/30 dev {self._link}",
            f"link set {self._link} up",
            f"-n {self.name} addr add {_THERE}/30 dev {self._there}", f"-n {self.name} link set {self._there} up",
            f"-n {self.name} link set lo up",
        ):  # fmt: skip
            self._ip(command)

    def cut(self) -> None:
        """Packets are lost; neither side is told."""
        self._ip(f"-n {self.name} link set {self._there} down")

    def mend(self) -> None:
        self._ip(f"-n {self.name} link set {self._there} up")

    def remove(self) -> None:
        self._ip(f"link delete {self._link}")
        self._ip(f"netns delete {self.name}")

    def _ip(self, command: str) -> None:
        subprocess.run(["ip", *command.split()], check=True, capture_output=True)


@contextmanager
def network() -> Iterator[Network]:
    if os.getuid() or not shutil.which("ip") or not shutil.which("setpriv"):
        pytest.skip("network namespaces need root, iproute2 and setpriv")
    try:
        made = Network()
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no network namespaces here: {error.stderr.decode()}")
    try:
        yield made
    finally:
        made.remove()


@contextmanager
def server_in(there: Network) -> Iterator[str]:
    """The URL of a PostgreSQL server at the other end."""
    initdb, program, user = postgres.program("initdb"), postgres.program("postgres"), postgres.unprivileged()
    if initdb is None or program is None or user is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    shutil.chown(folder, user)
    data = folder / "data"
    made = [initdb, "-D", data, "-U", "tests", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
    subprocess.run(made, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL)
    with (data / "pg_hba.conf").open("a") as allowed:
        allowed.write(f"host all all {_HERE}/32 trust\n")
    inside = ["ip", "netns", "exec", there.name, "setpriv", "--reuid", user, "--clear-groups"]
    options = [f"-clisten_addresses={_THERE}", "-cport=5432", f"-cunix_socket_directories={folder}", "-F"]
    running = subprocess.Popen([*inside, program, "-D", data, *options], cwd=folder, stderr=subprocess.DEVNULL)
    try:
        url = f"postgresql+psycopg://tests@{_THERE}:5432/postgres"
        postgres.reached(url)
        yield url
    finally:
        running.kill()
        running.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def test_a_database_that_no_packet_reaches_is_said_and_used_again(tmp_path: Path) -> None:
    with network() as between, server_in(between) as url, closing(Catalog(tmp_path / "c.sqlite", url)) as catalog:
        catalog.ensure_library("default")
        publish(catalog, "d1", ALPHA, content(1, "alpha"))
        raised: list[BaseException] = []

        def waits() -> None:  # for a statement that the server has, and whose answer is lost
            try:
                with catalog.snapshot() as snapshot:
                    snapshot._connection.execute(text("SELECT pg_sleep(2)"))
            except UnreachableError as error:
                raised.append(error)

        waiting = threading.Thread(target=waits)
        waiting.start()
        time.sleep(0.5)
        between.cut()
        began = time.monotonic()
        with pytest.raises(UnreachableError, match="does not answer"), catalog.snapshot() as snapshot:
            snapshot.published("default")
        waiting.join(_NOTICED)
        assert len(raised) == 1 and time.monotonic() < began + _NOTICED
        between.mend()
        with catalog.snapshot() as snapshot:
            assert set(snapshot.published("default")) == {"d1"}
        publish(catalog, "d2", ALPHA, None)
