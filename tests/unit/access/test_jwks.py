"""Which keys of an issuer's set may verify what."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.platform.access.services.jwks import KeySet, KeysUnread, SigningKey, read_key_set
from tests.support.tokens import jwk, jwks

_ALL = ["RS256", "RS512", "PS256", "ES256", "ES384", "EdDSA"]


def fitting(key: dict[str, object]) -> set[str]:
    """Return the algorithms that a key may be used with."""
    found = read_key_set(jwks(key), _ALL).keys
    return set(found[0].by_algorithm) if found else set()


@pytest.mark.parametrize(
    ("key_id", "expected"),
    [
        ("rsa", {"RS256", "RS512", "PS256"}),
        ("ec", {"ES256"}),
        ("ec384", {"ES384"}),
        ("ed", {"EdDSA"}),
    ],
)
def test_a_key_fits_the_algorithms_of_its_type_and_curve(key_id: str, expected: set[str]) -> None:
    assert fitting(jwk(key_id)) == expected


def test_only_algorithms_that_are_allowed_count() -> None:
    assert set(read_key_set(jwks("rsa"), ["PS256"]).keys[0].by_algorithm) == {"PS256"}
    assert read_key_set(jwks("ec"), ["RS256"]).keys == []


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"alg": "PS256"}, {"PS256"}),
        ({"alg": "ES256"}, set()),
        ({"alg": "HS256"}, set()),
        ({"alg": ["RS256"]}, set()),
        ({"use": "sig"}, {"RS256", "RS512", "PS256"}),
        ({"use": "enc"}, set()),
        ({"key_ops": ["verify"]}, {"RS256", "RS512", "PS256"}),
        ({"key_ops": ["encrypt"]}, set()),
        ({"key_ops": "verify"}, set()),
        ({"kid": 7}, set()),
        ({"kty": ["RSA"]}, set()),
        ({"kty": "EC"}, set()),
        ({"crv": "P-256"}, set()),
        ({"n": 7}, set()),
        ({"n": ""}, set()),
        ({"e": "AA"}, set()),
        ({"e": "Ag"}, set()),
        ({"e": "!"}, set()),
    ],
)
def test_what_a_key_says_of_itself_bounds_its_use(
    members: dict[str, object], expected: set[str]
) -> None:
    assert fitting(jwk("rsa") | members) == expected


@pytest.mark.parametrize(
    "key",
    [
        {"kty": "oct", "kid": "secret", "k": "AAAA", "alg": "HS256"},
        {"kty": "oct", "kid": "secret", "k": "AAAA", "alg": "RS256"},
        {"kty": "OKP", "crv": "X25519", "x": "AAAA"},
        {"kty": "EC", "crv": "P-256", "x": "AAAA", "y": "AAAA"},
        {"kty": "EC", "crv": "P-256", "x": "A" * 43, "y": "A" * 43},
        {"kty": "RSA"},
        {},
    ],
)
def test_symmetric_foreign_and_broken_keys_are_left_out(key: dict[str, object]) -> None:
    assert [one.key_id for one in read_key_set(jwks(key, "rsa"), _ALL).keys] == ["rsa"]


def test_a_short_rsa_key_is_left_out() -> None:
    assert fitting(jwk("short")) == set()


def test_a_published_private_key_verifies_but_is_not_kept() -> None:
    (key,) = read_key_set(jwks(jwk("ec", d="A" * 43)), _ALL).keys
    assert not hasattr(key.by_algorithm["ES256"].key, "sign")


def test_a_name_or_else_the_algorithm_must_point_to_one_key() -> None:
    keys = read_key_set(jwks("rsa", "rsa-2", "ec", jwk("rsa", of="ed")), _ALL)
    assert keys.find("rsa", "RS256") is keys.keys[0].by_algorithm["RS256"]
    assert keys.find("rsa", "EdDSA") is keys.keys[3].by_algorithm["EdDSA"]
    assert keys.find("rsa", "ES256") is None
    assert keys.find(None, "RS256") is None
    assert keys.find(None, "ES256") is keys.keys[2].by_algorithm["ES256"]
    assert keys.find("", "ES256") is None
    twice = read_key_set(jwks("rsa", jwk("rsa", of="rsa-2")), _ALL)
    assert twice.find("rsa", "RS256") is None


def test_a_key_without_a_name_is_found_by_its_algorithm_alone() -> None:
    keys = read_key_set(jwks(jwk(None, of="ec")), _ALL)
    assert keys.knows(None)
    assert not keys.knows("ec")
    assert keys.find("ec", "ES256") is None
    assert keys.find(None, "ES256") is not None
    assert not KeySet([]).knows(None)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b"{}", b'{"keys": {}}', b"\xff", b"[" * 100_000, b'"keys"'],
)
def test_what_is_no_key_set_is_unread(body: bytes) -> None:
    with pytest.raises(KeysUnread):
        read_key_set(body, _ALL)


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["sig", "EC"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@settings(deadline=None)
@given(
    st.sampled_from(["rsa", "ec", "ed"]),
    st.dictionaries(
        st.sampled_from(["kty", "crv", "n", "e", "x", "y", "kid", "alg", "use", "key_ops"]), _JSON
    ),
)
def test_no_member_of_a_key_makes_the_others_unreadable(
    key_id: str, members: dict[str, object]
) -> None:
    body = json.dumps({"keys": [jwk(key_id) | members, jwk("ed-2"), None, 7, []]}).encode()
    found = read_key_set(body, _ALL).keys
    assert [key.key_id for key in found][-1] == "ed-2"
    assert all(isinstance(key, SigningKey) for key in found)
