"""The images, built and started where a container engine runs; elsewhere see test_dockerfile."""

import json
import subprocess
import time

import pytest

from scripts import make_sbom
from tests.packaging.checkout import ROOT

_START_SECONDS = 120


def _docker(*arguments: str) -> str:
    command = ["docker", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def _has_engine() -> bool:
    asked = subprocess.run(["sh", "-c", "docker info"], capture_output=True, check=False)
    return asked.returncode == 0


pytestmark = pytest.mark.skipif(not _has_engine(), reason="no container engine runs here")


@pytest.mark.parametrize(("target", "megabytes"), [("full", 500), ("slim", 380)])
def test_the_image_has_its_size_and_its_papers(target: str, megabytes: int) -> None:
    name = f"open-memory-bank-test:{target}"
    _docker("build", "--target", target, "--tag", name, ".")
    (described,) = json.loads(_docker("image", "inspect", name))
    assert described["Size"] <= megabytes * 1_000_000
    paper = described["Config"]["Labels"]["org.open-memory-bank.sbom"]
    inside = _docker("run", "--rm", "--entrypoint", "cat", name, paper)
    assert inside == make_sbom.SBOM.read_text()


def test_the_full_image_serves_on_a_read_only_file_system() -> None:
    name = "open-memory-bank-test:full"
    _docker("build", "--target", "full", "--tag", name, ".")
    hardened = ("--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL")
    container = _docker("run", "--detach", *hardened, name).strip()
    try:
        deadline = time.monotonic() + _START_SECONDS
        state = ["inspect", "--format", "{{.State.Health.Status}}", container]
        while (health := _docker(*state).strip()) != "healthy":
            assert time.monotonic() < deadline, health
            time.sleep(0.5)
        assert _docker("exec", container, "cat", "/data/admin-key").startswith("omb_")
        assert "omb_" not in _docker("logs", container)
    finally:
        _docker("rm", "--force", "--volumes", container)
