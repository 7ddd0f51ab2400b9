"""POST {E}/memories:import: memories from a stream of lines."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message

from app.adapters.db.session import Database
from app.kernel.errors import Reason
from app.memory.bulk.logic import CHUNK_LINES
from app.memory.memories.store.tables import MemoryRow
from app.platform.operations.services.runner import Runner
from app.platform.operations.store.tables import OperationRow
from app.settings.settings import Settings
from tests.support.asgi import ADMIN
from tests.support.audit import events
from tests.support.bank import BAD, ENGINE, ENGINE_URL, Json, count, listed, ok, refusal
from tests.support.operations import USER, path_of
from tests.support.scripted_models import ScriptedEmbedder
from tests.support.undo import undo, undone

_NDJSON = {"content-type": "application/x-ndjson"}
_NOTHING = {
    "imported": 0,
    "existing": 0,
    "expired": 0,
    "restored": 0,
    "changedHere": 0,
    "overwritten": 0,
    "failed": 0,
}


def line(fact: str = "I like tea.", memory_id: str | None = None, **fields: Any) -> Json:
    found = {"fact": fact, "scope": USER, **fields}
    return found if memory_id is None else {**found, "memoryId": memory_id}


def text(lines: Iterable[Json | str]) -> bytes:
    return "\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines).encode()


async def send(client: httpx.AsyncClient, *lines: Json | str) -> httpx.Response:
    return await client.post("/memories:import", content=text(lines), headers=_NDJSON)


async def test_each_line_becomes_a_memory(client: httpx.AsyncClient) -> None:
    answer = ok(await send(client, line("one", "first", displayName="d"), line("two")))
    assert answer.pop("operation").startswith("projects/default/")
    assert answer == {**_NOTHING, "imported": 2, "errors": []}
    assert sorted(await listed(client)) == ["one", "two"]
    assert ok(await client.get("/memories/first"))["displayName"] == "d"


async def test_line_breaks_and_empty_lines_do_not_count(client: httpx.AsyncClient) -> None:
    body = b"\r\n \n" + text([line("a")]) + b"\r\n\n" + text([line("b"), "{"]) + b"\n\n"
    answer = ok(await client.post("/memories:import", content=body, headers=_NDJSON))
    assert (answer["imported"], answer["failed"]) == (2, 1)
    assert [one["line"] for one in answer["errors"]] == [6]


async def test_an_empty_import_is_one(client: httpx.AsyncClient) -> None:
    for body in (b"", b"\n\n"):
        answer = await client.post("/memories:import", content=body, headers=_NDJSON)
        assert ok(answer) == {**_NOTHING, "errors": []}
    found = await events(client)
    assert [(one["method"], one["result"]) for one in found] == [("importMemories", "OK")] * 2


_WRONG: list[tuple[Json | str, str]] = [
    ("{", "The line is not JSON"),
    ("[]", "The line must be a JSON object."),
    ('{"fact": "s3cret\\ud800"}', "The line holds half of a surrogate pair"),
    ('{"fact": NaN}', "The line holds NaN"),
    (line(ttl="s3cret"), "ttl: "),
    (line(scope={"user_id": "*"}), "scope: "),
    (line(s3="s3cret"), "s3: is not a field of this message."),
    ({"fact": "s3cret"}, "scope: is required."),
    (line("s3cret" * 3_000), "fact: "),
    (line(memoryId="S3cret"), "memoryId: "),
    ("x" * (2 * 1024 * 1024 + 1), "The line is longer than 2097152 bytes."),
]


async def test_a_line_that_cannot_be_read_stops_no_other(client: httpx.AsyncClient) -> None:
    lines = [one for number, (wrong, _) in enumerate(_WRONG) for one in (line(f"F{number}"), wrong)]
    answer = await send(client, *lines)
    found = ok(answer)
    assert (found["imported"], found["failed"]) == (len(_WRONG), len(_WRONG))
    assert [one["line"] for one in found["errors"]] == [*range(2, 2 * len(_WRONG) + 2, 2)]
    for (_, said), one in zip(_WRONG, found["errors"], strict=True):
        assert one["error"]["code"] in {3, 8}
        assert one["error"]["message"].startswith(said)
    assert "s3cret" not in answer.text
    assert sorted(await listed(client)) == sorted(f"F{n}" for n in range(len(_WRONG)))


async def test_an_import_of_many_chunks_is_whole(
    client: httpx.AsyncClient, database: Database, embedder: ScriptedEmbedder
) -> None:
    total = 2 * CHUNK_LINES + 7
    answer = ok(await send(client, *(line(f"Fact {n}.", f"m-{n}") for n in range(total))))
    assert (answer["imported"], answer["failed"]) == (total, 0)
    assert await count(database, MemoryRow, OperationRow) == (total, 1)
    assert [len(texts) for texts in embedder.calls] == [CHUNK_LINES, CHUNK_LINES, 7]
    operation = ok(await client.get(path_of(answer["operation"])))
    assert operation["response"]["imported"] == total


async def test_an_import_is_undone_as_one(client: httpx.AsyncClient, runner: Runner) -> None:
    ok(await send(client, line("before")))
    lines = (line(f"Fact {n}.") for n in range(CHUNK_LINES + 7))
    answer = ok(await send(client, *lines))
    done = await undo(client, runner, answer["operation"])
    assert len(undone(done)) == CHUNK_LINES + 7
    assert await listed(client) == ["before"]


async def test_what_is_there_already_is_passed_over(
    client: httpx.AsyncClient, embedder: ScriptedEmbedder
) -> None:
    full = line(
        "one",
        "one",
        topics=[{"managedMemoryTopic": "USER_PREFERENCES"}],
        metadata={"n": {"doubleValue": 1.5}, "t": {"timestampValue": "2030-01-02T03:04:05+01:00"}},
        structuredContent={"data": {"a": [1, 2.5, None]}, "schemaId": "s"},
        ttl="600s",
        memoryType="STRUCTURED_PROFILE",
    )
    lines = [full, line("two", "two"), line("three", "three"), line("four", "four")]
    ok(await send(client, *lines))
    ok(await client.patch("/memories/two", json={"fact": "changed"}))
    ok(await client.delete("/memories/three"))
    embedder.calls.clear()
    other = {**line("four", "four"), "scope": {"user_id": "43"}}
    answer = ok(await send(client, full, *lines[1:], other, line("five", "five")))
    assert (answer["imported"], answer["existing"], answer["failed"]) == (1, 2, 1)
    assert (answer["changedHere"], answer["restored"]) == (1, 1)
    assert [one["line"] for one in answer["errors"]] == [5]
    assert all("memoryId: " in one["error"]["message"] for one in answer["errors"])
    assert sorted(await listed(client)) == ["changed", "five", "four", "one", "three"]
    assert "one" not in embedder.calls[0], "what is there is not embedded again"


async def test_an_id_that_comes_twice_is_taken_by_the_first(client: httpx.AsyncClient) -> None:
    lines = [
        line("a", "a"),
        line("a", "a"),
        line("b", "a"),
        line("bad", "c", ttl="x"),
        line(memory_id="c"),
    ]
    answer = ok(await send(client, *lines))
    assert (answer["imported"], answer["existing"], answer["failed"]) == (2, 1, 1)
    assert answer["changedHere"] == 1
    assert [one["line"] for one in answer["errors"]] == [4]


@pytest.mark.parametrize(("most", "told"), [(None, 100), (100, 100), (300, 300), (10_000, 350)])
async def test_errors_are_told_up_to_a_number(
    client: httpx.AsyncClient, most: int | None, told: int
) -> None:
    query = "" if most is None else f"?maxErrors={most}"
    body = text([*("{" for _ in range(350)), line("a")])
    path = "/memories:import" + query
    answer = ok(await client.post(path, content=body, headers=_NDJSON))
    assert (answer["imported"], answer["failed"], len(answer["errors"])) == (1, 350, told)
    assert answer["errors"][-1]["line"] == told


async def _pieces(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        await asyncio.sleep(0)
        yield piece


async def test_a_body_may_come_in_any_pieces(client: httpx.AsyncClient) -> None:
    body = text([line("é" * 20), line("tea"), "{", line("coffee")])
    for size in (1, 7, 1_000):
        parts = [body[at : at + size] for at in range(0, len(body), size)]
        content = _pieces(*parts)
        answer = ok(await client.post("/memories:import", content=content, headers=_NDJSON))
        assert (answer["imported"], answer["failed"]) == (3, 1)


async def test_a_body_may_be_longer_than_others(
    client: httpx.AsyncClient, settings: Settings
) -> None:
    padding = b" " * 1_000_000 + b"\n"
    count_ = settings.max_body_bytes // len(padding) + 1
    content = _pieces(text([line("a"), ""]), *[padding] * count_, text([line("b")]))
    answer = ok(await client.post("/memories:import", content=content, headers=_NDJSON))
    assert answer["imported"] == 2
    # But no other: neither another method, nor what is named alike.
    for method, path in (("PATCH", "/memories/x:import"), ("POST", "/memories/x:import")):
        answer_ = await client.request(method, path, content=b" " * (settings.max_body_bytes + 1))
        assert answer_.status_code == 413


@pytest.mark.parametrize("declared", ["application/x-ndjson; charset=utf-8", "application/json"])
async def test_lines_are_declared_as_such(client: httpx.AsyncClient, declared: str) -> None:
    headers = {"content-type": declared}
    ok(await client.post("/memories:import", content=text([line()]), headers=headers))


async def test_what_is_declared_as_something_else_is_refused(client: httpx.AsyncClient) -> None:
    headers = {"content-type": "text/csv"}
    answer = await client.post("/memories:import", content=text([line()]), headers=headers)
    assert answer.status_code == 415
    assert Reason.CONTENT_TYPE_NOT_JSON in answer.text
    assert await listed(client) == []


async def test_parameters_that_it_does_not_have_are_refused(client: httpx.AsyncClient) -> None:
    answer = await client.post("/memories:import?requestId=1", content=text([line()]))
    assert refusal(answer) == BAD


async def test_the_engine_must_exist(client: httpx.AsyncClient) -> None:
    for body in (b"", text([line()]), text(line() for _ in range(3 * CHUNK_LINES))):
        url = ENGINE_URL.replace("reasoningEngines/1", "reasoningEngines/2")
        answer = await client.post(f"{url}/memories:import", content=body, headers=_NDJSON)
        assert refusal(answer) == (404, "NOT_FOUND")


class _Sender:
    """A client that sends pieces, and then is gone, or silent."""

    def __init__(self, *pieces: bytes, is_gone: bool = True) -> None:
        self._pieces = list(pieces)
        self._is_gone = is_gone
        self.status = 0
        self.body = b""

    async def receive(self) -> Message:
        if self._pieces:
            return {"type": "http.request", "body": self._pieces.pop(0), "more_body": True}
        if not self._is_gone:
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.status = message.get("status", self.status)
        self.body += message.get("body", b"")

    async def ask(self, app: FastAPI) -> Json:
        path = f"/v1beta1/{ENGINE}/memories:import"
        scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "scheme": "http",
            "headers": [ADMIN, (b"transfer-encoding", b"chunked")],
        }
        await app(scope, self.receive, self.send)
        found: Json = json.loads(self.body)["error"]
        return found


_LINES = [line(f"Fact {n}.", f"m-{n}") for n in range(CHUNK_LINES + 50)]


async def test_an_import_that_breaks_off_keeps_what_was_written_and_goes_on(
    app: FastAPI, client: httpx.AsyncClient, database: Database
) -> None:
    sender = _Sender(text(_LINES[:-20]) + b'\n{"fact": "ha', is_gone=True)
    error = await sender.ask(app)
    assert sender.status == 400
    assert error["message"] == "The body is incomplete: the connection closed before its end."
    written = len(_LINES) - 20
    told = error["details"][0]["metadata"]
    numbers = {**_NOTHING, "lines": written, "imported": written}
    assert told == {name: str(number) for name, number in numbers.items()}
    assert await count(database, MemoryRow) == (written,)
    found = [one for one in await events(client) if one["method"] == "importMemories"]
    assert [one["result"] for one in found] == ["INVALID_ARGUMENT", "OK", "OK"]
    answer = ok(await send(client, *_LINES))
    assert (answer["imported"], answer["existing"]) == (20, written)


class TestSlowly:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"body_seconds": 0.05})

    async def test_who_sends_nothing_more_is_told_what_was_written(
        self, app: FastAPI, database: Database
    ) -> None:
        sender = _Sender(text(_LINES) + b"\n", is_gone=False)
        error = await sender.ask(app)
        assert sender.status == 408
        assert error["details"][0]["reason"] == Reason.REQUEST_TOO_SLOW
        assert error["details"][0]["metadata"]["imported"] == str(len(_LINES))
        assert await count(database, MemoryRow) == (len(_LINES),)


async def test_every_chunk_is_in_the_audit_log(client: httpx.AsyncClient) -> None:
    answer = ok(await send(client, *(line(f"F{n}") for n in range(CHUNK_LINES + 1))))
    found = [one for one in await events(client) if one["method"] == "importMemories"]
    assert [one["operation"] for one in found] == [answer["operation"]] * 2
