"""The configuration of a bank, whole and rule by rule. Source: wire specification, section 12.2."""

from typing import Any

import httpx
import pytest

from tests.support.cases import in_one_test
from tests.support.engines import COLLECTION, FIRST, create_engine, get_engine
from tests.support.errors import BAD_FIELD, refusal, violations

_TURN = {"role": "user", "parts": [{"text": "I like tea."}]}
_WHOLE: dict[str, Any] = {
    "generationConfig": {
        "model": "projects/p/locations/l/publishers/google/models/gemini",
        "generationTriggerConfig": {
            "generationRule": {"idleDuration": "300s", "eventCount": 5, "overlapEventCount": 2}
        },
    },
    "similaritySearchConfig": {"embeddingModel": "text-embedding-005"},
    "ttlConfig": {
        "granularTtlConfig": {
            "createTtl": "86400s",
            "generateCreatedTtl": "3600s",
            "generateUpdatedTtl": "1.5s",
        },
        "memoryRevisionDefaultTtl": "7200s",
    },
    "disableMemoryRevisions": False,
    "customizationConfigs": [
        {
            "scopeKeys": ["user_id"],
            "memoryTopics": [
                {"managedMemoryTopic": {"managedTopicEnum": "USER_PREFERENCES"}},
                {"customMemoryTopic": {"label": "jargon", "description": "Words of the trade."}},
            ],
            "generateMemoriesExamples": [
                {
                    "conversationSource": {"events": [{"content": _TURN}]},
                    "generatedMemories": [
                        {
                            "fact": "I like tea.",
                            "topics": [
                                {"managedMemoryTopic": "USER_PREFERENCES"},
                                {"customMemoryTopicLabel": "jargon"},
                            ],
                        }
                    ],
                },
                {"conversationSource": {"events": [{"content": _TURN}]}, "generatedMemories": []},
            ],
            "enableThirdPersonMemories": True,
            "consolidationConfig": {"revisionsPerCandidateCount": 3},
            "disableNaturalLanguageMemories": False,
        },
        {"memoryTopics": []},
    ],
    "structuredMemoryConfigs": [
        {
            "scopeKeys": ["user_id"],
            "schemaConfigs": [
                {
                    "id": "user-profile",
                    "schema": {
                        "type": "OBJECT",
                        "properties": {"first_name": {"type": "STRING", "max_length": 5}},
                    },
                    "memoryType": "STRUCTURED_PROFILE",
                },
                {
                    "id": "b",
                    "jsonSchema": {"type": "object", "properties": {"aB_c": {"default": None}}},
                    "memoryType": "STRUCTURED_PROFILE",
                },
            ],
        }
    ],
}
_FREE = {"schema", "jsonSchema"}


def _snake(value: Any) -> Any:
    """Spell every field in snake_case, and leave the schemas alone."""
    if isinstance(value, list):
        return [_snake(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        "".join(f"_{one.lower()}" if one.isupper() else one for one in key): (
            item if key in _FREE else _snake(item)
        )
        for key, item in value.items()
    }


@pytest.mark.parametrize("config", [_WHOLE, _snake(_WHOLE)], ids=["camel", "snake"])
async def test_a_whole_configuration_comes_back_in_camel_case(
    client: httpx.AsyncClient, config: dict[str, Any]
) -> None:
    engine = await create_engine(client, contextSpec={"memoryBankConfig": config})
    assert engine["contextSpec"] == {"memoryBankConfig": _WHOLE}
    stored = await get_engine(client, engine["name"])
    assert stored["contextSpec"] == {"memoryBankConfig": _WHOLE}


async def test_a_configuration_is_read_as_the_client_spells_it(client: httpx.AsyncClient) -> None:
    """The second level is in camelCase, and all below in snake_case."""
    config = {
        "ttlConfig": {"default_ttl": "86400s"},
        "customizationConfigs": [
            {
                "memory_topics": [
                    {"managed_memory_topic": {"managed_topic_enum": "USER_PERSONAL_INFO"}}
                ],
                "scope_keys": ["user_id"],
            }
        ],
    }
    engine = await create_engine(client, contextSpec={"memoryBankConfig": config})
    assert engine["contextSpec"]["memoryBankConfig"] == {
        "ttlConfig": {"defaultTtl": "86400s"},
        "customizationConfigs": [
            {
                "scopeKeys": ["user_id"],
                "memoryTopics": [
                    {"managedMemoryTopic": {"managedTopicEnum": "USER_PERSONAL_INFO"}}
                ],
            }
        ],
    }


@pytest.mark.parametrize(
    "ttl",
    [
        {"revisionTtl": "60s", "granularTtl": {"createTtl": "60s"}},
        {"revision_ttl": "60s", "granular_ttl": {"create_ttl": "60s"}},
    ],
)
async def test_the_names_of_the_documentation_are_read_too(
    client: httpx.AsyncClient, ttl: dict[str, Any]
) -> None:
    engine = await create_engine(client, contextSpec={"memoryBankConfig": {"ttlConfig": ttl}})
    assert engine["contextSpec"]["memoryBankConfig"]["ttlConfig"] == {
        "granularTtlConfig": {"createTtl": "60s"},
        "memoryRevisionDefaultTtl": "60s",
    }


@in_one_test(
    "config",
    [
        {},
        {"structuredMemoryConfigs": [{"schemaConfigs": [{"id": "a"}]}]},
        {"structuredMemoryConfigs": [{}]},
        {"customizationConfigs": [{"generateMemoriesExamples": [{}]}]},
        {"customizationConfigs": [{"generateMemoriesExamples": [{"conversationSource": {}}]}]},
        {
            "customizationConfigs": [
                {
                    "generateMemoriesExamples": [
                        {
                            "conversationSource": {"events": [{"content": {"role": "user"}}]},
                            "generatedMemories": [{"fact": "The user likes tea."}],
                        }
                    ]
                }
            ]
        },
        {
            "generationConfig": {"generationTriggerConfig": {"generationRule": {}}},
            "similaritySearchConfig": {},
            "ttlConfig": {"granularTtlConfig": {}},
            "memoryPolicy": {"strategy": "none"},
        },
    ],
)
async def test_nothing_is_added_to_what_was_sent(
    client: httpx.AsyncClient, config: dict[str, Any]
) -> None:
    engine = await create_engine(client, contextSpec={"memoryBankConfig": config})
    assert engine["contextSpec"] == {"memoryBankConfig": config}
    assert (await get_engine(client, engine["name"]))["contextSpec"] == engine["contextSpec"]


def _rule(**rule: Any) -> dict[str, Any]:
    return {"generationConfig": {"generationTriggerConfig": {"generationRule": rule}}}


def _schema(**schema: Any) -> dict[str, Any]:
    return {"structuredMemoryConfigs": [{"schemaConfigs": [{"id": "a", **schema}]}]}


def _custom(**config: Any) -> dict[str, Any]:
    return {"customizationConfigs": [config]}


_RULE = "generationConfig.generationTriggerConfig.generationRule"
_SCHEMA = "structuredMemoryConfigs[0].schemaConfigs[0]"
_CUSTOM = "customizationConfigs[0]"
_TOPIC = f"{_CUSTOM}.memoryTopics[0]"
_EXAMPLE = f"{_CUSTOM}.generateMemoriesExamples[0]"
_BAD_CONFIGS: list[tuple[dict[str, Any], str, str]] = [
    (
        {"ttlConfig": {"defaultTtl": "60s", "granularTtlConfig": {"createTtl": "60s"}}},
        "ttlConfig",
        "must have at most one of defaultTtl and granularTtlConfig",
    ),
    (
        {"ttlConfig": {"default_ttl": "60s", "granular_ttl": {}}},
        "ttlConfig",
        "must have at most one of defaultTtl and granularTtlConfig",
    ),
    ({"ttlConfig": {"defaultTtl": "0s"}}, "ttlConfig.defaultTtl", 'must be longer than "0s"'),
    ({"ttlConfig": {"defaultTtl": "-60s"}}, "ttlConfig.defaultTtl", 'must be longer than "0s"'),
    ({"ttlConfig": {"defaultTtl": 60}}, "ttlConfig.defaultTtl", "must be a string"),
    ({"ttlConfig": {"defaultTtl": "1h"}}, "ttlConfig.defaultTtl", "must be seconds"),
    (
        {"ttlConfig": {"granularTtlConfig": {"create_ttl": "x"}}},
        "ttlConfig.granularTtlConfig.createTtl",
        "must be seconds",
    ),
    (
        {"ttlConfig": {"memory_revision_default_ttl": "0s"}},
        "ttlConfig.memoryRevisionDefaultTtl",
        'must be longer than "0s"',
    ),
    (
        _rule(idleDuration="60s", fixedInterval="60s"),
        _RULE,
        "must have at most one of idleDuration and fixedInterval",
    ),
    (_rule(idleDuration="90s"), _RULE, "idleDuration must be whole minutes"),
    (_rule(fixed_interval="60.5s"), _RULE, "fixedInterval must be whole minutes"),
    (_rule(eventCount=0), f"{_RULE}.eventCount", "greater than or equal to 1"),
    (_rule(overlapEventCount=1), _RULE, "overlapEventCount must be set together with another rule"),
    (_rule(eventCount=3, overlapEventCount=3), _RULE, "overlapEventCount must be less than"),
    (_rule(eventCount=3, overlap_event_count=0), f"{_RULE}.overlapEventCount", "greater than"),
    (
        {"similaritySearchConfig": {"language": "xx"}},
        "similaritySearchConfig.language",
        "must be one of simple, ar, ",
    ),
    (_schema(id=""), f"{_SCHEMA}.id", "at least 1 character"),
    (_schema(id="a" * 64), f"{_SCHEMA}.id", "at most 63 characters"),
    (_schema(id="Profile"), f"{_SCHEMA}.id", "must match the pattern"),
    (_schema(id="1a"), f"{_SCHEMA}.id", "must match the pattern"),
    (_schema(id="a_b"), f"{_SCHEMA}.id", "must match the pattern"),
    (_schema(id="a\n"), f"{_SCHEMA}.id", "must match the pattern"),
    (_schema(schema={"type": "ARRAY"}), _SCHEMA, "must not be ARRAY"),
    (_schema(jsonSchema={"type": "array"}), _SCHEMA, "must not be ARRAY"),
    (_schema(memoryType="PROFILE"), f"{_SCHEMA}.memoryType", "must be one of"),
    (
        {"customizationConfigs": [{"enableThirdPersonMemories": True}, {"scopeKeys": []}]},
        "",
        "customizationConfigs may have only one without scopeKeys",
    ),
    (_custom(memoryTopics=[{}]), _TOPIC, "must have one of customMemoryTopic and"),
    (
        _custom(
            memoryTopics=[
                {
                    "customMemoryTopic": {"label": "a"},
                    "managedMemoryTopic": {"managedTopicEnum": "USER_PREFERENCES"},
                }
            ]
        ),
        _TOPIC,
        "must have one of customMemoryTopic and",
    ),
    (
        _custom(memoryTopics=[{"managedMemoryTopic": {"managedTopicEnum": "HOBBIES"}}]),
        f"{_TOPIC}.managedMemoryTopic.managedTopicEnum",
        "must be one of MANAGED_TOPIC_ENUM_UNSPECIFIED, USER_PERSONAL_INFO",
    ),
    (
        _custom(memoryTopics=[{"managed_memory_topic": "USER_PREFERENCES"}]),
        f"{_TOPIC}.managedMemoryTopic",
        "object",
    ),
    (
        _custom(memoryTopics=[{"customMemoryTopic": {"description": "d"}}]),
        f"{_TOPIC}.customMemoryTopic.label",
        "is required.",
    ),
    (
        _custom(consolidationConfig={"revisionsPerCandidateCount": -1}),
        f"{_CUSTOM}.consolidationConfig.revisionsPerCandidateCount",
        "greater than or equal to 0",
    ),
    (
        _custom(generateMemoriesExamples=[{"generatedMemories": [{"topics": []}]}]),
        f"{_EXAMPLE}.generatedMemories[0].fact",
        "is required.",
    ),
    (_custom(consolidation_customization={}), f"{_CUSTOM}.consolidation_customization", "not a"),
    ({"memory_bank": {}}, "memory_bank", "it has customizationConfigs, "),
]


@in_one_test(("config", "path", "description"), _BAD_CONFIGS)
async def test_a_broken_rule_is_named_with_its_place(
    client: httpx.AsyncClient, config: dict[str, Any], path: str, description: str
) -> None:
    body = {"contextSpec": {"memoryBankConfig": config}}
    answer = await client.post(COLLECTION, json=body)
    assert refusal(answer) == BAD_FIELD
    found = violations(answer)
    place = f"contextSpec.memoryBankConfig.{path}".rstrip(".")
    assert list(found) == [place]
    assert description in found[place]


async def test_every_broken_rule_is_named(client: httpx.AsyncClient) -> None:
    config = {"ttlConfig": {"defaultTtl": "0s"}, "disableMemoryRevisions": "maybe", "x": 1}
    answer = await client.post(COLLECTION, json={"contextSpec": {"memoryBankConfig": config}})
    assert {path.rpartition(".")[2] for path in violations(answer)} == {
        "defaultTtl",
        "disableMemoryRevisions",
        "x",
    }


async def test_a_life_beyond_the_calendar_is_refused_before_it_fails_every_write(
    client: httpx.AsyncClient,
) -> None:
    for field in ("defaultTtl", "memoryRevisionDefaultTtl"):
        config = {"memoryBankConfig": {"ttlConfig": {field: "315576000000s"}}}
        answer = await client.patch(FIRST, json={"contextSpec": config})
        assert list(violations(answer)) == [f"contextSpec.memoryBankConfig.ttlConfig.{field}"]
