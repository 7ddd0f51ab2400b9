"""The providers of text models, by the first part of names such as `openai:gpt-5-mini`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ModelProvider:
    """A provider of text models.

    Attributes:
        address: the address of its API, unless a setting or a variable gives another.
        key_variables: variables of its key. Its client reads the first one that is set.
        address_variable: the variable of its address, which its client reads.
        serves_elsewhere: True if models of other servers have its name too, so that settings may
            give an address.
        is_local: True if `address` is a server on this machine.
        takes_query: True if the address may have a query, which every request then has.
    """

    address: str
    key_variables: Sequence[str]
    address_variable: str
    serves_elsewhere: bool = False
    is_local: bool = False
    takes_query: bool = True


PROVIDERS: Mapping[str, ModelProvider] = {
    "openai": ModelProvider(
        "https://api.openai.com/v1", ["OPENAI_API_KEY"], "OPENAI_BASE_URL", serves_elsewhere=True
    ),
    "anthropic": ModelProvider(
        "https://api.anthropic.com", ["ANTHROPIC_API_KEY"], "ANTHROPIC_BASE_URL"
    ),
    "google": ModelProvider(
        "https://generativelanguage.googleapis.com/",
        ["GOOGLE_API_KEY", "GEMINI_API_KEY"],
        "GOOGLE_GEMINI_BASE_URL",
        takes_query=False,
    ),
    "ollama": ModelProvider(
        "http://localhost:11434/v1",
        ["OLLAMA_API_KEY"],
        "OLLAMA_BASE_URL",
        serves_elsewhere=True,
        is_local=True,
    ),
}
SERVED_ELSEWHERE = [name for name, provider in PROVIDERS.items() if provider.serves_elsewhere]
"""The providers for which settings may give an address."""
