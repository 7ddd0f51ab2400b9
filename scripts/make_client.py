"""Write the generated files of the clients in clients/python and clients/typescript.

Usage: `python -m scripts.make_client [FOLDER]`; with a folder, it writes into its `python` and
`typescript`, else into the packages themselves.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from scripts.client import calls, groups, schemas, typescript
from scripts.client.twins import blocking

_ROOT = Path(__file__).parents[1]
PACKAGE = _ROOT / "clients/python/src/open_memory_bank"
TYPESCRIPT = _ROOT / "clients/typescript/src"


def write(python: Path = PACKAGE, web: Path = TYPESCRIPT) -> None:
    """Write the files of both clients into two folders.

    Raises:
        ValueError: the OpenAPI document has something that cannot be typed, or the Python client
            a method of a form that is not known.
    """
    document = json.loads((_ROOT / "openapi/openapi.json").read_text())
    files = {"types.py": schemas.types_file(document), "_calls.py": calls.calls_file(document)}
    for path in sorted((PACKAGE / "_async").glob("*.py")):
        files[f"_sync/{path.name}"] = blocking(path.read_text())
    _format(_written(python, files))
    _written(
        web,
        {
            "types.ts": typescript.types_file(document),
            "calls.ts": typescript.calls_file(document),
            "groups.ts": groups.groups_file(document, PACKAGE / "_async"),
        },
    )


def _written(folder: Path, files: Mapping[str, str]) -> list[Path]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return [folder / name for name in files]


def _format(paths: list[Path]) -> None:
    ruff = [str(Path(sys.executable).parent / "ruff")]
    settings = ["--quiet", "--config", str(_ROOT / "pyproject.toml")]
    for command in (["check", "--select", "I", "--fix"], ["format"]):
        call = [*ruff, *command, *settings, *map(str, paths)]
        subprocess.run(call, check=True)  # noqa: S603 - our own


if __name__ == "__main__":
    write(*(Path(sys.argv[1]) / name for name in ("python", "typescript") if sys.argv[1:]))
