"""Operations found by what they are, how they ended, who asked and whom they concern."""

from datetime import timedelta

import httpx
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason, Unavailable
from app.platform.operations.services.runner import Runner
from app.platform.operations.store import leases
from tests.support.bank import Json, configure, field_of, ok
from tests.support.cases import in_one_test
from tests.support.errors import refusal
from tests.support.generation import given, start
from tests.support.ingestion import OSLO, TEA
from tests.support.keys import client_with, make_key
from tests.support.operations import USER, create_memories, create_memory, path_of
from tests.support.queue import claim, overwrite

OTHER = {"user_id": "7"}
AWAY = Unavailable("Away.", Reason.MODEL_UNAVAILABLE)
_LEASE, _KEEP = timedelta(minutes=1), timedelta(days=1)


async def _stage(
    client: httpx.AsyncClient, runner: Runner, database: Database, clock: FixedClock
) -> dict[str, str]:
    """Leave an operation of each outcome, a minute apart; return a letter of each, by path."""
    await create_memory(client, TEA)
    (created,) = ok(await client.get("/operations"))["operations"]
    letters = {path_of(created["name"]): "a"}

    async def generated(letter: str, **fields: object) -> str:
        clock.advance(timedelta(minutes=1))
        path = await start(client, given(TEA), **fields)
        letters[path] = letter
        return path

    await generated("b")
    await runner.run_pending()
    failed = await generated("c", scope=OTHER)
    error = AWAY.as_operation_error()
    await overwrite(database, failed.rpartition("/")[2], state="FAILED", error=error)
    cancelled = await generated("d", scope={**OTHER, "app": "x"})
    ok(await client.post(f"{cancelled}:cancel"))
    await generated("e")
    clock.advance(timedelta(minutes=1))
    await configure(client)
    body = {"requests": [{"memory": {"fact": OSLO, "scope": scope}} for scope in (USER, OTHER)]}
    clock.advance(timedelta(minutes=1))
    batch = ok(await client.post("/memories:batchCreate", json=body))
    letters[path_of(batch["name"])] = "g"
    # Not by the order of the list: an earlier test of the process may have made ids of later times.
    (configured,) = set(await _found(client, "")) - letters.keys()
    return {**letters, configured: "f"}


async def _found(client: httpx.AsyncClient, text: str) -> list[str]:
    page = ok(await client.get("/operations", params={"filter": text}))
    return [path_of(one["name"]) for one in page["operations"]]


_CASES = {
    "": "abcdefg",
    "done=false": "e",
    "done=true": "abcdfg",
    "done!=false": "abcdfg",
    "NOT done=true": "e",
    'state="FAILED"': "c",
    "state!=SUCCEEDED": "cde",
    "state:PENDING OR state:CANCELLED": "de",
    'kind="generation.generate"': "bcde",
    "kind!=generation.generate": "afg",
    "kind:memories.batchCreate OR kind:engines.update": "fg",
    'error.code="UNAVAILABLE"': "c",
    "error.code=CANCELLED": "d",
    "error.code!=UNAVAILABLE": "abdefg",
    "error.reason=OPERATION_CANCELLED": "d",
    "error.reason!=MODEL_UNAVAILABLE": "abdefg",
    "retried=true": "",
    "retried=false": "abcdefg",
    "author:builtin-rules": "bcde",
    "author!=engine": "abcdefg",
    "caller:*": "abcdefg",
    'caller!="none"': "abcdefg",
    'caller=~"no.*"': "",
    'create_time>="2026-01-15T12:03:00Z"': "defg",
    'updateTime<"2026-01-15T12:01:00Z"': "a",
    'scope.user_id="42"': "abeg",
    'scope."user_id":"7"': "cdg",
    "scope.user_id!=42": "cdf",
    "scope.app:*": "d",
    "NOT scope.user_id:*": "f",
    'scope.user_id="42" AND done=true AND NOT kind=generation.generate': "ag",
}


async def test_operations_are_found_by_each_field(
    client: httpx.AsyncClient, runner: Runner, database: Database, clock: FixedClock
) -> None:
    letters = await _stage(client, runner, database, clock)
    newest = await _found(client, "")
    for text, expected in _CASES.items():
        found = await _found(client, text)
        assert (text, "".join(sorted(letters[path] for path in found))) == (text, expected)
        assert found == [path for path in newest if path in found]


@in_one_test(
    ("text", "told"),
    [
        ("done=yes", "must be one of true, false."),
        ("done:true", "done takes the operators != ="),
        ('state="DONE"', "must be one of PENDING, RUNNING, SUCCEEDED, FAILED, CANCELLED."),
        ('kind="generate"', "generation.generate, generation.preview, ingestion.ingest, "),
        ('error.code="14"', "FAILED_PRECONDITION, INTERNAL, INVALID_ARGUMENT, "),
        ('error.reason="AWAY"', "MODEL_TIMEOUT, MODEL_RATE_LIMITED, MODEL_UNAVAILABLE, "),
        (r'scope:"{\"user_id\": \"42\"}"', "scope takes the operators"),
        ('scope.user_id=~"4.*"', 'scope."key" takes the operators != : ='),
        ("caller>x", "caller takes the operators"),
        (
            "start_time>5",
            "done, retried, state, error.code, error.reason, author, caller, create_time, ",
        ),
    ],
)
async def test_what_operations_cannot_be_asked_is_refused_with_what_can(
    client: httpx.AsyncClient, text: str, told: str
) -> None:
    answer = await client.get("/operations", params={"filter": text})
    assert refusal(answer) == (400, "INVALID_ARGUMENT", Reason.FILTER_INVALID)
    assert field_of(answer) == "filter"
    assert told in answer.json()["error"]["message"]


async def test_a_bound_key_finds_its_own_alone(
    app: FastAPI, client: httpx.AsyncClient, runner: Runner, database: Database, clock: FixedClock
) -> None:
    letters = await _stage(client, runner, database, clock)
    secret = await make_key(database, clock.now(), "user", scope_conditions={"user_id": ["42"]})
    async with client_with(app, secret) as bound:
        for text, expected in (("", "abe"), ('scope.user_id="7"', ""), ("done=false", "e")):
            found = await _found(bound, text)
            assert "".join(sorted(letters[path] for path in found)) == expected
        path = await start(bound, given(TEA))
        mine = ok(await bound.get(path))["metadata"]["caller"]
    assert await _found(client, f'caller="{mine}"') == [path]
    assert mine in secret


async def test_an_operation_tells_when_it_first_ran_and_how_often(
    client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    path = await start(client, given(TEA))

    async def told() -> Json:
        metadata = ok(await client.get(path))["metadata"]
        return {key: metadata.get(key) for key in ("state", "attemptCount", "startTime")}

    assert await told() == {"state": "PENDING", "attemptCount": 0, "startTime": None}
    for attempts in (1, 2):
        clock.advance(timedelta(minutes=1))
        claimed = await claim(database, clock, _LEASE)
        assert claimed is not None
        ran = {"attemptCount": attempts, "startTime": "2026-01-15T12:01:00Z"}
        assert await told() == {"state": "RUNNING", **ran}
        async with database.transaction() as session:
            ended = (clock.now(), _KEEP)
            error = AWAY.as_operation_error()
            await leases.retry(session, claimed.owned, ended, clock.now(), error)
        assert await told() == {"state": "PENDING", **ran}


async def test_what_was_done_within_its_request_never_ran(client: httpx.AsyncClient) -> None:
    await create_memories(client, TEA)
    (listed,) = ok(await client.get("/operations"))["operations"]
    assert "startTime" not in listed["metadata"]
    assert listed["metadata"]["attemptCount"] == 0
    assert ok(await client.get(path_of(listed["name"])))["metadata"] == listed["metadata"]
