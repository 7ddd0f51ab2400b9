"""The settings of JWT authentication; a part of `Settings`, which reads them."""

import json
import re
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import NoDecode

TokenAlgorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"
]
"""Signature algorithms; shared secrets are excluded, since a public key could pass as one."""


def _one_or_several(value: object) -> object:
    """Parse a text, or a JSON array of texts."""
    if not isinstance(value, str):
        return value
    return json.loads(value) if value.startswith("[") else [value] if value else None


class TokenSettings(BaseModel):
    """The issuer and audience of accepted tokens, and the claims that grant access."""

    jwt_issuer: str | None = Field(
        None, description="`iss` of the JWTs that are taken; they need the next two settings, too."
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
        description="JSON array: how tokens may be signed; RS, PS and ES also with 384 and 512.",
    )
    jwt_roles_claim: str = Field(
        "roles",
        description="Claim with roles: an array, or a text with spaces; dots lead into objects.",
    )
    jwt_role_map: dict[str, Literal["viewer", "user", "editor", "admin"]] | None = Field(
        None, description="JSON object: values of that claim, to roles; absent: they are the roles."
    )
    jwt_permissions_claim: str = Field(
        "permissions", description="Claim with permissions beside those of the roles."
    )
    jwt_projects_claim: str = Field(
        "projects", description="Claim with the projects that a token reaches; absent: all."
    )
    jwt_engines_claim: str = Field(
        "engines", description="Claim with the ids of the engines that it reaches; absent: all."
    )
    jwt_conditions_claim: str = Field(
        "scope_conditions",
        description="Claim with an object: key of a scope to its value or values; absent: any.",
    )
    jwt_condition_claims: dict[str, str] = Field(
        default_factory=dict,
        description='JSON object: key of a scope to the claim with its value, such as `{"user_id":'
        ' "sub"}`; every token needs these claims.',
    )
    jwt_required_claims: list[str] = Field(
        default_factory=list,
        description='JSON array of further claims that every token needs, such as `["engines"]`.',
    )

    @model_validator(mode="after")
    def _check_tokens(self) -> Self:
        """Refuse an incomplete token configuration."""
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
