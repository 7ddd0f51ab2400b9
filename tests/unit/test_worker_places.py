"""The number of operations that a process runs at once, unless the setting gives it."""

from typing import Any

import pytest

from app.settings.settings import Settings


@pytest.mark.parametrize(
    ("given", "places"),
    [
        ({}, 4),
        ({"model": "ollama:llama3.2"}, 4),
        ({"model": "openai:gpt-5-mini"}, 16),
        ({"model": "openai:any", "model_base_url": "http://localhost:8080/v1"}, 16),
        ({"model_aliases": {"gemini-2.5-flash": "google:gemini-2.5-flash"}}, 16),
        ({"model": "openai:gpt-5-mini", "model_concurrency": 9}, 7),
        ({"model": "openai:gpt-5-mini", "model_concurrency": 1}, 4),
        ({"model": "openai:gpt-5-mini", "database_pool_size": 10}, 6),
        ({"model": "openai:gpt-5-mini", "database_pool_size": 1}, 4),
        ({"model": "openai:gpt-5-mini", "worker_concurrency": 2}, 2),
        ({"worker_concurrency": 40}, 40),
    ],
)
def test_places_follow_from_the_model_its_provider_and_the_pool(
    given: dict[str, Any], places: int
) -> None:
    assert Settings(**given).worker_places == places
