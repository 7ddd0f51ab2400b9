"""Grants of a token's claims: roles, permissions and the bounds of its reach.

A claim is named as it stands, or by a dotted path if it is nested. As for keys, absent bounds mean
no bound. Unreadable bounds refuse the token; they never mean "all".
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from app.kernel.auth import JWT_PREFIX, Caller, Conditions, Reach
from app.kernel.names import MAX_INT64
from app.kernel.permissions import Permission, Role, permissions_of
from app.kernel.text import UNSTORABLE
from app.settings.settings import Settings

_MAX_SUBJECT_CHARS = 128
_MAX_CONDITIONS = 5
_MAX_KEY_CHARS = 256
_MAX_VALUE_CHARS = 1_024
"""Size limits of scopes that can match at all."""
_MAX_ID_CHARS = 19
_ABSENT = object()

Claims = Mapping[str, Any]


class ClaimRefused(Exception):
    """A claim is missing or unreadable; the message names its setting or its name."""


@dataclass(frozen=True)
class Grants:
    """A reader of claims according to the settings."""

    settings: Settings

    def caller(self, claims: Claims) -> Caller:
        """Return the caller that a token with these claims stands for.

        Unknown names of roles and permissions grant nothing.

        Raises:
            ClaimRefused: a claim is missing or unreadable.
        """
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
        """Return the conditions of both kinds of claims: all must hold."""
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
    """Return the claim of this exact name, else the one at this path, else `_ABSENT`."""
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
    """Return the names in an array or a space-separated text; None: the claim is absent."""
    value = _find(claims, name)
    if value is _ABSENT:
        return None
    listed = value.split() if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(_is_text(item) for item in listed):
        raise ClaimRefused(name)
    return frozenset(listed)


def _engines(claims: Claims, name: str) -> frozenset[int] | None:
    """Return engine ids given as texts or numbers; None: the claim is absent."""
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
    """Return True if the value is a text that Postgres can store."""
    if not isinstance(value, str) or not 1 <= len(value) <= max_chars:
        return False
    return UNSTORABLE.search(value) is None
