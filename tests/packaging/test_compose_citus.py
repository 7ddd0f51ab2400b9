"""The experimental compose file of a cluster: valid, and only the API is reached from outside."""

import re
import subprocess
import sys
from typing import Any

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from app.adapters.db.distribution import OLDEST, WANTED
from app.adapters.postgres.programs import MAJOR
from app.process.cli import app
from tests.packaging.checkout import ROOT, check_with_compose, needs_compose

_FILE = ROOT / "docker-compose.citus.yml"
_DOCKERFILE = ROOT / "Dockerfile.citus"
_NODES = ["coordinator", "worker1", "worker2"]
_OURS = ["migrate", "distribute", "api", "worker"]


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe").load(_FILE)["services"]
    return found


def test_meets_the_compose_schema() -> None:
    command = [sys.executable, "-m", "check_jsonschema"]
    subprocess.run([*command, "--builtin-schema", "vendor.compose-spec", _FILE], check=True)


@needs_compose
def test_compose_itself_takes_the_file() -> None:
    check_with_compose(_FILE)


def test_only_the_api_is_published_and_on_the_loopback_address(services: dict[str, Any]) -> None:
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert published == {"api": ["${MEMORY_BANK_PUBLISH:-127.0.0.1:8000}:8000"]}
    assert "docker.sock" not in _FILE.read_text()


def test_each_starts_when_what_it_needs_is_ready(services: dict[str, Any]) -> None:
    ready = {name: {"condition": "service_healthy"} for name in _NODES}
    done = {"condition": "service_completed_successfully"}
    assert services["migrate"]["depends_on"] == ready
    assert services["distribute"]["depends_on"] == {**ready, "migrate": done}
    for name in ("api", "worker"):
        assert services[name]["depends_on"] == {**ready, "distribute": done}


@pytest.mark.parametrize("name", _OURS)
def test_runs_a_command_that_exists(services: dict[str, Any], name: str) -> None:
    command = services[name]["command"]
    assert CliRunner().invoke(app, [*command, "--help"]).exit_code == 0
    if name == "distribute":
        named = [f"--{role.rstrip('12')}={role}:5432" for role in _NODES]
        assert command[1:] == named


@pytest.mark.parametrize("name", _NODES)
def test_a_node_has_the_settings_that_distribute_asks_for(
    services: dict[str, Any], name: str
) -> None:
    node = services[name]
    program, *options = node["command"]
    assert (program, set(options[::2])) == ("postgres", {"-c"})
    settings = dict(option.split("=") for option in options[1::2])
    assert settings["shared_preload_libraries"] == "citus"
    assert {setting: settings[setting] for setting in WANTED} == WANTED
    assert settings["max_prepared_transactions"] == settings["max_connections"]
    assert node["volumes"] == [f"{name}:/var/lib/postgresql"]
    assert node["secrets"] == ["postgres-password", "citus-passwords"]


@pytest.mark.parametrize("name", _OURS)
def test_runs_without_privileges(services: dict[str, Any], name: str) -> None:
    assert services[name]["cap_drop"] == ["ALL"]
    assert services[name]["read_only"] is True
    assert services[name]["secrets"] == ["citus-url", "model-key"]


def test_no_variable_must_be_set_before_the_first_start() -> None:
    text = _FILE.read_text()
    assert text.count("${") == text.count(":-")  # every variable has a default


def test_the_image_is_of_a_release_that_distribute_takes(services: dict[str, Any]) -> None:
    found = re.search(
        r"^ARG CITUS_IMAGE=(citusdata/citus:(\d+)\.\d+\.\d+)$",
        _DOCKERFILE.read_text(),
        re.MULTILINE,
    )
    assert found is not None
    assert int(found[2]) >= OLDEST
    assert (
        services["coordinator"]["build"]["args"]["CITUS_IMAGE"] == f"${{CITUS_IMAGE:-{found[1]}}}"
    )
    assert f"postgresql-{MAJOR}-pgvector" in _DOCKERFILE.read_text()


@pytest.mark.parametrize("file", [_FILE, _DOCKERFILE])
def test_says_that_it_is_experimental(file: Any) -> None:
    assert file.read_text().startswith("# Experimental: ")
