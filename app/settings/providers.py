"""The providers of text models, by the first part of names such as `openai:gpt-5-mini`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class ModelProvider:
    """A provider of text models.

    The fields from `media_types` to `needs_strict_schema` have no defaults, since no value is safe
    for every provider. They hold unless a setting gives the address of another server: of that,
    and of a local one, only the protocol is known.

    Attributes:
        address: the address of its API, unless a setting or a variable gives another.
        key_variables: variables of its key. Its client reads the first one that is set.
        address_variable: the variable of its address, which its client reads.
        media_types: the media types of files that all its models read.
        fetched_schemes: the URI schemes of image references that its servers fetch.
        uploads_as: the name in pydantic-ai of its uploaded files, if it takes image references as
            such; None if it takes them as addresses.
        speaks_openai: True if its protocol is OpenAI's Chat Completions.
        needs_strict_schema: True if its models keep to a schema only in strict mode.
        serves_elsewhere: True if models of other servers have its name too, so that settings may
            give an address.
        is_local: True if `address` is a server on this machine.
        takes_query: True if the address may have a query, which every request then has.
    """

    address: str
    key_variables: Sequence[str]
    address_variable: str
    media_types: Sequence[str]
    fetched_schemes: Sequence[str]
    uploads_as: Literal["google"] | None
    speaks_openai: bool
    needs_strict_schema: bool
    serves_elsewhere: bool = False
    is_local: bool = False
    takes_query: bool = True


_IMAGES = ("image/png", "image/jpeg", "image/webp", "image/gif")

PROVIDERS: Mapping[str, ModelProvider] = {
    "openai": ModelProvider(
        address="https://api.openai.com/v1",
        key_variables=["OPENAI_API_KEY"],
        address_variable="OPENAI_BASE_URL",
        media_types=[*_IMAGES, "application/pdf"],
        fetched_schemes=["https", "http"],
        uploads_as=None,
        speaks_openai=True,
        needs_strict_schema=True,
        serves_elsewhere=True,
    ),
    "anthropic": ModelProvider(
        address="https://api.anthropic.com",
        key_variables=["ANTHROPIC_API_KEY"],
        address_variable="ANTHROPIC_BASE_URL",
        media_types=[*_IMAGES, "application/pdf"],
        fetched_schemes=["https", "http"],
        uploads_as=None,
        speaks_openai=False,
        needs_strict_schema=False,
    ),
    "google": ModelProvider(
        address="https://generativelanguage.googleapis.com/",
        key_variables=["GOOGLE_API_KEY", "GEMINI_API_KEY"],
        address_variable="GOOGLE_GEMINI_BASE_URL",
        media_types=[*_IMAGES, "application/pdf"],
        fetched_schemes=["https"],
        uploads_as="google",
        speaks_openai=False,
        needs_strict_schema=False,
        takes_query=False,
    ),
    "ollama": ModelProvider(
        address="http://localhost:11434/v1",
        key_variables=["OLLAMA_API_KEY"],
        address_variable="OLLAMA_BASE_URL",
        media_types=[],
        fetched_schemes=[],
        uploads_as=None,
        speaks_openai=True,
        needs_strict_schema=False,
        serves_elsewhere=True,
        is_local=True,
    ),
}
SERVED_ELSEWHERE = [name for name, provider in PROVIDERS.items() if provider.serves_elsewhere]
"""The providers for which settings may give an address."""
