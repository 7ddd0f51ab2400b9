"""The chunks of an import: what each costs, and that none is left alone while it is written."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextvars import Context

import httpx
import pytest
from sqlalchemy import text

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.names import EngineName
from app.memory.bulk.logic import CHUNK_LINES
from app.memory.bulk.services.bulk import BulkService, ImportOptions
from app.memory.bulk.services.work import Import
from tests.support.bank import listed
from tests.support.locks import until_waiting
from tests.support.operations import USER

FIRST = EngineName("default", "local", 1)


def line(fact: str) -> bytes:
    return json.dumps({"fact": fact, "scope": USER}).encode() + b"\n"


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    yield body


async def _free() -> None:
    pass


@pytest.mark.parametrize("before", [b"", b"\n", b"\r\n \n\n"])
@pytest.mark.parametrize(("lines", "charged"), [(1, 0), (CHUNK_LINES + 1, 1)])
async def test_each_chunk_but_the_first_is_charged(
    resources: Resources, before: bytes, lines: int, charged: int
) -> None:
    charges = 0

    async def charge() -> None:
        nonlocal charges
        charges += 1

    body = before + line("I like tea.") * lines
    answer = await Import(BulkService.of(resources), FIRST, charge, ImportOptions()).run(
        _pieces(body)
    )
    assert (answer.imported, charges) == (lines, charged)


async def test_cancelled_it_ends_after_the_chunk_that_is_being_written(
    client: httpx.AsyncClient, resources: Resources, database: Database
) -> None:
    importing = Import(BulkService.of(resources), FIRST, _free, ImportOptions())
    async with database.engine.connect() as holding:
        await holding.execute(text("select from engines where engine_id = 1 for update"))
        # In a context of its own: what runs beside it is in no transaction.
        running = asyncio.create_task(importing.run(_pieces(line("tea"))), context=Context())
        await until_waiting(database)
        running.cancel()
        await asyncio.sleep(0.05)
        has_ended = running.done()
        await holding.rollback()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not has_ended
    assert await listed(client) == ["tea"]
