"""What the claims of a token grant: roles and permissions, and the bounds of its reach.

A claim is named as it stands, or by its path with dots where it lies in another. Absent bounds
bound nothing, as for keys; those that cannot be read refuse the token, and are never taken for
"all".
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from app.kernel.auth import Caller, Conditions, Reach
from app.kernel.permissions import Permission, Role, permissions_of
from app.settings.settings import Settings

_MAX_SUBJECT_CHARS = 128
_MAX_CONDITIONS = 5
_MAX_KEY_CHARS = 256
_MAX_VALUE_CHARS = 1_024
"""Bounds of the scopes that can be met at all."""
_MAX_ID_CHARS, _MAX_ID = 19, 2**63 - 1
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_ABSENT = object()

Claims = Mapping[str, Any]


class ClaimRefused(Exception):
    """A claim is missing or cannot be read; the message names it by its setting or its name."""


@dataclass(frozen=True)
class Grants:
    """Reads claims as the settings say."""

    settings: Settings

    def caller(self, claims: Claims) -> Caller:
        """Return whom a token with these claims stands for.

        Names of roles and permissions that mean nothing here grant nothing.

        Raises:
            ClaimRefused: a claim is missing or cannot be read.
        """
        for name in self.settings.jwt_required_claims:
            if _find(claims, name) is _ABSENT:
                raise ClaimRefused(f"no {name}")
        return Caller(
            key_id=f"jwt:{_subject(claims)}",
            permissions=permissions_of(self._roles(claims), self._permissions(claims)),
            reach=Reach(
                projects=_names(claims, self.settings.jwt_projects_claim),
                engines=_engines(claims, self.settings.jwt_engines_claim),
                conditions=self._conditions(claims),
            ),
        )

    def _roles(self, claims: Claims) -> Iterable[Role]:
        names = _names(claims, self.settings.jwt_roles_claim) or ()
        own = self.settings.jwt_role_map
        known = {role.value: role.value for role in Role} if own is None else own
        return {Role(known[name]) for name in names if name in known}

    def _permissions(self, claims: Claims) -> Iterable[Permission]:
        names = _names(claims, self.settings.jwt_permissions_claim) or ()
        return {permission for permission in Permission if permission in names}

    def _conditions(self, claims: Claims) -> Conditions:
        """Read the claim with conditions, and those claims that are conditions: all are to hold."""
        found = dict(_conditions(claims, self.settings.jwt_conditions_claim))
        for key, name in self.settings.jwt_condition_claims.items():
            value = _find(claims, name)
            if value is _ABSENT:
                raise ClaimRefused(f"no {name}")
            values = _values(value, name)
            found[key] = found.get(key, values) & values
            if not found[key]:
                raise ClaimRefused(f"{name} contradicts the conditions")
        return found


def _find(claims: Claims, name: str) -> Any:  # noqa: ANN401 - the value of any claim
    """Return the claim of this very name, else the one at this path, else `_ABSENT`."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        if not isinstance(found, Mapping):
            raise ClaimRefused(f"{name} has no such path")
        if part not in found:
            return _ABSENT
        found = found[part]
    return found


def _subject(claims: Claims) -> str:
    subject = claims.get("sub")
    # Neither controls nor halves of surrogate pairs are printable.
    if not _is_text(subject, _MAX_SUBJECT_CHARS) or not subject.isprintable():
        raise ClaimRefused("sub")
    return subject


def _names(claims: Claims, name: str) -> frozenset[str] | None:
    """Read an array of names, or a text with spaces between them; None: the claim is absent."""
    found = _find(claims, name)
    if found is _ABSENT:
        return None
    listed = found.split() if isinstance(found, str) else found
    if not isinstance(listed, list) or not all(_is_text(one) for one in listed):
        raise ClaimRefused(name)
    return frozenset(listed)


def _engines(claims: Claims, name: str) -> frozenset[int] | None:
    """Read the ids of engines, as texts or as numbers; None: the claim is absent."""
    found = _find(claims, name)
    if found is _ABSENT:
        return None
    listed = found.split() if isinstance(found, str) else found
    if not isinstance(listed, list):
        raise ClaimRefused(name)
    ids = [str(one) if _is_whole(one) else one for one in listed]
    if not all(_is_text(one, _MAX_ID_CHARS) and re.fullmatch("[0-9]+", one) for one in ids):
        raise ClaimRefused(name)
    return frozenset(number for number in map(int, ids) if number <= _MAX_ID)


def _conditions(claims: Claims, name: str) -> Conditions:
    """Read an object: by key of a scope, the value or the values that it may have."""
    found = _find(claims, name)
    if found is _ABSENT:
        return {}
    if not isinstance(found, dict) or not 1 <= len(found) <= _MAX_CONDITIONS:
        raise ClaimRefused(name)
    if not all(_is_text(key, _MAX_KEY_CHARS) for key in found):
        raise ClaimRefused(name)
    return {key: _values(values, name) for key, values in found.items()}


def _values(found: Any, name: str) -> frozenset[str]:  # noqa: ANN401 - the value of any claim
    """Read the value that a key of a scope may have, or an array of several."""
    listed: Sequence[Any] = found if isinstance(found, list) else [found]
    values = [str(one) if _is_whole(one) else one for one in listed]
    if not values or not all(_is_text(one) and "*" not in one for one in values):
        raise ClaimRefused(name)
    return frozenset(values)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: object, max_chars: int = _MAX_VALUE_CHARS) -> TypeGuard[str]:
    """Say whether this is a text that Postgres can hold."""
    if not isinstance(value, str) or not 1 <= len(value) <= max_chars:
        return False
    return _UNSTORABLE.search(value) is None
