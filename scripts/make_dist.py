"""Build what a release consists of into `dist`: packages, bill of materials, sums; and the images.

Usage: `python -m scripts.make_dist [--release]`. With `--release` it refuses a checkout that has
changes, and a changelog whose newest heading is not the version.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from app.kernel.release import RELEASE
from scripts import make_sbom

ROOT = Path(__file__).parents[1]
_PACKAGES = (".", "clients/python")
_OF_NPM = ("clients/typescript/package.json", "clients/typescript/package-lock.json")
_TWINE = ROOT / ".venv/dist/bin/twine"
_IMAGES = {"full": "", "slim": "-slim"}
"""The suffix of the tag of each target of the Dockerfile."""
_UNRELEASED = "Unreleased"
_TAG = re.compile(r"^ *image: open-memory-bank[a-z-]*:(\S+)$", re.MULTILINE)
_STATED = {
    "README.md": re.compile(r"^Version ([^;\s]+);", re.MULTILINE),
    "docker-compose.yml": _TAG,
    "docker-compose.citus.yml": _TAG,
}


class DistError(Exception):
    """The checkout cannot be packed as it is."""


def versions(root: Path, installed: str = RELEASE) -> dict[str, str]:
    """Return the version by each place that states it; several in one place are joined."""
    stated = {
        "pyproject.toml": _project(root)["version"],
        "app/kernel/release.py": installed,
        "clients/python/pyproject.toml": _project(root / "clients/python")["version"],
        **{name: _packed(_document(root / name)) for name in _OF_NPM},
        "openapi/openapi.json": _document(root / "openapi/openapi.json")["info"]["version"],
        "sbom.cdx.json": _document(root / "sbom.cdx.json")["metadata"]["component"]["version"],
    }
    for name, pattern in _STATED.items():
        found = sorted(set(pattern.findall((root / name).read_text())))
        stated[name] = " and ".join(found) or "none"
    heading = _newest_heading(root)
    return stated if heading == _UNRELEASED else {**stated, "CHANGELOG.md": heading}


def checked_version(root: Path, installed: str = RELEASE) -> str:
    """Return the version on which all places agree.

    Raises:
        DistError: they do not.
    """
    stated = versions(root, installed)
    if len(set(stated.values())) > 1:
        lines = [f"  {name}: {version}" for name, version in stated.items()]
        raise DistError("\n".join(["These must state one version:", *lines]))
    return stated["pyproject.toml"]


def check_release(root: Path) -> None:
    """Check what must hold before a version is given to others.

    Raises:
        DistError: it does not hold.
    """
    if _newest_heading(root) == _UNRELEASED:
        raise DistError(f"The newest heading of CHANGELOG.md is {_UNRELEASED}, not the version.")
    if _run(root, "git", "status", "--porcelain"):
        raise DistError("The checkout has changes that are not committed.")


def build(root: Path, target: Path) -> list[Path]:
    """Build a wheel and a source distribution; the latter must build the same wheel.

    Raises:
        DistError: the same source does not build the same bytes.
    """
    _hatch(root, target, "sdist", "wheel")
    [packed], [wheel] = target.glob("*.tar.gz"), target.glob("*.whl")
    with TemporaryDirectory() as name:
        with tarfile.open(packed) as archive:
            archive.extractall(name, filter="data")
        (unpacked,) = Path(name).iterdir()
        _hatch(unpacked, Path(name), "wheel")
        if (Path(name) / wheel.name).read_bytes() != wheel.read_bytes():
            raise DistError(f"{packed.name} builds other bytes than the checkout: {wheel.name}.")
    return [wheel, packed]


def build_images(root: Path, version: str) -> None:
    """Build the images where a container engine runs."""
    if not _has_engine():
        print("Images: left out, since no container engine runs here.")
        return
    for target, suffix in _IMAGES.items():
        tag = f"open-memory-bank:{version}{suffix}"
        label = f"org.opencontainers.image.version={version}"
        _run(root, "docker", "build", "--target", target, "--tag", tag, "--label", label, ".")
        print(f"Image: {tag}")


def make(root: Path, target: Path) -> list[Path]:
    """Build all files of a release, and check them; return their paths."""
    version = checked_version(root)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    files: list[Path] = []
    for package in _PACKAGES:
        with TemporaryDirectory() as name:
            built = build(root / package, Path(name))
            files += [Path(shutil.copy(path, target)) for path in built]
    _run(root, str(_TWINE), "check", "--strict", *map(str, files))
    bill = target / f"open_memory_bank-{version}.cdx.json"
    bill.write_text(make_sbom.sbom(root / "requirements.lock"))
    if bill.read_bytes() != make_sbom.SBOM.read_bytes():
        raise DistError("sbom.cdx.json does not match requirements.lock: run `make sbom`.")
    files.append(bill)
    sums = target / "SHA256SUMS"
    sums.write_text("".join(f"{_sum(path)}  {path.name}\n" for path in files))
    return [*files, sums]


def main(arguments: Sequence[str]) -> int:
    """Make everything, and print what there is; return the exit status."""
    try:
        if "--release" in arguments:
            check_release(ROOT)
        files = make(ROOT, ROOT / "dist")
    except DistError as error:
        print(error, file=sys.stderr)
        return 1
    for path in files:
        print(f"{path.stat().st_size / 1e6:7.2f} MB  {path.relative_to(ROOT)}")
    build_images(ROOT, checked_version(ROOT))
    if _newest_heading(ROOT) == _UNRELEASED:
        print(f"No release: the newest heading of CHANGELOG.md is {_UNRELEASED}.")
    return 0


def _project(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return found


def _document(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def _packed(document: dict[str, Any]) -> str:
    """Return the version of a package of npm; its lock states it twice."""
    own = document.get("packages", {}).get("", document)
    return " and ".join(sorted({document["version"], own["version"]}))


def _newest_heading(root: Path) -> str:
    found = re.search(r"^## (\S+)", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    return found[1] if found else "none"


def _hatch(root: Path, target: Path, *kinds: str) -> None:
    wanted = [word for kind in kinds for word in ("--target", kind)]
    # The variable would give another time to the files in the packages.
    python = ("env", "-u", "SOURCE_DATE_EPOCH", sys.executable)
    _run(root, *python, "-m", "hatchling", "build", *wanted, "--directory", str(target))


def _sum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _run(folder: Path, *command: str) -> str:
    """Run a command of the environment or the system in a folder; return what it prints."""
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise DistError(f"{done.stdout}{' '.join(command)}: status {done.returncode}")
    return done.stdout


def _has_engine() -> bool:
    if shutil.which("docker") is None:
        return False
    asked = subprocess.run(["docker", "info"], capture_output=True, check=False)  # noqa: S607
    return asked.returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
