"""Names of text models, as the settings give them: `provider:model`."""

from dataclasses import dataclass

from typing_extensions import override

ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "google": "https://generativelanguage.googleapis.com/",
    "ollama": "http://localhost:11434/v1",
}
"""Where each provider is, if neither a setting nor the environment has another address."""
PROVIDERS = tuple(ADDRESSES)
NO_KEY = "none"
"""Sent to servers of one's own that ask for no key; never a key that is meant for a vendor."""


class ModelSetupError(RuntimeError):
    """A model that the settings ask for cannot be opened; one sentence says why."""


@dataclass(frozen=True)
class ModelName:
    """A provider and what it calls the model."""

    provider: str
    model: str

    @override
    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"

    @classmethod
    def parse(cls, text: str, setting: str) -> "ModelName":
        """Read the name that a setting gives, such as `openai:gpt-5-mini`.

        Raises:
            ModelSetupError: it names no provider that is known, or no model.
        """
        provider, _, model = text.partition(":")
        if provider not in PROVIDERS or not model.strip():
            known = ", ".join(f"{one}:..." for one in PROVIDERS)
            raise ModelSetupError(f"{setting} is {text!r}; a model is named as one of {known}.")
        return cls(provider, model.strip())
