"""Updating engines. Source: wire specification, sections 3.2 and 12.1."""

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import psycopg
import pytest

from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from tests.support.cases import in_one_test
from tests.support.engines import API, FIRST, create_engine, get_engine, update_engine
from tests.support.errors import BAD_FIELD, NOT_FOUND, refusal, violations
from tests.support.operations import asked

_CONFIG = {"ttlConfig": {"defaultTtl": "60s"}, "disableMemoryRevisions": True}
_OTHER = {"ttlConfig": {"memoryRevisionDefaultTtl": "120s"}}
_FULL: dict[str, Any] = {
    "displayName": "before",
    "description": "before",
    "labels": {"k": "before"},
    "contextSpec": {"memoryBankConfig": _CONFIG},
}


async def _full(client: httpx.AsyncClient) -> dict[str, Any]:
    return await create_engine(client, **_FULL)


async def test_an_update_answers_a_done_operation_under_the_engine(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    engine = await _full(client)
    clock.advance(timedelta(hours=1))
    answer = await client.patch(f"{API}/{engine['name']}", json={"displayName": "after"})
    operation = answer.json()
    moment = "2026-01-15T13:00:00Z"
    assert operation["name"].startswith(f"{engine['name']}/operations/")
    assert operation["metadata"] == {
        "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1"
        ".UpdateReasoningEngineOperationMetadata",
        "genericMetadata": {"createTime": moment, "updateTime": moment},
        **asked("engines.update", operation),
    }
    assert operation["done"] is True
    expected = {**engine, "displayName": "after", "updateTime": moment, "etag": "2"}
    assert operation["response"] == {**expected, "@type": operation["response"]["@type"]}
    assert await get_engine(client, engine["name"]) == expected
    assert (await client.get(f"{API}/{operation['name']}")).json() == operation


@in_one_test(
    ("mask", "changed"),
    [
        ("display_name", {"displayName"}),
        ("displayName", {"displayName"}),
        ("display_name,context_spec", {"displayName", "contextSpec"}),
        (" display_name , labels ", {"displayName", "labels"}),
        ("contextSpec.memoryBankConfig", {"contextSpec"}),
        ("context_spec.memory_bank_config,labels", {"contextSpec", "labels"}),
        ("*", set(_FULL)),
    ],
)
async def test_a_mask_names_what_changes(
    client: httpx.AsyncClient, mask: str, changed: set[str]
) -> None:
    engine = await _full(client)
    new: dict[str, Any] = {
        "displayName": "after",
        "description": "after",
        "labels": {"k": "after"},
        "contextSpec": {"memoryBankConfig": _OTHER},
    }
    updated = await update_engine(client, engine["name"], mask, **new)
    expected = {key: new[key] if key in changed else _FULL[key] for key in _FULL}
    assert {key: updated[key] for key in _FULL} == expected
    assert await get_engine(client, engine["name"]) == updated


async def test_a_masked_field_that_is_not_sent_is_cleared(client: httpx.AsyncClient) -> None:
    engine = await _full(client)
    mask = "display_name,description,labels,context_spec"
    updated = await update_engine(client, engine["name"], mask)
    assert set(updated) == {"name", "createTime", "updateTime", "etag"}


async def test_a_masked_configuration_replaces_the_whole(client: httpx.AsyncClient) -> None:
    engine = await _full(client)
    updated = await update_engine(
        client, engine["name"], "context_spec", contextSpec={"memoryBankConfig": _OTHER}
    )
    assert updated["contextSpec"] == {"memoryBankConfig": _OTHER}


async def test_a_masked_empty_configuration_clears_it(client: httpx.AsyncClient) -> None:
    engine = await _full(client)
    updated = await update_engine(
        client,
        engine["name"],
        "context_spec.memory_bank_config",
        contextSpec={"memoryBankConfig": {}},
    )
    assert updated["contextSpec"] == {"memoryBankConfig": {}}


async def test_without_a_mask_the_fields_that_are_sent_change(client: httpx.AsyncClient) -> None:
    engine = await _full(client)
    updated = await update_engine(client, engine["name"], description="after", labels={})
    assert {key: updated.get(key) for key in _FULL} == {
        **_FULL,
        "description": "after",
        "labels": None,
    }


@pytest.mark.parametrize(
    "context",
    [
        {"contextSpec": {"memoryBankConfig": {}}},
        {"context_spec": {"memory_bank_config": {}}},
        {"contextSpec": {}},
    ],
)
async def test_an_empty_configuration_without_a_mask_leaves_the_stored_one(
    client: httpx.AsyncClient, context: dict[str, Any]
) -> None:
    """The successor of the client sends one along whenever it renames a bank."""
    engine = await _full(client)
    updated = await update_engine(client, engine["name"], displayName="after", **context)
    assert updated["displayName"] == "after"
    assert updated["contextSpec"] == _FULL["contextSpec"]


@pytest.mark.parametrize(
    "mask", ["spec", "spec.packageSpec.pythonVersion", "display_name,trafficConfig"]
)
async def test_a_mask_that_names_what_is_not_served_says_so(
    client: httpx.AsyncClient, mask: str
) -> None:
    answer = await client.patch(FIRST, params={"updateMask": mask}, json={"displayName": "x"})
    assert refusal(answer) == BAD_FIELD
    assert "that this service does not serve" in violations(answer)["updateMask"]


async def test_a_configuration_without_a_mask_replaces_the_stored_one(
    client: httpx.AsyncClient,
) -> None:
    engine = await _full(client)
    context = {"memory_bank_config": {"ttlConfig": {"memory_revision_default_ttl": "120s"}}}
    updated = await update_engine(client, engine["name"], context_spec=context)
    assert updated["contextSpec"] == {"memoryBankConfig": _OTHER}


@in_one_test("mask", ["name", "etag", "display_name,,", "contextSpec.x", "x" * 5000])
async def test_a_mask_that_names_nothing_of_an_engine_is_refused(
    client: httpx.AsyncClient, mask: str
) -> None:
    answer = await client.patch(FIRST, params={"updateMask": mask}, json={"displayName": "x"})
    assert refusal(answer) == BAD_FIELD
    assert list(violations(answer)) == ["updateMask"]


async def test_a_stale_etag_is_refused_and_nothing_changes(client: httpx.AsyncClient) -> None:
    engine = await _full(client)
    url = f"{API}/{engine['name']}"
    await update_engine(client, engine["name"], displayName="between", etag="1")
    answer = await client.patch(url, json={"displayName": "after", "etag": engine["etag"]})
    assert refusal(answer) == (409, "ABORTED", Reason.ETAG_STALE)
    assert (await get_engine(client, engine["name"]))["displayName"] == "between"
    updated = await update_engine(client, engine["name"], displayName="after", etag="2")
    assert updated["etag"] == "3"


async def test_an_update_is_done_once_per_request_id(client: httpx.AsyncClient) -> None:
    params = {"requestId": "r"}
    first = await client.patch(FIRST, params=params, json={"displayName": "a"})
    assert (await client.patch(FIRST, params=params, json={"displayName": "a"})).json() == (
        first.json()
    )
    assert (await client.get(FIRST)).json()["etag"] == "2"
    other = await client.patch(FIRST, params=params, json={"displayName": "b"})
    assert refusal(other) == (409, "ALREADY_EXISTS", Reason.REQUEST_ID_REUSED)


async def test_an_engine_that_is_not_there_cannot_be_updated(client: httpx.AsyncClient) -> None:
    for url in (f"{API}/projects/other/locations/local/reasoningEngines/1", FIRST + "0"):
        assert refusal(await client.patch(url, json={"displayName": "x"})) == NOT_FOUND


@pytest.mark.parametrize("form", ["{}", '"{}"', 'W/"{}"', "*"])
async def test_the_etag_of_an_update_may_be_in_the_header(
    client: httpx.AsyncClient, form: str
) -> None:
    for etag in ("2", "other"):
        answer = await client.patch(
            FIRST, json={"displayName": "x"}, headers={"If-Match": f'"{etag}"'}
        )
        assert refusal(answer) == (409, "ABORTED", Reason.ETAG_STALE)
    assert (await client.get(FIRST)).json()["etag"] == "1"
    header = {"If-Match": form.format(1)}
    updated = await client.patch(FIRST, json={"displayName": "x"}, headers=header)
    assert updated.json()["response"]["etag"] == "2"


async def test_an_etag_in_the_header_and_another_in_the_body_are_refused(
    client: httpx.AsyncClient,
) -> None:
    answer = await client.patch(FIRST, json={"etag": "1"}, headers={"If-Match": "2"})
    assert list(violations(answer)) == ["etag"]


async def test_a_null_makes_another_request_of_it(client: httpx.AsyncClient) -> None:
    """It clears a field, so the first answer would not be the answer to it."""
    params = {"requestId": "r"}
    await client.patch(FIRST, params=params, json={"description": "d"})
    other = {"description": "d", "displayName": None}
    answer = await client.patch(FIRST, params=params, json=other)
    assert refusal(answer) == (409, "ALREADY_EXISTS", Reason.REQUEST_ID_REUSED)


async def test_an_update_does_not_wait_for_who_writes_below_the_engine(
    client: httpx.AsyncClient, database_url: str
) -> None:
    """A long purge must not keep the bank's configuration from being changed."""
    async with await psycopg.AsyncConnection.connect(database_url) as purge:
        await purge.execute("select from engines where engine_id = 1 for key share")
        changing = asyncio.create_task(client.patch(FIRST, json={"displayName": "x"}))
        done, _ = await asyncio.wait({changing}, timeout=5)
    assert (await changing).status_code == 200
    assert done
