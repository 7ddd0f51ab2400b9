"""Calls of tools that are sent again, as clients do after a lost answer."""

import httpx
import pytest

from tests.support.bank import Json, ok
from tests.support.tools import SCOPE, call, made

ONCE = {"Idempotency-Key": "once"}


async def _again(client: httpx.AsyncClient, name: str, arguments: Json) -> Json:
    """Send a call under the id of the others; return its result."""
    body = {"name": name, "arguments": arguments, "scope": SCOPE}
    answer = ok(await client.post("./memoryTools:call", json=body, headers=ONCE))
    assert answer["isError"] is False, answer["text"]
    result: Json = answer["result"]
    return result


async def test_calls_of_different_ids_are_all_done(client: httpx.AsyncClient) -> None:
    """However long the ids are, and whatever else they share."""
    memory = await made(client, "I like tea.")
    first = (await client.get(f"memories/{memory}/revisions")).json()["memoryRevisions"][0]["name"]
    for number in range(2):
        await call(client, "update_memory", {"id": memory, "fact": f"I like coffee {number}."})
        body = {"name": "restore_memory", "arguments": {"id": memory, "revision": first}}
        headers = {"Idempotency-Key": f"{number}{'x' * 127}"}
        sent = {**body, "scope": SCOPE}
        restored = ok(await client.post("./memoryTools:call", json=sent, headers=headers))
        assert restored["result"] == {"fact": "I like tea."}
        assert ok(await client.get(f"memories/{memory}"))["fact"] == "I like tea."


async def _actions(client: httpx.AsyncClient, memory: str) -> list[str]:
    """Return what was done to a memory, newest first."""
    page = ok(await client.get(f"memories/{memory}/revisions"))
    return [revision["action"] for revision in page["memoryRevisions"]]


async def test_an_update_is_made_once(client: httpx.AsyncClient) -> None:
    memory = await made(client, "I like tea.")
    arguments = {"id": memory, "fact": "I like coffee."}
    first = await _again(client, "update_memory", arguments)
    assert first == {"before": "I like tea.", "after": "I like coffee."}
    assert (await _again(client, "update_memory", arguments))["after"] == "I like coffee."
    assert await _actions(client, memory) == ["UPDATED", "CREATED"]


async def test_a_memory_is_forgotten_once(client: httpx.AsyncClient) -> None:
    memory = await made(client, "I like tea.")
    first = await _again(client, "forget_memory", {"ids": [memory]})
    assert first["forgotten"] == [{"id": memory, "fact": "I like tea."}]
    assert await _again(client, "forget_memory", {"ids": [memory]}) == first
    assert await _actions(client, memory) == ["DELETED", "CREATED"]
    # Nor is it deleted again by a repetition that comes after its return.
    await call(client, "restore_memory", {"id": memory})
    await _again(client, "forget_memory", {"ids": [memory]})
    assert ok(await client.get(f"memories/{memory}"))["fact"] == "I like tea."


async def test_what_is_forgotten_is_forgotten_again_without_an_id(
    client: httpx.AsyncClient,
) -> None:
    """The tool says of itself that it is idempotent."""
    gone, there = [await made(client, fact) for fact in ("I like tea.", "I like milk.")]
    first = ok(await call(client, "forget_memory", {"ids": [gone]}))
    assert ok(await call(client, "forget_memory", {"ids": [gone]})) == first
    both = ok(await call(client, "forget_memory", {"ids": [gone, there]}))
    assert [one["id"] for one in both["result"]["forgotten"]] == [gone, there]
    assert await _actions(client, gone) == ["DELETED", "CREATED"]


@pytest.mark.parametrize(
    ("is_changed", "is_forgotten", "restored"),
    [(True, True, "I like coffee."), (True, False, "I like tea."), (False, True, "I like tea.")],
)
async def test_a_memory_is_restored_once(
    client: httpx.AsyncClient, restored: str, *, is_changed: bool, is_forgotten: bool
) -> None:
    """Done twice, it would be taken back to yet another text."""
    memory = await made(client, "I like tea.")
    if is_changed:
        await call(client, "update_memory", {"id": memory, "fact": "I like coffee."})
    if is_forgotten:
        await call(client, "forget_memory", {"ids": [memory]})
    assert await _again(client, "restore_memory", {"id": memory}) == {"fact": restored}
    actions = await _actions(client, memory)
    assert await _again(client, "restore_memory", {"id": memory}) == {"fact": restored}
    assert await _actions(client, memory) == actions


async def test_a_memory_that_was_never_changed_has_no_earlier_text(
    client: httpx.AsyncClient,
) -> None:
    memory = await made(client, "I like tea.")
    refused = ok(await call(client, "restore_memory", {"id": memory}))
    assert refused["text"] == (
        f"memories/{memory} has no earlier text; memory_history shows its revisions."
    )
