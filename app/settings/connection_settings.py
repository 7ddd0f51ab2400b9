"""The settings of allowed clients and of connection limits; a part of `Settings`."""

import re
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, Field, model_validator
from pydantic_core import PydanticCustomError

from app.settings.setting_types import Port

ANY_HOST = "*"
ANY_ORIGIN = "*"
_HOST = re.compile(r"[a-z0-9._-]+|\[[0-9a-f:.]+\]")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")
_DEFAULT_PORT = re.compile(r"^(http://.*):80$|^(https://.*):443$")


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
        description="JSON array of hosts, without ports, that requests may be for, such as"
        ' `["memory.example.com"]`; `["*"]`: any. Others are answered 421, but for `/healthz` and'
        " `/readyz`.",
    )

    cors_origins: Annotated[list[str], AfterValidator(_checked)] = Field(
        default_factory=list,
        description='JSON array of origins whose pages may call, such as `["https://example.com"]`;'
        ' `["*"]`: all. Requests of other pages are refused.',
    )
    metrics_port: Port = Field(
        0,
        description="Port of `serve` with `/metrics`, `/healthz` and `/readyz` alone, for which no"
        " key is needed; of several processes, each has the next; 0: none.",
    )
    metrics_host: str = Field("127.0.0.1", description="Address that `metrics_port` is on.")
    worker_port: Port = Field(
        0,
        description="Port of `worker` with `/metrics`, `/healthz` and `/readyz`, for which no key"
        " is needed, on `MEMORY_BANK_HOST`; of several processes, each has the next; 0: none.",
    )
    max_connections: int = Field(
        900,
        ge=1,
        description="Connections open at once per process; then those that ask for nothing make"
        " room. A process may open 1,024 files where nothing else is configured.",
    )
    reserved_connections: int = Field(
        32,
        ge=0,
        description="Connections of these that serve `/healthz`, `/readyz`, `/metrics` and keys"
        " with `keys.manage` only, while all others are taken.",
    )

    @model_validator(mode="after")
    def _check_connections(self) -> Self:
        """Refuse a reserve that leaves no connections for other clients."""
        if self.reserved_connections >= self.max_connections:
            raise PydanticCustomError(
                "reserve",
                "MEMORY_BANK_RESERVED_CONNECTIONS must be less than MEMORY_BANK_MAX_CONNECTIONS.",
            )
        return self
