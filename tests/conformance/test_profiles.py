"""Structured memories and profiles, as the official clients see them.

Source: wire specification, sections 2.3, 11 and 12.2.
"""

from typing import Any

import httpx
import pytest

from tests.support.official import USER, Bank, Client, invalid, says

SCHEMA = {
    "type": "OBJECT",
    "properties": {
        "first_name": {"type": "STRING", "description": "What to call the user"},
        "city": {"type": "STRING"},
        "age": {"type": "INTEGER"},
    },
}
SAID = "My name is Ann. I am 34 years old. I live in Oslo."
FILLED = {"first_name": "Ann", "age": 34, "city": "Oslo"}


def _config(schema: dict[str, Any]) -> dict[str, Any]:
    schemas = [{"id": "user-profile", "memory_schema": schema}]
    config = {"structured_memory_configs": [{"scope_keys": ["user_id"], "schema_configs": schemas}]}
    return {"context_spec": {"memory_bank_config": config}}


@pytest.fixture
def filled(bank: Bank) -> Bank:
    """A bank whose user has a profile."""
    bank.client.agent_engines.update(name=bank.name, config=_config(SCHEMA))
    bank.hear(SAID)
    return bank


def _profile(answer: Any) -> dict[str, Any]:
    (found,) = answer.profiles.values()
    assert found.schema_id == "user-profile"
    profile: dict[str, Any] = found.profile
    return profile


def test_a_profile_is_filled_and_retrieved(filled: Bank) -> None:
    answer = filled.memories.retrieve_profiles(name=filled.name, scope=USER)
    assert _profile(answer) == FILLED


def test_a_scope_without_profiles_has_none(bank: Bank) -> None:
    assert not bank.memories.retrieve_profiles(name=bank.name, scope=USER).profiles


async def test_the_asynchronous_client_retrieves_it(filled: Bank, aio: Client) -> None:
    memories = aio.agent_engines.memories
    assert _profile(await memories.retrieve_profiles(name=filled.name, scope=USER)) == FILLED


def test_the_successor_retrieves_it(filled: Bank, platform: Client) -> None:
    memories = platform.memory_banks.memories
    assert _profile(memories.retrieve_profiles(name=filled.name, scope=USER)) == FILLED


async def test_the_successor_s_asynchronous_half_retrieves_it(
    filled: Bank, platform: Client
) -> None:
    client = platform.aio
    found = await client.memory_banks.memories.retrieve_profiles(name=filled.name, scope=USER)
    assert _profile(found) == FILLED
    await client.aclose()


def test_each_field_is_a_memory_with_its_revisions(filled: Bank) -> None:
    found = filled.retrieve(config={"memory_types": ["STRUCTURED_PROFILE"]})
    by_field = {next(iter(one.memory.structured_content.data)): one.memory for one in found}
    assert by_field.keys() == FILLED.keys()
    assert all(one.fact is None for one in by_field.values())
    filled.hear("I am 35 years old.")
    newest, oldest = filled.revisions(by_field["age"].name)
    assert (newest.structured_data, oldest.structured_data) == ({"age": 35}, {"age": 34})
    assert newest.extracted_memories[0].structured_data == {"age": 35}
    filled.memories.rollback(
        name=by_field["age"].name, target_revision_id=oldest.name.rpartition("/")[2]
    )
    answer = filled.memories.retrieve_profiles(name=filled.name, scope=USER)
    assert _profile(answer) == FILLED


def test_facts_are_not_mixed_with_profiles(filled: Bank) -> None:
    assert all(one.memory.fact for one in filled.retrieve())


def test_a_json_schema_made_by_pydantic_is_understood(bank: Bank, http: httpx.Client) -> None:
    from pydantic import BaseModel  # noqa: PLC0415 - named beside its only use

    class Pet(BaseModel):
        name: str

    class Profile(BaseModel):
        first_name: str | None = None
        languages: list[str] = []
        pet: Pet | None = None

    # The client has no such key, but the API's definition does.
    schemas = [{"id": "user-profile", "jsonSchema": Profile.model_json_schema()}]
    config = {"structuredMemoryConfigs": [{"schemaConfigs": schemas}]}
    body = {"contextSpec": {"memoryBankConfig": config}}
    assert http.patch(bank.name, json=body).status_code == 200
    bank.hear("My name is Ann. I speak English and French.")
    answer = bank.memories.retrieve_profiles(name=bank.name, scope=USER)
    assert _profile(answer) == {"first_name": "Ann", "languages": ["English", "French"]}


def test_a_schema_of_no_object_is_refused(bank: Bank) -> None:
    with invalid(naming="must be OBJECT"):
        bank.client.agent_engines.update(name=bank.name, config=_config({"type": "STRING"}))


def test_an_answer_has_nothing_that_clients_refuse(filled: Bank, http: httpx.Client) -> None:
    answer = http.post(f"{filled.name}/memories:retrieveProfiles", json={"scope": USER}).json()
    assert answer == {"profiles": {"user-profile": {"schemaId": "user-profile", "profile": FILLED}}}


def test_a_dry_word_changes_nothing(filled: Bank) -> None:
    filled.memories.generate(
        name=filled.name, direct_contents_source=says("Nice weather today."), scope=USER
    )
    answer = filled.memories.retrieve_profiles(name=filled.name, scope=USER)
    assert _profile(answer) == FILLED
