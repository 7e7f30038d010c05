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
from tests.doors.http.conftest import serving, upload

pytestmark = pytest.mark.slow
COMPOSE = yaml.safe_load((Path(__file__).parents[3] / "docker-compose.yaml").read_text(encoding="utf-8"))
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

        migrated = subprocess.run(command("migrate"), env=os.environ | variables("migrate"), timeout=120, check=True)
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
            assert subprocess.run(asked, env=os.environ | variables("worker"), timeout=60).returncode == 0
        finally:
            for worker in workers:
                worker.terminate()
        assert [worker.wait(60) for worker in workers] == [0, 0]
