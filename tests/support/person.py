"""A person of whom every kind of data is stored, and their erasure."""

import json

import httpx
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from tests.support.bank import ENGINE_URL, Json, ok
from tests.support.generation import given, said, start
from tests.support.ingestion import IDLE, ingest
from tests.support.keys import client_with, make_key
from tests.support.operations import create_memory, path_of
from tests.support.sessions import append, create_session
from tests.support.summaries import BY_THREE
from tests.support.tasks import store, text_output

PERSON = "quill-77"
CANARY = "CanaryMoth"
"""Said in everything that is stored of the person."""


async def fill(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock, runner: Runner
) -> None:
    """Store data of the users `quill-77` and `other-8` through every route that stores."""
    for user, word in ((PERSON, CANARY), ("other-8", "Harmless")):
        scope = {"user_id": user}
        await _memories(client, runner, scope, word)
        await _session(client, runner, user, word)
        await _artifacts(client, runner, user, word)
        conditions = {"user_id": [user]}
        secret = await make_key(
            database, clock.now(), "admin", display_name=f"of {word}", scope_conditions=conditions
        )
        async with client_with(app, secret) as bound:
            await create_memory(bound, f"I said {word} with my own key.", scope)
            params = {"requestId": f"own-{word}"}
            body = {"fact": f"{word} once", "scope": scope}
            ok(await bound.post("/memories", params=params, json=body))
    await make_key(
        database,
        clock.now(),
        "viewer",
        display_name="of both",
        scope_conditions={"user_id": [PERSON, "other-8"]},
    )
    both = [
        {"memory": {"fact": f"{CANARY} in a batch", "scope": {"user_id": PERSON}}},
        {"memory": {"fact": "Another in a batch", "scope": {"user_id": "other-8"}}},
    ]
    ok(await client.post("/memories:batchCreate", json={"requests": both}))
    lines = [{"fact": f"{CANARY} imported", "scope": {"user_id": PERSON}}]
    sent = "\n".join(json.dumps(line) for line in lines).encode()
    headers = {"Content-Type": "application/x-ndjson"}
    ok(await client.post("/memories:import", content=sent, headers=headers))
    await runner.run_pending()


async def _memories(
    client: httpx.AsyncClient, runner: Runner, scope: dict[str, str], word: str
) -> None:
    user = scope["user_id"]
    fields = {
        "displayName": f"{word} name",
        "description": f"{word} told",
        "metadata": {"note": {"stringValue": word}},
        "revisionLabels": {"by": user},
    }
    params = {"memoryId": f"m-{user}"}
    body = {"fact": f"I like {word}.", "scope": scope, **fields}
    memory = ok(await client.post("/memories", params=params, json=body))["response"]
    path = path_of(memory["name"])
    mask = {"updateMask": "fact", "requestId": f"change-{word}"}
    changed = ok(await client.patch(path, params=mask, json={"fact": f"I love {word}."}))
    gone = await create_memory(client, f"I forget {word}.", {**scope, "app": "x"})
    ok(await client.delete(path_of(gone["name"])))
    ok(await client.post(f"{path_of(changed['name'])}:undo", json={}))
    await start(client, given(f"My cat is called {word}."), scope=scope)
    await start(client, said(f"My dog is called {word}."), scope=scope, validateOnly=True)
    await ingest(client, f"My bird is called {word}.", scope=scope, **IDLE)
    await ingest(client, f"My fish is called {word}.", scope=scope, streamId=word)
    await runner.run_pending()
    await start(client, said(f"My wolf is called {word}."), scope=scope)


async def _session(client: httpx.AsyncClient, runner: Runner, user: str, word: str) -> None:
    session = await create_session(
        client,
        f"s-{user}",
        userId=user,
        displayName=word,
        sessionState={"mood": word, "user:city": word},
    )
    path = path_of(session["name"])
    await append(client, path, f"I say {word}.")
    for number in range(6):
        body = {"input": f"{word} asks {number}", "output": f"{word} hears {number}"}
        params = {"requestId": f"{word}-{number}"}
        ok(await client.post(f"{path}/exchanges", params=params, json=body))
    ok(await client.post(f"{path}:context", json={"policy": {**BY_THREE, "humanLabel": word}}))
    await runner.run_pending()


async def _artifacts(client: httpx.AsyncClient, runner: Runner, user: str, word: str) -> None:
    memory = f"/taskMemories/of-{user}"
    path = f"{memory}/namespaces/n-{user}"
    output = text_output(f"{word} in a table. " * 40)
    ok(await store(client, {"name": "a", **output}, path=path, userId=user))
    ok(await client.put(f"{memory}/toolPolicies/{word}", json={"offPrompt": "auto"}))
    image = f"{path}/artifacts/{word}.bin"
    content = b"\x00" + word.encode()
    ok(await client.put(image, content=content, params={"userId": user}))
    await runner.run_pending()


async def erase(
    client: httpx.AsyncClient, runner: Runner, scope: dict[str, str], **fields: object
) -> Json:
    """Erase a scope, and return the certificate."""
    body = {"scope": scope, **fields}
    operation = ok(await client.post(f"{ENGINE_URL}:eraseScope", json=body))
    await runner.run_pending()
    ended = ok(await client.get(path_of(operation["name"])))
    assert ended["done"]
    assert "error" not in ended, ended
    certificate: Json = ended["response"]
    return certificate


def positive(counts: Json) -> dict[str, int]:
    """Return the counts that are not 0."""
    return {table: count for table, count in counts.items() if count}
