"""The settings of who may connect, and of how long they may take; a part of `Settings`."""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field
from pydantic_core import PydanticCustomError

ANY_ORIGIN = "*"
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")
_DEFAULT_PORT = re.compile(r"^(http://.*):80$|^(https://.*):443$")


def _checked(origins: list[str]) -> list[str]:
    """Return origins as browsers send them."""
    found = [origin.lower() for origin in origins]
    if found == [ANY_ORIGIN]:
        return found
    for origin in found:
        if not _ORIGIN.fullmatch(origin):
            raise PydanticCustomError(
                "origin",
                "{origin} is no origin, such as https://example.com or http://localhost:3000;"
                " * stands alone.",
                {"origin": origin},
            )
    return [_DEFAULT_PORT.sub(r"\1\2", origin) for origin in found]


class ConnectionSettings(BaseModel):
    """Which pages may call, and what a connection may take."""

    cors_origins: Annotated[list[str], AfterValidator(_checked)] = Field(
        default_factory=list,
        description='JSON array of origins whose pages may call, such as `["https://example.com"]`;'
        ' `["*"]`: all. Requests of other pages are refused.',
    )
    metrics_port: int = Field(
        0,
        ge=0,
        le=65_535,
        description="Port of `serve` with `/metrics`, `/healthz` and `/readyz` alone, for which no"
        " key is needed; 0: none.",
    )
    metrics_host: str = Field("127.0.0.1", description="Address that `metrics_port` is on.")
    max_connections: int = Field(
        900,
        ge=1,
        description="Connections open at once per process; then those that ask for nothing make"
        " room. A process may open 1,024 files where nothing else is configured.",
    )
    max_header_bytes: int = Field(
        64 * 1024, ge=1_024, description="Longest request line and headers of a request."
    )
    idle_seconds: float = Field(
        75, gt=0, description="How long a connection stays open between two requests."
    )
    header_seconds: float = Field(
        15, gt=0, description="How long a client may take for the headers of a request."
    )
    body_seconds: float = Field(
        60, gt=0, description="How long a client may take for the body of a request."
    )
    send_seconds: float = Field(
        30, gt=0, description="How long a client may take nothing of its answer."
    )
