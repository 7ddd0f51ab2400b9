"""The compose file: valid, nothing to edit, and only the API can be reached from outside."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from app.adapters.postgres.programs import MAJOR
from app.process.cli import app
from tests.packaging.checkout import ROOT, check_with_compose, needs_compose

_FILE = ROOT / "docker-compose.yml"
_OURS = ["migrate", "api", "worker"]
_SECRETS = ["postgres-password", "database-url", "model-key"]


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe").load(_FILE)
    return found


@pytest.fixture(scope="module")
def services(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["services"]
    return found


@pytest.fixture
def run_init(services: dict[str, Any], tmp_path: Path) -> Callable[[], str]:
    """What runs the commands of `init` on a folder, and returns whom it would give which files."""
    programs = tmp_path / "programs"
    programs.mkdir()
    # Only root may give files away.
    (programs / "chown").write_text('#!/bin/sh\necho "chown $*"\n')
    (programs / "chown").chmod(0o755)
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    init = services["init"]
    assert init["volumes"] == ["./secrets:/secrets"]
    (script,) = init["command"]
    script = script.replace("$$", "$").replace("cd /secrets", f"cd {secrets}")

    def run() -> str:
        command = ["env", f"PATH={programs}:/usr/bin:/bin", *init["entrypoint"], script]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    return run


def test_meets_the_compose_schema() -> None:
    command = [sys.executable, "-m", "check_jsonschema"]
    subprocess.run([*command, "--builtin-schema", "vendor.compose-spec", _FILE], check=True)


@needs_compose
def test_compose_itself_takes_the_file() -> None:
    check_with_compose(_FILE)


def test_only_the_api_is_published_and_on_the_loopback_address(services: dict[str, Any]) -> None:
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert published == {"api": ["${MEMORY_BANK_PUBLISH:-127.0.0.1:8000}:8000"]}


def test_each_starts_when_what_it_needs_is_ready(services: dict[str, Any]) -> None:
    ready = {"postgres": {"condition": "service_healthy"}}
    migrated = {**ready, "migrate": {"condition": "service_completed_successfully"}}
    needs = {name: service.get("depends_on") for name, service in services.items()}
    assert needs == {
        "init": None,
        "postgres": None,
        "migrate": ready,
        "api": migrated,
        "worker": migrated,
    }
    assert "healthcheck" in services["postgres"]


@pytest.mark.parametrize("name", _OURS)
def test_runs_a_command_that_exists(services: dict[str, Any], name: str) -> None:
    assert CliRunner().invoke(app, [*services[name]["command"], "--help"]).exit_code == 0


def test_passwords_and_keys_are_in_files_and_none_has_a_default(
    document: dict[str, Any], services: dict[str, Any]
) -> None:
    assert document["secrets"] == {name: {"file": f"./secrets/{name}"} for name in _SECRETS}
    assert services["postgres"]["secrets"] == ["postgres-password"]
    assert services["postgres"]["environment"] == {
        "POSTGRES_USER": "memory_bank",
        "POSTGRES_DB": "memory_bank",
        "POSTGRES_PASSWORD_FILE": "/run/secrets/postgres-password",
    }
    for name in _OURS:
        assert services[name]["secrets"] == ["database-url", "model-key"]
        file = {"MEMORY_BANK_DATABASE_URL_FILE": "/run/secrets/database-url"}
        assert services[name]["environment"] == file


def test_init_makes_the_secrets_once(
    services: dict[str, Any], run_init: Callable[[], str], tmp_path: Path
) -> None:
    folder = tmp_path / "secrets"
    assert f"chown 10001:10001 {' '.join(_SECRETS)}\n" in run_init()
    made = {file.name: file.read_text() for file in folder.iterdir()}
    assert made.keys() == set(_SECRETS)
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}
    password = made["postgres-password"]
    assert re.fullmatch("[0-9a-f]{48}", password)
    address = "postgresql://{POSTGRES_USER}:PASSWORD@postgres:5432/{POSTGRES_DB}\n"
    address = address.format_map(services["postgres"]["environment"])
    assert made["database-url"] == address.replace("PASSWORD", password)
    assert made["model-key"] == ""
    (folder / "model-key").write_text("a key")
    run_init()
    after = {file.name: file.read_text() for file in folder.iterdir()}
    assert after == made | {"model-key": "a key"}  # nothing is replaced
    (folder / "postgres-password").unlink()
    run_init()
    password = (folder / "postgres-password").read_text()
    assert password != made["postgres-password"]
    assert f":{password}@" in (folder / "database-url").read_text()  # they stay together


def test_init_can_do_no_more_than_write_its_folder(services: dict[str, Any]) -> None:
    init = services["init"]
    assert init["profiles"] == ["init"]  # `up` leaves it alone
    assert (init["network_mode"], init["read_only"], init["cap_drop"]) == ("none", True, ["ALL"])
    assert init["cap_add"] == ["CHOWN", "DAC_OVERRIDE"]


def test_postgres_is_of_the_major_version_that_is_embedded(services: dict[str, Any]) -> None:
    """Compose and the embedded server run 18, on which alone there are tests."""
    image = services["postgres"]["image"]
    assert image == services["init"]["image"]
    assert re.fullmatch(
        rf"\$\{{POSTGRES_IMAGE:-pgvector/pgvector:\d+\.\d+\.\d+-pg{MAJOR}\}}", image
    )
    assert MAJOR == "18"


def test_the_health_of_the_worker_is_asked_at_its_port(services: dict[str, Any]) -> None:
    worker = services["worker"]
    assert worker["command"] == ["worker", "--host", "0.0.0.0", "--port", "8001"]
    assert "'127.0.0.1', 8001" in worker["healthcheck"]["test"][-1]


@pytest.mark.parametrize("name", _OURS)
def test_runs_without_privileges(services: dict[str, Any], name: str) -> None:
    assert services[name]["cap_drop"] == ["ALL"]
    assert services[name]["security_opt"] == ["no-new-privileges:true"]
    assert "user" not in services[name]  # that of the image, which is not root
    assert services[name]["read_only"] is True
    assert services[name]["tmpfs"] == ["/tmp"]


@pytest.mark.parametrize("name", ["init", "postgres", *_OURS])
def test_neither_a_process_nor_its_log_takes_the_whole_machine(
    services: dict[str, Any], name: str
) -> None:
    assert services[name]["pids_limit"] == 512
    assert services[name]["mem_limit"] in {"64m", "2g", "4g"}
    assert services[name]["logging"]["options"] == {"max-size": "20m", "max-file": "5"}


def test_postgres_has_time_to_stop_and_memory_to_share(services: dict[str, Any]) -> None:
    assert services["postgres"]["stop_grace_period"] == "60s"
    assert services["postgres"]["shm_size"] == "256m"


@pytest.mark.parametrize("name", _OURS)
def test_every_setting_reaches_the_processes(services: dict[str, Any], name: str) -> None:
    assert services[name]["env_file"] == [{"path": ".env", "required": False}]


def test_no_variable_must_be_set_before_the_first_start() -> None:
    text = _FILE.read_text()
    assert text.count("${") == text.count(":-")  # every variable has a default


def test_the_data_outlives_the_containers(services: dict[str, Any]) -> None:
    assert services["postgres"]["volumes"] == ["postgres:/var/lib/postgresql"]
