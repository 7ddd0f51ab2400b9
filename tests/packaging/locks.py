"""What the lock files name: distributions, each version of one with its hashes."""

import re
from dataclasses import dataclass

from packaging.utils import canonicalize_name

from tests.packaging.checkout import ROOT

_ENTRY = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;]+)(?: ; .+)?")
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class Locked:
    name: str
    version: str
    hashes: tuple[str, ...]


def read_lock(name: str) -> list[Locked]:
    """Read a lock file; refuses whatever is not a pinned distribution with hashes."""
    entries = (ROOT / name).read_text().replace("\\\n", "").splitlines()
    return [_read_entry(entry) for entry in entries]


def _read_entry(line: str) -> Locked:
    requirement, *hashes = re.split(r"\s+(?=--)", line.strip())
    found = _ENTRY.fullmatch(requirement)
    assert found, f"not pinned: {requirement}"
    assert hashes, f"without a hash: {requirement}"
    assert all(_HASH.fullmatch(item) for item in hashes), f"more than hashes: {line}"
    return Locked(canonicalize_name(found["name"]), found["version"], tuple(hashes))
