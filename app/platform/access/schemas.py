"""The wire form of API keys; the methods are this service's own."""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)

from app.kernel.auth import Caller
from app.kernel.names import INT64_ID, WILDCARD, is_engine_id, is_project_id
from app.kernel.permissions import Permission, Role
from app.kernel.release import RELEASE
from app.kernel.wire.base import WireModel
from app.kernel.wire.scalars import Duration, PositiveDuration, Timestamp
from app.platform.access.store import ApiKeyRow

MAX_NAME_CHARS = 256
MAX_REACHED = 100
"""Limit for projects, and for engines, that one key may name."""
MAX_CONDITION_KEYS = 5
MAX_CONDITION_VALUES = 100
MAX_SCOPE_KEY_CHARS = 256
MAX_SCOPE_VALUE_CHARS = 1_024
MAX_GRACE = timedelta(days=30)

_E = TypeVar("_E", bound=StrEnum)
_T = TypeVar("_T")


def _without_repeats(values: list[_T]) -> list[_T]:
    return list(dict.fromkeys(values))


def _enum_by_name(kind: type[_E]) -> BeforeValidator:
    known = ", ".join(kind)

    def read(value: object) -> _E:
        if isinstance(value, str) and value in frozenset(kind):
            return kind(value)
        raise ValueError(f"must be one of {known}")

    return BeforeValidator(read)


_Roles = Annotated[
    list[Annotated[Role, _enum_by_name(Role)]],
    Field(min_length=1, max_length=len(Role)),
    AfterValidator(_without_repeats),
]
_Permissions = Annotated[
    list[Annotated[Permission, _enum_by_name(Permission)]],
    Field(min_length=1, max_length=len(Permission)),
    AfterValidator(_without_repeats),
]


def _check_name(name: str) -> str:
    if not (name.strip() and name.isprintable()):
        raise ValueError("must be printable, and not blank")
    return name


DisplayName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_NAME_CHARS,
        examples=["travel agent"],
        json_schema_extra={"pattern": r"\S"},
    ),
    AfterValidator(_check_name),
]


def _check_project(project: str) -> str:
    if project == WILDCARD or not is_project_id(project):
        raise ValueError("must be the id of a project, without a slash")
    return project


_Projects = Annotated[
    list[Annotated[str, AfterValidator(_check_project)]],
    Field(min_length=1, max_length=MAX_REACHED, examples=[["default"]]),
    AfterValidator(_without_repeats),
]


def _read_engine(value: object) -> str:
    text = str(value) if type(value) is int else value
    if isinstance(text, str):
        head, _, identity = text.rpartition("/")
        is_named = not head or head.rpartition("/")[2] in {"reasoningEngines", "memoryBanks"}
        if is_named and is_engine_id(identity):
            return identity
    raise ValueError("must be the id or the name of an engine")


_Engines = Annotated[
    list[
        Annotated[
            str,
            BeforeValidator(_read_engine),
            WithJsonSchema({"type": "string", "pattern": f"^(?:.+/)?{INT64_ID}$"}),
        ]
    ],
    Field(min_length=1, max_length=MAX_REACHED, examples=[["1"]]),
    AfterValidator(_without_repeats),
]


def _read_values(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _check_value(value: str) -> str:
    if not 1 <= len(value) <= MAX_SCOPE_VALUE_CHARS or "*" in value:
        raise ValueError(f"must have 1 to {MAX_SCOPE_VALUE_CHARS} characters, without *")
    return value


_VALUE_SCHEMA = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_SCOPE_VALUE_CHARS,
    "pattern": "^[^*]*$",
}
_VALUES_SCHEMA = {
    "type": "array",
    "minItems": 1,
    "maxItems": MAX_CONDITION_VALUES,
    "items": _VALUE_SCHEMA,
}
_Values = Annotated[
    list[Annotated[str, AfterValidator(_check_value)]],
    Field(min_length=1, max_length=MAX_CONDITION_VALUES),
    BeforeValidator(_read_values),
    AfterValidator(_without_repeats),
]


def _check_conditions(conditions: dict[str, list[str]]) -> dict[str, list[str]]:
    if not 1 <= len(conditions) <= MAX_CONDITION_KEYS:
        raise ValueError(f"must have 1 to {MAX_CONDITION_KEYS} keys")
    if not all(1 <= len(key) <= MAX_SCOPE_KEY_CHARS for key in conditions):
        raise ValueError(f"must have keys of 1 to {MAX_SCOPE_KEY_CHARS} characters")
    return conditions


def _conditions_schema(values: Mapping[str, Any]) -> WithJsonSchema:
    return WithJsonSchema(
        {
            "type": "object",
            "minProperties": 1,
            "maxProperties": MAX_CONDITION_KEYS,
            "propertyNames": {"minLength": 1, "maxLength": MAX_SCOPE_KEY_CHARS},
            "additionalProperties": values,
            "description": "For each scope key, the allowed values.",
            "examples": [{"user_id": ["42"]}],
        }
    )


class CreateKeyRequest(WireModel):
    """A key as described by its creator. Output-only fields are ignored."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "displayName": "travel agent of user 42",
                    "roles": ["user"],
                    "engines": ["1"],
                    "scopeConditions": {"user_id": "42"},
                    "ttl": "2592000s",
                }
            ]
        }
    )

    ignored: ClassVar[frozenset[str]] = frozenset(
        {"name", "create_time", "revoke_time", "last_use_time", "creator"}
    )

    display_name: DisplayName = Field(description="Name for people; printable, not blank.")
    roles: _Roles | None = Field(
        None,
        description="Roles of the key; at least one of `roles` and `permissions` is needed.",
    )
    permissions: _Permissions | None = Field(
        None, description="Permissions in addition to the roles."
    )
    projects: _Projects | None = Field(None, description="Projects of the engines; absent: all.")
    engines: _Engines | None = Field(None, description="Ids or names of engines; absent: all.")
    scope_conditions: (
        Annotated[
            dict[str, _Values],
            AfterValidator(_check_conditions),
            _conditions_schema({"anyOf": [_VALUE_SCHEMA, _VALUES_SCHEMA]}),
        ]
        | None
    ) = Field(
        None,
        description="For each scope key, the values that the key may reach: one, or a list."
        " Absent: all scopes.",
    )
    expire_time: Timestamp | None = Field(
        None,
        description="Time at which the key stops working, in UTC; absent: by `ttl`, else never.",
    )
    ttl: PositiveDuration | None = Field(None, description="Input only: expiry is now + ttl.")

    @model_validator(mode="after")
    def _has_permissions(self) -> Self:
        if not (self.roles or self.permissions):
            raise ValueError("must have at least one of roles and permissions")
        if self.ttl is not None and self.expire_time is not None:
            raise ValueError("must have at most one of ttl and expireTime")
        return self

    def columns(self) -> dict[str, Any]:
        """Return the columns set by the creator, except the expiry."""
        return {
            "display_name": self.display_name,
            "roles": self.roles or [],
            "permissions": self.permissions or [],
            "projects": self.projects,
            "engines": self.engines,
            "scope_conditions": self.scope_conditions,
        }


def check_grace(length: timedelta) -> timedelta:
    """Raise ValueError for a grace period that is negative or too long."""
    if not timedelta() <= length <= MAX_GRACE:
        raise ValueError(f"must be 0s to {MAX_GRACE.total_seconds():.0f}s")
    return length


class RotateKeyRequest(WireModel):
    """Options of a key's rotation."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"gracePeriod": "86400s"}]})

    grace_period: Annotated[Duration, AfterValidator(check_grace)] = Field(
        timedelta(),
        description="Time for which the former secrets still work, at most 30 days; absent: none.",
    )


class ApiKey(WireModel):
    """An API key with its permissions and its reach."""

    name: str = Field(
        examples=["keys/176847840012345678"],
        description="Name of the key: `keys/` and its id.",
    )
    display_name: str = Field(description="Name for people.")
    roles: list[str] | None = Field(None, description="Roles of the key; absent: none.")
    permissions: list[str] | None = Field(
        None, description="Permissions in addition to its roles; absent: none."
    )
    projects: list[str] | None = Field(
        None, description="Projects of the engines that it reaches; absent: all."
    )
    engines: list[str] | None = Field(
        None, description="Ids of the engines that it reaches; absent: all."
    )
    scope_conditions: Annotated[dict[str, list[str]], _conditions_schema(_VALUES_SCHEMA)] | None = (
        Field(
            None,
            description="For each scope key, the values that it may reach; absent: all scopes.",
        )
    )
    creator: str | None = Field(
        None,
        description="Id of the key that made it, `jwt:` and the subject of a token, or"
        " `command-line`; absent: made by a start of the service.",
    )
    create_time: Timestamp = Field(description="Time of its creation.")
    expire_time: Timestamp | None = Field(
        None, description="Time at which it stops working; absent: never."
    )
    revoke_time: Timestamp | None = Field(
        None, description="Time at which it was revoked; absent: it was not."
    )
    last_use_time: Timestamp | None = Field(
        None, description="Time of the last use, up to a minute early."
    )
    secret: str | None = Field(
        None, description="The credential to send; present only when the key is created or rotated."
    )

    @classmethod
    def from_row(cls, row: ApiKeyRow, secret: str | None = None) -> "ApiKey":
        """Build the wire form."""
        return cls(
            name=f"keys/{row.key_id}",
            display_name=row.display_name,
            roles=row.roles or None,
            permissions=row.permissions or None,
            projects=row.projects,
            engines=row.engines,
            scope_conditions=row.scope_conditions,
            creator=row.creator,
            create_time=row.create_time,
            expire_time=row.expire_time,
            revoke_time=row.revoke_time,
            last_use_time=row.last_use_time,
            secret=secret,
        )


class ListKeysResponse(WireModel):
    """A page of keys."""

    keys: list[ApiKey] = Field(description="The keys of this page.")
    next_page_token: str | None = Field(
        None, description="Token of the next page, for `pageToken`; absent on the last page."
    )


class CallerInfo(WireModel):
    """The caller, by the key or token that it sent."""

    name: str = Field(
        description="Name of the key, or `jwt:` and the subject of the token.",
        examples=["keys/176847840012345678"],
    )
    kind: Literal["KEY", "TOKEN"] = Field(
        description="`KEY`: an API key; `TOKEN`: a JWT of an issuer."
    )
    display_name: str | None = Field(None, description="Name of the key; absent: a token.")
    roles: list[Role] | None = Field(
        None, description="Roles, beginning with the fewest permissions; absent: none."
    )
    permissions: list[Permission] = Field(
        description="Permissions that work, sorted: permissions of the roles and single ones,"
        " without permissions that need a larger reach."
    )
    projects: list[str] | None = Field(
        None, description="Projects of the engines within reach, sorted; absent: all."
    )
    engines: list[str] | None = Field(
        None, description="Ids of the engines within reach, ascending; absent: all."
    )
    scope_conditions: dict[str, list[str]] | None = Field(
        None,
        description="For each scope key, the allowed values, sorted; absent: all.",
        examples=[{"user_id": ["42"]}],
    )
    expire_time: Timestamp | None = Field(
        None, description="Time at which the key, the secret sent or the token ends; absent: never."
    )
    version: str = Field(description="Release of the responding process.")

    @classmethod
    def from_caller(cls, caller: Caller) -> "CallerInfo":
        """Build the wire form."""
        reach = caller.reach
        conditions = {key: sorted(values) for key, values in reach.conditions.items()}
        return cls(
            name=caller.key_id if caller.is_token else f"keys/{caller.key_id}",
            kind="TOKEN" if caller.is_token else "KEY",
            display_name=caller.display_name,
            roles=[role for role in Role if role in caller.roles] or None,
            permissions=caller.usable,
            projects=None if reach.projects is None else sorted(reach.projects),
            engines=None
            if reach.engines is None
            else [str(engine) for engine in sorted(reach.engines)],
            scope_conditions=conditions or None,
            expire_time=caller.expire_time,
            version=RELEASE,
        )
