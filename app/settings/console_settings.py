"""The settings of the console; a part of `Settings`, which reads them."""

from pydantic import BaseModel, Field

_HOUR_SECONDS = 3_600.0
_DAY_SECONDS = 24 * _HOUR_SECONDS


class ConsoleSettings(BaseModel):
    """The settings of the console and of its sessions."""

    console: bool = Field(
        default=True,
        description="True: the console is served at `/console`; otherwise the path is 404.",
    )
    console_plain_http: bool = Field(
        default=False,
        description="True: the console's cookie goes over plain HTTP to other hosts than this"
        " machine too, for a network without TLS; each page then warns of it.",
    )
    console_session_seconds: float = Field(
        8 * _HOUR_SECONDS,
        ge=60,
        le=30 * _DAY_SECONDS,
        description="Longest life of a session of the console.",
    )
    console_idle_seconds: float = Field(
        _HOUR_SECONDS,
        ge=120,
        le=30 * _DAY_SECONDS,
        description="Life of a session of the console without a request.",
    )
