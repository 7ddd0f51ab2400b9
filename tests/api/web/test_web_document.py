"""The document of the API: complete, and with examples that work."""

import json
from typing import Any

import httpx
import pytest

from app.platform.operations.services.runner import Runner
from app.process.main import create_app
from app.process.start import offline_resources
from app.settings.settings import Settings
from tests.support.bank import Json
from tests.support.cases import in_one_test
from tests.support.operations import create_memory, path_of

_PREFIX = "/v1beta1/projects/{project}/locations/{location}/reasoningEngines"


@pytest.fixture(scope="module")
def document() -> Json:
    """The document, which takes longer to make than all else here."""
    return create_app(offline_resources(Settings())).openapi()


def _operations(document: Json) -> list[Json]:
    return [found for path in document["paths"].values() for found in path.values()]


def _example(document: Json, path: str, method: str = "post") -> Any:
    """Return the example of a request's body."""
    body = document["paths"][_PREFIX + path][method]["requestBody"]
    reference = body["content"]["application/json"]["schema"]["$ref"]
    return document["components"]["schemas"][reference.rpartition("/")[2]]["examples"][0]


async def test_the_document_is_served(document: Json, client: httpx.AsyncClient) -> None:
    assert (await client.get("http://test/openapi.json")).json() == document


def test_every_operation_has_a_name_of_its_own_a_summary_and_a_description(document: Json) -> None:
    operations = _operations(document)
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(names)
    assert all(name.isalnum() and name[0].islower() for name in names)
    for operation in operations:
        assert operation["summary"]
        assert operation["description"]
        assert operation["tags"]


def test_every_operation_but_the_probes_needs_a_key(document: Json) -> None:
    for operation in _operations(document):
        is_public = operation["operationId"] in {"getHealth", "getReadiness"}
        assert (operation["security"] == []) == is_public
        assert ("401" in operation["responses"]) != is_public


def test_every_parameter_is_described(document: Json) -> None:
    for operation in _operations(document):
        for parameter in operation.get("parameters", ()):
            assert parameter.get("description"), (operation["operationId"], parameter["name"])


def test_the_document_has_nothing_of_the_framework_in_it(document: Json) -> None:
    text = json.dumps(document)
    assert "HTTPValidationError" not in text
    assert '"422"' not in text


@in_one_test(
    ("method", "path"),
    [
        ("POST", ""),
        ("PATCH", "/{engine}"),
        ("POST", "/{engine}/memories"),
        ("PATCH", "/{engine}/memories/{memory}"),
        ("POST", "/{engine}/memories:retrieve"),
        ("POST", "/{engine}/memories:generate"),
        ("POST", "/{engine}/memories:purge"),
    ],
)
async def test_the_example_of_a_body_works(
    document: Json, client: httpx.AsyncClient, runner: Runner, method: str, path: str
) -> None:
    memory = await create_memory(client, "I like tea.")
    identity = memory["name"].rpartition("/")[2]
    parts = {"project": "default", "location": "local", "engine": "1", "memory": identity}
    body = _example(document, path, method.lower())
    answer = await client.request(
        method, "http://test" + (_PREFIX + path).format(**parts), json=body
    )
    assert answer.status_code == 200, answer.text
    await runner.run_pending()
    operation = answer.json()
    if "metadata" in operation:
        done = (await client.get(f"http://test/v1/{operation['name']}")).json()
        assert "error" not in done


async def test_the_example_of_a_rollback_has_the_form_of_a_revision(
    document: Json, client: httpx.AsyncClient
) -> None:
    memory = await create_memory(client, "I like tea.")
    history = await client.get(f"{path_of(memory['name'])}/revisions")
    real = history.json()["memoryRevisions"][0]["name"].rpartition("/")[2]
    example = _example(document, "/{engine}/memories/{memory}:rollback")["targetRevisionId"]
    assert example.isdecimal()
    assert len(example) == len(real)
