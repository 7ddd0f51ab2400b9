"""Every reason of an error is given somewhere, and some test brings it about."""

import re

import pytest

from app.kernel.errors import Reason
from tests.architecture.code import ROOT, modules

_ELSEWHERE = [
    path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "tests").rglob("*.py"))
    if ROOT / "tests" / "architecture" not in path.parents
]

every_reason = pytest.mark.parametrize("reason", list(Reason))


@every_reason
def test_it_is_given(reason: Reason) -> None:
    used = re.compile(rf"\bReason\.{reason.name}\b")
    assert any(used.search(code.text) for code in modules())


@every_reason
def test_a_test_brings_it_about(reason: Reason) -> None:
    named = re.compile(rf"\b{reason.name}\b")
    assert any(named.search(text) for text in _ELSEWHERE)


@every_reason
def test_its_name_is_its_value(reason: Reason) -> None:
    """The name is public and stable for ever."""
    assert reason.value == reason.name
