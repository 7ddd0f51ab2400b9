"""Whose memories a call is about: by the key, the connection, or the model."""

import json
from collections.abc import Mapping

import pytest

from app.kernel.errors import InvalidArgument, PermissionDenied, Reason
from app.surfaces.tools.scopes import choose, of_request

BOUND = {"user_id": frozenset({"42"})}
SEVERAL = {"user_id": frozenset({"1", "2"}), "app": frozenset({"notes"})}


def test_the_conditions_of_a_key_are_the_scope() -> None:
    chosen = choose(BOUND, {})
    assert chosen.is_fixed
    assert chosen.pairs == {"user_id": "42"}


def test_a_connection_adds_pairs_to_those_of_the_key() -> None:
    assert choose(BOUND, {"app": "notes"}).pairs == {"user_id": "42", "app": "notes"}
    assert choose({}, {"user_id": "me"}).is_fixed


@pytest.mark.parametrize(("conditions", "given"), [(BOUND, "43"), (SEVERAL, "3")])
def test_a_contradiction_is_out_of_reach(
    conditions: Mapping[str, frozenset[str]], given: str
) -> None:
    with pytest.raises(PermissionDenied) as refused:
        choose(conditions, {"user_id": given})
    assert refused.value.reason is Reason.SCOPE_OUT_OF_REACH
    assert refused.value.metadata == {"scopeKey": "user_id"}
    assert given not in refused.value.message


def test_the_model_chooses_among_several_values() -> None:
    chosen = choose(SEVERAL, {})
    assert not chosen.is_fixed
    assert chosen.schema()["properties"]["user_id"]["enum"] == ["1", "2"]
    assert chosen.with_pairs({"user_id": "2"}) == {"user_id": "2", "app": "notes"}
    with pytest.raises(PermissionDenied):
        chosen.with_pairs({"user_id": "3"})
    with pytest.raises(PermissionDenied):
        chosen.with_pairs({"user_id": "2", "app": "other"})
    with pytest.raises(InvalidArgument, match="user_id"):
        chosen.with_pairs({"app": "notes"})


def test_the_connection_chooses_among_several_values() -> None:
    assert choose(SEVERAL, {"user_id": "2"}).pairs == {"user_id": "2", "app": "notes"}


def test_without_conditions_the_model_names_the_scope() -> None:
    chosen = choose({}, {})
    assert not chosen.is_fixed
    assert chosen.with_pairs({"user_id": "7"}) == {"user_id": "7"}


@pytest.mark.parametrize(
    "given",
    [
        None,
        "user_id=1",
        {},
        {"a": 1},
        {"a": "*"},
        {"": "1"},
        {"k" * 257: "1"},
        {"a": "v" * 1_025},
        {str(number): "1" for number in range(6)},
    ],
)
def test_what_is_no_scope_is_refused(given: object) -> None:
    with pytest.raises(InvalidArgument, match="1 to 5 pairs"):
        choose({}, {}).with_pairs(given)


def test_url_and_header_may_both_be_sent_if_they_agree() -> None:
    pairs = {"user_id": "42"}
    assert of_request(pairs, None) == pairs
    assert of_request({}, json.dumps(pairs)) == pairs
    assert of_request(pairs, json.dumps(pairs)) == pairs
    with pytest.raises(InvalidArgument, match="differs"):
        of_request(pairs, '{"user_id": "43"}')


def test_a_header_is_read_as_utf_8() -> None:
    sent = '{"user_id": "Zoë"}'.encode().decode("latin-1")
    assert of_request({}, sent) == {"user_id": "Zoë"}


@pytest.mark.parametrize("header", ["", "[]", "user_id", '{"a": 1}', '{"a": "*"}', "{}"])
def test_a_header_that_is_no_scope_is_refused(header: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        of_request({}, header)
    assert refused.value.violations[0].field == "X-Memory-Scope"
