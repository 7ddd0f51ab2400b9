"""Types of settings that need validation beyond a Python type."""

import logging
import re
from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_core import PydanticCustomError, PydanticUseDefault
from pydantic_settings import NoDecode

DEFAULT_PORT = 8_000
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_LANGUAGE = re.compile(r"[a-z]{2,3}")


def _level(given: str) -> str:
    level = given.strip().upper()
    # Includes the other names that logging knows, such as WARN.
    if level not in logging.getLevelNamesMapping():
        raise PydanticCustomError(
            "log_level", "must be {levels}; got {given}.", {"levels": _listed(), "given": given}
        )
    return level


def _listed() -> str:
    return f"{', '.join(_LEVELS[:-1])} or {_LEVELS[-1]}"


def _at_least(least: int, command: str, otherwise: str) -> Callable[[SecretStr], SecretStr]:
    """Return a validator of a key's length; its message names a command for a good key."""

    def check(key: SecretStr) -> SecretStr:
        # An empty key counts as absent, because Docker Compose passes variables without a value.
        if 0 < len(key) < least:
            raise PydanticCustomError(
                "key",
                "must have at least {least} characters; got {length}. `{command}` makes a good one;"
                " without the setting {otherwise}.",
                {"least": least, "length": len(key), "command": command, "otherwise": otherwise},
            )
        return key

    return check


def is_of_a_link(value: str) -> bool:
    """Return True if a container platform set the variable to the address of a linked service."""
    return value.startswith(("tcp://", "udp://", "sctp://"))


def _own_port(given: object) -> object:
    if isinstance(given, str) and is_of_a_link(given):
        raise PydanticUseDefault
    return given


def _codes(given: object) -> object:
    if not isinstance(given, str):
        return given
    # An empty list counts as absent, because Docker Compose passes variables without a value.
    codes = [code.strip().lower() for code in given.split(",") if code.strip()]
    wrong = next((code for code in codes if _LANGUAGE.fullmatch(code) is None), None)
    if wrong is not None:
        raise PydanticCustomError(
            "languages",
            "must be ISO 639-1 codes with commas between them, such as en,de; got {given}.",
            {"given": wrong},
        )
    return tuple(codes) or None


LanguageCodes = Annotated[tuple[str, ...] | None, NoDecode, BeforeValidator(_codes)]
"""Languages, as a list of codes separated by commas."""
LogLevel = Annotated[str, AfterValidator(_level)]
"""A level of `logging`, in any case."""
AdminKey = Annotated[
    SecretStr, AfterValidator(_at_least(16, "openssl rand -hex 24", "the first start makes one"))
]
"""A key that is long enough to resist guessing."""
PseudonymKey = Annotated[
    SecretStr,
    AfterValidator(_at_least(32, "openssl rand -hex 32", "the database has one of its own")),
]
"""A key that is long enough to keep its pseudonyms safe from trying keys."""
Port = Annotated[int, BeforeValidator(_own_port), Field(ge=0, le=65_535)]
"""A port; the address that Kubernetes sets for a service with this name is ignored."""
