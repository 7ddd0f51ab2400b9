"""Scopes of tools: pairs from the key, then from the connection, then from the model.

Retrieval matches scopes exactly. A key bound to `user_id=42` may therefore add a pair.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.kernel.auth import Conditions
from app.kernel.errors import InvalidArgument, PermissionDenied, Reason
from app.kernel.wire.reading import read_object

HEADER = "X-Memory-Scope"
PREFIX = "scope."
"""Prefix of the query parameters that are pairs of a scope."""
ARGUMENT = "scope"
MAX_PAIRS = 5
MAX_KEY_CHARS = 256
MAX_VALUE_CHARS = 1_024
_FORM = (
    f"must be 1 to {MAX_PAIRS} pairs of a key (1 to {MAX_KEY_CHARS} characters) and a text"
    f" (at most {MAX_VALUE_CHARS}), without *."
)


@dataclass(frozen=True)
class ChosenScope:
    """The known part of a scope before a call; `open` has the values allowed for other keys."""

    pairs: Mapping[str, str]
    open: Conditions

    @property
    def is_fixed(self) -> bool:
        """True if the scope is complete."""
        return bool(self.pairs) and not self.open

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the parameter for the rest of the scope."""
        values = {
            key: {"type": "string", "enum": sorted(allowed)} for key, allowed in self.open.items()
        }
        return {
            "type": "object",
            "description": 'Whose memories, such as {"user_id": "42"}.',
            "minProperties": 1,
            "maxProperties": MAX_PAIRS,
            "additionalProperties": {"type": "string"},
            **({"properties": values, "required": sorted(values)} if values else {}),
        }

    def with_pairs(self, given: object) -> dict[str, str]:
        """Complete the scope with the pairs of a call.

        Raises:
            InvalidArgument: the value is no set of pairs, or has too many or too few.
            PermissionDenied: a pair contradicts the key or the connection.
        """
        scope = dict(self.pairs)
        for key, value in check_pairs(ARGUMENT, given).items():
            if value != scope.setdefault(key, value):
                raise _out_of_reach(key)
            if value not in self.open.get(key, {value}):
                raise _out_of_reach(key)
        if missing := sorted(self.open.keys() - scope.keys()):
            raise InvalidArgument.of_field(ARGUMENT, f"must have a value of {missing[0]}.")
        return check_pairs(ARGUMENT, scope)


def choose(conditions: Conditions, given: Mapping[str, str]) -> ChosenScope:
    """Combine the conditions of a key with the pairs of a connection.

    Raises:
        InvalidArgument: the combined scope has too many pairs.
        PermissionDenied: a pair contradicts the conditions.
    """
    for key, value in given.items():
        if value not in conditions.get(key, {value}):
            raise _out_of_reach(key)
    single = {key: next(iter(values)) for key, values in conditions.items() if len(values) == 1}
    left = {key: values for key, values in conditions.items() if key not in {*single, *given}}
    pairs = {**single, **given}
    return ChosenScope(check_pairs(ARGUMENT, pairs) if pairs else {}, left)


def of_request(pairs: Mapping[str, str], header: str | None) -> Mapping[str, str]:
    """Return the pairs of a connection from its URL, its header, or both.

    Raises:
        InvalidArgument: the two differ, or one is not a valid set of pairs.
    """
    in_url = check_pairs(ARGUMENT, pairs) if pairs else {}
    if header is None:
        return in_url
    try:
        # ASGI servers decode headers as Latin-1.
        written = read_object(header.encode("latin-1"), HEADER)
    except InvalidArgument as error:
        description = error.message.removeprefix(f"The {HEADER} ")
        raise InvalidArgument.of_field(HEADER, description) from None
    in_header = check_pairs(HEADER, written)
    if in_url and in_url != in_header:
        raise InvalidArgument.of_field(HEADER, "differs from the scope in the URL.")
    return in_header


def fixed() -> InvalidArgument:
    """Return the error for a call with a scope that the connection already fixes."""
    return InvalidArgument("scope is fixed by this connection.", Reason.FIELD_INVALID)


def check_pairs(field: str, given: object) -> dict[str, str]:
    """Validate the pairs of a scope.

    Raises:
        InvalidArgument: the value is no object, or a pair breaks a limit.
    """
    if not isinstance(given, Mapping) or not 1 <= len(given) <= MAX_PAIRS:
        raise InvalidArgument.of_field(field, _FORM)
    for key, value in given.items():
        if not isinstance(value, str) or not 1 <= len(key) <= MAX_KEY_CHARS:
            raise InvalidArgument.of_field(field, _FORM)
        if len(value) > MAX_VALUE_CHARS or "*" in value:
            raise InvalidArgument.of_field(field, _FORM)
    return dict(given)


def _out_of_reach(key: str) -> PermissionDenied:
    return PermissionDenied(
        f"The scope's {key} is not one that this connection or its key reaches.",
        Reason.SCOPE_OUT_OF_REACH,
        metadata={"scopeKey": key},
    )
