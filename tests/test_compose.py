"""What the compose file and the Dockerfile promise; whether a container starts needs Docker, which no test has."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from hybrid_pageindex.cli.parser import build_parser
from hybrid_pageindex.config.settings import load_settings
from tests import qdrant_real

ROOT = Path(__file__).parent.parent
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if "build" in service]
PROFILES = ("default", "scale", "cluster", "celery")
PINNED = re.compile(r"[\w./-]+:v?\d+\.\d+(\.\d+)?(-[\w.-]+)?")


def value(written: str) -> str:
    """As it is where no variable is set."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", written)


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_pinned_confined_and_watched(name: str) -> None:
    service = SERVICES[name]
    assert PINNED.fullmatch(service["image"]), service["image"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", service["user"])
    assert service["read_only"] is True and service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["profiles"] and set(service["profiles"]) <= set(PROFILES)
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
    check = service["healthcheck"]
    assert check == {"disable": True} if name == "migrate" else {"test", "interval", "timeout", "retries"} <= set(check)
    assert set(service.get("secrets", ())) <= set(COMPOSE["secrets"])
    for volume in service.get("volumes", ()):
        source = value(volume).split(":")[0]
        assert source.startswith(".") or source in COMPOSE["volumes"]
    for needed in service.get("depends_on", ()):
        assert set(SERVICES[needed]["profiles"]) & {*service["profiles"], "scale"}


def test_no_password_is_written_in_it_or_usual() -> None:
    for service in SERVICES.values():
        for key, written in service.get("environment", {}).items():
            if re.search("PASSWORD|TOKEN|KEY|POSTGRES_URL|REDIS_URL", key):
                assert written.startswith("/run/secrets/") and written.split("/")[-1] in service["secrets"], key


@pytest.mark.parametrize("name", OURS)
def test_what_our_services_are_started_with_is_understood(name: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("postgresql://a@b/c")
    variables = SERVICES[name]["environment"]
    given = {key: str(secret) if key.endswith("_FILE") else value(written) for key, written in variables.items()}
    load_settings(tmp_path, given)
    if "entrypoint" not in SERVICES[name]:
        build_parser().parse_args(SERVICES[name].get("command") or usual_command())
    check = SERVICES[name]["healthcheck"].get("test", ["", "python"])
    if check[1] == "hybrid-pageindex":
        build_parser().parse_args(check[2:])


def dockerfile() -> list[str]:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def usual_command() -> list[str]:
    (command,) = [line for line in dockerfile() if line.startswith("CMD ")]
    return list(yaml.safe_load(command.removeprefix("CMD ")))


def test_the_image_is_built_of_everything_that_is_installed_and_runs_as_nobody_special() -> None:
    lines = dockerfile()
    bases = [line.split()[1] for line in lines if line.startswith("FROM ")]
    assert len(bases) == 2 and all(PINNED.fullmatch(base) for base in bases)
    assert not [line for line in lines[lines.index("USER 10001:10001") :] if line.startswith(("RUN", "COPY"))]
    copied = {word for line in lines if line.startswith("COPY ") for word in line.split()[1:-1]}
    rooms = {path.parent.name for path in ROOT.glob("*/py.typed")}
    assert rooms <= copied and len(rooms) == 5
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert {one for one in copied if not one.startswith(("/", "--"))} <= let_in
    build_parser().parse_args(usual_command())
    (extras,) = [line for line in lines if line.startswith("ARG EXTRAS=")]
    assert "postgres" in extras and "qdrant" in extras and "sentence-transformers" not in extras


def test_what_a_host_exports_for_it_is_no_setting_of_another_meaning() -> None:
    written = (ROOT / "docker-compose.yaml").read_text(encoding="utf-8")
    used = re.findall(r"\$\{(PAGEINDEX_\w+)", written)
    assert used and used == re.findall(r"^ +(PAGEINDEX_\w+): \$\{\1:-", written, re.M)


def test_every_process_knows_every_node_that_a_profile_may_start() -> None:
    nodes = [name for name in SERVICES if name.startswith("qdrant-")]
    assert len(nodes) == 3
    for name in OURS:
        if "scale" in SERVICES[name]["profiles"] or "celery" in SERVICES[name]["profiles"]:
            urls = value(SERVICES[name]["environment"]["PAGEINDEX_QDRANT_URL"]).split(",")
            assert urls == [f"http://{node}:6333" for node in nodes]


def test_qdrant_is_the_version_that_the_tests_run_against() -> None:
    alone = yaml.safe_load((ROOT / "docker-compose.qdrant.yaml").read_text(encoding="utf-8"))["services"]
    named = [service["image"] for service in (*SERVICES.values(), *alone.values()) if "qdrant/" in service["image"]]
    assert len(named) == 4 and {image.partition(":v")[2].partition("-")[0] for image in named} == {qdrant_real.VERSION}


def test_secrets_are_made_once_and_closed_to_others(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    script = ROOT / "scripts" / "secrets"
    for named, variables in (([folder], {}), ([], {"SECRETS_FOLDER": str(folder)})):
        environment = os.environ | variables
        subprocess.run([script, *named], check=True, timeout=600, stdout=subprocess.DEVNULL, env=environment)
        found = {file.name: file.read_text() for file in folder.iterdir()}
        assert set(found) == set(COMPOSE["secrets"]) and folder.stat().st_mode & 0o777 == 0o700
        for server in ("postgres", "redis"):
            assert f":{found[f'{server}_password']}@{server}:" in found[f"{server}_url"]
    assert found == {file.name: file.read_text() for file in folder.iterdir()}
    assert len({*found.values()}) == len(found) and min(map(len, found.values())) == 48


@pytest.mark.parametrize("file", ["docker-compose.yaml", "docker-compose.qdrant.yaml"])
def test_compose_understands_it(file: str, tmp_path: Path) -> None:
    """Compose itself, or the last release of the one in Python, which Debian has and which needs no engine: it does not
    know that a project may be named in the file."""
    profiles = [word for name in PROFILES for word in ("--profile", name)]
    command = ["docker", "compose", "-f", file, *profiles, "config"]
    if shutil.which("docker") is None or subprocess.run([*command[:2], "version"], capture_output=True).returncode:
        if shutil.which("docker-compose") is None:
            pytest.skip("Docker Compose is not installed (Debian or Ubuntu: apt install docker-compose)")
        unnamed = tmp_path / file
        lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
        unnamed.write_text("\n".join(line for line in lines if not line.startswith("name:")), encoding="utf-8")
        command = ["docker-compose", "--project-directory", str(ROOT), "-f", str(unnamed), *profiles, "config"]
    environment = {"PATH": os.environ["PATH"], "PAGEINDEX_QDRANT_API_KEY": "x"}
    told = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    assert told.returncode == 0, told.stderr
    understood = yaml.safe_load(told.stdout)["services"]
    assert understood.keys() == yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))["services"].keys()
    assert all("${" not in str(service) for service in understood.values()), "each variable has a value"
