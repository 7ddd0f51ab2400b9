"""Every reason of an error is given somewhere, and some test brings it about."""

import re

from app.kernel.errors import Reason
from tests.architecture.code import ROOT, modules

_ELSEWHERE = [
    path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "tests").rglob("*.py"))
    if ROOT / "tests" / "architecture" not in path.parents
]

NAMES = {reason.name for reason in Reason}


def test_each_is_given() -> None:
    given = {name for code in modules() for name in re.findall(r"\bReason\.(\w+)", code.text)}
    assert NAMES - given == set()


def test_a_test_brings_each_about() -> None:
    words = {word for text in _ELSEWHERE for word in re.findall(r"\b[A-Z_0-9]+\b", text)}
    assert NAMES - words == set()


def test_each_name_is_its_value() -> None:
    """The name is public and stable for ever."""
    assert {reason.name: reason.value for reason in Reason} == {name: name for name in NAMES}
