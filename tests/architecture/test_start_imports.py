"""A process that only serves imports nothing that it may never need."""

import subprocess
import sys

from tests.architecture.code import ROOT

_KEPT_OUT = {
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
    "tiktoken": "counts of tokens by encoding",
    "tokenizers": "the embedder, once it is loaded",
}
"""Modules, and who imports them."""
_PROGRAM = """
import sys
from app.process.main import create_app
from app.process.serving import serve
from app.process.start import offline_resources
from app.settings.settings import Settings

create_app(offline_resources(Settings()))
print(*sys.modules)
"""


def test_a_server_imports_no_more_than_it_needs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        check=False,
        cwd=ROOT,
        env={"MEMORY_BANK_DATABASE_URL": "postgresql:///nowhere"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    imported = set(done.stdout.split())
    assert "app.process.main" in imported
    assert not imported & _KEPT_OUT.keys()
