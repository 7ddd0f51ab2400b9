"""Types of settings that need validation or cleaning beyond a Python type."""

import logging
import re
import unicodedata
from collections.abc import Callable
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_core import PydanticCustomError, PydanticUseDefault
from pydantic_settings import NoDecode

DEFAULT_PORT = 8_000
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_LANGUAGE = re.compile(r"[a-z]{2,3}")
_PASTED = " \t\r\n\v\f\u00a0\u200b\ufeff\"'`\u2018\u2019\u201c\u201d\u00ab\u00bb"
"""Blanks and quotes that copying may add; no key or address ends in one."""
_UNSENDABLE = re.compile(r"[^ -~]")
"""A character that HTTP headers do not allow."""
_BLANK = re.compile(r"[\s\x00-\x1f#]")
_METHOD = re.compile(r"(?:/(?:chat/completions|completions|embeddings|messages|responses))?/*\Z")
"""The path of a method, which providers' documentation appends to the base address."""


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


class UnsendableKeyError(ValueError):
    """A key has a character that HTTP headers do not allow; the message names it and its place."""


def cleaned_key(given: str) -> str:
    """Return a key without the blanks and quotes around it."""
    found = _UNSENDABLE.search(key := given.strip(_PASTED))
    if found is None:
        return key
    sign, place = found[0], given.index(key) + found.start() + 1
    name = unicodedata.name(sign, "a line end" if sign in "\r\n" else "a control character").lower()
    raise UnsendableKeyError(
        f"must have printable ASCII characters alone; got U+{ord(sign):04X} ({name}) as"
        f" character {place}."
    )


def _key(given: SecretStr) -> SecretStr:
    try:
        return SecretStr(cleaned_key(given.get_secret_value()))
    except UnsendableKeyError as error:
        raise PydanticCustomError("api_key", "{why}", {"why": str(error)}) from None


def cleaned_address(given: str) -> str:
    """Return an address without surrounding blanks and quotes, and without a method's path.

    Raises:
        PydanticCustomError: the text is not an address; the message gives an example.
    """
    base, mark, query = given.strip(_PASTED).partition("?")
    try:
        parts = urlsplit(base)
        is_whole = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        is_whole = False
    if not is_whole or _BLANK.search(base + query):
        raise PydanticCustomError(
            "address",
            "must be an address with its http:// or https://, such as {example}",
            {"example": "http://localhost:8080/v1"},
        )
    return _METHOD.sub("", base) + mark + query


ApiKey = Annotated[SecretStr, AfterValidator(_key)]
"""A provider's key. Blanks and quotes around it are dropped."""
BaseUrl = Annotated[str, AfterValidator(cleaned_address)]
"""The address of a server. The path of a method at its end is dropped; a query is kept."""
