"""Sizes of a bank's configuration (decision 11). At the bound it works, above not."""

from collections.abc import Callable
from typing import Any

import httpx

from tests.support.bank import field_of, ok
from tests.support.cases import in_one_test
from tests.support.engines import COLLECTION

_CUSTOM = "customizationConfigs[0]"
_EXAMPLE = f"{_CUSTOM}.generateMemoriesExamples[0]"
_Make = Callable[[int], dict[str, Any]]


def _custom(**fields: object) -> dict[str, Any]:
    return {"customizationConfigs": [fields]}


def _example(**fields: object) -> dict[str, Any]:
    return _custom(generateMemoriesExamples=[fields])


def _labels(number: int) -> list[dict[str, str]]:
    return [{"customMemoryTopicLabel": str(each)} for each in range(number)]


def _described(length: int) -> dict[str, Any]:
    topic = {"label": "a", "description": "x" * length}
    return _custom(memoryTopics=[{"customMemoryTopic": topic}])


def _schema(size: int) -> dict[str, Any]:
    text = "x" * (size - len('{"title":""}'))
    configs = [{"id": "a", "schema": {"title": text}}]
    return {"structuredMemoryConfigs": [{"schemaConfigs": configs}]}


_BOUNDS: list[tuple[_Make, int, str]] = [
    (
        lambda n: {"customizationConfigs": [{"scopeKeys": [str(i)]} for i in range(n)]},
        50,
        "customizationConfigs",
    ),
    (lambda n: {"structuredMemoryConfigs": [{}] * n}, 50, "structuredMemoryConfigs"),
    (lambda n: _custom(scopeKeys=["k"] * n), 50, f"{_CUSTOM}.scopeKeys"),
    (lambda n: _custom(scopeKeys=["k" * n]), 256, f"{_CUSTOM}.scopeKeys[0]"),
    (
        lambda n: _custom(memoryTopics=[{"customMemoryTopic": {"label": "a"}}] * n),
        50,
        f"{_CUSTOM}.memoryTopics",
    ),
    (_described, 4_096, f"{_CUSTOM}.memoryTopics[0].customMemoryTopic.description"),
    (
        lambda n: _custom(generateMemoriesExamples=[{}] * n),
        50,
        f"{_CUSTOM}.generateMemoriesExamples",
    ),
    (
        lambda n: _example(conversationSource={"events": [{"content": {}}] * n}),
        100,
        f"{_EXAMPLE}.conversationSource.events",
    ),
    (
        lambda n: _example(generatedMemories=[{"fact": "a"}] * n),
        50,
        f"{_EXAMPLE}.generatedMemories",
    ),
    (
        lambda n: _example(generatedMemories=[{"fact": "a" * n}]),
        10_000,
        f"{_EXAMPLE}.generatedMemories[0].fact",
    ),
    (
        lambda n: _example(generatedMemories=[{"fact": "a", "topics": _labels(n)}]),
        50,
        f"{_EXAMPLE}.generatedMemories[0].topics",
    ),
    (_schema, 65_536, "structuredMemoryConfigs[0].schemaConfigs[0].schema"),
]


@in_one_test(("make", "most", "path"), _BOUNDS, ids=[one[2] for one in _BOUNDS])
async def test_a_configuration_has_a_size(
    client: httpx.AsyncClient, make: _Make, most: int, path: str
) -> None:
    ok(await client.post(COLLECTION, json={"contextSpec": {"memoryBankConfig": make(most)}}))
    body = {"contextSpec": {"memoryBankConfig": make(most + 1)}}
    assert field_of(await client.post(COLLECTION, json=body)) == (
        f"contextSpec.memoryBankConfig.{path}"
    )
