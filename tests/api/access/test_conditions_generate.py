"""Generation and ingestion by keys that are bound to scopes: issue 4, section 1.

What they start is done by a worker, which works on the scope of their operation.
"""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from tests.support.bank import ENGINE, GONE, Json, id_of, listed, ok, refusal, retrieved
from tests.support.bound import SCOPES, Bound, assert_alike, facts
from tests.support.cases import in_one_test
from tests.support.generation import given, run, said
from tests.support.ingestion import IDLE, TEA, ended, ingest, read, runs_after
from tests.support.operations import USER, create_memory, path_of
from tests.support.sessions import append, create_session
from tests.support.undo import undo, undone

TEXT = "I like green tea."
SOURCES: dict[str, Json] = {"events": said(TEXT), "facts": given(TEXT)}


async def _asked(client: httpx.AsyncClient, **body: Any) -> httpx.Response:
    return await client.post("/memories:generate", json=body)


def _session(session_id: str) -> Json:
    return {"vertexSessionSource": {"session": f"{ENGINE}/sessions/{session_id}"}}


@pytest.mark.parametrize("source", SOURCES)
async def test_a_generation_is_for_scopes_of_the_key_alone(
    bound: Bound, bank: httpx.AsyncClient, runner: Runner, source: str
) -> None:
    unknown = await _asked(bound.client, scope={"user_id": "nobody"}, **SOURCES[source])
    for memory_id, scope in SCOPES.items():
        if memory_id in bound.kind.memories:
            done = await run(bound.client, runner, SOURCES[source], scope=scope)
            assert len(done["response"]["generatedMemories"]) == 1
        else:
            answer = await _asked(bound.client, scope=scope, **SOURCES[source])
            assert refusal(answer) == GONE
            assert answer.text == unknown.text
    assert (await listed(bank)).count(TEXT) == len(bound.kind.memories)


async def test_a_generation_leaves_memories_of_others_alone(
    bank: httpx.AsyncClient, mine: httpx.AsyncClient, runner: Runner
) -> None:
    for user in ("42", "7"):
        await create_memory(bank, "I live in Oslo.", {"user_id": user})
    done = await run(mine, runner, said("I live in Rome now."))
    (changed,) = done["response"]["generatedMemories"]
    assert changed["action"] == "UPDATED"
    assert await retrieved(bank, scope={"user_id": "7"}, filter='fact:"Oslo"') != []
    assert await retrieved(bank, scope=USER, filter='fact:"Oslo"') == []


async def test_a_preview_tells_of_own_memories_alone(
    bank: httpx.AsyncClient, mine: httpx.AsyncClient, runner: Runner
) -> None:
    for user in ("42", "7"):
        await create_memory(bank, f"I live in Oslo, says {user}.", {"user_id": user})
    done = await run(mine, runner, said("I live in Rome now."), validateOnly=True)
    assert "theirs" not in str(done)
    assert "says 7" not in str(done)
    # It is hidden from keys of others, and theirs from this one.
    theirs = await run(bank, runner, said("I moved."), scope=SCOPES["theirs"], validateOnly=True)
    assert refusal(await mine.get(path_of(theirs["name"]))) == GONE
    refused = await _asked(mine, scope=SCOPES["theirs"], validateOnly=True, **said("I moved."))
    assert refusal(refused) == GONE


@in_one_test("scope", [None, {"user_id": "42"}, {"user_id": "42", "app": "x"}])
async def test_a_foreign_session_is_no_source(
    bound: Bound, bank: httpx.AsyncClient, scope: dict[str, str] | None
) -> None:
    own_scope = {} if scope is None else {"scope": scope}
    missing = await _asked(bound.client, **_session("nothing"), **own_scope)
    assert refusal(missing) == GONE
    for user in bound.kind.hidden_users:
        foreign = await _asked(bound.client, **_session(f"s-{user}"), **own_scope)
        assert_alike(foreign, missing, f"/s-{user} ", "/nothing ")
    assert await facts(bank) == [*SCOPES]


async def test_an_own_session_is_a_source(mine: httpx.AsyncClient, runner: Runner) -> None:
    await append(mine, "/sessions/s-42", TEXT)
    done = await run(mine, runner, _session("s-42"))
    assert done["response"]["generatedMemories"]
    assert TEXT in await retrieved(mine)
    answer = await _asked(mine, scope=SCOPES["theirs"], **_session("s-42"))
    assert refusal(answer) == GONE


async def test_a_session_made_anew_is_not_read_for_who_asked_for_the_old_one(
    bank: httpx.AsyncClient, mine: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    await create_session(mine, "chosen", userId="42")
    operation = ok(await _asked(mine, scope=USER, **_session("chosen")))
    ok(await mine.delete("/sessions/chosen"))
    clock.advance(timedelta(seconds=1))
    await create_session(bank, "chosen", userId="7")
    await append(bank, "/sessions/chosen", "I like secrets.")
    await runner.run_pending()
    found = ok(await mine.get(path_of(operation["name"])))
    assert found["error"]["code"] == 5
    assert await retrieved(mine, filter='fact:"secret"') == []


async def test_the_undo_of_a_generation_is_of_its_scope(
    bank: httpx.AsyncClient, mine: httpx.AsyncClient, runner: Runner
) -> None:
    own = await run(mine, runner, said(TEXT))
    theirs = await run(bank, runner, said(TEXT), scope=SCOPES["theirs"])
    missing = await mine.post("/operations/1:undo", json={})
    assert refusal(missing) == GONE
    foreign = await mine.post(f"{path_of(theirs['name'])}:undo", json={})
    assert_alike(foreign, missing, f"/{id_of(theirs)} ", "/1 ")
    dry = await undo(mine, runner, own["name"], validateOnly=True)
    done = await undo(mine, runner, own["name"])
    assert undone(dry) == undone(done)
    assert list(undone(done).values()) == ["DELETED"]
    assert await retrieved(bank, scope=SCOPES["theirs"], filter=f'fact="{TEXT}"') == [TEXT]


async def test_ingestion_is_for_scopes_of_the_key_alone(
    bound: Bound, bank: httpx.AsyncClient, runner: Runner
) -> None:
    path, events = "/memories:ingestEvents", said(TEA)
    unknown = await bound.client.post(path, json={"scope": {"user_id": "nobody"}, **events})
    for memory_id, scope in SCOPES.items():
        answer = await bound.client.post(path, json={"scope": scope, **events})
        if memory_id in bound.kind.memories:
            done = await ended(bound.client, runner, ok(answer))
            # The generation that it fired is seen with it.
            fired = ok(
                await bound.client.get(path_of(done["response"]["generateMemoriesOperation"]))
            )
            assert fired["response"]["generatedMemories"]
        else:
            assert refusal(answer) == GONE
            assert answer.text == unknown.text
    assert (await listed(bank)).count(TEA) == len(bound.kind.memories)


async def test_streams_of_others_are_not_told_of(
    bank: httpx.AsyncClient, mine: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    theirs = await ingest(bank, TEA, "I live in Bern.", scope=SCOPES["theirs"], **IDLE)
    own = await ingest(mine, "I live in Oslo.", **IDLE)
    assert own["metadata"]["pendingEventCount"] == 1
    # A second request is given the same operation, and one of a foreign stream none.
    again = await ingest(mine, "My dog is called Rex.", **IDLE)
    assert again["name"] == own["name"]
    assert again["metadata"]["pendingEventCount"] == 2
    assert refusal(await mine.get(path_of(theirs["name"]))) == GONE
    flushed = await mine.post(
        "/memories:ingestEvents", json={"scope": SCOPES["theirs"], "forceFlush": True}
    )
    assert refusal(flushed) == GONE
    await runs_after(runner, clock, minutes=10)
    done = await read(mine, own)
    assert done["metadata"]["eventCount"] == 2
    assert refusal(await mine.get(path_of(theirs["name"]))) == GONE


async def test_a_known_event_and_a_flush_are_of_the_own_stream(mine: httpx.AsyncClient) -> None:
    events = {"directContentsSource": {"events": [_event("e1"), _event("e2")]}}
    body: Json = {"scope": USER, **events, **IDLE}
    first = ok(await mine.post("/memories:ingestEvents", json=body))
    again = ok(await mine.post("/memories:ingestEvents", json={**body, "forceFlush": True}))
    assert again["name"] == first["name"]
    assert again["metadata"]["duplicateEventCount"] == 2


def _event(event_id: str) -> Json:
    return {"eventId": event_id, "content": {"role": "user", "parts": [{"text": event_id}]}}
