"""`make dist`: it packs nothing whose versions differ, and the page of releases is true."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from app.kernel.release import RELEASE
from scripts.make_dist import DistError, build_images, check_release, checked_version, versions
from tests.packaging.checkout import ROOT

_PAGE = ROOT / "docs/operations/release.md"
_PLACES = [
    *("clients/typescript/package.json", "clients/typescript/package-lock.json"),
    *("pyproject.toml", "clients/python/pyproject.toml", "openapi/openapi.json", "sbom.cdx.json"),
    *("README.md", "docker-compose.yml", "docker-compose.citus.yml", "CHANGELOG.md"),
]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What states the version, with nothing unreleased."""
    for name in _PLACES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("## Unreleased", f"## {RELEASE} - today"))
    return tmp_path


def test_all_places_state_one_version(checkout: Path) -> None:
    stated = dict.fromkeys(["app/kernel/release.py", *_PLACES], RELEASE)
    assert versions(checkout) == stated
    assert checked_version(ROOT) == RELEASE


@pytest.mark.parametrize("place", _PLACES)
def test_a_place_with_another_version_is_named(checkout: Path, place: str) -> None:
    # One of several in a place is enough.
    version = rf"(?<![\w.=]){re.escape(RELEASE)}"
    text = re.sub(version, "9.9.9", (checkout / place).read_text(), count=1)
    if place == "sbom.cdx.json":
        text = text.replace(f'"version": "{RELEASE}"', '"version": "9.9.9"')
    (checkout / place).write_text(text)
    with pytest.raises(DistError, match=rf"(?m)^  {place}: .*9\.9\.9"):
        checked_version(checkout)


def test_an_environment_of_another_version_is_named(checkout: Path) -> None:
    with pytest.raises(DistError, match=r"app/kernel/release\.py: 9\.9\.9"):
        checked_version(checkout, installed="9.9.9")


def test_only_a_clean_checkout_with_a_heading_is_released(checkout: Path) -> None:
    with pytest.raises(DistError, match="Unreleased"):
        check_release(ROOT)
    subprocess.run(["git", "init", "--quiet", checkout], check=True)
    with pytest.raises(DistError, match="not committed"):
        check_release(checkout)
    (checkout / ".git/info/exclude").write_text("*\n")
    check_release(checkout)


def test_without_a_container_engine_the_images_are_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    build_images(ROOT, RELEASE)
    said = capsys.readouterr().out
    assert said == "Images: left out, since no container engine runs here.\n"
    assert said in _PAGE.read_text()


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """What has been asked of a program that stands for Docker."""
    log = tmp_path / "log"
    program = tmp_path / "docker"
    program.write_text(f'#!/bin/sh\necho "$@" >> {log}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return lambda: log.read_text().splitlines()


def test_images_have_the_version_in_tag_and_label(docker: Callable[[], list[str]]) -> None:
    build_images(ROOT, "1.2.3")
    label = "--label org.opencontainers.image.version=1.2.3 ."
    assert docker() == [
        "info",
        f"build --target full --tag open-memory-bank:1.2.3 {label}",
        f"build --target slim --tag open-memory-bank:1.2.3-slim {label}",
    ]


def test_the_lines_that_addresses_will_change_are_there() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|", _PAGE.read_text(), re.MULTILINE)
    assert len(rows) > 10
    assert [row for row in rows if row[1] not in (ROOT / row[0]).read_text()] == []
