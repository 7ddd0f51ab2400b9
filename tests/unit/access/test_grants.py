"""How the claims of a token are read; what they open is told by the tests of the API."""

from collections.abc import Mapping
from typing import Any

import pytest

from app.kernel.auth import Caller
from app.kernel.permissions import Permission, Role, permissions_of
from app.platform.access.services.tokens import ClaimRefused, Grants
from app.settings.settings import Settings

_NO_VALUES: list[Any] = [
    *(None, [], "", True, 1.5, {}, [None], ["1", None], "*", "a*", "a\x00", "\ud800", "a" * 1025)
]
_UNREADABLE: dict[str, list[Any]] = {
    "projects": [None, 7, {}, [None], [""], ["a\x00"], ["\ud800"], [True]],
    "engines": [
        None,
        7,
        {},
        [{}],
        [""],
        ["1x"],
        ["-1"],
        [-1],
        [1.0],
        [True],
        ["\u0663"],
        ["9" * 20],
    ],
    "scope_conditions": [
        *(None, {}, [], "user_id", 7, [["user_id", "1"]], {"": "1"}, {"a\x00": "1"}),
        *({"user_id": value} for value in _NO_VALUES),
        {str(number): "1" for number in range(6)},
    ],
    "roles": [None, 7, {"admin": True}, [None], ["\ud800"]],
    "permissions": [None, 7, [7]],
}


@pytest.mark.parametrize(
    ("claim", "value"),
    [(claim, value) for claim in _UNREADABLE for value in _UNREADABLE[claim]],
    ids=ascii,
)
def test_a_claim_that_cannot_be_read_is_refused_and_never_means_all(
    claim: str, value: object
) -> None:
    with pytest.raises(ClaimRefused):
        caller({}, **{claim: value})


def caller(settings: Mapping[str, object] | None = None, **claims: object) -> Caller:
    """Read claims, by the usual settings unless others are given."""
    return Grants(Settings.model_validate(settings or {})).caller({"sub": "s"} | claims)


@pytest.mark.parametrize(
    "subject", [None, "", 7, ["s"], "a" * 129, "a\x00", "a\n", "\ud800", "\u202e"]
)
def test_a_subject_that_is_no_short_printable_text_is_refused(subject: object) -> None:
    with pytest.raises(ClaimRefused):
        caller(sub=subject)


def test_absent_claims_bound_nothing_and_grant_nothing() -> None:
    found = caller()
    assert found.reach.is_all
    assert not found.permissions


def test_empty_lists_reach_nothing() -> None:
    reach = caller(engines=[], projects=[]).reach
    assert (reach.engines, reach.projects) == (frozenset(), frozenset())


def test_names_are_listed_or_parted_by_spaces() -> None:
    for roles in (["viewer", "fly"], "fly  viewer", "viewer"):
        assert caller(roles=roles).permissions == permissions_of([Role.VIEWER])
    found = caller(roles=["not admin"], permissions="memories.get memories.fly")
    assert found.permissions == {Permission.MEMORIES_GET}


def test_each_role_of_the_service_can_be_mapped_to() -> None:
    for role in Role:
        found = caller({"jwt_role_map": {"a": role.value}}, roles=["a"])
        assert found.permissions == permissions_of([role])


def test_an_id_that_no_engine_can_have_reaches_nothing() -> None:
    assert caller(engines=[str(2**63), 2**63, "7"]).reach.engines == frozenset({7})


def test_conditions_of_both_kinds_hold_together() -> None:
    settings = {"jwt_condition_claims": {"user_id": "sub", "team": "teams"}}
    bound = {"user_id": ["s", "t"], "app": "a"}
    found = caller(settings, scope_conditions=bound, teams=[7, "x y"])
    assert found.reach.conditions == {"user_id": {"s"}, "app": {"a"}, "team": {"7", "x y"}}
    with pytest.raises(ClaimRefused):
        caller(settings, scope_conditions={"user_id": "t"}, teams="x")
    with pytest.raises(ClaimRefused):
        caller(settings)
