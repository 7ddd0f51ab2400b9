"""POST {E}/memories:import of lines that have the times of their memories."""

import json
from datetime import timedelta

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from tests.support.bank import Json, after, history, listed, ok
from tests.support.generation import run
from tests.support.ingestion import event
from tests.support.keys import client_with, make_key
from tests.support.operations import USER, path_of
from tests.support.undo import undo

_NDJSON = {"content-type": "application/x-ndjson"}
_CREATED, _UPDATED = "2020-01-02T03:04:05.678901Z", "2021-01-02T03:04:05Z"
_TIMES = {"createTime": _CREATED, "updateTime": _UPDATED}


def line(fact: str, memory_id: str | None = None, **fields: object) -> Json:
    named = {} if memory_id is None else {"memoryId": memory_id}
    return {"fact": fact, "scope": USER, **named, **fields}


async def send(client: httpx.AsyncClient, *lines: Json, **query: str) -> Json:
    body = "\n".join(map(json.dumps, lines))
    return ok(await client.post("/memories:import", content=body, headers=_NDJSON, params=query))


def times(memory: Json) -> tuple[str, str]:
    return memory["createTime"], memory["updateTime"]


async def test_times_are_kept(client: httpx.AsyncClient, clock: FixedClock) -> None:
    lines = [line("both", "a", **_TIMES), line("one", "b", createTime=_CREATED), line("new", "c")]
    answer = await send(client, *lines)
    assert (answer["imported"], answer["failed"]) == (3, 0)
    now = after(clock)
    expected = {"a": (_CREATED, _UPDATED), "b": (_CREATED, _CREATED), "c": (now, now)}
    found = {name: ok(await client.get(f"/memories/{name}")) for name in expected}
    assert {name: times(memory) for name, memory in found.items()} == expected
    # The history tells what this service knew when.
    (revision,) = await history(client, "/memories/a")
    assert revision["createTime"] == now


async def test_lists_are_ordered_and_filtered_by_these_times(client: httpx.AsyncClient) -> None:
    years = ("2021", "2019", "2020")
    await send(client, *(line(y, createTime=f"{y}-01-01T00:00:00Z") for y in years))
    assert await listed(client, orderBy="create_time") == sorted(years)
    assert await listed(client, orderBy="update_time desc") == sorted(years, reverse=True)
    assert await listed(client, filter='create_time<"2020-01-01T00:00:00Z"') == ["2019"]


async def test_an_update_is_of_now_and_leaves_the_creation(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    await send(client, line("tea", "a", **_TIMES))
    clock.advance(timedelta(hours=1))
    ok(await client.patch("/memories/a", json={"fact": "milk"}))
    assert times(ok(await client.get("/memories/a"))) == (_CREATED, after(clock))


async def test_times_come_back_after_an_undo_and_with_overwriting(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    answer = await send(client, line("tea", "a", **_TIMES))
    await undo(client, runner, answer["operation"])
    assert (await send(client, line("tea", "a", **_TIMES)))["restored"] == 1
    assert times(ok(await client.get("/memories/a"))) == (_CREATED, _UPDATED)
    later = {"createTime": _CREATED, "updateTime": "2022-01-01T00:00:00Z"}
    answer = await send(client, line("milk", "a", **later), overwrite="true")
    assert answer["overwritten"] == 1
    assert times(ok(await client.get("/memories/a"))) == tuple(later.values())
    # Other times alone are no other content.
    assert (await send(client, line("milk", "a", **_TIMES), overwrite="true"))["existing"] == 1


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"updateTime": _UPDATED}, "updateTime: needs createTime"),
        ({"createTime": _UPDATED, "updateTime": _CREATED}, "updateTime: must not be before"),
        ({"createTime": "1969-12-31T23:59:59Z"}, "createTime: must not be before 1970"),
        ({"createTime": "2020-01-02"}, "createTime: "),
        ({"createTime": _CREATED, "updateTime": 5}, "updateTime: "),
    ],
)
async def test_wrong_times_fail_the_line_and_are_named(
    client: httpx.AsyncClient, fields: Json, told: str
) -> None:
    answer = await send(client, line("wrong", **fields), line("right"))
    assert (answer["imported"], answer["failed"]) == (1, 1)
    assert answer["errors"][0]["error"]["message"].startswith(told)
    assert await listed(client) == ["right"]


async def test_times_are_at_most_five_minutes_ahead(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    near, far = after(clock, minutes=5), after(clock, minutes=5, seconds=1)
    lines = [
        line("near", createTime=near),
        line("created", createTime=far),
        line("updated", createTime=near, updateTime=far),
    ]
    answer = await send(client, *lines)
    assert (answer["imported"], answer["failed"]) == (1, 2)
    assert [one["error"]["message"].partition(":")[0] for one in answer["errors"]] == [
        *("createTime", "updateTime")
    ]


@pytest.mark.parametrize("role", ["user", "editor"])
@pytest.mark.parametrize("field", ["createTime", "updateTime"])
async def test_times_need_the_permission_of_administrators(
    app: FastAPI, database: Database, clock: FixedClock, role: str, field: str
) -> None:
    client = client_with(app, await make_key(database, clock.now(), role))
    answer = await send(client, line("then", **{field: _CREATED}), line("now"))
    assert (answer["imported"], answer["failed"]) == (1, 1)
    error = answer["errors"][0]["error"]
    assert error["code"] == 7
    assert error["message"] == f"{field}: needs the permission memories.import."
    assert error["details"][0]["reason"] == "PERMISSION_MISSING"
    may = await make_key(database, clock.now(), role, permissions=["memories.import"])
    answer = await send(client_with(app, may), line("then", createTime=_CREATED))
    assert answer["imported"] == 1


async def test_a_bound_key_sets_times_in_its_scopes(
    app: FastAPI, database: Database, clock: FixedClock
) -> None:
    bound = await make_key(database, clock.now(), "admin", scope_conditions={"user_id": ["42"]})
    client = client_with(app, bound)
    mine = {**line("mine", **_TIMES), "scope": {"user_id": "42"}}
    answer = await send(client, mine, {**mine, "scope": {"user_id": "7"}})
    assert (answer["imported"], answer["failed"]) == (1, 1)


async def test_other_methods_ignore_times_as_before(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    memory = {"fact": "tea", "scope": USER, **_TIMES}
    ok(await client.post("/memories", params={"memoryId": "a"}, json=memory))
    batch = {"requests": [{"memory": memory, "memoryId": "b"}]}
    ok(await client.post("/memories:batchCreate", json=batch))
    for name in "ab":
        assert times(ok(await client.get(f"/memories/{name}"))) == (after(clock), after(clock))


_SAID, _EARLIER, _LATER = "2020-06-01T00:00:00Z", "2019-06-01T00:00:00Z", "2020-12-01T00:00:00Z"


def _spoken(text: str, time: str) -> Json:
    return {"directContentsSource": {"events": [event(text, time=time)]}}


@pytest.mark.parametrize(
    "named",
    [
        {"eventTime": _SAID},
        {"metadata": {"event_time": {"timestampValue": _SAID}}},
        {"eventTime": _EARLIER, "metadata": {"event_time": {"timestampValue": _SAID}}},
    ],
)
async def test_what_is_imported_rests_on_the_time_at_which_it_was_said(
    client: httpx.AsyncClient, runner: Runner, named: Json
) -> None:
    await send(client, line("I live in Bergen.", "a", **_TIMES, **named))
    assert ok(await client.get("/memories/a"))["eventTime"] == _SAID
    await run(client, runner, _spoken("I live in Oslo.", _EARLIER))
    assert await listed(client) == ["I live in Bergen."]
    # Its last change elsewhere was later, but what was said counts.
    await run(client, runner, _spoken("I live in Rome now.", _LATER))
    assert await listed(client) == ["I live in Rome now."]


async def test_an_exported_memory_comes_back_with_the_time_at_which_it_was_said(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await run(client, runner, _spoken("I live in Oslo.", _SAID))
    (memory,) = ok(await client.get("/memories"))["memories"]
    ok(await client.delete(path_of(memory["name"]), params={"permanent": "true"}))
    answer = await send(client, {**memory, "memoryId": "a"})
    assert answer["imported"] == 1
    copied = ok(await client.get("/memories/a"))
    kept = ("fact", "eventTime", "createTime", "updateTime")
    assert {name: copied[name] for name in kept} == {name: memory[name] for name in kept}


async def test_an_overwritten_memory_rests_on_the_line(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await send(client, line("I live in Oslo.", "a"))
    await send(client, line("I live in Bergen.", "a", eventTime=_SAID), overwrite="true")
    await run(client, runner, _spoken("I live in Rome now.", _LATER))
    assert await listed(client) == ["I live in Rome now."]


async def test_a_statement_of_the_future_is_refused(client: httpx.AsyncClient) -> None:
    answer = await send(client, line("a", eventTime="2126-01-01T00:00:00Z"))
    (error,) = answer["errors"]
    assert error["error"]["message"] == "eventTime: must be at most 5 minutes ahead."
