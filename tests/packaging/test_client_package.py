"""The Python client installs where nothing else is, and brings httpx alone."""

import json
import subprocess
import sys
from pathlib import Path

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


def test_it_brings_httpx_alone_and_its_readme_runs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=_CLIENT, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
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
