"""How the clients can be pointed at the service.

Source: wire specification, section 1.3.
"""

import httpx
import pytest

from tests.support.live import KEY, LiveServer
from tests.support.official import (
    LOCATION,
    PARENT,
    PROJECT,
    Bank,
    Client,
    at,
    credentials,
    last_part,
    missing,
    platform_client,
    refused,
    vertex_client,
)


def _lists(client: Client, engine: str) -> bool:
    """Make a call that every set-up should be able to make."""
    return [*client.agent_engines.memories.list(name=engine)] == []


def test_a_static_token_is_a_bearer(server: LiveServer, engine: str) -> None:
    assert _lists(vertex_client(**at(server.url)), engine)


def test_a_base_url_may_end_in_a_slash(server: LiveServer, engine: str) -> None:
    assert _lists(vertex_client(**at(f"{server.url}/")), engine)


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_both_versions_are_served(server: LiveServer, engine: str, version: str) -> None:
    client = vertex_client(**at(server.url, api_version=version))
    bank = Bank(client, engine)
    made = bank.create("I like tea.")
    assert bank.get(made.name) == made
    assert bank.remember("I like tea.")[0].memory.name == made.name


def test_express_mode_needs_no_project(server: LiveServer) -> None:
    client = vertex_client(api_key=KEY, http_options={"base_url": server.url})
    made = client.agent_engines.create(config={"display_name": "express"})
    name = made.api_resource.name
    assert name.startswith("projects/default/locations/local/reasoningEngines/")
    short = f"reasoningEngines/{last_part(name)}"
    memory = client.agent_engines.memories.create(name=short, fact="I like tea.", scope={"u": "1"})
    assert memory.response.fact == "I like tea."
    assert memory.response.name.startswith(f"{name}/memories/")
    assert client.agent_engines.memories.get(name=memory.response.name) == memory.response


def test_express_mode_reaches_the_first_engine(server: LiveServer) -> None:
    client = vertex_client(api_key=KEY, http_options={"base_url": server.url})
    found = client.agent_engines.get(name="reasoningEngines/1")
    assert found.api_resource.name == "projects/default/locations/local/reasoningEngines/1"


def test_an_api_key_goes_with_a_project(server: LiveServer, engine: str) -> None:
    client = vertex_client(
        api_key=KEY, project=PROJECT, location=LOCATION, http_options={"base_url": server.url}
    )
    assert _lists(client, engine)


def _collection(server: LiveServer, **headers: str) -> Client:
    return vertex_client(
        http_options={
            "base_url": f"{server.url}/v1beta1/{PARENT}",
            "base_url_resource_scope": "COLLECTION",
            "headers": headers,
        }
    )


def test_a_base_url_of_a_collection_carries_the_key_in_a_header(
    server: LiveServer, engine: str
) -> None:
    name = f"reasoningEngines/{last_part(engine)}"
    client = _collection(server, **{"x-goog-api-key": KEY})
    assert client.agent_engines.get(name=name).api_resource.name == engine
    assert _lists(client, name)


def test_a_base_url_of_a_collection_sends_no_key(server: LiveServer, engine: str) -> None:
    with refused(401, "UNAUTHENTICATED"):
        _lists(_collection(server), f"reasoningEngines/{last_part(engine)}")


def test_a_header_of_one_call_is_enough(server: LiveServer, engine: str) -> None:
    options = {"headers": {"x-goog-api-key": KEY}}
    found = _collection(server).agent_engines.memories.list(
        name=f"reasoningEngines/{last_part(engine)}", config={"http_options": options}
    )
    assert [*found] == []


def test_a_base_url_of_one_call_is_followed(server: LiveServer, engine: str) -> None:
    client = vertex_client(**at("http://127.0.0.1:9"))
    found = client.agent_engines.memories.list(
        name=engine, config={"http_options": {"base_url": server.url}}
    )
    assert [*found] == []


def test_a_wrong_key_is_unauthenticated(server: LiveServer, engine: str) -> None:
    with refused(401, "UNAUTHENTICATED"):
        _lists(vertex_client(**at(server.url, token="wrong")), engine)
    with refused(401, "UNAUTHENTICATED"):
        vertex_client(
            api_key="wrong", http_options={"base_url": server.url}
        ).agent_engines.memories.create(name="reasoningEngines/1", fact="x", scope={"u": "1"})


def test_a_short_name_gets_the_clients_project(vertex: Client, engine: str) -> None:
    short = f"reasoningEngines/{last_part(engine)}"
    assert vertex.agent_engines.get(name=short).api_resource.name == engine
    memory = vertex.agent_engines.memories.create(name=short, fact="f", scope={"u": "1"}).response
    assert memory.name.startswith(f"{engine}/memories/")
    shorter = f"{short}/memories/{last_part(memory.name)}"
    assert vertex.agent_engines.memories.get(name=shorter) == memory


def test_an_engine_of_another_project_is_reached_by_its_full_name(
    server: LiveServer, engine: str
) -> None:
    options = {**at(server.url), "project": "another", "location": "elsewhere"}
    client = vertex_client(**options)
    assert client.agent_engines.get(name=engine).api_resource.name == engine
    with missing():
        client.agent_engines.get(name=f"reasoningEngines/{last_part(engine)}")


def test_project_and_location_are_opaque(server: LiveServer) -> None:
    options = {**at(server.url), "project": "123456", "location": "europe-west4"}
    made = vertex_client(**options).agent_engines.create()
    assert made.api_resource.name.startswith("projects/123456/locations/europe-west4/")


def test_the_name_of_a_memory_bank_is_an_alias(bank: Bank) -> None:
    made = bank.create("I like tea.")
    alias = bank.name.replace("/reasoningEngines/", "/memoryBanks/")
    assert [one.fact for one in bank.memories.list(name=alias)] == ["I like tea."]
    assert bank.get(f"{alias}/memories/{last_part(made.name)}") == made
    assert bank.memories.create(name=alias, fact="f", scope={"u": "1"}).response.fact == "f"


def test_further_headers_of_the_client_do_no_harm(server: LiveServer, engine: str) -> None:
    client = vertex_client(**at(server.url, timeout=30_000, headers={"x-mine": "1"}))
    assert _lists(client, engine)
    quoted = {**at(server.url), "credentials": credentials().with_quota_project("billing")}
    assert _lists(vertex_client(**quoted), engine)


def test_retry_options_leave_refusals_alone(server: LiveServer) -> None:
    client = vertex_client(**at(server.url, retry_options={"attempts": 3}))
    with missing():
        client.agent_engines.get(name="reasoningEngines/404")


def test_the_successor_is_set_up_alike(server: LiveServer, engine: str) -> None:
    client = platform_client(**at(server.url))
    assert client.memory_banks.get(name=engine).name == engine
    express = platform_client(api_key=KEY, http_options={"base_url": server.url})
    assert express.memory_banks.get(name="reasoningEngines/1").name.endswith("/reasoningEngines/1")


def test_prefixless_paths_are_the_same_resources(http: httpx.Client, bank: Bank) -> None:
    made = bank.create("I like tea.")
    _, _, short = made.name.partition(f"{PARENT}/")
    assert http.get(short).json()["name"] == made.name
    assert http.get(short.replace("reasoningEngines", "memoryBanks")).json()["name"] == made.name
