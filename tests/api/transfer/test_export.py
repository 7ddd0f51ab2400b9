"""Export of an engine: all that it holds, at one moment, for those who may have it."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import date, timedelta
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import insert, select, text

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import DeadlineExceeded, Reason, ServiceError
from app.kernel.names import EngineName
from app.kernel.release import RELEASE
from app.memory.transfer.logic.fields import LineKind
from app.memory.transfer.logic.kinds import KINDS, MEMORY, OMITTED, REVISION
from app.memory.transfer.services import exports
from app.memory.transfer.services.exports import ExportOptions
from app.platform.operations.services.runner import Runner
from app.platform.usage.store import ModelUsageRow
from app.process.metadata import metadata
from app.settings.settings import Settings
from tests.support.archives import export, of_kind, raw_lines, read
from tests.support.audit import results
from tests.support.bank import ENGINE, ENGINE_URL, ok
from tests.support.errors import refusal
from tests.support.generation import said, start
from tests.support.keys import client_with, make_key
from tests.support.operations import USER, create_memory, path_of
from tests.support.person import PERSON, fill
from tests.support.sessions import create_session

_NAME = EngineName.parse(ENGINE)
_USAGE = {
    "engine_id": 1,
    "day": date(2026, 1, 2),
    "model_id": "m",
    "kind": "k",
    "calls": 1,
    "input_tokens": 2,
    "output_tokens": 3,
    "milliseconds": 4,
    "cost": 0.5,
}


async def _filled(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock, runner: Runner
) -> None:
    await fill(client, app, database, clock, runner)
    await create_session(client, "s-app", userId="u", sessionState={"app:theme": "dark"})
    async with database.transaction() as session:
        await session.execute(insert(ModelUsageRow).values(_USAGE))


async def _stored(database: Database, kind: LineKind) -> list[dict[str, Any]]:
    """Return the rows of a kind's table, as the service reads them."""
    table = metadata.tables[kind.table]
    columns = [table.columns[one.column] for one in kind.fields if one.column != OMITTED]
    async with database.snapshot() as session:
        rows = await session.execute(select(*columns))
        return [dict(zip([one.name for one in columns], row, strict=True)) for row in rows]


async def test_an_archive_has_every_row_of_the_engine(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock, runner: Runner
) -> None:
    await _filled(client, app, database, clock, runner)
    archive = await export(client, vectors="true")
    reader, lines = read([archive], ENGINE)
    assert reader.header is not None
    assert (reader.header.engine, reader.header.release) == (ENGINE, RELEASE)
    assert reader.header.export_time == clock.now()
    written: dict[str, list[dict[str, Any]]] = {kind.name: [] for kind in KINDS}
    for line in lines:
        written[line.kind.name].append(line.values)
        written[REVISION.name] += line.revisions
    for kind in KINDS:
        stored = [row for row in await _stored(database, kind) if _is_archived(kind, row)]
        assert stored, f"the test stores nothing of the kind {kind.name}"
        found = sorted(map(_comparable, written[kind.name]))
        assert found == sorted(map(_comparable, stored)), kind.name


def _is_archived(kind: LineKind, row: dict[str, Any]) -> bool:
    """Return False of what the kind's own tests look at."""
    if kind.name == "operation":
        others = {"generation.preview", "engines.create", "engines.update"}
        return row["state"] not in {"PENDING", "RUNNING"} and row["kind"] not in others
    if kind.name == "stream":
        return bool(row["pending_count"])
    return kind.name != "streamEvent" or row["content"] is not None


def _comparable(row: dict[str, Any]) -> str:
    values = {name: value for name, value in row.items() if name != OMITTED}
    if "vector" in values:
        values["vector"] = [round(float(number), 4) for number in _numbers(values["vector"])]
    return json.dumps(values, sort_keys=True, default=str)


def _numbers(vector: Any) -> list[float]:
    return vector if isinstance(vector, list) else vector.to_list()


async def test_two_exports_are_equal_after_their_headers(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock, runner: Runner
) -> None:
    await _filled(client, app, database, clock, runner)
    first, second = await export(client), await export(client)
    assert raw_lines(first) == raw_lines(second)
    assert len(raw_lines(first)) > 50


async def test_lines_are_ordered_by_the_bytes_of_their_ids(client: httpx.AsyncClient) -> None:
    ids = ["a1", "a-b", "b", "a", "a0", "z9"]
    for memory_id in ids:
        body = {"fact": memory_id, "scope": USER}
        ok(await client.post("/memories", params={"memoryId": memory_id}, json=body))
    found = [line["memoryId"] for line in of_kind(await export(client), "memory")]
    assert found == sorted(ids)


async def test_a_long_history_is_whole(client: httpx.AsyncClient) -> None:
    path = path_of((await create_memory(client, "0"))["name"])
    for number in range(1, 130):
        ok(await client.patch(path, params={"updateMask": "fact"}, json={"fact": str(number)}))
    archive = await export(client)
    read([archive])
    [memory] = of_kind(archive, "memory")
    facts = [revision["fact"] for revision in memory["revisions"]]
    facts += [line["fact"] for line in of_kind(archive, "revision")]
    assert facts == [str(number) for number in range(130)]
    assert memory["fact"] == "129"


async def test_what_has_expired_is_not_in_it(client: httpx.AsyncClient, clock: FixedClock) -> None:
    body = {"fact": "for an hour", "scope": USER, "ttl": "3600s"}
    ok(await client.post("/memories", json=body))
    gone = await create_memory(client, "deleted")
    ok(await client.delete(path_of(gone["name"])))
    await create_memory(client, "kept")
    archive = await export(client)
    assert len(of_kind(archive, "memory")) == 3
    clock.advance(timedelta(days=3))
    assert [line["fact"] for line in of_kind(await export(client), "memory")] == ["kept"]


async def test_options_leave_parts_out_and_count_them(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock, runner: Runner
) -> None:
    await _filled(client, app, database, clock, runner)
    archive = await export(client, sessions="false", artifacts="false")
    reader, lines = read([archive])
    kinds = {line.kind.name for line in lines}
    assert kinds == {
        "engine",
        "toolPolicy",
        "memory",
        "stream",
        "streamEvent",
        "readLine",
        "operation",
        "usage",
    }
    assert reader.header is not None
    assert reader.header.options == {"artifacts": False, "sessions": False, "vectors": False}
    assert reader.trailer is not None
    left = reader.trailer.left
    assert left["sessions"] == {"count": 3, "reason": "the request has sessions=false"}
    assert left["artifacts"] == {"count": 4, "reason": "the request has artifacts=false"}
    assert left["previews"]["count"] == 2


async def test_operations_that_have_not_ended_are_counted(client: httpx.AsyncClient) -> None:
    await start(client, said("I like tea."), scope=USER)
    [trailer] = of_kind(await export(client), "trailer")
    assert trailer["left"] == {
        "pendingOperations": {"count": 1, "reason": "they had not ended"},
    }


async def test_sensitive_bytes_need_a_permission(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock
) -> None:
    path = "/taskMemories/m/namespaces/n/artifacts/"
    for name, sensitive in (("a.bin", "false"), ("b.bin", "true")):
        answer = await client.put(
            path.replace("/n/", f"/{name[0]}/") + name,
            content=b"\x00secret",
            params={"sensitive": sensitive},
        )
        ok(answer)
    secret = await make_key(database, clock.now(), permissions=["engines.export"])
    async with client_with(app, secret) as exporting:
        archive = await export(exporting)
    artifacts = {line["name"]: line for line in of_kind(archive, "artifact")}
    assert artifacts["b.bin"]["omitted"] == "sensitive"
    assert "omitted" not in artifacts["a.bin"]
    assert [page["contentId"] for page in of_kind(archive, "page")] == [
        artifacts["a.bin"]["contentId"]
    ]
    [trailer] = of_kind(archive, "trailer")
    assert trailer["left"]["sensitiveArtifacts"]["count"] == 1
    assert len(of_kind(await export(client), "page")) == 2


async def test_only_those_who_may_have_the_whole_engine_export_it(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock
) -> None:
    bound = {"scope_conditions": {"user_id": [PERSON]}}
    for roles, options in ((["editor"], {}), (["viewer"], {}), (["admin"], bound)):
        secret = await make_key(database, clock.now(), *roles, **options)  # type: ignore[arg-type]
        async with client_with(app, secret) as other:
            answer = await other.get(f"{ENGINE_URL}:export")
        assert refusal(answer) == (403, "PERMISSION_DENIED", Reason.PERMISSION_MISSING)
    missing = await client.get(ENGINE_URL.removesuffix("1") + "2:export")
    assert refusal(missing) == (404, "NOT_FOUND", Reason.RESOURCE_NOT_FOUND)


async def test_an_export_is_audited_at_its_start_and_end(
    client: httpx.AsyncClient, database: Database
) -> None:
    await export(client)
    assert (await results(database))[-2:] == [
        ("exportReasoningEngine", "OK", None),
        ("engines.export", "OK", None),
    ]


async def test_an_archive_is_a_file_of_the_engine(client: httpx.AsyncClient) -> None:
    answer = await client.get(f"{ENGINE_URL}:export")
    assert 'filename="1-20' in answer.headers["content-disposition"]
    assert answer.headers["content-disposition"].endswith('Z.omb.gz"')


# What goes wrong on the way


async def _nothing(_: ServiceError | None) -> None:
    pass


def _begun(resources: Resources, ended: Any = _nothing) -> AsyncIterator[bytes]:
    return exports.export(resources, _NAME, ExportOptions(), ended, reads_sensitive=True)


async def test_an_archive_shows_one_moment(client: httpx.AsyncClient, resources: Resources) -> None:
    await create_memory(client, "before")
    parts = _begun(resources)
    first = await anext(parts)
    await create_memory(client, "meanwhile")
    _, lines = read([first, *[part async for part in parts]])
    assert [line.values["fact"] for line in lines if line.kind is MEMORY] == ["before"]


async def test_a_process_runs_only_so_many(client: httpx.AsyncClient, resources: Resources) -> None:
    running = [_begun(resources) for _ in range(Settings().max_exports)]
    for parts in running:
        await anext(parts)
    answer = await client.get(f"{ENGINE_URL}:export")
    assert refusal(answer) == (429, "RESOURCE_EXHAUSTED", Reason.TOO_MANY_AT_ONCE)
    for parts in running:
        await parts.aclose()  # type: ignore[attr-defined]  # of generators
    await export(client)


async def test_a_reader_who_goes_ends_the_export(resources: Resources) -> None:
    ends: list[ServiceError | None] = []

    async def ended(error: ServiceError | None) -> None:
        ends.append(error)

    parts = _begun(resources, ended)
    await anext(parts)
    await parts.aclose()  # type: ignore[attr-defined]  # of generators
    assert [error.reason for error in ends if error] == [Reason.REQUEST_ABANDONED]


@pytest.fixture
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    """Settings with the longest export that the test gives."""
    return settings.model_copy(update={"export_max_seconds": getattr(request, "param", 3600.0)})


@pytest.mark.alone
@pytest.mark.parametrize("settings", [0.2], indirect=True)
async def test_an_export_breaks_off_at_its_limit(resources: Resources) -> None:
    parts = _begun(resources)
    begun = await anext(parts)
    await asyncio.sleep(0.3)
    with pytest.raises(DeadlineExceeded) as refused:
        await anext(parts)
    assert refused.value.reason is Reason.EXPORT_TOO_SLOW
    with pytest.raises(ServiceError) as cut:
        read([begun])
    assert cut.value.reason is Reason.ARCHIVE_TRUNCATED


async def test_an_archive_that_breaks_off_has_no_trailer(
    client: httpx.AsyncClient, resources: Resources, database: Database
) -> None:
    for number in range(3):
        await create_memory(client, f"memory {number}")
    parts = _begun(resources)
    begun = await anext(parts)
    async with database.transaction() as session:
        statement = text(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where application_name = 'open-memory-bank-export'"
        )
        await session.execute(statement)
    with pytest.raises(ServiceError) as broken:
        await anext(parts)
    assert broken.value.reason is Reason.DATABASE_UNAVAILABLE
    with pytest.raises(ServiceError) as cut:
        read([begun])
    assert cut.value.reason is Reason.ARCHIVE_TRUNCATED
    await export(client)
