"""The compose file: valid, nothing to edit, and only the API can be reached from outside."""

import subprocess
import sys
from typing import Any

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from app.process.cli import app
from tests.packaging.checkout import ROOT

_FILE = ROOT / "docker-compose.yml"
_OURS = ["migrate", "api", "worker"]


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe").load(_FILE)["services"]
    return found


def test_meets_the_compose_schema() -> None:
    command = [sys.executable, "-m", "check_jsonschema"]
    subprocess.run([*command, "--builtin-schema", "vendor.compose-spec", _FILE], check=True)


def test_only_the_api_is_published_and_on_the_loopback_address(services: dict[str, Any]) -> None:
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert published == {"api": ["${MEMORY_BANK_PUBLISH:-127.0.0.1:8000}:8000"]}


def test_each_starts_when_what_it_needs_is_ready(services: dict[str, Any]) -> None:
    ready = {"postgres": {"condition": "service_healthy"}}
    migrated = {**ready, "migrate": {"condition": "service_completed_successfully"}}
    needs = {name: service.get("depends_on") for name, service in services.items()}
    assert needs == {"postgres": None, "migrate": ready, "api": migrated, "worker": migrated}
    assert "healthcheck" in services["postgres"]


@pytest.mark.parametrize("name", _OURS)
def test_runs_a_command_that_exists(services: dict[str, Any], name: str) -> None:
    assert CliRunner().invoke(app, [*services[name]["command"], "--help"]).exit_code == 0


def test_the_health_of_the_worker_is_asked_at_its_port(services: dict[str, Any]) -> None:
    worker = services["worker"]
    assert worker["command"] == ["worker", "--port", "8001"]
    assert "'127.0.0.1', 8001" in worker["healthcheck"]["test"][-1]


@pytest.mark.parametrize("name", _OURS)
def test_all_use_the_one_database_with_its_password(services: dict[str, Any], name: str) -> None:
    database = services["postgres"]["environment"]
    used = services[name]["environment"]
    address = "postgresql://{POSTGRES_USER}@postgres:5432/{POSTGRES_DB}".format_map(database)
    assert used["MEMORY_BANK_DATABASE_URL"] == address
    assert used["PGPASSWORD"] == database["POSTGRES_PASSWORD"]


@pytest.mark.parametrize("name", _OURS)
def test_runs_without_privileges(services: dict[str, Any], name: str) -> None:
    assert services[name]["cap_drop"] == ["ALL"]
    assert services[name]["security_opt"] == ["no-new-privileges:true"]
    assert "user" not in services[name]  # that of the image, which is not root
    assert services[name]["read_only"] is True
    assert services[name]["tmpfs"] == ["/tmp"]


@pytest.mark.parametrize("name", ["postgres", *_OURS])
def test_neither_a_process_nor_its_log_takes_the_whole_machine(
    services: dict[str, Any], name: str
) -> None:
    assert services[name]["pids_limit"] == 512
    assert services[name]["mem_limit"] in {"2g", "4g"}
    assert services[name]["logging"]["options"] == {"max-size": "20m", "max-file": "5"}


def test_postgres_has_time_to_stop_and_memory_to_share(services: dict[str, Any]) -> None:
    assert services["postgres"]["stop_grace_period"] == "60s"
    assert services["postgres"]["shm_size"] == "256m"


@pytest.mark.parametrize("name", _OURS)
def test_every_setting_reaches_the_processes(services: dict[str, Any], name: str) -> None:
    assert services[name]["env_file"] == [{"path": ".env", "required": False}]


def test_nothing_must_be_set_before_the_first_start(services: dict[str, Any]) -> None:
    text = _FILE.read_text()
    assert text.count("${") == text.count(":-")  # every variable has a default
    assert services["api"]["environment"]["MEMORY_BANK_ADMIN_KEY"] is None  # handed on if set


def test_the_data_outlives_the_containers(services: dict[str, Any]) -> None:
    assert services["postgres"]["volumes"] == ["postgres:/var/lib/postgresql/data"]
