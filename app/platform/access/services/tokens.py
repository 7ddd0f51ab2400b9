"""JSON Web Tokens: authentication of callers by an issuer, in addition to API keys.

The log names the fault of a token; the caller never learns it. Before its signature is verified,
only the algorithm and the key name of a token are read. Keys that a token embeds or points to are
ignored. Importing this module is expensive.

Source: RFC 7515; RFC 7519; RFC 8725.
"""

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, TypeGuard

import jwt
import structlog
from jwt import PyJWK, PyJWTError

from app.kernel.auth import JWT_PREFIX, Caller, Conditions, Reach
from app.kernel.clock import Clock
from app.kernel.errors import Reason, Unauthenticated
from app.kernel.names import MAX_INT64
from app.kernel.permissions import Permission, Role, permissions_of
from app.kernel.text import UNSTORABLE
from app.platform.access.services.jwks import KeyRing, KeySet, source_of
from app.settings.settings import Settings

log = structlog.get_logger()

_SHAPE = re.compile(r"([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*")
_MAX_MOMENT = 253_402_300_799
"""Seconds until the end of the year 9999."""
_REMEMBERED = 4_096
"""Limit for tokens with a cached verification; some kilobytes each."""
_MAX_SUBJECT_CHARS = 128
_MAX_CONDITIONS = 5
_MAX_KEY_CHARS = 256
_MAX_VALUE_CHARS = 1_024
"""Size limits of scopes that can match at all."""
_MAX_ID_CHARS = 19
_ABSENT = object()

Claims = Mapping[str, Any]


class _TokenRefused(Exception):
    """The token is refused; the message gives the reason."""


@dataclass(frozen=True)
class _Verified:
    """The caller of a token and its validity from `starts` until before `ends`, for these keys."""

    keys: KeySet
    starts: float
    ends: float
    caller: Caller


class TokenService:
    """Verification of tokens, with a cache of valid signatures; times are checked every time."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._algorithms = settings.jwt_algorithms
        self._keys = KeyRing(source_of(settings), self._algorithms, clock)
        self._grants = Grants(settings)
        self._verified: dict[bytes, _Verified] = {}

    def is_token(self, secret: str) -> bool:
        """Return True if a credential has the form of a signed token, valid or not."""
        shape = _SHAPE.fullmatch(secret)
        if shape is None:
            return False
        # A token beyond the length limit is not parsed.
        return self._is_too_long(secret) or _read_header(shape[1]) is not None

    async def authenticate(self, secret: str) -> Caller:
        """Return the caller that a token stands for.

        Raises:
            Unauthenticated: the token is invalid, or not valid now.
            Unavailable: the keys of the issuer cannot be read.
        """
        try:
            return await self._caller(secret)
        except (_TokenRefused, ClaimRefused) as refused:
            why = str(refused)
        except PyJWTError as refused:
            # The exception's message may quote the token.
            why = type(refused).__name__
        log.info("token.refused", why=why)
        raise Unauthenticated("The token is not valid.", Reason.CREDENTIAL_INVALID)

    async def _caller(self, token: str) -> Caller:
        shape = _SHAPE.fullmatch(token)
        if shape is None or self._is_too_long(token):
            raise _TokenRefused("form")
        algorithm, key_id = self._header(shape[1])
        keys = await self._keys.current()
        digest = sha256(token.encode()).digest()
        verified = self._verified.get(digest)
        if verified is None or verified.keys is not keys:
            if not keys.knows(key_id):
                keys = await self._keys.search()
            key = keys.find(key_id, algorithm)
            if key is None:
                raise _TokenRefused("no one key for it")
            verified = self._verify(token, key, algorithm, keys)
            self._remember(digest, verified)
        self._check_times(verified)
        return verified.caller

    def _is_too_long(self, token: str) -> bool:
        return len(token) > self._settings.tuning.jwt_max_token_bytes

    def _header(self, encoded: str) -> tuple[str, str | None]:
        header = _read_header(encoded) or {}
        algorithm, key_id = header.get("alg"), header.get("kid")
        if not isinstance(algorithm, str) or algorithm not in self._algorithms:
            raise _TokenRefused("algorithm")
        if not isinstance(key_id, str | None):
            raise _TokenRefused("kid")
        # Critical extensions of an issuer must be understood; this service knows none.
        if "crit" in header or "b64" in header:
            raise _TokenRefused("crit")
        return algorithm, key_id

    def _verify(self, token: str, key: PyJWK, algorithm: str, keys: KeySet) -> _Verified:
        claims = self._claims(token, key, algorithm)
        ends = _moment(claims, "exp")
        if ends is None:
            raise _TokenRefused("exp")
        leeway = self._settings.tuning.jwt_leeway_seconds
        starts = max(_moment(claims, "nbf") or 0, _moment(claims, "iat") or 0)
        expire_time = datetime.fromtimestamp(ends, UTC)
        caller = replace(self._grants.caller(claims), expire_time=expire_time)
        return _Verified(keys, starts - leeway, ends + leeway, caller)

    def _claims(self, token: str, key: PyJWK, algorithm: str) -> Claims:
        # The library would use the system clock, so the times are checked elsewhere.
        return jwt.decode(
            token,
            key,
            [algorithm],
            issuer=self._settings.jwt_issuer,
            audience=self._settings.jwt_audience,
            options={
                "require": ["iss", "aud", "exp", "sub"],
                "verify_exp": False,
                "verify_nbf": False,
                "verify_iat": False,
            },
        )

    def _check_times(self, verified: _Verified) -> None:
        now = self._clock.now().timestamp()
        if now < verified.starts:
            raise _TokenRefused("not yet")
        if now >= verified.ends:
            raise _TokenRefused("expired")

    def _remember(self, digest: bytes, verified: _Verified) -> None:
        if digest not in self._verified and len(self._verified) >= _REMEMBERED:
            del self._verified[next(iter(self._verified))]
        self._verified[digest] = verified


def _read_header(encoded: str) -> dict[str, Any] | None:
    try:
        header = json.loads(urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
    except (ValueError, RecursionError):
        return None
    return header if isinstance(header, dict) else None


def _moment(claims: Claims, name: str) -> float | None:
    """Return a time in seconds since 1970; None: the claim is absent."""
    if name not in claims:
        return None
    seconds = claims[name]
    # NaN is within no bounds.
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise _TokenRefused(name)
    if not 0 <= seconds <= _MAX_MOMENT:
        raise _TokenRefused(name)
    return seconds


class ClaimRefused(Exception):
    """A claim is missing or unreadable; the message names its setting or its name."""


@dataclass(frozen=True)
class Grants:
    """A reader of claims: roles, permissions and the bounds of the caller's reach.

    A nested claim is named by a dotted path. Absent bounds mean no bound. Unreadable bounds refuse
    the token; they never mean "all".
    """

    settings: Settings

    def caller(self, claims: Claims) -> Caller:
        """Return the caller of a token, or raise ClaimRefused; unknown names grant nothing."""
        for name in self.settings.jwt_required_claims:
            if _find(claims, name) is _ABSENT:
                raise ClaimRefused(f"no {name}")
        roles = self._roles(claims)
        return Caller(
            key_id=JWT_PREFIX + _subject(claims),
            permissions=permissions_of(roles, self._permissions(claims)),
            reach=Reach(
                projects=_names(claims, self.settings.jwt_projects_claim),
                engines=_engines(claims, self.settings.jwt_engines_claim),
                conditions=self._conditions(claims),
            ),
            roles=roles,
        )

    def _roles(self, claims: Claims) -> frozenset[Role]:
        names = _names(claims, self.settings.jwt_roles_claim) or ()
        own = self.settings.jwt_role_map
        known = {role.value: role.value for role in Role} if own is None else own
        return frozenset(Role(known[name]) for name in names if name in known)

    def _permissions(self, claims: Claims) -> Iterable[Permission]:
        names = _names(claims, self.settings.jwt_permissions_claim) or ()
        return {permission for permission in Permission if permission in names}

    def _conditions(self, claims: Claims) -> Conditions:
        conditions = dict(_conditions(claims, self.settings.jwt_conditions_claim))
        for key, name in self.settings.jwt_condition_claims.items():
            value = _find(claims, name)
            if value is _ABSENT:
                raise ClaimRefused(f"no {name}")
            values = _values(value, name)
            conditions[key] = conditions.get(key, values) & values
            if not conditions[key]:
                raise ClaimRefused(f"{name} contradicts the conditions")
        return conditions


def _find(claims: Claims, name: str) -> Any:  # noqa: ANN401 - the value of any claim
    if name in claims:
        return claims[name]
    value: Any = claims
    for part in name.split("."):
        if not isinstance(value, Mapping):
            raise ClaimRefused(f"{name} has no such path")
        if part not in value:
            return _ABSENT
        value = value[part]
    return value


def _subject(claims: Claims) -> str:
    subject = claims.get("sub")
    # Neither controls nor halves of surrogate pairs are printable.
    if not _is_text(subject, _MAX_SUBJECT_CHARS) or not subject.isprintable():
        raise ClaimRefused("sub")
    return subject


def _names(claims: Claims, name: str) -> frozenset[str] | None:
    value = _find(claims, name)
    if value is _ABSENT:
        return None
    listed = value.split() if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(_is_text(item) for item in listed):
        raise ClaimRefused(name)
    return frozenset(listed)


def _engines(claims: Claims, name: str) -> frozenset[int] | None:
    value = _find(claims, name)
    if value is _ABSENT:
        return None
    listed = value.split() if isinstance(value, str) else value
    if not isinstance(listed, list):
        raise ClaimRefused(name)
    ids = [str(item) if _is_whole(item) else item for item in listed]
    if not all(_is_text(item, _MAX_ID_CHARS) and re.fullmatch("[0-9]+", item) for item in ids):
        raise ClaimRefused(name)
    return frozenset(number for number in map(int, ids) if number <= MAX_INT64)


def _conditions(claims: Claims, name: str) -> Conditions:
    """Return an object's conditions: for each scope key, the values it may have."""
    claim = _find(claims, name)
    if claim is _ABSENT:
        return {}
    if not isinstance(claim, dict) or not 1 <= len(claim) <= _MAX_CONDITIONS:
        raise ClaimRefused(name)
    if not all(_is_text(key, _MAX_KEY_CHARS) for key in claim):
        raise ClaimRefused(name)
    return {key: _values(values, name) for key, values in claim.items()}


def _values(value: Any, name: str) -> frozenset[str]:  # noqa: ANN401 - the value of any claim
    """Return the allowed values of a scope key, given as one value or an array."""
    listed: Sequence[Any] = value if isinstance(value, list) else [value]
    values = [str(item) if _is_whole(item) else item for item in listed]
    if not values or not all(_is_text(item) and "*" not in item for item in values):
        raise ClaimRefused(name)
    return frozenset(values)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: object, max_chars: int = _MAX_VALUE_CHARS) -> TypeGuard[str]:
    if not isinstance(value, str) or not 1 <= len(value) <= max_chars:
        return False
    return UNSTORABLE.search(value) is None
