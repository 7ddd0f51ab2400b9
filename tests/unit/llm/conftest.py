"""A model's server, and text models that ask it."""

from collections.abc import AsyncIterator, Callable

import pytest
from pydantic import BaseModel, ConfigDict

from app.adapters.llm.factory import open_models
from app.adapters.llm.models import TextModels
from app.adapters.llm.ports import Meter, Prompt, TextModel
from app.kernel.errors import ServiceError
from app.settings.settings import Settings
from tests.support.model_server import ModelServer

PROMPT = Prompt("Say what the user likes.", "user: I like tea.")
TEA = {"facts": ["likes tea"]}


class Likes(BaseModel):
    """What someone likes."""

    model_config = ConfigDict(extra="forbid")

    facts: list[str]
    sure: bool = True


Open = Callable[..., TextModel]

SECRETS = ("secret", "tea", "likes", "Bearer")


async def failure(model: TextModel, meter: Meter | None = None) -> ServiceError:
    """Ask, and return the error, which tells nothing of the prompt, the reply or the key."""
    with pytest.raises(ServiceError) as failed:
        await model.ask(PROMPT, Likes, meter or Meter())
    assert not [secret for secret in SECRETS if secret in str(failed.value.as_http_body())]
    return failed.value


@pytest.fixture
def server(server: ModelServer) -> ModelServer:
    """A model's server that answers `TEA` unless told otherwise."""
    server.always(TEA)
    return server


@pytest.fixture
async def opened(server: ModelServer) -> AsyncIterator[Open]:
    """Opens the model `openai:small` at the server; the arguments are further settings."""
    models: list[TextModels] = []

    def build(**given: object) -> TextModel:
        values = {"model": "openai:small", "model_base_url": server.url} | given
        models.append(open_models(Settings.model_validate(values)))
        assert models[-1].default is not None
        return models[-1].default

    yield build
    for each in models:
        await each.close()
