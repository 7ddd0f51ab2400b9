"""The wheel: complete, the same whenever it is built, and enough to serve a first memory."""

import sys
import sysconfig
from email import message_from_bytes
from email.message import Message
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from app.kernel.release import RELEASE
from scripts.make_dist import build
from tests.packaging.checkout import ROOT, scratch_folder
from tests.packaging.installed import UNWANTED, first_memory, new_environment, run
from tests.packaging.locks import read_lock

_CONSOLE = Path("app/surfaces/console")
_LEFT_OUT = "huggingface-hub"
"""What plain pip installs, and the locks do not: tokenizers would download with it."""
_MOST_BYTES = 420e6
"""Of the files of all packages that plain pip installs, without byte code."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, which a source distribution elsewhere has built a second time, byte by byte."""
    found, _ = build(ROOT, tmp_path_factory.mktemp("dist"))
    return found


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with ZipFile(wheel) as archive:
        [name] = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(name))


def test_the_wheel_has_what_is_served_and_its_weights(wheel: Path) -> None:
    packed = set(ZipFile(wheel).namelist())
    needed = {
        str(path.relative_to(ROOT))
        for folder in ("templates", "static")
        for path in (ROOT / _CONSOLE / folder).iterdir()
    }
    assert len(needed) > 10
    needed |= {f"app/adapters/llm/minilm/{name}" for name in ("int8.bin", "tokenizer.json")}
    assert needed | {"app/py.typed", "migrations/schema.json"} <= packed
    tops = {name.partition("/")[0] for name in packed}
    assert tops == {"app", "migrations", f"open_memory_bank-{RELEASE}.dist-info"}


def test_the_wheel_says_what_it_is(metadata: Message) -> None:
    assert (metadata["Name"], metadata["Version"]) == ("open-memory-bank", RELEASE)
    assert metadata.get_all("Provides-Extra") == ["anthropic", "google", "otel", "tokens"]
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload() == (ROOT / "README.md").read_text()
    assert "Typing :: Typed" in metadata.get_all("Classifier", [])


def _closure(requirements: list[str]) -> tuple[dict[str, Distribution], set[str]]:
    """Return what plain pip would install here, as far as it is installed, and what is not."""
    found: dict[str, Distribution] = {}
    absent: set[str] = set()
    seen: set[tuple[str, str]] = set()
    waiting = [(Requirement(text), "") for text in requirements]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        for wanted in {"", *requirement.extras} - {extra for other, extra in seen if other == name}:
            seen.add((name, wanted))
            try:
                found[name] = distribution(name)
            except PackageNotFoundError:
                absent.add(name)
            else:
                waiting += [(Requirement(text), wanted) for text in found[name].requires or []]
    return found, absent


def test_what_plain_pip_adds_is_locked_and_small(wheel: Path, metadata: Message) -> None:
    found, absent = _closure(metadata.get_all("Requires-Dist", []))
    assert absent == {_LEFT_OUT}
    assert not UNWANTED & found.keys()
    assert found.keys() <= {entry.name for entry in read_lock("requirements-run.lock")}
    files = [file for package in found.values() for file in package.files or []]
    packed = sum(entry.file_size for entry in ZipFile(wheel).infolist())
    size = packed + sum(file.size or 0 for file in files if file.suffix != ".pyc")
    print(f"{len(found)} packages, {size / 1e6:.0f} MB")
    assert size < _MOST_BYTES


def test_the_wheel_serves_a_first_memory_far_from_the_checkout(wheel: Path) -> None:
    with scratch_folder() as folder:
        environment = folder / "environment"
        programs = new_environment(environment, "--without-pip")
        pip = (sys.executable, "-m", "pip", "--python", programs / "python")
        run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel)
        [site] = environment.glob("lib/python*/site-packages")
        # What it needs is lent by this environment; `make test-wheel` downloads it.
        (site / "lent.pth").write_text(sysconfig.get_path("purelib"))
        place = run(programs / "python", "-c", "import app; print(app.__file__)", folder=folder)
        assert Path(place.strip()).is_relative_to(site)
        assert run(programs / "memory-bank", "--version") == f"memory-bank {RELEASE}\n"
        (data := folder / "bank").mkdir(mode=0o755)
        assert first_memory(programs / "open-memory-bank", data) == ["I prefer a window seat."]
