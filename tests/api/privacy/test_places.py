"""Rules about sensitive values where callers write themselves: memories, sessions, artifacts."""

import json
from collections.abc import Awaitable, Callable

import httpx

from app.adapters.db.session import Database
from app.platform.operations.services.runner import Runner
from tests.support.bank import Json, configure, history, listed, ok
from tests.support.cases import in_one_test
from tests.support.errors import violations
from tests.support.generation import given, run
from tests.support.operations import USER, create_memory, path_of
from tests.support.rows import rows_with
from tests.support.sessions import append, event, events, new_path, state, texts
from tests.support.tasks import ARTIFACT, NAMESPACE, process, store, text_output, upload

CARD = "4111 1111 1111 1111"
MAIL = "anna.k@example.com"
SAID = f"Write to {MAIL}."
MASKED = "Write to [EMAIL]."
METADATA = {"note": {"stringValue": SAID}}

Send = Callable[[httpx.AsyncClient], Awaitable[httpx.Response]]


async def rule(client: httpx.AsyncClient, action: str, *where: str) -> None:
    """Set the one rule of the engine, for mail addresses."""
    where_ = {"where": [*where]} if where else {}
    await configure(
        client, privacyConfig={"rules": [{"kind": "EMAIL", "action": action, **where_}]}
    )


async def imported(client: httpx.AsyncClient, *facts: str) -> Json:
    lines = "\n".join(json.dumps({"scope": USER, "fact": fact}) for fact in facts)
    headers = {"Content-Type": "application/x-ndjson"}
    return ok(await client.post("/memories:import", content=lines, headers=headers))


async def test_memories_that_callers_write_are_masked_by_every_method(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    """The metadata of each operation tell how many values were masked."""
    await create_memory(client, "I like tea.")
    await rule(client, "MASK", "DIRECT")
    # The first is created step by step, since the engine has just changed; the second at once.
    created: Json = {}
    for _ in range(2):
        body = {"scope": USER, "fact": SAID, "metadata": METADATA, "description": SAID}
        created = ok(await client.post("/memories", json=body))
        assert created["metadata"]["maskedCounts"] == {"EMAIL": 3}
        assert created["response"]["metadata"] == {"note": {"stringValue": MASKED}}
    path = path_of(created["response"]["name"])
    changed = {"fact": SAID, "revisionLabels": {"why": MAIL}, "description": None}
    updated = ok(await client.patch(path, json=changed))
    assert updated["metadata"]["maskedCounts"] == {"EMAIL": 2}
    assert "description" not in updated["response"]
    why: Json = {"revisionLabels": {"why": MAIL}}
    target = (await history(client, path))[-1]["name"]
    purge = {"filter": 'fact="none"', "force": True, **why}
    for answer in (
        await client.request("DELETE", path, json=why),
        await client.post(f"{path}:undelete", json=why),
        await client.post(f"{path}:rollback", json={"targetRevisionId": target, **why}),
        await client.post("/memories:purge", json=purge),
    ):
        assert ok(answer)["metadata"]["maskedCounts"] == {"EMAIL": 1}
    preview = {**why, "validateOnly": True}
    undone = ok(await client.post(f"{path_of(created['name'])}:undo", json=preview))
    assert undone["metadata"]["maskedCounts"] == {"EMAIL": 1}
    requests = [{"memory": {"scope": USER, "fact": SAID}}]
    batch = ok(await client.post("/memories:batchCreate", json={"requests": requests}))
    assert batch["metadata"]["maskedCounts"] == {"EMAIL": 1}
    await imported(client, SAID, "I like rice.")
    direct = await run(client, runner, given(SAID), disableConsolidation=True, metadata=METADATA)
    assert direct["metadata"]["maskedCounts"] == {"EMAIL": 2}
    assert sorted(await listed(client)) == sorted(["I like rice.", "I like tea.", *[MASKED] * 5])
    assert await rows_with(database, MAIL) == {}


async def test_events_and_state_of_sessions_are_masked(
    client: httpx.AsyncClient, database: Database
) -> None:
    await rule(client, "MASK", "SESSION_EVENTS")
    path = await new_path(client, sessionState={"mail": MAIL, "user:mail": MAIL, "n": 1})
    await append(client, path, SAID, actions={"stateDelta": {"more": MAIL, "n": None}})
    ok(await client.post(f"{path}/exchanges", json={"input": SAID, "output": SAID}))
    sent = {"events": [event(SAID), event(SAID, rawEvent={"said": [SAID], "nothing": None})]}
    ok(await client.post(f"{path}/events:batch", json=sent))
    assert await texts(client, path) == [MASKED] * 5
    held = {"mail": "[EMAIL]", "user:mail": "[EMAIL]", "more": "[EMAIL]"}
    assert await state(client, path) == {**held, "n": None}
    changed = {"sessionState": {"mail": SAID, "app:mail": MAIL}}
    ok(await client.patch(path, json=changed))
    assert (await state(client, path))["mail"] == MASKED
    assert await rows_with(database, MAIL) == {}


async def test_artifacts_of_text_kinds_are_masked(
    client: httpx.AsyncClient, database: Database
) -> None:
    """A blob is stored byte for byte, whatever is in it."""
    await rule(client, "MASK", "ARTIFACTS")
    shown = ok(await process(client, text_output(SAID)))
    assert shown["promptText"] == MASKED
    output = {"kind": "list", "elements": [text_output(SAID), {"kind": "json", "json": [MAIL]}]}
    ok(await process(client, output, offPrompt=True, namespace="listed"))
    ok(await store(client, text_output(SAID, name="text"), {"kind": "blob", "data": "YW5uYQ=="}))
    sent = {
        "plain": (SAID.encode(), "text/plain", MASKED.encode()),
        "latin": (f"{SAID} é".encode("latin-1"), "text/plain", f"{MASKED} é".encode("latin-1")),
        "wide": (SAID.encode("utf-16"), "text/plain", MASKED.encode("utf-16")),
        "values": (
            json.dumps({"mail": MAIL, "n": 1}).encode(),
            "application/json",
            b'{"mail":"[EMAIL]","n":1}',
        ),
        "broken": (f"[{MAIL}".encode(), "application/json", b"[[EMAIL]"),
        "blob": (b"\x00\x01", "application/octet-stream", b"\x00\x01"),
    }
    for name, (content, media_type, expected) in sent.items():
        path = f"{NAMESPACE}/artifacts/{name}"
        ok(await upload(client, content, path, media_type))
        # The same bytes again change nothing.
        ok(await upload(client, content, path, media_type))
        assert (await client.get(f"{path}/content")).content == expected, name
    assert await rows_with(database, MAIL) == {}
    assert await rows_with(database, SAID.encode().hex()) == {}


async def test_an_upload_that_rules_look_through_has_to_be_whole_and_short(
    client: httpx.AsyncClient,
) -> None:
    await rule(client, "MASK", "ARTIFACTS")
    wrong = {"Content-Digest": "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"}
    answer = await upload(client, SAID.encode(), ARTIFACT, "text/plain", headers=wrong)
    assert answer.json()["error"]["details"][0]["reason"] == "DIGEST_MISMATCH"
    long = b"a " * 4_200_000
    answer = await upload(client, long, ARTIFACT, "text/plain")
    assert answer.status_code == 413
    assert "sensitive" in answer.json()["error"]["message"]
    ok(await upload(client, long, ARTIFACT, "application/octet-stream"))


async def test_names_and_codes_that_people_write_are_masked(
    client: httpx.AsyncClient, database: Database
) -> None:
    """With a rule for all places; an activity is a name, in which the kind has no brackets."""
    await configure(
        client,
        privacyConfig={
            "rules": [{"kind": kind, "action": "MASK"} for kind in ("EMAIL", "CREDENTIAL")]
        },
    )
    topics = [{"customMemoryTopicLabel": f"of {MAIL}"}]
    created = ok(
        await client.post("/memories", json={"scope": USER, "fact": "x", "topics": topics})
    )
    assert created["response"]["topics"] == [{"customMemoryTopicLabel": "of [EMAIL]"}]
    path = await new_path(client, displayName=SAID)
    assert ok(await client.get(path))["displayName"] == MASKED
    ok(await client.patch(path, json={"displayName": f"{SAID} Again."}))
    assert ok(await client.get(path))["displayName"] == f"{MASKED} Again."
    await append(client, path, author=MAIL, errorCode=f"NO_{MAIL}")
    ok(await client.post(f"{path}/exchanges", json={"input": "x", "output": "y", "agent": MAIL}))
    shown = await events(client, path)
    assert [one["author"] for one in shown] == ["[EMAIL]", "user", "[EMAIL]"]
    assert shown[0]["errorCode"] == "[EMAIL]"
    key = f"sk-{'a1b2' * 6}"
    ok(await process(client, text_output("x"), activity=key, offPrompt=True))
    ok(await store(client, text_output("x"), activity=f"{key}.fetch"))
    assert await rows_with(database, MAIL) == {}
    assert await rows_with(database, key) == {}


def posted(path: str, **body: object) -> Send:
    return lambda client: client.post(path, json=body)


@in_one_test(
    ("send", "fields"),
    [
        (
            posted("/memories", scope=USER, fact=SAID, metadata=METADATA),
            ["fact", "metadata.note.stringValue"],
        ),
        (
            posted("/memories:batchCreate", requests=[{"memory": {"scope": USER, "fact": SAID}}]),
            ["requests[0].memory.fact"],
        ),
        (
            posted("/memories:generate", scope=USER, **given(SAID)),
            ["directMemoriesSource.directMemories[0].fact"],
        ),
        (posted("/sessions", userId="42", sessionState={"mail": MAIL}), ["sessionState.mail"]),
        (posted("/sessions/s:appendEvent", **event(SAID)), ["content.parts[0].text"]),
        (
            posted("/sessions/s/events:batch", events=[event("x"), event(SAID)]),
            ["events[1].content.parts[0].text"],
        ),
        (posted("/sessions/s/exchanges", input="x", output=SAID), ["output"]),
        (lambda client: process(client, text_output(SAID)), ["output.text"]),
        (lambda client: store(client, text_output(SAID)), ["artifacts[0].text"]),
        (lambda client: upload(client, SAID.encode(), ARTIFACT, "text/plain"), ["body"]),
    ],
)
async def test_what_an_engine_refuses_is_refused_everywhere(
    client: httpx.AsyncClient, database: Database, send: Send, fields: list[str]
) -> None:
    """A rule without a place holds at all. The answer names fields and kinds, never a value."""
    await rule(client, "OFF")
    await client.post("/sessions", params={"sessionId": "s"}, json={"userId": "42"})
    await rule(client, "REJECT")
    answer = await send(client)
    assert list(violations(answer)) == fields
    assert answer.json()["error"]["details"][0]["reason"] == "SENSITIVE_CONTENT"
    assert "anna" not in answer.text
    assert await rows_with(database, MAIL) == {}


async def test_memories_that_are_refused_leave_the_others_of_a_batch_or_an_import(
    client: httpx.AsyncClient,
) -> None:
    await rule(client, "REJECT", "DIRECT")
    requests: list[Json] = [{"memory": {"scope": USER, "fact": f}} for f in (SAID, "I like tea.")]
    body = {"requests": requests, "atomic": False}
    done = ok(await client.post("/memories:batchCreate", json=body))["response"]
    reasons = [
        one.get("error", {}).get("details", [{}])[0].get("reason") for one in done["results"]
    ]
    assert reasons == ["SENSITIVE_CONTENT", None]
    result = await imported(client, SAID, "I like rice.")
    assert (result["imported"], result["failed"]) == (1, 1)
    assert sorted(await listed(client)) == ["I like rice.", "I like tea."]


async def test_a_rule_for_one_place_leaves_the_others(client: httpx.AsyncClient) -> None:
    await rule(client, "MASK", "SESSION_EVENTS")
    await create_memory(client, SAID)
    path = await new_path(client)
    await append(client, path, f"{SAID} {CARD}")
    ok(await upload(client, SAID.encode(), ARTIFACT, "text/plain"))
    assert (await client.get(f"{ARTIFACT}/content")).text == SAID
    assert await texts(client, path) == [f"{MASKED} {CARD}"]
    assert await listed(client) == [SAID]
