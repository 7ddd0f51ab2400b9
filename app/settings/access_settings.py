"""The settings of allowed clients, connection limits and tokens; parts of `Settings`."""

import json
import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import NoDecode

from app.settings.setting_types import Port

ANY_HOST = "*"
ANY_ORIGIN = "*"
_HOST = re.compile(r"[a-z0-9._-]+|\[[0-9a-f:.]+\]")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")
_DEFAULT_PORT = re.compile(r"^(http://.*):80$|^(https://.*):443$")
TokenAlgorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"
]
"""Signature algorithms; shared secrets are excluded, since a public key could pass as one."""


def _checked(origins: list[str]) -> list[str]:
    """Validate origins and convert them to the form that browsers send."""
    normalised = [origin.lower() for origin in origins]
    if normalised == [ANY_ORIGIN]:
        return normalised
    for origin in normalised:
        if not _ORIGIN.fullmatch(origin):
            raise PydanticCustomError(
                "origin",
                "must be origins such as https://example.com or http://localhost:3000, or * alone;"
                " got {origin}.",
                {"origin": origin},
            )
    return [_DEFAULT_PORT.sub(r"\1\2", origin) for origin in normalised]


def _checked_hosts(hosts: list[str]) -> list[str]:
    """Validate host names; return them in lower case and without brackets."""
    normalised = [host.lower() for host in hosts]
    if normalised == [ANY_HOST]:
        return normalised
    for host in normalised:
        if not _HOST.fullmatch(host):
            raise PydanticCustomError(
                "host",
                "must be hosts such as memory.example.com or 127.0.0.1, without a port, or * alone;"
                " got {host}.",
                {"host": host},
            )
    return [host.strip("[]") for host in normalised]


class ConnectionSettings(BaseModel):
    """Allowed hosts and origins, and the limits of a connection."""

    allowed_hosts: Annotated[list[str], AfterValidator(_checked_hosts)] = Field(
        default=[ANY_HOST],
        description="JSON array of hosts, without ports, that requests may name, such as"
        ' `["memory.example.com"]`; `["*"]`: any. Requests for other hosts return 421, except for'
        " `/healthz` and `/readyz`.",
    )

    cors_origins: Annotated[list[str], AfterValidator(_checked)] = Field(
        default_factory=list,
        description="JSON array of origins whose pages may send requests, such as"
        ' `["https://example.com"]`; `["*"]`: all. Requests from other pages are refused.',
    )
    metrics_port: Port = Field(
        0,
        description="Port of `serve` with only `/metrics`, `/healthz` and `/readyz`, without a"
        " key; with several processes, each has the next port; 0: none.",
    )
    metrics_host: str = Field("127.0.0.1", description="Address on which `metrics_port` listens.")
    worker_port: Port = Field(
        0,
        description="Port of `worker` with `/metrics`, `/healthz` and `/readyz`, without a key, on"
        " `MEMORY_BANK_HOST`; with several processes, each has the next port; 0: none.",
    )
    max_connections: int = Field(
        900,
        ge=1,
        description="Connections open at once per process; beyond it, idle connections are closed."
        " A process can open 1,024 files unless the system allows more.",
    )
    reserved_connections: int = Field(
        32,
        ge=0,
        description="Connections of these that serve only `/healthz`, `/readyz`, `/metrics` and"
        " keys with `keys.manage`, while all others are in use.",
    )

    @model_validator(mode="after")
    def _check_connections(self) -> Self:
        if self.reserved_connections >= self.max_connections:
            raise PydanticCustomError(
                "reserve",
                "MEMORY_BANK_RESERVED_CONNECTIONS must be less than MEMORY_BANK_MAX_CONNECTIONS.",
            )
        return self


def _one_or_several(value: object) -> object:
    if not isinstance(value, str):
        return value
    return json.loads(value) if value.startswith("[") else [value] if value else None


class TokenSettings(BaseModel):
    """The issuer and audience of accepted tokens, and the claims that grant access."""

    jwt_issuer: str | None = Field(
        None, description="`iss` of accepted JWTs; needs `jwt_audience` and `jwt_jwks`, too."
    )
    jwt_audience: Annotated[list[str] | None, NoDecode, BeforeValidator(_one_or_several)] = Field(
        None, description="`aud` that a token must have, or a JSON array of several."
    )
    jwt_jwks: str | None = Field(
        None, description="File or `https://` address of the JWK set with the issuer's keys."
    )
    jwt_algorithms: list[TokenAlgorithm] = Field(
        ["RS256", "PS256", "ES256", "EdDSA"],
        min_length=1,
        description="JSON array of accepted algorithms; RS, PS and ES also with 384 and 512.",
    )
    jwt_roles_claim: str = Field(
        "roles",
        description="Claim with roles: an array, or a text with spaces; dots lead into objects.",
    )
    jwt_role_map: dict[str, Literal["viewer", "user", "editor", "admin"]] | None = Field(
        None,
        description="JSON object that maps values of `jwt_roles_claim` to roles; absent: the"
        " values are the roles.",
    )
    jwt_permissions_claim: str = Field(
        "permissions", description="Claim with permissions in addition to the roles."
    )
    jwt_projects_claim: str = Field(
        "projects", description="Claim with the projects that a token reaches; absent: all."
    )
    jwt_engines_claim: str = Field(
        "engines", description="Claim with the ids of engines that a token reaches; absent: all."
    )
    jwt_conditions_claim: str = Field(
        "scope_conditions",
        description="Claim with an object that maps keys of scopes to values; absent: any.",
    )
    jwt_condition_claims: dict[str, str] = Field(
        default_factory=dict,
        description="JSON object that maps a key of scopes to the claim with its value, such as"
        ' `{"user_id": "sub"}`; every token needs these claims.',
    )
    jwt_required_claims: list[str] = Field(
        default_factory=list,
        description='JSON array of other claims that every token needs, such as `["engines"]`.',
    )

    @model_validator(mode="after")
    def _check_tokens(self) -> Self:
        needed = ("jwt_issuer", "jwt_audience", "jwt_jwks")
        missing = [name for name in needed if not getattr(self, name)]
        if missing and len(missing) < len(needed):
            names = " and ".join(f"MEMORY_BANK_{name.upper()}" for name in missing)
            raise PydanticCustomError("tokens", "Tokens also need {names}.", {"names": names})
        if "://" in (self.jwt_jwks or "") and not re.match("https?://.", self.jwt_jwks or ""):
            raise PydanticCustomError(
                "jwks", "MEMORY_BANK_JWT_JWKS must be a file or an http address."
            )
        return self
