"""Sizes that the API leaves open (decision 11). At the bound it works, above not."""

from typing import Any

import httpx
import pytest

from tests.support.bank import field_of, ok
from tests.support.operations import USER

_EMPTY_STRUCTURED = len('{"data":{"k":""},"schemaId":"s"}')


def _structured(size: int) -> dict[str, Any]:
    return {"data": {"k": "x" * (size - _EMPTY_STRUCTURED)}, "schemaId": "s"}


def _topics(number: int) -> list[dict[str, str]]:
    return [{"customMemoryTopicLabel": str(each)} for each in range(number)]


_BOUNDS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"scope": {"k" * 256: "x"}}, {"scope": {"k" * 257: "x"}}, "scope"),
    ({"scope": {"k": "é" * 1_024}}, {"scope": {"k": "é" * 1_025}}, "scope"),
    ({"topics": _topics(50)}, {"topics": _topics(51)}, "topics"),
    (
        {"structuredContent": _structured(65_536)},
        {"structuredContent": _structured(65_537)},
        "structuredContent",
    ),
]


@pytest.mark.parametrize(("most", "more", "named"), _BOUNDS, ids=["key", "value", "topics", "data"])
async def test_a_memory_has_a_size(
    client: httpx.AsyncClient, most: dict[str, Any], more: dict[str, Any], named: str
) -> None:
    body = {"fact": "x", "scope": USER}
    ok(await client.post("/memories", json={**body, **most}))
    assert field_of(await client.post("/memories", json={**body, **more})) == named


async def test_every_request_that_names_a_scope_bounds_it(client: httpx.AsyncClient) -> None:
    scope = {"user_id": "x" * 1_025}
    source = {"directMemoriesSource": {"directMemories": [{"fact": "x"}]}}
    for method, body in (("retrieve", {}), ("generate", source)):
        answer = await client.post(f"/memories:{method}", json={"scope": scope, **body})
        assert field_of(answer) == "scope"
