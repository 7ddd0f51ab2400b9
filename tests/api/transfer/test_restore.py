"""Restore: what an archive has is there, whatever breaks off between; what is no archive is not."""

import asyncio
import json
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import text

from app.adapters.db.session import Database
from app.adapters.llm.embedders import SUCCESSORS
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.memory.transfer.logic.fields import LineKind
from app.memory.transfer.logic.format import ArchiveWriter, Header, line_of
from app.memory.transfer.logic.kinds import ENGINE, MEMORY_VECTOR, OPERATION, USAGE
from app.process.main import create_app
from tests.conftest import ADMIN_KEY, START
from tests.support.bank import ENGINE_URL, Json, ok
from tests.support.errors import refusal
from tests.support.keys import client_with, make_key
from tests.support.operations import create_memory
from tests.support.restores import (
    ARCHIVE,
    EXPORTED,
    GZIP,
    HEADER,
    archive_of,
    fields_of,
    memory_of,
    zipped,
)
from tests.support.totals import held, recounted

RESTORE = f"{ENGINE_URL}:restore"
OTHER = "7e0c7f9e-0000-4000-8000-000000000000"
# The head that `halfvec_send` writes, and two numbers.
_HALVES = bytes(4) + bytes.fromhex("3c003c00")
_OPERATION = {
    "operation_id": "7",
    "kind": "memories.create",
    "state": "SUCCEEDED",
    "details": {},
    "attempts": 1,
}


async def restored(client: httpx.AsyncClient, archive: bytes, **query: str) -> Json:
    answer = await client.post(RESTORE, content=zipped(archive), headers=GZIP, params=query)
    return ok(answer)


async def count(database: Database, table: str) -> int:
    async with database.snapshot() as session:
        return int((await session.execute(text(f"select count(*) from {table}"))).scalar_one())


async def restore_state(database: Database) -> Any:
    async with database.snapshot() as session:
        return (await session.execute(text("select restore from engines"))).scalar_one()


async def facts(client: httpx.AsyncClient) -> list[str]:
    listed = ok(await client.get("/memories", params={"pageSize": "1000"}))
    return sorted(memory["fact"] for memory in listed["memories"])


async def test_memories_come_back_with_their_revisions_and_times(
    client: httpx.AsyncClient, database: Database
) -> None:
    engine = {"display_name": "Old", "bank_config": {"ttlConfig": {"defaultTtl": "99s"}}}
    answer = await restored(client, archive_of(3, revisions=3, engine=engine))
    assert answer["counts"]["memory"] == 3
    assert answer["vectors"] == "EMBEDDING"
    assert (answer["pastRecovery"], answer["pastExpiry"]) == (0, 0)
    assert answer["warnings"] == []
    memory = ok(await client.get("/memories/m000001"))
    assert memory["fact"] == "I own the bicycle with the number 1."
    assert memory["createTime"] == "2026-01-09T12:00:00Z"
    listed = ok(await client.get("/memories/m000001/revisions"))["memoryRevisions"]
    assert len(listed) == 3
    found = ok(await client.get(ENGINE_URL))
    assert found["displayName"] == "Old"
    assert found["contextSpec"]["memoryBankConfig"] == engine["bank_config"]
    assert await restore_state(database) is None
    assert await count(database, "unembedded_memories") == 3
    assert await held(database) == await recounted(database)


async def test_more_revisions_than_a_line_has_room_for(client: httpx.AsyncClient) -> None:
    await restored(client, archive_of(2, revisions=330))
    query = {"pageSize": "1000"}
    listed = ok(await client.get("/memories/m000001/revisions", params=query))
    assert len(listed["memoryRevisions"]) == 330


async def test_plain_lines_are_taken_as_well(client: httpx.AsyncClient) -> None:
    headers = {"content-type": "application/x-ndjson"}
    answer = await client.post(RESTORE, content=archive_of(1), headers=headers)
    assert ok(answer)["counts"]["memory"] == 1


async def test_what_is_cut_goes_on(client: httpx.AsyncClient, database: Database) -> None:
    """Every length of the archive that ends within another block."""
    archive = archive_of(1200)
    for part in (0.1, 0.3, 0.6, 0.9, 0.9999):
        cut = archive[: int(len(archive) * part)]
        answer = await client.post(RESTORE, content=zipped(cut), headers=GZIP)
        assert refusal(answer) == (400, "INVALID_ARGUMENT", "ARCHIVE_TRUNCATED")
    assert (await restore_state(database))["archiveId"] == ARCHIVE
    assert await count(database, "memories") == 1200
    assert (await restored(client, archive))["counts"]["memory"] == 1200
    assert await count(database, "memories") == 1200
    assert await count(database, "memory_revisions") == 2400
    assert await held(database) == await recounted(database)


async def test_a_repeated_restore_gets_its_answer(client: httpx.AsyncClient) -> None:
    """The first answer may have been lost on its way."""
    first = await restored(client, archive_of(2))
    assert await restored(client, archive_of(2)) == first


async def test_two_requests_for_one_archive_get_the_same_answer(
    client: httpx.AsyncClient, database: Database
) -> None:
    """A server may still be at the request of a command that was killed."""
    archive = archive_of(1200)
    first, second = await asyncio.gather(restored(client, archive), restored(client, archive))
    assert first == second
    assert await count(database, "memories") == 1200
    assert await count(database, "memory_revisions") == 2400


async def test_an_engine_with_anything_is_refused(
    client: httpx.AsyncClient, database: Database
) -> None:
    memory = await create_memory(client, "x")
    for _ in range(2):
        answer = await client.post(RESTORE, content=zipped(archive_of(1)), headers=GZIP)
        assert refusal(answer) == (400, "FAILED_PRECONDITION", "ENGINE_NOT_EMPTY")
        # A deleted memory counts as well.
        await client.delete(f"http://test/v1beta1/{memory['name']}")
    assert await count(database, "memories") == 1


async def test_another_archive_is_refused_until_the_first_has_ended(
    client: httpx.AsyncClient,
) -> None:
    first, other = archive_of(600), archive_of(2, archive_id=OTHER)
    cut = zipped(first[: len(first) // 2])
    assert refusal(await client.post(RESTORE, content=cut, headers=GZIP))[0] == 400
    answer = await client.post(RESTORE, content=zipped(other), headers=GZIP)
    assert refusal(answer) == (409, "ABORTED", "ARCHIVE_MISMATCH")
    assert ARCHIVE in answer.text
    assert OTHER in answer.text
    await restored(client, first)


async def test_a_flipped_byte_is_named_and_nothing_of_its_block_is_stored(
    client: httpx.AsyncClient, database: Database
) -> None:
    archive = archive_of(600)
    place = archive.index(b"number 400.")
    flipped = archive[:place] + b"N" + archive[place + 1 :]
    answer = await client.post(RESTORE, content=zipped(flipped), headers=GZIP)
    assert refusal(answer) == (400, "INVALID_ARGUMENT", "ARCHIVE_INVALID")
    assert "memory" in answer.json()["error"]["message"]
    assert await count(database, "memories") == 249
    await restored(client, archive)
    assert await count(database, "memories") == 600


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"create_time": START + timedelta(minutes=6)}, "createTime"),
        ({"delete_time": EXPORTED}, "memories/m000001"),
        ({"fact": "a" + "\u00e9"}, "memories/m000001"),
    ],
    ids=["from the future", "half a deletion", "not its revision"],
)
async def test_what_the_ledger_never_wrote_is_refused(
    client: httpx.AsyncClient, changed: Json, named: str
) -> None:
    archive = archive_of(2, changed={1: changed})
    if "fact" in changed:
        # The revisions have it, but not the memory.
        lines = [json.loads(line) for line in archive.splitlines()]
        assert lines[3]["fact"] == changed["fact"]
        archive = _with_other_fact(lines)
    answer = await client.post(RESTORE, content=zipped(archive), headers=GZIP)
    assert refusal(answer) == (400, "INVALID_ARGUMENT", "ARCHIVE_INVALID")
    message = answer.json()["error"]["message"]
    assert message.startswith("Line 3 (memory): ")
    assert named in message


def _with_other_fact(lines: list[Json]) -> bytes:
    """Return an archive, with right digests, whose second memory has another fact."""
    writer = ArchiveWriter()
    header, engine, *memories = lines[:4]
    written = [line_of(header.pop("kind"), header)]
    engine.pop("kind")
    written.append(writer.add(ENGINE, engine))
    for memory in memories:
        memory.pop("kind")
        revisions = memory.pop("revisions")
        fact = "Another fact." if memory["memoryId"] == "m000001" else memory["fact"]
        written.append(writer.add_memory({**memory, "fact": fact}, revisions))
    return b"".join([*written, writer.end({})])


async def test_windows_of_recovery_end_when_they_did_or_later(
    client: httpx.AsyncClient, database: Database
) -> None:
    deleted = {
        "revisions": 0,
        "delete_time": EXPORTED - timedelta(hours=1),
        "recover_until": EXPORTED + timedelta(hours=47),
    }
    long_gone = {**deleted, "recover_until": EXPORTED - timedelta(minutes=1)}
    expired = {"expire_time": START - timedelta(days=1)}
    changed: dict[int, Json] = {0: deleted, 1: long_gone, 2: expired}
    archive = archive_of(4, changed=changed)
    answer = await restored(client, archive)
    assert (answer["pastRecovery"], answer["pastExpiry"]) == (2, 1)
    async with database.snapshot() as session:
        ends = await session.execute(text("select recover_until from memories order by memory_id"))
        assert next(ends)[0] == deleted["recover_until"]


async def test_open_windows_of_recovery_can_be_extended(
    client: httpx.AsyncClient, database: Database
) -> None:
    deleted = {
        "revisions": 0,
        "delete_time": EXPORTED - timedelta(hours=1),
        "recover_until": EXPORTED + timedelta(hours=47),
    }
    closed = {**deleted, "recover_until": EXPORTED - timedelta(minutes=1)}
    archive = archive_of(2, changed={0: deleted, 1: closed})
    answer = await restored(client, archive, extendRecovery="true")
    assert answer["pastRecovery"] == 1
    async with database.snapshot() as session:
        rows = await session.execute(text("select recover_until from memories order by memory_id"))
        ends = [row[0] for row in rows]
    assert ends == [START + timedelta(hours=47), closed["recover_until"]]
    ok(await client.post("/memories/m000000:undelete"))


async def test_a_quota_stops_it_and_raising_the_quota_finishes_it(
    resources: Resources, client: httpx.AsyncClient, database: Database
) -> None:
    settings = resources.settings.model_copy(update={"engine_max_memories": 300})
    few = replace(resources, settings=settings)
    archive = zipped(archive_of(600))
    async with client_with(create_app(few), ADMIN_KEY) as bounded:
        answer = await bounded.post(RESTORE, content=archive, headers=GZIP)
    assert refusal(answer) == (429, "RESOURCE_EXHAUSTED", "QUOTA_EXHAUSTED")
    assert (await restore_state(database))["nextLine"] == 251
    ok(await client.post(RESTORE, content=archive, headers=GZIP))
    assert await count(database, "memories") == 600


async def test_who_may_not_is_refused(app: FastAPI, database: Database, clock: FixedClock) -> None:
    bound: Json = {"scope_conditions": {"user_id": ["42"]}}
    for roles, options in ((["viewer"], {}), (["editor"], {}), (["admin"], bound)):
        key = await make_key(database, clock.now(), *roles, **options)
        async with client_with(app, key) as caller:
            answer = await caller.post(RESTORE, content=zipped(archive_of(1)), headers=GZIP)
        assert refusal(answer) == (403, "PERMISSION_DENIED", "PERMISSION_MISSING")


async def test_another_media_type_is_refused(client: httpx.AsyncClient) -> None:
    answer = await client.post(RESTORE, content=b"{}", headers={"content-type": "text/plain"})
    assert refusal(answer)[0] == 415
    answer = await client.post(RESTORE, content=b"no archive", headers=GZIP)
    assert refusal(answer) == (400, "INVALID_ARGUMENT", "ARCHIVE_INVALID")


def _forged(kind: LineKind, values: dict[str, Any]) -> bytes:
    """Return an archive whose engine, or a line after it, has values that no export writes."""
    writer = ArchiveWriter()
    engine = values if kind is ENGINE else {}
    lines = [writer.header(HEADER), writer.add(ENGINE, fields_of(ENGINE, **engine))]
    if kind is not ENGINE:
        lines.append(writer.add(kind, fields_of(kind, **values)))
    return b"".join([*lines, writer.end({})])


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (ENGINE, {"labels": {"a": 1}}),
        (ENGINE, {"encryption_spec": {"kmsKeyName": 7}}),
        (OPERATION, {"state": "PENDING"}),
        (OPERATION, {"state": "BOGUS"}),
        (OPERATION, {"scopes": {"user_id": "42"}}),
    ],
)
async def test_a_forged_line_is_refused_and_harms_nobody(
    client: httpx.AsyncClient, kind: LineKind, values: dict[str, Any]
) -> None:
    given = {**_OPERATION, **values} if kind is OPERATION else values
    answer = await client.post(RESTORE, content=zipped(_forged(kind, given)), headers=GZIP)
    assert refusal(answer)[2] == "ARCHIVE_INVALID"
    ok(await client.get(ENGINE_URL.rpartition("/")[0]))


async def test_the_header_teaches_no_length_of_a_model(
    client: httpx.AsyncClient, resources: Resources, database: Database
) -> None:
    serving = resources.embedder.model_id
    options = {**HEADER.options, "vectors": True}
    header = replace(HEADER, embedding_model=serving, dimensions=7, options=options)
    await restored(client, archive_of(1, header=header))
    assert await count(database, "embedding_models") == 0


def _with(kind: LineKind, *rows: dict[str, Any], header: Header = HEADER) -> bytes:
    """Return an archive of an engine, one memory, and lines of another kind."""
    writer = ArchiveWriter()
    lines = [writer.header(header), writer.add(ENGINE, fields_of(ENGINE))]
    if kind is MEMORY_VECTOR:
        lines.append(writer.add_memory(*memory_of(1)))
    lines += [writer.add(kind, fields_of(kind, **row)) for row in rows]
    return b"".join([*lines, writer.end({})])


async def test_vectors_of_a_former_model_are_used_where_its_successor_serves(
    client: httpx.AsyncClient,
    resources: Resources,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    serving = resources.embedder
    monkeypatch.setitem(SUCCESSORS, "former", serving.model_id)
    other = f"{ENGINE_URL.rpartition('/')[0]}/{await _other_engine(client)}"
    ok(await client.post(f"{other}/memories", json={"fact": "A fact.", "scope": {"a": "b"}}))
    header = replace(
        HEADER,
        embedding_model="former",
        dimensions=serving.dimensions,
        options={**HEADER.options, "vectors": True},
    )
    halves = bytes.fromhex("3c00") + bytes(2 * (serving.dimensions - 1))
    vector = serving.dimensions.to_bytes(2) + bytes(2) + halves
    row = {"memory_id": "m000001", "model_id": "former", "vector": vector}

    answer = await restored(client, _with(MEMORY_VECTOR, row, header=header))

    assert answer["vectors"] == "USED"
    async with database.snapshot() as session:
        models = await session.execute(
            text("select model_id from memory_vectors where engine_id = 1")
        )
        assert models.scalars().all() == ["former"]


async def test_a_vector_of_another_length_than_its_models_is_refused(
    client: httpx.AsyncClient, resources: Resources
) -> None:
    other = f"{ENGINE_URL.rpartition('/')[0]}/{await _other_engine(client)}"
    ok(await client.post(f"{other}/memories", json={"fact": "A fact.", "scope": {"a": "b"}}))
    options = {**HEADER.options, "vectors": True}
    header = replace(
        HEADER, embedding_model=resources.embedder.model_id, dimensions=384, options=options
    )
    short = {"memory_id": "m000001", "model_id": header.embedding_model, "vector": _HALVES}
    answer = await client.post(
        RESTORE, content=zipped(_with(MEMORY_VECTOR, short, header=header)), headers=GZIP
    )
    assert refusal(answer) == (400, "INVALID_ARGUMENT", "ARCHIVE_INVALID")
    assert "another length" in answer.json()["error"]["message"]


async def _other_engine(client: httpx.AsyncClient) -> str:
    made = ok(await client.post(ENGINE_URL.rpartition("/")[0], json={}))
    return str(made["response"]["name"].rpartition("/")[2])


async def test_what_the_engine_has_used_still_counts(
    client: httpx.AsyncClient, database: Database
) -> None:
    async with database.transaction() as session:
        await session.execute(
            text(
                "insert into model_usage (engine_id, day, model_id, kind, calls, input_tokens,"
                " output_tokens, milliseconds, cost, unpriced_calls) values"
                " (1, '2026-01-15', 'm', 'k', 3, 900, 10, 5, 0.5, 2),"
                " (1, '2026-01-14', 'm', 'k', 1, 1, 1, 1, null, null)"
            )
        )
    used: dict[str, Any] = {"model_id": "m", "kind": "k", "calls": 7, "input_tokens": 100}
    used["milliseconds"] = 1
    # As an archive of a former release, which has no such count.
    used["unpriced_calls"] = None
    days = [
        {**used, "day": date(2026, 1, 14), "output_tokens": 1, "cost": 2.0},
        {**used, "day": date(2026, 1, 15), "output_tokens": 10, "cost": 0.25},
    ]
    await restored(client, _with(USAGE, *days))
    async with database.snapshot() as session:
        rows = await session.execute(
            text(
                "select calls, input_tokens, milliseconds, cost, unpriced_calls from model_usage"
                " order by day"
            )
        )
        assert [tuple(row) for row in rows] == [(7, 100, 1, None, None), (7, 900, 5, 0.5, 2)]


async def test_the_archive_that_ends_a_restore_is_the_one_that_began(
    client: httpx.AsyncClient,
) -> None:
    whole = archive_of(1200)
    cut = await client.post(RESTORE, content=zipped(whole[: len(whole) // 2]), headers=GZIP)
    assert refusal(cut)[2] == "ARCHIVE_TRUNCATED"
    shorter = await client.post(RESTORE, content=zipped(archive_of(3)), headers=GZIP)
    assert refusal(shorter)[2] == "ARCHIVE_INVALID"
