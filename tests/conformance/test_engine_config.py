"""The configuration of a bank, there and back through the client's own types.

Source: wire specification, section 12.2.
"""

from typing import Any

import httpx
import pytest

from tests.support.official import Bank, Client, invalid

TOPICS = [
    {"managed_memory_topic": {"managed_topic_enum": "USER_PREFERENCES"}},
    {"custom_memory_topic": {"label": "jargon", "description": "Terms of the trade."}},
]
EXAMPLE = {
    "conversation_source": {
        "events": [
            {"content": {"role": "user", "parts": [{"text": "A TLA is a three letter acronym"}]}}
        ]
    },
    "generated_memories": [
        {
            "fact": "TLA means three letter acronym",
            "topics": [{"custom_memory_topic_label": "jargon"}],
        }
    ],
}
FULL: dict[str, Any] = {
    "customization_configs": [
        {
            "scope_keys": ["user_id"],
            "memory_topics": TOPICS,
            "generate_memories_examples": [EXAMPLE],
            "enable_third_person_memories": True,
            "consolidation_config": {"revisions_per_candidate_count": 3},
            "disable_natural_language_memories": False,
        }
    ],
    "generation_config": {
        "model": "projects/p/locations/l/publishers/google/models/gemini-flash",
        "generation_trigger_config": {
            "generation_rule": {"event_count": 5, "idle_duration": "300s"}
        },
    },
    "similarity_search_config": {"embedding_model": "publishers/google/models/text-embedding-005"},
    "ttl_config": {"default_ttl": "86400s", "memory_revision_default_ttl": "604800s"},
    "disable_memory_revisions": False,
    "structured_memory_configs": [
        {
            "scope_keys": ["user_id"],
            "schema_configs": [
                {
                    "id": "profile",
                    "memory_type": "STRUCTURED_PROFILE",
                    "memory_schema": {
                        "type": "OBJECT",
                        "properties": {"first_name": {"type": "STRING"}},
                    },
                }
            ],
        }
    ],
}


def _create(vertex: Client, config: dict[str, Any]) -> Any:
    """Create an engine with a bank's configuration; return its resource."""
    made = vertex.agent_engines.create(config={"context_spec": {"memory_bank_config": config}})
    return made.api_resource


def _config(resource: Any) -> Any:
    return resource.context_spec.memory_bank_config


@pytest.fixture(scope="module")
def full(vertex: Client) -> Any:
    """An engine with a full configuration."""
    return _create(vertex, FULL)


def test_a_full_configuration_comes_back_as_sent(vertex: Client, full: Any) -> None:
    read = _config(vertex.agent_engines.get(name=full.name).api_resource)
    assert read.model_dump(mode="json", exclude_none=True) == FULL


def test_the_operation_has_the_same_configuration(vertex: Client, full: Any) -> None:
    assert _config(full) == _config(vertex.agent_engines.get(name=full.name).api_resource)


def test_a_list_has_the_same_configuration(vertex: Client, full: Any) -> None:
    found = [one.api_resource for one in vertex.agent_engines.list()]
    assert full in found


def test_a_configuration_is_answered_in_camel_case(http: httpx.Client, full: Any) -> None:
    config = http.get(full.name).json()["contextSpec"]["memoryBankConfig"]
    assert config["ttlConfig"] == {"defaultTtl": "86400s", "memoryRevisionDefaultTtl": "604800s"}
    (customization,) = config["customizationConfigs"]
    assert customization["scopeKeys"] == ["user_id"]
    assert customization["enableThirdPersonMemories"] is True
    assert customization["consolidationConfig"] == {"revisionsPerCandidateCount": 3}
    assert customization["memoryTopics"][0] == {
        "managedMemoryTopic": {"managedTopicEnum": "USER_PREFERENCES"}
    }
    (example,) = customization["generateMemoriesExamples"]
    assert example["generatedMemories"][0]["topics"] == [{"customMemoryTopicLabel": "jargon"}]
    assert config["generationConfig"]["generationTriggerConfig"] == {
        "generationRule": {"eventCount": 5, "idleDuration": "300s"}
    }


def test_a_schema_is_kept_with_the_names_of_its_properties(http: httpx.Client, full: Any) -> None:
    config = http.get(full.name).json()["contextSpec"]["memoryBankConfig"]
    (schema,) = config["structuredMemoryConfigs"][0]["schemaConfigs"]
    assert schema["id"] == "profile"
    assert schema["memoryType"] == "STRUCTURED_PROFILE"
    assert schema["schema"]["properties"] == {"first_name": {"type": "STRING"}}


def test_nothing_is_added_to_a_configuration(vertex: Client) -> None:
    schema = {"id": "profile", "memory_schema": {"type": "OBJECT"}}
    sent = {
        "structured_memory_configs": [{"schema_configs": [schema]}],
        "customization_configs": [
            {"generate_memories_examples": [{"generated_memories": [{"fact": "f"}]}]}
        ],
    }
    made = _create(vertex, sent)
    read = _config(vertex.agent_engines.get(name=made.name).api_resource)
    assert read.model_dump(mode="json", exclude_none=True) == sent


def test_granular_lives_and_disabled_revisions_are_kept(vertex: Client) -> None:
    granular = {
        "create_ttl": "100s",
        "generate_created_ttl": "200s",
        "generate_updated_ttl": "300s",
    }
    sent = {"ttl_config": {"granular_ttl_config": granular}, "disable_memory_revisions": True}
    made = _create(vertex, sent)
    read = _config(vertex.agent_engines.get(name=made.name).api_resource)
    assert read.model_dump(exclude_none=True) == sent


def test_settings_that_the_client_does_not_know_do_not_keep_it_from_reading(
    vertex: Client, http: httpx.Client
) -> None:
    made = _create(vertex, {"similarity_search_config": {"embedding_model": "any"}})
    search = {"embeddingModel": "any", "ranking": "vector", "language": "de"}
    body = {"contextSpec": {"memoryBankConfig": {"similaritySearchConfig": search}}}
    assert http.patch(made.name, json=body).status_code == 200
    read = _config(vertex.agent_engines.get(name=made.name).api_resource)
    assert read.similarity_search_config.embedding_model == "any"


def test_an_empty_list_of_examples_memories_is_meaningful(http: httpx.Client, full: Any) -> None:
    example = {"conversationSource": {"events": []}, "generatedMemories": []}
    config = {"customizationConfigs": [{"generateMemoriesExamples": [example]}]}
    body = {"contextSpec": {"memoryBankConfig": config}}
    made = http.post(full.name.rpartition("/")[0], json=body).json()["response"]
    assert made["contextSpec"]["memoryBankConfig"] == config


def test_types_of_the_client_are_taken_as_well_as_dicts(vertex: Client) -> None:
    from vertexai._genai import types  # noqa: PLC0415 - warns when it is imported

    config = types.ReasoningEngineContextSpecMemoryBankConfig(
        customization_configs=[
            types.MemoryBankCustomizationConfig(
                memory_topics=[
                    types.MemoryBankCustomizationConfigMemoryTopic(
                        managed_memory_topic=types.MemoryBankCustomizationConfigMemoryTopicManagedMemoryTopic(
                            managed_topic_enum=types.ManagedTopicEnum.EXPLICIT_INSTRUCTIONS
                        )
                    )
                ]
            )
        ]
    )
    made = vertex.agent_engines.create(
        config=types.AgentEngineConfig(
            context_spec=types.ReasoningEngineContextSpec(memory_bank_config=config)
        )
    )
    assert _config(made.api_resource) == config


def test_a_masked_update_replaces_the_whole_configuration(vertex: Client) -> None:
    made = _create(vertex, FULL)
    updated = vertex.agent_engines.update(
        name=made.name,
        config={
            "display_name": "after",
            "context_spec": {"memory_bank_config": {"ttl_config": {"default_ttl": "3600s"}}},
        },
    ).api_resource
    assert updated.display_name == "after"
    assert _config(updated).model_dump(exclude_none=True) == {
        "ttl_config": {"default_ttl": "3600s"}
    }


def test_an_update_of_the_name_leaves_the_configuration(vertex: Client) -> None:
    made = _create(vertex, FULL)
    updated = vertex.agent_engines.update(name=made.name, config={"display_name": "after"})
    assert _config(updated.api_resource) == _config(made)


BAD = {
    "two lives": {"ttl_config": {"default_ttl": "1s", "granular_ttl_config": {"create_ttl": "1s"}}},
    "no duration": {"ttl_config": {"default_ttl": "an hour"}},
    "a negative duration": {"ttl_config": {"default_ttl": "-5s"}},
    "no whole minutes": {
        "generation_config": {
            "generation_trigger_config": {"generation_rule": {"fixed_interval": "90s"}}
        }
    },
    "two triggers": {
        "generation_config": {
            "generation_trigger_config": {
                "generation_rule": {"fixed_interval": "60s", "idle_duration": "60s"}
            }
        }
    },
    "two defaults": {"customization_configs": [{}, {}]},
    "no id of a schema": {"structured_memory_configs": [{"schema_configs": [{"id": "Not_An_Id"}]}]},
    "an array": {
        "structured_memory_configs": [
            {"schema_configs": [{"id": "a", "memory_schema": {"type": "ARRAY"}}]}
        ]
    },
    "an empty topic": {"customization_configs": [{"memory_topics": [{}]}]},
}


@pytest.mark.parametrize("config", BAD.values(), ids=BAD)
def test_a_bad_configuration_is_refused(vertex: Client, config: dict[str, Any]) -> None:
    with invalid("contextSpec.memoryBankConfig"):
        _create(vertex, config)


def test_a_bad_update_changes_nothing(vertex: Client, full: Any) -> None:
    with invalid("defaultTtl"):
        vertex.agent_engines.update(
            name=full.name,
            config={
                "context_spec": {"memory_bank_config": {"ttl_config": {"default_ttl": "soon"}}}
            },
        )
    assert vertex.agent_engines.get(name=full.name).api_resource == full


def _bank(vertex: Client, **config: Any) -> Bank:
    return Bank(vertex, _create(vertex, config).name)


def _life(memory: Any) -> float:
    """Return how long a memory lives after it was last written, in seconds."""
    return float((memory.expire_time - memory.update_time).total_seconds())


def test_the_default_life_holds_for_every_memory(vertex: Client) -> None:
    bank = _bank(vertex, ttl_config={"default_ttl": "3600s"})
    assert _life(bank.create("I like tea.")) == 3600
    (made,) = bank.remember("I live in Rome.")
    assert _life(bank.get(made.memory.name)) == 3600


def test_the_default_life_begins_anew_with_an_update(vertex: Client) -> None:
    bank = _bank(vertex, ttl_config={"default_ttl": "3600s"})
    made = bank.create("I like tea.", ttl="7200s")
    assert _life(made) == 7200
    bank.memories._update(name=made.name, fact="I like coffee.", scope=made.scope)
    assert _life(bank.get(made.name)) == 3600


def test_granular_lives_depend_on_how_a_memory_came_about(vertex: Client) -> None:
    granular = {
        "create_ttl": "1000s",
        "generate_created_ttl": "2000s",
        "generate_updated_ttl": "3000s",
    }
    bank = _bank(vertex, ttl_config={"granular_ttl_config": granular})
    assert _life(bank.create("I like tea.")) == 1000
    (made,) = bank.remember("I live in Rome.")
    assert _life(bank.get(made.memory.name)) == 2000
    bank.remember("I live in Rome.")
    assert _life(bank.get(made.memory.name)) == 3000


def test_granular_lives_leave_a_plain_update_alone(vertex: Client) -> None:
    bank = _bank(vertex, ttl_config={"granular_ttl_config": {"create_ttl": "1000s"}})
    made = bank.create("I like tea.")
    bank.memories._update(name=made.name, fact="I like coffee.", scope=made.scope)
    assert bank.get(made.name).expire_time == made.expire_time


def test_a_missing_granular_life_leaves_the_expiry_alone(vertex: Client) -> None:
    bank = _bank(vertex, ttl_config={"granular_ttl_config": {"generate_updated_ttl": "3000s"}})
    assert bank.create("I like tea.").expire_time is None
    (made,) = bank.remember("I live in Rome.")
    assert bank.get(made.memory.name).expire_time is None
    bank.remember("I live in Rome.")
    assert _life(bank.get(made.memory.name)) == 3000


def test_an_explicit_life_wins_over_the_banks(vertex: Client) -> None:
    granular = {"ttl_config": {"granular_ttl_config": {"create_ttl": "1000s"}}}
    assert _life(_bank(vertex, **granular).create("f", ttl="5000s")) == 5000
    default = {"ttl_config": {"default_ttl": "1000s"}}
    assert _life(_bank(vertex, **default).create("f", ttl="5000s")) == 5000


def test_the_life_of_revisions_is_the_banks(vertex: Client) -> None:
    bank = _bank(vertex, ttl_config={"memory_revision_default_ttl": "7200s"})
    (revision,) = bank.revisions(bank.create("I like tea.").name)
    assert (revision.expire_time - revision.create_time).total_seconds() == 7200


def test_a_bank_may_keep_no_revisions(vertex: Client) -> None:
    bank = _bank(vertex, disable_memory_revisions=True)
    made = bank.create("I like tea.")
    bank.remember("I like tea.")
    assert bank.revisions(made.name) == []
    (updated,) = bank.remember("I like tea.")
    assert updated.action.value == "UPDATED"


def test_a_bank_may_keep_memories_in_the_third_person(vertex: Client) -> None:
    bank = _bank(vertex, customization_configs=[{"enable_third_person_memories": True}])
    (made,) = bank.hear("I live in Rome.")
    assert "I " not in bank.get(made.memory.name).fact


def test_only_configured_topics_are_extracted(vertex: Client) -> None:
    only = [{"managed_memory_topic": {"managed_topic_enum": "USER_PERSONAL_INFO"}}]
    bank = _bank(vertex, customization_configs=[{"memory_topics": only}])
    bank.hear("I live in Rome. I prefer window seats on long flights.")
    assert [one.fact for one in bank.listed()] == ["I live in Rome."]
