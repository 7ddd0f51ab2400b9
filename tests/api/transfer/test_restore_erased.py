"""A restore warns of erasures since the export where there were some, and tells no stranger."""

import httpx
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from tests.support.archives import export
from tests.support.bank import ok
from tests.support.engines import API, create_engine
from tests.support.keys import client_with, make_key
from tests.support.operations import create_memory
from tests.support.person import erase
from tests.support.restores import GZIP


async def test_erasures_since_the_export_are_told_to_who_may_know_of_them(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock, runner: Runner
) -> None:
    await create_memory(client, scope={"user_id": "42"}, fact="I like tea.")
    archive = await export(client)

    async def warnings(path: str, caller: httpx.AsyncClient = client) -> list[str]:
        answer = await caller.post(f"{path}:restore", content=archive, headers=GZIP)
        found: list[str] = ok(answer)["warnings"]
        return found

    paths = [f"{API}/{(await create_engine(client))['name']}" for _ in range(3)]
    assert await warnings(paths[0]) == []
    await erase(client, runner, {"user_id": "42"})
    (told,) = await warnings(paths[1])
    assert told.endswith("is back: erase it again.")
    bound = await make_key(database, clock.now(), "admin", engines=[paths[2].rpartition("/")[2]])
    async with client_with(app, bound) as stranger:
        assert await warnings(paths[2], stranger) == []
