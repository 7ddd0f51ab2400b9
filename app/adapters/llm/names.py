"""Names of text models in the settings: `provider:model`. Imports nothing that is costly."""

from dataclasses import dataclass

from typing_extensions import override

from app.settings.providers import PROVIDERS

NO_KEY = "none"
"""The key sent to self-hosted servers that need none; never a key meant for a vendor."""


class ModelSetupError(RuntimeError):
    """A configured model cannot be opened; the message is one sentence."""


@dataclass(frozen=True)
class ModelName:
    """A provider and its name of the model."""

    provider: str
    model: str

    @override
    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"

    @classmethod
    def parse(cls, text: str, setting: str) -> "ModelName":
        """Parse the model name of a setting, such as `openai:gpt-5-mini`."""
        provider, _, model = text.partition(":")
        if provider not in PROVIDERS or not model.strip():
            known = ", ".join(f"{provider}:..." for provider in PROVIDERS)
            raise ModelSetupError(f"{setting} must be one of {known}; got {text!r}.")
        return cls(provider, model.strip())
