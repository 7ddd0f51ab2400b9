"""The lock files: everything pinned and hashed, nothing about where it came from."""

import tomllib
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.packaging.checkout import ROOT
from tests.packaging.locks import read_lock

_RUNTIME = "requirements.lock"
_DEVELOPMENT = "requirements-dev.lock"


def _pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def _unmet(requirements: list[str], lock: str) -> list[str]:
    locked = {entry.name: entry.version for entry in read_lock(lock)}
    unmet = []
    for text in requirements:
        requirement = Requirement(text)
        version = locked.get(canonicalize_name(requirement.name))
        if version is None or not requirement.specifier.contains(version):
            unmet.append(text)
    return unmet


@pytest.mark.parametrize("name", [_RUNTIME, _DEVELOPMENT])
def test_every_entry_is_pinned_and_hashed(name: str) -> None:
    assert len(read_lock(name)) > 20


@pytest.mark.parametrize("name", [_RUNTIME, _DEVELOPMENT])
def test_no_address_of_an_index(name: str) -> None:
    text = (ROOT / name).read_text()
    assert "://" not in text
    assert "index" not in text


def test_development_lock_holds_the_runtime_lock() -> None:
    assert set(read_lock(_RUNTIME)) <= set(read_lock(_DEVELOPMENT))


def test_locks_meet_what_the_project_asks_for() -> None:
    project = _pyproject()
    groups = project["dependency-groups"]
    runtime = project["project"]["dependencies"] + groups["build"]
    assert _unmet(runtime, _RUNTIME) == []
    assert _unmet(runtime + groups["dev"], _DEVELOPMENT) == []
