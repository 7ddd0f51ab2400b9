"""A process that only serves imports nothing that it may never need."""

import subprocess
import sys

import pytest

from tests.architecture.code import ROOT

_KEPT_OUT = {
    "aiohttp": "embedding by HTTP",
    "alembic": "migrations",
    "app.language.extraction": "generation by rules, in workers",
    "app.memory.generation.services.work": "generation, in workers",
    "app.process.worker": "workers",
    "app.surfaces.console.app": "the console, at its first page",
    "apscheduler": "workers",
    "cryptography": "tokens of an issuer",
    "jinja2": "the console, at its first page",
    "jsonschema": "values of profiles",
    "jwt": "tokens of an issuer",
    "lxml": "the text of a page",
    "mcp": "MCP, at its first message",
    "onnx": "nobody: the graph is a file of the package",
    "onnxruntime": "the embedder, once it is loaded",
    "puremagic": "files of unknown type",
    "pydantic_ai": "a text model, once it is called",
    "rich": "bars of commands and their help",
    "tiktoken": "counts of tokens by encoding",
    "tokenizers": "the embedder, once it is loaded",
}
"""Modules, and who imports them."""
_PROGRAM = """
from app.process.main import create_app
from app.process.serving import serve
from app.process.start import offline_resources
from app.settings.settings import Settings

create_app(offline_resources(Settings()))
"""


_COSTLY = {"httpx2", "json_repair", "numpy", "app.adapters.resources"}
"""Modules that the parent of many processes, which forks, and commands about backups do without.

NumPy starts threads, unless a variable is set before its import, which the parent does first.
"""


def _imported(program: str) -> set[str]:
    """Return the modules that a program has imported at its end."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{program}\nprint(*sys.modules)"],
        check=False,
        cwd=ROOT,
        env={"MEMORY_BANK_DATABASE_URL": "postgresql:///nowhere"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_a_server_imports_no_more_than_it_needs() -> None:
    imported = _imported(_PROGRAM)
    assert "app.process.main" in imported
    assert not imported & _KEPT_OUT.keys()


@pytest.mark.parametrize("name", ["many", "supervisor", "backup_steps", "commands.backups"])
def test_what_starts_no_service_imports_no_models(name: str) -> None:
    assert not _imported(f"import app.process.{name}") & _COSTLY
