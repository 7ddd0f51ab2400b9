"""Shorthand of the API tests: answers, refusals, times, the bank's configuration, stored rows."""

from datetime import datetime, timedelta
from typing import Any

import httpx
from sqlalchemy import func, select

from app.adapters.db.base import Base
from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.wire.scalars import format_timestamp
from tests.support.operations import USER

ENGINE = "projects/default/locations/local/reasoningEngines/1"
ENGINE_URL = f"http://test/v1beta1/{ENGINE}"

BAD = (400, "INVALID_ARGUMENT")
GONE = (404, "NOT_FOUND")
STALE = (409, "ABORTED")
TAKEN = (409, "ALREADY_EXISTS")

Json = dict[str, Any]


def ok(answer: httpx.Response) -> Json:
    """Return the body of an answer that must be a success; only 200 is (section 2.4)."""
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def refusal(answer: httpx.Response) -> tuple[int, str]:
    """Return the status and the canonical code of an error."""
    error = answer.json()["error"]
    assert error["code"] == answer.status_code
    return answer.status_code, error["status"]


def field_of(answer: httpx.Response) -> str:
    """Return the field that a 400 names first."""
    assert refusal(answer) == BAD, answer.text
    for detail in answer.json()["error"]["details"]:
        if "fieldViolations" in detail:
            field: str = detail["fieldViolations"][0]["field"]
            return field
    return ""


def after(clock: FixedClock, **length: float) -> str:
    """Write the moment that lies so far ahead of the clock, as answers write it."""
    return format_timestamp(clock.now() + timedelta(**length))


def wire(moment: datetime) -> str:
    """Write a moment as answers do."""
    return format_timestamp(moment)


async def configure(client: httpx.AsyncClient, **config: object) -> None:
    """Replace the configuration of the first engine's bank."""
    body = {"contextSpec": {"memoryBankConfig": config}}
    ok(await client.patch(ENGINE_URL, params={"updateMask": "context_spec"}, json=body))


async def count(database: Database, *tables: type[Base]) -> tuple[int, ...]:
    """Count the stored rows of tables, whatever their state."""
    async with database.snapshot() as session:
        return tuple(
            [
                (await session.execute(select(func.count()).select_from(table))).scalar_one()
                for table in tables
            ]
        )


async def listed(client: httpx.AsyncClient, **params: str | int) -> list[str]:
    """Return the facts of a page of memories, in its order."""
    page = ok(await client.get("/memories", params=params))
    return [memory["fact"] for memory in page["memories"]]


async def retrieve(client: httpx.AsyncClient, **body: object) -> list[Json]:
    """Retrieve memories of the usual user, or of the `scope` that is given."""
    answer = ok(await client.post("/memories:retrieve", json={"scope": USER, **body}))
    found: list[Json] = answer["retrievedMemories"]
    return found


async def retrieved(client: httpx.AsyncClient, **body: object) -> list[str]:
    """Return the facts that a retrieval finds, in its order."""
    return [one["memory"]["fact"] for one in await retrieve(client, **body)]


async def history(client: httpx.AsyncClient, path: str, **params: str | int) -> list[Json]:
    """Return the revisions of a memory, or with the path `/memories/-` of all."""
    page = ok(await client.get(f"{path}/revisions", params=params))
    found: list[Json] = page["memoryRevisions"]
    return found


async def roll_back(client: httpx.AsyncClient, path: str, target: str) -> httpx.Response:
    """Ask for a rollback to a revision, by its id or full name."""
    return await client.post(f"{path}:rollback", json={"targetRevisionId": target})


def id_of(resource: Json) -> str:
    """Return the last part of a resource's name."""
    name: str = resource["name"]
    return name.rpartition("/")[2]
