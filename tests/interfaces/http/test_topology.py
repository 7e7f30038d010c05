"""What the compose file's profile «scale» starts, as processes: the same commands and kinds of variables."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import postgres, qdrant_real
from tests.interfaces.http.conftest import serving, upload

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]


def test_the_servers_of_the_compose_file_work_together_and_end_in_order(tmp_path: Path, postgres_url: str) -> None:
    with ExitStack() as stack:
        qdrant = stack.enter_context(qdrant_real.node("a-key")) if qdrant_real.program() else ""
        secrets = {
            "postgres_url": postgres.plain(postgres.new_database(postgres_url)), "qdrant_api_key": "a-key",
            "http_token": "a-long-random-word",
        }  # fmt: skip
        for name, value in secrets.items():
            (tmp_path / name).write_text(f"{value}\n")
        set_here = {"PAGEINDEX_QDRANT_URL": qdrant, "PAGEINDEX_STORAGE_PATH": str(tmp_path / "home")}

        def variables(service: str) -> dict[str, str]:
            written = SERVICES[service]["environment"]
            files = {key: str(tmp_path / Path(value).name) for key, value in written.items() if key.endswith("_FILE")}
            return files | set_here | {"PAGEINDEX_MACHINE": "compose", "PAGEINDEX_WORKERS": "1"}

        def command(service: str) -> list[str]:
            return [sys.executable, "-m", "hybrid_pageindex", *SERVICES[service]["command"]]

        migrated = subprocess.run(command("migrate"), env=os.environ | variables("migrate"), timeout=600, check=True)
        assert migrated.returncode == 0
        workers = [subprocess.Popen(command("worker"), env=os.environ | variables("worker")) for _ in range(2)]
        try:
            api = stack.enter_context(serving(tmp_path / "home", token="", **variables("api")))
            with api.client(secrets["http_token"]) as client:
                assert client.get("/ready").json() == {"ready": True}
                client.post("/libraries", json={"name": "mills"})
                (job,) = upload(client, "mills", mill="# The mill\n\nThe mill was sold to the town in 1987.\n")
                assert job["status"] == "done"
                found = client.post("/search", json={"question": "who bought the mill", "libraries": ["mills"]}).json()
                assert [page["doc_name"] for page in found["results"]] == ["mill.md"]
            alive = SERVICES["worker"]["healthcheck"]["test"][2:]
            asked = [sys.executable, "-m", "hybrid_pageindex", *alive]
            assert subprocess.run(asked, env=os.environ | variables("worker"), timeout=600).returncode == 0
        finally:
            for worker in workers:
                worker.terminate()
        assert [worker.wait(600) for worker in workers] == [0, 0]


def test_what_scripts_cluster_starts_is_found_by_the_variables_that_it_gives(tmp_path: Path, postgres_url: str) -> None:
    if qdrant_real.program() is None:
        pytest.skip(qdrant_real.REASON)
    (tmp_path / "mill.md").write_text("# The mill\n\nThe mill was sold to the town in 1987.\n", encoding="utf-8")
    engine = f"{sys.executable} -m hybrid_pageindex --home {tmp_path / 'home'}"
    script = (
        f"set -e; {engine} index --upload {tmp_path / 'mill.md'}; "
        f"{engine} search 'who bought the mill' --json; {engine} doctor --json"
    )
    parts = ["postgres", "redis", "qdrant=3", "bucket"]
    ran = subprocess.run(
        [sys.executable, "-m", "tests.cluster", *parts, "--", "bash", "-c", script],
        env=os.environ | {"PAGEINDEX_QDRANT_SHARDS": "4", "PAGEINDEX_QDRANT_REPLICAS": "2"},
        cwd=ROOT, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert '"mill.md"' in ran.stdout and "postgresql+psycopg://" in ran.stdout and "Qdrant server" in ran.stdout
    assert not (tmp_path / "home" / "catalog.sqlite").exists()
