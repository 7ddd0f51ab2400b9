"""Types of settings with a provider's address or key, cleaned of pasting errors."""

import re
import unicodedata
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, SecretStr
from pydantic_core import PydanticCustomError

_PASTED = " \t\r\n\v\f\u00a0\u200b\ufeff\"'`\u2018\u2019\u201c\u201d\u00ab\u00bb"
"""Blanks and quotes that copying may add; no key or address ends in one."""
_UNSENDABLE = re.compile(r"[^ -~]")
"""A character that HTTP headers do not allow."""
_BLANK = re.compile(r"[\s\x00-\x1f#]")
_METHOD = re.compile(r"(?:/(?:chat/completions|completions|embeddings|messages|responses))?/*\Z")
"""The path of a method, which providers' documentation appends to the base address."""


class UnsendableKeyError(ValueError):
    """A key has a character that HTTP headers do not allow; the message names it and its place."""


def cleaned_key(given: str) -> str:
    """Return a key without the blanks and quotes around it.

    Raises:
        UnsendableKeyError: the key cannot be sent in a header.
    """
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
