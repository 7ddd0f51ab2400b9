"""Tokens that nobody vouches for: all are 401, with one and the same answer."""

import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from structlog.testing import capture_logs

from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from tests.support.cases import in_one_test
from tests.support.errors import refusal
from tests.support.keys import client_with
from tests.support.tokens import (
    ABSENT,
    ALGORITHMS,
    AUDIENCE,
    ISSUER,
    SUBJECT,
    b64,
    claims,
    jwk,
    jwks,
    key_server,
    private_key,
    publish,
    sign,
    token_app,
)

_INVALID = (401, "UNAUTHENTICATED", Reason.CREDENTIAL_INVALID)
Forgery = Callable[[datetime], str]


@pytest.fixture
async def client(resources: Resources, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client whose credential the test sets; any algorithm of the library may be used."""
    every = sorted({*ALGORITHMS.values(), "PS256", "RS512"})
    file = publish(tmp_path / "jwks.json", *ALGORITHMS, "ed-2")
    app = token_app(resources, file, jwt_algorithms=every)
    async with client_with(app, None) as found:
        yield found


async def refused(client: httpx.AsyncClient, token: str, name: str = "") -> None:
    """Ask with a token that must not be taken; nothing of it is told to anyone but the issuer."""
    with capture_logs() as lines:
        answer = await client.get("/memories", headers={"Authorization": f"Bearer {token}"})
    assert refusal(answer) == _INVALID, name
    assert answer.json()["error"]["message"] == "The token is not valid.", name
    told = answer.text + json.dumps(lines)
    assert not [part for part in token.split(".") if len(part) > 8 and part in told], name
    assert SUBJECT not in told, name
    assert any(line["event"] == "token.refused" and line["why"] for line in lines), name


def _raw(header: object, payload: object, signature: bytes = b"") -> str:
    parts = [json.dumps(part).encode() for part in (header, payload)]
    return ".".join([*map(b64, parts), b64(signature)])


def _unsigned(algorithm: object, signature: bytes = b"", **header: object) -> Forgery:
    named = {"kid": "rsa", "typ": "JWT", "alg": algorithm} | header
    return lambda now: _raw(named, claims(now), signature)


def _keyed(key: bytes, algorithm: str = "HS256", key_id: str | None = "rsa") -> Forgery:
    """Sign with a secret that everyone knows."""

    def forge(now: datetime) -> str:
        header = {"alg": algorithm, "typ": "JWT"} | ({} if key_id is None else {"kid": key_id})
        signed = _raw(header, claims(now)).rpartition(".")[0]
        digest = {"HS256": hashlib.sha256, "HS384": hashlib.sha384, "HS512": hashlib.sha512}
        method = digest.get(algorithm, hashlib.sha256)
        return f"{signed}.{b64(hmac.new(key, signed.encode(), method).digest())}"

    return forge


def _public(encoding: Encoding, form: PublicFormat) -> bytes:
    return private_key("rsa").public_key().public_bytes(encoding, form)


_PEM = _public(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
_INFO = PublicFormat.SubjectPublicKeyInfo

_SPELLINGS: list[Any] = ["none", "None", "NONE", "nOnE", "none ", "", None, 0, [], ["RS256"], {}]

UNSIGNED: Mapping[str, Forgery] = {
    "without a signature": lambda now: sign(claims(now)).rpartition(".")[0] + ".",
    "no algorithm at all": lambda now: _raw({"kid": "rsa"}, claims(now)),
    **{f"alg {spelling!r}": _unsigned(spelling) for spelling in _SPELLINGS},
    "alg none without the name of a key": lambda now: _raw({"alg": "none"}, claims(now)),
    "alg none with the signature of another": lambda now: (
        f"{_unsigned('none')(now)}{sign(claims(now)).rpartition('.')[2]}"
    ),
    "an honest algorithm with an empty signature": _unsigned("RS256"),
    "an honest algorithm with zeros": _unsigned("RS256", bytes(256)),
    "a curve's signature of zeros": _unsigned("ES256", bytes(64), kid="ec"),
    "an Edwards curve's signature of zeros": _unsigned("EdDSA", bytes(64), kid="ed"),
}


def _said_to_be(algorithm: str, used: str) -> Forgery:
    def forge(now: datetime) -> str:
        head = json.dumps({"alg": algorithm, "kid": "rsa"}).encode()
        signed = f"{b64(head)}.{b64(json.dumps(claims(now)).encode())}"
        method = jwt.get_algorithm_by_name(used)
        return f"{signed}.{b64(method.sign(signed.encode(), private_key('rsa')))}"

    return forge


CONFUSED: Mapping[str, Forgery] = {
    "the PEM as a secret": _keyed(_PEM),
    "the PEM without its last line end as a secret": _keyed(_PEM.strip()),
    "the PEM of PKCS1 as a secret": _keyed(_public(Encoding.PEM, PublicFormat.PKCS1)),
    "the DER as a secret": _keyed(_public(Encoding.DER, _INFO)),
    "the JWK as a secret": _keyed(json.dumps(jwk("rsa")).encode()),
    "the JWK set as a secret": _keyed(jwks()),
    "the modulus as a secret": _keyed(jwk("rsa")["n"].encode()),
    "a longer digest": _keyed(_PEM, "HS512"),
    "no name of a key": _keyed(_PEM, key_id=None),
    "an empty secret": _keyed(b""),
    "a keyed digest that is said to be RSA": _keyed(_PEM, "RS256"),
    "a keyed digest with the name of the curve's key": _keyed(_PEM, "HS256", "ec"),
    "RSA with the name of the curve's key": lambda now: sign(claims(now), "rsa", kid="ec"),
    "a curve with the name of the RSA key": lambda now: sign(claims(now), "ec", kid="rsa"),
    "an Edwards curve with the name of the RSA key": lambda now: sign(claims(now), "ed", kid="rsa"),
    "PSS that is said to be PKCS1": _said_to_be("RS256", "PS256"),
    "another digest than is said": _said_to_be("RS512", "RS256"),
}


def _with_claims(**others: object) -> Forgery:
    return lambda now: sign(claims(now, **others))


def _at(claim: str, **length: float) -> Forgery:
    return lambda now: sign(claims(now, **{claim: (now + timedelta(**length)).timestamp()}))


_NO_TIMES: list[Any] = [None, "4102444800", True, [], -1, float("inf"), float("nan"), 10**400]

CLAIMS: Mapping[str, Forgery] = {
    "another issuer": _with_claims(iss="https://evil.example"),
    "an issuer with a slash more": _with_claims(iss=ISSUER + "/"),
    "the issuer in a list": _with_claims(iss=[ISSUER]),
    "no issuer": _with_claims(iss=ABSENT),
    "another audience": _with_claims(aud="other"),
    "a part of the audience": _with_claims(aud=AUDIENCE[:-1]),
    "the audience among what is no list": _with_claims(aud={AUDIENCE: True}),
    "no audience": _with_claims(aud=ABSENT),
    "an empty audience": _with_claims(aud=[]),
    "null as audience": _with_claims(aud=None),
    "numbers in the audience": _with_claims(aud=[AUDIENCE, 7]),
    "expired": _at("exp", seconds=-11),
    "expired at this moment, with the leeway": _at("exp", seconds=-10),
    "no expiry": _with_claims(exp=ABSENT),
    "not yet valid": _at("nbf", seconds=11),
    "issued in the future": _at("iat", seconds=11),
    **{
        f"{claim} {value!r}": _with_claims(**{claim: value})
        for claim in ("exp", "nbf", "iat")
        for value in _NO_TIMES
    },
    "no subject": _with_claims(sub=ABSENT),
    "a number as subject": _with_claims(sub=42),
    "an empty subject": _with_claims(sub=""),
    "a long subject": _with_claims(sub="a" * 129),
    "a subject with U+0000": _with_claims(sub="a\x00"),
    "a subject with half a surrogate pair": _with_claims(sub="\ud800"),
    "a subject that breaks the line": _with_claims(sub="a\nb"),
    "claims that are no object": lambda _: sign(b"[]"),
    "claims that are no JSON": lambda _: sign(b"{"),
    "claims that are no text": lambda _: sign(b"\xff\xfe\xfd"),
    "claims that are too deep": lambda _: sign(b"[" * 2_500 + b"]" * 2_500),
    "no claims": lambda _: sign(b""),
}


def _replaced(part: int, make: Callable[[str, datetime], str]) -> Forgery:
    def forge(now: datetime) -> str:
        parts = sign(claims(now)).split(".")
        parts[part] = make(parts[part], now)
        return ".".join(parts)

    return forge


def _flipped(part: str, _: datetime) -> str:
    return ("B" if part[0] != "B" else "C") + part[1:]


TAMPERED: Mapping[str, Forgery] = {
    "other claims": _replaced(1, lambda _, now: b64(json.dumps(claims(now, sub="other")).encode())),
    "the claims with a blank more": _replaced(
        1, lambda _, now: b64(json.dumps(claims(now)).encode() + b" ")
    ),
    "another header": _replaced(0, lambda _, __: b64(b'{"alg":"RS256","kid":"rsa","a":1}')),
    "another signature": _replaced(2, _flipped),
    "a cut signature": _replaced(2, lambda part, _: part[:-2]),
    "a longer signature": _replaced(2, lambda part, _: part + "AA"),
    "a signature of another token": lambda now: (
        f"{sign(claims(now, sub='other')).rpartition('.')[0]}."
        f"{sign(claims(now)).rpartition('.')[2]}"
    ),
    "a signature with spare bits": _replaced(2, lambda part, _: _with_spare_bits(part)),
    "the key of another issuer": lambda now: sign(claims(now), "rsa-evil", kid="rsa"),
    "the name of a key that is not known": lambda now: sign(claims(now), "rsa", kid="rsa-evil"),
    "the name of another key of the same kind": lambda now: sign(claims(now), "ed", kid="ed-2"),
    "an empty name of a key": lambda now: sign(claims(now), kid=""),
    "a number as name of a key": lambda now: sign(claims(now), kid=7),
    "a path as name of a key": lambda now: sign(claims(now), kid="../../../dev/null"),
    "a statement as name of a key": lambda now: sign(claims(now), kid="' or 1=1 --"),
    "a critical extension": lambda now: sign(claims(now), crit=["exp"], exp=1),
    "an unknown critical extension": lambda now: sign(claims(now), crit=["a"], a=1),
    "an empty list of critical extensions": lambda now: sign(claims(now), crit=[]),
    "claims beside the token": lambda now: sign(claims(now), crit=["b64"], b64=False),
    "claims beside the token that are not critical": lambda now: sign(claims(now), b64=False),
    "a token that is too long": lambda now: sign(claims(now, padding="a" * 8_192)),
    "a header that is too long": lambda now: sign(claims(now), padding="a" * 8_192),
}


def _with_spare_bits(part: str) -> str:
    """Change the bits of the last character that stand for nothing."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return part[:-1] + alphabet[alphabet.index(part[-1]) ^ 1]


@pytest.mark.parametrize(
    "forgeries",
    [
        pytest.param(UNSIGNED, id="unsigned"),
        pytest.param(CONFUSED, id="confused"),
        pytest.param(CLAIMS, id="claims"),
        pytest.param(TAMPERED, id="tampered"),
    ],
)
async def test_a_forged_token_is_not_taken(
    client: httpx.AsyncClient, clock: FixedClock, forgeries: Mapping[str, Forgery]
) -> None:
    for name, forge in forgeries.items():
        await refused(client, forge(clock.now()), name)


async def test_nor_is_it_after_an_honest_one(client: httpx.AsyncClient, clock: FixedClock) -> None:
    honest = sign(claims(clock.now()))
    for name in ("other claims", "another signature", "a signature with spare bits"):
        answer = await client.get("/memories", headers={"x-goog-api-key": honest})
        assert answer.status_code == 200
        await refused(client, TAMPERED[name](clock.now()))


@in_one_test(
    "secret",
    [
        "...",
        "a.b.c",
        "eyJhbGciOiJub25lIn0",
        "eyJhbGciOiJub25lIn0.e30",
        "eyJhbGciOiJub25lIn0.e30.a.b",
        "eyJhbGciOiJub25lIn0.e30.!!!!",
        "eyJhbGciOiJub25lIn0=.e30=.",
        "eyJhbGciOiJub25lIn0.e30.\u00e9",
        "W10.e30.",
        f"{b64(b'[' * 50_000)}.e30.",
    ],
)
async def test_garbage_is_refused_as_a_key_that_is_not_known(
    client: httpx.AsyncClient, secret: str
) -> None:
    headers = [(b"x-goog-api-key", secret.encode("latin-1"))]
    assert refusal(await client.get("/memories", headers=headers)) == _INVALID


@in_one_test("header", ["jwk", "jku", "x5u", "x5c"])
async def test_a_key_that_a_token_brings_along_is_not_used_and_not_fetched(
    client: httpx.AsyncClient, clock: FixedClock, header: str
) -> None:
    with key_server() as evil:
        evil.body = jwks(jwk("rsa", of="rsa-evil"))
        brought: dict[str, Any] = {
            "jwk": jwk("rsa", of="rsa-evil"),
            "jku": evil.url,
            "x5u": evil.url,
            "x5c": ["AAAA"],
        }
        for key_id in ("rsa", "rsa-evil", None):
            forged = sign(claims(clock.now()), "rsa-evil", kid=key_id, **{header: brought[header]})
            await refused(client, forged)
        assert evil.asked == 0


async def test_a_symmetric_key_that_the_issuer_publishes_verifies_nothing(
    resources: Resources, tmp_path: Path, clock: FixedClock
) -> None:
    secret = b"s" * 32
    shared = {"kty": "oct", "kid": "shared", "k": b64(secret), "alg": "HS256"}
    file = publish(tmp_path / "jwks.json", shared, "rsa")
    async with client_with(token_app(resources, file), None) as client:
        for key_id in ("shared", None):
            await refused(client, _keyed(secret, key_id=key_id)(clock.now()))
            await refused(client, _keyed(secret, "RS256", key_id)(clock.now()))


async def test_a_key_for_encryption_verifies_nothing(
    resources: Resources, tmp_path: Path, clock: FixedClock
) -> None:
    file = publish(tmp_path / "jwks.json", jwk("rsa", use="enc"), jwk("ec", alg="ES384"), "ed")
    async with client_with(token_app(resources, file), None) as client:
        await refused(client, sign(claims(clock.now()), "rsa"))
        await refused(client, sign(claims(clock.now()), "ec"))
