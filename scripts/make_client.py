"""Write the generated files of the Python client in clients/python.

Usage: `python -m scripts.make_client [FOLDER]`, which else is the package itself.
"""

import json
import subprocess
import sys
from pathlib import Path

from scripts.client.calls import calls_file
from scripts.client.schemas import types_file
from scripts.client.twins import blocking

_ROOT = Path(__file__).parents[1]
PACKAGE = _ROOT / "clients/python/src/open_memory_bank"


def write(folder: Path) -> None:
    """Write `types.py`, `_calls.py` and the folder `_sync` into a folder.

    Raises:
        ValueError: the OpenAPI document has something that cannot be typed.
    """
    document = json.loads((_ROOT / "openapi/openapi.json").read_text())
    files = {"types.py": types_file(document), "_calls.py": calls_file(document)}
    for path in sorted((PACKAGE / "_async").glob("*.py")):
        files[f"_sync/{path.name}"] = blocking(path.read_text())
    (folder / "_sync").mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    written = [str(folder / name) for name in files]
    ruff = [str(Path(sys.executable).parent / "ruff")]
    settings = ["--quiet", "--config", str(_ROOT / "pyproject.toml")]
    for command in (["check", "--select", "I", "--fix"], ["format"]):
        call = [*ruff, *command, *settings, *written]
        subprocess.run(call, check=True)  # noqa: S603 - our own


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE)
