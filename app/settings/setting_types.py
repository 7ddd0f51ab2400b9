"""The forms of settings that need more than a type."""

import logging
import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_core import PydanticCustomError, PydanticUseDefault
from pydantic_settings import NoDecode

DEFAULT_PORT = 8_000
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_LEAST_KEY_CHARS = 16
_LANGUAGE = re.compile(r"[a-z]{2,3}")


def _level(given: str) -> str:
    level = given.strip().upper()
    # Also what logging knows by another name, such as WARN.
    if level not in logging.getLevelNamesMapping():
        raise PydanticCustomError(
            "log_level", "must be {levels}; got {given}.", {"levels": _listed(), "given": given}
        )
    return level


def _listed() -> str:
    return f"{', '.join(_LEVELS[:-1])} or {_LEVELS[-1]}"


def _long_enough(key: SecretStr) -> SecretStr:
    # An empty one is none: compose hands on variables without a value.
    if 0 < len(key) < _LEAST_KEY_CHARS:
        raise PydanticCustomError(
            "key",
            "must have at least {least} characters; got {length}. `openssl rand -hex 24` makes a"
            " good one; without the setting the first start makes one.",
            {"least": _LEAST_KEY_CHARS, "length": len(key)},
        )
    return key


def is_of_a_link(value: str) -> bool:
    """Say whether a value is what container platforms set for a service of this name."""
    return value.startswith(("tcp://", "udp://", "sctp://"))


def _own_port(given: object) -> object:
    if isinstance(given, str) and is_of_a_link(given):
        raise PydanticUseDefault
    return given


def _codes(given: object) -> object:
    if not isinstance(given, str):
        return given
    # An empty one is none: compose hands on variables without a value.
    found = [one.strip().lower() for one in given.split(",") if one.strip()]
    wrong = next((one for one in found if _LANGUAGE.fullmatch(one) is None), None)
    if wrong is not None:
        raise PydanticCustomError(
            "languages",
            "must be ISO 639-1 codes with commas between them, such as en,de; got {given}.",
            {"given": wrong},
        )
    return tuple(found) or None


LanguageCodes = Annotated[tuple[str, ...] | None, NoDecode, BeforeValidator(_codes)]
"""Languages, as a list of codes with commas between them."""
LogLevel = Annotated[str, AfterValidator(_level)]
"""A level of `logging`, in any case."""
AdminKey = Annotated[SecretStr, AfterValidator(_long_enough)]
"""A key that is too long to be guessed."""
Port = Annotated[int, BeforeValidator(_own_port), Field(ge=0, le=65_535)]
"""A port; what Kubernetes sets in its place for a service of this name is not one."""
