"""The Python client installs where nothing else is, and brings httpx alone."""

import json
import subprocess
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

from app.kernel.release import RELEASE
from scripts.make_dist import build
from tests.packaging.checkout import ROOT, scratch_folder
from tests.support.documents import samples
from tests.support.live import KEY, live_server

_CLIENT = ROOT / "clients" / "python"
_OF_HTTPX = {"anyio", "certifi", "h11", "httpcore", "httpx", "idna", "sniffio", "typing-extensions"}
_INSTALL = """\
. scripts/lib.sh
find_index
.venv/bin/uv venv --quiet --python .venv/bin/python "$1"
.venv/bin/uv pip install --quiet --python "$1/bin/python" "$2"
.venv/bin/uv pip list --format json --python "$1/bin/python"
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The wheel and the source distribution."""
    return build(_CLIENT, tmp_path_factory.mktemp("dist"))


def test_both_packages_carry_the_licence(packages: list[Path]) -> None:
    wheel, packed = packages
    name = f"open_memory_bank_client-{RELEASE}"
    with ZipFile(wheel) as archive:
        in_wheel = archive.read(f"{name}.dist-info/licenses/LICENSE")
    with tarfile.open(packed) as source:
        member = source.extractfile(f"{name}/LICENSE")
        assert member is not None
        in_source = member.read()
    assert in_wheel == in_source == (ROOT / "LICENSE").read_bytes()


def test_the_package_for_typescript_carries_the_licence() -> None:
    # npm packs a file of this name, whatever `files` lists.
    assert (ROOT / "clients/typescript/LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_it_brings_httpx_alone_and_its_readme_runs(packages: list[Path], tmp_path: Path) -> None:
    wheel, _ = packages
    venv = tmp_path / "venv"
    command = ["sh", "-euc", _INSTALL, "install", str(venv), str(wheel)]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    names = {package["name"] for package in json.loads(listed)}
    assert names - _OF_HTTPX == {"open-memory-bank-client"}
    program, *_ = samples(_CLIENT / "README.md", "python")
    with scratch_folder() as folder, live_server(folder, MEMORY_BANK_EMBEDDER="hash") as server:
        placed = program.replace("http://127.0.0.1:8000", server.url).replace("...", KEY)
        command = [str(venv / "bin" / "python"), "-I", "-c", placed]
        ended = subprocess.run(command, check=True, capture_output=True, text=True)
    assert ended.stdout == "I prefer window seats.\n"
